/* bytes.c: how many bytes a call moved, in all forms, and what is remembered of datatypes and
 * communicators.
 *
 * This reads arguments of calls that succeeded only. It reads none that the call itself ignores:
 * the root's arguments on other ranks, the counts next to MPI_IN_PLACE, the origin of MPI_NO_OP,
 * the places of neighbours that are MPI_PROC_NULL. To ask an MPI about an invalid handle would call
 * the program's error handler, which ends the job.
 */
#include "bytes.h"
#include "next.h"
#include "ticks.h"

enum { JE_DIMENSIONS = 32, JE_NEIGHBOURS = 2 * JE_DIMENSIONS }; /* of a Cartesian communicator */

struct je_mpi je_mpi;
uint64_t je_types_generation = 1, je_comms_generation = 1;

static uint64_t type_freed_ticks, comm_freed_ticks; /* when one was last freed */

static struct {
	int (*type_size)(uintptr_t, int *);
	int (*comm_rank)(uintptr_t, int *);
	int (*comm_size)(uintptr_t, int *);
	int (*comm_remote_size)(uintptr_t, int *);
	int (*comm_test_inter)(uintptr_t, int *);
	int (*topo_test)(uintptr_t, int *);
	int (*cartdim_get)(uintptr_t, int *);
	int (*cart_get)(uintptr_t, int, int *, int *, int *);
	int (*graph_neighbors_count)(uintptr_t, int, int *);
	int (*dist_graph_neighbors_count)(uintptr_t, int *, int *, int *);
	int topo_cart, topo_graph, topo_dist_graph;
} ask;

/* Keeps an address that means MPI_IN_PLACE in Fortran, if this MPI has that name for it. */
static void add_in_place(const char *name)
{
	uintptr_t address = (uintptr_t)je_symbol(name);

	for (int32_t i = 0; i < je_mpi.n_in_places; i++)
		if (je_mpi.in_places[i] == address)
			return;
	if (address != 0)
		je_mpi.in_places[je_mpi.n_in_places++] = address;
}

static void set_openmpi(void)
{
	int (*op_c2f)(uintptr_t);

	je_mpi.proc_null = -2;
	je_mpi.handle_mask = ~(uintptr_t)0;
	je_mpi.type_null = (uintptr_t)je_symbol("ompi_mpi_datatype_null");
	je_mpi.no_op = (uintptr_t)je_symbol("ompi_mpi_op_no_op");
	je_mpi.type_f2c = je_symbol("PMPI_Type_f2c");
	je_mpi.comm_f2c = je_symbol("PMPI_Comm_f2c");
	op_c2f = je_symbol("PMPI_Op_c2f");
	if (op_c2f != NULL && je_mpi.no_op != 0)
		je_mpi.no_op_fortran = (uint32_t)op_c2f(je_mpi.no_op);
	ask.topo_cart = 1;
	je_mpi.in_place = 1;
	ask.topo_graph = 2;
	ask.topo_dist_graph = 3;
	add_in_place("mpi_fortran_in_place_");
	add_in_place("mpi_fortran_in_place__");
	add_in_place("mpi_fortran_in_place");
	add_in_place("MPI_FORTRAN_IN_PLACE");
}

static void set_mpich(void)
{
	je_mpi.proc_null = -1;
	je_mpi.type_null = 0x0c000000;
	je_mpi.no_op = je_mpi.no_op_fortran = 0x5800000e;
	je_mpi.handle_mask = UINT32_MAX;
	ask.topo_graph = 1;
	je_mpi.in_place = ~(uintptr_t)0;
	ask.topo_cart = 2;
	ask.topo_dist_graph = 3;
	add_in_place("MPIR_F08_MPI_IN_PLACE");
	if (je_symbol("MPIR_F_MPI_IN_PLACE") != NULL)
		je_mpi.in_place_late = je_symbol("MPIR_F_MPI_IN_PLACE");
}

