/* cgroup.c: what the kernel counted in the control groups of a step and of its job.
 *
 * The last slurmstepd removes both before the epilog, so slurmstepd itself reads them, when tasks
 * end. It runs in its step's cgroup: /proc/self/cgroup says where that is, whatever Slurm calls the
 * folders above (a job id or a SLUID, one slurmd on the machine or several). What cannot be read is
 * left out: the kernel may be older than a file, or a controller switched off.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobeff_spank.h"

enum {
	JE_CGROUP_TEXT = 8192, /* bytes that are read of a file */
	JE_CGROUP_TASKS = 16,  /* tasks of a step whose kills are read */
	JE_CGROUP_LEVELS = 16, /* folders above a cgroup in which a CPU limit is looked for */
};

/* Writes `tree` and the longest end of `path` that exists below it. In a container, or in a
 * namespace, the tree begins further down than `path` does. The end must begin before `least`. */
static bool locate(const char *tree, const char *path, const char *least, char to[JE_CGROUP_PATH])
{
	for (const char *up; (up = strstr(path, "/../")) != NULL;)
		path = up + 3;
	for (; path != NULL && path < least; path = strchr(path + 1, '/')) {
		int n = snprintf(to, JE_CGROUP_PATH, "%s%s", tree, path);

		if (n > 0 && n < JE_CGROUP_PATH && access(to, F_OK) == 0)
			return true;
	}
	to[0] = '\0';
	return false;
}

/* Finds the folders of the step and of its job; path is that of a process in the step. */
static void locate_step(struct je_cgroup *c, const char *tree, char *path)
{
	char *step = NULL, *end;

	for (char *at = path; (at = strstr(at, "/step_")) != NULL; at++)
		step = at;
	if (step == NULL || step == path)
		return;
	end = strchr(step + 1, '/');
	if (end != NULL)
		*end = '\0';
	if (locate(tree, path, step, c->step)) {
		strcpy(c->job, c->step);
		*strrchr(c->job, '/') = '\0';
	}
}

static bool names(const char *controllers, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = controllers; (at = strstr(at, name)) != NULL; at += n)
		if ((at == controllers || at[-1] == ',') && (at[n] == '\0' || at[n] == ','))
			return true;
	return false;
}

/* Takes a line `NUMBER:CONTROLLERS:PATH` of /proc/self/cgroup. Without controllers it is a line of
 * version 2. */
static void take_line(struct je_cgroup *c, const char *tree, char *line)
{
	char *controllers = strchr(line, ':'), *path, mount[JE_CGROUP_PATH];
	bool v2;
	int n;

	if (controllers == NULL || (path = strchr(++controllers, ':')) == NULL)
		return;
	*path++ = '\0';
	v2 = *controllers == '\0';
	n = snprintf(mount, sizeof(mount), "%s%s%s", tree, v2 ? "" : "/", controllers);
	if (n < 0 || (size_t)n >= sizeof(mount) || path[0] != '/')
		return;
	if ((v2 || names(controllers, "cpu")) && c->cpu[0] == '\0') {
		if (path[1] == '\0' || !locate(mount, path, path + strlen(path), c->cpu))
			strcpy(c->cpu, mount);
		c->cpu_top = (size_t)n;
	}
	if ((v2 || names(controllers, "memory")) && c->step[0] == '\0') {
		locate_step(c, mount, path);
		c->v2 = v2;
	}
}

static uint64_t number_of(const char *text, const char *key)
{
	char value[32];

	return je_text_value(text, key, value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}

/* Adds up what CPU limits cost at this level and at all above it. */
static struct je_throttled throttled(const struct je_cgroup *c)
{
	struct je_throttled sum = { 0 };
	char path[JE_CGROUP_PATH], text[1024];

	strcpy(path, c->cpu);
	for (int i = 0; i < JE_CGROUP_LEVELS && strlen(path) >= c->cpu_top && path[0] != '\0';
	     i++) {
		int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		char *end = strrchr(path, '/');

		if (dir >= 0 && je_text_read(dir, "cpu.stat", text, sizeof(text)) &&
		    strstr(text, "nr_throttled ") != NULL) {
			sum.known = true;
			sum.times += number_of(text, "nr_throttled");
			sum.us += number_of(text, "throttled_usec") +
				  number_of(text, "throttled_time") / 1000; /* v1: ns */
		}
		if (dir >= 0)
			close(dir);
		*end = '\0';
	}
	return sum;
}

void je_cgroup_find(struct je_cgroup *c, const char *own, const char *tree)
{
	char text[JE_CGROUP_TEXT], *line = text, *end;

	memset(c, 0, sizeof(*c));
	if (!je_text_read(AT_FDCWD, own, text, sizeof(text)))
		return;
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		take_line(c, tree, line);
	}
	c->before = throttled(c);
}

struct told {
	char *at;
	size_t room;
};

static void tell(struct told *to, const char *name, const char *value)
{
	size_t digits = strspn(value, "0123456789");
	int n;

	if (digits == 0 || digits > 19 || strchr("\n", value[digits]) == NULL)
		return;
	n = snprintf(to->at, to->room, " %s=%.*s", name, (int)digits, value);
	if (n < 0 || (size_t)n >= to->room) {
		*to->at = '\0';
		return;
	}
	to->at += n;
	to->room -= (size_t)n;
}

