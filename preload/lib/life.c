/* life.c: from MPI_Init to MPI_Finalize, and the end of the process. */
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "counters.h"
#include "cpu.h"
#include "next.h"
#include "objects.h"
#include "places.h"
#include "spell.h"
#include "ticks.h"
#include "timeline.h"
#include "windows.h"

typedef int (*mpi_fn)(intptr_t, intptr_t, intptr_t, intptr_t);

/* Claims and fills in the slot of the process; false: nothing is measured. */
static JE_COLD bool start(struct je_thread *me, uint32_t number)
{
	uint64_t entered;
	struct je_slot *slot;

	je_clock_choose();
	entered = je_ticks();
	if (je_process.slot != NULL && je_process.slot->without_mpi)
		je_process_becomes_mpi(me, entered);
	else if (!je_process_claim(me, entered))
		return false;
	slot = je_process.slot;
	slot->open_ticks = entered;
	slot->open_call = number + 1;
	je_cpu_before_init();
	return true;
}

/* MPI_Init or MPI_Session_init returned. `session` is where the session's handle is; NULL:
 * MPI_Init. */
static JE_COLD void started(struct je_thread *me, const intptr_t *session, bool fortran)
{
	struct je_slot *slot = je_process.slot;
	uint64_t now;

	if (session == NULL && !je_mpi_initialized()) {
		me->mode = JE_MODE_OFF;
		return;
	}
	je_bytes_init(je_who_at_leave(slot, session, fortran));
	if (slot->init_leave_ticks == 0) {
		je_workload_note(slot);
		je_counters_start(me, slot);
		je_cpu_start(me, slot);
		je_windows_start(me, slot, session != NULL, je_claim_windows);
	}
	now = je_ticks();
	if (slot->init_leave_ticks == 0) {
		slot->init_leave_ticks = now;
		je_timeline_start(me, slot);
	} else
		slot->mpi_ticks += now - slot->open_ticks;
	slot->last_ticks = now;
	JE_IN_ORDER();
	slot->state = JE_STATE_RUNNING;
	slot->open_call = 0;
	me->mode = JE_MODE_READY;
	if (me->counters != NULL)
		je_counters_leave(me, slot);
	je_thread_ready(me, slot);
	__atomic_store_n(&je_process.running, true, __ATOMIC_RELEASE);
}

/* The last session was finalized, and now MPI begins again: the region goes on. */
static bool go_on(uint32_t number)
{
	struct je_slot *slot = je_process.slot;

	if (slot == NULL || !je_process.between)
		return false;
	je_process.between = false;
	slot->open_ticks = je_ticks();
	slot->open_call = number + 1;
	slot->state = JE_STATE_RUNNING;
	slot->ending = JE_ENDING_NONE;
	slot->counters = 0; /* the counters stopped in between */
	slot->fini_enter_ticks = slot->fini_leave_ticks = 0;
	memset(&slot->finished_at, 0, sizeof(slot->finished_at));
	return true;
}

/* The real function behind one of this file's wrappers. If je_me.passes is set, the call is not
 * measured: the function belongs to another MPI. Or the program has no MPI, and found our function
 * by a weak name or dlsym(). */
static mpi_fn next_of(uint32_t index, const void *caller)
{
	mpi_fn next = je_next_of(index);

	if (next == NULL)
		return je_find_next(index, caller, &je_me.passes);
	je_me.passes = false;
	return next;
}

/* Whether a function belongs to a stand-in for MPI. Its calls are not measured, and the record
 * counts the process once. */
static JE_COLD bool is_stub(const void *init)
{
	static bool noted;

	if (!je_mpi_is_stub(init))
		return false;
	if (!noted && je_record_find())
		je_record_count(offsetof(struct je_head, lost_stub));
	noted = true;
	return true;
}

/* As next_of(), for a function that begins MPI. It looks up all others as well: the program needs
 * them soon. */
static mpi_fn first_of(uint32_t index, const void *caller)
{
	bool known = je_next_of(index) != NULL;
	mpi_fn next = next_of(index, caller);

	if (!known)
		je_find_all(index, caller);
	return next;
}

