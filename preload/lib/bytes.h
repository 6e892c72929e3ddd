/* bytes.h: computes from a call's arguments how many bytes it moved.
 *
 * The usual forms are inline, and work before the call: from what this thread remembers of
 * datatypes and communicators, never by asking MPI. The rarer forms, and the first look at each
 * datatype and communicator, are in bytes.c, after the call.
 */
#ifndef JOBEFF_BYTES_H
#define JOBEFF_BYTES_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

enum je_how { /* bytes of one side of a call; P is the number of ranks of the communicator */
	      JE_HOW_NOTHING,
	      JE_HOW_ONE,      /* count * type */
	      JE_HOW_PEER,     /* likewise; nothing if the peer is MPI_PROC_NULL */
	      JE_HOW_OWN,      /* count * type; MPI_IN_PLACE: this rank's part of the other side */
	      JE_HOW_ALL,      /* count * type * P */
	      JE_HOW_VEC,      /* sum of counts[P] * type */
	      JE_HOW_W,	       /* sum of counts[i] * types[i] */
	      JE_HOW_PARTS,    /* VEC with P of the own group, even in an intercommunicator */
	      JE_HOW_BLOCKS,   /* ALL with P of the own group, likewise */
	      JE_HOW_MINE,     /* counts[this rank] * type */
	      JE_HOW_AT_ROOT,  /* ONE, at the root only */
	      JE_HOW_OFF_ROOT, /* ONE, everywhere but at the root */
	      JE_HOW_ROOT_ALL, /* ALL, at the root only */
	      JE_HOW_ROOT_VEC, /* VEC, at the root only */
	      JE_HOW_DEG_ALL,  /* ALL, VEC and W, with this rank's neighbours in place of P */
	      JE_HOW_DEG_VEC,
	      JE_HOW_DEG_W,
	      JE_HOW_ELEMENT, /* one element of the type */
	      JE_HOW_ORIGIN,  /* PEER or ELEMENT; nothing if the operation is MPI_NO_OP */
};

struct je_side {
	uint8_t how; /* enum je_how */
	int8_t count, type, peer;
};

struct je_row {
	uint8_t class; /* enum je_class */
	bool moves;    /* a side moves bytes */
	bool sends;    /* point-to-point that sends bytes: counted in hist_p2p */
	bool alike;    /* both sides move the same bytes */
	int8_t comm;   /* which argument is the communicator; for ORIGIN, the operation */
	uint8_t args;  /* number of the C function's; also the position of Fortran's ierror */
	bool large;    /* counts are MPI_Count */
	bool plain;    /* counted inline in its wrapper */
	struct je_side sent, received;
} __attribute__((aligned(16))); /* a power of two: indexing is a shift */

struct je_args {
	const intptr_t *slots;
	struct je_thread *me;
	const struct je_row *row;
	bool fortran;	  /* the arguments are addresses of integers */
	bool descriptors; /* f08ts: a choice buffer is the address of its descriptor */
};

enum { JE_IN_PLACES = 5 }; /* names of MPI_IN_PLACE that bytes.c looks up */

/* What must be known of the program's MPI. Filled in when MPI_Init returns. */
struct je_mpi {
	uint32_t family; /* enum je_family; JE_MPI_UNKNOWN: no bytes are counted */
	int32_t proc_null;
	uintptr_t type_null;
	uintptr_t no_op, no_op_fortran;
	uintptr_t in_place;		   /* the address that means MPI_IN_PLACE in C */
	uintptr_t in_places[JE_IN_PLACES]; /* those that mean it in Fortran */
	int32_t n_in_places;		   /* how many of them are known */
	const uintptr_t *in_place_late;	   /* one more, which MPICH fills in at a Fortran call */
	uintptr_t handle_mask;		   /* which bits of the register are a C handle */
	int (*type_size)(uintptr_t, int *);
	uintptr_t (*type_f2c)(int); /* NULL: C and Fortran have the same handles */
	uintptr_t (*comm_f2c)(int);
};
extern struct je_mpi je_mpi;
extern uint64_t je_types_generation, je_comms_generation; /* grow when handles may have changed */

/* Bytes of a call, by this rank. */
struct je_moved {
	uint64_t sent, received;
};

