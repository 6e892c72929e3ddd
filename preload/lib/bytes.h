/* bytes.h: computes from a call's arguments how many bytes it moved.
 *
 * The usual forms (count times the size of a datatype) are inline. The rarer forms, and the first
 * look at each datatype, are in bytes.c.
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
	int8_t comm;   /* where the communicator is; of an ORIGIN, the operation */
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

/* What must be known of the program's MPI. Filled in when MPI_Init returns. */
struct je_mpi {
	uint32_t family; /* enum je_family; JE_MPI_UNKNOWN: no bytes are counted */
	int32_t proc_null;
	uintptr_t type_null;
	uintptr_t no_op, no_op_fortran;
	uintptr_t handle_mask; /* which bits of the register are a C handle */
	int (*type_size)(uintptr_t, int *);
	uintptr_t (*type_f2c)(int); /* NULL: C and Fortran have the same handles */
	uintptr_t (*comm_f2c)(int);
};
extern struct je_mpi je_mpi;
extern uint64_t je_types_generation;
extern uint64_t je_types_freed_ticks; /* when a datatype was last freed */

void je_bytes_init(uint32_t family);
int64_t je_type_ask(const struct je_thread *me, bool fortran, uintptr_t handle,
		    struct je_type *entry);
int64_t je_bytes_rare(struct je_args args, const struct je_side *side);

JE_HOT int64_t je_int(const struct je_args *args, int i)
{
	return args->fortran ? *(const int32_t *)args->slots[i] : (int32_t)args->slots[i];
}

JE_HOT int64_t je_number(const struct je_args *args, int i)
{
	return args->row->large ? args->slots[i] : je_int(args, i);
}

JE_HOT uintptr_t je_handle(const struct je_args *args, int i)
{
	if (args->fortran)
		return *(const uint32_t *)args->slots[i];
	return (uintptr_t)args->slots[i] & je_mpi.handle_mask;
}

JE_HOT int64_t je_type_bytes(const struct je_args *args, uintptr_t handle)
{
	uint64_t mixed = (uint64_t)handle * 0x9e3779b97f4a7c15u;
	struct je_type *entry = &args->me->types[mixed >> (64 - JE_TYPES_BITS)];

	if (JE_LIKELY(entry->handle == handle &&
		      entry->generation == __atomic_load_n(&je_types_generation, __ATOMIC_RELAXED)))
		return entry->bytes;
	return je_type_ask(args->me, args->fortran, handle, entry);
}

JE_HOT int64_t je_bytes(const struct je_args *args, const struct je_side *side)
{
	if (side->how > JE_HOW_PEER && side->how != JE_HOW_ELEMENT)
		return je_bytes_rare(*args,
				     side); /* a copy: a pointer would force args into memory */
	if (side->how == JE_HOW_NOTHING)
		return 0;
	if (side->peer >= 0 && je_int(args, side->peer) == je_mpi.proc_null)
		return 0;

	int64_t count = side->how == JE_HOW_ELEMENT ? 1 : je_number(args, side->count);

	return count > 0 ? count * je_type_bytes(args, je_handle(args, side->type)) : 0;
}

#pragma GCC visibility pop

#endif
