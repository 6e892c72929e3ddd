/* static.c: notices a rank whose MPI this library did not see. Its program may have an MPI linked
 * in, or another tool may stand before us in LD_PRELOAD. The coverage must say so.
 *
 * It is noted when a process exits that a launcher calls a rank, but that never called the MPI_Init
 * of this library. Is its MPI initialized nevertheless? Then a tool called PMPI_Init. Does its
 * program define MPI_Init itself? A stripped program does not tell. A program without a dynamic
 * linker never loads this library.
 *
 * The program is read when it starts. Later it may have forbidden itself to open files (seccomp),
 * and the kernel would kill it here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobeff.h"
#include "libc.h"

static bool linked_in; /* the program of this rank defines MPI_Init */

enum { JE_CHUNK = 4096, JE_FOUND = 4, JE_SECTIONS = 256 };
#define JE_MOST_BYTES (256u << 20)

/* where the names that end in MPI_Init are in a string table */
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
	static const char name[] = "MPI_Init"; /* with its zero */
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

/* MPI_Init may be a weak name for PMPI_Init. Either of the two is enough. */
static bool is_found(const struct found *found, uint64_t name)
{
	for (int i = 0; i < found->n; i++)
		if (name == found->at[i] || name + 1 == found->at[i])
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

void je_static_at_exit(void)
{
	bool by_tool = is_rank() && je_mpi_initialized();

	if ((!by_tool && !linked_in) || !je_record_find())
		return;
	je_record_count(by_tool ? offsetof(struct je_head, lost_preload)
				: offsetof(struct je_head, lost_static));
}
