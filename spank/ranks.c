/* ranks.c: the record file of a job on this node.
 *
 * The prolog makes the whole file, head and length, and gives it to the user last. The user may
 * fill the file with anything: what is read of it is theirs anyway. Root reaches it by a mount of
 * its own (recordfs.c), so the file is always the one that was made here.
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

#define JE_HELD_MOST 16 /* records of ended jobs, each with a mount */

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
	return pwrite(fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head);
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

/* Whether the record is there. It belongs to the user as soon as it is complete and shown. */
bool je_ranks_ready(int dir, uid_t uid)
{
	struct stat st;

	return fstatat(dir, JE_RANKS, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == uid;
}

/* Makes the record, unless it is there; if that fails, says why. What a running job's record takes
 * is charged to the job's memory. What ended jobs left is limited to the bytes of one more record,
 * and to JE_HELD_MOST mounts. Several steps may come at once: `dir` stays locked until it is
 * closed. */
bool je_ranks_prepare(int run, int dir, const struct je_ids *ids, char *why, size_t size)
{
	uint64_t bytes = allowed_bytes(dir);
	struct je_held held;

	flock(dir, LOCK_EX);
	if (je_ranks_ready(dir, ids->uid))
		return true;
	held = je_recordfs_held(run, ids->uid);
	if (held.bytes > bytes || held.records >= JE_HELD_MOST) {
		snprintf(
			why, size,
			"earlier jobs of this user still hold records on this node (%u, %llu MiB): "
			"end the processes that outlived them",
			held.records, (unsigned long long)held.bytes >> 20);
		return false;
	}
	if (je_recordfs_mount(dir, ids, bytes) && make_file(dir, ids->uid) &&
	    je_recordfs_show(ids) &&
	    fchownat(dir, JE_RANKS, ids->uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	snprintf(why, size, "the record could not be made: %s", strerror(errno));
	return false;
}

/* Whether the record is empty or missing. A user who falsifies this hides only their own figures.
 */
bool je_ranks_empty(int dir)
{
	struct je_head h;
	ssize_t n;
	int fd = openat(dir, JE_RANKS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT;
	n = pread(fd, &h, sizeof(h), 0);
	close(fd);
	return n == (ssize_t)sizeof(h) && memcmp(h.magic, JE_MAGIC, sizeof(h.magic)) == 0 &&
	       h.next == 0 && h.lost_full == 0 && h.lost_memory == 0 && h.lost_sections == 0 &&
	       h.lost_static == 0 && h.lost_preload == 0 && h.lost_unseen == 0 && h.lost_stub == 0;
}
