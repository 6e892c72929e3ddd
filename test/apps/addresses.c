/* addresses.c RECORD [CALLS]: calls each function of mpi_calls.def in each binding, three times
 * from one place, and looks in its own record in each and after: the place must be that call, and
 * no other. With CALLS, it only makes as many of 12 us in MPI_Barrier, of 4 us in MPI_Wait, and
 * of 30 us in MPI_Waitall.
 *
 * -DFAKE_MPI: the library with the MPI. It has marks of Open MPI's, so that the usual way is taken
 * once types and communicators are known. A call takes 30 us or more, so each one is noted. With
 * -DVIRTUAL the clock stands still but in calls, and is that of build/test/libjobeff-clock.so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../preload/record/record.h"

typedef intptr_t word;

static word zeros[512];

#ifdef FAKE_MPI
word ompi_mpi_comm_world[8], ompi_mpi_datatype_null[8], ompi_mpi_op_no_op[8], ompi_mpi_comm_null[8];

#ifdef VIRTUAL
int64_t fake_ns = 10000000; /* what a call takes */
#else
int64_t fake_ns = 30000;
#endif
const uint64_t *fake_open; /* je_slot.open_call */
uint64_t fake_seen;	   /* … as it was in the last call */

static void see(void)
{
	if (fake_open != NULL)
		fake_seen = *fake_open;
}

#ifdef VIRTUAL
static int64_t now_ns, to_real;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t ns;

	if (now_ns == 0) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, t);
		now_ns = t->tv_sec * 500000000ll; /* no record is of the future */
		syscall(SYS_clock_gettime, CLOCK_REALTIME, t);
		to_real = t->tv_sec * 1000000000ll - 2 * now_ns;
	}
	ns = clock == CLOCK_REALTIME ? now_ns + to_real : now_ns;
	*t = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	return 0;
}

static int take(int64_t ns)
{
	see();
	now_ns += ns;
	return 0;
}
#else
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int take(int64_t ns)
{
	see();
	for (int64_t until = now() + ns; now() < until;)
		;
	return 0;
}
#endif

/* what the library asks */
int PMPI_Initialized(int *yes)
{
	return *yes = 1, 0;
}
int PMPI_Query_thread(int *level)
{
	return *level = 0, 0;
}
int PMPI_Comm_rank(word comm, int *rank)
{
	return (void)comm, *rank = 0, 0;
}
int PMPI_Comm_size(word comm, int *size)
{
	return (void)comm, *size = 1, 0;
}
int PMPI_Comm_remote_size(word comm, int *size)
{
	return (void)comm, *size = 1, 0;
}
int PMPI_Comm_test_inter(word comm, int *inter)
{
	return (void)comm, *inter = 0, 0;
}
int PMPI_Comm_get_parent(word *parent)
{
	return *parent = (word)ompi_mpi_comm_null, 0;
}
int PMPI_Type_size(word type, int *bytes)
{
	return (void)type, *bytes = 4, 0;
}
word PMPI_Type_f2c(int type)
{
	return (void)type, (word)zeros;
}
word PMPI_Comm_f2c(int comm)
{
	return (void)comm, (word)zeros;
}
word PMPI_Op_c2f(word op)
{
	return (void)op, 1;
}

/* the functions; those of the life line are called by their C names only */
#define JE_SPECIAL(number, name, lower, args, fargs, class) \
	int MPI_##name(void);                               \
	int MPI_##name(void)                                \
	{                                                   \
		return take(20000000);                      \
	}
#define FAKE_C(name)                  \
	int MPI_##name(void);         \
	int MPI_##name(void)          \
	{                             \
		return take(fake_ns); \
	}
#define FAKE_FORTRAN(symbol)   \
	void symbol(void);     \
	void symbol(void)      \
	{                      \
		take(fake_ns); \
	}