void je_bytes_init(uint32_t family);
struct je_moved je_moved(const struct je_args *args);
int32_t je_comm_size(const struct je_args *args);
bool je_comm_ask(uintptr_t comm, int *size, int *rank);
bool je_comm_holds(struct je_thread *me, uintptr_t handle, bool fortran, bool by_rank);
void je_types_forget(void);
void je_comms_forget(bool freed);

JE_HOT int64_t je_int(const struct je_args *args, int i)
{
	return args->fortran ? *(const int32_t *)args->slots[i] : (int32_t)args->slots[i];
}

JE_HOT int64_t je_number(const struct je_args *args, int i)
{
	if (!args->row->large)
		return je_int(args, i);
	return args->fortran ? *(const int64_t *)args->slots[i] : args->slots[i];
}

JE_HOT uintptr_t je_handle(const struct je_args *args, int i)
{
	if (args->fortran)
		return *(const uint32_t *)args->slots[i];
	return (uintptr_t)args->slots[i] & je_mpi.handle_mask;
}

/* The C handle of an object that the program's binding knows by `handle`. */
JE_HOT uintptr_t je_c_handle(bool fortran, uintptr_t handle, uintptr_t (*f2c)(int))
{
	return fortran && f2c != NULL ? f2c((int)handle) : handle;
}

JE_HOT struct je_type *je_type_entry(struct je_thread *me, uintptr_t handle)
{
	return &me->types[(uint64_t)handle * 0x9e3779b97f4a7c15u >> (64 - JE_TYPES_BITS)];
}

/* The index of a communicator's entry in je_thread.comms. */
JE_HOT uint64_t je_comm_place(uintptr_t handle)
{
	return (uint64_t)handle * 0x9e3779b97f4a7c15u >> (64 - JE_COMMS_BITS);
}

JE_HOT struct je_comm *je_comm_entry(struct je_thread *me, uintptr_t handle)
{
	return &me->comms[je_comm_place(handle)];
}

JE_HOT bool je_type_known(const struct je_type *entry, uintptr_t handle)
{
	return JE_LIKELY(entry->handle == handle) &&
	       JE_LIKELY(entry->generation ==
			 __atomic_load_n(&je_types_generation, __ATOMIC_RELAXED));
}

JE_HOT bool je_comm_known(const struct je_comm *entry, uintptr_t handle)
{
	return JE_LIKELY(entry->handle == handle) &&
	       JE_LIKELY(entry->generation ==
			 __atomic_load_n(&je_comms_generation, __ATOMIC_RELAXED));
}

/* What a call will move on one side: `bytes`, times the sum of `n` counts if `counts` is not NULL.
 * The counts lie in the program's memory. So they are read only after the call accepted them, and
 * only as many as MPI then says there are. */
struct je_amount {
	int64_t bytes;
	const int32_t *counts;
	int32_t n;
};

/* Whether je_amount can describe a form, if its counts have 32 bits. */
#define JE_IS_INLINE(how)                                                                 \
	((how) <= JE_HOW_VEC || (how) == JE_HOW_PARTS || (how) == JE_HOW_BLOCKS ||        \
	 (how) == JE_HOW_MINE || ((how) >= JE_HOW_AT_ROOT && (how) <= JE_HOW_ROOT_VEC) || \
	 (how) == JE_HOW_ELEMENT)

#define JE_IS_ARRAY(how)                                                         \
	((how) == JE_HOW_VEC || (how) == JE_HOW_PARTS || (how) == JE_HOW_MINE || \
	 (how) == JE_HOW_ROOT_VEC)

JE_HOT bool je_has_root(const struct je_side *side)
{
	return side->how >= JE_HOW_AT_ROOT && side->how <= JE_HOW_ROOT_VEC;
}

/* Whether a side with a root moves nothing at this rank. */
JE_HOT bool je_is_idle(const struct je_args *args, const struct je_side *side, int32_t rank)
{
	return (je_int(args, side->peer) == rank) == (side->how == JE_HOW_OFF_ROOT);
}

JE_HOT bool je_is_array(const struct je_side *side)
{
	return JE_IS_ARRAY(side->how);
}

/* Whether the buffer of one side is MPI_IN_PLACE, so that the other side's arguments count. A
 * receive buffer can be MPI_IN_PLACE only with OWN. The buffer is the argument before its count. */
