/* workload.c: hashes the arguments and the files that they name. Runs with the same hashes do
 * the same work.
 *
 * Rank 0 does this once, before MPI_Init returns. The fold counts its time as part of MPI_Init.
 * The launchers (orted, hydra, srun) add nothing to a rank's own command line. Only hashes
 * leave the process, unless the site or the user wants the arguments' text.
 *
 * All of it takes at most JE_WORKLOAD_NS, unless a system call waits. A file system that hangs
 * here would hang the program anyway, when it opens the file that it was given.
 *
 * The program must not notice:
 * - Each file is first looked at without opening it (O_PATH). So no FIFO, device or file of
 *   /proc is ever opened.
 * - If the program has a file open, it is read through the program's own descriptor, with
 *   pread, which leaves the offset alone. Closing a descriptor of our own would drop the
 *   program's POSIX locks.
 * - System calls are made directly, because other preloaded libraries count a program's files.
 *
 * An output is no input: it changes from run to run. Nobody can know in advance which files a
 * program will write. Files after -o, -out…, -log… and files open for writing only are taken
 * for outputs. If an output is missed, runs of the same work look different and are not
 * compared.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "hash.h"
#include "ticks.h"

#ifndef JE_WORKLOAD_NS
#define JE_WORKLOAD_NS 50000000ull
#endif
#ifndef JE_FUSE_MAGIC
#define JE_FUSE_MAGIC 0x65735546 /* some linux/magic.h lack it */
#endif

enum {
	JE_LINE_MOST = 64 << 10, /* bytes of a command line that are read */
	JE_READ_MOST = 64 << 10, /* bytes read between two looks at the clock */
	JE_PARTS = 4,		 /* parts that are read of a file larger than all of them */
	JE_OPEN_MOST = 4096,	 /* descriptors of the program that are looked at */
};

/* Not on the stack: a program may have given its thread a small one. What is always written comes
 * first: behind the buffers it would cost each rank a page. */
static struct {
	uint64_t until_ns;
	char line[JE_LINE_MOST];
	uint8_t block[JE_READ_MOST];
} work;

/* a file's identity, size and kind */
struct seen {
	uint64_t device, inode, bytes;
	bool regular;
};

/* how the program itself has a file open */
struct own {
	int reader; /* the program's descriptor for reading; -1: none */
	bool output;
	bool in_use;
};

static bool is_late(void)
{
	return je_clock_ns(CLOCK_MONOTONIC) >= work.until_ns;
}

static int raw_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static void raw_close(int fd)
{
	syscall(SYS_close, fd);
}

/* With `how` AT_STATX_DONT_SYNC the kernel asks no file server. Kernels before 4.11 lack statx. */
static bool look_at(int fd, int how, struct seen *seen)
{
	struct statx x;
	struct stat st; /* the kernel's and the C library's are the same on 64-bit machines */

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | how, STATX_TYPE | STATX_SIZE | STATX_INO,
		    &x) == 0) {
		seen->device = (uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor;
		seen->inode = x.stx_ino;
		seen->bytes = x.stx_size;
		seen->regular = S_ISREG(x.stx_mode);
		return true;
	}
	if (syscall(SYS_fstat, fd, &st) != 0)
		return false;
	seen->device = st.st_dev;
	seen->inode = st.st_ino;
	seen->bytes = (uint64_t)st.st_size;
	seen->regular = S_ISREG(st.st_mode);
	return true;
}

static void add_own(struct own *own, const struct seen *file, int fd)
{
	struct seen seen;
	int flags;

	if (!look_at(fd, AT_STATX_DONT_SYNC, &seen) || seen.inode != file->inode ||
	    seen.device != file->device)
		return;
	flags = (int)syscall(SYS_fcntl, fd, F_GETFL, 0);
	if (flags < 0 || (flags & O_PATH))
		return;
	if ((flags & O_ACCMODE) == O_WRONLY)
		own->output = true;
	else if ((flags & O_ACCMODE) == O_RDONLY && fd > STDIN_FILENO)
		own->reader = fd;
	else
		own->in_use = true;
}

