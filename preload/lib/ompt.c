/* ompt.c: what LLVM's and Intel's OpenMP runtimes report to a tool (OpenMP 5.1, chapter 4, OMPT).
 *
 * Such a runtime looks for the function ompt_start_tool when it starts, and finds ours. A runtime
 * has one tool at most, so we stand back if somebody wants another. Its events become the same
 * changes of state as libgomp's calls (gomp.c). A runtime does not report how long it takes to hand
 * out a loop's parts, or to make a task: that time counts as useful.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "gomp.h"
#include "libc.h"
#include "parallel.h"

/* 4.4.4.1, and 4.5.2 for the functions below */
union ompt_data {
	uint64_t value;
	void *pointer;
};

/* 4.2.1 */
struct ompt_start_tool_result {
	int (*initialize)(void *(*lookup)(const char *name), int device, union ompt_data *tool);
	void (*finalize)(union ompt_data *tool);
	union ompt_data tool;
};

enum ompt_callback { /* 4.4.2 */
		     OMPT_PARALLEL_BEGIN = 3,
		     OMPT_PARALLEL_END = 4,
		     OMPT_TASK_CREATE = 5,
		     OMPT_TASK_SCHEDULE = 6,
		     OMPT_IMPLICIT_TASK = 7,
		     OMPT_SYNC_REGION = 23,
		     OMPT_MUTEX_ACQUIRE = 26,
		     OMPT_MUTEX_ACQUIRED = 27,
};
enum { OMPT_BEGIN = 1, OMPT_END = 2 }; /* 4.4.4.11 */
enum {				       /* 4.4.4.19, of a task */
       OMPT_COMPLETE = 1,
       OMPT_CANCEL = 3,
       OMPT_DETACH = 4,
       OMPT_EARLY_FULFILL = 5,
       OMPT_LATE_FULFILL = 6,
       OMPT_TASKWAIT_COMPLETE = 8,
};
enum { OMPT_EXPLICIT = 4, OMPT_TASKWAIT = 16 };		     /* 4.4.4.18, a task's flags */
enum { OMPT_BARRIER_PARALLEL = 9, OMPT_BARRIER_TEAMS = 10 }; /* 4.4.4.14 */
enum { OMPT_TEST_LOCK = 2, OMPT_TEST_NEST_LOCK = 4 };	     /* 4.4.4.16 */

/* The regions that a thread began, the innermost last. The runtime keeps a pointer to each for the
 * threads of its team. */
enum { JE_DEEPEST = 8 };
struct region {
	struct je_region open;
	uint32_t team;
};
static __thread struct region regions[JE_DEEPEST] __attribute__((tls_model("initial-exec")));

/* A task's data. IMPLICIT: it is a region's own, or a taskwait. RUNS: it runs, and STATE is what
 * its thread did before. */
enum { JE_TASK_IMPLICIT = 1u << 8, JE_TASK_RUNS = 1u << 9, JE_TASK_STATE = 0xff };

static void parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
			   unsigned int requested, int flags, const void *code)
{
	static bool noted;
	struct je_thread *me = &je_me;
	struct region *region = &regions[me->ompt_open % JE_DEEPEST];

	(void)task, (void)frame, (void)requested, (void)flags, (void)code;
	parallel->pointer = NULL;
	if (me->ompt_open >= JE_DEEPEST || !je_openmp_measures(me, JE_OPENMP_OMPT, &noted))
		return;
	me->ompt_open++;
	region->team = 1;
	parallel->pointer = region;
	je_openmp_fork(me, &region->open);
}

static void parallel_end(union ompt_data *parallel, union ompt_data *task, int flags,
			 const void *code)
{
	struct je_thread *me = &je_me;
	const struct region *region = parallel->pointer;

	(void)task, (void)flags, (void)code;
	if (region == NULL)
		return;
	me->ompt_open--;
	if (me->openmp != NULL) /* not in a forked child */
		je_openmp_end(me, &region->open, region->team);
}

