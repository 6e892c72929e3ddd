/* step.c: what the plugin does in slurmstepd, from a step's start to its end.
 *
 * First comes root's part (je_step_begin: directory, event), then the user's part (je_step_user:
 * environment). Last, each task looks whether it can see the library (je_step_task). Each event is
 * one line in the job's `steps`, which only root can write. The line of a task's exit also says
 * what the kernel counted until then.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../preload/lib/hash.h"
#include "../preload/record/make.h"
#include "jobeff_spank.h"

/* slurm.h's names for the steps that have no number */
#define JE_STEP_BATCH 0xfffffffbu
#define JE_STEP_EXTERN 0xfffffffcu
#define JE_STEP_INTERACTIVE 0xfffffffau
#define JE_NO_VALUE 0xfffffffeu /* slurm.h's NO_VAL: the job is no task of an array */

/* JOBEFF=live marks a step that only reads. The fold knows it by this reason, and leaves it out. */
#define JE_WATCHING "it is jobeff live"
#define JE_COUNT_PAUSE_NS 1000000000u /* shortest time between two readings of what was counted */
#define JE_COUNTED 768		      /* bytes of the counts as text */

static struct {
	struct je_ids ids;
	char name[16]; /* as in `steps`; "": nothing is known about this step */
	bool is_extern;
	bool measured; /* the tasks get the library */
	bool injected;
	bool counters;	 /* the site wants counters */
	char windows[8]; /* MiB of a node for windows; "": not known */
	bool arguments;	 /* the site wants the arguments' text */
	bool forked;
	struct je_cgroup cgroup;
	uint32_t exits;	     /* tasks that have ended */
	uint64_t counted_ns; /* when the kernel's counts were read last */
} step;

static uint32_t item(spank_t sp, spank_item_t what)
{
	uint32_t value = 0;

	return spank_get_item(sp, what, &value) == ESPANK_SUCCESS ? value : 0;
}

static bool read_ids(spank_t sp, struct je_ids *ids)
{
	ids->prolog = 0;
	ids->nnodes = item(sp, S_JOB_NNODES);
	ids->array_job = item(sp, S_JOB_ARRAY_ID);
	ids->array_task = item(sp, S_JOB_ARRAY_TASK_ID);
	if (ids->array_task == JE_NO_VALUE)
		ids->array_job = 0;
	return spank_get_item(sp, S_JOB_ID, &ids->job_id) == ESPANK_SUCCESS &&
	       ids->job_id < JE_NO_ALLOCATION &&
	       spank_get_item(sp, S_JOB_UID, &ids->uid) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_GID, &ids->gid) == ESPANK_SUCCESS;
}

static void name_step(uint32_t id, char *name, size_t size)
{
	if (id == JE_STEP_BATCH)
		snprintf(name, size, "batch");
	else if (id == JE_STEP_EXTERN)
		snprintf(name, size, "extern");
	else if (id == JE_STEP_INTERACTIVE)
		snprintf(name, size, "interactive");
	else
		snprintf(name, size, "%u", id);
}

/* Appends `kind <step> <mono> <real> …` to the job's `steps`. */
__attribute__((format(printf, 3, 4))) static void note(int dir, const char *kind,
						       const char *format, ...)
{
	char line[JE_COUNTED + 256];
	va_list args;
	int n, more;

	n = snprintf(line, sizeof(line), "%s %s %llu %llu", kind, step.name,
		     (unsigned long long)je_clock_ns(CLOCK_MONOTONIC),
		     (unsigned long long)je_clock_ns(CLOCK_REALTIME));
	va_start(args, format);
	more = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	if (more < 0 || (size_t)n + (size_t)more >= sizeof(line) - 1)
		return;
	line[n + more] = '\n';
	je_append(dir, "steps", line, (size_t)n + (size_t)more + 1);
}

/* Slurm runs no second prolog for a job that is requeued onto the same node at once. A step may
 * make the record then, but only in the node's mount namespace: else the epilog would not see what
 * it mounts.
 */
static bool make_record(int dir)
{
	struct stat own, nodes;
	char why[256];
	int run;
	bool done;

	if (stat("/proc/self/ns/mnt", &own) < 0 || stat("/proc/1/ns/mnt", &nodes) < 0 ||
	    own.st_ino != nodes.st_ino || (run = je_run_open()) < 0)
		return false;
	done = je_ranks_prepare(run, dir, &step.ids, why, sizeof(why));
	close(run);
	return done;
}

