/* referee.c: a full trace of where a program calls MPI, and for how long. It finds the places by
 * the unwinder of exceptions, not by frame pointers or an address in a stub, and reads another
 * clock. It stands behind libjobeff.so in LD_PRELOAD, so both see the same calls; its own time is
 * part of them. When a rank ends, it writes a line per place to $REFEREE.RANK: function, module,
 * offset of the call's last byte, calls, s, s of those shorter than 20 us, and the exported
 * function that it is in, or "-".
 *
 * Not counted are MPI's own calls, and those of other threads than the first. A wrapper hands on 14
 * words, whatever its function takes: on x86-64 the stack has them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unwind.h>

typedef intptr_t word;
#define WORDS                                                                                   \
	word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, \
		word l, word m, word n
#define NAMES a, b, c, d, e, f, g, h, i, j, k, l, m, n
typedef int (*function)(WORDS);

enum { PLACES = 1 << 14, TOOLS = 2 };

static struct place {
	const char *function; /* NULL: nothing is here */
	uintptr_t at;
	uint64_t calls, ns, short_ns;
} places[PLACES];

static struct {
	uintptr_t from, to;
} tools[TOOLS]; /* code of this library and of libjobeff.so */
static int known;

/* the first thread is between MPI_Init and MPI_Finalize, and in no call */
static __thread bool ready;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t read_ns =
	UINT64_MAX; /* what a reading of the clock takes: libjobeff.so sees it, too */

static void measure_clock(void)
{
	for (int i = 0; i < 50; i++) {
		uint64_t from = now(), each;

		for (int k = 1; k < 100; k++)
			now();
		each = (now() - from) / 100;
		read_ns = each < read_ns ? each : read_ns;
	}
}

static int note_tool(struct dl_phdr_info *info, size_t bytes, void *own)
{
	(void)bytes;
	for (int p = 0; p < info->dlpi_phnum; p++) {
		uintptr_t from = info->dlpi_addr + info->dlpi_phdr[p].p_vaddr,
			  to = from + info->dlpi_phdr[p].p_memsz;
		bool is_own = (uintptr_t)own >= from && (uintptr_t)own < to;

		if (info->dlpi_phdr[p].p_type == PT_LOAD &&
		    (info->dlpi_phdr[p].p_flags & PF_X) != 0 && known < TOOLS &&
		    (is_own || strstr(info->dlpi_name, "/libjobeff.so") != NULL)) {
			tools[known].from = from;
			tools[known++].to = to;
		}
	}
	return 0;
}

static bool is_tool(uintptr_t at)
{
	return (at >= tools[0].from && at < tools[0].to) ||
	       (at >= tools[1].from && at < tools[1].to);
}

/* Stops at the program's frame. */
static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *at)
{
	*(uintptr_t *)at = _Unwind_GetIP(context) - 1;
	return is_tool(*(uintptr_t *)at) ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static struct place *find(const char *function)
{
	uintptr_t at = 0;
	uint64_t mixed;

	_Unwind_Backtrace(look, &at);
	mixed = (at ^ (uintptr_t)function << 20) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	for (uint64_t p = mixed;; p++) {
		struct place *place = &places[p % PLACES];

		if (place->function == NULL)
			*place = (struct place){ function, at, 0, 0, 0 };
		if (place->function == function && place->at == at)
			return place;
	}
}

static void write_place(FILE *to, const struct place *place)
{
	Dl_info info = { 0 };
	struct link_map *map = NULL;
	const ElfW(Sym) *symbol = NULL;
	uintptr_t function;

	dladdr1((void *)place->at, &info, (void **)&map, RTLD_DL_LINKMAP);
	dladdr1((void *)place->at, &info, (void **)&symbol, RTLD_DL_SYMENT);
	function = (uintptr_t)info.dli_saddr;
	fprintf(to, "%s %s %#lx %lu %.9f %.9f %s\n", place->function, info.dli_fname,
		place->at - (map == NULL ? 0 : map->l_addr), place->calls, (double)place->ns / 1e9,
		(double)place->short_ns / 1e9,
		symbol != NULL && place->at < function + symbol->st_size ? info.dli_sname : "-");
}

static void finish(void)
{
	const char *rank = getenv("SLURM_PROCID"), *name = getenv("REFEREE");
	char path[4096];
	FILE *to;

	ready = false;
	if (rank == NULL || name == NULL)
		return;
	snprintf(path, sizeof(path), "%s.%s", name, rank);
	to = fopen(path, "we");
	if (to == NULL)
		return;
	for (struct place *p = places; p < places + PLACES; p++)
		if (p->function != NULL)
			write_place(to, p);
	fclose(to);
}

__attribute__((constructor)) static void begin(void)
{
	measure_clock();
	dl_iterate_phdr(note_tool, (void *)(uintptr_t)note_tool);
}

#define WRAP(symbol, name)                                          \
	int symbol(WORDS);                                          \
	int symbol(WORDS)                                           \
	{                                                           \
		static function next;                               \
		struct place *place;                                \
		uint64_t from, ns;                                  \
		int result;                                         \
                                                                    \
		if (next == NULL)                                   \
			next = (function)dlsym(RTLD_NEXT, #symbol); \
		if (!ready)                                         \
			return next(NAMES);                         \
		from = now();                                       \
		ready = false;                                      \
		place = find(name);                                 \
		result = next(NAMES);                               \
		ready = true;                                       \
		place->calls++;                                     \
		ns = now() - from + read_ns;                        \
		place->ns += ns;                                    \
		place->short_ns += ns < 20000 ? ns : 0;             \
		return result;                                      \
	}
#define BEGIN(symbol)                                                      \
	int symbol(WORDS);                                                 \
	int symbol(WORDS)                                                  \
	{                                                                  \
		int result = ((function)dlsym(RTLD_NEXT, #symbol))(NAMES); \
                                                                           \
		ready = true;                                              \
		return result;                                             \
	}
#define END(symbol)                                                  \
	int symbol(WORDS);                                           \
	int symbol(WORDS)                                            \
	{                                                            \
		finish();                                            \
		return ((function)dlsym(RTLD_NEXT, #symbol))(NAMES); \
	}
BEGIN(MPI_Init)
BEGIN(MPI_Init_thread)
BEGIN(mpi_init_)
BEGIN(mpi_init_thread_)
BEGIN(mpi_init_f08_)
BEGIN(mpi_init_thread_f08_)
END(MPI_Finalize)
END(mpi_finalize_)
END(mpi_finalize_f08_)

#define JE_SPECIAL(...)
#define JE_LARGE(...)
#define JE_CALL(number, name, lower, ...)  \
	WRAP(MPI_##name, "MPI_" #name)     \
	WRAP(mpi_##lower##_, "MPI_" #name) \
	WRAP(mpi_##lower##_f08_, "MPI_" #name)
#include "../../preload/mpi_calls.def"
