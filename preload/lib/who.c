/* who.c: writes into the slot who the process is: host, executable, MPI, rank and world. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"
#include "libc.h"
#include "next.h"
#include "objects.h"

static void copy(char *to, size_t room, const char *from)
{
	size_t n = strnlen(from, room - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

/* A number from the environment; -1: there is none. */
static int64_t env_number(const char *name)
{
	const char *text = getenv(name);
	int64_t n = 0;

	if (text == NULL || *text == '\0')
		return -1;
	for (; *text >= '0' && *text <= '9' && n < INT32_MAX / 10; text++)
		n = n * 10 + (*text - '0');
	return *text == '\0' ? n : -1;
}

static int32_t env_int(const char *name)
{
	return (int32_t)env_number(name);
}

static void note_claims(struct je_slot *slot)
{
	slot->claimed_step = env_number("SLURM_STEP_ID");
	slot->claimed_procid = env_int("SLURM_PROCID");
	slot->claimed_ntasks = env_int("SLURM_STEP_NUM_TASKS");
	if (slot->claimed_ntasks < 0)
		slot->claimed_ntasks = env_int("SLURM_NTASKS");
	slot->claimed_nodeid = env_int("SLURM_NODEID");
	slot->claimed_cpus_per_task = env_int("SLURM_CPUS_PER_TASK");
	slot->claimed_omp_threads = env_int("OMP_NUM_THREADS");
}

/* The VALUE of "<option> VALUE" in a command line; NULL: there is none. Each word ends in a zero.
 */
static const char *option_of(const char *line, int bytes, const char *option)
{
	for (const char *p = line; p < line + bytes; p += strlen(p) + 1)
		if (strcmp(p, option) == 0 && p + strlen(p) + 1 < line + bytes)
			return p + strlen(p) + 1;
	return NULL;
}

static void path_of(char path[40], int pid, const char *file)
{
	snprintf(path, 40, "/proc/%d/%s", pid, file);
}

static int parent_of(int pid)
{
	char path[40], stat[512];

	path_of(path, pid, "stat");
	if (je_read_text(path, stat, sizeof(stat)) < 0)
		return 0;

	const char *after = strrchr(stat, ')'); /* the name in () may contain any byte */

	return after != NULL && strlen(after) > 4 ? je_decimal(after + 4) : 0;
}

/* On every node, the command line of hydra's proxy says which mpiexec it belongs to. A script may
 * run between the proxy and the rank, so this looks at several ancestors. From MPICH 5 on, what
 * MPI_Comm_spawn starts has the proxy of its parent. */
static bool hydra_world(struct je_slot *slot)
{
	char text[sizeof(slot->world_text)];
	char path[40], line[4096];
	int pid = getppid();

	if (getenv("PMI_FD") == NULL && getenv("PMI_PORT") == NULL)
		return false;
	for (int i = 0; i < 8 && pid > 1; i++, pid = parent_of(pid)) {
		path_of(path, pid, "cmdline");

		int bytes = je_read_text(path, line, sizeof(line));
		const char *port = option_of(line, bytes, "--control-port");
		const char *group = option_of(line, bytes, "--pgid");

		if (port == NULL)
			continue;
		copy(text, sizeof(text) - 18, port);
		strcat(text, " ");
		strncat(text, group != NULL ? group : "0", 12);
		if (getenv("PMI_SPAWNED") != NULL)
			strcat(text, " s");
		copy(slot->world_text, sizeof(slot->world_text), text);
		slot->world_from = JE_WORLD_HYDRA;
		return true;
	}
	return false;
}

/* srun --mpi=pmi2: the step is the world. */
static void pmi_world(struct je_slot *slot)
{
	const char *id = getenv("PMI_JOBID");
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	char text[sizeof(slot->world_text)];

	if (getenv("PMI_FD") == NULL && getenv("PMI_RANK") == NULL)
		return;
	if (id != NULL) {
		copy(text, sizeof(text), id);
	} else if (job != NULL && step != NULL) {
		copy(text, sizeof(text) / 2, job);
		strcat(text, ".");
		strncat(text, step, sizeof(text) / 2 - 2);
	} else {
		return;
	}
	copy(slot->world_text, sizeof(slot->world_text), text);
	slot->world_from = JE_WORLD_PMI;
}

