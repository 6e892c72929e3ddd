/* windowcomms.c: the communicators of the log: their numbers, identities and ranks.
 *
 * All ranks of a communicator give it the same identity, without communication. The identity mixes
 * the parent's identity, how many communicators the parent has made, the call, and the new one's
 * first rank in MPI_COMM_WORLD. Ranks are translated by calls that do not communicate.
 */
#include "next.h"
#include "windows.h"

enum { JE_WINDOW_COMMS = 128, JE_PEERS = 256 };

static struct je_window_comm comms[JE_WINDOW_COMMS];
static uint32_t numbers; /* communicators that got one so far */
static uintptr_t world, none;

/* What translate found; a communicator's number is never used again. */
static struct {
	uint32_t number;
	int32_t rank, in_world;
} peers[JE_PEERS];

static struct {
	int (*group)(uintptr_t, uintptr_t *);
	int (*translate)(uintptr_t, int, const int *, uintptr_t, int *);
	int (*group_free)(uintptr_t *);
} ask;

static bool find_functions(void)
{
	ask.group = je_symbol("PMPI_Comm_group");
	ask.translate = je_symbol("PMPI_Group_translate_ranks");
	ask.group_free = je_symbol("PMPI_Group_free");
	return ask.group != NULL && ask.translate != NULL && ask.group_free != NULL;
}

/* The groups are this library's own, so MPI may be asked about them even after the communicator was
 * freed: a receive may complete later. */
static int32_t translate(const struct je_window_comm *comm, int32_t rank)
{
	int found = JE_LOG_ANY;

	if (comm->group == 0 || comms[0].group == 0 ||
	    ask.translate(comm->group, 1, &rank, comms[0].group, &found) != 0 || found < 0)
		return JE_LOG_ANY;
	return found;
}

static void forget(struct je_window_comm *comm)
{
	if (comm->group != 0)
		ask.group_free(&comm->group);
	*comm = (struct je_window_comm){ .handle = 0 };
}

/* The rank in MPI_COMM_WORLD of a rank of the communicator. */
int32_t je_window_peer(const struct je_window_comm *comm, int32_t rank)
{
	uint32_t place = (comm->number * 31 + (uint32_t)rank) % JE_PEERS;

	if (comm->handle == world)
		return rank;
	if (comm->inter || rank < 0 || rank >= comm->size)
		return JE_LOG_ANY;
	if (peers[place].number != comm->number || peers[place].rank != rank) {
		peers[place].in_world = translate(comm, rank);
		peers[place].number = comm->number;
		peers[place].rank = rank;
	}
	return peers[place].in_world;
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
	uint64_t z = (a ^ b) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
	return z ^ z >> 32;
}

/* A place for a communicator. If all are taken, an old one loses its place: when it is used again,
 * it gets a new number, and no identity. */
static struct je_window_comm *place_for(uintptr_t handle)
{
	static uint32_t next;
	struct je_window_comm *place;

	for (uint32_t i = 0; i < JE_WINDOW_COMMS; i++)
		if (comms[i].handle == handle || comms[i].handle == 0)
			return &comms[i];
	place = &comms[2 + next++ % (JE_WINDOW_COMMS - 2)];
	return place;
}

/* Puts a communicator into the table. MPICH writes only 4 bytes of a group's handle, so the others
 * must be zero. */
static struct je_window_comm *add(uintptr_t handle)
{
	struct je_window_comm *comm = place_for(handle);

	forget(comm);
	*comm = (struct je_window_comm){ .handle = handle, .number = ++numbers };
	comm->inter = !je_comm_ask(handle, &comm->size, &comm->rank);
	if (!comm->inter && ask.group(handle, &comm->group) != 0)
		comm->group = 0;
	return comm;
}

/* Logs a communicator that add() returned. */
static struct je_window_comm *tell(struct je_thread *me, struct je_window_comm *comm,
				   uint64_t identity)
{
	struct je_log entry = { .op = JE_LOG_COMM };

	comm->identity = comm->inter ? 0 : identity;
	entry.comm = comm->number;
	entry.bytes = comm->identity;
	entry.tag = comm->size;
	entry.peer = comm->rank;
	entry.flags = comm->inter ? JE_LOG_INTER : 0;
	je_windows_add(me, &entry);
	return comm;
}

/* The communicator of a handle that a call has just accepted. */
struct je_window_comm *je_window_comm(struct je_thread *me, uintptr_t handle)
{
	static uint32_t last;

	if (comms[last].handle == handle)
		return &comms[last];
	for (uint32_t i = 0; i < JE_WINDOW_COMMS; i++)
		if (comms[i].handle == handle) {
			last = i;
			return &comms[i];
		}
	return tell(me, add(handle), 0);
}

/* The communicator of that number; NULL: it has no place any more. */
struct je_window_comm *je_window_comm_numbered(uint32_t number)
{
	for (uint32_t i = 0; i < JE_WINDOW_COMMS; i++)
		if (comms[i].handle != 0 && comms[i].number == number)
			return &comms[i];
	return NULL;
}

/* All ranks of `parent` made a communicator by `call`. This rank is not in it if the new handle is
 * MPI_COMM_NULL. */
void je_window_comm_made(struct je_thread *me, uintptr_t parent, uintptr_t handle, uint32_t call)
{
	struct je_window_comm *from = je_window_comm(me, parent);
	uint64_t identity = from->identity;
	uint32_t made = ++from->made;
	struct je_window_comm *comm;

	if (handle == none)
		return;
	je_window_comm_freed(handle);
	comm = add(handle);
	if (identity != 0) {
		identity = mixed(identity, (uint64_t)made << 32 | call);
		identity = mixed(identity, (uint64_t)translate(comm, 0) + 1) | 4;
	}
	tell(me, comm, identity);
}

void je_window_comm_freed(uintptr_t handle)
{
	for (uint32_t i = 2; i < JE_WINDOW_COMMS; i++)
		if (comms[i].handle == handle)
			forget(&comms[i]);
}

/* MPI ends. An entry that was never used is not written: most ranks have no windows. */
JE_COLD void je_window_comms_end(void)
{
	for (uint32_t i = 0; i < JE_WINDOW_COMMS; i++)
		if (comms[i].handle != 0)
			forget(&comms[i]);
}

int32_t je_world_size(void)
{
	return comms[0].size;
}

/* False: the communicators of this MPI are not known. */
JE_COLD bool je_window_comms_start(struct je_thread *me, uint32_t family)
{
	uintptr_t self = 0;

	if (family == JE_MPI_OPENMPI) {
		world = (uintptr_t)je_symbol("ompi_mpi_comm_world");
		self = (uintptr_t)je_symbol("ompi_mpi_comm_self");
		none = (uintptr_t)je_symbol("ompi_mpi_comm_null");
	} else if (family == JE_MPI_MPICH) {
		world = 0x44000000;
		self = 0x44000001;
		none = 0x04000000;
	} else if (family == JE_MPI_ABI5) {
		world = 0x101;
		self = 0x102;
		none = 0x100;
	}
	if (world == 0 || self == 0 || !find_functions())
		return false;
	tell(me, add(world), JE_WORLD_IDENTITY);
	tell(me, add(self), mixed(JE_SELF_IDENTITY, (uint64_t)comms[0].rank + 1) | 4);
	return true;
}