/* Finds the program's descriptors of the file that `mine` refers to; false: that failed. */
static bool find_own(const struct seen *file, int mine, struct own *own)
{
	struct entry { /* linux_dirent64 */
		uint64_t inode, next;
		uint16_t bytes;
		uint8_t type;
		char name[];
	};
	int list = raw_open("/proc/self/fd", O_RDONLY | O_DIRECTORY), looked = 0;
	long got = -1;

	while (list >= 0 && looked < JE_OPEN_MOST &&
	       (got = syscall(SYS_getdents64, list, work.block, sizeof(work.block))) > 0) {
		for (long at = 0; at < got; looked++) {
			const struct entry *e = (const void *)(work.block + at);
			int fd = je_decimal(e->name);

			if (e->name[0] != '.' && fd != mine && fd != list)
				add_own(own, file, fd);
			at += e->bytes;
		}
	}
	if (list >= 0)
		raw_close(list);
	return got == 0;
}

/* Adds a part of a file to the hash; returns enum je_input. */
static uint32_t read_part(struct je_hash *h, int fd, uint64_t from, uint64_t bytes)
{
	while (bytes > 0) {
		size_t most = bytes < JE_READ_MOST ? bytes : JE_READ_MOST;
		long got;

		if (is_late())
			return JE_INPUT_LATE;
		got = syscall(SYS_pread64, fd, work.block, most, from);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return JE_INPUT_UNREADABLE;
		je_hash_add(h, work.block, (size_t)got);
		from += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return JE_INPUT_KNOWN;
}

/* Adds a file's size and content to the hash. From a large file, it adds only parts, spread evenly
 * from beginning to end: bundlers append data to an executable, and a restart file differs behind
 * its head. */
static uint32_t read_file(struct je_hash *h, int fd, uint64_t size)
{
	uint32_t result = JE_INPUT_KNOWN;

	je_hash_add(h, &size, sizeof(size));
	if (size <= (uint64_t)JE_PARTS * JE_READ_MOST)
		return read_part(h, fd, 0, size);
	for (uint64_t i = 0; i < JE_PARTS && result == JE_INPUT_KNOWN; i++)
		result = read_part(h, fd, (size - JE_READ_MOST) * i / (JE_PARTS - 1), JE_READ_MOST);
	return result;
}

/* Opens the file behind /proc's link to an O_PATH descriptor. That is the same file, even if it
 * was renamed meanwhile. */
static int reopen(const char *link)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int fd = raw_open(link, flags | O_NOATIME); /* allowed to the file's owner only */

	return fd >= 0 ? fd : raw_open(link, flags);
}

/* Whether the kernel itself makes the file's content: it may differ at each reading. */
static bool is_kernels(long magic)
{
	static const uint32_t kernels[] = { PROC_SUPER_MAGIC,	SYSFS_MAGIC,
					    DEBUGFS_MAGIC,	TRACEFS_MAGIC,
					    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
					    SECURITYFS_MAGIC,	BPF_FS_MAGIC };

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if ((uint32_t)magic == kernels[i])
			return true;
	return false;
}

/* Adds the file behind `path`, an O_PATH descriptor, to the hash. JE_INPUT_NONE: it is no input. */
static uint32_t input_of_file(struct je_hash *h, int path)
{
	struct seen file;
	struct own own = { .reader = -1 };
	struct statfs where;
	char link[32];
	uint32_t result;
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	if (!look_at(path, 0, &file) || statfs(link, &where) != 0)
		return JE_INPUT_UNREADABLE;
	if (!file.regular || is_kernels((long)where.f_type))
		return JE_INPUT_NONE;
	if ((uint32_t)where.f_type == JE_FUSE_MAGIC)
		return JE_INPUT_FUSE;
	if (!find_own(&file, path, &own))
		return JE_INPUT_UNREADABLE;
	if (own.output)
		return JE_INPUT_NONE;
	if (own.in_use)
		return JE_INPUT_IN_USE;
	if (own.reader >= 0)
		return read_file(h, own.reader, file.bytes);
	fd = reopen(link);
	if (fd < 0)
		return JE_INPUT_UNREADABLE;
	result = read_file(h, fd, file.bytes);
	raw_close(fd);
	return result;
}

static uint32_t input_of_name(struct je_hash *h, const char *name)
{
	int path = name[0] == '\0' ? -1 : raw_open(name, O_PATH);
	uint32_t result;

	if (path < 0) /* no such file, or no descriptor or memory to find out */
		return name[0] != '\0' && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			       ? JE_INPUT_UNREADABLE
			       : JE_INPUT_NONE;
	result = input_of_file(h, path);
	raw_close(path);
	return result;
}

/* Whether an option, or the KEY of KEY=FILE, names an output. */
static bool says_output(const char *name, size_t length)
{
	for (; length > 0 && *name == '-'; name++)
		length--;
	return (length == 1 && *name == 'o') || (length >= 3 && (strncasecmp(name, "out", 3) == 0 ||
								 strncasecmp(name, "log", 3) == 0));
}