static void note_world(struct je_slot *slot)
{
	const char *space = getenv("PMIX_NAMESPACE");

	if (space != NULL && *space != '\0') {
		copy(slot->world_text, sizeof(slot->world_text), space);
		slot->world_from = JE_WORLD_PMIX;
	} else if (!hydra_world(slot)) {
		pmi_world(slot);
	}
}

static const uint8_t *build_id_in(const char *notes, size_t bytes, uint32_t *id_bytes)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)notes;
		size_t name = (note->n_namesz + 3u) & ~3u, desc = (note->n_descsz + 3u) & ~3u;
		size_t whole = sizeof(*note) + name + desc;

		if (whole > bytes)
			return NULL;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(note + 1, "GNU", 4) == 0) {
			*id_bytes = note->n_descsz;
			return (const uint8_t *)(note + 1) + name;
		}
		notes += whole;
		bytes -= whole;
	}
	return NULL;
}

/* Whether a part of an object lies in memory: notes need not. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &info->dlpi_phdr[i];

		if (load->p_type == PT_LOAD && (load->p_flags & PF_R) != 0 &&
		    part->p_vaddr >= load->p_vaddr && part->p_memsz <= load->p_filesz &&
		    part->p_vaddr - load->p_vaddr <= load->p_filesz - part->p_memsz)
			return true;
	}
	return false;
}

/* The GNU build-id of an object; NULL: it has none. */
const uint8_t *je_build_id(const struct dl_phdr_info *info, uint32_t *bytes)
{
	const uint8_t *id = NULL;

	for (int i = 0; id == NULL && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_NOTE && is_loaded(info, part))
			id = build_id_in((const char *)(info->dlpi_addr + part->p_vaddr),
					 part->p_memsz, bytes);
	}
	return id;
}

/* dl_iterate_phdr calls this for the executable first; returning 1 ends the walk. */
static int note_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct je_slot *slot = arg;
	uint32_t bytes = 0;
	const uint8_t *id = je_build_id(info, &bytes);

	(void)size;
	if (id != NULL && bytes <= sizeof(slot->build_id)) {
		memcpy(slot->build_id, id, bytes);
		slot->build_id_bytes = bytes;
	}
	return 1;
}

static uint32_t count_cpus(void)
{
	unsigned long mask[128]; /* 8,192 CPUs */
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	uint32_t n = 0;

	for (long i = 0; i < bytes / (long)sizeof(mask[0]); i++)
		n += (uint32_t)__builtin_popcountl(mask[i]);
	return n;
}

void je_who_at_enter(struct je_slot *slot)
{
	ssize_t n = readlink("/proc/self/exe", slot->exe, sizeof(slot->exe) - 1);

	if (n < 0)
		slot->exe[0] = '\0';
	slot->rank = slot->size = -1;
	gethostname(slot->host, sizeof(slot->host) - 1);
	slot->cpus = count_cpus();
	dl_iterate_phdr(note_build_id, slot);
	note_claims(slot);
	note_world(slot);
}

bool je_mpi_initialized(void)
{
	int (*initialized)(int *) = (int (*)(int *))je_symbol("PMPI_Initialized");
	int yes = 0;

	return initialized != NULL && initialized(&yes) == 0 && yes != 0;
}

/* The first line of the library's version; "": it has none. */
static const char *note_version(struct je_slot *slot)
{
	static char text[8192 + 1]; /* the largest MPI_MAX_LIBRARY_VERSION_STRING, and a zero */
	int (*get)(char *, int *) = (int (*)(char *, int *))je_symbol("PMPI_Get_library_version");
	int n = 0;

	if (get == NULL || get(text, &n) != 0)
		return "";
	text[strcspn(text, "\n")] = '\0';
	copy(slot->mpi_version, sizeof(slot->mpi_version), text);
	return text;
}

/* Whether an MPI_Init belongs to a stand-in for one process, such as sequential MUMPS has. A
 * stand-in lacks the PMPI names, which each MPI has, so nobody can ask it who the process is. A
 * tool's library need not be linked to its MPI, so je_symbol() looks first. */
bool je_mpi_is_stub(const void *init)
{
	void *library;
	bool stub;

	if (je_symbol("PMPI_Initialized") != NULL)
		return false;
	library = je_handle_of(init);
	stub = library == NULL || dlsym(library, "PMPI_Initialized") == NULL;
	if (library != NULL)
		dlclose(library);
	dlerror(); /* the program must not see our error */
	return stub;
}

static bool contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* Names a family only if the MPI shows a mark that no other has: a wrong handle would end the
 * job. An MPI's library for the ABI of MPI 5 shows its own MPI's marks, too. */
