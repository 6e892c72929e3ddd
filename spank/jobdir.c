/* jobdir.c: the directory of a job, /run/jobeff/notes/<job>/. Only root can enter it. Nobody else
 * may even name a file in it: with O_PATH, whoever can name a file can hold its inode.
 *
 * The Go body makes it in the prolog. If the body failed, or if no prolog ran, the prolog's C or
 * the first step makes it here. C cannot read the configuration. So it measures only if an earlier
 * prolog noted that the site measures all jobs, and the configuration is still the same.
 * Both build the directory under another name and rename it into place. So whoever comes second
 * finds it complete.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../preload/record/make.h"
#include "jobeff_spank.h"

bool je_killed(void)
{
	return access(JE_KILL_SWITCH, F_OK) == 0;
}

/* Opens a directory that only root can write; -1: it is none, or a symbolic link. */
static int open_roots(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* Opens a directory of root's, or makes it. */
static int open_or_make(const char *path, mode_t mode)
{
	int fd = open_roots(AT_FDCWD, path);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdir(path, mode) == 0 && chmod(path, mode) < 0)
		return -1;
	return open_roots(AT_FDCWD, path);
}

/* Opens /run/jobeff/notes. The packages mount a tmpfs on /run/jobeff. Without one, a plain
 * directory is made. */
int je_run_open(void)
{
	int top = open_or_make(JE_RUN_DIR, 0711);

	if (top < 0)
		return -1;
	close(top);
	return open_or_make(JE_NOTES_DIR, 0700);
}

int je_jobdir_open(int run, uint32_t job_id)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", job_id);
	return open_roots(run, name);
}

bool je_jobdir_measured(int dir)
{
	char text[256];

	if (!je_text_read(dir, "decision", text, sizeof(text)))
		return false;
	return strcmp(text, "on") == 0 || strncmp(text, "on\n", 3) == 0;
}

/* The prolog calls it before any step is there to read the file. */
void je_jobdir_refuse(int dir, const char *reason)
{
	int fd = openat(dir, "decision", O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "off %s\n", reason);
	close(fd);
}

static void short_host(char *name, size_t size)
{
	if (gethostname(name, size) < 0)
		name[0] = '\0';
	name[size - 1] = '\0';
	name[strcspn(name, ".")] = '\0';
	je_clean(name);
}

/* Writes the text of the `job` file of a job that no prolog prepared; returns its length. */
static int job_text(const struct je_ids *ids, char *text, size_t size)
{
	char run[JE_HEX], nonce[JE_HEX], boot[JE_HEX], host[256];
	int n;

	if (!je_random_hex(run) || !je_random_hex(nonce) || !je_boot_hex(boot))
		return -1;
	short_host(host, sizeof(host));
	n = snprintf(text, size,
		     "version 1\nrun %s\nnonce %s\nboot_id %s\njob_id %u\nuid %u\ngid %u\nnode %s\n"
		     "nnodes %u\nprolog %d\nstart_mono_ns %llu\nstart_real_ns %llu\n",
		     run, nonce, boot, ids->job_id, ids->uid, ids->gid, host, ids->nnodes,
		     ids->prolog, (unsigned long long)je_clock_ns(CLOCK_MONOTONIC),
		     (unsigned long long)je_clock_ns(CLOCK_REALTIME));
	if (ids->array_job != 0 && n > 0 && (size_t)n < size)
		n += snprintf(text + n, size - (size_t)n, "array_job_id %u\narray_task_id %u\n",
			      ids->array_job, ids->array_task);
	return n > 0 && (size_t)n < size ? n : -1;
}

/* Reads the site's settings as the last prolog noted them. False: the site does not measure all
 * jobs, or its configuration is another one by now. */
static bool read_site(int run, const char *config, char *text, size_t size)
{
	char noted[64], now[64];
	struct stat st = { 0 };

	stat(config, &st); /* without a file all of it is 0 */
	snprintf(now, sizeof(now), "%lld.%09ld %llu", (long long)st.st_ctim.tv_sec,
		 st.st_ctim.tv_nsec, (unsigned long long)st.st_ino);
	return je_text_read(run, JE_SITE, text, size) &&
	       je_text_value(text, "config", noted, sizeof(noted)) && strcmp(noted, now) == 0;
}

