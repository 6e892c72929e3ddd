/* files.h: small readers of files and of the kernel, without heap memory and without stdio. */
#ifndef JOBEFF_FILES_H
#define JOBEFF_FILES_H

#include <sys/resource.h>

#include "jobeff.h"

#pragma GCC visibility push(hidden)

struct je_file {
	bool regular;
	uint32_t uid;
	uint64_t bytes;
};

/* Does what fstat does. The symbol fstat itself is newer than glibc 2.17. */
bool je_file_look(int fd, struct je_file *file);

/* Reads at most room - 1 bytes and adds a zero. Returns their number; -1: the file cannot be
 * read. */
int je_read_text(const char *path, char *to, size_t room);

/* The number at the beginning of a text that the kernel wrote. atoi would do, but from glibc 2.38
 * on it becomes a symbol that older ones lack. */
int je_decimal(const char *text);

bool je_random(void *to, size_t bytes);

/* Whether the process may write a file up to byte `end`. A write past RLIMIT_FSIZE would kill
 * the process. */
static inline bool je_may_write(uint64_t end)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= end);
}

#pragma GCC visibility pop

#endif
