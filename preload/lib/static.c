/* static.c: notices a process whose MPI this library did not see. Its program may have an MPI
 * linked in, another tool may stand before us in LD_PRELOAD, or the program looks its functions up
 * in the MPI's own library. The coverage must say so.
 *
 * A process that never called the MPI_Init of this library is examined when it exits. Was an MPI
 * begun nevertheless, in any library of the process? Does the program of a rank define PMPI_Init
 * itself? A stripped program does not show that. A program without a dynamic linker never loads
 * this library.
 *
 * The program is read when it starts. Later it may have forbidden itself to open files (seccomp),
 * and the kernel would kill it here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "jobeff.h"
#include "libc.h"
#include "objects.h"

static bool linked_in; /* the program of this rank defines PMPI_Init */

enum { JE_CHUNK = 4096, JE_FOUND = 4, JE_SECTIONS = 256, JE_MPIS = 8 };
#define JE_MOST_BYTES (256u << 20)

/* offsets of the text PMPI_Init in a string table */
struct found {
	uint64_t at[JE_FOUND];
	int n;
};

static bool is_rank(void)
{
	static const char names[][24] = { "PMI_RANK", "PMI_FD", "PMIX_RANK",
					  "OMPI_COMM_WORLD_RANK" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]) != NULL)
			return true;
	return false;
}

static void find_names(int fd, uint64_t from, uint64_t bytes, struct found *found)
{
	static const char name[] = "PMPI_Init"; /* with its zero */
	char chunk[JE_CHUNK];
	ssize_t got = 0;

	for (uint64_t at = 0; at + sizeof(name) <= bytes; at += (uint64_t)got - sizeof(name) + 1) {
		got = pread(fd, chunk, sizeof(chunk), (off_t)(from + at));
		if (got < (ssize_t)sizeof(name))
			return;
		for (const char *p = chunk; p + sizeof(name) <= chunk + got; p++) {
			p = memchr(p, name[0], (size_t)(chunk + got - p));
			if (p == NULL || p + sizeof(name) > chunk + got)
				break;
			if (memcmp(p, name, sizeof(name)) == 0 && found->n < JE_FOUND)
				found->at[found->n++] = at + (uint64_t)(p - chunk);
		}
	}
}

/* Each MPI defines PMPI_Init, and no stand-in for one process does. */
static bool is_found(const struct found *found, uint64_t name)
{
	for (int i = 0; i < found->n; i++)
		if (name == found->at[i])
			return true;
	return false;
}

static bool defines(int fd, const Elf64_Shdr *symbols, const struct found *found)
{
	Elf64_Sym chunk[JE_CHUNK / sizeof(Elf64_Sym)];

	for (uint64_t at = 0; at < symbols->sh_size; at += sizeof(chunk)) {
		ssize_t got = pread(fd, chunk, sizeof(chunk), (off_t)(symbols->sh_offset + at));

		if (got < (ssize_t)sizeof(chunk[0]))
			return false;
		for (size_t i = 0; i < (size_t)got / sizeof(chunk[0]); i++)
			if (chunk[i].st_shndx != SHN_UNDEF && is_found(found, chunk[i].st_name))
				return true;
	}
	return false;
}

static bool read_section(int fd, const Elf64_Ehdr *head, uint32_t i, Elf64_Shdr *section)
{
	off_t at = (off_t)(head->e_shoff + (uint64_t)i * sizeof(*section));

	return i < head->e_shnum && pread(fd, section, sizeof(*section), at) == sizeof(*section);
}

static bool program_has_mpi(int fd)
{
	struct found found = { { 0 }, 0 };
	Elf64_Shdr symbols, names;
	Elf64_Ehdr head;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (uint32_t i = 0; i < JE_SECTIONS && read_section(fd, &head, i, &symbols); i++) {
		if (symbols.sh_type != SHT_SYMTAB || symbols.sh_size > JE_MOST_BYTES ||
		    !read_section(fd, &head, symbols.sh_link, &names) ||
		    names.sh_size > JE_MOST_BYTES)
			continue;
		find_names(fd, names.sh_offset, names.sh_size, &found);
		return found.n > 0 && defines(fd, &symbols, &found);
	}
	return false;
}

/* Runs before main. A program that loaded an MPI is not read. */
void je_static_at_load(void)
{
	int fd, saved = errno;

	if (!is_rank() || !je_record_find() || dlsym(RTLD_NEXT, "MPI_Init") != NULL)
		return;
	dlerror(); /* else the program would be given the text of our failure */
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		linked_in = program_has_mpi(fd);
		close(fd);
	}
	errno = saved;
}

/* An address in each object whose name contains "mpi", as the names of all MPIs do. */
struct mapped {
	const void *at[JE_MPIS];
	int n;
};

static int note_mapped(struct dl_phdr_info *info, size_t size, void *to)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	struct mapped *mapped = to;

	(void)size;
	if (strstr(slash != NULL ? slash : info->dlpi_name, "mpi") == NULL)
		return 0;
	for (int i = 0; i < info->dlpi_phnum && mapped->n < JE_MPIS; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			mapped->at[mapped->n++] =
				(const void *)(uintptr_t)(info->dlpi_addr +
							  info->dlpi_phdr[i].p_vaddr);
			break;
		}
	return 0;
}

/* Whether an MPI of this process was begun, wherever it was opened. The loader is asked only after
 * the walk, because the walk holds its lock. */
static bool has_begun(void)
{
	struct mapped mapped = { .n = 0 };
	int yes = 0;

	dl_iterate_phdr(note_mapped, &mapped);
	for (int i = 0; i < mapped.n && yes == 0; i++) {
		void *library = je_handle_of(mapped.at[i]);
		void *symbol = library != NULL ? dlsym(library, "PMPI_Initialized") : NULL;

		if (symbol == NULL || ((int (*)(int *))symbol)(&yes) != 0)
			yes = 0;
	}
	return yes != 0;
}

/* Whether LD_PRELOAD names an object whose MPI_Init comes before ours. The program itself may have
 * one, too. */
static bool is_behind(void)
{
	static const char names[][16] = { "MPI_Init", "MPI_Init_thread", "mpi_init_" };
	Dl_info program, info;

	if (dladdr((const void *)getauxval(AT_ENTRY), &program) == 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const void *first = dlsym(RTLD_DEFAULT, names[i]);

		if (first != NULL && !je_is_ours(first) && dladdr(first, &info) != 0 &&
		    info.dli_fbase != program.dli_fbase)
			return true;
	}
	return false;
}

/* Runs at the exit of a process that never called MPI_Init of this library. */
void je_static_at_exit(void)
{
	int saved = errno;
	bool begun = !linked_in && has_begun();

	if ((begun || linked_in) && je_record_find())
		je_record_count(linked_in     ? offsetof(struct je_head, lost_static)
				: is_behind() ? offsetof(struct je_head, lost_preload)
					      : offsetof(struct je_head, lost_unseen));
	errno = saved;
}