/* Whether a call that begins MPI also begins the measurement. */
static bool begins(struct je_thread *me, uint32_t index, const void *next, const void *caller)
{
	uint32_t number = index % JE_STRIDE;
	int saved = errno;
	bool on = me->mode == JE_MODE_COLD && !is_stub(next) && start(me, number);

	if (on)
		je_measure_mpi(index, caller);
	on = on || (me->mode == JE_MODE_OFF && go_on(number));
	errno = saved;
	if (on)
		me->mode = JE_MODE_INSIDE;
	return on;
}

static int init(uint32_t index, mpi_fn next, const void *caller, const intptr_t *a)
{
	struct je_thread *me = &je_me;

	if (me->passes) {
		int saved = errno;

		if (!je_is_ours((const void *)next))
			is_stub((const void *)next); /* counts the process, if so */
		errno = saved;
		return next(a[0], a[1], a[2], a[3]);
	}
	if (je_ready(me) != NULL) { /* inside a session: a call like any other */
		je_process.by_init = true;
		me->index = index;
		return je_body4(a[0], a[1], a[2], a[3]);
	}
	if (!begins(me, index, (const void *)next, caller))
		return next(a[0], a[1], a[2], a[3]);
	je_process.by_init = true;
	je_place_begin(je_process.slot, caller);

	int result = next(a[0], a[1], a[2], a[3]);
	int saved = errno;

	started(me, NULL, false);
	errno = saved;
	return result;
}

static __attribute__((noinline)) int life_Init(intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3)
{
	uint32_t index = je_me.index;
	const void *caller = __builtin_return_address(0);
	mpi_fn next = first_of(index, caller);

	return init(index, next, caller, (const intptr_t[]){ a0, a1, a2, a3 });
}

static __attribute__((noinline)) int life_Init_thread(intptr_t a0, intptr_t a1, intptr_t a2,
						      intptr_t a3)
{
	return life_Init(a0, a1, a2, a3);
}

/* A program that uses sessions only is measured from the first session to the end of the last. */
static __attribute__((noinline)) int life_Session_init(intptr_t a0, intptr_t a1, intptr_t a2,
						       intptr_t a3)
{
	struct je_thread *me = &je_me;
	uint32_t index = me->index;
	bool fortran = index >= JE_STRIDE;
	const void *caller = __builtin_return_address(0);
	mpi_fn next = first_of(index, caller);

	if (me->passes)
		return next(a0, a1, a2, a3);
	if (je_ready(me) != NULL) {
		__atomic_add_fetch(&je_process.sessions, 1, __ATOMIC_RELAXED);
		return je_body4(a0, a1, a2, a3);
	}
	if (fortran && a3 == 0) /* mpi_f08's ierror is absent */
		a3 = (intptr_t)&me->ierror;
	if (!begins(me, index, (const void *)next, caller))
		return next(a0, a1, a2, a3);
	je_process.sessions = 1;
	je_place_begin(je_process.slot, caller);

	int result = next(a0, a1, a2, a3);
	int saved = errno;

	if ((fortran ? *(const int *)a3 : result) == 0)
		started(me, (const intptr_t *)a2, fortran);
	else
		me->mode = JE_MODE_OFF;
	errno = saved;
	return result;
}

/* Whether a thread that calls MPI_Finalize is still inside another call: the program's error
 * handler left it by an exception or longjmp. What came after that was not measured. */
static bool has_left_a_call(const struct je_thread *me)
{
	return me->mode == JE_MODE_READY && me->slot == je_process.slot;
}

static int finalize(struct je_thread *me, uint32_t number, mpi_fn next, const intptr_t *a)
{
	struct je_slot *slot = je_process.slot;
	uint64_t now = je_ticks();

	slot->left = je_ready(me) == NULL;
	slot->fini_enter_ticks = slot->left != 0 ? slot->open_ticks : now;
	slot->open_ticks = now;
	__atomic_store_n(&je_process.running, false, __ATOMIC_RELEASE);
	slot->state = JE_STATE_FINALIZED;
	slot->open_call = number + 1;
	je_counters_end(me, slot);
	je_cpu_read(me, slot);
	me->mode = JE_MODE_OFF;
	je_thread_ready(me, NULL);
	je_window_comms_end();

	int result = next(a[0], a[1], a[2], a[3]);

	slot->fini_leave_ticks = je_ticks();
	slot->open_call = 0;
	je_process_note_ending(slot, JE_ENDING_FINALIZE, 0);
	return result;
}

