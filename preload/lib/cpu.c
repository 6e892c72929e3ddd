/* cpu.c: CPU time, threads and CPUs of the process, as the kernel counts them.
 *
 * The environment does not say how many threads a rank has, nor whether they share cores. The
 * kernel does: it counts each thread's CPU time, and how long the thread waited for a CPU. Both
 * (and page faults, context switches, bytes of files) are read when MPI_Init returns, when
 * MPI_Finalize begins and at the exits that the library sees. A rank may be killed before that. So
 * a call that begins a second or more after the last reading reads again, and the time of the
 * reading counts as MPI. There is no timer, signal or thread.
 *
 * Whatever cannot be read is "not known". Files are opened with bare system calls, because
 * open() and read() are cancellation points and MPI calls are none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu.h"
#include "ticks.h"

enum {
	JE_TASKS = 64,		 /* threads that are read, in the whole life of a process */
	JE_DESCRIPTORS = 256,	 /* open files that are searched for a GPU */
	JE_COST_SHARE = 1000,	 /* a reading costs at most 1/1000 of the time to the next */
	JE_READ_NS = 1000000000, /* shortest time between two readings */
};

struct task {
	int32_t tid;
	bool of_mpi;		/* MPI_Init started it */
	uint64_t cpu_ns;	/* since the kernel started it */
	uint64_t queue_ns;	/* its wait for a CPU since then */
	uint64_t cpu_before_ns; /* when MPI_Init returned */
	uint64_t queue_before_ns;
};

struct usage {
	bool known, io_known;
	uint64_t system_ns, faults, waits, preempted, max_rss, read_bytes, written_bytes;
};

static struct {
	struct usage before; /* when MPI_Init returned */
	struct task tasks[JE_TASKS];
	uint32_t used;
	bool incomplete;	   /* a thread has no room above, or could not be read */
	struct je_pair claimed_at; /* of the process's slot: shows how fast the clock ticks */
	uint64_t began_ns;	   /* CLOCK_MONOTONIC when MPI_Init returned */
	uint64_t cpu_before_ns, thread_cpu_before_ns;
} known;

