/* epilog.c: the end of a job on a node. It runs in `slurmstepd spank epilog`, a fresh process of
 * root, after all steps.
 *
 * This process renames the job's directory away. Then it picks and locks the directories to
 * fold: this job's, and if that is done, a few that an earlier epilog left. One child folds them
 * as nobody and writes to a pipe. Another child, root, reads the pipe and writes the outbox. It
 * removes the directories whose reports are safe in the outbox, and starts the sender. If no
 * record holds anything, there are only root's own notes to read, and one child does everything.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobeff_spank.h"

#define JE_EPILOG_MS 8900
#define JE_OTHERS_MS 2900 /* for what an earlier epilog left: it may be too slow again */
#define JE_PICKED 8	  /* at most so many directories at once */
#define JE_TRIES 5	  /* after so many tries only root's own notes are reported */

struct picked {
	int n;
	int fds[JE_PICKED]; /* locked while this process lives */
	char names[JE_PICKED][80];
	int tries[JE_PICKED];
	int records; /* how many of them hold something that a user wrote */
};

static int count_try(int dir)
{
	struct stat st;

	je_append(dir, "tries", "x", 1);
	return fstatat(dir, "tries", &st, AT_SYMLINK_NOFOLLOW) == 0 ? (int)st.st_size : 1;
}

/* Opens and locks run/name, unless another epilog holds it or has removed it. */
static void pick(int run, const char *name, struct picked *p)
{
	int fd = openat(run, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat held, there;

	if (fd < 0)
		return;
	if (p->n == JE_PICKED || strlen(name) >= sizeof(p->names[0]) ||
	    flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &held) < 0 ||
	    fstatat(run, name, &there, AT_SYMLINK_NOFOLLOW) < 0 || held.st_ino != there.st_ino) {
		close(fd);
		return;
	}
	strcpy(p->names[p->n], name);
	p->tries[p->n] = count_try(fd);
	p->records += p->tries[p->n] > JE_TRIES || !je_ranks_empty(fd);
	p->fds[p->n++] = fd;
}

/* Picks the directories that wait and whose names begin so. */
static void pick_all(int run, const char *prefix, struct picked *p)
{
	DIR *d = fdopendir(dup(run));
	struct dirent *e;

	if (d != NULL)
		rewinddir(d);
	while (d != NULL && p->n < JE_PICKED && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0)
			pick(run, e->d_name, p);
	if (d != NULL)
		closedir(d);
}

static void write_request(char *request, size_t size, const struct je_settings *set,
			  const struct picked *p, int pipe)
{
	int n = snprintf(request, size, "run_dir %s\nconfig %s\nsender %s\npipe %d\n", JE_NOTES_DIR,
			 set->config, set->sender, pipe);

	for (int i = 0; i < p->n && n > 0 && (size_t)n < size; i++)
		n += snprintf(request + n, size - (size_t)n, "%s %s\n",
			      p->tries[i] > JE_TRIES ? "give_up" : "fold", p->names[i]);
}

/* Folds the directories that wait and whose names begin so; false: not all of it was done. */
static bool fold_and_ship(const struct je_settings *set, int run, const char *prefix, int most_ms)
{
	static char fold[JE_TEXT * 4], ship[JE_TEXT * 4];
	struct picked picked = { 0 }, *p = &picked;
	int ends[2];

	pick_all(run, prefix, p);
	if (p->n == 0)
		return true;
	if (p->records == 0) {
		write_request(fold, sizeof(fold), set, p, -1);
		return je_bodies_run(set, &(struct je_body){ "jobeff_body_light", fold, -1 }, 1,
				     most_ms);
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	write_request(fold, sizeof(fold), set, p, ends[1]);
	write_request(ship, sizeof(ship), set, p, ends[0]);
	return je_bodies_run(set,
			     (const struct je_body[]){ { "jobeff_body_fold", fold, ends[1] },
						       { "jobeff_body_ship", ship, ends[0] } },
			     2, most_ms);
}

void je_epilog(spank_t sp, const struct je_settings *set)
{
	char own[32];
	uint32_t job_id;
	int run, dir;

	je_fill_stdio();
	if (spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS || (run = je_run_open()) < 0)
		return;
	dir = je_jobdir_open(run, job_id);
	if (dir >= 0) {
		je_jobdir_complete(dir);
		close(dir);
		je_jobdir_retire(run, job_id);
	}
	snprintf(own, sizeof(own), JE_DONE "%u-", job_id);
	if (fold_and_ship(set, run, own, JE_EPILOG_MS))
		fold_and_ship(set, run, JE_DONE, JE_OTHERS_MS);
	close(run);
}
