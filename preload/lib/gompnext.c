/* gompnext.c: finds the OpenMP runtime that a caller of libgomp's functions would have reached
 * without this library.
 *
 * Every object looks into the global scope first. So if that has a libgomp behind us, every caller
 * means that one. Else a caller means the one of its own scope: Python opens its extensions with
 * RTLD_LOCAL, and wheels bring renamed copies of libgomp. Two copies in one process do not know
 * each other's threads, so a call must never reach the wrong one.
 *
 * A caller is an object, found by an address in its code, and remembered. Where it has no libgomp
 * in its scope, because only the program that opened it is linked to one, the process's only
 * libgomp is meant. If there are several, one of them gets the call, and nothing is measured.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "gomp.h"
#include "libc.h"
#include "openmp.h"

/* All names stand one after the other. A table of pointers would be relocated at each exec. */
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

/* The names have their numbers' order. */
static const char *name_of(uint32_t number)
{
	const char *name = (const char *)&names;

	while (number-- > 0)
		name += strlen(name) + 1;
	return name;
}

enum { JE_CALLERS = 64 };

struct je_runtime *je_gomp_global;
bool je_ompt_asked;

static struct je_runtime *runtimes; /* atomic */

static struct caller {
	uintptr_t from, bytes; /* its code */
	struct je_runtime *runtime;
	uint64_t closed; /* atomic; objects that were closed before it was filled in, + 1 */
} callers[JE_CALLERS];
static uint32_t callers_used;	   /* atomic */
static uint64_t closed_so_far = 1; /* atomic; objects that were closed, + 1 */

/* An object by an address in it. */
struct object {
	uintptr_t address;
	uintptr_t from, bytes; /* the segment of that address */
};

static int find_object(struct dl_phdr_info *info, size_t bytes, void *to)
{
	struct object *object = to;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD || object->address < from ||
		    object->address - from >= info->dlpi_phdr[i].p_memsz)
			continue;
		object->from = from;
		object->bytes = info->dlpi_phdr[i].p_memsz;
		return 1;
	}
	return 0;
}

/* A function in the scope of a loaded object, whose handle this closes. Nobody finds ours without
 * its version. NULL: there is none. */
static void *in_scope_of(void *handle, const char *name)
{
	void *symbol = handle == NULL ? NULL : dlsym(handle, name);

	if (handle != NULL)
		dlclose(handle);
	return symbol;
}

struct list {
	uint32_t skip; /* so many objects */
	char path[1024];
};

static int name_object(struct dl_phdr_info *info, size_t bytes, void *to)
{
	struct list *list = to;

	(void)bytes;
	if (list->skip-- > 0)
		return 0;
	strncpy(list->path, info->dlpi_name, sizeof(list->path) - 1);
	return 1;
}

/* The dynamic linker's locks allow no dlopen() inside dl_iterate_phdr(), so each object is named
 * on its own. */
bool je_symbol_anywhere(const char *name, bool (*wanted)(void *symbol, void *to), void *to)
{
	for (uint32_t i = 1;; i++) { /* 0 is the program */
		struct list list = { .skip = i };
		void *symbol;

		if (dl_iterate_phdr(name_object, &list) == 0)
			return false;
		symbol = in_scope_of(dlopen(list.path, RTLD_LAZY | RTLD_NOLOAD), name);
		if (symbol != NULL && wanted(symbol, to))
			return true;
	}
}

struct found {
	void *first;
	bool several;
};

static bool note_symbol(void *symbol, void *to)
{
	struct found *found = to;

	if (found->first == NULL)
		found->first = symbol;
	found->several = symbol != found->first;
	return found->several;
}

/* LLVM's and Intel's runtimes have libgomp's functions, too, and tell tools by OMPT. */
static bool is_libomp(void *handle)
{
	return handle != NULL && dlsym(handle, "__kmpc_fork_call") != NULL;
}

/* The runtime of a handle: RTLD_NEXT, or that of a library, which is never closed, so that it
 * stays loaded. NULL: there is no memory. Threads at once may list one twice, which does no
 * harm. */
static struct je_runtime *runtime_of(void *handle, uint32_t why)
{
	struct je_runtime *first = __atomic_load_n(&runtimes, __ATOMIC_ACQUIRE), *new;

