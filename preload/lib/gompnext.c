/* gompnext.c: finds the OpenMP runtime that a caller of libgomp's functions would have reached
 * without this library.
 *
 * If the global scope has a libgomp behind us, every caller means that one. Else the caller means
 * the one in its own scope (objects.c): Python's wheels bring renamed copies of libgomp. Two copies
 * do not know each other's threads. If it is not known which is meant, one of them gets the call,
 * and nothing is measured.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "gomp.h"
#include "libc.h"
#include "openmp.h"

/* All names lie one after the other. A table of pointers would be relocated at each exec. */
static const struct {
#define JE_GOMP_REGION(name, version, args) char name[sizeof(#name)];
#define JE_GOMP_CALL(name, version, state, args) char name[sizeof(#name)];
#define JE_GOMP_OLD(name, version, args) char name[sizeof(#name)];
#define JE_GOMP_TASK(name, version) char name[sizeof(#name)];
#define JE_GOMP_ASKED(name) char name[sizeof(#name)];
#include "../gomp_calls.def"
} names = {
#define JE_GOMP_REGION(name, version, args) #name,
#define JE_GOMP_CALL(name, version, state, args) #name,
#define JE_GOMP_OLD(name, version, args) #name,
#define JE_GOMP_TASK(name, version) #name,
#define JE_GOMP_ASKED(name) #name,
#include "../gomp_calls.def"
};

/* The names are in the order of their numbers. */
static const char *name_of(uint32_t number)
{
	const char *name = (const char *)&names;

	while (number-- > 0)
		name += strlen(name) + 1;
	return name;
}

struct je_runtime *je_gomp_global;
bool je_ompt_asked;

static struct je_behind *runtimes; /* atomic */
static struct je_callers callers;

/* LLVM's and Intel's runtimes have libgomp's functions, too. They report to tools by OMPT. */
static bool is_libomp(void *handle)
{
	return handle != NULL && dlsym(handle, "__kmpc_fork_call") != NULL;
}

/* The runtime that has a function; NULL: there is none, or no memory. Its handle is never closed,
 * so that its library stays loaded. */
static struct je_runtime *runtime_with(const void *symbol, bool everywhere, bool sure)
{
	uint32_t why = sure ? JE_OPENMP_KNOWN : JE_OPENMP_NO_RUNTIME;
	void *handle = symbol == NULL ? NULL : je_handle_of(symbol);

	if (handle == NULL)
		return NULL;
	if (is_libomp(handle))
		why = JE_OPENMP_NO_OMPT;
	return je_behind_of(&runtimes, everywhere ? RTLD_NEXT : handle, why,
			    sizeof(struct je_runtime));
}

static JE_COLD struct je_runtime *find_caller(const void *code, uint32_t number)
{
	bool ours = je_is_ours(code);
	struct je_meant meant = { ours ? NULL : dlsym(RTLD_NEXT, name_of(number)), false, false };
	bool everywhere = meant.symbol != NULL;
	struct je_runtime *runtime;

	if (!ours && !everywhere)
		je_symbol_meant(code, name_of(number), &meant);
	runtime = runtime_with(meant.symbol, everywhere, !meant.several);
	if (runtime != NULL && everywhere && je_callers_empty(&callers))
		__atomic_store_n(&je_gomp_global, runtime, __ATOMIC_RELEASE);
	else
		je_caller_remember(&callers, code, runtime, meant.guessed);
	return runtime;
}

/* Our function calls the program's. If that ends in a jump to a function of libgomp, the call seems
 * to come from us. It then means the runtime that the thread is in. */
struct je_runtime *je_gomp_runtime(const struct je_thread *me, const void *code, uint32_t number)
{
	void *runtime = NULL;
	int saved = errno;

	if (me->runtime == NULL) /* nobody unloads the code of an open region */
		je_objects_count();
	if (!je_caller_known(&callers, code, &runtime))
		runtime = find_caller(code, number);
	errno = saved;
	return runtime != NULL ? runtime : me->runtime;
}

JE_COLD void *je_gomp_find(struct je_runtime *runtime, uint32_t number)
{
	int saved = errno;
	void *next = dlsym(runtime->behind.handle, name_of(number));

	errno = saved;
	__atomic_store_n(&runtime->next[number], next, __ATOMIC_RELEASE);
	return next;
}