/* Why this step is not measured, in words for its user; NULL: it is measured. */
static const char *reason_off(spank_t sp, int dir, const struct je_settings *set)
{
	enum je_wish wish = je_options()->measure;
	const char *env = je_job_env(sp, "JOBEFF");

	if (env != NULL && strcmp(env, "live") == 0)
		return JE_WATCHING;
	if (je_killed())
		return "switched off on this node (" JE_KILL_SWITCH ")";
	if (!je_jobdir_measured(dir))
		return "the job is not measured";
	if (wish == JE_WISH_OFF)
		return "asked by the step (--jobeff=off)";
	if (env != NULL && strcmp(env, "off") == 0)
		return "asked by the step (JOBEFF=off)";
	if (!je_readable(set->preload))
		return "libjobeff.so is missing on this node";
	if (je_preload_other(je_job_env(sp, "LD_PRELOAD"), set->preload))
		return "the step preloads a libjobeff.so of its own";
	if (!je_ranks_ready(dir, step.ids.uid) && !make_record(dir))
		return "no prolog of this job made a record on this node";
	return NULL;
}

/* Whether the step's command starts a container: one that srun itself names. */
static bool starts_container(spank_t sp)
{
	static const char *const starters[] = { "apptainer", "singularity", "enroot",  "podman",
						"docker",    "ch-run",	    "shifter", "sarus" };
	char **argv = NULL;
	int argc = 0;
	const char *name;

	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 1)
		return false;
	name = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++)
		if (strcmp(name, starters[i]) == 0)
			return true;
	return false;
}

#define JE_ARGUMENTS (sizeof(" args=") + (size_t)2 * JE_HASH_BYTES)

/* Writes a hash of the batch script's arguments; "" if it has none. It distinguishes jobs of one
 * name. The arguments themselves stay here: one may be a password. */
static void hash_arguments(spank_t sp, char text[JE_ARGUMENTS])
{
	uint8_t hash[JE_HASH_BYTES];
	struct je_hash h;
	char **argv = NULL;
	int argc = 0;

	text[0] = '\0';
	if (strcmp(step.name, "batch") != 0 ||
	    spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 2)
		return;
	je_hash_begin(&h);
	for (int i = 1; i < argc; i++)
		je_hash_add(&h, argv[i], strlen(argv[i]) + 1);
	je_hash_end(&h, hash);
	text += sprintf(text, " args=");
	for (int i = 0; i < JE_HASH_BYTES; i++)
		text += sprintf(text, "%02x", hash[i]);
}

/* Writes how many tasks the batch script's user asked for; "" if its environment does not say. */
static void tell_asked(spank_t sp, char *text, size_t size)
{
	const char *asked = strcmp(step.name, "batch") == 0 ? je_job_env(sp, "SLURM_NTASKS") : NULL;
	unsigned long tasks = asked != NULL ? strtoul(asked, NULL, 10) : 0;

	text[0] = '\0';
	if (tasks > 0 && tasks <= INT32_MAX)
		snprintf(text, size, " asked=%lu", tasks);
}

static void note_begin(spank_t sp, int dir, const char *off)
{
	const struct je_ids *ids = &step.ids;
	const char *workload = je_options()->workload;
	char array[64] = "", arguments[JE_ARGUMENTS], asked[32];

	hash_arguments(sp, arguments);
	tell_asked(sp, asked, sizeof(asked));

	if (ids->array_job != 0)
		snprintf(array, sizeof(array), " array_job=%u array_task=%u", ids->array_job,
			 ids->array_task);
	note(dir, "step", " tasks=%u ntasks=%u nnodes=%u nodeid=%u%s cpus=%u%s%s%s%s%s%s%s",
	     item(sp, S_JOB_LOCAL_TASK_COUNT), item(sp, S_JOB_TOTAL_TASK_COUNT), ids->nnodes,
	     item(sp, S_JOB_NODEID), array, item(sp, S_STEP_CPUS_PER_TASK),
	     starts_container(sp) ? " container=1" : "", arguments, asked,
	     *workload != '\0' ? " workload=" : "", workload, off != NULL ? " off=1 reason=" : "",
	     off != NULL ? off : "");
}

/* Whether the site wants `what`. The prolog noted it. */
static bool wants(const char *job, const char *what)
{
	char value[8];

	return je_text_value(job, what, value, sizeof(value)) && strcmp(value, "1") == 0;
}

static void read_wishes(int dir)
{
	char job[JE_TEXT];

	if (!je_text_read(dir, "job", job, sizeof(job)))
		return;
	step.counters = wants(job, "counters");
	if (!je_text_value(job, "windows", step.windows, sizeof(step.windows)))
		*step.windows = '\0';
	step.arguments = wants(job, "arguments");
}

/* Opens the job's directory. If there is neither a directory nor the kill switch, makes one. */
static int enter_jobdir(int run, const struct je_settings *set)
{
	int dir;

	je_jobdir_retire_stranger(run, step.ids.job_id, step.ids.uid, NULL);
	dir = je_jobdir_open(run, step.ids.job_id);
	if (dir >= 0 || je_killed())
		return dir;
	return je_jobdir_make(run, &step.ids, set->config);
}