	for (new = first; new != NULL; new = new->older)
		if (new->handle == handle)
			return new;
	new = mmap(NULL, sizeof(*new), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED)
		return NULL;
	new->handle = handle;
	new->why = why;
	do
		new->older = first;
	while (!__atomic_compare_exchange_n(&runtimes, &first, new, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	return new;
}

/* The runtime that has a function; NULL: there is none. */
static struct je_runtime *runtime_with(const void *symbol, bool everywhere, bool sure)
{
	uint32_t why = sure ? JE_OPENMP_KNOWN : JE_OPENMP_NO_RUNTIME;
	void *handle = symbol == NULL ? NULL : je_handle_of(symbol);

	if (handle == NULL)
		return NULL;
	if (is_libomp(handle))
		why = JE_OPENMP_NO_OMPT;
	return runtime_of(everywhere ? RTLD_NEXT : handle, why);
}

static struct je_runtime *find_runtime(const void *code, const char *name)
{
	struct found found = { NULL, false };
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol != NULL)
		return runtime_with(symbol, true, true);
	symbol = in_scope_of(je_handle_of(code), name);
	if (symbol == NULL) {
		je_symbol_anywhere(name, note_symbol, &found);
		symbol = found.first;
	}
	return runtime_with(symbol, false, !found.several);
}

static void remember_caller(const struct object *object, struct je_runtime *runtime)
{
	uint32_t i = __atomic_fetch_add(&callers_used, 1, __ATOMIC_RELAXED);

	if (i >= JE_CALLERS) {
		__atomic_store_n(&callers_used, JE_CALLERS, __ATOMIC_RELAXED);
		return;
	}
	callers[i].from = object->from;
	callers[i].bytes = object->bytes;
	callers[i].runtime = runtime;
	__atomic_store_n(&callers[i].closed, __atomic_load_n(&closed_so_far, __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
}

static JE_COLD struct je_runtime *find_caller(const void *code, uint32_t number)
{
	struct object object = { .address = (uintptr_t)code };
	bool first = __atomic_load_n(&callers_used, __ATOMIC_RELAXED) == 0;
	struct je_runtime *runtime = NULL;
	int saved = errno;

	dl_iterate_phdr(find_object, &object);
	if (!je_is_ours(code))
		runtime = find_runtime(code, name_of(number));
	if (runtime != NULL && runtime->handle == RTLD_NEXT && first)
		__atomic_store_n(&je_gomp_global, runtime, __ATOMIC_RELEASE);
	else
		remember_caller(&object, runtime);
	errno = saved;
	return runtime;
}

static int note_closed(struct dl_phdr_info *info, size_t bytes, void *nothing)
{
	(void)bytes, (void)nothing;
	__atomic_store_n(&closed_so_far, info->dlpi_subs + 1, __ATOMIC_RELAXED);
	return 1;
}

/* The runtime of a known caller; false: the caller is not known. Where an object was closed,
 * another one may stand now. */
static bool find_known(uintptr_t code, struct je_runtime **runtime)
{
	uint64_t closed = __atomic_load_n(&closed_so_far, __ATOMIC_RELAXED);
	uint32_t used = __atomic_load_n(&callers_used, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < used && i < JE_CALLERS; i++)
		if (__atomic_load_n(&callers[i].closed, __ATOMIC_ACQUIRE) == closed &&
		    code - callers[i].from < callers[i].bytes) {
			*runtime = callers[i].runtime;
			return true;
		}
	return false;
}

/* The program's function is called by ours, so where it ends in a jump to a function of libgomp,
 * the call seems to come from us. It means the runtime that the thread is in. */
struct je_runtime *je_gomp_runtime(const struct je_thread *me, const void *code, uint32_t number)
{
	struct je_runtime *runtime = NULL;

	if (me->runtime == NULL) /* inside a region nobody closes its code */
		dl_iterate_phdr(note_closed, NULL);
	if (!find_known((uintptr_t)code, &runtime))
		runtime = find_caller(code, number);
	return runtime != NULL ? runtime : me->runtime;
}

JE_COLD void *je_gomp_find(struct je_runtime *runtime, uint32_t number)
{
	int saved = errno;
	void *next = dlsym(runtime->handle, name_of(number));

	errno = saved;
	__atomic_store_n(&runtime->next[number], next, __ATOMIC_RELEASE);
	return next;
}
