/* windowcalls.c: what a call writes into the log of windows.
 *
 * This runs after the call. Waits and tests overwrite the requests that they complete, so these
 * are copied before the call.
 */
#include "windows.h"

enum { JE_REQUESTS_MOST = 2048, JE_MAKES = 128 };

/* What a function writes into the log, by its row. NONE: it has code of its own below, or its class
 * decides. */
static const struct shape {
	uint8_t op, flags; /* JE_MAKES: the call makes a persistent request */
} shapes[JE_FUNCS] = {
#define LOG(op, flags)             \
	{                          \
		JE_LOG_##op, flags \
	}
#define JE_CALL(number, name, lower, args, strings, class, sent, received, comm, log) \
	[number] = log,
#define JE_LARGE(number, name, lower, args, class, sent, received, comm, log) [number] = log,
#include "../mpi_calls.def"
};

static struct {
	uintptr_t requests[JE_REQUESTS_MOST]; /* as they were before the call */
	int64_t n;			      /* -1: too many */
} before;

/* Logs the message of a call that sends or receives, or that starts to. */
static void add_message(const struct je_window_call *call, struct je_places at, uint8_t op,
			uint8_t flags)
{
	struct je_log entry = je_window_entry(call, op);
	struct je_window_comm *comm = je_window_message(call, at, &entry);
	bool receives_one = op == JE_LOG_RECV || op == JE_LOG_RECV_START;
	struct je_window_status status;

	if (comm == NULL) {
		je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_INTER_CALL);
		return;
	}
	entry.flags = flags;
	entry.bytes = receives_one ? call->moved.received : call->moved.sent;
	if (op == JE_LOG_RECV && entry.peer != JE_LOG_NOBODY &&
	    je_window_status(call->args, at.status, 0, &status))
		je_window_fill_status(&entry, comm, &status);
	if (op == JE_LOG_SEND_START || op == JE_LOG_RECV_START) {
		entry.request = je_window_request(call->args, at.request, 0);
		if (receives_one)
			je_window_receive(entry.request, comm);
	}
	je_windows_add(call->args->me, &entry);
}

/* Logs a persistent message. Its bytes are those of a send with the same arguments. */
static void add_init(const struct je_window_call *call, const struct shape *shape)
{
	static const struct je_places at = { 3, 4, 5, -1, 6 };
	struct je_log entry = { .call = (uint16_t)call->number,
				.op = shape->op,
				.peer = JE_LOG_ANY,
				.tag = JE_LOG_ANY,
				.flags = shape->flags & JE_LOG_SYNC };
	struct je_row row = *call->args->row;
	struct je_args args = *call->args;
	struct je_window_comm *comm = je_window_message(call, at, &entry);

	row.sent = (struct je_side){ JE_HOW_PEER, 1, 2, 3 };
	args.row = &row;
	entry.request = je_window_request(call->args, at.request, 0);
	entry.bytes = je_moved(&args).sent;
	if (comm != NULL && entry.op == JE_LOG_INIT_RECV)
		je_window_receive(entry.request, comm);
	if (comm != NULL)
		je_windows_add(call->args->me, &entry);
	je_window_plain(call, JE_LOG_LOCAL, 0);
}

/* Whether a collective moves nothing, as each rank can tell from its own arguments. */
static bool moves_nothing(const struct je_window_call *call)
{
	const struct je_row *row = call->args->row;
	bool vector = row->sent.how == JE_HOW_ROOT_VEC || row->received.how == JE_HOW_ROOT_VEC ||
		      row->sent.how == JE_HOW_VEC || row->received.how == JE_HOW_VEC ||
		      row->sent.how == JE_HOW_W || row->sent.how == JE_HOW_PARTS;

	return row->moves && !vector && call->moved.sent + call->moved.received == 0;
}

/* Whether each rank receives something from every other, so that none leaves before all have
 * entered. */
