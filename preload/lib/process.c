/* process.c: the slot of the process. It is claimed by MPI_Init, or by the first parallel region
 * of a program that has not called MPI. Such a program is rank 0 of 1, from that region to its
 * exit. If it calls MPI_Init later, the slot becomes that of an MPI rank, and what was measured
 * before is forgotten.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu.h"
#include "files.h"
#include "openmp.h"
#include "timeline.h"

enum { JE_NS_PER_STAT_TICK = 10000000, JE_STAT_START = 22, JE_PATIENCE_NS = 1000000000 };
enum { JE_WIPE_ON_FORK = 18 }; /* MADV_WIPEONFORK, which glibc 2.17 does not know */

/* libc.so.6 has it since 2.3.2, but not pthread_atfork. It is weak because musl lacks it. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
	__attribute__((weak));

/* Weak for the same reason. Only such a function learns the status of exit(). */
extern int on_exit(void (*)(int, void *), void *) __attribute__((weak));
static int exit_status;

static void note_status(int status, void *nothing)
{
	(void)nothing;
	exit_status = status & 0xff;
}

/* A page that is zero in a process made by fork or clone; NULL: the kernel is older than 4.14. It
 * shows whose memory this is without a system call, which seccomp may forbid by now. */
static bool *owner;

static void mark_owner(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return;
	if (madvise(at, page, JE_WIPE_ON_FORK) != 0) {
		munmap(at, page);
		return;
	}
	owner = at;
	*owner = true;
}

/* A forked child inherits the thread's state, but the slots remain the parent's. */
static void in_forked_child(void)
{
	je_process.slot = NULL;
	je_process.running = false;
	je_process.openmp = JE_OPENMP_OFF;
	je_me.slot = NULL;
	je_thread_ready(&je_me, NULL);
	je_me.counters = NULL;
	je_me.openmp = NULL;
	je_me.windows = JE_WINDOWS_OFF;
	je_me.edge = 0;
	je_process.windows = NULL;
	je_me.mode = JE_MODE_OFF;
}

static void fill_in(struct je_thread *me, struct je_slot *slot, uint64_t entered)
{
	je_thread_start(me, slot);
	slot->kind = JE_KIND_PROCESS;
	slot->threads = 1;
	slot->init_enter_ticks = entered;
	je_who_at_enter(slot);
	JE_IN_ORDER();
	slot->state = JE_STATE_CLAIMED;
	slot->magic = JE_SLOT_MAGIC;
}

/* Claims the slot of the process, once. False: nothing is measured. */
JE_COLD bool je_process_claim(struct je_thread *me, uint64_t entered)
{
	struct je_slot *slot;

	if (je_process.tried)
		return false;
	je_process.tried = true;
	if (!je_record_find())
		return false;
	slot = je_claim(&je_process.index);
	if (slot == NULL)
		return false;
	fill_in(me, slot, entered);
	mark_owner();
	je_process.slot = slot;
	if (__register_atfork != NULL)
		__register_atfork(NULL, NULL, in_forked_child, NULL);
	if (on_exit != NULL)
		on_exit(note_status, NULL);
	return true;
}

/* When the process began, by /proc/self/stat; 0: not known. The name in it may hold anything, also
 * blanks and brackets. */
static uint64_t began_ns(void)
{
	char text[1024];
	const char *at;
	uint64_t ticks = 0;

	if (je_read_text("/proc/self/stat", text, sizeof(text)) < 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at != NULL && field < JE_STAT_START; field++)
		at = strchr(at + 1, ' ');
	for (at = at == NULL ? "" : at + 1; *at >= '0' && *at <= '9'; at++)
		ticks = 10 * ticks + (uint64_t)(*at - '0');
	return ticks * JE_NS_PER_STAT_TICK;
}

/* Starts to measure a process that has no MPI, or none yet. */
static bool start_without_mpi(struct je_thread *me)
{
	struct je_slot *slot;
	uint64_t now;

	je_clock_choose();
	now = je_ticks();
	if (!je_process_claim(me, now))
		return false;
	slot = je_process.slot;
	slot->without_mpi = 1;
	slot->began_mono_ns = began_ns();
	slot->rank = 0;
	slot->size = 1;
	slot->world_from = JE_WORLD_NONE;
	memset(slot->world_text, 0, sizeof(slot->world_text));
	je_workload_note(slot);
	je_cpu_before_init();
	je_cpu_start(me, slot);
	slot->init_leave_ticks = slot->last_ticks = je_ticks();
	je_timeline_start(me, slot);
	slot->state = JE_STATE_RUNNING;
	__atomic_store_n(&je_process.running, true, __ATOMIC_RELEASE);
	return true;
}

