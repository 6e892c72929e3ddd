/* slot.c: the record file, and claiming room in it.
 *
 * In a job root has made the file (JOBEFF_RECORD_FILE); by hand it is made here where it
 * does not exist (JOBEFF_RECORD). It is closed again at once: a program sees no further
 * open file. Whatever fails ends in "no slot", and measuring stays off.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../record/make.h"
#include "files.h"

static char je_path[4096];
static bool je_by_hand;

/* Copies `pattern` with %h as the host's name, absolute: a thread may claim after chdir. */
static bool je_path_set(const char *pattern)
{
	size_t n = 0;
	char host[64] = "";

	if (pattern[0] != '/') {
		if (getcwd(je_path, sizeof(je_path) - 1) == NULL)
			return false;
		n = strlen(je_path);
		je_path[n++] = '/';
	}
	if (gethostname(host, sizeof(host) - 1) != 0)
		return false;
	for (const char *p = pattern; *p != '\0'; p++) {
		const char *from = p[0] == '%' && p[1] == 'h' ? host : p;
		size_t length = from == host ? strlen(host) : 1;

		if (n + length >= sizeof(je_path))
			return false;
		memcpy(je_path + n, from, length);
		n += length;
		p += from == host;
	}
	je_path[n] = '\0';
	return true;
}

/* Reads where the record is; false: the environment names none. */
JE_COLD bool je_record_find(void)
{
	const char *path = getenv("JOBEFF_RECORD_FILE");

	if (path == NULL || path[0] == '\0') {
		path = getenv("JOBEFF_RECORD");
		je_by_hand = true;
	}
	return path != NULL && path[0] != '\0' && je_path_set(path);
}

/* Growing a file, or writing, past RLIMIT_FSIZE would kill the process. */
bool je_may_write(uint64_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= end);
}

static bool je_head_write(int fd)
{
	static const char empty[JE_HEAD_BYTES];
	struct je_head head;
	uint8_t nonce[sizeof(head.nonce)];

	if (!je_random(nonce, sizeof(nonce)) ||
	    !je_head_make(&head, JE_FILE_BYTES_DEFAULT, geteuid(), nonce))
		return false;
	head.by_hand = 1;
	/* the whole page, so that the map of it needs no new memory */
	return pwrite(fd, empty, JE_HEAD_BYTES, 0) == JE_HEAD_BYTES &&
	       pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head);
}

/* Makes the file whole under another name and then links it: of several processes one
 * wins, and nobody sees half a file. */
static void je_make(void)
{
	char temporary[sizeof(je_path) + 32];
	uint64_t random;

	if (!je_may_write(JE_FILE_BYTES_DEFAULT) || !je_random(&random, sizeof(random)))
		return;
	snprintf(temporary, sizeof(temporary), "%s.%llx", je_path, (unsigned long long)random);

	int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (ftruncate(fd, JE_FILE_BYTES_DEFAULT) == 0 && je_head_write(fd))
		if (link(temporary, je_path) != 0 && errno != EEXIST)
			syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, je_path, 1);
	unlink(temporary);
	close(fd);
}

static bool je_head_fits(const struct je_head *head, uint64_t bytes)
{
	uint8_t boot_id[sizeof(head->boot_id)];

	return memcmp(head->magic, JE_MAGIC, sizeof(head->magic)) == 0 &&
	       head->version == JE_VERSION && head->head_bytes == JE_HEAD_BYTES &&
	       head->slot_bytes == JE_SLOT_BYTES && bytes >= JE_HEAD_BYTES &&
	       head->slots <= (bytes - JE_HEAD_BYTES) / JE_SLOT_BYTES && je_boot_id(boot_id) &&
	       memcmp(boot_id, head->boot_id, sizeof(boot_id)) == 0;
}

/* Opens the record if it is one, of this boot, root's or ours; -1 else. A file that is not
 * a record is only read. */
int je_record_open(struct je_head *head)
{
	struct je_file file;
	int fd = open(je_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (je_file_look(fd, &file) && file.regular && (file.uid == 0 || file.uid == geteuid()) &&
	    pread(fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) &&
	    je_head_fits(head, file.bytes))
		return fd;
	close(fd);
	return -1;
}

/* Backs the slot with memory: a full file system is ENOSPC here, SIGBUS at a later store.
 * Where fallocate is not known, zeros do it. */
static bool je_back(int fd, uint64_t at)
{
	static const char zeros[4096];

	for (int i = 0; i < 10; i++) {
		if (fallocate(fd, 0, (off_t)at, JE_SLOT_BYTES) == 0)
			return true;
		if (errno == EOPNOTSUPP || errno == ENOSYS)
			break;
		if (errno != EINTR)
			return false;
	}
	if (!je_may_write(at + JE_SLOT_BYTES))
		return false;
	for (uint64_t done = 0; done < JE_SLOT_BYTES; done += sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), (off_t)(at + done)) != sizeof(zeros))
			return false;
	return true;
}