static void tell_number(struct told *to, const char *name, uint64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	tell(to, name, digits);
}

/* One number in a file: that of its line `key number`, or without a key the whole file. */
struct figure {
	const char *file, *key, *name;
};

static const struct figure of_job_v1[] = {
	{ "memory.max_usage_in_bytes", NULL, "peak" },	 { "memory.stat", "total_rss", "anon" },
	{ "memory.stat", "total_shmem", "shmem" },	 { "memory.stat", "total_cache", "cache" },
	{ "memory.stat", "total_pgmajfault", "faults" }, { "memory.failcnt", NULL, "full" },
	{ "memory.oom_control", "oom_kill", "kills" },
};
static const struct figure of_step_v1[] = {
	{ "memory.max_usage_in_bytes", NULL, "step_peak" },
	{ "memory.failcnt", NULL, "step_full" },
};
static const struct figure of_job_v2[] = {
	{ "memory.peak", NULL, "peak" },
	{ "memory.stat", "anon", "anon" },
	{ "memory.stat", "shmem", "shmem" },
	{ "memory.stat", "file", "cache" },
	{ "memory.stat", "pgmajfault", "faults" },
	{ "memory.stat", "workingset_refault_anon", "swapped" },
	{ "memory.events", "high", "high" },
	{ "memory.events", "max", "full" },
	{ "memory.events", "oom_kill", "kills" },
};
static const struct figure of_step_v2[] = {
	{ "memory.peak", NULL, "step_peak" },
	{ "memory.events", "oom_kill", "step_kills" },
};

/* Writes figures. Those of one file come in a row, so that it is read once. */
static void tell_figures(struct told *to, int dir, const struct figure *figures, size_t n)
{
	char text[JE_CGROUP_TEXT], value[32];
	const char *file = "";

	for (size_t i = 0; i < n; i++) {
		if (strcmp(file, figures[i].file) != 0)
			je_text_read(dir, file = figures[i].file, text, sizeof(text));
		if (figures[i].key == NULL)
			tell(to, figures[i].name, text);
		else if (je_text_value(text, figures[i].key, value, sizeof(value)))
			tell(to, figures[i].name, value);
	}
}

/* With version 1, a kill counts only in the cgroup of what was killed: the step's or a task's. */
static void tell_kills_v1(struct told *to, int step)
{
	char text[256], value[32];
	uint64_t kills = 0;
	bool known = false;

	for (int task = -1; task < JE_CGROUP_TASKS; task++) {
		char name[64] = "memory.oom_control";

		if (task >= 0)
			snprintf(name, sizeof(name), "task_%d/memory.oom_control", task);
		if (!je_text_read(step, name, text, sizeof(text)))
			break;
		if (je_text_value(text, "oom_kill", value, sizeof(value))) {
			kills += strtoull(value, NULL, 10);
			known = true;
		}
	}
	if (known)
		tell_number(to, "step_kills", kills);
}

/* Writes the largest number behind a word, not their sum: devices may be stacked. */
static void tell_largest(struct told *to, const char *text, const char *word, const char *name)
{
	uint64_t largest = 0;

	for (const char *at = text; (at = strstr(at, word)) != NULL;) {
		uint64_t n = strtoull(at += strlen(word), NULL, 10);

		if (n > largest)
			largest = n;
	}
	if (largest > 0)
		tell_number(to, name, largest);
}

static void tell_v2(struct told *to, int job)
{
	char text[JE_CGROUP_TEXT], full[128];
	const char *total;

	if (je_text_read(job, "io.stat", text, sizeof(text))) {
		tell_largest(to, text, " rbytes=", "read");
		tell_largest(to, text, " wbytes=", "written");
	}
	if (je_text_read(job, "memory.pressure", text, sizeof(text)) &&
	    je_text_value(text, "full", full, sizeof(full)) &&
	    (total = strstr(full, "total=")) != NULL)
		tell(to, "stalled_us", total + strlen("total="));
}

static void tell_throttled(struct told *to, const struct je_cgroup *c)
{
	struct je_throttled now = throttled(c);

	if (!c->before.known || !now.known || now.times < c->before.times || now.us < c->before.us)
		return;
	tell_number(to, "throttled", now.times - c->before.times);
	tell_number(to, "throttled_us", now.us - c->before.us);
}

#define JE_COUNT(figures) (sizeof(figures) / sizeof(*(figures)))

void je_cgroup_tell(const struct je_cgroup *c, char *text, size_t size)
{
	struct told to = { text, size };
	int job = c->job[0] != '\0' ? open(c->job, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int step = job >= 0 ? open(c->step, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	text[0] = '\0';
	if (job >= 0 && c->v2) {
		tell_figures(&to, job, of_job_v2, JE_COUNT(of_job_v2));
		tell_v2(&to, job);
	} else if (job >= 0) {
		tell_figures(&to, job, of_job_v1, JE_COUNT(of_job_v1));
	}
	if (step >= 0 && c->v2)
		tell_figures(&to, step, of_step_v2, JE_COUNT(of_step_v2));
	else if (step >= 0) {
		tell_figures(&to, step, of_step_v1, JE_COUNT(of_step_v1));
		tell_kills_v1(&to, step);
	}
	tell_throttled(&to, c);
	if (step >= 0)
		close(step);
	if (job >= 0)
		close(job);
}