static uint32_t family_of(const char *version, uintptr_t *world)
{
	void *openmpi = je_symbol("ompi_mpi_comm_world");
	void *f = je_symbol("PMPI_Comm_rank");
	Dl_info info;

	if (f != NULL && dladdr(f, &info) != 0 && contains(info.dli_fname, "libmpi_abi")) {
		*world = 0x101;
		return JE_MPI_ABI5;
	}
	if (openmpi != NULL) {
		*world = (uintptr_t)openmpi;
		return JE_MPI_OPENMPI;
	}
	if (contains(version, "MPICH") || contains(version, "Intel") ||
	    contains(version, "MVAPICH")) {
		*world = 0x44000000;
		return JE_MPI_MPICH;
	}
	return JE_MPI_UNKNOWN;
}

static bool has_parent(uint32_t family)
{
	int (*get)(uintptr_t *) = (int (*)(uintptr_t *))je_symbol("PMPI_Comm_get_parent");
	uintptr_t parent = 0;
	uintptr_t none = family == JE_MPI_OPENMPI ? (uintptr_t)je_symbol("ompi_mpi_comm_null")
			 : family == JE_MPI_MPICH ? 0x04000000
						  : 0x100;

	return get != NULL && get(&parent) == 0 && parent != none;
}

typedef int (*ask_fn)(uintptr_t, int *);

static uintptr_t session_of(uint32_t family, const intptr_t *at, bool fortran)
{
	uintptr_t (*f2c)(int) = (uintptr_t(*)(int))je_symbol("PMPI_Session_f2c");

	if (fortran && f2c != NULL)
		return f2c(*(const int *)at);
	return family == JE_MPI_MPICH ? *(const uint32_t *)at : (uintptr_t)*at;
}

/* Without MPI_Init there is no MPI_COMM_WORLD, but there is a group of the same processes. Asking
 * for it needs no communication. */
static void note_session_world(struct je_slot *slot, uintptr_t session)
{
	int (*from_set)(uintptr_t, const char *, uintptr_t *) = (int (*)(
		uintptr_t, const char *, uintptr_t *))je_symbol("PMPI_Group_from_session_pset");
	ask_fn rank = (ask_fn)je_symbol("PMPI_Group_rank"),
	       size = (ask_fn)je_symbol("PMPI_Group_size");
	int (*let_go)(uintptr_t *) = (int (*)(uintptr_t *))je_symbol("PMPI_Group_free");
	uintptr_t group = 0;
	int n = 0;

	if (from_set == NULL || rank == NULL || size == NULL || let_go == NULL)
		return;
	if (from_set(session, "mpi://WORLD", &group) != 0)
		return;
	if (rank(group, &n) == 0)
		slot->rank = n;
	if (size(group, &n) == 0)
		slot->size = n;
	let_go(&group);
}

/* MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE are 0 to 3, but 0, 1024, 2048 and 4096 in the ABI of
 * MPI 5. */
static uint32_t thread_level(uint32_t family, int level)
{
	if (family != JE_MPI_ABI5)
		return (uint32_t)level;
	return level == 4096 ? 3 : (uint32_t)level / 1024;
}

/* Writes rank and size, which MPI knows when MPI_Init (session: MPI_Session_init) returns. Returns
 * the enum je_family. Callers use that, and never read it from the slot: any process of the user
 * may write to the record, and a wrong family means a wrong handle, which ends the job. */
uint32_t je_who_at_leave(struct je_slot *slot, const intptr_t *session, bool fortran)
{
	ask_fn rank = (ask_fn)je_symbol("PMPI_Comm_rank"),
	       size = (ask_fn)je_symbol("PMPI_Comm_size");
	int (*level)(int *) = (int (*)(int *))je_symbol("PMPI_Query_thread");
	uintptr_t world = 0;
	uint32_t family = family_of(note_version(slot), &world);
	int n = 0;

	slot->family = family;
	if (session != NULL) {
		if (family != JE_MPI_UNKNOWN)
			note_session_world(slot, session_of(family, session, fortran));
		return family;
	}
	if (level != NULL && level(&n) == 0)
		slot->thread_level = thread_level(family, n);
	if (family == JE_MPI_UNKNOWN || rank == NULL || size == NULL)
		return family;
	if (rank(world, &n) == 0)
		slot->rank = n;
	if (size(world, &n) == 0)
		slot->size = n;
	slot->spawned = has_parent(family);
	return family;
}
