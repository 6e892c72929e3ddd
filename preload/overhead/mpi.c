/* mpi.c: opens the MPI that the program was started under.
 *
 * The program is linked to no MPI, so that one binary serves all. It calls the PMPI names: they
 * are the MPI's own also where libjobeff.so stands in front of the others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overhead.h"

struct je_mpi_calls je_mpi;

int je_launched_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					     "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (getenv(names[i]) != NULL)
			return (int)strtol(getenv(names[i]), NULL, 10);
	return 0;
}

void je_fail(int code, const char *format, ...)
{
	va_list arguments;

	if (je_launched_rank() == 0) {
		char line[512];

		va_start(arguments, format);
		vsnprintf(line, sizeof(line), format, arguments);
		va_end(arguments);
		fprintf(stderr, "jobeff-overhead: %s\n", line);
	}
	if (je_mpi.size > 0)
		je_mpi.finalize();
	exit(code);
}

/* Sonames, the likeliest first. MPICH's ABI is also that of Intel MPI, MVAPICH and Cray. */
static const char *const openmpi[] = { "libmpi.so.40", "libmpi.so.41", NULL };
static const char *const mpich[] = { "libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", NULL };
static const char *const any[] = { "libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so", NULL };

static void *open_first(const char *const *names)
{
	void *library = NULL;

	while (library == NULL && *names != NULL)
		library = dlopen(*names++, RTLD_NOW | RTLD_GLOBAL);
	return library;
}

static void *open_library(const char *named)
{
	void *library;

	if (named != NULL) {
		library = dlopen(named, RTLD_NOW | RTLD_GLOBAL);
		if (library == NULL)
			je_fail(JE_FAILED, "--mpi: %s", dlerror());
		return library;
	}
	if (dlsym(RTLD_DEFAULT, "PMPI_Init") != NULL)
		return RTLD_DEFAULT;

	bool hydra = getenv("PMI_FD") != NULL || getenv("PMI_PORT") != NULL;

	library = open_first(hydra ? mpich : openmpi);
	if (library == NULL)
		library = open_first(hydra ? openmpi : mpich);
	if (library == NULL)
		library = open_first(any);
	if (library == NULL)
		je_fail(JE_FAILED, "no MPI library was found: load the MPI's module, or name its "
				   "library with --mpi FILE");
	return library;
}

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (found == NULL)
		je_fail(JE_FAILED, "the MPI library has no %s", name);
	return found;
}

static void note_version(void *library)
{
	static char text[8192]; /* the largest MPI_MAX_LIBRARY_VERSION_STRING */
	int (*get)(char *, int *) =
		(int (*)(char *, int *))symbol(library, "PMPI_Get_library_version");
	int n = 0;

	if (get(text, &n) != 0)
		je_fail(JE_FAILED, "the MPI library does not tell its version");
	text[strcspn(text, "\n")] = '\0';
	snprintf(je_mpi.version, sizeof(je_mpi.version), "%.255s", text);
}

/* A wrong handle would end the program, so each family must show its own mark. */
static void note_handles(void *library)
{
	Dl_info info;

	if (dladdr((void *)je_mpi.send, &info) != 0 &&
	    strstr(info.dli_fname, "libmpi_abi") != NULL) {
		je_mpi.world = 0x101;
		je_mpi.byte = 0x247;
	} else if (dlsym(library, "ompi_mpi_comm_world") != NULL) {
		je_mpi.world = (uintptr_t)dlsym(library, "ompi_mpi_comm_world");
		je_mpi.byte = (uintptr_t)symbol(library, "ompi_mpi_byte");
	} else if (strstr(je_mpi.version, "MPICH") != NULL ||
		   strstr(je_mpi.version, "Intel") != NULL ||
		   strstr(je_mpi.version, "MVAPICH") != NULL) {
		je_mpi.world = 0x44000000;
		je_mpi.byte = 0x4c00010d;
	} else {
		je_fail(JE_FAILED,
			"the MPI library is of no known family (Open MPI, MPICH, MPI-5 ABI): %s",
			je_mpi.version);
	}
}

void je_mpi_open(const char *named)
{
	void *library = open_library(named);

	je_mpi.init = (int (*)(int *, char ***))symbol(library, "PMPI_Init");
	je_mpi.finalize = (int (*)(void))symbol(library, "PMPI_Finalize");
	je_mpi.comm_rank = (int (*)(uintptr_t, int *))symbol(library, "PMPI_Comm_rank");
	je_mpi.comm_size = (int (*)(uintptr_t, int *))symbol(library, "PMPI_Comm_size");
	*(void **)&je_mpi.send = symbol(library, "PMPI_Send");
	*(void **)&je_mpi.recv = symbol(library, "PMPI_Recv");
	*(void **)&je_mpi.isend = symbol(library, "PMPI_Isend");
	*(void **)&je_mpi.irecv = symbol(library, "PMPI_Irecv");
	*(void **)&je_mpi.wait = symbol(library, "PMPI_Wait");
	note_version(library);
	note_handles(library);
	if (je_mpi.init(NULL, NULL) != 0)
		je_fail(JE_FAILED, "MPI_Init failed");
	je_mpi.comm_rank(je_mpi.world, &je_mpi.rank);
	je_mpi.comm_size(je_mpi.world, &je_mpi.size);
	if (je_mpi.size % 2 != 0)
		je_fail(JE_FAILED,
			"it needs pairs of ranks, and was started with %d: use mpirun -n 2 or "
			"srun -n 2 (--mpi FILE names the launcher's MPI library)",
			je_mpi.size);
}
