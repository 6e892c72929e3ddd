/* ranks.c: the record file of a job on this node.
 *
 * Root makes the whole file (head and length) under another name and links it into place. If
 * several steps start at once, one of them makes it and all find it. The user may fill the file.
 * They cannot add links or files beside it, because only root can write in the directory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../preload/record/make.h"
#include "jobeff_spank.h"

#define JE_FILE_BYTES_MOST (1ull << 32)

/* How many bytes the site allows. The prolog noted it. */
static uint64_t allowed_bytes(const char *job)
{
	char value[24];
	uint64_t bytes;

	if (!je_text_value(job, "record_bytes", value, sizeof(value)))
		return JE_FILE_BYTES_DEFAULT;
	bytes = strtoull(value, NULL, 10);
	if (bytes < JE_HEAD_BYTES + JE_SLOT_BYTES || bytes > JE_FILE_BYTES_MOST)
		return JE_FILE_BYTES_DEFAULT;
	return bytes;
}

static bool head_of(const char *job, uid_t uid, struct je_head *head)
{
	char hex[JE_HEX];
	uint8_t nonce[sizeof(head->nonce)];

	return je_text_value(job, "nonce", hex, sizeof(hex)) && je_unhex(hex, nonce) &&
	       je_head_make(head, allowed_bytes(job), uid, nonce);
}

static bool write_file(int fd, const struct je_head *head, const struct je_ids *ids)
{
	off_t size = (off_t)head->head_bytes + (off_t)head->slots * head->slot_bytes;

	/* the head's page gets memory now: a rank that maps it must not get SIGBUS */
	if (posix_fallocate(fd, 0, JE_HEAD_BYTES) != 0 || ftruncate(fd, size) < 0)
		return false;
	if (pwrite(fd, head, sizeof(*head), 0) != (ssize_t)sizeof(*head))
		return false;
	return fchmod(fd, 0600) == 0 && fchown(fd, ids->uid, ids->gid) == 0;
}

/* Makes dir/ranks if it is not there; false: it is not there after all. */
bool je_ranks_make(int dir, const struct je_ids *ids)
{
	char job[JE_TEXT], fresh[48], hex[JE_HEX];
	struct je_head head;
	struct stat st;
	bool done = false;
	int fd;

	if (fstatat(dir, "ranks", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISREG(st.st_mode);
	if (!je_text_read(dir, "job", job, sizeof(job)) || !head_of(job, ids->uid, &head) ||
	    !je_random_hex(hex))
		return false;
	snprintf(fresh, sizeof(fresh), ".ranks-%s", hex);
	fd = openat(dir, fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	if (write_file(fd, &head, ids))
		done = linkat(dir, fresh, dir, "ranks", 0) == 0 || errno == EEXIST;
	unlinkat(dir, fresh, 0);
	close(fd);
	return done;
}

/* Whether dir/ranks is empty or missing. A user who falsifies this hides only their own figures. */
bool je_ranks_empty(int dir)
{
	struct je_head h;
	ssize_t n;
	int fd = openat(dir, "ranks", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT;
	n = pread(fd, &h, sizeof(h), 0);
	close(fd);
	return n == (ssize_t)sizeof(h) && memcmp(h.magic, JE_MAGIC, sizeof(h.magic)) == 0 &&
	       h.next == 0 && h.lost_full == 0 && h.lost_memory == 0 && h.lost_sections == 0 &&
	       h.lost_static == 0 && h.lost_preload == 0;
}
