/* bytes.c: how many bytes a call moved, in the rarer forms, and the sizes of datatypes.
 *
 * This reads arguments of calls that succeeded only. It reads none that the call itself ignores:
 * the root's arguments on other ranks, the counts beside MPI_IN_PLACE, the origin of MPI_NO_OP,
 * the places of neighbours that are MPI_PROC_NULL. To ask an MPI about an invalid handle would
 * call the program's error handler, which ends the job.
 */
#include "bytes.h"

enum { JE_DIMENSIONS = 32, JE_NEIGHBOURS = 2 * JE_DIMENSIONS }; /* of a Cartesian communicator */

struct je_mpi je_mpi;
uint64_t je_types_generation = 1;
uint64_t je_types_freed_ticks;

static struct {
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
	uintptr_t in_place[8];		   /* addresses that mean MPI_IN_PLACE, zero-terminated */
	const uintptr_t *in_place_fortran; /* MPICH: will hold Fortran's */
} ask;

static void add_in_place(uintptr_t address)
{
	for (int i = 0; i < 7; i++) {
		if (ask.in_place[i] == address || address == 0)
			return;
		if (ask.in_place[i] == 0) {
			ask.in_place[i] = address;
			return;
		}
	}
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
	ask.topo_graph = 2;
	ask.topo_dist_graph = 3;
	add_in_place(1);
	add_in_place((uintptr_t)je_symbol("mpi_fortran_in_place_"));
	add_in_place((uintptr_t)je_symbol("mpi_fortran_in_place__"));
	add_in_place((uintptr_t)je_symbol("mpi_fortran_in_place"));
	add_in_place((uintptr_t)je_symbol("MPI_FORTRAN_IN_PLACE"));
}

static void set_mpich(void)
{
	je_mpi.proc_null = -1;
	je_mpi.type_null = 0x0c000000;
	je_mpi.no_op = je_mpi.no_op_fortran = 0x5800000e;
	je_mpi.handle_mask = UINT32_MAX;
	ask.topo_graph = 1;
	ask.topo_cart = 2;
	ask.topo_dist_graph = 3;
	add_in_place(~(uintptr_t)0);
	add_in_place((uintptr_t)je_symbol("MPIR_F08_MPI_IN_PLACE"));
	ask.in_place_fortran = je_symbol("MPIR_F_MPI_IN_PLACE");
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
	ask.topo_graph = 212;
	ask.topo_dist_graph = 213;
	add_in_place(1);
}

void je_bytes_init(uint32_t family)
{
	je_mpi.type_size = je_symbol("PMPI_Type_size");
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

	bool whole = je_mpi.type_size != NULL && ask.comm_rank != NULL && ask.comm_size != NULL &&
		     ask.comm_remote_size != NULL && ask.comm_test_inter != NULL;

	je_mpi.family = whole ? family : JE_MPI_UNKNOWN;
}

/* Whether another thread freed a datatype since this thread's call began: it may be this one, and
 * the call may go on with it, but MPI may no longer be asked about it. */
static bool may_be_freed(const struct je_thread *me)
{
	return __atomic_load_n(&je_types_freed_ticks, __ATOMIC_RELAXED) >= me->slot->open_ticks;
}

JE_COLD int64_t je_type_ask(const struct je_thread *me, bool fortran, uintptr_t handle,
			    struct je_type *entry)
{
	uintptr_t c = handle;
	uint64_t generation = je_types_generation;
	int bytes = 0;

	if (je_mpi.family == JE_MPI_UNKNOWN || may_be_freed(me))
		return 0;
	if (fortran && je_mpi.type_f2c != NULL)
		c = je_mpi.type_f2c((int)handle);
	if (c == 0 || c == je_mpi.type_null)
		return 0;
	if (je_mpi.type_size(c, &bytes) != 0 || bytes < 0) /* MPI_UNDEFINED: more than 2 GiB */
		return 0;
	entry->handle = handle;
	entry->bytes = bytes;
	entry->generation = generation;
	return bytes;
}

