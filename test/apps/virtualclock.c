/* virtualclock.c: a library behind build/test/libjobeff-clock.so in LD_PRELOAD. It gives the
 * program and that library a clock that only work moves, so that their figures are exact on any
 * machine at any load. Work is nanosleep(), and takes no time of the real clock. Everybody else, as
 * the MPI, sees the real clock.
 *
 * Threads: time goes on to the earliest end of a sleep once every thread of the process sleeps,
 * here or in the kernel. Nothing can happen before then.
 *
 * Ranks: virtualmpi.h. Built with -DALONE there is no MPI. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 1024, OBJECTS = 4, MS = 1000000 };
enum {
	ENOUGH_YIELDS = 50,
	ENOUGH_CPU_NS = 5 * MS
}; /* who sleeps for work does not ask that long */

struct sleeper {
	int64_t until;
	struct sleeper *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static struct sleeper *sleepers;
static bool watched;	 /* one of them waits until all threads sleep */
static int64_t now_ns;	 /* as CLOCK_MONOTONIC */
static int64_t to_real;	 /* … CLOCK_REALTIME is later by this */
static unsigned steps;	 /* grows with every sleep */
static unsigned outside; /* threads that wait for another process */

/* Threads that call sched_yield: LLVM's runtime asks again and again for what it waits for. */
static struct {
	int tid;
	unsigned count;
} yielders[THREADS];
static unsigned used;
static __thread unsigned own; /* number of its entry, from 1 */

static struct {
	uintptr_t from, to;
} objects[OBJECTS]; /* who sees this clock */
static int n_objects;

static int64_t kernels(clockid_t clock)
{
	struct timespec t;

	syscall(SYS_clock_gettime, clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t now(void)
{
	return __atomic_load_n(&now_ns, __ATOMIC_ACQUIRE);
}

static void child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&moved, NULL);
	sleepers = NULL;
	watched = false;
	outside = 0;
}

/* The program comes first; its name is empty. */
static int note_object(struct dl_phdr_info *info, size_t bytes, void *nothing)
{
	(void)bytes;
	if (n_objects == OBJECTS ||
	    (n_objects > 0 && strstr(info->dlpi_name, "jobeff-clock") == NULL))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
			objects[n_objects].from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			objects[n_objects].to =
				objects[n_objects].from + info->dlpi_phdr[i].p_memsz;
		}
	n_objects++;
	return nothing != NULL;
}

__attribute__((constructor)) static void begin(void)
{
	now_ns = kernels(CLOCK_MONOTONIC) / 2; /* no record is of the future */
	to_real = kernels(CLOCK_REALTIME) - now_ns;
	dl_iterate_phdr(note_object, NULL);
	pthread_atfork(NULL, NULL, child);
}

static bool sees(const void *caller)
{
	for (int i = 0; i < n_objects; i++)
		if ((uintptr_t)caller >= objects[i].from && (uintptr_t)caller < objects[i].to)
			return true;
	return false;
}

static void pause_us(long us)
{
	struct timespec t = { 0, us * 1000 };

	syscall(SYS_nanosleep, &t, NULL);
}

/* What the kernel says of a thread. */
struct thread {
	int tid;
	bool asleep;
	long switches; /* how often it has gone to sleep */
	unsigned yields;
	int64_t cpu_ns; /* that it has used */
};

static unsigned yields_of(int tid)
{
	unsigned sum = 0, n = __atomic_load_n(&used, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < n && i < THREADS; i++)
		if (yielders[i].tid == tid)
			sum += __atomic_load_n(&yielders[i].count, __ATOMIC_ACQUIRE);
	return sum;
}

static bool look_at(int tasks, const char *name, struct thread *thread)
{
	char path[32], text[2048];
	const char *state, *switches;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%.12s/status", name);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	state = strstr(text, "\nState:\t");
	switches = strstr(text, "\nvoluntary_ctxt_switches:");
	if (state == NULL || switches == NULL)
		abort();
	thread->tid = atoi(name);
	thread->asleep = state[8] == 'S';
	thread->switches = atol(strchr(switches, ':') + 1);
	thread->yields = yields_of(thread->tid);
	thread->cpu_ns = kernels(~thread->tid * 8 | 6); /* as pthread_getcpuclockid(3) makes it */
	return true;
}