/* A thread begins or ends its part of a region. At the end the region may be gone. */
static void implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task,
			  unsigned int team, unsigned int index, int flags)
{
	struct je_thread *me = &je_me;
	struct region *region = parallel == NULL ? NULL : parallel->pointer;

	(void)index, (void)flags;
	if (endpoint == OMPT_END) {
		task->value = 0; /* libomp 14 asserts it, in a later taskwait */
		if (je_openmp_useful(me))
			je_openmp_pause(me, JE_OPENMP_OUTSIDE, je_ticks());
		else if (me->openmp != NULL)
			me->openmp->state = JE_OPENMP_OUTSIDE;
		return;
	}
	task->value = JE_TASK_IMPLICIT;
	if (region == NULL || (me->openmp == NULL && !je_openmp_join(me)))
		return;
	if (region->open.beginner == me) {
		region->team = team;
		je_openmp_size(me, &region->open, team);
	}
	je_openmp_begin_part(me, &region->open);
}

static void wait_begins(struct je_thread *me, uint32_t state, uint64_t *count)
{
	++*count;
	je_openmp_pause(me, state, je_ticks());
}

static void wait_ends(const struct je_thread *me, uint32_t state)
{
	if (me->openmp != NULL && me->openmp->state == state)
		je_openmp_resume(me->openmp, JE_OPENMP_USEFUL, je_ticks());
}

/* Barriers, taskwaits, ends of taskgroups. After the barrier at a region's end a thread does no
 * more in the region. It may leave that barrier only when its next region begins: the event then
 * names no region. */
static void sync_region(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task,
			const void *code)
{
	struct je_thread *me = &je_me;

	(void)task, (void)code;
	if (endpoint == OMPT_BEGIN && je_openmp_useful(me))
		wait_begins(me, JE_OPENMP_WAITING, &me->openmp->waits);
	else if (endpoint == OMPT_END && parallel != NULL && kind != OMPT_BARRIER_PARALLEL &&
		 kind != OMPT_BARRIER_TEAMS)
		wait_ends(me, JE_OPENMP_WAITING);
}

/* The runtime does not report a try that failed, so tries do not count as waiting. */
static void mutex_acquire(int kind, unsigned int hint, unsigned int implementation, uint64_t wait,
			  const void *code)
{
	struct je_thread *me = &je_me;

	(void)hint, (void)implementation, (void)wait, (void)code;
	if (kind != OMPT_TEST_LOCK && kind != OMPT_TEST_NEST_LOCK && je_openmp_useful(me))
		wait_begins(me, JE_OPENMP_LOCKED, &me->openmp->locks);
}

static void mutex_acquired(int kind, uint64_t wait, const void *code)
{
	(void)kind, (void)wait, (void)code;
	wait_ends(&je_me, JE_OPENMP_LOCKED);
}

/* A taskwait with dependences is a task that runs nothing. */
static void task_create(union ompt_data *task, const void *frame, union ompt_data *made, int flags,
			int dependences, const void *code)
{
	struct je_thread *me = &je_me;

	(void)task, (void)frame, (void)dependences, (void)code;
	if ((flags & OMPT_TASKWAIT) != 0) {
		made->value = JE_TASK_IMPLICIT;
		if (je_openmp_useful(me))
			wait_begins(me, JE_OPENMP_WAITING, &me->openmp->waits);
	} else if ((flags & OMPT_EXPLICIT) != 0 && je_openmp_useful(me)) {
		me->openmp->tasks_made++;
	}
}

/* A task begins: its thread was waiting, or made it. */
static void task_begins(struct je_thread *me, union ompt_data *task)
{
	uint32_t state = me->openmp->state;

	task->value = JE_TASK_RUNS | state;
	if (state != JE_OPENMP_USEFUL)
		je_openmp_resume(me->openmp, JE_OPENMP_USEFUL, je_ticks());
}

static void task_ends(struct je_thread *me, union ompt_data *task)
{
	uint32_t state = task->value & JE_TASK_STATE;

	task->value = 0;
	me->openmp->tasks_run++;
	if (state != JE_OPENMP_USEFUL && je_openmp_useful(me))
		je_openmp_pause(me, state, je_ticks());
}

