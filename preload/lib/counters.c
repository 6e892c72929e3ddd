/* counters.c: useful instructions and cycles, if the site or the user wants them.
 *
 * The thread that called MPI_Init gets two events in a pinned group; useful time is that of this
 * thread, too. An event lives as long as its page is mapped. So its descriptor is closed at
 * once, and the program has no more open files than before. If anything is missing, nothing is
 * counted: a system call per MPI call would cost more than the figures are worth.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters.h"

static struct je_counters counted;

/* A forked child does not have the pages, and only process.c's fork handler tells it so. Without
 * fork handlers nothing is counted. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
	__attribute__((weak));

static bool wanted(void)
{
#if defined(__x86_64__)
	const char *wish = getenv("JOBEFF_COUNTERS");

	return wish != NULL && strcmp(wish, "1") == 0 && __register_atfork != NULL;
#else
	return false;
#endif
}

static int open_event(uint64_t config, int group)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_HARDWARE;
	attr.size = PERF_ATTR_SIZE_VER0; /* every kernel knows this size */
	attr.config = config;
	attr.pinned = group < 0;
	attr.exclude_kernel = attr.exclude_hv = 1;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static const volatile struct perf_event_mmap_page *map_event(int fd)
{
	void *page;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

static void unmap_event(const volatile struct perf_event_mmap_page **page)
{
	if (*page != NULL)
		munmap((void *)(uintptr_t)*page, (size_t)sysconf(_SC_PAGESIZE));
	*page = NULL;
}

static void close_events(struct je_thread *me)
{
	me->counters = NULL;
	unmap_event(&counted.instructions);
	unmap_event(&counted.cycles);
}

static void open_events(struct je_counters *c)
{
	int first = open_event(PERF_COUNT_HW_INSTRUCTIONS, -1);
	int second = first < 0 ? -1 : open_event(PERF_COUNT_HW_CPU_CYCLES, first);

	c->instructions = map_event(first);
	c->cycles = map_event(second);
	if (first >= 0)
		close(first);
	if (second >= 0)
		close(second);
}

static bool read_both(const struct je_counters *c, uint64_t *instructions, uint64_t *cycles)
{
	return je_counter_read(c->instructions, instructions) && je_counter_read(c->cycles, cycles);
}

/* The CPU lost an event. What was counted so far says nothing about the whole run, so the slot
 * says "not known". */
static JE_COLD void lose(struct je_thread *me, struct je_slot *slot)
{
	slot->counters = 0;
	close_events(me);
}

/* Runs just before MPI_Init returns. */
JE_COLD void je_counters_start(struct je_thread *me, struct je_slot *slot)
{
	struct je_counters *c = &counted;

	if (!wanted())
		return;
	open_events(c);
	if (c->instructions == NULL || c->cycles == NULL) {
		close_events(me);
		return;
	}
	slot->counters = 1;
	me->counters = c;
}

/* An MPI call begins. What was counted since the last one was useful. */
__attribute__((noinline)) void je_counters_enter(struct je_thread *me, struct je_slot *slot)
{
	struct je_counters *c = me->counters;
	uint64_t instructions, cycles;

	if (!read_both(c, &instructions, &cycles)) {
		lose(me, slot);
		return;
	}
	slot->seq = 1;
	JE_IN_ORDER();
	slot->useful_instructions += instructions - c->left_instructions;
	slot->useful_cycles += cycles - c->left_cycles;
	JE_IN_ORDER();
	slot->seq = 0;
}

/* An MPI call ends. What is counted from here on is useful. */
__attribute__((noinline)) void je_counters_leave(struct je_thread *me, struct je_slot *slot)
{
	struct je_counters *c = me->counters;

	if (!read_both(c, &c->left_instructions, &c->left_cycles))
		lose(me, slot);
}

/* MPI_Finalize begins. If another thread calls it, the counts cannot be read. */
JE_COLD void je_counters_end(struct je_thread *me, struct je_slot *slot)
{
	if (me->counters == NULL) {
		slot->counters = 0;
		return;
	}
	je_counters_enter(me, slot);
	close_events(me);
}