/* The MPI-5 ABI. The values are those of its standard header; handles are pointers. */
static void set_abi5(void)
{
	je_mpi.proc_null = -3;
	je_mpi.type_null = 0x200;
	je_mpi.no_op = je_mpi.no_op_fortran = 0x3d;
	je_mpi.handle_mask = ~(uintptr_t)0;
	je_mpi.type_f2c = je_symbol("PMPI_Type_fromint");
	je_mpi.comm_f2c = je_symbol("PMPI_Comm_fromint");
	ask.topo_cart = 211;
	je_mpi.in_place = 1;
	ask.topo_graph = 212;
	ask.topo_dist_graph = 213;
}

void je_bytes_init(uint32_t family)
{
	je_mpi.in_place_late = &je_mpi.in_place;
	ask.type_size = je_symbol("PMPI_Type_size");
	ask.comm_rank = je_symbol("PMPI_Comm_rank");
	ask.comm_size = je_symbol("PMPI_Comm_size");
	ask.comm_remote_size = je_symbol("PMPI_Comm_remote_size");
	ask.comm_test_inter = je_symbol("PMPI_Comm_test_inter");
	ask.topo_test = je_symbol("PMPI_Topo_test");
	ask.cartdim_get = je_symbol("PMPI_Cartdim_get");
	ask.cart_get = je_symbol("PMPI_Cart_get");
	ask.graph_neighbors_count = je_symbol("PMPI_Graph_neighbors_count");
	ask.dist_graph_neighbors_count = je_symbol("PMPI_Dist_graph_neighbors_count");
	if (family == JE_MPI_OPENMPI)
		set_openmpi();
	else if (family == JE_MPI_MPICH)
		set_mpich();
	else if (family == JE_MPI_ABI5)
		set_abi5();

	bool whole = ask.type_size != NULL && ask.comm_rank != NULL && ask.comm_size != NULL &&
		     ask.comm_remote_size != NULL && ask.comm_test_inter != NULL;

	je_mpi.family = whole ? family : JE_MPI_UNKNOWN;
}