JE_HOT bool je_in_place(const struct je_args *args, const struct je_side *side)
{
	if (side->how < JE_HOW_OWN || side->how > JE_HOW_W ||
	    (side != &args->row->sent && side->how != JE_HOW_OWN) ||
	    args->row->sent.count == args->row->received.count)
		return false;

	uintptr_t buffer = (uintptr_t)args->slots[side->count - 1];

	if (!args->fortran)
		return buffer == je_mpi.in_place;
	if (args->descriptors && buffer != 0)
		buffer = *(const uintptr_t *)buffer; /* base_addr of a CFI_cdesc_t */

	if (JE_UNLIKELY(buffer == *je_mpi.in_place_late))
		return buffer != 0;
	for (int32_t i = 0; i < je_mpi.n_in_places; i++)
		if (JE_UNLIKELY(buffer == je_mpi.in_places[i]))
			return true;
	return false;
}

/* Whether one of a call's buffers is MPI_IN_PLACE. */
JE_HOT bool je_is_in_place(const struct je_args *args)
{
	return JE_UNLIKELY(je_in_place(args, &args->row->sent)) ||
	       JE_UNLIKELY(je_in_place(args, &args->row->received));
}

/* `count` elements of the side's type; false: the type is not known. */
JE_HOT bool je_elements(const struct je_args *args, const struct je_side *side, int64_t count,
			struct je_amount *amount)
{
	if (count <= 0)
		return true;

	uintptr_t handle = je_handle(args, side->type);
	const struct je_type *type = je_type_entry(args->me, handle);

	amount->bytes = count * type->bytes;
	return JE_LIKELY(je_type_known(type, handle));
}

/* Whether what a side moves depends on the communicator. */
JE_HOT bool je_is_in_comm(const struct je_side *side)
{
	return side->how > JE_HOW_PEER && side->how != JE_HOW_ELEMENT;
}

/* As je_elements, for the forms that depend on the communicator: once per rank, at the root only,
 * or with an array of counts.
 */
JE_HOT bool je_elements_in(const struct je_args *args, const struct je_comm *comm,
			   const struct je_side *side, struct je_amount *amount)
{
	if (je_has_root(side) && je_is_idle(args, side, comm->rank))
		return true;
	if (je_is_array(side)) {
		bool mine = side->how == JE_HOW_MINE;

		amount->counts =
			(const int32_t *)args->slots[side->count] + (mine ? comm->rank : 0);
		amount->n = mine ? 1 : comm->size;
		return je_elements(args, side, 1, amount);
	}

	bool each = side->how == JE_HOW_ALL || side->how == JE_HOW_BLOCKS ||
		    side->how == JE_HOW_ROOT_ALL;

	return je_elements(args, side, je_number(args, side->count) * (each ? comm->size : 1),
			   amount);
}

JE_HOT bool je_amount_of(const struct je_args *args, const struct je_comm *comm,
			 const struct je_side *side, struct je_amount *amount)
{
	*amount = (struct je_amount){ 0, NULL, 0 };
	if (side->how == JE_HOW_NOTHING)
		return true;
	if (je_is_in_comm(side))
		return je_elements_in(args, comm, side, amount);
	if (side->peer >= 0 && je_int(args, side->peer) == je_mpi.proc_null)
		return true;
	return je_elements(args, side,
			   side->how == JE_HOW_ELEMENT ? 1 : je_number(args, side->count), amount);
}

/* Computes what a call without MPI_IN_PLACE will move on both sides. `received` is set only if they
 * are not alike. False: MPI has to be asked. */
JE_HOT bool je_amounts_of(const struct je_args *args, struct je_amount *sent,
			  struct je_amount *received)
{
	const struct je_row *row = args->row;
	const struct je_comm *comm = NULL;

	if (je_is_in_comm(&row->sent) || je_is_in_comm(&row->received)) {
		uintptr_t handle = je_handle(args, row->comm);

		comm = je_comm_entry(args->me, handle);
		if (JE_UNLIKELY(!je_comm_known(comm, handle)))
			return false;
	}
	return JE_LIKELY(je_amount_of(args, comm, &row->sent, sent)) &&
	       (row->alike || JE_LIKELY(je_amount_of(args, comm, &row->received, received)));
}

JE_HOT uint64_t je_bytes_of(const struct je_amount *amount, bool array)
{
	int64_t sum = 1;

	if (array && amount->counts != NULL) {
		sum = 0;
		for (int32_t i = 0; i < amount->n; i++)
			sum += amount->counts[i];
	}
	return sum > 0 ? (uint64_t)(amount->bytes * sum) : 0;
}

#pragma GCC visibility pop

#endif
