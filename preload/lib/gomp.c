/* gomp.c: the wrappers of libgomp's functions. libgomp reports nothing to tools, so the library
 * stands between gcc's code and libgomp.
 *
 * A region's function is wrapped, so each thread of its team is seen when it begins and ends. The
 * bodies of tasks are wrapped, too: they are useful wherever they run, also while their thread
 * waits in a barrier. A call inside a region is timed. A thread outside of measured regions passes
 * through.
 */
#include <string.h>

#include "gomp.h"
#include "parallel.h"
#include "spell.h"

enum { JE_LINE = 64 }; /* bytes of a cache line */

/* GOMP_parallel_reductions looks at the first word of the data, so a copy of it is the first
 * member. What the team reads takes one cache line, and what the beginner writes meanwhile
 * another. */
struct region {
	_Alignas(JE_LINE) intptr_t first_word;
	void (*body)(void *);
	void *data;
	struct je_runtime *runtime;
	struct je_region open;
	_Alignas(JE_LINE) uint32_t team; /* threads */
};
_Static_assert(offsetof(struct region, team) == JE_LINE, "one line");

static uint32_t threads_of(struct je_runtime *runtime)
{
	int (*get)(void) = je_gomp_next(runtime, JE_omp_get_num_threads);

	return get == NULL ? 1 : (uint32_t)get();
}

/* Runs in place of a region's function, in each thread of its team. */
static void region_body(void *data)
{
	struct region *region = data;
	struct je_thread *me = &je_me;
	bool joined = me->openmp == NULL && je_openmp_join(me);
	bool nested = region->open.outer == JE_OPENMP_USEFUL;
	struct je_runtime *outer = me->runtime;

	if (me->openmp != NULL) {
		if (region->open.beginner == me) {
			region->team = threads_of(region->runtime);
			je_openmp_size(me, &region->open, region->team);
		}
		je_openmp_begin_part(me, &region->open);
	}
	me->runtime = region->runtime;
	region->body(region->data);
	me->runtime = outer;
	if (me->openmp == NULL) /* there was no entry, or this is a forked child */
		return;
	je_openmp_pause(me, JE_OPENMP_OUTSIDE, je_ticks());
	if (joined && nested)
		je_openmp_part(me);
}

/* Notes in the record why a runtime is not measured. One that asked for an OMPT tool is left to
 * ompt.c. */
static JE_COLD void stand_back(struct je_thread *me, uint32_t why)
{
	if (why != JE_OPENMP_NO_OMPT || !__atomic_load_n(&je_ompt_asked, __ATOMIC_RELAXED))
		je_process_openmp(me, 0, why);
}

/* Opens a region; false: it is not measured. */
static __attribute__((noinline)) bool open_region(struct je_thread *me, struct region *region,
						  struct je_runtime *runtime, intptr_t body,
						  intptr_t data)
{
	if (JE_UNLIKELY(je_gomp_why(runtime) != JE_OPENMP_KNOWN))
		return false;
	if (JE_UNLIKELY(!je_openmp_measures(me, JE_OPENMP_LIBGOMP, &runtime->noted)))
		return false;
	region->body = (void (*)(void *))body;
	region->data = (void *)data;
	region->runtime = runtime;
	region->team = 1;
	je_openmp_fork(me, &region->open);
	return true;
}

/* The bodies below share this, and do not inline it: the clock takes most of the time. */
static __attribute__((noinline)) void close_region(struct je_thread *me,
						   const struct region *region)
{
	if (JE_LIKELY(me->openmp != NULL)) /* not in a forked child */
		je_openmp_end(me, &region->open, region->team);
}

/* The function of a runtime with n arguments. */
#define JE_NEXT(runtime, number, n) ((intptr_t(*)(JE_PARAMS(n)))je_gomp_next(runtime, number))

/* The wrapped function's address shows the caller better than the return address does: a call may
 * be a jump. */
#define JE_REGION(n)                                                                   \
	static __attribute__((noinline)) intptr_t region##n(JE_PARAMS(n))              \
	{                                                                              \
		struct je_thread *me = &je_me;                                         \
		uint32_t number = me->gomp;                                            \
		struct je_runtime *runtime = je_gomp_of(me, (const void *)a0, number); \
		intptr_t (*next)(JE_PARAMS(n)) = JE_NEXT(runtime, number, n);          \
		struct region region;                                                  \
                                                                                       \
		if (!open_region(me, &region, runtime, a0, a1)) {                      \
			intptr_t passed = next(JE_NAMES(n));                           \
                                                                                       \
			if (je_gomp_why(runtime) != JE_OPENMP_KNOWN)                   \
				stand_back(me, je_gomp_why(runtime));                  \
			return passed;                                                 \
		}                                                                      \
		if (number == JE_GOMP_parallel_reductions)                             \
			region.first_word = *(const intptr_t *)a1;                     \
		a0 = (intptr_t)region_body;                                            \
		a1 = (intptr_t)&region;                                                \
                                                                                       \
		intptr_t result = next(JE_NAMES(n));                                   \
                                                                                       \
		close_region(me, &region);                                             \
		return result;                                                         \
	}

