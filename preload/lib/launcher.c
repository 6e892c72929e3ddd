/* launcher.c: in mpirun, orted, hydra's proxies and similar launchers, notes when their ranks
 * were gone.
 *
 * A killed rank cannot write how it ended. If Slurm did not start the rank, nobody else notes
 * when it was gone. But its launcher waits for it and exits soon after, and this library is in
 * the launcher, too. At the launcher's exit it writes the time into the slots of children that
 * wrote no ending. Other processes pay for one look at their name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../record/make.h"
#include "files.h"

static bool is_launcher(void)
{
	static const char *const beginnings[] = { "mpirun", "mpiexec", "orte", "prte",
						  "prun",   "hydra_",  "pmi_" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (strncmp(program_invocation_short_name, beginnings[i], strlen(beginnings[i])) ==
		    0)
			return true;
	return false;
}

/* Whether a slot is that of a child which wrote no ending. The slot's first bytes tell. */
static bool is_silent_child(int fd, uint64_t at)
{
	enum { JE_LOOK_BYTES = offsetof(struct je_slot, tid) };
	union {
		struct je_slot slot;
		char bytes[JE_LOOK_BYTES];
	} look;

	return pread(fd, look.bytes, JE_LOOK_BYTES, (off_t)at) == JE_LOOK_BYTES &&
	       look.slot.magic == JE_SLOT_MAGIC && look.slot.kind == JE_KIND_PROCESS &&
	       look.slot.ending == JE_ENDING_NONE && look.slot.ppid == getpid();
}

static void note_gone(int fd, const struct je_head *head)
{
	uint64_t now = je_clock_ns(CLOCK_MONOTONIC);
	uint32_t used = head->next < head->slots ? head->next : head->slots;

	for (uint32_t i = 0; i < used; i++) {
		uint64_t at = je_slot_at(i);
		uint64_t field = at + offsetof(struct je_slot, gone_mono_ns);

		if (is_silent_child(fd, at) && je_may_write(field + sizeof(now)) &&
		    pwrite(fd, &now, sizeof(now), (off_t)field) != sizeof(now))
			return;
	}
}

/* Runs when a process exits that never called MPI_Init. */
void je_launcher_at_exit(void)
{
	struct je_head head;
	int fd;

	if (!is_launcher() || !je_record_find())
		return;
	fd = je_record_open(&head);
	if (fd < 0)
		return;
	note_gone(fd, &head);
	close(fd);
}