struct entry { /* what getdents64 writes */
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* Calls `visit` with each number in a folder of /proc, and stops where that returns false. False:
 * the folder could not be read. */
static bool each_number(const char *folder, bool (*visit)(int dir, const char *name, void *to),
			void *to)
{
	_Alignas(struct entry) char entries[1024];
	int dir = (int)syscall(SYS_openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool more = dir >= 0;
	long got = -1;

	while (more && (got = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0)
		for (long at = 0; more && at < got;) {
			const struct entry *entry = (const struct entry *)(entries + at);

			if (entry->name[0] != '.')
				more = visit(dir, entry->name, to);
			at += entry->bytes;
		}
	if (dir >= 0)
		syscall(SYS_close, dir);
	return got >= 0;
}

/* Reads a number and moves *text behind it. */
static uint64_t number(const char **text)
{
	uint64_t n = 0;

	while (**text == ' ')
		++*text;
	for (; **text >= '0' && **text <= '9'; ++*text)
		n = 10 * n + (uint64_t)(**text - '0');
	return n;
}

/* Reads a file of a thread; false: there is none. */
static bool read_of(int dir, const char *tid, const char *file, char *to, size_t room)
{
	char path[32];
	size_t digits = strnlen(tid, 12);
	int fd;
	long got;

	memcpy(path, tid, digits);
	strcpy(path + digits, file);
	fd = (int)syscall(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = syscall(SYS_read, fd, to, room - 1);
	syscall(SYS_close, fd);
	if (got <= 0)
		return false;
	to[got] = '\0';
	return true;
}

/* The thread's place in the table, new or old; NULL: there is no room. */
static struct task *task_of(int32_t tid)
{
	for (uint32_t i = 0; i < known.used; i++)
		if (known.tasks[i].tid == tid)
			return &known.tasks[i];
	if (known.used == JE_TASKS)
		return NULL;

	struct task *task = &known.tasks[known.used++];

	task->tid = tid;
	return task;
}

/* Reads a thread's CPU time and run-queue wait, and counts the thread. A thread that ended keeps
 * its last reading. */
static bool read_task(int dir, const char *name, void *count)
{
	char text[64];
	const char *at = name, *figures = text;
	struct task *task = task_of((int32_t)number(&at));

	++*(uint32_t *)count;
	if (task == NULL || !read_of(dir, name, "/schedstat", text, sizeof(text))) {
		known.incomplete = true;
		return true;
	}

	uint64_t cpu = number(&figures), queue = number(&figures);

	if (cpu < task->cpu_ns) /* the number of a thread that ended, used again */
		task->cpu_before_ns = task->queue_before_ns = 0;
	task->cpu_ns = cpu;
	task->queue_ns = queue;
	return true;
}

static uint32_t read_tasks(void)
{
	uint32_t count = 0;

	if (!each_number("/proc/self/task", read_task, &count))
		known.incomplete = true;
	return count;
}

static bool is_gpu(const char *path)
{
	return (strncmp(path, "/dev/nvidia", 11) == 0 && path[11] >= '0' && path[11] <= '9') ||
	       strncmp(path, "/dev/dri/renderD", 16) == 0 || strcmp(path, "/dev/kfd") == 0;
}

struct gpu_search {
	uint32_t looked;
	bool found;
};

static bool look_for_gpu(int dir, const char *name, void *to)
{
	struct gpu_search *search = to;
	char path[32] = "";

	if (syscall(SYS_readlinkat, dir, name, path, sizeof(path) - 1) > 0)
		search->found = is_gpu(path);
	return !search->found && ++search->looked < JE_DESCRIPTORS;
}

static void note_gpu(struct je_slot *slot)
{
	struct gpu_search search = { 0, false };

	if (slot->gpu != JE_GPU_OPEN && each_number("/proc/self/fd", look_for_gpu, &search))
		slot->gpu = search.found ? JE_GPU_OPEN : JE_GPU_NONE;
}

/* Adds the CPUs that a thread may run on; 0 is the calling thread. */
static void add_mask(struct je_slot *slot, int32_t tid)
{
	uint64_t mask[128]; /* the call fails if the kernel has more CPUs than there is room for */
	long bytes = syscall(SYS_sched_getaffinity, tid, sizeof(mask), mask);

	for (long i = 0; i < bytes / 8 && i < JE_MASK_WORDS; i++)
		slot->mask[i] |= mask[i];
}

/* Sums over the table, for the time since MPI_Init returned. */
struct sums {
	uint64_t queue_ns, mpi_threads_ns, busiest_ns;
	struct task *busiest; /* other than the calling thread; NULL: there is no other */
	uint32_t busy;
};

static void add_task(struct sums *sums, struct je_slot *slot, struct task *task, uint64_t span_ns)
{
	uint64_t cpu = task->cpu_ns - task->cpu_before_ns;
	uint64_t queue = task->queue_ns - task->queue_before_ns;

	sums->queue_ns += queue;
	if (task->of_mpi)
		sums->mpi_threads_ns += cpu;
	if (cpu + queue >= span_ns / 2) {
		sums->busy++;
		add_mask(slot, task->tid);
	}
	if (task->tid != slot->tid && (sums->busiest == NULL || cpu > sums->busiest_ns)) {
		sums->busiest = task;
		sums->busiest_ns = cpu;
	}
}

static void name_of(int32_t tid, char *to)
{
	char path[48] = "/proc/self/task/", digits[12];
	int n = 0, dir;

	for (; tid > 0; tid /= 10)
		digits[n++] = (char)('0' + tid % 10);
	for (size_t at = strlen(path); n > 0; at++)
		path[at] = digits[--n];
	dir = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	if (read_of(dir, ".", "/comm", to, JE_THREAD_NAME))
		to[strcspn(to, "\n")] = '\0';
	syscall(SYS_close, dir);
}

/* A thread that ended keeps the name that it had at an earlier reading. */
static void note_busiest(struct je_slot *slot, const struct task *task, bool named)
{
	if (slot->busiest_tid != task->tid)
		memset(slot->busiest_name, 0, sizeof(slot->busiest_name));
	slot->busiest_tid = task->tid;
	slot->busiest_of_mpi = task->of_mpi;
	if (named)
		name_of(task->tid, slot->busiest_name);
}

static void note_tasks(struct je_slot *slot, uint32_t count, uint64_t span_ns)
{
	struct sums sums = { 0 };

	for (uint32_t i = 0; i < known.used; i++)
		add_task(&sums, slot, &known.tasks[i], span_ns);
	if (count > slot->tasks)
		slot->tasks = count;
	slot->tasks_known = !known.incomplete;
	slot->queue_ns = sums.queue_ns;
	slot->mpi_threads_ns = sums.mpi_threads_ns;
	slot->busy_tasks = sums.busy;
	slot->busiest_ns = sums.busiest_ns;
	if (sums.busiest != NULL)
		note_busiest(slot, sums.busiest, sums.busiest_ns >= span_ns / 20);
}

/* Sets when the next reading is due. */
static void plan(struct je_thread *me, uint64_t ticks, uint64_t now_ns, uint64_t cost_ns)
{
	const struct je_pair *at = &known.claimed_at;
	uint64_t pause_ns = cost_ns * JE_COST_SHARE;

	if (now_ns <= at->mono_ns || ticks <= at->ticks)
		return;
	if (pause_ns < JE_READ_NS)
		pause_ns = JE_READ_NS;
	me->read = ticks + (uint64_t)((double)(ticks - at->ticks) / (double)(now_ns - at->mono_ns) *
				      (double)pause_ns);
	je_thread_plan(me);
}

/* The number behind a name at the beginning of a line; false: there is none. */
static bool line_number(const char *text, const char *name, uint64_t *to)
{
	const char *at = strstr(text, name);

	if (at == NULL || (at != text && at[-1] != '\n'))
		return false;
	at += strlen(name);
	*to = number(&at);
	return true;
}

/* The numbers of the process that only grow. */
static struct usage read_usage(void)
{
	struct usage now = { 0 };
	struct rusage of;
	char text[256];

	if (getrusage(RUSAGE_SELF, &of) == 0) {
		now.known = true;
		now.system_ns = (uint64_t)of.ru_stime.tv_sec * 1000000000 +
				(uint64_t)of.ru_stime.tv_usec * 1000;
		now.faults = (uint64_t)of.ru_majflt;
		now.waits = (uint64_t)of.ru_nvcsw;
		now.preempted = (uint64_t)of.ru_nivcsw;
		now.max_rss = (uint64_t)of.ru_maxrss * 1024;
	}
	now.io_known = read_of(AT_FDCWD, "/proc/self", "/io", text, sizeof(text)) &&
		       line_number(text, "read_bytes: ", &now.read_bytes) &&
		       line_number(text, "write_bytes: ", &now.written_bytes);
	return now;
}

static void note_usage(struct je_slot *slot, const struct usage *now)
{
	const struct usage *before = &known.before;

	slot->usage_known = now->known && before->known;
	slot->io_known = now->io_known && before->io_known;
	slot->system_ns = now->system_ns - before->system_ns;
	slot->faults = now->faults - before->faults;
	slot->waits = now->waits - before->waits;
	slot->preempted = now->preempted - before->preempted;
	slot->max_rss = now->max_rss;
	slot->read_bytes = now->read_bytes - before->read_bytes;
	slot->written_bytes = now->written_bytes - before->written_bytes;
}

JE_COLD void je_cpu_before_init(void)
{
	read_tasks();
}

JE_COLD void je_cpu_start(struct je_thread *me, struct je_slot *slot)
{
	uint32_t before = known.used;

	slot->tasks = read_tasks();
	for (uint32_t i = 0; i < known.used; i++) {
		struct task *task = &known.tasks[i];

		task->of_mpi = i >= before;
		task->cpu_before_ns = task->cpu_ns;
		task->queue_before_ns = task->queue_ns;
	}
	add_mask(slot, 0);
	known.claimed_at = slot->claimed_at;
	known.before = read_usage();
	me->read = UINT64_MAX;
	je_thread_plan(me);
	known.thread_cpu_before_ns = je_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	known.cpu_before_ns = je_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	known.began_ns = je_clock_ns(CLOCK_MONOTONIC);
	plan(me, je_ticks(), known.began_ns, 0);
}

static void read_process(struct je_slot *slot, uint64_t ticks, uint64_t now_ns)
{
	uint64_t thread_ns = je_clock_ns(CLOCK_THREAD_CPUTIME_ID) - known.thread_cpu_before_ns;
	uint64_t cpu_ns = je_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - known.cpu_before_ns;
	uint32_t count = read_tasks();
	struct usage usage = read_usage();

	note_gpu(slot);
	slot->seq = 1;
	JE_IN_ORDER();
	slot->read_ticks = ticks;
	slot->cpu_ns = cpu_ns;
	slot->thread_cpu_ns = thread_ns;
	note_tasks(slot, count, now_ns - known.began_ns);
	note_usage(slot, &usage);
	JE_IN_ORDER();
	slot->seq = 0;
}

static void read_thread(struct je_slot *slot, uint64_t ticks)
{
	slot->thread_cpu_ns = je_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	JE_IN_ORDER();
	slot->read_ticks = ticks;
}

JE_COLD void je_cpu_read(struct je_thread *me, struct je_slot *slot)
{
	int saved = errno;
	uint64_t ticks = je_ticks(), now_ns = je_clock_ns(CLOCK_MONOTONIC);

	me->read = UINT64_MAX;
	je_thread_plan(me);
	if (me->slot != slot) /* another thread's: its CPU time cannot be read from here */
		return;
	if (slot->kind == JE_KIND_PROCESS)
		read_process(slot, ticks, now_ns);
	else
		read_thread(slot, ticks);
	plan(me, ticks, now_ns, je_clock_ns(CLOCK_MONOTONIC) - now_ns);
	errno = saved;
}
