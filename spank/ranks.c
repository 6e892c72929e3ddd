/* ranks.c: the record file of a job on this node.
 *
 * The prolog makes the whole file, head and length, and gives it to the user at last. The user may
 * fill the file, and may replace it: what is read of it is theirs anyway.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../preload/record/make.h"
#include "jobeff_spank.h"

/* How many bytes the site allows. The prolog noted it. */
static uint64_t allowed_bytes(int dir)
{
	char job[JE_TEXT], value[24];
	uint64_t bytes;

	if (!je_text_read(dir, "job", job, sizeof(job)) ||
	    !je_text_value(job, "record_bytes", value, sizeof(value)))
		return JE_FILE_BYTES_DEFAULT;
	bytes = strtoull(value, NULL, 10);
	return bytes < JE_HEAD_BYTES + JE_SLOT_BYTES ? JE_FILE_BYTES_DEFAULT : bytes;
}

static bool head_of(int dir, uid_t uid, struct je_head *head)
{
	char job[JE_TEXT], hex[JE_HEX];
	uint8_t nonce[sizeof(head->nonce)];

	return je_text_read(dir, "job", job, sizeof(job)) &&
	       je_text_value(job, "nonce", hex, sizeof(hex)) && je_unhex(hex, nonce) &&
	       je_head_make(head, allowed_bytes(dir), uid, nonce);
}

static bool write_file(int fd, const struct je_head *head)
{
	off_t size = (off_t)head->head_bytes + (off_t)head->slots * head->slot_bytes;

	/* the head's page gets memory now: a rank that maps it must not get SIGBUS */
	if (posix_fallocate(fd, 0, JE_HEAD_BYTES) != 0 || ftruncate(fd, size) < 0)
		return false;
	if (pwrite(fd, head, sizeof(*head), 0) != (ssize_t)sizeof(*head))
		return false;
	return fchown(fd, head->uid, (gid_t)-1) == 0;
}

static bool make_file(int dir, uid_t uid)
{
	struct je_head head;
	bool done;
	int fd;

	if (!head_of(dir, uid, &head))
		return false;
	unlinkat(dir, JE_RANKS, 0); /* of a prolog that was killed */
	fd = openat(dir, JE_RANKS, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	done = write_file(fd, &head);
	close(fd);
	return done;
}

/* Whether the record is there. It belongs to the user as soon as it is complete. */
bool je_ranks_ready(int dir, uid_t uid)
{
	struct stat st;

	return fstatat(dir, JE_RANKS, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == uid;
}

/* Makes the record, unless it is there; if that fails, says why. What a running job's record takes
 * is charged to the job's memory. What ended jobs left may come to one more record, and no more.
 * Several steps may come at once: `dir` stays locked until it is closed. */
bool je_ranks_prepare(int run, int dir, const struct je_ids *ids, char *why, size_t size)
{
	uint64_t bytes = allowed_bytes(dir), held;

	flock(dir, LOCK_EX);
	if (je_ranks_ready(dir, ids->uid))
		return true;
	held = je_recordfs_held(run, ids->uid);
	if (held > bytes) {
		snprintf(why, size,
			 "earlier jobs of this user still hold %llu MiB of records on this node: "
			 "end the processes that outlived them",
			 (unsigned long long)held >> 20);
		return false;
	}
	if (je_recordfs_mount(dir, ids, bytes) && je_jobdir_admit(dir, ids->uid) &&
	    make_file(dir, ids->uid))
		return true;
	snprintf(why, size, "the record could not be made: %s", strerror(errno));
	return false;
}

/* Whether the record is empty or missing. A user who falsifies this hides only their own figures.
 * That of a job that began under an earlier version lies beside root's notes. */
bool je_ranks_empty(int dir)
{
	struct je_head h;
	ssize_t n;
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(dir, JE_RANKS, flags);

	if (fd < 0 && errno == ENOENT)
		fd = openat(dir, "ranks", flags);
	if (fd < 0)
		return errno == ENOENT;
	n = pread(fd, &h, sizeof(h), 0);
	close(fd);
	return n == (ssize_t)sizeof(h) && memcmp(h.magic, JE_MAGIC, sizeof(h.magic)) == 0 &&
	       h.next == 0 && h.lost_full == 0 && h.lost_memory == 0 && h.lost_sections == 0 &&
	       h.lost_static == 0 && h.lost_preload == 0;
}