static bool binds_all(const struct je_window_call *call, const struct je_window_comm *comm)
{
	const struct je_row *row = call->args->row;
	const struct je_side *side = row->sent.how == JE_HOW_PARTS     ? &row->sent
				     : row->received.how == JE_HOW_VEC ? &row->received
								       : NULL;

	if (side == NULL)
		return !moves_nothing(call);
	if (je_comm_size(call->args) != comm->size)
		return false;
	for (int32_t i = 0; i < comm->size; i++) {
		const void *counts = (const void *)call->args->slots[side->count];

		if ((row->large ? ((const int64_t *)counts)[i] : ((const int32_t *)counts)[i]) <= 0)
			return false;
	}
	return true;
}

/* Logs a border. The places of a window's calls are known only if no object was unloaded between
 * its ends. */
static void add_border(struct je_thread *me, struct je_log entry, uintptr_t comm)
{
	bool ends = me->windows == JE_WINDOWS_LOGGING;

	if (ends)
		je_window_sites_check(me);
	je_windows_border(me, entry, comm);
	if (!ends && me->windows == JE_WINDOWS_LOGGING)
		je_window_sites_check(me);
}

static void add_collective(const struct je_window_call *call, const struct shape *shape)
{
	const struct je_args *args = call->args;
	struct je_log entry = je_window_entry(call, shape->op);
	int comm_at_arg = args->row->args - 1 - (shape->flags != 0 ? 1 : 0) -
			  (shape->flags == JE_MAKES ? 1 : 0);
	uintptr_t handle = je_handle(args, comm_at_arg);
	struct je_window_comm *comm =
		je_window_comm(args->me, je_window_comm_at(args, comm_at_arg));

	if (comm->inter) {
		je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_INTER_CALL);
		return;
	}
	entry.comm = comm->number;
	entry.peer = JE_LOG_NOBODY;
	entry.bytes =
		call->moved.sent > call->moved.received ? call->moved.sent : call->moved.received;
	if (shape->op == JE_LOG_COLL_FROM || shape->op == JE_LOG_COLL_TO)
		entry.peer = je_window_peer(comm, (int32_t)je_int(args, comm_at_arg - 1));
	if (shape->flags == JE_MAKES) {
		entry.op = JE_LOG_INIT_COLL;
		entry.tag = shape->op;
		entry.enter_ticks = entry.leave_ticks = 0;
	} else if (moves_nothing(call)) {
		entry.op = JE_LOG_COLL_NOBODY;
	}
	if (shape->flags != 0)
		entry.request = je_window_request(args, args->row->args - 1, 0);
	entry.flags = shape->flags & JE_LOG_NONBLOCKING;
	if (!JE_IS_BORDER(call->number) || comm->size < je_world_size()) {
		je_windows_add(args->me, &entry);
		if (JE_IS_BORDER(call->number))
			je_windows_beside(args->me, handle);
	} else if (binds_all(call, comm)) {
		add_border(args->me, entry, handle);
	} else {
		je_windows_add(args->me, &entry);
	}
	if (shape->flags == JE_MAKES)
		je_window_plain(call, JE_LOG_LOCAL, 0);
}

/* Logs that request i of the call is complete. */
static void add_done(const struct je_window_call *call, int64_t i, int status_arg, int64_t status_i,
		     bool *first)
{
	struct je_log entry = je_window_entry(call, JE_LOG_DONE);
	struct je_window_status status;
	struct je_window_comm *comm;

	if (i < 0 || i >= before.n || !je_window_is_request(before.requests[i]))
		return;
	entry.request = before.requests[i];
	comm = je_window_comm_of(entry.request);
	if (comm != NULL && je_window_status(call->args, status_arg, status_i, &status) &&
	    status.source >= 0)
		je_window_fill_status(&entry, comm, &status);
	entry.flags |= *first ? 0 : JE_LOG_CONTINUED;
	*first = false;
	je_windows_add(call->args->me, &entry);
}

/* The arguments that show which requests a wait or a test completed: their positions, -1 for
 * none. */
struct completion {
	int8_t flag, count, index, status;
	bool all;
};

static int32_t int_at(const struct je_args *args, int i)
{
	return *(const int32_t *)args->slots[i];
}

