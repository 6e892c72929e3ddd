/* text.c: lines `key value` and random names, for the files in a job's directory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../preload/record/make.h"
#include "jobeff_spank.h"

/* Reads up to size-1 bytes of dir/name and adds a zero; false: it cannot be read, or is no file. */
bool je_text_read(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;

	text[0] = '\0';
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, text, size - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n >= 0;
}

/* Finds the value of the first line `key value`; false: there is none, or it is too long. */
bool je_text_value(const char *text, const char *key, char *value, size_t size)
{
	size_t k = strlen(key);

	for (const char *line = text; *line != '\0';) {
		const char *end = strchrnul(line, '\n');

		if ((size_t)(end - line) > k && strncmp(line, key, k) == 0 && line[k] == ' ') {
			size_t n = (size_t)(end - line) - k - 1;

			if (n >= size)
				return false;
			memcpy(value, line + k + 1, n);
			value[n] = '\0';
			return true;
		}
		line = *end != '\0' ? end + 1 : end;
	}
	return false;
}

/* Appends with one write, so that lines from several processes do not mix. A user can start any
 * number of steps, so a file grows to JE_NOTES_MOST only, which is what ingest/node reads. */
bool je_append(int dir, const char *name, const char *text, size_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size < JE_NOTES_MOST)
		n = write(fd, text, size);
	close(fd);
	return n == (ssize_t)size;
}

/* Replaces control characters: a value must not begin a new line or control a terminal. */
void je_clean(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void to_hex(const uint8_t *bytes, size_t n, char *hex)
{
	for (size_t i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
}

bool je_random_hex(char hex[JE_HEX])
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return false;
	to_hex(bytes, sizeof(bytes), hex);
	return true;
}

/* The kernel's boot id without its dashes. */
bool je_boot_hex(char hex[JE_HEX])
{
	uint8_t id[16];

	if (!je_boot_id(id))
		return false;
	to_hex(id, sizeof(id), hex);
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool je_unhex(const char *hex, uint8_t bytes[16])
{
	if (strlen(hex) != JE_HEX - 1)
		return false;
	for (int i = 0; i < 16; i++) {
		int high = hex_digit(hex[2 * (size_t)i]), low = hex_digit(hex[2 * (size_t)i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
