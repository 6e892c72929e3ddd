/* objects.c: the loaded objects, and which library each of them reaches behind us.
 *
 * An object looks for a function in the global scope first. If only this library has it there, the
 * caller means the one in its own scope: hosts such as Python open plugins with RTLD_LOCAL. Two
 * MPIs, or two libgomps, do not know each other's objects, so a call must never reach the wrong
 * one.
 *
 * A caller's scope may lack the function, because only the program that opened the caller is linked
 * to it. Or a plugin's function ended in a jump to us, so that the plugin's caller seems to call.
 * Then the caller means the only such function of the process. If there are several, nobody can
 * know which.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "jobeff.h"
#include "libc.h"
#include "objects.h"

/* The valid stamps: an even one for what is sure, and an odd one for guesses. */
static uint64_t sure_stamp, guess_stamp; /* atomic */

bool je_is_ours(const void *address)
{
	Dl_info ours, theirs;

	return dladdr((const void *)&sure_stamp, &ours) != 0 && dladdr(address, &theirs) != 0 &&
	       ours.dli_fbase == theirs.dli_fbase;
}

void *je_handle_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) != 0 ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* A function in the scope of a loaded object. Closes the object's handle. */
static void *in_scope_of(void *handle, const char *name)
{
	void *symbol = handle == NULL ? NULL : dlsym(handle, name);

	if (handle != NULL)
		dlclose(handle);
	if (symbol == NULL)
		dlerror(); /* the program must not see our error */
	return symbol;
}

void *je_symbol_in_scope(const void *code, const char *name)
{
	void *symbol = in_scope_of(je_handle_of(code), name);

	return symbol != NULL && je_is_ours(symbol) ? NULL : symbol;
}

struct list {
	uint32_t skip; /* objects still to pass over */
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

static bool note_symbol(void *symbol, void *to)
{
	struct je_meant *meant = to;

	if (je_is_ours(symbol))
		return false;
	if (meant->symbol == NULL)
		meant->symbol = symbol;
	meant->several = symbol != meant->symbol;
	return meant->several;
}

void je_symbol_meant(const void *code, const char *name, struct je_meant *meant)
{
	*meant = (struct je_meant){ je_symbol_in_scope(code, name), false, false };
	if (meant->symbol == NULL) {
		meant->guessed = true;
		je_symbol_anywhere(name, note_symbol, meant);
	}
}

/* Two threads at once may list a library twice, which does no harm. */
void *je_behind_of(struct je_behind **list, void *handle, uintptr_t tag, size_t bytes)
{
	struct je_behind *first = __atomic_load_n(list, __ATOMIC_ACQUIRE), *new;

	for (new = first; new != NULL; new = new->older)
		if (new->handle == handle &&new->tag == tag)
			return new;
	new = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED)
		return NULL;
	new->handle = handle;
	new->tag = tag;
	do
		new->older = first;
	while (!__atomic_compare_exchange_n(list, &first, new, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	return new;
}

enum { JE_PAGE = 4096 };
enum { JE_FREE = 0, JE_TAKEN = 1 }; /* an entry's stamp: never used, being filled in */

static int count_objects(struct dl_phdr_info *info, size_t bytes, void *nothing)
{
	(void)bytes, (void)nothing;
	__atomic_store_n(&sure_stamp, 2 * info->dlpi_subs + 2, __ATOMIC_RELAXED);
	__atomic_store_n(&guess_stamp, 2 * (info->dlpi_adds + info->dlpi_subs) + 3,
			 __ATOMIC_RELAXED);
	return 1;
}

void je_objects_count(void)
{
	dl_iterate_phdr(count_objects, NULL);
}

static bool is_valid(uint64_t stamp)
{
	return stamp == __atomic_load_n(&sure_stamp, __ATOMIC_RELAXED) ||
	       stamp == __atomic_load_n(&guess_stamp, __ATOMIC_RELAXED);
}

bool je_callers_empty(const struct je_callers *callers)
{
	return __atomic_load_n(&callers->list[0].stamp, __ATOMIC_RELAXED) == JE_FREE;
}

bool je_caller_known(struct je_callers *callers, const void *code, void **behind)
{
	for (int i = 0; i < JE_CALLERS; i++) {
		const struct je_caller *caller = &callers->list[i];
		uint64_t stamp = __atomic_load_n(&caller->stamp, __ATOMIC_ACQUIRE);

		if (stamp == JE_FREE)
			return false;
		if (stamp == JE_TAKEN || !is_valid(stamp) ||
		    (uintptr_t)code - caller->from >= caller->bytes)
			continue;
		*behind = caller->behind;
		return true;
	}
	return false;
}

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

void je_caller_remember(struct je_callers *callers, const void *code, void *behind, bool guessed)
{
	/* code that was made at run time is in no object */
	struct object object = { (uintptr_t)code, (uintptr_t)code / JE_PAGE * JE_PAGE, JE_PAGE };
	uint64_t stamp = __atomic_load_n(guessed ? &guess_stamp : &sure_stamp, __ATOMIC_RELAXED);

	dl_iterate_phdr(find_object, &object);
	for (int i = 0; i < JE_CALLERS; i++) {
		struct je_caller *caller = &callers->list[i];
		uint64_t old = __atomic_load_n(&caller->stamp, __ATOMIC_RELAXED);

		if (old == JE_TAKEN || (old != JE_FREE && is_valid(old)) ||
		    !__atomic_compare_exchange_n(&caller->stamp, &old, JE_TAKEN, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		caller->from = object.from;
		caller->bytes = object.bytes;
		caller->behind = behind;
		__atomic_store_n(&caller->stamp, stamp, __ATOMIC_RELEASE);
		return;
	}
}