static void add_completion(const struct je_window_call *call, struct completion by)
{
	const struct je_args *args = call->args;
	int base = args->fortran ? 1 : 0;
	bool first = true;

	if (before.n < 0) {
		je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_OTHER);
		return;
	}
	if (by.flag >= 0 && int_at(args, by.flag) == 0) {
		je_window_plain(call, JE_LOG_POLL, 0);
		return;
	}
	if (by.all) {
		for (int64_t i = 0; i < before.n; i++)
			add_done(call, i, by.status, i, &first);
	} else if (by.count >= 0) {
		const int32_t *indices = (const int32_t *)args->slots[by.index];

		for (int32_t i = 0; i < int_at(args, by.count); i++)
			add_done(call, indices[i] - base, by.status, i, &first);
		if (first && before.n > 0 && int_at(args, by.count) == 0) {
			je_window_plain(call, JE_LOG_POLL, 0);
			return;
		}
	} else {
		add_done(call, int_at(args, by.index) - base, by.status, 0, &first);
	}
	if (first)
		je_window_plain(call, JE_LOG_LOCAL, 0);
}

static void add_probe(const struct je_window_call *call, int flag, int status_arg)
{
	static const struct je_places at = { 0, 1, 2, -1, -1 };
	struct je_log entry = je_window_entry(call, JE_LOG_PROBE);
	struct je_window_comm *comm = je_window_message(call, at, &entry);
	struct je_window_status status;

	if (flag >= 0 && int_at(call->args, flag) == 0) {
		je_window_plain(call, JE_LOG_POLL, 0);
		return;
	}
	if (comm == NULL) {
		je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_INTER_CALL);
		return;
	}
	if (entry.peer != JE_LOG_NOBODY && je_window_status(call->args, status_arg, 0, &status))
		je_window_fill_status(&entry, comm, &status);
	entry.bytes = 0;
	entry.flags = 0;
	je_windows_add(call->args->me, &entry);
}

static void add_starts(const struct je_window_call *call)
{
	const struct je_args *args = call->args;
	bool all = call->number == JE_NUMBER_Startall;
	int64_t n = all ? je_int(args, 0) : 1;

	for (int64_t i = 0; i < n; i++) {
		struct je_log entry = je_window_entry(call, JE_LOG_START);

		entry.request = je_window_request(args, all ? 1 : 0, i);
		entry.flags = i > 0 ? JE_LOG_CONTINUED : 0;
		je_windows_add(call->args->me, &entry);
	}
	if (n <= 0)
		je_window_plain(call, JE_LOG_LOCAL, 0);
}

/* Logs a call that makes a communicator from its first argument: it is a collective of that one. */
static void add_made(const struct je_window_call *call)
{
	const struct je_args *args = call->args;
	int last = args->row->args - 1;
	uintptr_t parent = je_window_comm_at(args, 0);
	struct je_window_comm *from = je_window_comm(args->me, parent);
	struct je_log entry = je_window_entry(call, JE_LOG_COLL_ALL);

	entry.comm = from->number;
	entry.peer = JE_LOG_NOBODY;
	if (from->inter)
		je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_INTER_CALL);
	else
		je_windows_add(call->args->me, &entry);
	je_window_comm_made(args->me, parent,
			    je_window_handle(args, args->slots[last], 0, je_mpi.comm_f2c),
			    call->number);
}