/* Waits until another thread has started OpenMP's measurement. After JE_PATIENCE_NS it gives up for
 * good, so nobody waits twice: in a forked child there is no such thread. */
static uint32_t await_start(void)
{
	uint64_t until_ns = je_clock_ns(CLOCK_MONOTONIC) + JE_PATIENCE_NS;
	uint32_t is;

	do {
		sched_yield();
		is = __atomic_load_n(&je_process.openmp, __ATOMIC_ACQUIRE);
	} while (is == JE_OPENMP_STARTING && je_clock_ns(CLOCK_MONOTONIC) < until_ns);
	if (is == JE_OPENMP_STARTING)
		__atomic_compare_exchange_n(&je_process.openmp, &is, JE_OPENMP_OFF, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
	return is;
}

static bool start_openmp(struct je_thread *me)
{
	uint32_t is = __atomic_load_n(&je_process.openmp, __ATOMIC_ACQUIRE);
	int saved = errno;
	bool on = true;

	if (is == JE_OPENMP_STARTING)
		is = await_start();
	if (is != JE_OPENMP_UNSEEN)
		return is == JE_OPENMP_ON;
	if (je_process.slot != NULL ? !je_process.running : je_process.tried)
		/* in MPI_Init, or after MPI_Finalize; unless another thread has begun meanwhile */
		return __atomic_load_n(&je_process.openmp, __ATOMIC_ACQUIRE) != JE_OPENMP_UNSEEN &&
		       start_openmp(me);
	if (!__atomic_compare_exchange_n(&je_process.openmp, &is, JE_OPENMP_STARTING, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return start_openmp(me);
	if (je_process.slot == NULL)
		on = start_without_mpi(me);
	on = on && je_openmp_start();
	__atomic_store_n(&je_process.openmp, on ? JE_OPENMP_ON : JE_OPENMP_OFF, __ATOMIC_RELEASE);
	errno = saved;
	return on;
}

/* The first parallel region of a runtime begins, or one that is not measured, for the reason `why`.
 * False: OpenMP is not measured. */
JE_COLD bool je_process_openmp(struct je_thread *me, uint32_t runtimes, uint32_t why)
{
	if (!start_openmp(me))
		return false;
	je_openmp_note(runtimes, why, 0);
	return true;
}

/* A process that claimed its slot without MPI calls MPI_Init. The moment of the claim stays: OpenMP
 * slots know their process by it. */
JE_COLD void je_process_becomes_mpi(struct je_thread *me, uint64_t entered)
{
	struct je_slot *slot = je_process.slot;
	struct je_pair claimed_at = slot->claimed_at;

	__atomic_store_n(&je_process.running, false, __ATOMIC_RELEASE);
	memset(slot, 0, sizeof(union je_any_slot));
	fill_in(me, slot, entered);
	slot->claimed_at = claimed_at;
	je_openmp_forget();
}

/* Notes how the process ends; only its first ending counts. */
void je_process_note_ending(struct je_slot *slot, uint32_t ending, int32_t code)
{
	if (slot->ending != JE_ENDING_NONE)
		return;
	if (je_process.running)
		je_cpu_read(&je_me, slot);
	je_pair_read(je_clock, &slot->finished_at);
	slot->ending_code = code;
	JE_IN_ORDER();
	slot->ending = ending;
}

/* Marks the slots as done: other processes may pack and reuse them. It keeps them if the process
 * has other threads, which may still write, or sections, which point to its slot. */
static void release(struct je_slot *slot)
{
	if (slot->ending != JE_ENDING_FINALIZE && !slot->without_mpi)
		return;
	if (slot->threads != 1 || je_process.sections || !je_openmp_done())
		return;
	je_process.slot = NULL;
	je_process.between = je_process.running = false;
	je_process.openmp = JE_OPENMP_OFF;
	je_me.slot = NULL;
	je_thread_ready(&je_me, NULL);
	je_me.openmp = NULL;
	je_me.edge = 0;
	je_me.mode = JE_MODE_OFF;
	JE_IN_ORDER();
	slot->state = JE_STATE_DONE;
}

/* Whether this is the process that claimed the slot. A child made by a bare clone(2) does not run
 * the fork handler, and must not write its parent's ending. One that even shares its parent's
 * memory is noticed only before MPI_Finalize: until then an exit makes system calls anyway. */
bool je_process_owns(const struct je_slot *slot)
{
	if (slot->ending == JE_ENDING_FINALIZE && owner != NULL)
		return *owner;
	return slot->pid == getpid();
}

/* The process exits: exit() was called, or main returned. */
void je_process_exit(struct je_slot *slot)
{
	je_process_note_ending(slot, JE_ENDING_EXIT, exit_status);
	release(slot);
}