static __attribute__((noinline)) int life_Finalize(intptr_t a0, intptr_t a1, intptr_t a2,
						   intptr_t a3)
{
	struct je_thread *me = &je_me;
	mpi_fn next = next_of(me->index, __builtin_return_address(0));

	if (me->passes || je_process.slot == NULL || !je_process.running ||
	    (je_ready(me) == NULL && !has_left_a_call(me)))
		return next(a0, a1, a2, a3);
	return finalize(me, JE_NUMBER_Finalize, next, (const intptr_t[]){ a0, a1, a2, a3 });
}

static __attribute__((noinline)) int life_Session_finalize(intptr_t a0, intptr_t a1, intptr_t a2,
							   intptr_t a3)
{
	struct je_thread *me = &je_me;
	mpi_fn next = next_of(me->index, __builtin_return_address(0));

	if (me->passes)
		return next(a0, a1, a2, a3);
	je_comms_forget(true);
	if (je_process.slot == NULL || !je_process.running || je_ready(me) == NULL)
		return next(a0, a1, a2, a3);
	if (je_process.by_init || __atomic_sub_fetch(&je_process.sessions, 1, __ATOMIC_RELAXED) > 0)
		return je_body4(a0, a1, a2, a3);

	int result = finalize(me, JE_NUMBER_Session_finalize, next,
			      (const intptr_t[]){ a0, a1, a2, a3 });

	je_process.between = true;
	return result;
}

static __attribute__((noinline)) int life_Abort(intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3)
{
	struct je_thread *me = &je_me;
	uint32_t index = me->index;
	mpi_fn next = next_of(index, __builtin_return_address(0));

	if (!je_me.passes && je_process.slot != NULL) {
		int32_t code = index >= JE_STRIDE ? *(const int32_t *)a1 : (int32_t)a1;

		je_process_note_ending(je_process.slot, JE_ENDING_ABORT, code);
	}
	return next(a0, a1, a2, a3);
}

/* MPI may use a freed handle again for another datatype. */
static __attribute__((noinline)) int life_Type_free(intptr_t a0, intptr_t a1, intptr_t a2,
						    intptr_t a3)
{
	mpi_fn next = next_of(je_me.index, __builtin_return_address(0));

	je_types_forget();
	return next(a0, a1, a2, a3);
}

/* All spellings of these functions. */
#define JE_LIFE(symbol, name, at, n)                      \
	JE_EXPORT int symbol(JE_PARAMS(n))                \
	{                                                 \
		je_me.index = (at);                       \
		return life_##name(JE_PASTE(JE_FOUR, n)); \
	}

#define JE_SPECIAL(number, name, lower, args, fargs, class) \
	JE_LIVES(, number, name, lower, args, JE_SUM(fargs, 0))
#define JE_SPECIAL4(number, name, lower, args, fargs, class)       \
	JE_LIVES(je_, number, name, lower, args, JE_SUM(fargs, 0)) \
	JE_NEWER(MPI_##name) JE_NEWER_MANGLED(lower)
#define JE_LIVES(prefix, number, name, lower, args, n)                           \
	JE_LIFE(prefix##MPI_##name, name, number, args)                          \
	JE_LIFE(prefix##mpi_##lower##_, name, JE_FORTRAN *JE_STRIDE + number, n) \
	JE_LIFE(prefix##mpi_##lower##_f08_, name, JE_F08 *JE_STRIDE + number, n) \
	JE_MANGLED(prefix, lower)

#define JE_CALL(...)
#define JE_LARGE(...)

#include "../mpi_calls.def"

static __attribute__((constructor)) void at_load(void)
{
	je_static_at_load();
}

/* Runs at exit() and at the return from main. */
static __attribute__((destructor)) void at_exit(void)
{
	struct je_slot *slot = je_process.slot;
	bool ours = slot != NULL && je_process_owns(slot);

	if (!je_process.tried || (ours && slot->without_mpi))
		je_static_at_exit();
	if (ours)
		je_process_exit(slot);
	else if (!je_process.tried)
		je_launcher_at_exit();
}
