/* calls.c: the wrappers of the functions of the table, and the hot path. The wrappers that begin
 * and end MPI are in life.c.
 *
 * Every MPI argument is one integer or pointer in one register or stack slot. So a wrapper can
 * hand the arguments on without knowing what they are. The outermost call counts; what an MPI
 * calls inside it (MPICH's Fortran calls its C) passes through.
 *
 * There are two ways through a wrapper. The usual way is inline, and its row of the table is folded
 * into constants. It knows before the call what the call will move. Everything else takes a common
 * body, one per number of arguments, which looks the row up. That is the first call, a new thread,
 * a datatype or communicator that this thread does not remember, MPI_IN_PLACE, counts of 64 bits,
 * another clock than the TSC, hardware counters, a logged window, and a call at which CPU times or
 * an edge of the timeline are due.
 */
#include "bytes.h"
#include "counters.h"
#include "cpu.h"
#include "next.h"
#include "places.h"
#include "spell.h"
#include "ticks.h"
#include "timeline.h"
#include "windows.h"

#define NOTHING JE_HOW_NOTHING, -1, -1, -1
#define SIDE(how, count, type, peer) JE_HOW_##how, count, type, peer
#define JE_IS_P2P(class) \
	(JE_CLASS_##class == JE_CLASS_P2P || JE_CLASS_##class == JE_CLASS_P2P_START)
#define JE_IS_PLAIN(class)                                                       \
	(JE_CLASS_##class != JE_CLASS_IO && JE_CLASS_##class != JE_CLASS_COMM && \
	 JE_CLASS_##class != JE_CLASS_RMA && JE_CLASS_##class != JE_CLASS_OTHER)

/* Which rows have the usual way, and which read arrays of counts in it. These are constant
 * expressions, so gcc drops the ways of all other rows before it works on them. */
enum {
#define JE_CALL(number, name, lower, args, strings, class, sent, received, comm, log) \
	JE_ROW(number, class, sent, received)
#define JE_LARGE(number, name, lower, args, class, sent, received, comm, log) \
	plain_##number = false, arrays_##number = false,
#define JE_ROW(...) JE_ROW_(__VA_ARGS__)
#define JE_ROW_(number, class, s_how, s_count, s_type, s_peer, r_how, r_count, r_type, r_peer) \
	plain_##number = JE_IS_PLAIN(class) && JE_IS_INLINE(s_how) && JE_IS_INLINE(r_how),     \
	arrays_##number = JE_IS_ARRAY(s_how) || JE_IS_ARRAY(r_how),
#include "../mpi_calls.def"
#undef JE_ROW_
};

static const struct je_row rows[] = {
#define JE_CALL(number, name, lower, args, strings, class, sent, received, comm, log) \
	[number] = JE_ROW(number, args, false, class, sent, received, comm),
#define JE_LARGE(number, name, lower, args, class, sent, received, comm, log) \
	[number] = JE_ROW(number, args, true, class, sent, received, comm),
#define JE_ROW_(number, args, large, class, s_how, s_count, s_type, s_peer, r_how, r_count,    \
		r_type, r_peer, comm)                                                          \
	{                                                                                      \
		JE_CLASS_##class, (s_how) != JE_HOW_NOTHING || (r_how) != JE_HOW_NOTHING,      \
			(s_how) != JE_HOW_NOTHING &&JE_IS_P2P(class),                          \
			(s_how) == JE_HOW_ONE && (r_how) == JE_HOW_ONE &&                      \
				(s_count) == (r_count) && (s_type) == (r_type),                \
			comm, args, large, plain_##number, { s_how, s_count, s_type, s_peer }, \
		{                                                                              \
			r_how, r_count, r_type, r_peer                                         \
		}                                                                              \
	}
#include "../mpi_calls.def"
};

/* Bin b counts sizes in [2^(b-1), 2^b). */
JE_HOT void count_size(uint64_t *bins, uint64_t bytes)
{
	uint32_t bin = 63u - (uint32_t)__builtin_clzll(2 * bytes + 1);

	bins[bin < JE_BINS ? bin : JE_BINS - 1]++;
}

JE_HOT bool succeeded(const struct je_args *args, int result)
{
	if (!args->fortran)
		return result == 0;

	const int32_t *ierror = (const int32_t *)args->slots[args->row->args];

	return *ierror == 0;
}

JE_HOT void add_moved(struct je_slot *slot, const struct je_row *row, struct je_func *func,
		      struct je_moved moved)
{
	uint64_t largest = moved.sent > moved.received ? moved.sent : moved.received;

	func->sent += moved.sent;
	func->received += moved.received;
	if (largest > func->largest)
		func->largest = largest;
	if (row->class == JE_CLASS_COLL)
		count_size(slot->hist_coll, largest);
	else if (row->sends)
		count_size(slot->hist_p2p, moved.sent);
}

/* Opens an outermost call. This is inlined, so the return address is the wrapper's: a place in the
 * program. If the process is killed in the call, the address shows where that was. */
JE_HOT void enter_call(struct je_thread *me, struct je_slot *slot, uint32_t index, uint64_t now)
{
	me->ready = NULL;
	slot->open_ticks = now;
	JE_IN_ORDER();
	slot->open_call = (uint64_t)(uintptr_t)__builtin_return_address(0) << JE_OPEN_ADDRESS |
			  (index % JE_STRIDE + 1);
}

/* Counts the outermost call that has just returned. `seq` has one writer, so it is written without
 * being read. Returns the time in all MPI calls so far, or in all calls of files. */
JE_HOT uint64_t leave_call(struct je_thread *me, struct je_slot *slot, const struct je_row *row,
			   uint64_t entered, uint64_t now, struct je_moved moved)
{
	struct je_func *func = &slot->funcs[row - rows];
	uint64_t *sum = row->class == JE_CLASS_IO ? &slot->io_ticks : &slot->mpi_ticks;
	uint64_t ticks = *sum + (now - entered);

	slot->seq = 1;
	JE_IN_ORDER();
	*sum = ticks;
	func->count++;
	func->ticks += now - entered;
	if (row->moves)
		add_moved(slot, row, func, moved);
	slot->last_ticks = now;
	slot->open_call = 0;
	JE_IN_ORDER();
	slot->seq = 0;
	me->ready = slot;
	return ticks;
}

/* `number` is index % JE_STRIDE. In the usual way it is a constant, so that the row is, too. */
JE_HOT struct je_args args_of(struct je_thread *me, uint32_t index, uint32_t number,
			      const intptr_t *slots)
{
	return (struct je_args){ slots, me, &rows[number], index >= JE_STRIDE,
				 index / JE_STRIDE == JE_F08TS };
}

/* Only calls in windows, and those that begin one, are logged. */
static JE_COLD void log_call(const struct je_args *args, uint32_t number, int result,
			     struct je_moved moved, uint64_t entered, uint64_t now,
			     const uintptr_t *frame)
{
	struct je_window_call call = { args, number,  succeeded(args, result), moved, entered,
				       now,  frame[1] };

	je_windows_after(&call);
}

static __attribute__((noinline)) void leave_any_call(struct je_thread *me, struct je_slot *slot,
						     uint32_t index, uint64_t entered,
						     const intptr_t *slots, int result,
						     const void *frame)
{
	uint64_t now = je_ticks();
	struct je_args args = args_of(me, index, index % JE_STRIDE, slots);
	struct je_moved moved = { 0, 0 };

	if (args.row->moves && succeeded(&args, result))
		moved = je_moved(&args);

	uint64_t sum = leave_call(me, slot, args.row, entered, now, moved);

	if (args.row->class == JE_CLASS_IO)
		je_timeline_cut(me, slot, now, true);
	else if (je_place_may_be_due(me, sum))
		je_place_note(me, slot, index % JE_STRIDE, now - entered, frame);
	if (JE_UNLIKELY(me->windows != JE_WINDOWS_OFF))
		log_call(&args, index % JE_STRIDE, result, moved, entered, now, frame);
	if (JE_UNLIKELY(me->counters != NULL))
		je_counters_leave(me, slot);
	je_thread_ready(me, slot);
}

/* Whether the amounts found before the call still hold. Arrays of counts are read only if the
 * communicator is still the one that was remembered. */
JE_HOT bool counts_hold(const struct je_args *args, const struct je_amount *sent,
			const struct je_amount *received)
{
	const struct je_row *row = args->row;
	bool by_rank = je_has_root(&row->sent) || je_has_root(&row->received) ||
		       row->received.how == JE_HOW_MINE;
	bool reads = (je_is_array(&row->sent) && sent->counts != NULL) ||
		     (je_is_array(&row->received) && received->counts != NULL);

	return !reads || JE_LIKELY(je_comm_holds(args->me, je_handle(args, row->comm),
						 args->fortran, by_rank));
}

JE_HOT struct je_moved moved_by(const struct je_row *row, const struct je_amount *sent,
				const struct je_amount *received)
{
	struct je_moved moved;

	moved.sent = je_bytes_of(sent, je_is_array(&row->sent));
	moved.received =
		row->alike ? moved.sent : je_bytes_of(received, je_is_array(&row->received));
	return moved;
}

/* After a call of JE_CLASS_COMM, a handle that this library remembers may mean another
 * communicator. */
static JE_COLD void forget(uint32_t number)
{
	je_comms_forget(number == JE_NUMBER_Comm_free || number == JE_NUMBER_Comm_disconnect);
}

/* The slot in which to count the call that begins; NULL: do not count it. */
JE_HOT struct je_slot *slot_of(struct je_thread *me)
{
	struct je_slot *slot = je_ready(me);

	if (JE_UNLIKELY(slot == NULL))
		if (me->mode != JE_MODE_COLD || !je_thread_claim(me))
			return NULL;
	return slot != NULL ? slot : je_ready(me);
}

static JE_COLD void log_before(struct je_thread *me, uint32_t index, const intptr_t *slots)
{
	struct je_args args = args_of(me, index, index % JE_STRIDE, slots);

	je_windows_before(&args, index % JE_STRIDE);
}

JE_HOT uintptr_t comm_of_border(const struct je_args *args)
{
	return je_handle(args, args->row->args - 1);
}

/* Arrays of counts are read after the call, so count_border() counts such a border then. */
JE_HOT bool skips_border(const struct je_args *args, const struct je_amount *sent,
			 const struct je_amount *received)
{
	const struct je_row *row = args->row;
	struct je_thread *me = args->me;

	if (me->windows == JE_WINDOWS_OFF)
		return true;

	uintptr_t comm = comm_of_border(args);

	if (je_is_array(&row->sent) || je_is_array(&row->received))
		return je_windows_is_beside(me, comm) ||
		       (je_windows_count_on(me, comm) && me->skips > 1);
	return je_windows_skip(me, comm, !row->moves || sent->bytes != 0 || received->bytes != 0);
}

/* Counts a border with an array of counts, which is the same on all ranks. If none is zero, no rank
 * leaves the call before all have entered it. */
JE_HOT void count_border(const struct je_args *args, int result, const struct je_amount *counts)
{
	struct je_thread *me = args->me;
	uintptr_t comm = comm_of_border(args);
	int32_t i = 0;

	if (me->windows == JE_WINDOWS_OFF || je_windows_is_beside(me, comm))
		return;
	if (!succeeded(args, result) || !je_comm_known(je_comm_entry(me, comm), comm)) {
		je_windows_end(me);
		return;
	}
	while (i < counts->n && counts->counts[i] > 0)
		i++;
	me->skips -= i == counts->n;
}

/* The common body. moved_anew counts a call of the usual way whose amounts do not hold. It gets
 * copies of the arguments: by address, each call would keep them in memory, and could not end in a
 * jump. */
#define JE_BODY(n)                                                                            \
	__attribute__((noinline)) int je_body##n(JE_P##n);                                    \
	__attribute__((noinline)) int je_body##n(JE_P##n)                                     \
	{                                                                                     \
		struct je_thread *me = &je_me;                                                \
		uint32_t index = me->index;                                                   \
		int (*next)(JE_P##n) = je_next_of(index);                                     \
                                                                                              \
		if (JE_UNLIKELY(next == NULL)) {                                              \
			next = je_find_next(index, __builtin_return_address(0), &me->passes); \
			if (me->passes)                                                       \
				return next(JE_A##n);                                         \
		}                                                                             \
                                                                                              \
		if (rows[index % JE_STRIDE].class == JE_CLASS_COMM)                           \
			forget(index % JE_STRIDE);                                            \
                                                                                              \
		struct je_slot *slot = slot_of(me);                                           \
                                                                                              \
		if (slot == NULL)                                                             \
			return next(JE_A##n);                                                 \
                                                                                              \
		const intptr_t slots[] = { JE_A##n };                                         \
		uint64_t entered = je_ticks();                                                \
		bool due = JE_UNLIKELY(entered >= me->due);                                   \
                                                                                              \
		if (due)                                                                      \
			je_timeline_cut(me, slot, entered, false);                            \
		enter_call(me, slot, index, entered);                                         \
		me->ready_slow = NULL;                                                        \
		if (JE_UNLIKELY(me->counters != NULL))                                        \
			je_counters_enter(me, slot);                                          \
		if (due && entered >= me->read)                                               \
			je_cpu_read(me, slot);                                                \
		if (JE_UNLIKELY(me->windows == JE_WINDOWS_LOGGING))                           \
			log_before(me, index, slots);                                         \
                                                                                              \
		int result = next(JE_A##n);                                                   \
                                                                                              \
		leave_any_call(me, slot, index, entered, slots, result,                       \
			       __builtin_frame_address(0));                                   \
		return result;                                                                \
	}                                                                                     \
	static JE_COLD __attribute__((unused)) struct je_moved moved_anew##n(JE_P##n)         \
	{                                                                                     \
		const intptr_t slots[] = { JE_A##n };                                         \
		uint32_t index = je_me.index;                                                 \
		struct je_args args = args_of(&je_me, index, index % JE_STRIDE, slots);       \
                                                                                              \
		return je_moved(&args);                                                       \
	}

JE_BODY(0)
JE_BODY(1)
JE_BODY(2)
JE_BODY(3)
JE_BODY(4)
JE_BODY(5)
JE_BODY(6)
JE_BODY(7)
JE_BODY(8)
JE_BODY(9)
JE_BODY(10)
JE_BODY(11)
JE_BODY(12)
JE_BODY(13)
JE_BODY(14)

/* The state of this thread. The asm hides where the address comes from, so the compiler keeps it in
 * a register. Computed anew for each type and communicator, it would cost a Fortran call 2 ns.
 */
JE_HOT struct je_thread *here(void)
{
	struct je_thread *me = &je_me;

	__asm__("" : "+r"(me));
	return me;
}

/* The usual way. The compiler knows the row. It does not always know `which`: several bindings may
 * share the way. The clock is read before types and communicators are looked up, since the
 * processor does both at once. The checks that often lead to the common body come before that,
 * because the body reads the clock again. */
#define JE_USUAL(which, number, n)                                                            \
	do {                                                                                  \
		struct je_slot *slot = me->ready;                                             \
		int (*next)(JE_PARAMS(n)) = je_next_of(which);                                \
		const struct je_row *row = &rows[number];                                     \
		const intptr_t slots[] = { JE_NAMES(n) };                                     \
		struct je_args args = args_of(me, which, number, slots);                      \
		struct je_amount sent, received;                                              \
                                                                                              \
		if (JE_UNLIKELY(slot == NULL) || JE_UNLIKELY(next == NULL))                   \
			break;                                                                \
		if (JE_MAKES_REQUEST(number) && JE_UNLIKELY(me->windows != JE_WINDOWS_OFF))   \
			break;                                                                \
		if (JE_UNLIKELY(je_is_in_place(&args)))                                       \
			break;                                                                \
                                                                                              \
		uint64_t entered = je_inline_ticks();                                         \
                                                                                              \
		if (JE_UNLIKELY(!je_amounts_of(&args, &sent, &received)))                     \
			break;                                                                \
		if (JE_UNLIKELY(entered >= me->due))                                          \
			break;                                                                \
		if (JE_IS_BORDER(number) &&                                                   \
		    JE_UNLIKELY(!skips_border(&args, &sent, row->alike ? &sent : &received))) \
			break;                                                                \
		enter_call(me, slot, number, entered);                                        \
                                                                                              \
		int result = next(JE_NAMES(n));                                               \
		uint64_t now = je_inline_ticks();                                             \
		struct je_moved moved = { 0, 0 };                                             \
                                                                                              \
		if (row->moves && JE_LIKELY(succeeded(&args, result)))                        \
			moved = counts_hold(&args, &sent, &received)                          \
					? moved_by(row, &sent, &received)                     \
					: (me->index = which,                                 \
					   JE_PASTE(moved_anew, n)(JE_NAMES(n)));             \
                                                                                              \
		uint64_t sum = leave_call(me, slot, row, entered, now, moved);                \
                                                                                              \
		if (arrays_##number && JE_IS_BORDER(number))                                  \
			count_border(&args, result,                                           \
				     row->sent.how == JE_HOW_PARTS ? &sent : &received);      \
		if (JE_UNLIKELY(je_place_may_be_due(me, sum)))                                \
			return je_place_note_here(number, now - entered, result);             \
		return result;                                                                \
	} while (0)

/* A jump, so that the return address is still the stub's: the place of a call (places.h). gcc makes
 * one by itself, since both have the same parameters. TestAddresses checks that. */
#if defined(__clang__)
#define JE_JUMP __attribute__((musttail)) return
#else
#define JE_JUMP return
#endif

/* Whether this thread is in an open call. What MPI itself calls meanwhile belongs to that call. */
JE_HOT bool je_inside(const struct je_thread *me)
{
	return me->ready == NULL && me->ready_slow == NULL && me->mode != JE_MODE_COLD;
}

/* MPICH's Fortran calls its C: such a call is handed on without a frame of its own. The stubs begin
 * at a cache line: without that, MPI_Alltoallv's took 10 ns more, only because of where it lay. */
#define JE_STUB_C(symbol, way, number, n)                               \
	static __attribute__((noinline)) int way(JE_PARAMS(n))          \
	{                                                               \
		struct je_thread *me = here();                          \
                                                                        \
		JE_USUAL(number, number, n);                            \
		me->index = number;                                     \
		JE_JUMP JE_PASTE(je_body, n)(JE_NAMES(n));              \
	}                                                               \
	__attribute__((aligned(64))) JE_EXPORT int symbol(JE_PARAMS(n)) \
	{                                                               \
		if (plain_##number && JE_UNLIKELY(je_inside(&je_me))) { \
			int (*next)(JE_PARAMS(n)) = je_next_of(number); \
                                                                        \
			if (next != NULL)                               \
				return next(JE_NAMES(n));               \
		}                                                       \
		if (plain_##number)                                     \
			JE_JUMP way(JE_NAMES(n));                       \
		je_me.index = number;                                   \
		JE_JUMP JE_PASTE(je_body, n)(JE_NAMES(n));              \
	}

/* All Fortran bindings of a function have the same arguments, so their stubs share one way. */
#define JE_FORTRAN_WAY(way, number, n)                         \
	static __attribute__((noinline)) int way(JE_PARAMS(n)) \
	{                                                      \
		struct je_thread *me = here();                 \
		uint32_t index = me->index;                    \
                                                               \
		if (index < JE_STRIDE)                         \
			__builtin_unreachable();               \
		JE_USUAL(index, number, n);                    \
		JE_JUMP JE_PASTE(je_body, n)(JE_NAMES(n));     \
	}
#define JE_STUB_FORTRAN(symbol, way, binding, number, n)      \
	JE_EXPORT int symbol(JE_PARAMS(n))                    \
	{                                                     \
		je_me.index = (binding)*JE_STRIDE + (number); \
		if (plain_##number)                           \
			JE_JUMP way(JE_NAMES(n));             \
		JE_JUMP JE_PASTE(je_body, n)(JE_NAMES(n));    \
	}

/* mpi_f08's ierror may be absent. Only it shows whether the call failed, so MPI is given ours. */
#define JE_STUB_F08(symbol, way, binding, number, error, n)   \
	JE_EXPORT int symbol(JE_PARAMS(n))                    \
	{                                                     \
		je_me.index = (binding)*JE_STRIDE + (number); \
		if (JE_UNLIKELY((error) == 0))                \
			(error) = (intptr_t)&je_me.ierror;    \
		if (plain_##number)                           \
			JE_JUMP way(JE_NAMES(n));             \
		JE_JUMP JE_PASTE(je_body, n)(JE_NAMES(n));    \
	}

#define JE_CALL(number, name, lower, args, strings, class, sent, received, comm, log) \
	JE_STUBS(, number, name, lower, args, JE_SUM(args, strings))
#define JE_CALL4(number, name, lower, args, strings, class, sent, received, comm, log) \
	JE_STUBS(je_, number, name, lower, args, JE_SUM(args, strings))                \
	JE_NEWER(MPI_##name) JE_NEWER(mpi_##lower##_f08ts_) JE_NEWER_MANGLED(lower)
#define JE_STUBS(prefix, number, name, lower, args, n)                           \
	JE_STUB_C(prefix##MPI_##name, c_##name, number, args)                    \
	JE_BINDINGS_OF(prefix##mpi_##lower, lower, number, JE_PASTE(a, args), n) \
	JE_MANGLED(prefix, lower)
#define JE_BINDINGS_OF(symbol, lower, number, error, n)                   \
	JE_FORTRAN_WAY(way_##lower, number, n)                            \
	JE_STUB_FORTRAN(symbol##_, way_##lower, JE_FORTRAN, number, n)    \
	JE_STUB_F08(symbol##_f08_, way_##lower, JE_F08, number, error, n) \
	JE_STUB_F08(symbol##_f08ts_, way_##lower, JE_F08TS, number, error, n)

#define JE_LARGE(number, name, lower, args, class, sent, received, comm, log)              \
	JE_STUB_C(je_MPI_##name, c_##name, number, args)                                   \
	JE_LARGE_F08(lower, number, JE_PASTE(a, args), JE_PASTE(je_body, JE_SUM(args, 0)), \
		     JE_SUM(args, 0))                                                      \
	JE_NEWER(MPI_##name) JE_NEWER(mpi_##lower##_f08ts_)
#define JE_LARGE_F08(lower, number, error, body, n) \
	JE_STUB_F08(je_mpi_##lower##_f08ts_, body, JE_F08TS, number, error, n)

#define JE_SPECIAL(...)

#include "../mpi_calls.def"
