/* recordfile.c: finds, makes and opens the record file.
 *
 * In a job, root has made the file (JOBEFF_RECORD_FILE). Without Slurm (JOBEFF_RECORD), the library
 * makes it if it does not exist. The file is closed again at once, so the program has no more open
 * files than before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../record/make.h"
#include "files.h"

static char record_path[4096];
static bool by_hand;

/* Copies `pattern` as an absolute path, with the host's name for %h. It must be absolute because
 * a thread may claim a slot after a chdir. */
static bool set_path(const char *pattern)
{
	size_t n = 0;
	char host[64] = "";

	if (pattern[0] != '/') {
		if (getcwd(record_path, sizeof(record_path) - 1) == NULL)
			return false;
		n = strlen(record_path);
		record_path[n++] = '/';
	}
	if (gethostname(host, sizeof(host) - 1) != 0)
		return false;
	for (const char *p = pattern; *p != '\0'; p++) {
		const char *from = p[0] == '%' && p[1] == 'h' ? host : p;
		size_t length = from == host ? strlen(host) : 1;

		if (n + length >= sizeof(record_path))
			return false;
		memcpy(record_path + n, from, length);
		n += length;
		p += from == host;
	}
	record_path[n] = '\0';
	return true;
}

static bool wanted(void)
{
	const char *wish = getenv("JOBEFF");

	return getauxval(AT_SECURE) == 0 && (wish == NULL || strcmp(wish, "off") != 0);
}

/* Reads the record's path from the environment. False: the environment names none or says
 * JOBEFF=off, or the program is setuid. */
JE_COLD bool je_record_find(void)
{
	const char *path = getenv("JOBEFF_RECORD_FILE");

	if (!wanted())
		return false;
	if (path == NULL || path[0] == '\0') {
		path = getenv("JOBEFF_RECORD");
		by_hand = true;
	}
	return path != NULL && path[0] != '\0' && set_path(path);
}

static bool write_head(int fd)
{
	static const char empty[JE_HEAD_BYTES];
	struct je_head head;
	uint8_t nonce[sizeof(head.nonce)];

	if (!je_random(nonce, sizeof(nonce)) ||
	    !je_head_make(&head, JE_FILE_BYTES_DEFAULT, geteuid(), nonce))
		return false;
	head.by_hand = 1;
	/* the whole page: a process that maps it then needs no new memory */
	return pwrite(fd, empty, JE_HEAD_BYTES, 0) == JE_HEAD_BYTES &&
	       pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head);
}

/* Makes the whole file under another name and then links it. If several processes do so, one of
 * them wins, and nobody sees half a file. */
static void make_file(void)
{
	char temporary[sizeof(record_path) + 32];
	uint64_t random;

	if (!je_may_write(JE_FILE_BYTES_DEFAULT) || !je_random(&random, sizeof(random)))
		return;
	snprintf(temporary, sizeof(temporary), "%s.%llx", record_path, (unsigned long long)random);

	int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (ftruncate(fd, JE_FILE_BYTES_DEFAULT) == 0 && write_head(fd))
		if (link(temporary, record_path) != 0 && errno != EEXIST)
			syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, record_path, 1);
	unlink(temporary);
	close(fd);
}

static bool fits(const struct je_head *head, uint64_t bytes)
{
	uint8_t boot_id[sizeof(head->boot_id)];

	return memcmp(head->magic, JE_MAGIC, sizeof(head->magic)) == 0 &&
	       head->version == JE_VERSION && head->head_bytes == JE_HEAD_BYTES &&
	       head->slot_bytes == JE_SLOT_BYTES && bytes >= JE_HEAD_BYTES &&
	       head->slots <= (bytes - JE_HEAD_BYTES) / JE_SLOT_BYTES && je_boot_id(boot_id) &&
	       memcmp(boot_id, head->boot_id, sizeof(boot_id)) == 0;
}

/* Opens the record for writing. -1: the file is no record, of another boot, or owned by somebody
 * else than root and this user. A file that is no record is read, never written. */
int je_record_open(struct je_head *head)
{
	struct je_file file;
	int fd = open(record_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (je_file_look(fd, &file) && file.regular && (file.uid == 0 || file.uid == geteuid()) &&
	    pread(fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) && fits(head, file.bytes))
		return fd;
	close(fd);
	return -1;
}

/* Opens the record (*fd) and maps its head; NULL: there is no record. */
struct je_head *je_record_map(int *fd)
{
	struct je_head look, *head;

	*fd = je_record_open(&look);
	if (*fd < 0 && by_hand && errno == ENOENT) {
		make_file();
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

void je_record_unmap(struct je_head *head, int fd)
{
	munmap(head, sizeof(*head));
	close(fd);
}

/* Adds one to the counter that lies `at` bytes into the head. */
void je_record_count(size_t at)
{
	int fd;
	struct je_head *head = je_record_map(&fd);

	if (head == NULL)
		return;
	__atomic_fetch_add((uint32_t *)((char *)head + at), 1, __ATOMIC_RELAXED);
	je_record_unmap(head, fd);
}