/* Maps the slot alone. Pages may be larger than the head's 4 KiB: the map starts at the
 * page that the slot starts in. */
void *je_slot_map(int fd, uint64_t at)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before = at % page;
	void *map = mmap(NULL, JE_SLOT_BYTES + before, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (off_t)(at - before));

	return map == MAP_FAILED ? NULL : (char *)map + before;
}

void je_slot_unmap(void *slot)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before = (uintptr_t)slot % page;

	munmap((char *)slot - before, JE_SLOT_BYTES + before);
}

/* Takes a free slot, zeroed; NULL: there is none, or no memory for it. */
void *je_slot_take(int fd, struct je_head *head, uint32_t *index)
{
	if (!je_reuse_take(head, index)) {
		if (__atomic_load_n(&head->next, __ATOMIC_RELAXED) >= head->slots)
			return NULL;
		*index = __atomic_fetch_add(&head->next, 1, __ATOMIC_RELAXED);
	}

	uint64_t at = JE_HEAD_BYTES + (uint64_t)*index * JE_SLOT_BYTES;

	return *index < head->slots && je_back(fd, at) ? je_slot_map(fd, at) : NULL;
}

/* Sections may not take the last quarter from the processes that are still to come. */
static struct je_slot *je_take(int fd, struct je_head *head, bool for_sections, uint32_t *index)
{
	struct je_slot *slot = NULL;
	uint32_t most = for_sections ? head->slots - head->slots / 4 : head->slots;
	uint32_t *full = for_sections ? &head->lost_sections : &head->lost_full;
	uint32_t *no_memory = for_sections ? &head->lost_sections : &head->lost_memory;

	if (!je_reuse_take(head, index)) {
		je_reuse_pack(fd, head);
		if (!je_reuse_take(head, index))
			*index = __atomic_load_n(&head->next, __ATOMIC_RELAXED) < most
					 ? __atomic_fetch_add(&head->next, 1, __ATOMIC_RELAXED)
					 : head->slots;
	}
	if (*index >= head->slots) {
		__atomic_fetch_add(full, 1, __ATOMIC_RELAXED);
		return NULL;
	}

	uint64_t at = JE_HEAD_BYTES + (uint64_t)*index * JE_SLOT_BYTES;

	if (je_back(fd, at))
		slot = je_slot_map(fd, at);
	if (slot == NULL)
		__atomic_fetch_add(no_memory, 1, __ATOMIC_RELAXED);
	return slot;
}

/* Opens the record and maps its head, *fd is the file; NULL: there is none. */
static struct je_head *je_head_open(int *fd)
{
	struct je_head look, *head;

	*fd = je_record_open(&look);
	if (*fd < 0 && je_by_hand && errno == ENOENT) {
		je_make();
		*fd = je_record_open(&look);
	}
	if (*fd < 0)
		return NULL;
	head = mmap(NULL, sizeof(*head), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (head == MAP_FAILED) {
		close(*fd);
		return NULL;
	}
	return head;
}

static struct je_slot *je_claim(uint32_t *index, bool for_sections)
{
	struct je_slot *slot;
	int fd;
	struct je_head *head = je_head_open(&fd);

	if (head == NULL)
		return NULL;
	slot = je_take(fd, head, for_sections, index);
	munmap(head, sizeof(*head));
	close(fd);
	return slot;
}

/* Counts this process as one that could not be measured. */
JE_COLD void je_slot_uncovered(void)
{
	int fd;
	struct je_head *head = je_head_open(&fd);

	if (head == NULL)
		return;
	__atomic_fetch_add(&head->lost_static, 1, __ATOMIC_RELAXED);
	munmap(head, sizeof(*head));
	close(fd);
}

/* Claims a slot of the record, zeroed; NULL: there is none to be had. */
JE_COLD struct je_slot *je_slot_claim(uint32_t *index)
{
	return je_claim(index, false);
}

/* The same for sections: the slots of processes come first. */
JE_COLD struct je_slot *je_slot_claim_spare(uint32_t *index)
{
	return je_claim(index, true);
}
