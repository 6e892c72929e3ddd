/* next.c: finds the function that a wrapper stands in front of.
 *
 * If the global scope has it behind us, every caller means that one, and it is found once. Else it
 * depends on the caller (objects.c): one plugin may be linked to an MPI, and another to a stub for
 * one process. The record is of one MPI, so the calls of another only pass through.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

#include "libc.h"
#include "next.h"
#include "objects.h"

/* All names lie one after the other. A table of pointers would be relocated at each exec. */
struct names {
#define JE_CALL(number, name, lower, ...) char name[sizeof(#name)], f_##lower[sizeof(#lower)];
#include "../mpi_calls.def"
};
static const struct names names = {
#define JE_CALL(number, name, lower, ...) #name, #lower,
#include "../mpi_calls.def"
};
static const struct {
	uint16_t c, fortran;
} name_at[] = {
#define JE_CALL(number, name, lower, ...) \
	[number] = { offsetof(struct names, name), offsetof(struct names, f_##lower) },
#include "../mpi_calls.def"
};

void *je_next[JE_BINDINGS * JE_STRIDE];

/* An MPI that objects reach by their own scope, as seen from one of its libraries. The head's tag
 * is the address of its PMPI_Init. A stub for one process has none, and is not measured. */
enum { JE_STUB = 0, JE_SEVERAL = 1 }; /* tags that are no address: no MPI, and not known which */
struct mpi {
	struct je_behind behind;
	void *next[JE_BINDINGS * JE_STRIDE]; /* atomic */
};
static struct je_behind *mpis; /* atomic */

/* An MPI may have its C and its Fortran functions in different libraries. */
static struct je_callers of_c, of_fortran;

/* The MPI that is measured. Where it is in the global scope, `local` is NULL. */
static struct {
	uintptr_t tag; /* atomic; 0: none is yet */
	struct mpi *local;
} measured;

void *je_symbol(const char *name)
{
	void *scope = measured.local != NULL ? measured.local->behind.handle : RTLD_DEFAULT;
	void *symbol = dlsym(scope, name);

	if (symbol == NULL)
		dlerror(); /* the program must not see our error */
	return symbol;
}

/* Joins three texts; none is longer than an MPI name. */
static void join(char *to, const char *a, const char *b, const char *c)
{
	while (*a != '\0')
		*to++ = *a++;
	while (*b != '\0')
		*to++ = *b++;
	while (*c != '\0')
		*to++ = *c++;
	*to = '\0';
}

/* Writes spelling number `attempt` of a wrapped function; false: there are no more. */
static bool spelling(char *to, uint32_t index, int attempt)
{
	const char *text = (const char *)&names;
	const char *c = text + name_at[index % JE_STRIDE].c;
	const char *fortran = text + name_at[index % JE_STRIDE].fortran;

	switch (index / JE_STRIDE) {
	case JE_C:
		join(to, "MPI_", c, "");
		return attempt == 0;
	case JE_F08:
		join(to, "mpi_", fortran, "_f08_");
		return attempt == 0;
	case JE_F08TS:
		join(to, "mpi_", fortran, "_f08ts_");
		return attempt == 0;
	default:
		join(to, "mpi_", fortran, attempt == 0 ? "_" : "__");
		return attempt <= 1;
	}
}

/* Called in place of a function that no MPI has. Without this library the program would have ended
 * with "undefined symbol". */
static int missing(intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3)
{
	(void)a0, (void)a1, (void)a2, (void)a3;
	return 16; /* MPI_ERR_OTHER or a similar error in every MPI */
}

/* A function in the scope of a handle, by the first spelling that it has; NULL: none. */
static void *find_in(void *handle, uint32_t index)
{
	char name[64];
	void *symbol = NULL;

	for (int i = 0; symbol == NULL && spelling(name, index, i); i++)
		symbol = dlsym(handle, name);
	if (symbol == NULL)
		dlerror(); /* the program must not see our error */
	return symbol;
}

static struct je_meant find_meant(uint32_t index, const void *caller)
{
	struct je_meant meant = { NULL, false, false };
	char name[64];

	for (int i = 0; meant.symbol == NULL && spelling(name, index, i); i++)
		je_symbol_meant(caller, name, &meant);
	return meant;
}

/* Which MPI the scope of a handle has. */
static uintptr_t tag_of(void *handle)
{
	uintptr_t tag = (uintptr_t)dlsym(handle, "PMPI_Init");

	if (tag == JE_STUB)
		dlerror();
	return tag;
}

/* The MPI of a function that an object means; NULL: there is none. Its library is never closed,
 * since its functions are remembered. */
static struct mpi *mpi_of(const struct je_meant *meant)
{
	void *handle = meant->symbol == NULL ? NULL : je_handle_of(meant->symbol);

	if (handle == NULL)
		return NULL;
	return je_behind_of(&mpis, handle, meant->several ? JE_SEVERAL : tag_of(handle),
			    sizeof(struct mpi));
}

/* The MPI that an unknown caller reaches; NULL: there is none, or all objects see it. */
static JE_COLD struct mpi *find_mpi(uint32_t index, const void *caller, struct je_callers *callers)
{
	void *global = find_in(RTLD_NEXT, index);
	struct je_meant meant = { NULL, false, false };
	struct mpi *mpi;

	if (measured.local != NULL && je_is_ours(caller)) { /* life.c hands a measured call on */
		mpi = measured.local;
	} else if (global == NULL) {
		meant = find_meant(index, caller);
		mpi = mpi_of(&meant);
	} else if (measured.local == NULL && je_callers_empty(callers)) {
		__atomic_store_n(&je_next[index], global, __ATOMIC_RELEASE);
		return NULL;
	} else {
		mpi = je_behind_of(&mpis, RTLD_NEXT, tag_of(RTLD_NEXT), sizeof(*mpi));
	}
	if (mpi != NULL)
		je_caller_remember(callers, caller, mpi, meant.guessed);
	return mpi;
}

/* The MPI that a caller reaches with function `index`. */
static struct mpi *reached(uint32_t index, const void *caller)
{
	struct je_callers *callers = index < JE_STRIDE ? &of_c : &of_fortran;
	void *mpi = NULL;

	je_objects_count();
	return je_caller_known(callers, caller, &mpi) ? mpi : find_mpi(index, caller, callers);
}

/* A function of the MPI that a caller reaches. The caller may have it from another library of the
 * same MPI, or from another MPI. Only in the last case *mpi changes. */
static void *function_of(struct mpi **mpi, uint32_t index, const void *caller)
{
	void *next = __atomic_load_n(&(*mpi)->next[index], __ATOMIC_ACQUIRE);
	struct mpi *its = *mpi;

	if (next != NULL)
		return next;
	next = find_in(its->behind.handle, index);
	if (next == NULL) {
		struct je_meant meant = find_meant(index, caller);

		next = meant.symbol;
		its = mpi_of(&meant);
	}
	if (its != NULL && its->behind.tag != (*mpi)->behind.tag)
		*mpi = its;
	if (next != NULL)
		__atomic_store_n(&(*mpi)->next[index], next, __ATOMIC_RELEASE);
	return next;
}

/* Whether an MPI that objects reach by their own scope is not the measured one. */
static bool is_another(const struct mpi *mpi)
{
	uintptr_t tag = __atomic_load_n(&measured.tag, __ATOMIC_RELAXED);

	return mpi->behind.tag == JE_STUB || (tag != 0 && mpi->behind.tag != tag);
}

/* Where several may be meant, the one that the thread called last is the likeliest. */
JE_COLD void *je_find_next(uint32_t index, const void *caller, bool *passes)
{
	static __thread struct mpi *last;
	int saved = errno;
	struct mpi *mpi = reached(index, caller);
	bool unsure = mpi != NULL && mpi->behind.tag == JE_SEVERAL;

	if (!unsure)
		last = mpi;
	else if (last != NULL)
		mpi = last;

	void *next = mpi == NULL ? je_next_of(index) : function_of(&mpi, index, caller);

	*passes = next == NULL || unsure || (mpi != NULL && is_another(mpi));
	errno = saved;
	return next != NULL ? next : (void *)missing;
}

/* A lookup deletes the text that dlerror() keeps for the program. So all functions of a binding are
 * looked up when MPI begins. MPI itself opens libraries then, so the text would not last anyway. */
JE_COLD void je_find_all(uint32_t index, const void *caller)
{
	uint32_t n = sizeof(name_at) / sizeof(name_at[0]);
	struct mpi *mpi = reached(index, caller);
	void *handle = mpi == NULL ? RTLD_NEXT : mpi->behind.handle;
	void **next = mpi == NULL ? je_next : mpi->next;
	char name[64];

	for (uint32_t i = index - index % JE_STRIDE; n > 0; i++, n--) {
		if (next[i] != NULL || !spelling(name, i, 0))
			continue;

		void *symbol = dlsym(handle, name);

		if (symbol != NULL)
			__atomic_store_n(&next[i], symbol, __ATOMIC_RELEASE);
	}
	dlerror();
}

/* The global scope may have another MPI, or a stub, which is then not measured. In that case
 * je_next is emptied, so that each caller is looked up. */
JE_COLD void je_measure_mpi(uint32_t index, const void *caller)
{
	struct mpi *mpi = reached(index, caller);
	uintptr_t global = tag_of(RTLD_NEXT);

	if (mpi == NULL || mpi->behind.tag == global) {
		__atomic_store_n(&measured.tag, global, __ATOMIC_RELAXED);
		return;
	}
	measured.local = mpi;
	__atomic_store_n(&measured.tag, mpi->behind.tag, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < JE_BINDINGS * JE_STRIDE; i++)
		__atomic_store_n(&je_next[i], NULL, __ATOMIC_RELEASE);
}