/* Logs a call of JE_CLASS_COMM. */
static void add_comm_call(const struct je_window_call *call)
{
	const struct je_args *args = call->args;

	je_windows_forget(args->me);
	switch (call->number) {
	case JE_NUMBER_Comm_dup:
	case JE_NUMBER_Comm_dup_with_info:
	case JE_NUMBER_Comm_create:
	case JE_NUMBER_Comm_split:
	case JE_NUMBER_Comm_split_type:
	case JE_NUMBER_Cart_create:
	case JE_NUMBER_Cart_sub:
	case JE_NUMBER_Graph_create:
	case JE_NUMBER_Dist_graph_create:
	case JE_NUMBER_Dist_graph_create_adjacent:
		add_made(call);
		return;
	case JE_NUMBER_Comm_free:
		je_window_plain(call, JE_LOG_LOCAL, 0);
		return;
	case JE_NUMBER_Comm_spawn:
	case JE_NUMBER_Comm_spawn_multiple:
	case JE_NUMBER_Comm_accept:
	case JE_NUMBER_Comm_connect:
	case JE_NUMBER_Comm_join:
		je_process.windows->why = JE_WINDOWS_SPAWN;
		je_windows_end(args->me);
		return;
	case JE_NUMBER_Comm_create_group:
	case JE_NUMBER_Intercomm_create:
	case JE_NUMBER_Intercomm_merge:
		je_window_comm_freed(je_window_handle(args, args->slots[args->row->args - 1], 0,
						      je_mpi.comm_f2c));
		break;
	}
	je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_OTHER);
}

/* Finds the arguments in which a wait or a test returns what it completed; false: the call is
 * neither. */
static bool completion_of(uint32_t number, struct completion *by)
{
	static const struct {
		uint16_t number;
		struct completion by;
	} completions[] = {
		{ JE_NUMBER_Wait, { -1, -1, -1, 1, true } },
		{ JE_NUMBER_Test, { 1, -1, -1, 2, true } },
		{ JE_NUMBER_Waitall, { -1, -1, -1, 2, true } },
		{ JE_NUMBER_Testall, { 2, -1, -1, 3, true } },
		{ JE_NUMBER_Waitany, { -1, -1, 2, 3, false } },
		{ JE_NUMBER_Testany, { 3, -1, 2, 4, false } },
		{ JE_NUMBER_Waitsome, { -1, 2, 3, 4, false } },
		{ JE_NUMBER_Testsome, { -1, 2, 3, 4, false } },
	};

	for (size_t i = 0; i < sizeof(completions) / sizeof(*completions); i++)
		if (completions[i].number == number) {
			*by = completions[i].by;
			return true;
		}
	return false;
}

/* Copies the requests that a wait or a test may overwrite. */
void je_windows_before(const struct je_args *args, uint32_t number)
{
	bool one = number == JE_NUMBER_Wait || number == JE_NUMBER_Test;
	struct completion by;

	if (!completion_of(number, &by))
		return;
	before.n = one ? 1 : je_int(args, 0);
	if (before.n > 0 && args->slots[one ? 0 : 1] == 0) /* the call will fail */
		before.n = 0;
	if (before.n > JE_REQUESTS_MOST)
		before.n = -1;
	for (int64_t i = 0; i < before.n; i++)
		before.requests[i] = je_window_request(args, one ? 0 : 1, i);
}

static void add_by_class(const struct je_window_call *call)
{
	static const uint8_t why[JE_CLASSES] = { [JE_CLASS_RMA] = JE_LOG_RMA,
						 [JE_CLASS_COLL] = JE_LOG_NEIGHBOUR,
						 [JE_CLASS_P2P_START] = JE_LOG_PARTITIONED };
	uint8_t class = call->args->row->class;

	if (class == JE_CLASS_COMM)
		add_comm_call(call);
	else if (class == JE_CLASS_WAIT) /* waits for a send buffer: buffered sends never wait */
		je_window_plain(call, JE_LOG_LOCAL, 0);
	else if (class == JE_CLASS_IO)
		je_window_plain(call, JE_LOG_IO, 0);
	else
		je_window_plain(call, JE_LOG_UNSUPPORTED,
				why[class] != 0 ? why[class] : JE_LOG_OTHER);
}