static uintptr_t comm_of(const struct je_args *args)
{
	uintptr_t handle = je_handle(args, args->row->comm);

	return args->fortran && je_mpi.comm_f2c != NULL ? je_mpi.comm_f2c((int)handle) : handle;
}

static bool is_inter(const struct je_args *args)
{
	int inter = 0;

	ask.comm_test_inter(comm_of(args), &inter);
	return inter != 0;
}

static int size_of(const struct je_args *args)
{
	int n = 0;

	ask.comm_size(comm_of(args), &n);
	return n;
}

/* With how many ranks this rank exchanges data: all of the communicator; in an intercommunicator,
 * all of the other group. */
static int peers(const struct je_args *args)
{
	int n = 0;

	if (!is_inter(args))
		return size_of(args);
	ask.comm_remote_size(comm_of(args), &n);
	return n;
}

static int rank_in(const struct je_args *args)
{
	int rank = 0;

	ask.comm_rank(comm_of(args), &rank);
	return rank;
}

/* Those with whom this rank exchanges data, as the arguments of a call list them. */
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
	return count > 0 ? count * je_type_bytes(args, je_handle(args, side->type)) : 0;
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
			sum += count * je_type_bytes(args, narrow ? ((const uint32_t *)types)[i]
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

static bool means_in_place(uintptr_t buffer)
{
	for (int i = 0; ask.in_place[i] != 0; i++)
		if (buffer == ask.in_place[i])
			return true;
	return ask.in_place_fortran != NULL && buffer == *ask.in_place_fortran && buffer != 0;
}

/* The choice buffer is the argument before its count. */
static bool is_in_place(const struct je_args *args, const struct je_side *side)
{
	uintptr_t buffer = (uintptr_t)args->slots[side->count - 1];

	if (args->descriptors && buffer != 0)
		buffer = *(const uintptr_t *)buffer; /* base_addr of a CFI_cdesc_t */
	return means_in_place(buffer);
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
		return bytes_of_count(args, side, je_number(args, side->count));
	case JE_HOW_ALL:
		return bytes_of_each(args, side, all_of(peers(args)));
	case JE_HOW_VEC:
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

static int64_t bytes_of_root_side(const struct je_args *args, const struct je_side *side)
{
	bool root = je_int(args, side->peer) == rank_in(args);

	switch (side->how) {
	case JE_HOW_AT_ROOT:
		return root ? bytes_of_count(args, side, je_number(args, side->count)) : 0;
	case JE_HOW_OFF_ROOT:
		return root ? 0 : bytes_of_count(args, side, je_number(args, side->count));
	case JE_HOW_ROOT_ALL:
		return root ? bytes_of_count(args, side, je_number(args, side->count)) * peers(args)
			    : 0;
	default:
		return root ? bytes_of_vec(args, side, all_of(peers(args))) : 0;
	}
}

static bool has_root(const struct je_side *side)
{
	return side->how >= JE_HOW_AT_ROOT && side->how <= JE_HOW_ROOT_VEC;
}

/* Rooted collectives of an intercommunicator count no bytes. There, MPI_ROOT and MPI_PROC_NULL
 * decide which arguments are garbage. */
int64_t je_bytes_rare(struct je_args copy, const struct je_side *side)
{
	const struct je_args *args = &copy;
	bool received = side == &args->row->received;
	const struct je_side *other = received ? &args->row->sent : &args->row->received;

	if ((has_root(side) || has_root(other)) && is_inter(args))
		return 0;
	if (has_root(side))
		return bytes_of_root_side(args, side);
	if (side->how >= JE_HOW_OWN && side->how <= JE_HOW_W && is_in_place(args, side)) {
		struct je_side mirrored = mirror(side, other);

		return bytes_of_side(args, &mirrored, received);
	}
	return bytes_of_side(args, side, received);
}