#define JE_CALL(number, name, lower, ...) \
	FAKE_C(name)                      \
	FAKE_FORTRAN(mpi_##lower##_)      \
	FAKE_FORTRAN(mpi_##lower##_f08_)  \
	FAKE_FORTRAN(mpi_##lower##_f08ts_)
#define JE_LARGE(number, name, lower, ...) \
	FAKE_C(name)                       \
	FAKE_FORTRAN(mpi_##lower##_f08ts_)
#include "../../preload/mpi_calls.def"

#else
typedef int (*function)(word, word, word, word, word, word, word, word, word, word, word, word,
			word, word);

enum { TIMES = 3 };

/* Its section has this call only. */
__attribute__((noinline, section("callsite"))) static int call(function f)
{
	const word z = (word)zeros;
	int result = f(z, z, z, z, z, z, z, z, z, z, z, z, z, z);

	__asm__ volatile("" ::: "memory");
	return result;
}
extern const char __start_callsite[], __stop_callsite[];

static int wrong, checked;

extern int64_t fake_ns;
extern const uint64_t *fake_open;
extern uint64_t fake_seen;

static bool is_call(uint64_t last)
{
	return last >= (uintptr_t)__start_callsite && last < (uintptr_t)__stop_callsite;
}

static bool was_open(uint32_t number)
{
	return (fake_seen & 0xffff) == number + 1 && is_call((fake_seen >> JE_OPEN_ADDRESS) - 1);
}

static void check(const struct je_slot *slot, uint32_t number, const char *name, bool right)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < JE_PLACES; i++) {
		const struct je_place *p = &slot->places.places[i];

		if (p->function != number + 1)
			continue;
		calls += p->calls;
		right = right && p->modules[0] != 0 && is_call(p->frames[0]);
	}
	checked++;
	if ((!right || calls == 0 || calls % TIMES != 0) && ++wrong < 20)
		printf("%s: %d, %d calls\n", name, right, (int)calls);
}

static __attribute__((noinline)) void try(const struct je_slot *slot, uint32_t number,
					  const char *name)
{
	bool right = true;
	function f = (function)dlsym(RTLD_DEFAULT, name);
	function newer = (function)dlvsym(RTLD_DEFAULT, name, "JOBEFF_NEWER");

	f = newer != NULL ? newer : f;
	for (int i = 0; i < TIMES; i++) {
		call(f);
		right = right && was_open(number);
	}
	check(slot, number, name, right);
}

int PMPI_Initialized(int *yes);

static int make_calls(int n)
{
	function barrier = (function)dlsym(RTLD_DEFAULT, "MPI_Barrier");
	function wait = (function)dlsym(RTLD_DEFAULT, "MPI_Wait");
	function waitall = (function)dlsym(RTLD_DEFAULT, "MPI_Waitall");

	for (int i = 0; i < n; i++) {
		fake_ns = 12000;
		call(barrier);
		fake_ns = 4000;
		call(wait);
		fake_ns = 30000;
		call(waitall);
	}
	return ((function)dlsym(RTLD_DEFAULT, "MPI_Finalize"))(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
							       0, 0);
}

int main(int argc, char **argv)
{
	const char *record;
	const struct je_slot *slot;
	int yes, fd;
	function init = (function)dlsym(RTLD_DEFAULT, "MPI_Init");

	PMPI_Initialized(&yes); /* so that the linker keeps the library */
	init(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	if (argc > 2)
		return make_calls(atoi(argv[2]));
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	record = mmap(NULL, JE_HEAD_BYTES + JE_SLOT_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || record == MAP_FAILED)
		return 1;
	slot = (const struct je_slot *)(record + JE_HEAD_BYTES);
	fake_open = &slot->open_call;
#define JE_SPECIAL(...)
#define TRY(number, class, name)             \
	if (JE_CLASS_##class != JE_CLASS_IO) \
		try(slot, number, name);
#define JE_CALL(number, name, lower, args, strings, class, ...) \
	TRY(number, class, "MPI_" #name)                        \
	TRY(number, class, "mpi_" #lower "_")                   \
	TRY(number, class, "mpi_" #lower "_f08_")               \
	TRY(number, class, "mpi_" #lower "_f08ts_")
#define JE_LARGE(number, name, lower, args, class, ...) \
	TRY(number, class, "MPI_" #name)                \
	TRY(number, class, "mpi_" #lower "_f08ts_")
#include "../../preload/mpi_calls.def"
	printf("%d checked, %d wrong\n", checked, wrong);
	return make_calls(0);
}
#endif