/* All threads but the calling one. */
static int look(struct thread *threads)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0, self = (int)syscall(SYS_gettid);

	if (tasks == NULL)
		abort();
	for (struct dirent *entry; n < THREADS && (entry = readdir(tasks)) != NULL;)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != self &&
		    look_at(dirfd(tasks), entry->d_name, &threads[n]))
			n++;
	closedir(tasks);
	return n;
}

/* Whether all other threads slept all the time between two looks, or only asked again and again:
 * LLVM's taskwait does not even yield. */
static bool all_wait(void)
{
	static struct thread before[THREADS], after[THREADS];
	unsigned step = __atomic_load_n(&steps, __ATOMIC_ACQUIRE);
	int n = look(before);

	for (bool again = true; again;) {
		again = false;
		if (__atomic_load_n(&outside, __ATOMIC_ACQUIRE) != 0 || look(after) != n ||
		    __atomic_load_n(&steps, __ATOMIC_ACQUIRE) != step)
			return false;
		for (int i = 0; i < n; i++) {
			if (after[i].tid != before[i].tid || after[i].asleep != before[i].asleep ||
			    (after[i].asleep && after[i].switches != before[i].switches))
				return false;
			again = again || (!after[i].asleep &&
					  after[i].yields - before[i].yields < ENOUGH_YIELDS &&
					  after[i].cpu_ns - before[i].cpu_ns < ENOUGH_CPU_NS);
		}
		if (again)
			pause_us(20);
	}
	return true;
}

static void move_on(void)
{
	int64_t first = INT64_MAX;

	for (const struct sleeper *s = sleepers; s != NULL; s = s->next)
		if (s->until < first)
			first = s->until;
	__atomic_store_n(&now_ns, first, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&moved);
}

static void sleep_until(int64_t until)
{
	struct sleeper me = { until, NULL }, **at;

	pthread_mutex_lock(&lock);
	me.next = sleepers;
	sleepers = &me;
	__atomic_add_fetch(&steps, 1, __ATOMIC_RELEASE);
	while (now() < until) {
		if (watched) {
			pthread_cond_wait(&moved, &lock);
			continue;
		}

		bool all;

		watched = true;
		pthread_mutex_unlock(&lock);
		all = all_wait();
		if (!all)
			pause_us(20);
		pthread_mutex_lock(&lock);
		watched = false;
		if (all)
			move_on();
	}
	for (at = &sleepers; *at != &me; at = &(*at)->next)
		;
	*at = me.next;
	pthread_cond_broadcast(&moved); /* another one watches now */
	pthread_mutex_unlock(&lock);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t ns;

	if ((clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) ||
	    !sees(__builtin_return_address(0)))
		return (int)syscall(SYS_clock_gettime, clock, t);
	ns = clock == CLOCK_MONOTONIC ? now() : now() + to_real;
	*t = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	return 0;
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
	if (!sees(__builtin_return_address(0)))
		return (int)syscall(SYS_nanosleep, t, left);
	sleep_until(now() + t->tv_sec * 1000000000ll + t->tv_nsec);
	return 0;
}

int sched_yield(void)
{
	if (own == 0) {
		own = 1 + __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED) % THREADS;
		yielders[own - 1].tid = (int)syscall(SYS_gettid);
	}
	__atomic_add_fetch(&yielders[own - 1].count, 1, __ATOMIC_RELEASE);
	return (int)syscall(SYS_sched_yield);
}

/* Another process ends at a time that this clock does not know. */
pid_t waitpid(pid_t child, int *status, int options)
{
	pid_t ended;

	__atomic_add_fetch(&outside, 1, __ATOMIC_RELEASE);
	ended = (pid_t)syscall(SYS_wait4, child, status, options, NULL);
	__atomic_sub_fetch(&outside, 1, __ATOMIC_RELEASE);
	return ended;
}

#ifndef ALONE
#include "virtualmpi.h"
#endif
