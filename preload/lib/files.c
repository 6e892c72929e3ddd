/* files.c: small readers of files and of the kernel. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"

bool je_file_look(int fd, struct je_file *file)
{
	struct stat st; /* the kernel's and the C library's are the same on 64-bit machines */

	if (syscall(SYS_fstat, fd, &st) != 0)
		return false;
	file->regular = S_ISREG(st.st_mode);
	file->uid = st.st_uid;
	file->bytes = (uint64_t)st.st_size;
	return true;
}

int je_read_text(const char *path, char *to, size_t room)
{
	size_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	while (n + 1 < room) {
		ssize_t got = read(fd, to + n, room - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(fd);
	to[n] = '\0';
	return (int)n;
}

int je_decimal(const char *text)
{
	int n = 0;

	for (; *text >= '0' && *text <= '9' && n < INT_MAX / 10; text++)
		n = 10 * n + (*text - '0');
	return n;
}

bool je_random(void *to, size_t bytes)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, to, bytes);

	if (fd >= 0)
		close(fd);
	return got == (ssize_t)bytes;
}
