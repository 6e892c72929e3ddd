/* thread.c: what the slots of processes and of threads have in common, and the slots of further
 * threads. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ticks.h"

/* Fills in what the slots of a process and of a thread have in common. */
void je_thread_start(struct je_thread *me, struct je_slot *slot)
{
	slot->bytes = JE_SLOT_BYTES;
	slot->clock = je_clock;
	slot->pid = getpid();
	slot->ppid = getppid();
	slot->tid = (int32_t)syscall(SYS_gettid);
	je_pair_read(je_clock, &slot->claimed_at);
	me->slot = slot;
	me->border = JE_NO_COMM;
	me->mark = 0;
}

/* The thread's next call is measured in this slot. NULL: it is not measured. */
void je_thread_ready(struct je_thread *me, struct je_slot *slot)
{
	bool slow =
		me->counters != NULL || me->windows == JE_WINDOWS_LOGGING || !je_clock_is_inline();

	me->ready = slow ? NULL : slot;
	me->ready_slow = slow ? slot : NULL;
}

/* Claims a slot at a further thread's first call; false: do not measure it. A thread that calls
 * before MPI_Init returns, or after MPI_Finalize, tries again at its next call. If the process is
 * measured for OpenMP alone, the call goes to a stand-in for MPI, which is not measured. */
JE_COLD bool je_thread_claim(struct je_thread *me)
{
	const struct je_slot *process = je_process.slot; /* NULL while the process exits */
	int saved = errno;
	uint32_t index;

	if (!__atomic_load_n(&je_process.running, __ATOMIC_ACQUIRE) || process == NULL ||
	    process->without_mpi != 0)
		return false;

	struct je_slot *slot = je_claim(&index);

	errno = saved;
	if (slot == NULL) {
		me->mode = JE_MODE_OFF;
		return false;
	}
	je_thread_start(me, slot);
	slot->kind = JE_KIND_THREAD;
	slot->parent = je_process.index;
	slot->init_enter_ticks = slot->init_leave_ticks = slot->last_ticks = je_ticks();
	slot->rank = process->rank;
	slot->size = process->size;
	slot->family = process->family;
	JE_IN_ORDER();
	slot->state = JE_STATE_RUNNING;
	slot->magic = JE_SLOT_MAGIC;
	__atomic_add_fetch(&je_process.slot->threads, 1, __ATOMIC_RELAXED);
	if (je_process.windows != NULL)
		je_process.windows->why = JE_WINDOWS_THREADS;
	me->mode = JE_MODE_READY;
	je_thread_ready(me, slot);
	errno = saved;
	return true;
}