JE_REGION(4)
JE_REGION(5)
JE_REGION(7)
JE_REGION(8)

/* A wait for another iteration of a nest of loops is variadic: it has one argument per loop, and
 * none of them is their number. JE_WAIT_ARGS of them have registers. A word on the stack may be one
 * more, or the caller's own. The call that begins the nest says how many loops there are. A thread
 * that ever began a deeper nest is no longer measured in such waits. */
#if defined(__aarch64__)
#define JE_WAIT_ARGS 8
#else
#define JE_WAIT_ARGS 6
#endif

static const uint8_t state_of[JE_GOMP_FUNCS] = {
#define JE_GOMP_CALL(name, version, state, args) [JE_##name] = JE_OPENMP_##state,
#define JE_GOMP_WAIT(name, version) [JE_##name] = JE_OPENMP_LOCKED,
#include "../gomp_calls.def"
};

static __attribute__((noinline)) void enter_call(struct je_thread *me, uint32_t state)
{
	struct je_openmp_thread *entry = me->openmp;

	if (state == JE_OPENMP_WAITING)
		entry->waits++;
	else if (state == JE_OPENMP_LOCKED)
		entry->locks++;
	else
		entry->dispatches++;
	je_openmp_pause(me, state, je_ticks());
}

static __attribute__((noinline)) void leave_call(const struct je_thread *me)
{
	if (JE_LIKELY(me->openmp != NULL)) /* not in a forked child */
		je_openmp_resume(me->openmp, JE_OPENMP_USEFUL, je_ticks());
}

/* `whole`: whether n covers all arguments. A call that is not measured is a jump, which leaves
 * arguments on the stack where they are. */
#define JE_INSIDE(name, n, whole)                                                                 \
	static __attribute__((noinline)) intptr_t name(JE_PARAMS(n))                              \
	{                                                                                         \
		struct je_thread *me = &je_me;                                                    \
		uint32_t number = me->gomp;                                                       \
		struct je_runtime *runtime = je_gomp_of(me, __builtin_return_address(0), number); \
		intptr_t (*next)(JE_PARAMS(n)) = JE_NEXT(runtime, number, n);                     \
                                                                                                  \
		if (!je_openmp_useful(me) || je_gomp_why(runtime) != JE_OPENMP_KNOWN || !(whole)) \
			return next(JE_NAMES(n));                                                 \
		enter_call(me, state_of[number]);                                                 \
                                                                                                  \
		intptr_t result = next(JE_NAMES(n));                                              \
                                                                                                  \
		leave_call(me);                                                                   \
		return result;                                                                    \
	}

JE_INSIDE(inside0, 0, true)
JE_INSIDE(inside1, 1, true)
JE_INSIDE(inside2, 2, true)
JE_INSIDE(inside3, 3, true)
JE_INSIDE(inside4, 4, true)
JE_INSIDE(inside5, 5, true)
JE_INSIDE(inside6, 6, true)
JE_INSIDE(inside7, 7, true)
JE_INSIDE(inside8, 8, true)
JE_INSIDE(inside9, 9, true)
JE_INSIDE(inside10, 10, true)
JE_INSIDE(wait_in_nest, JE_WAIT_ARGS, !me->deep)

/* The calls by which compilers before gcc 4.9 begin a region. */
#define JE_OLD(n)                                                                      \
	static __attribute__((noinline)) intptr_t old##n(JE_PARAMS(n))                 \
	{                                                                              \
		struct je_thread *me = &je_me;                                         \
		uint32_t number = me->gomp;                                            \
		struct je_runtime *runtime = je_gomp_of(me, (const void *)a0, number); \
                                                                                       \
		stand_back(me, JE_OPENMP_OLD_CODE);                                    \
		return JE_NEXT(runtime, number, n)(JE_NAMES(n));                       \
	}

JE_OLD(3)
JE_OLD(4)
JE_OLD(6)
JE_OLD(7)

/* Gives a wrapper the name and the version of libgomp's function. A single @ hides it from callers
 * that ask for no version. */
#define JE_NAMED(name, version) __asm__(".symver je_" #name "," #name "@GOMP_" #version)