static bool fill(int run, int dir, const struct je_ids *ids, const char *config)
{
	static const char on[] = "on\n",
			  off[] = "off no prolog told whether the site measures this job\n";
	char text[JE_TEXT], site[JE_TEXT];
	int n = job_text(ids, text, sizeof(text)), fd;
	bool done, measured = read_site(run, config, site, sizeof(site));

	if (n < 0 || !je_append(dir, "job", text, (size_t)n) ||
	    !je_append(dir, "decision", measured ? on : off, strlen(measured ? on : off)) ||
	    (measured && !je_append(dir, "job", site, strlen(site))))
		return false;
	fd = openat(dir, "decision", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = fchmod(fd, 0644) == 0;
	close(fd);
	return done;
}

/* Makes the job's directory and opens it; -1: that failed. */
int je_jobdir_make(int run, const struct je_ids *ids, const char *config)
{
	char fresh[64], name[16], hex[JE_HEX];
	bool done = false;
	int dir;

	if (!je_random_hex(hex))
		return -1;
	snprintf(fresh, sizeof(fresh), ".new-%u-%.16s", ids->job_id, hex);
	snprintf(name, sizeof(name), "%u", ids->job_id);
	if (mkdirat(run, fresh, 0700) < 0)
		return -1;
	dir = open_roots(run, fresh);
	if (dir >= 0 && fill(run, dir, ids, config))
		done = renameat(run, fresh, run, name) == 0;
	if (!done) {
		if (dir >= 0) {
			unlinkat(dir, "job", 0);
			unlinkat(dir, "decision", 0);
		}
		unlinkat(run, fresh, AT_REMOVEDIR);
	}
	if (dir >= 0)
		close(dir);
	return je_jobdir_open(run, ids->job_id); /* ours, or that of a faster step */
}

/* Reads the environment that slurmd gives to prolog and epilog. No user can change it. */
void je_jobdir_complete(int dir)
{
	static const char *const known[][2] = {
		{ "cluster", "SLURM_CLUSTER_NAME" },	{ "node", "SLURMD_NODENAME" },
		{ "user", "SLURM_JOB_USER" },		{ "account", "SLURM_JOB_ACCOUNT" },
		{ "partition", "SLURM_JOB_PARTITION" }, { "nodelist", "SLURM_NODELIST" },
		{ "het_job_id", "SLURM_HET_JOB_ID" },	{ "sluid", "SLURM_JOB_SLUID" },
		{ "gpus", "SLURM_JOB_GPUS" },		{ "gpu_ids", "CUDA_VISIBLE_DEVICES" }
	};
	char text[JE_TEXT], have[JE_TEXT], line[JE_TEXT];

	if (!je_text_read(dir, "job", text, sizeof(text)))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *value = getenv(known[i][1]);
		int n;

		if (value == NULL || *value == '\0' ||
		    je_text_value(text, known[i][0], have, sizeof(have)))
			continue;
		n = snprintf(line, sizeof(line), "%s %s", known[i][0], value);
		if (n < 0 || (size_t)n >= sizeof(line) - 1)
			continue;
		je_clean(line);
		line[n] = '\n';
		je_append(dir, "job", line, (size_t)n + 1);
	}
}

static bool is_hex(const char *text)
{
	return strlen(text) == JE_HEX - 1 && strspn(text, "0123456789abcdef") == JE_HEX - 1;
}

/* Renames the job's directory to .done-<job>-<run>, so that it gets folded. */
void je_jobdir_retire(int run, uint32_t job_id)
{
	char name[16], done[80], text[JE_TEXT], id[JE_HEX];
	int dir = je_jobdir_open(run, job_id);

	if (dir < 0)
		return;
	if (!je_text_read(dir, "job", text, sizeof(text)) ||
	    !je_text_value(text, "run", id, sizeof(id)) || !is_hex(id))
		if (!je_random_hex(id))
			strcpy(id, "00000000000000000000000000000000");
	close(dir);
	snprintf(name, sizeof(name), "%u", job_id);
	snprintf(done, sizeof(done), JE_DONE "%u-%s", job_id, id);
	renameat(run, name, run, done);
}

static bool differs(const char *text, const char *key, const char *now)
{
	char then[64];

	return now != NULL && je_text_value(text, key, then, sizeof(then)) &&
	       strcmp(then, now) != 0;
}

/* Retires the directory of an earlier job with the same id, whose epilog never ran. That job had
 * another user, another boot or another restart count. `restart` NULL: not known. */
void je_jobdir_retire_stranger(int run, uint32_t job_id, uid_t uid, const char *restart)
{
	char text[JE_TEXT], owner[16], boot[JE_HEX];
	int dir = je_jobdir_open(run, job_id);
	bool is_read;

	if (dir < 0)
		return;
	is_read = je_text_read(dir, "job", text, sizeof(text));
	close(dir);
	snprintf(owner, sizeof(owner), "%u", uid);
	if (!is_read || differs(text, "uid", owner) || differs(text, "restart", restart) ||
	    (je_boot_hex(boot) && differs(text, "boot_id", boot)))
		je_jobdir_retire(run, job_id);
}