void je_step_begin(spank_t sp, const struct je_settings *set)
{
	const char *off;
	int run, dir;

	if (!read_ids(sp, &step.ids) || (run = je_run_open()) < 0)
		return;
	name_step(item(sp, S_JOB_STEPID), step.name, sizeof(step.name));
	dir = enter_jobdir(run, set);
	close(run);
	if (dir < 0)
		return;
	step.is_extern = strcmp(step.name, "extern") == 0; /* it runs no program of the user */
	off = step.is_extern ? NULL : reason_off(sp, dir, set);
	note_begin(sp, dir, off);
	read_wishes(dir);
	close(dir);
	step.measured = off == NULL && !step.is_extern;
}

/* Sets the variables that say what the site wants, or removes them, also those of an outer step.
 * What the user has set stays. */
static void wish(spank_t sp, bool tell)
{
	const struct {
		const char *name, *value;
	} all[] = { { "JOBEFF_COUNTERS", step.counters ? "1" : "" },
		    { "JOBEFF_WINDOWS", step.windows },
		    { "JOBEFF_ARGUMENTS", step.arguments ? "1" : "" } };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const char *is = je_job_env(sp, all[i].name);

		if (*all[i].value == '\0')
			continue;
		if (tell)
			spank_setenv(sp, all[i].name, all[i].value, 0);
		else if (is != NULL && strcmp(is, all[i].value) == 0)
			spank_unsetenv(sp, all[i].name);
	}
}

static void withdraw(spank_t sp, const struct je_settings *set)
{
	je_withdraw(sp, set->preload);
	wish(sp, false);
}

/* Runs as the user, who may be unable to read what root can. */
void je_step_user(spank_t sp, const struct je_settings *set)
{
	if (step.measured && je_readable(set->preload)) {
		je_inject(sp, set->preload, step.ids.job_id);
		wish(sp, true);
		step.injected = true;
	} else if (!step.is_extern) {
		withdraw(sp, set); /* srun forwarded an outer step's library */
	}
}

/* Runs in the task. A container or a chroot may hide the library, and ld.so would then print a line
 * for every program. */
void je_step_task(spank_t sp, const struct je_settings *set)
{
	if (step.injected && !je_readable(set->preload))
		withdraw(sp, set);
}

static int open_own_jobdir(void)
{
	int run, dir;

	if (step.name[0] == '\0' || (run = je_run_open()) < 0)
		return -1;
	dir = je_jobdir_open(run, step.ids.job_id);
	close(run);
	return dir;
}

/* The tasks exist now, and so does the step's cgroup. The first step notes where the job's cgroup
 * is, so that it can be read while the job runs. */
void je_step_forked(void)
{
	char text[JE_CGROUP_PATH + 32];
	int dir, fd;

	if (step.forked || je_killed() || (dir = open_own_jobdir()) < 0)
		return;
	step.forked = true;
	je_cgroup_find(&step.cgroup, "/proc/self/cgroup", "/sys/fs/cgroup");
	fd = step.cgroup.job[0] == '\0' || strchr(step.cgroup.job, '\n') != NULL
		     ? -1
		     : openat(dir, "memory", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			      0600);
	if (fd >= 0) {
		int n = snprintf(text, sizeof(text), "cgroup %s\n", step.cgroup.job);

		if (write(fd, text, (size_t)n) < n) /* a full tmpfs: nothing is read then */
			unlinkat(dir, "memory", 0);
		close(fd);
	}
	close(dir);
}

/* Reads what the kernel counted when the step's last task on this node ends. Before that, it reads
 * at most once in JE_COUNT_PAUSE_NS: the memory of the other tasks still counts then. */
static void count(spank_t sp, char text[JE_COUNTED])
{
	uint64_t now = je_clock_ns(CLOCK_MONOTONIC);
	bool last = ++step.exits >= item(sp, S_JOB_LOCAL_TASK_COUNT);
	struct rusage children;
	size_t n;

	text[0] = '\0';
	if (!last && step.counted_ns != 0 && now - step.counted_ns < JE_COUNT_PAUSE_NS)
		return;
	step.counted_ns = now;
	je_cgroup_tell(&step.cgroup, text, JE_COUNTED);
	n = strlen(text);
	/* the largest of the tasks and their descendants */
	if (getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_maxrss > 0)
		snprintf(text + n, JE_COUNTED - n, " rss=%ld", children.ru_maxrss * 1024);
}

void je_step_task_exit(spank_t sp)
{
	int status = 0, dir = open_own_jobdir();
	char counted[JE_COUNTED];
	pid_t pid = 0;

	if (dir < 0)
		return;
	if (spank_get_item(sp, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS) {
		spank_get_item(sp, S_TASK_PID, &pid);
		count(sp, counted);
		note(dir, "exit", " pid=%d task=%u status=%d%s", (int)pid,
		     item(sp, S_TASK_GLOBAL_ID), status, counted);
	}
	close(dir);
}

void je_step_end(spank_t sp)
{
	int dir = open_own_jobdir();

	(void)sp;
	if (dir < 0)
		return;
	note(dir, "end", "%s", "");
	close(dir);
}