/* Adds the file that an argument names: FILE, or KEY=FILE. `before` is the argument before it. */
static uint32_t input_of_argument(struct je_hash *h, const char *arg, const char *before)
{
	const char *equals = strchr(arg, '=');
	uint32_t result = JE_INPUT_NONE;

	if (arg[0] != '-' && !(before[0] == '-' && says_output(before, strlen(before))))
		result = input_of_name(h, arg);
	if (result == JE_INPUT_NONE && equals != NULL && !says_output(arg, (size_t)(equals - arg)))
		result = input_of_name(h, equals + 1);
	return result;
}

static uint32_t hash_inputs(struct je_slot *slot, const char *arg, const char *end)
{
	struct je_hash h;
	const char *before = "";
	uint32_t files = 0;

	je_hash_begin(&h);
	for (; arg < end; before = arg, arg += strlen(arg) + 1) {
		uint32_t result = is_late() ? JE_INPUT_LATE : input_of_argument(&h, arg, before);

		if (result == JE_INPUT_NONE)
			continue;
		if (result == JE_INPUT_KNOWN && ++files > JE_INPUTS_MOST)
			result = JE_INPUT_MANY;
		if (result != JE_INPUT_KNOWN)
			return result; /* a hash of some of the files would say nothing */
	}
	if (files == 0)
		return JE_INPUT_NONE;
	je_hash_end(&h, slot->input_hash);
	slot->inputs = files;
	return JE_INPUT_KNOWN;
}

/* Reads the command line and returns its length. 0: it cannot be read. JE_LINE_MOST: it is
 * longer. */
static size_t read_line(void)
{
	int fd = raw_open("/proc/self/cmdline", O_RDONLY);
	size_t bytes = 0;
	long got = 1;

	while (fd >= 0 && bytes < JE_LINE_MOST && got > 0) {
		got = syscall(SYS_read, fd, work.line + bytes, JE_LINE_MOST - bytes);
		bytes += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		raw_close(fd);
	if (bytes > 0 && bytes < JE_LINE_MOST && work.line[bytes - 1] != '\0')
		work.line[bytes++] = '\0'; /* a program may overwrite its own command line */
	return got < 0 ? 0 : bytes;
}

/* Hashes an executable that has no build-id. */
static void note_executable(struct je_slot *slot)
{
	struct seen file;
	struct je_hash h;
	int fd = slot->build_id_bytes > 0 ? -1 : raw_open("/proc/self/exe", O_RDONLY);

	if (fd < 0)
		return;
	je_hash_begin(&h);
	if (look_at(fd, 0, &file) && file.regular &&
	    read_file(&h, fd, file.bytes) == JE_INPUT_KNOWN)
		je_hash_end(&h, slot->exe_hash);
	raw_close(fd);
}

static bool text_wanted(void)
{
	const char *wish = getenv("JOBEFF_ARGUMENTS");

	return wish != NULL && strcmp(wish, "1") == 0;
}

static void note_args_text(struct je_slot *slot, const char *arg, const char *end)
{
	while (arg < end) {
		size_t bytes = strlen(arg) + 1;

		if (bytes > JE_ARGS_TEXT - slot->args_bytes) {
			slot->args_cut = 1;
			return;
		}
		memcpy(slot->args_text + slot->args_bytes, arg, bytes);
		slot->args_bytes += (uint32_t)bytes;
		arg += bytes;
	}
}

static void note_arguments(struct je_slot *slot)
{
	size_t bytes = read_line();
	const char *end = work.line + bytes;
	const char *first = work.line + strnlen(work.line, bytes) + 1;
	struct je_hash h;

	if (bytes == 0)
		return;
	if (bytes == JE_LINE_MOST) {
		slot->input = JE_INPUT_LONG;
		return;
	}
	je_hash_begin(&h);
	je_hash_add(&h, first, (size_t)(end - first));
	je_hash_end(&h, slot->args_hash);
	if (text_wanted())
		note_args_text(slot, first, end);
	slot->input = hash_inputs(slot, first, end);
}

/* Runs just before MPI_Init returns. */
JE_COLD void je_workload_note(struct je_slot *slot)
{
	const char *name = getenv("JOBEFF_WORKLOAD");

	if (slot->rank != 0)
		return;
	work.until_ns = je_clock_ns(CLOCK_MONOTONIC) + JE_WORKLOAD_NS;
	if (name != NULL && strlen(name) < sizeof(slot->workload))
		strcpy(slot->workload, name);
	note_executable(slot);
	note_arguments(slot);
}
