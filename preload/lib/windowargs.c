/* windowargs.c: reads the arguments of calls for the log of windows: handles, statuses, messages.
 *
 * It reads arguments of calls that succeeded only, and never changes one: if the program ignores a
 * status, nobody knows what a wildcard received.
 */
#include <string.h>

#include "next.h"
#include "windows.h"

enum { JE_RECEIVES = 1024 };

static struct {
	uintptr_t null; /* MPI_REQUEST_NULL */
	uintptr_t (*f2c)(int);
	int32_t any_source;
	uintptr_t ignore, ignore_all;	 /* MPI_STATUS(ES)_IGNORE of C */
	const uintptr_t *ignore_late[4]; /* where Fortran's are, once they are known */
	uint32_t status_bytes;
} mpi;

/* The communicators of pending receives, by a hash of the request. Another receive may overwrite an
 * entry: that communicator is then not known. */
static struct {
	uintptr_t request;
	uint32_t number;
} receives[JE_RECEIVES];

uintptr_t je_window_comm_at(const struct je_args *args, int i)
{
	return je_c_handle(args->fortran, je_handle(args, i), je_mpi.comm_f2c);
}

/* Handle i of an array in the program's memory. */
uintptr_t je_window_handle(const struct je_args *args, intptr_t array, int64_t i,
			   uintptr_t (*f2c)(int))
{
	if (args->fortran || je_mpi.handle_mask == UINT32_MAX)
		return je_c_handle(args->fortran, ((const uint32_t *)array)[i], f2c);
	return ((const uintptr_t *)array)[i];
}

static uint32_t receive_place(uintptr_t request)
{
	return (uint32_t)((uint64_t)request * 0x9e3779b97f4a7c15u >> 32) % JE_RECEIVES;
}

void je_window_receive(uintptr_t request, const struct je_window_comm *comm)
{
	uint32_t i = receive_place(request);

	receives[i].request = request;
	receives[i].number = comm->number;
}

static bool is_ignored(const struct je_args *args, uintptr_t status)
{
	if (!args->fortran)
		return status == mpi.ignore || status == mpi.ignore_all;
	for (int i = 0; i < 4; i++)
		if (mpi.ignore_late[i] != NULL && *mpi.ignore_late[i] == status)
			return true;
	return mpi.ignore_late[0] == NULL;
}

/* Status i of an array; false: the program ignores it. */
bool je_window_status(const struct je_args *args, int at, int64_t i,
		      struct je_window_status *status)
{
	uintptr_t address = (uintptr_t)args->slots[at];
	uint32_t words[8] = { 0 };

	if (is_ignored(args, address))
		return false;
	memcpy(words, (const char *)address + i * mpi.status_bytes, mpi.status_bytes);
	if (je_mpi.family == JE_MPI_MPICH) {
		*status = (struct je_window_status){ (int32_t)words[2], (int32_t)words[3],
						     (uint64_t)(words[1] >> 1) << 32 | words[0],
						     true };
		return true;
	}
	*status = (struct je_window_status){ (int32_t)words[0], (int32_t)words[1],
					     (uint64_t)words[5] << 32 | words[4],
					     je_mpi.family == JE_MPI_OPENMPI };
	return true;
}

/* Writes into an entry what a receive's status says. */
void je_window_fill_status(struct je_log *entry, const struct je_window_comm *comm,
			   const struct je_window_status *status)
{
	entry->peer = je_window_peer(comm, status->source);
	entry->tag = status->tag;
	if (status->exact) {
		entry->bytes = status->bytes;
		entry->flags |= JE_LOG_EXACT;
	}
}

struct je_log je_window_entry(const struct je_window_call *call, uint8_t op)
{
	return (struct je_log){ .enter_ticks = call->entered,
				.leave_ticks = call->left,
				.peer = JE_LOG_ANY,
				.tag = JE_LOG_ANY,
				.call = (uint16_t)call->number,
				.op = op };
}

void je_window_plain(const struct je_window_call *call, uint8_t op, int32_t tag)
{
	struct je_log entry = je_window_entry(call, op);

	entry.tag = tag;
	entry.bytes = op == JE_LOG_POLL ? call->left - call->entered : 0;
	entry.request = op == JE_LOG_POLL;
	je_windows_add(call->args->me, &entry);
}

/* Fills in a message's entry from the arguments. Returns its communicator; NULL: it is an
 * intercommunicator. */
struct je_window_comm *je_window_message(const struct je_window_call *call, struct je_places at,
					 struct je_log *entry)
{
	const struct je_args *args = call->args;
	struct je_window_comm *comm = je_window_comm(args->me, je_window_comm_at(args, at.comm));
	int32_t peer = (int32_t)je_int(args, at.peer), tag = (int32_t)je_int(args, at.tag);

	entry->comm = comm->number;
	entry->tag = tag == -1 ? JE_LOG_ANY : tag;
	if (peer == je_mpi.proc_null)
		entry->peer = JE_LOG_NOBODY;
	else if (peer != mpi.any_source)
		entry->peer = je_window_peer(comm, peer);
	return comm->inter ? NULL : comm;
}

/* The communicator of a receive, which may have been freed; NULL: it is not known. */
struct je_window_comm *je_window_comm_of(uintptr_t request)
{
	uint32_t place = receive_place(request);

	return receives[place].request == request ? je_window_comm_numbered(receives[place].number)
						  : NULL;
}

bool je_window_is_request(uintptr_t request)
{
	return request != mpi.null && request != 0;
}

/* Request n of argument i, which a call made or will overwrite. */
uintptr_t je_window_request(const struct je_args *args, int i, int64_t n)
{
	return je_window_handle(args, args->slots[i], n, mpi.f2c);
}

void je_window_args_start(uint32_t family)
{
	static const char *const names[] = { "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
					     "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE" };

	for (int i = 0; i < 4; i++)
		mpi.ignore_late[i] = je_symbol(names[i]);
	mpi.f2c = je_symbol("PMPI_Request_f2c");
	mpi.any_source = -1;
	if (family == JE_MPI_OPENMPI) {
		mpi.null = (uintptr_t)je_symbol("ompi_request_null");
		mpi.status_bytes = 24;
	} else if (family == JE_MPI_MPICH) {
		mpi.f2c = NULL;
		mpi.null = 0x2c000000;
		mpi.any_source = -2;
		mpi.ignore = mpi.ignore_all = 1;
		mpi.status_bytes = 20;
	} else {
		mpi.f2c = je_symbol("PMPI_Request_fromint");
		mpi.null = 0x180;
		mpi.status_bytes = 32;
	}
}