static void add_other(const struct je_window_call *call)
{
	static const struct je_places send = { 3, 4, 10, -1, 11 }, recv = { 8, 9, 10, 11, 11 },
				      replace_send = { 3, 4, 7, -1, 8 },
				      replace_recv = { 5, 6, 7, 8, 8 };
	struct completion by;

	if (completion_of(call->number, &by)) {
		add_completion(call, by);
		return;
	}
	switch (call->number) {
	case JE_NUMBER_Sendrecv:
	case JE_NUMBER_Sendrecv_c:
		add_message(call, send, JE_LOG_SEND, 0);
		add_message(call, recv, JE_LOG_RECV, JE_LOG_CONTINUED);
		return;
	case JE_NUMBER_Sendrecv_replace:
	case JE_NUMBER_Sendrecv_replace_c:
		add_message(call, replace_send, JE_LOG_SEND, 0);
		add_message(call, replace_recv, JE_LOG_RECV, JE_LOG_CONTINUED);
		return;
	case JE_NUMBER_Isendrecv:
	case JE_NUMBER_Isendrecv_c:
		add_message(call, send, JE_LOG_SEND_START, 0);
		add_message(call, recv, JE_LOG_RECV_START, JE_LOG_CONTINUED);
		return;
	case JE_NUMBER_Isendrecv_replace:
	case JE_NUMBER_Isendrecv_replace_c:
		add_message(call, replace_send, JE_LOG_SEND_START, 0);
		add_message(call, replace_recv, JE_LOG_RECV_START, JE_LOG_CONTINUED);
		return;
	case JE_NUMBER_Start:
	case JE_NUMBER_Startall:
		add_starts(call);
		return;
	case JE_NUMBER_Probe:
		add_probe(call, -1, 3);
		return;
	case JE_NUMBER_Iprobe:
		add_probe(call, 3, 4);
		return;
	case JE_NUMBER_Mprobe:
	case JE_NUMBER_Improbe:
	case JE_NUMBER_Mrecv:
	case JE_NUMBER_Imrecv:
	case JE_NUMBER_Mrecv_c:
	case JE_NUMBER_Imrecv_c:
		je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_MPROBE);
		return;
	}
	add_by_class(call);
}

/* A call returned. Outside of kept windows this is called for borders, creations of communicators
 * and of persistent requests, and calls that take the common body. */
void je_windows_after(const struct je_window_call *call)
{
	static const struct je_places at = { 3, 4, 5, 6, 6 };
	const struct shape *shape = &shapes[call->number];
	bool makes = shape->flags & JE_MAKES || call->args->row->class == JE_CLASS_COMM;
	bool logs = call->args->me->windows == JE_WINDOWS_LOGGING;

	if (!logs && !makes && !JE_IS_BORDER(call->number))
		return;
	if (je_mpi.family == JE_MPI_UNKNOWN)
		return;
	je_windows_stand(logs ? je_window_site(call->args->me, call->returns) : 0);
	if (!call->succeeded) {
		je_window_plain(call, JE_LOG_UNSUPPORTED, JE_LOG_OTHER);
		if (JE_IS_BORDER(call->number)) /* other ranks may count it */
			je_windows_end(call->args->me);
	} else if (shape->op == JE_LOG_INIT_SEND || shape->op == JE_LOG_INIT_RECV) {
		add_init(call, shape);
	} else if (shape->op >= JE_LOG_COLL_ALL) {
		add_collective(call, shape);
	} else if (shape->op != JE_LOG_NONE) {
		add_message(call, at, shape->op, shape->flags);
	} else {
		add_other(call);
	}
}

/* MPI_Init or MPI_Session_init returned. */
JE_COLD void je_windows_start(struct je_thread *me, struct je_slot *slot, bool session,
			      je_claim_fn claim)
{
	if (je_process.windows != NULL || !je_windows_open(slot, claim))
		return;
	je_windows_forget(me);
	je_window_args_start(je_mpi.family);
	if (session)
		je_process.windows->why = JE_WINDOWS_SESSIONS;
	else if (slot->spawned != 0)
		je_process.windows->why = JE_WINDOWS_SPAWN;
	else if (je_mpi.family == JE_MPI_UNKNOWN || !je_window_comms_start(me, je_mpi.family))
		je_process.windows->why = JE_WINDOWS_NO_GROUPS;
	else
		me->windows = JE_WINDOWS_COUNTING;
}
