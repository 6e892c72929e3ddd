/* openmp.c: the entries of OpenMP threads in the record.
 *
 * A thread takes an entry at its first region, and nobody reports its end. So a new thread first
 * looks for an entry whose owner is gone, and only then takes one that nobody had yet. That way a
 * process uses as many entries as it has threads at once. The threads of a nested region end with
 * it, and give their entries back themselves.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "openmp.h"

enum { JE_TRIES = 8, JE_PATIENCE_NS = 1000000000 };

static struct {
	struct je_openmp *slots[JE_OPENMP_SLOTS];
	uint32_t claimed; /* atomic: slots that were claimed, or are being claimed */
	bool full;	  /* atomic: a slot could not be claimed */
} all;

static struct je_openmp *slot_at(uint32_t i)
{
	return i < JE_OPENMP_SLOTS ? __atomic_load_n(&all.slots[i], __ATOMIC_ACQUIRE) : NULL;
}

static uint32_t used_of(const struct je_openmp *slot)
{
	uint32_t used = __atomic_load_n(&slot->used, __ATOMIC_RELAXED);

	return used < JE_OPENMP_PER_SLOT ? used : JE_OPENMP_PER_SLOT;
}

/* Claims slot number `order`. If several threads try at once, one succeeds. */
static JE_COLD struct je_openmp *claim_slot(uint32_t order)
{
	uint32_t expected = order, index;
	struct je_openmp *slot = NULL;

	if (order >= JE_OPENMP_SLOTS ||
	    !__atomic_compare_exchange_n(&all.claimed, &expected, order + 1, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return NULL;
	slot = je_claim_openmp(&index);
	if (slot == NULL) {
		__atomic_store_n(&all.full, true, __ATOMIC_RELAXED);
		return NULL;
	}
	slot->kind = JE_KIND_OPENMP;
	slot->bytes = JE_SLOT_BYTES;
	slot->parent = je_process.index;
	slot->pid = je_process.slot->pid;
	slot->process_ticks = je_process.slot->claimed_at.ticks;
	slot->order = order;
	JE_IN_ORDER();
	slot->state = JE_STATE_RUNNING;
	slot->magic = JE_SLOT_MAGIC;
	__atomic_store_n(&all.slots[order], slot, __ATOMIC_RELEASE);
	return slot;
}

JE_COLD bool je_openmp_start(void)
{
	return claim_slot(0) != NULL;
}

JE_COLD void je_openmp_note(uint32_t runtimes, uint32_t why, uint32_t untimed)
{
	struct je_openmp *first = slot_at(0);

	if (first == NULL)
		return;
	__atomic_fetch_or(&first->runtimes, runtimes, __ATOMIC_RELAXED);
	__atomic_fetch_or(&first->untimed, untimed, __ATOMIC_RELAXED);
	if (first->why == JE_OPENMP_KNOWN)
		first->why = why;
}

JE_COLD void je_openmp_forget(void)
{
	const size_t sums = offsetof(struct je_openmp_thread, ticks);

	for (uint32_t s = 0; slot_at(s) != NULL; s++)
		for (uint32_t i = 0; i < used_of(slot_at(s)); i++)
			memset((char *)&slot_at(s)->threads[i] + sums, 0,
			       JE_OPENMP_THREAD_BYTES - sums);
}

static bool is_main(const struct je_openmp_thread *entry)
{
	return entry->tid == je_process.slot->tid;
}

/* Adds an entry's sums. */
static void add_entry(uint64_t parts[JE_SECTION_PARTS], const struct je_openmp_thread *entry)
{
	parts[JE_PART_TEAM] += entry->team_ticks;
	parts[JE_PART_USEFUL] += entry->ticks[JE_OPENMP_USEFUL];
	parts[JE_PART_MPI] += entry->mpi_ticks;
	parts[JE_PART_IO] += entry->io_ticks;
	parts[JE_PART_SCHEDULING] += entry->ticks[JE_OPENMP_SCHEDULING];
	parts[JE_PART_LOCKED] += entry->ticks[JE_OPENMP_LOCKED];
	if (is_main(entry)) {
		parts[JE_PART_REGION] = entry->region_ticks;
		parts[JE_PART_REGION_MPI] = entry->mpi_ticks;
		parts[JE_PART_REGION_IO] = entry->io_ticks;
		parts[JE_PART_USEFUL_MAIN] = entry->ticks[JE_OPENMP_USEFUL];
	}
}

/* Adds what is still open, up to `end`: a thread's useful time, and the main thread's region. */
static void add_open(uint64_t parts[JE_SECTION_PARTS], const struct je_openmp_thread *entry,
		     uint64_t end)
{
	if (entry->state == JE_OPENMP_USEFUL && end > entry->since_ticks)
		parts[JE_PART_USEFUL] += end - entry->since_ticks;
	if (is_main(entry) && entry->region_since != 0 && end > entry->region_since) {
		parts[JE_PART_REGION] += end - entry->region_since;
		parts[JE_PART_TEAM] += (end - entry->region_since) * entry->team;
	}
}

JE_COLD void je_openmp_sum(struct je_openmp_sum *sum, uint64_t end)
{
	for (uint32_t s = 0; slot_at(s) != NULL; s++)
		for (uint32_t i = 0; i < used_of(slot_at(s)); i++) {
			const struct je_openmp_thread *entry = &slot_at(s)->threads[i];

			add_entry(sum->parts, entry);
			add_open(sum->parts, entry, end);
			sum->regions += entry->regions;
			sum->tasks += entry->tasks_made;
			if (is_main(entry))
				sum->team = entry->team;
		}
}

/* Regions that other threads began may run on while the process exits. */
JE_COLD bool je_openmp_done(void)
{
	for (uint32_t s = 0; slot_at(s) != NULL; s++)
		for (uint32_t i = 0; i < used_of(slot_at(s)); i++) {
			const struct je_openmp_thread *entry = &slot_at(s)->threads[i];

			if (entry->region_since != 0 ||
			    (entry != je_me.openmp && entry->regions > entry->nested))
				return false;
		}
	for (uint32_t s = 0; slot_at(s) != NULL; s++)
		slot_at(s)->state = JE_STATE_DONE;
	return true;
}

static JE_COLD void add_up(struct je_threads *sum)
{
	static uint64_t useful[JE_TOLD_APART];
	const struct je_openmp_thread *own = je_me.openmp;

	*sum = (struct je_threads){ .useful = useful,
				    .any = true,
				    .whole = own->region_since == 0 };
	for (uint32_t s = 0; slot_at(s) != NULL; s++)
		for (uint32_t i = 0; i < used_of(slot_at(s)); i++) {
			const struct je_openmp_thread *entry = &slot_at(s)->threads[i];

			add_entry(sum->parts, entry);
			sum->whole =
				sum->whole && (entry == own || entry->regions <= entry->nested);
			if (sum->entries < JE_TOLD_APART)
				useful[sum->entries] =
					is_main(entry) ? 0 : entry->ticks[JE_OPENMP_USEFUL];
			sum->entries++;
		}
}

void je_openmp_threads(struct je_threads *threads)
{
	static struct je_threads last;
	static uint64_t regions; /* 2 * those begun at the last call, + 1 inside one */
	uint64_t now;

	threads->any = je_me.openmp != NULL;
	if (JE_LIKELY(!threads->any))
		return;
	now = 2 * je_me.openmp->regions + (je_me.openmp->region_since != 0);
	if (now != regions) {
		add_up(&last);
		regions = now;
	}
	*threads = last;
}

static bool take(struct je_openmp_thread *entry, int32_t owner, int32_t tid)
{
	return __atomic_compare_exchange_n(&entry->tid, &owner, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static bool is_gone(int32_t tid)
{
	return syscall(SYS_tgkill, je_process.slot->pid, tid, 0) != 0 && errno == ESRCH;
}

/* Takes an entry that was given back, else one whose thread ended. An entry with this thread's
 * number counts as given back: its thread ended, and the kernel used the number again. NULL: there
 * is none. */
static struct je_openmp_thread *find_free(int32_t tid, bool given_back)
{
	for (uint32_t s = 0; slot_at(s) != NULL; s++)
		for (uint32_t i = 0; i < used_of(slot_at(s)); i++) {
			struct je_openmp_thread *entry = &slot_at(s)->threads[i];
			int32_t owner = __atomic_load_n(&entry->tid, __ATOMIC_RELAXED);

			if ((given_back ? owner == 0 || owner == tid : is_gone(owner)) &&
			    take(entry, owner, tid))
				return entry;
		}
	return NULL;
}

static struct je_openmp_thread *new_entry(int32_t tid)
{
	uint32_t order = 0, i;
	struct je_openmp *slot;

	while (slot_at(order + 1) != NULL)
		order++;
	slot = slot_at(order);
	i = __atomic_fetch_add(&slot->used, 1, __ATOMIC_RELAXED);
	if (i >= JE_OPENMP_PER_SLOT) {
		__atomic_store_n(&slot->used, JE_OPENMP_PER_SLOT, __ATOMIC_RELAXED);
		slot = claim_slot(order + 1);
		if (slot == NULL)
			return NULL;
		i = __atomic_fetch_add(&slot->used, 1, __ATOMIC_RELAXED);
	}
	return i < JE_OPENMP_PER_SLOT && take(&slot->threads[i], 0, tid) ? &slot->threads[i] : NULL;
}

/* Whether another thread is claiming a slot at this moment. */
static bool is_claiming(void)
{
	uint32_t claimed = __atomic_load_n(&all.claimed, __ATOMIC_RELAXED);

	return slot_at(claimed - 1) == NULL && !__atomic_load_n(&all.full, __ATOMIC_RELAXED);
}

JE_COLD bool je_openmp_join(struct je_thread *me)
{
	int32_t tid = (int32_t)syscall(SYS_gettid);
	int saved = errno;
	struct je_openmp_thread *entry = NULL;
	uint64_t until_ns = je_clock_ns(CLOCK_MONOTONIC) + JE_PATIENCE_NS;

	for (int i = 0; entry == NULL && i < JE_TRIES; i++) { /* others may be faster */
		while (i > 0 && is_claiming() && je_clock_ns(CLOCK_MONOTONIC) < until_ns)
			sched_yield();
		entry = find_free(tid, true);
		if (entry == NULL)
			entry = find_free(tid, false);
		if (entry == NULL)
			entry = new_entry(tid);
	}
	errno = saved;
	if (entry == NULL) {
		__atomic_fetch_add(&slot_at(0)->lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	entry->state = JE_OPENMP_OUTSIDE;
	entry->region_since = 0;
	me->openmp = entry;
	return true;
}

void je_openmp_part(struct je_thread *me)
{
	__atomic_store_n(&me->openmp->tid, 0, __ATOMIC_RELEASE);
	me->openmp = NULL;
}
