/* epilog.c: the end of a job on a node. It runs in `slurmstepd spank epilog`, a fresh process of
 * root, after all steps.
 *
 * This process renames the job's directory away. Then it folds that, and if all went well, a few
 * that earlier epilogs left. Each directory is locked and has children of its own: if a record
 * makes them fail, or is too slow, the try counts for that directory only. One child folds as
 * nobody and writes to a pipe. Another child, root, reads the pipe and writes the outbox. It
 * removes the directory when its report is safe there, and starts the sender. If the record holds
 * nothing, there are only root's own notes to read, and one child does everything.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../preload/record/make.h"
#include "jobeff_spank.h"

#define JE_EPILOG_MS 8900
#define JE_OTHERS_MS 2900 /* for one that an earlier epilog left: it may be too slow again */
#define JE_MORE_MS 100	  /* after this time no further one begins */
#define JE_LISTED 8	  /* most directories in one list */
#define JE_TRIES 5	  /* tries of a directory; then only root's own notes are reported */

/* The directories that wait, sorted by their last try, the oldest first. */
struct waiting {
	int n;
	char names[JE_LISTED][80];
	int64_t tried_ns[JE_LISTED]; /* 0: never */
};

static int64_t last_try_ns(int run, const char *name)
{
	char path[NAME_MAX + sizeof("/tries")];
	struct stat st;

	snprintf(path, sizeof(path), "%s/tries", name);
	if (fstatat(run, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
}

static void insert(struct waiting *w, const char *name, int64_t tried_ns)
{
	int at = w->n < JE_LISTED ? w->n++ : JE_LISTED;

	for (; at > 0 && w->tried_ns[at - 1] > tried_ns; at--)
		if (at < JE_LISTED) {
			strcpy(w->names[at], w->names[at - 1]);
			w->tried_ns[at] = w->tried_ns[at - 1];
		}
	if (at == JE_LISTED)
		return;
	strcpy(w->names[at], name);
	w->tried_ns[at] = tried_ns;
}

/* Lists the waiting directories whose names begin with `prefix`. */
static void list_waiting(int run, const char *prefix, struct waiting *w)
{
	DIR *d = fdopendir(dup(run));
	struct dirent *e;

	if (d == NULL)
		return;
	rewinddir(d);
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
		    strlen(e->d_name) < sizeof(w->names[0]))
			insert(w, e->d_name, last_try_ns(run, e->d_name));
	closedir(d);
}

/* Opens run/name and locks it as long as this process lives; -1: another epilog holds it, or has
 * removed it. */
static int lock_waiting(int run, const char *name)
{
	int fd = openat(run, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat held, there;

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 &&
	    fstatat(run, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && held.st_ino == there.st_ino)
		return fd;
	close(fd);
	return -1;
}

static int count_try(int dir)
{
	struct stat st;

	je_append(dir, "tries", "x", 1);
	return fstatat(dir, "tries", &st, AT_SYMLINK_NOFOLLOW) == 0 ? (int)st.st_size : 1;
}

static void write_request(char *request, size_t size, const struct je_settings *set,
			  const char *how, const char *name, int pipe, int most_ms)
{
	snprintf(request, size, "run_dir %s\nconfig %s\nsender %s\npipe %d\nmost_ms %d\n%s %s\n",
		 JE_NOTES_DIR, set->config, set->sender, pipe, most_ms, how, name);
}

/* Folds one directory, and ships its report; false: not all of that was done. */
static bool fold_and_ship(const struct je_settings *set, int run, const char *name, int most_ms)
{
	static char fold[JE_TEXT * 4], ship[JE_TEXT * 4];
	int dir = lock_waiting(run, name), ends[2];
	const char *how = "fold";

	if (dir < 0)
		return true;
	if (count_try(dir) > JE_TRIES)
		how = "give_up";
	else if (je_ranks_empty(dir)) {
		write_request(fold, sizeof(fold), set, how, name, -1, most_ms);
		return je_bodies_run(set, &(struct je_body){ "jobeff_body_light", fold, -1 }, 1,
				     most_ms);
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	write_request(fold, sizeof(fold), set, how, name, ends[1], most_ms);
	write_request(ship, sizeof(ship), set, how, name, ends[0], most_ms);
	return je_bodies_run(set,
			     (const struct je_body[]){ { "jobeff_body_fold", fold, ends[1] },
						       { "jobeff_body_ship", ship, ends[0] } },
			     2, most_ms);
}

/* Folds the waiting directories whose names begin with `prefix`, each in its own time; false: not
 * all of that was done. */
static bool fold_waiting(const struct je_settings *set, int run, const char *prefix, int most_ms)
{
	struct waiting w = { 0 };
	uint64_t began_ns = je_clock_ns(CLOCK_MONOTONIC);
	bool well = true;

	list_waiting(run, prefix, &w);
	for (int i = 0; i < w.n; i++) {
		if (i > 0 && je_clock_ns(CLOCK_MONOTONIC) - began_ns > JE_MORE_MS * 1000000ull)
			break;
		well = fold_and_ship(set, run, w.names[i], most_ms) && well;
	}
	return well;
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
	if (fold_waiting(set, run, own, JE_EPILOG_MS))
		fold_waiting(set, run, JE_DONE, JE_OTHERS_MS);
	close(run);
}
