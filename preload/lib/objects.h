/* objects.h: the loaded objects, and which library each of them reaches behind us. */
#ifndef JOBEFF_OBJECTS_H
#define JOBEFF_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Whether the address lies in this library. */
bool je_is_ours(const void *address);

/* A new handle of the object in which the address lies; NULL: it lies in none. */
void *je_handle_of(const void *address);

/* The function of that name that the object with this code finds in its own scope. NULL: it finds
 * none, or ours. */
void *je_symbol_in_scope(const void *code, const char *name);

/* The function of that name that the object with this code means, if the global scope has none.
 */
struct je_meant {
	void *symbol; /* NULL: there is none in the process */
	bool guessed; /* its own scope has none: the first one of the process is taken */
	bool several; /* and the process has several */
};
void je_symbol_meant(const void *code, const char *name, struct je_meant *meant);

/* Offers `wanted` each function of that name in the scopes of the loaded libraries, until it takes
 * one; false: it took none. */
bool je_symbol_anywhere(const char *name, bool (*wanted)(void *symbol, void *to), void *to);

/* A library behind us. It is the first member of the structs that hold what is known about one. */
struct je_behind {
	struct je_behind *older;
	void *handle;  /* RTLD_NEXT: the one that every object sees */
	uintptr_t tag; /* what else tells two of them apart */
};

/* The list's entry for this library. If there is none, makes one of `bytes` zero bytes. NULL: there
 * is no memory. */
void *je_behind_of(struct je_behind **list, void *handle, uintptr_t tag, size_t bytes);

/* What callers reach. A caller is an object, found by an address in its code. */
enum { JE_CALLERS = 64 };
struct je_callers {
	struct je_caller {
		uintptr_t from, bytes; /* its code */
		void *behind;
		uint64_t stamp; /* atomic; valid while it equals a valid stamp (objects.c) */
	} list[JE_CALLERS];
};

/* Notes how many objects have been opened and closed. */
void je_objects_count(void);

/* Whether no caller was remembered yet. */
bool je_callers_empty(const struct je_callers *callers);

/* What a known caller reaches; false: the caller is not known. */
bool je_caller_known(struct je_callers *callers, const void *code, void **behind);

/* Remembers what a caller reaches until an object is closed: another one may lie there then. A
 * guess is also forgotten when an object is opened. */
void je_caller_remember(struct je_callers *callers, const void *code, void *behind, bool guessed);

#pragma GCC visibility pop

#endif