/* MPI may use a freed handle again, for something else. */
void je_types_forget(void)
{
	__atomic_store_n(&type_freed_ticks, je_ticks(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&je_types_generation, 1, __ATOMIC_RELAXED);
}

/* Also called when communicators are made: one may have the handle of another that was freed past
 * this library. */
void je_comms_forget(bool freed)
{
	if (freed)
		__atomic_store_n(&comm_freed_ticks, je_ticks(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&je_comms_generation, 1, __ATOMIC_RELAXED);
}

/* Whether another thread freed a handle since this thread's call began. It may be a handle of this
 * call. The call itself may go on with it, but MPI may no longer be asked about it. */
static bool may_be_freed(const struct je_thread *me, const uint64_t *freed_ticks)
{
	return __atomic_load_n(freed_ticks, __ATOMIC_RELAXED) >= me->slot->open_ticks;
}

/* The size of a datatype, in bytes. */
static int64_t type_bytes(const struct je_args *args, uintptr_t handle)
{
	struct je_type *entry = je_type_entry(args->me, handle);
	uint64_t generation = __atomic_load_n(&je_types_generation, __ATOMIC_RELAXED);
	uintptr_t c;
	int bytes = 0;

	if (je_type_known(entry, handle))
		return entry->bytes;
	if (may_be_freed(args->me, &type_freed_ticks))
		return 0;
	c = je_c_handle(args->fortran, handle, je_mpi.type_f2c);
	if (c == 0 || c == je_mpi.type_null)
		return 0;
	if (ask.type_size(c, &bytes) != 0 || bytes < 0) /* MPI_UNDEFINED: more than 2 GiB */
		return 0;
	*entry = (struct je_type){ handle, bytes, generation };
	return bytes;
}

static uintptr_t comm_of(const struct je_args *args)
{
	return je_c_handle(args->fortran, je_handle(args, args->row->comm), je_mpi.comm_f2c);
}

static bool is_inter(const struct je_args *args)
{
	int inter = 0;

	ask.comm_test_inter(comm_of(args), &inter);
	return inter != 0;
}

static int size_of(const struct je_args *args)
{
	int size = 0;

	ask.comm_size(comm_of(args), &size);
	return size;
}

static int rank_in(const struct je_args *args)
{
	int rank = 0;

	ask.comm_rank(comm_of(args), &rank);
	return rank;
}

/* Asks MPI about a communicator by its C handle; `rank` may be NULL. False: it is an
 * intercommunicator. */
inline bool je_comm_ask(uintptr_t comm, int *size, int *rank)
{
	int inter = 1;

	ask.comm_test_inter(comm, &inter);
	ask.comm_size(comm, size);
	if (rank != NULL)
		ask.comm_rank(comm, rank);
	return inter == 0;
}

/* Asks MPI about the call's communicator; about the rank only if it is wanted. The handle in the
 * answer is 0 if it is no intracommunicator, or if another thread freed one meanwhile. */
static struct je_comm ask_comm(const struct je_args *args, bool with_rank)
{
	struct je_comm now = { je_handle(args, args->row->comm), 0, 0,
			       __atomic_load_n(&je_comms_generation, __ATOMIC_RELAXED) };

	if (may_be_freed(args->me, &comm_freed_ticks) ||
	    !je_comm_ask(comm_of(args), &now.size, with_rank ? &now.rank : NULL))
		return (struct je_comm){ 0, 0, 0, 0 };
	return now;
}

/* The size of the call's communicator now; 0: it is no intracommunicator. */
int32_t je_comm_size(const struct je_args *args)
{
	return ask_comm(args, false).size;
}

/* Whether what this thread remembers of a communicator is still true. A program, or a tool that is
 * linked to it, may free and make communicators past this library, and MPI uses handles again. An
 * array must not be read beyond its end, so MPI is asked first. Its answer is read word by word, as
 * it was written: a wider load would wait for the stores. */
bool je_comm_holds(struct je_thread *me, uintptr_t handle, bool fortran, bool by_rank)
{
	struct je_comm *entry = je_comm_entry(me, handle);
	int size = 0, rank = entry->rank;
	bool holds = je_comm_known(entry, handle) && !may_be_freed(me, &comm_freed_ticks) &&
		     je_comm_ask(je_c_handle(fortran, handle, je_mpi.comm_f2c), &size,
				 by_rank ? &rank : NULL) &&
		     size == entry->size && rank == entry->rank;

	if (!holds)
		entry->handle = 0;
	return holds;
}

/* Asks anew about a collective's communicator. What was remembered may belong to another one with
 * the same handle, and the next call would believe it. */
static void remember_comm(const struct je_args *args)
{
	const struct je_row *row = args->row;
	uintptr_t handle = je_handle(args, row->comm);
	struct je_comm *entry = je_comm_entry(args->me, handle);

	if (je_is_in_comm(&row->sent) || je_is_in_comm(&row->received) ||
	    !je_comm_known(entry, handle))
		*entry = ask_comm(args, true);
}

/* The number of ranks that this rank exchanges data with: all of the communicator; in an
 * intercommunicator, all of the other group. */
static int peers(const struct je_args *args)
{
	uintptr_t comm = comm_of(args);
	int n = 0;

	if (!je_comm_ask(comm, &n, NULL))
		ask.comm_remote_size(comm, &n);
	return n;
}

/* The ranks with which this rank exchanges data, in the order of a call's arguments. */
struct partners {
	int n;
	uint64_t absent; /* bit i: partner i is MPI_PROC_NULL, at an edge of a Cartesian grid */
};

static struct partners all_of(int ranks)
{
	return (struct partners){ ranks, 0 };
}

static struct partners of_cart(uintptr_t comm)
{
	struct partners found = all_of(0);
	int dims = 0, sizes[JE_DIMENSIONS], periodic[JE_DIMENSIONS], at[JE_DIMENSIONS];

	ask.cartdim_get(comm, &dims);
	if (dims > JE_DIMENSIONS || ask.cart_get(comm, dims, sizes, periodic, at) != 0)
		return found;
	for (int d = 0; d < dims; d++) {
		bool first = periodic[d] == 0 && at[d] == 0;
		bool last = periodic[d] == 0 && at[d] == sizes[d] - 1;

		found.absent |= (uint64_t)first << (2 * d) | (uint64_t)last << (2 * d + 1);
	}
	found.n = 2 * dims;
	return found;
}

static struct partners neighbours(const struct je_args *args, bool received)
{
	uintptr_t comm = comm_of(args);
	int topo = 0, in = 0, out = 0, weighted;

	if (ask.topo_test == NULL || ask.topo_test(comm, &topo) != 0)
		return all_of(0);
	if (topo == ask.topo_cart && ask.cartdim_get != NULL && ask.cart_get != NULL)
		return of_cart(comm);
	if (topo == ask.topo_graph && ask.graph_neighbors_count != NULL) {
		ask.graph_neighbors_count(comm, rank_in(args), &in);
		return all_of(in);
	}
	if (topo == ask.topo_dist_graph && ask.dist_graph_neighbors_count != NULL)
		ask.dist_graph_neighbors_count(comm, &in, &out, &weighted);
	return all_of(received ? in : out);
}

static bool is_absent(const struct partners *of, int i)
{
	return i < JE_NEIGHBOURS && (of->absent >> i & 1) != 0;
}

static int64_t bytes_of_count(const struct je_args *args, const struct je_side *side, int64_t count)
{
	return count > 0 ? count * type_bytes(args, je_handle(args, side->type)) : 0;
}

static int64_t count_at(const struct je_args *args, const struct je_side *side, int i)
{
	intptr_t counts = args->slots[side->count];

	return args->row->large ? ((const int64_t *)counts)[i] : ((const int32_t *)counts)[i];
}

static int64_t bytes_of_vec(const struct je_args *args, const struct je_side *side,
			    struct partners of)
{
	int64_t sum = 0;

	for (int i = 0; i < of.n; i++)
		if (!is_absent(&of, i))
			sum += count_at(args, side, i);
	return bytes_of_count(args, side, sum);
}

static int64_t bytes_of_w(const struct je_args *args, const struct je_side *side,
			  struct partners of)
{
	const void *types = (const void *)args->slots[side->type];
	bool narrow = args->fortran || je_mpi.handle_mask == UINT32_MAX;
	int64_t sum = 0;

	for (int i = 0; i < of.n; i++) {
		int64_t count = is_absent(&of, i) ? 0 : count_at(args, side, i);

		if (count > 0)
			sum += count * type_bytes(args, narrow ? ((const uint32_t *)types)[i]
							       : ((const uintptr_t *)types)[i]);
	}
	return sum;
}

/* The same count for each partner. */
static int64_t bytes_of_each(const struct je_args *args, const struct je_side *side,
			     struct partners of)
{
	int there = of.n - __builtin_popcountll(of.absent);

	return there > 0 ? bytes_of_count(args, side, je_number(args, side->count)) * there : 0;
}

static bool is_no_op(const struct je_args *args)
{
	return je_handle(args, args->row->comm) ==
	       (args->fortran ? je_mpi.no_op_fortran : je_mpi.no_op);
}

static int64_t bytes_of_origin(const struct je_args *args, const struct je_side *side)
{
	if (is_no_op(args) || je_int(args, side->peer) == je_mpi.proc_null)
		return 0;
	return bytes_of_count(args, side, side->count >= 0 ? je_number(args, side->count) : 1);
}

static int64_t bytes_of_mine(const struct je_args *args, const struct je_side *side)
{
	return bytes_of_count(args, side, count_at(args, side, rank_in(args)));
}

/* With MPI_IN_PLACE the arguments of the other side describe this one. */
static struct je_side mirror(const struct je_side *side, const struct je_side *other)
{
	struct je_side mirrored = *side;
	bool vector = other->how == JE_HOW_VEC || other->how == JE_HOW_ROOT_VEC;

	mirrored.count = other->count;
	mirrored.type = other->type;
	if (side->how == JE_HOW_OWN)
		mirrored.how = vector ? JE_HOW_MINE : JE_HOW_ONE;
	return mirrored;
}

static int64_t bytes_of_side(const struct je_args *args, const struct je_side *side, bool received)
{
	switch (side->how) {
	case JE_HOW_ONE:
	case JE_HOW_OWN:
	case JE_HOW_AT_ROOT:
	case JE_HOW_OFF_ROOT:
		return bytes_of_count(args, side, je_number(args, side->count));
	case JE_HOW_ALL:
	case JE_HOW_ROOT_ALL:
		return bytes_of_each(args, side, all_of(peers(args)));
	case JE_HOW_VEC:
	case JE_HOW_ROOT_VEC:
		return bytes_of_vec(args, side, all_of(peers(args)));
	case JE_HOW_W:
		return bytes_of_w(args, side, all_of(peers(args)));
	case JE_HOW_PARTS:
		return bytes_of_vec(args, side, all_of(size_of(args)));
	case JE_HOW_BLOCKS:
		return bytes_of_each(args, side, all_of(size_of(args)));
	case JE_HOW_MINE:
		return bytes_of_mine(args, side);
	case JE_HOW_DEG_ALL:
		return bytes_of_each(args, side, neighbours(args, received));
	case JE_HOW_DEG_VEC:
		return bytes_of_vec(args, side, neighbours(args, received));
	case JE_HOW_DEG_W:
		return bytes_of_w(args, side, neighbours(args, received));
	case JE_HOW_ORIGIN:
		return bytes_of_origin(args, side);
	default:
		return 0;
	}
}

static int64_t bytes_of_point(const struct je_args *args, const struct je_side *side)
{
	if (side->peer >= 0 && je_int(args, side->peer) == je_mpi.proc_null)
		return 0;
	if (side->how == JE_HOW_ELEMENT)
		return type_bytes(args, je_handle(args, side->type));
	return bytes_of_count(args, side, je_number(args, side->count));
}

/* Rooted collectives of an intercommunicator count no bytes. There, MPI_ROOT and MPI_PROC_NULL
 * decide which arguments are garbage. */
static int64_t bytes_of_any(const struct je_args *args, const struct je_side *side)
{
	bool received = side == &args->row->received;
	const struct je_side *other = received ? &args->row->sent : &args->row->received;

	if (side->how == JE_HOW_NOTHING)
		return 0;
	if (side->how <= JE_HOW_PEER || side->how == JE_HOW_ELEMENT)
		return bytes_of_point(args, side);
	if ((je_has_root(side) || je_has_root(other)) && is_inter(args))
		return 0;
	if (je_has_root(side) && je_is_idle(args, side, rank_in(args)))
		return 0;
	if (je_in_place(args, side)) {
		struct je_side mirrored = mirror(side, other);

		return bytes_of_side(args, &mirrored, received);
	}
	return bytes_of_side(args, side, received);
}

/* Whether the argument that the row names is a communicator, and the call's bytes depend on it. */
static bool has_comm(const struct je_row *row)
{
	return row->comm >= 0 && row->moves && row->sent.how != JE_HOW_ORIGIN;
}

/* What a call that succeeded has moved. It asks MPI about the communicator, and trusts nothing that
 * is remembered of it. */
struct je_moved je_moved(const struct je_args *args)
{
	struct je_moved moved = { 0, 0 };

	if (je_mpi.family == JE_MPI_UNKNOWN ||
	    (args->row->comm >= 0 && may_be_freed(args->me, &comm_freed_ticks)))
		return moved;
	if (has_comm(args->row) && args->row->plain)
		remember_comm(args);
	moved.sent = (uint64_t)bytes_of_any(args, &args->row->sent);
	moved.received =
		args->row->alike ? moved.sent : (uint64_t)bytes_of_any(args, &args->row->received);
	return moved;
}