/* A stub notes which wrapper it is, and jumps to the common body for its number of arguments. */
#define JE_STUB(name, version, body, n)            \
	JE_NAMED(name, version);                   \
	JE_EXPORT intptr_t je_##name(JE_PARAMS(n)) \
	{                                          \
		je_me.gomp = JE_##name;            \
		return body##n(JE_NAMES(n));       \
	}

#define JE_GOMP_REGION(name, version, n) JE_STUB(name, version, region, n)
#define JE_GOMP_CALL(name, version, state, n) JE_STUB(name, version, inside, n)
#define JE_GOMP_OLD(name, version, n) JE_STUB(name, version, old, n)
#define JE_GOMP_WAIT(name, version)                           \
	JE_NAMED(name, version);                              \
	JE_EXPORT intptr_t je_##name(JE_PARAMS(JE_WAIT_ARGS)) \
	{                                                     \
		je_me.gomp = JE_##name;                       \
		return wait_in_nest(JE_NAMES(JE_WAIT_ARGS));  \
	}
#define JE_GOMP_NEST(name, version, n)             \
	JE_NAMED(name, version);                   \
	JE_EXPORT intptr_t je_##name(JE_PARAMS(n)) \
	{                                          \
		if ((uint32_t)a0 > JE_WAIT_ARGS)   \
			je_me.deep = true;         \
		je_me.gomp = JE_##name;            \
		return inside##n(JE_NAMES(n));     \
	}
#define JE_GOMP_TASK(name, version) JE_NAMED(name, version);
#include "../gomp_calls.def"

/* Flags of GOMP_task and GOMP_taskloop, as gcc emits them. */
enum { JE_TASK_NOGROUP = 1 << 11, JE_TASK_DETACH = 1 << 13 };
enum { JE_TASK_WORDS = 3, JE_TASK_BYTES = 4096, JE_TASKS_SAMPLED = 16 };

/* Lies before a task's arguments. libgomp looks at the first words, and changes some: it writes the
 * bounds of a taskloop's part, and the event of a task that may be detached. */
struct task {
	intptr_t words[JE_TASK_WORDS];
	uint32_t changed; /* words that libgomp writes */
	uint32_t offset;  /* of the arguments, bytes */
	void (*body)(void *);
	void (*copy)(void *, void *);
	void *data; /* the arguments that `copy` reads */
	struct je_runtime *runtime;
};

/* Runs in place of a task's function. */
static void task_body(void *data)
{
	struct task *task = data;
	void *arguments = (char *)data + task->offset;
	struct je_thread *me = &je_me;
	struct je_runtime *outer = me->runtime;
	uint32_t state = JE_OPENMP_OUTSIDE;

	memcpy(arguments, task->words, task->changed * sizeof(task->words[0]));
	if (me->openmp != NULL) {
		state = me->openmp->state;
		if (state != JE_OPENMP_USEFUL)
			je_openmp_resume(me->openmp, JE_OPENMP_USEFUL, je_ticks());
		me->openmp->tasks_run++;
	}
	me->runtime = task->runtime;
	task->body(arguments);
	me->runtime = outer;
	if (me->openmp != NULL && state != JE_OPENMP_USEFUL)
		je_openmp_pause(me, state, je_ticks());
}

/* Runs in place of a task's copy function, which constructs C++ objects. */
static void task_copy(void *to, void *from)
{
	struct task *task = to;

	memcpy(to, from, sizeof(*task));
	task->copy((char *)to + task->offset, task->data);
}

/* The room for a task and its arguments, which must be aligned as they were. */
JE_HOT size_t room_of(const intptr_t *a)
{
	return sizeof(struct task) + 2 * (size_t)a[4] + (size_t)a[3];
}

/* Wraps the task of a call with these arguments, and changes the first five of them. */
static void wrap_task(void *room, struct je_runtime *runtime, uint32_t changed, intptr_t *a)
{
	size_t bytes = (size_t)a[3], align = (size_t)a[4];
	struct task *task = (struct task *)(((uintptr_t)room + align - 1) / align * align);

	memset(task->words, 0, sizeof(task->words));
	if (bytes > 0)
		memcpy(task->words, (const void *)a[1],
		       bytes < sizeof(task->words) ? bytes : sizeof(task->words));
	task->changed = bytes < changed * sizeof(task->words[0]) ? 0 : changed;
	task->offset = (uint32_t)((sizeof(*task) + align - 1) / align * align);
	task->body = (void (*)(void *))a[0];
	task->copy = (void (*)(void *, void *))a[2];
	task->data = (void *)a[1];
	task->runtime = runtime;
	if (task->copy == NULL && bytes > 0)
		memcpy((char *)task + task->offset, task->data, bytes);
	a[0] = (intptr_t)task_body;
	a[1] = (intptr_t)task;
	a[2] = task->copy == NULL ? 0 : (intptr_t)task_copy;
	a[3] = (intptr_t)(task->offset + bytes);
	a[4] = (intptr_t)align;
}

