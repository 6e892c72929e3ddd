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

/* Whether a slot is that of a child which wrote no ending. The slot's first bytes show it. */
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

/* What the command line sets LD_PRELOAD to, as `-x LD_PRELOAD=…` of mpirun, `-genv LD_PRELOAD …`
 * of hydra and `env LD_PRELOAD=…` do; NULL: nothing. Each word ends in a zero. */
static const char *preload_of(const char *line, int bytes)
{
	static const char name[] = "LD_PRELOAD";
	const char *end = line + bytes, *before = "";

	for (const char *word = line; word < end; before = word, word += strlen(word) + 1) {
		const char *after = word + strlen(name);

		if (strncmp(word, name, strlen(name)) != 0)
			continue;
		if (*after == '=')
			return after + 1;
		if (*after == '\0' && after + 1 < end &&
		    (strcmp(before, "-genv") == 0 || strcmp(before, "-env") == 0))
			return after + 1;
	}
	return NULL;
}

/* Whether this launcher was told to give its ranks an LD_PRELOAD without this library. */
static bool leaves_us_out(void)
{
	char line[4096];
	int bytes = je_read_text("/proc/self/cmdline", line, sizeof(line));
	const char *list = bytes > 0 ? preload_of(line, bytes) : NULL;

	return list != NULL && strstr(list, "libjobeff.so") == NULL;
}

/* Runs at the exit of a process that never called MPI_Init. */
void je_launcher_at_exit(void)
{
	struct je_head head;
	int fd;

	if (!is_launcher() || !je_record_find())
		return;
	if (leaves_us_out())
		je_record_count(offsetof(struct je_head, lost_preload));
	fd = je_record_open(&head);
	if (fd < 0)
		return;
	note_gone(fd, &head);
	close(fd);
}
