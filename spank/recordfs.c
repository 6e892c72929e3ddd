/* recordfs.c: the file system that holds a job's record and nothing else, <job>/record/.
 *
 * The user owns the record. They may write past its end, or keep it open when the job is over. So
 * it lies on a small tmpfs of its own, which the prolog mounts: one user's record takes no room
 * from root's notes or from another user's record. When the job's report is safe, ingest/node
 * unmounts it, unless a process still holds the record. What a user holds in this way is counted
 * here, and limited. Only the user may enter the tmpfs: with O_PATH, anybody who can name a file
 * can hold it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "jobeff_spank.h"

/* Opens the root of the mounted tmpfs; -1: none is mounted. */
static int open_mounted(int dir)
{
	int fd = openat(dir, JE_RECORD_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat outer, inner;

	if (fd < 0)
		return -1;
	if (fstat(dir, &outer) == 0 && fstat(fd, &inner) == 0 && outer.st_dev != inner.st_dev)
		return fd;
	close(fd);
	return -1;
}

/* Mounts the tmpfs, unless an earlier prolog did. False: errno says why not. */
bool je_recordfs_mount(int dir, const struct je_ids *ids, uint64_t bytes)
{
	char path[64], options[96];
	int fd = open_mounted(dir);

	if (fd >= 0) {
		close(fd);
		return true;
	}
	if (mkdirat(dir, JE_RECORD_DIR, 0711) < 0 && errno != EEXIST)
		return false;
	snprintf(path, sizeof(path), JE_RUN_DIR "/%u/" JE_RECORD_DIR, ids->job_id);
	snprintf(options, sizeof(options), "size=%llu,nr_inodes=8,mode=0700,uid=%u",
		 (unsigned long long)bytes, ids->uid);
	return mount("jobeff", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0;
}

/* How many bytes an ended job's record takes. If its report is safe and only a process holds it, it
 * counts with all that it may still become. */
static uint64_t bytes_of(int dir, bool report_is_safe)
{
	int fd = open_mounted(dir);
	struct statfs fs;
	bool is_read;

	if (fd < 0)
		return 0;
	is_read = fstatfs(fd, &fs) == 0;
	close(fd);
	if (!is_read || fs.f_files - fs.f_ffree <= 1) /* its root directory alone */
		return 0;
	return (report_is_safe ? fs.f_blocks : fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

static bool belongs_to(int dir, uid_t uid)
{
	char text[JE_TEXT], owner[16];

	return je_text_read(dir, "job", text, sizeof(text)) &&
	       je_text_value(text, "uid", owner, sizeof(owner)) && strtoul(owner, NULL, 10) == uid;
}

/* How many bytes the records of a user's ended jobs still take. */
uint64_t je_recordfs_held(int run, uid_t uid)
{
	DIR *d = fdopendir(dup(run));
	uint64_t held = 0;
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		bool safe = strncmp(e->d_name, JE_GONE, strlen(JE_GONE)) == 0;
		uint64_t bytes;
		int dir;

		if (!safe && strncmp(e->d_name, JE_DONE, strlen(JE_DONE)) != 0)
			continue;
		dir = openat(run, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0)
			continue;
		bytes = bytes_of(dir, safe);
		held += bytes > 0 && belongs_to(dir, uid) ? bytes : 0;
		close(dir);
	}
	if (d != NULL)
		closedir(d);
	return held;
}