/* Whether the body of a task that is made now is wrapped. One that runs at once needs no wrapper:
 * its thread's time is useful anyway. */
static __attribute__((noinline)) bool is_wrapped(const struct je_thread *me,
						 const struct je_runtime *runtime,
						 const intptr_t *a, bool deferred)
{
	if (!je_openmp_useful(me) || je_gomp_why(runtime) != JE_OPENMP_KNOWN)
		return false;
	me->openmp->tasks_made++;
	if (!deferred)
		return false;
	if ((size_t)a[3] + 2 * (size_t)a[4] <= JE_TASK_BYTES)
		return true;
	je_openmp_note(0, JE_OPENMP_KNOWN, JE_OPENMP_BIG_TASKS);
	return false;
}

/* Aligns a task's arguments at least as struct task, which lies before them. */
JE_HOT void align_up(intptr_t *a)
{
	if (a[4] < (intptr_t) _Alignof(struct task))
		a[4] = _Alignof(struct task);
}

/* Each task made since the last timed one is taken to have cost as much. That time was counted as
 * useful, and moves to scheduling. */
JE_HOT void count_untimed(struct je_openmp_thread *entry, uint64_t before)
{
	uint64_t ticks = (entry->ticks[JE_OPENMP_SCHEDULING] - before) * (JE_TASKS_SAMPLED - 1);

	if (ticks > entry->ticks[JE_OPENMP_USEFUL])
		ticks = entry->ticks[JE_OPENMP_USEFUL];
	entry->ticks[JE_OPENMP_SCHEDULING] += ticks;
	entry->ticks[JE_OPENMP_USEFUL] -= ticks;
}

/* Making a task takes little longer than reading the clock twice, so only every sixteenth is
 * timed. */
JE_EXPORT void je_GOMP_task(JE_PARAMS(10))
{
	struct je_thread *me = &je_me;
	struct je_runtime *runtime = je_gomp_of(me, (const void *)a0, JE_GOMP_task);
	intptr_t (*next)(JE_PARAMS(10)) = JE_NEXT(runtime, JE_GOMP_task, 10);
	intptr_t a[5] = { a0, a1, a2, a3, a4 };

	align_up(a);
	if (!is_wrapped(me, runtime, a, (uint8_t)a5 != 0)) {
		next(JE_NAMES(10));
		return;
	}
	wrap_task(__builtin_alloca(room_of(a)), runtime, (a6 & JE_TASK_DETACH) != 0, a);
	if (me->openmp->tasks_made % JE_TASKS_SAMPLED != 0) {
		next(a[0], a[1], a[2], a[3], a[4], a5, a6, a7, a8, a9);
		return;
	}

	uint64_t before = me->openmp->ticks[JE_OPENMP_SCHEDULING];

	je_openmp_pause(me, JE_OPENMP_SCHEDULING, je_ticks());
	next(a[0], a[1], a[2], a[3], a[4], a5, a6, a7, a8, a9);
	leave_call(me);
	if (me->openmp != NULL)
		count_untimed(me->openmp, before);
}

/* A taskloop waits for its tasks, unless it has the clause nogroup. */
static __attribute__((noinline)) void taskloop(JE_PARAMS(11))
{
	struct je_thread *me = &je_me;
	struct je_runtime *runtime = je_gomp_of(me, (const void *)a0, me->gomp);
	intptr_t (*next)(JE_PARAMS(11)) = JE_NEXT(runtime, me->gomp, 11);
	intptr_t a[5] = { a0, a1, a2, a3, a4 };

	align_up(a);
	if (!is_wrapped(me, runtime, a, true)) {
		next(JE_NAMES(11));
		return;
	}
	wrap_task(__builtin_alloca(room_of(a)), runtime, 2, a);
	je_openmp_pause(me, (a5 & JE_TASK_NOGROUP) != 0 ? JE_OPENMP_SCHEDULING : JE_OPENMP_WAITING,
			je_ticks());
	next(a[0], a[1], a[2], a[3], a[4], a5, a6, a7, a8, a9, a10);
	leave_call(me);
}

JE_EXPORT void je_GOMP_taskloop(JE_PARAMS(11))
{
	je_me.gomp = JE_GOMP_taskloop;
	taskloop(JE_NAMES(11));
}

JE_EXPORT void je_GOMP_taskloop_ull(JE_PARAMS(11))
{
	je_me.gomp = JE_GOMP_taskloop_ull;
	taskloop(JE_NAMES(11));
}
