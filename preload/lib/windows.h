/* windows.h: the log of single calls inside sampled windows (struct je_windows in record.h).
 *
 * A border is a blocking collective on all ranks that nobody leaves before all have entered. It
 * ends one window and begins the next.
 */
#ifndef JOBEFF_WINDOWS_H
#define JOBEFF_WINDOWS_H

#include "bytes.h"

#pragma GCC visibility push(hidden)

/* windows.c: the stream of entries, and the borders of windows */
enum { JE_WINDOWS_MIB = 16 };						   /* most MiB on a node */
typedef struct je_windows *(*je_claim_fn)(uint32_t *index, uint32_t most); /* of claim.c */
bool je_windows_open(const struct je_slot *slot, je_claim_fn claim);
void je_windows_add(struct je_thread *me, const struct je_log *entry);
void je_windows_end(struct je_thread *me);
void je_windows_border(struct je_thread *me, struct je_log entry, uintptr_t comm);
void je_windows_forget(struct je_thread *me);
void je_windows_beside(struct je_thread *me, uintptr_t comm);
void je_windows_stand(uint8_t site);
void je_windows_lose_sites(void);

/* Whether a communicator has fewer ranks than MPI_COMM_WORLD. Its collectives are no borders, so
 * they need no look at the log. */
JE_HOT bool je_windows_is_beside(const struct je_thread *me, uintptr_t comm)
{
	return comm == me->beside[je_comm_place(comm)];
}

/* Whether borders are counted on a communicator. */
JE_HOT bool je_windows_count_on(const struct je_thread *me, uintptr_t comm)
{
	return comm == me->borders[je_comm_place(comm)];
}

/* Whether a collective, which is a border if it moves anything, needs no look at the log: neither
 * the window that it ends is kept, nor the one that it begins. Other ranks count it, too, even if
 * it fails here. This calls no function: callers would have to keep their registers in memory. */
JE_HOT bool je_windows_skip(struct je_thread *me, uintptr_t comm, bool moves)
{
	if (JE_UNLIKELY(!moves) ||
	    (JE_UNLIKELY(comm != me->border) && !je_windows_count_on(me, comm)))
		return je_windows_is_beside(me, comm);
	if (JE_LIKELY(--me->skips != 0))
		return true;
	me->skips = 1;
	return false;
}

/* windowsites.c: where in the code the logged calls were made. A site is its index + 1 in the first
 * slot; 0: not known. */
uint8_t je_window_site(struct je_thread *me, uintptr_t returns);
void je_window_sites_check(struct je_thread *me);

/* windowcomms.c: the communicators of the log. A number is never used again. */
struct je_window_comm {
	uintptr_t handle; /* C's; 0: the place is free */
	uintptr_t group;  /* of an intracommunicator; 0: none */
	uint64_t identity;
	uint32_t number; /* in the log */
	uint32_t made;	 /* communicators that were made from it */
	int32_t rank, size;
	bool inter;
};
bool je_window_comms_start(struct je_thread *me, uint32_t family);
struct je_window_comm *je_window_comm(struct je_thread *me, uintptr_t handle);
void je_window_comm_made(struct je_thread *me, uintptr_t parent, uintptr_t comm, uint32_t call);
struct je_window_comm *je_window_comm_numbered(uint32_t number);
void je_window_comm_freed(uintptr_t handle);
void je_window_comms_end(void);
int32_t je_window_peer(const struct je_window_comm *comm, int32_t rank);
int32_t je_world_size(void);

/* windowargs.c: what the log takes from a call's arguments */
struct je_window_call {
	const struct je_args *args;
	uint32_t number;
	bool succeeded;
	struct je_moved moved;
	uint64_t entered, left;
	uintptr_t returns; /* to this address */
};
struct je_window_status {
	int32_t source, tag;
	uint64_t bytes;
	bool exact;
};
/* Where the arguments of a message are. */
struct je_places {
	int8_t peer, tag, comm, status, request;
};
void je_window_args_start(uint32_t family);
uintptr_t je_window_comm_at(const struct je_args *args, int i);
uintptr_t je_window_handle(const struct je_args *args, intptr_t array, int64_t i,
			   uintptr_t (*f2c)(int));
uintptr_t je_window_request(const struct je_args *args, int i, int64_t n);
bool je_window_is_request(uintptr_t request);
void je_window_receive(uintptr_t request, const struct je_window_comm *comm);
struct je_window_comm *je_window_comm_of(uintptr_t request);
bool je_window_status(const struct je_args *args, int at, int64_t i,
		      struct je_window_status *status);
void je_window_fill_status(struct je_log *entry, const struct je_window_comm *comm,
			   const struct je_window_status *status);
struct je_log je_window_entry(const struct je_window_call *call, uint8_t op);
void je_window_plain(const struct je_window_call *call, uint8_t op, int32_t tag);
struct je_window_comm *je_window_message(const struct je_window_call *call, struct je_places at,
					 struct je_log *entry);

/* windowcalls.c: what a call writes into the log */
void je_windows_start(struct je_thread *me, struct je_slot *slot, bool session, je_claim_fn claim);
void je_windows_before(const struct je_args *args, uint32_t number);
void je_windows_after(const struct je_window_call *call);

/* Collectives that nobody leaves before all have entered. Alltoallv is none: what a rank sends is
 * known to that rank only, so ranks might disagree whether a call is a border. */
#define JE_IS_BORDER(number)                                                                \
	((number) == JE_NUMBER_Barrier || (number) == JE_NUMBER_Allreduce ||                \
	 (number) == JE_NUMBER_Allgather || (number) == JE_NUMBER_Allgatherv ||             \
	 (number) == JE_NUMBER_Alltoall || (number) == JE_NUMBER_Reduce_scatter ||          \
	 (number) == JE_NUMBER_Reduce_scatter_block || (number) == JE_NUMBER_Allreduce_c || \
	 (number) == JE_NUMBER_Allgather_c || (number) == JE_NUMBER_Allgatherv_c ||         \
	 (number) == JE_NUMBER_Alltoall_c || (number) == JE_NUMBER_Reduce_scatter_c ||      \
	 (number) == JE_NUMBER_Reduce_scatter_block_c)

/* Calls that make persistent requests are logged outside of windows, too. */
#define JE_MAKES_REQUEST(number)                                                 \
	(((number) >= JE_NUMBER_Send_init && (number) <= JE_NUMBER_Recv_init) || \
	 ((number) >= JE_NUMBER_Barrier_init && (number) <= JE_NUMBER_Exscan_init))

#pragma GCC visibility pop

#endif