/* A task that waits for its own tasks runs these on top of its stack. The runtime does not report
 * when tasks of a taskloop are made. */
static void task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
	struct je_thread *me = &je_me;

	if (me->openmp == NULL || me->openmp->state == JE_OPENMP_OUTSIDE ||
	    status == OMPT_EARLY_FULFILL || status == OMPT_LATE_FULFILL)
		return;
	if (status == OMPT_TASKWAIT_COMPLETE)
		wait_ends(me, JE_OPENMP_WAITING);
	else if (status == OMPT_COMPLETE || status == OMPT_CANCEL || status == OMPT_DETACH) {
		if (prior != NULL && (prior->value & JE_TASK_RUNS) != 0)
			task_ends(me, prior);
	} else if (next != NULL && next->value == 0) {
		task_begins(me, next);
	}
}

static int initialize(void *(*lookup)(const char *name), int device, union ompt_data *tool)
{
	int (*set)(int event, void (*callback)(void)) =
		(int (*)(int, void (*)(void)))lookup("ompt_set_callback");

	(void)device, (void)tool;
	if (set == NULL)
		return 0;
#define SET(event, callback) set(event, (void (*)(void))(callback))
	SET(OMPT_PARALLEL_BEGIN, parallel_begin);
	SET(OMPT_PARALLEL_END, parallel_end);
	SET(OMPT_TASK_CREATE, task_create);
	SET(OMPT_TASK_SCHEDULE, task_schedule);
	SET(OMPT_IMPLICIT_TASK, implicit_task);
	SET(OMPT_SYNC_REGION, sync_region);
	SET(OMPT_MUTEX_ACQUIRE, mutex_acquire);
	SET(OMPT_MUTEX_ACQUIRED, mutex_acquired);
#undef SET
	return 1;
}

static void finalize(union ompt_data *tool)
{
	(void)tool;
}

/* Whether an ompt_start_tool belongs to another tool. Each runtime has one of its own, which only
 * looks further for a tool. */
static bool is_tool(void *symbol, void *tool)
{
	Dl_info its, runtimes;
	void *handle = je_handle_of(symbol);
	void *fork = handle == NULL ? NULL : dlsym(handle, "__kmpc_fork_call");

	if (handle != NULL)
		dlclose(handle);
	if (je_is_ours(symbol))
		return false;
	if (fork != NULL && dladdr(symbol, &its) != 0 && dladdr(fork, &runtimes) != 0 &&
	    its.dli_fbase == runtimes.dli_fbase)
		return false;
	*(void **)tool = symbol;
	return true;
}

/* Under ThreadSanitizer the runtime has a tool of its own, which prevents reports of false
 * races. */
static uint32_t why_not(const void *tool)
{
	if (tool != NULL || getenv("OMP_TOOL_LIBRARIES") != NULL)
		return JE_OPENMP_OTHER_TOOL;
	return dlsym(RTLD_DEFAULT, "__tsan_init") != NULL ? JE_OPENMP_TSAN : JE_OPENMP_KNOWN;
}

/* The runtime asks only the first function of this name. So if another tool has one, we ask it, as
 * the runtime would without us. */
JE_EXPORT struct ompt_start_tool_result *ompt_start_tool(unsigned int version, const char *runtime)
{
	static struct ompt_start_tool_result ours = { initialize, finalize, { 0 } };
	struct ompt_start_tool_result *(*tool)(unsigned int, const char *) = NULL;
	int saved = errno;
	uint32_t why;

	__atomic_store_n(&je_ompt_asked, true, __ATOMIC_RELAXED);
	je_symbol_anywhere("ompt_start_tool", is_tool, &tool);
	why = why_not((const void *)tool);
	if (why != JE_OPENMP_KNOWN)
		je_process_openmp(&je_me, 0, why);
	errno = saved;
	if (tool != NULL)
		return tool(version, runtime);
	return why == JE_OPENMP_KNOWN ? &ours : NULL;
}
