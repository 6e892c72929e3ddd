/* recordfs.c: the file system that holds a job's record and nothing else.
 *
 * The user owns the record. They may write past its end, or keep it open when the job is over. So
 * it lies on a small tmpfs of its own, which the prolog mounts: one user's record takes no room
 * from root's notes or from another user's record. Its root directory is root's, so nobody makes
 * a file beside the record, gives the directory an access list, or mounts over it.
 *
 * The tmpfs is mounted twice. The user reaches the record by /run/jobeff/<job>/, and may mount a
 * file system of theirs over it (fusermount3 agrees, since they own the file). Root reaches it by
 * /run/jobeff/notes/<job>/record/. That mount is private and nobody else can reach it, so what a
 * user mounts is never in root's way.
 *
 * When the job's report is safe, ingest/node unmounts both, unless a process still holds the
 * record. What a user holds in this way is counted here, and limited.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
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

/* Lets the job's user pass to the record. Nobody else may: with O_PATH, whoever can name it can
 * hold it, and it would count for its owner. If there are no access lists, the user's group may
 * pass. */
static bool admit(int root, const struct je_ids *ids)
{
	const uint32_t none = (uint32_t)ACL_UNDEFINED_ID;
	const struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entries[5];
	} list = { { POSIX_ACL_XATTR_VERSION },
		   { { ACL_USER_OBJ, ACL_READ | ACL_WRITE | ACL_EXECUTE, none },
		     { ACL_USER, ACL_EXECUTE, ids->uid },
		     { ACL_GROUP_OBJ, 0, none },
		     { ACL_MASK, ACL_EXECUTE, none },
		     { ACL_OTHER, 0, none } } };

	if (fsetxattr(root, "system.posix_acl_access", &list, sizeof(list), 0) == 0)
		return true;
	if (ids->gid == 0) /* not known */
		return fchmod(root, 0711) == 0;
	return fchown(root, (uid_t)-1, ids->gid) == 0 && fchmod(root, 0710) == 0;
}

static void roots_path(char *path, size_t size, uint32_t job_id)
{
	snprintf(path, size, JE_NOTES_DIR "/%u/" JE_RECORD_DIR, job_id);
}

/* Mounts the tmpfs where root reaches it, unless an earlier prolog did. False: errno says why not.
 */
bool je_recordfs_mount(int dir, const struct je_ids *ids, uint64_t bytes)
{
	char path[64], options[96];
	int root = open_mounted(dir);
	bool done;

	if (root < 0) {
		if (mkdirat(dir, JE_RECORD_DIR, 0700) < 0 && errno != EEXIST)
			return false;
		roots_path(path, sizeof(path), ids->job_id);
		snprintf(options, sizeof(options), "size=%llu,nr_inodes=8,mode=0700",
			 (unsigned long long)bytes);
		if (mount("jobeff", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
			return false;
		root = open_mounted(dir);
	}
	done = root >= 0 && admit(root, ids);
	if (root >= 0)
		close(root);
	return done;
}

/* Mounts the tmpfs once more, where the user reaches it. Root's own mount must be private by then:
 * else what is mounted on the user's would appear on root's, too. An epilog that is late with an
 * earlier attempt of the job may remove the directory at the same moment, so this tries again. */
bool je_recordfs_show(const struct je_ids *ids)
{
	char from[64], to[32];

	roots_path(from, sizeof(from), ids->job_id);
	snprintf(to, sizeof(to), JE_RUN_DIR "/%u", ids->job_id);
	if (mount(NULL, from, NULL, MS_PRIVATE, NULL) < 0)
		return false;
	for (int i = 0; i < 3; i++) {
		if (mkdir(to, 0700) < 0 && errno != EEXIST)
			return false;
		if (mount(from, to, NULL, MS_BIND, NULL) == 0)
			return true;
	}
	return false;
}

/* How many bytes an ended job's record takes. If its report is safe and only a process holds it, it
 * counts with its full size: the process may still fill it. */
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

/* What the records of a user's ended jobs still take: bytes, and their number, since each takes a
 * mount and some inodes. */
struct je_held je_recordfs_held(int run, uid_t uid)
{
	DIR *d = fdopendir(dup(run));
	struct je_held held = { 0 };
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
		/* if an epilog is removing it, and so holds the lock, only its used bytes count */
		bytes = bytes_of(dir, safe && flock(dir, LOCK_SH | LOCK_NB) == 0);
		if (bytes > 0 && belongs_to(dir, uid)) {
			held.bytes += bytes;
			held.records++;
		}
		close(dir);
	}
	if (d != NULL)
		closedir(d);
	return held;
}
