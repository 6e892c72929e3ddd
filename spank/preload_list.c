/* preload_list.c: LD_PRELOAD as a list. This is text only, so its tests need no Slurm.
 *
 * The user's own entries keep their bytes and their order. Ours comes before them: behind a tool
 * that replaces MPI_X and calls PMPI_X it would see nothing. Only those that must be first stay
 * before it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "jobeff_spank.h"

/* ld.so separates entries by these. */
#define JE_SEPARATORS ": "

/* The length of a path's folder, without slashes and $PLATFORM at its end. */
static size_t folder_size(const char *path, size_t n)
{
	size_t lib = strlen(JE_LIB);

	for (; n > 0 && path[n - 1] == '/'; n--)
		;
	return n >= lib && memcmp(path + n - lib, JE_LIB, lib) == 0 ? n - lib : n;
}

/* Whether a token is our library, with or without $PLATFORM. An outer step may come from a node
 * with another layout, and a shell that expands the variable makes $PLATFORM an empty word. */
static bool is_entry(const char *token, size_t n, const char *library)
{
	const char *name = memrchr(token, '/', n), *ours = strrchr(library, '/');
	size_t folder;

	if (name == NULL || ours == NULL || (size_t)(token + n - name) != strlen(ours) ||
	    memcmp(name, ours, strlen(ours)) != 0)
		return false;
	folder = folder_size(token, (size_t)(name - token));
	return folder == folder_size(library, (size_t)(ours - library)) &&
	       memcmp(token, library, folder) == 0;
}

/* The list without our library; a NULL list is an empty one. */
char *je_preload_strip(const char *list, const char *library)
{
	char *out = calloc(1, (list != NULL ? strlen(list) : 0) + 1);
	size_t used = 0;

	for (const char *at = list; out != NULL && at != NULL && *at != '\0';) {
		size_t n = strcspn(at, JE_SEPARATORS);

		if (!is_entry(at, n, library)) {
			size_t all = n + (at[n] != '\0');

			memcpy(out + used, at, all);
			used += all;
		} else if (at[n] == '\0' && used > 0) {
			used--; /* the separator before it goes, too */
		}
		at += n + (at[n] != '\0');
	}
	if (out != NULL)
		out[used] = '\0';
	return out;
}

/* An entry with one of these in it has to be loaded before all others. */
static const char *const first_of_all[] = { "libasan", "libtsan", "libclang_rt", "valgrind" };

static bool is_first(const char *token, size_t n)
{
	for (size_t i = 0; i < sizeof(first_of_all) / sizeof(*first_of_all); i++)
		if (memmem(token, n, first_of_all[i], strlen(first_of_all[i])) != NULL)
			return true;
	return false;
}

/* The length of the list up to the end of the last entry that has to be first. */
static size_t before_ours(const char *list)
{
	size_t end = 0, n;

	for (const char *at = list; *at != '\0'; at += n + (at[n] != '\0')) {
		n = strcspn(at, JE_SEPARATORS);
		if (is_first(at, n))
			end = (size_t)(at - list) + n;
	}
	return end;
}

/* The list, with our library once: before all that need not be first. */
char *je_preload_join(const char *list, const char *library)
{
	char *own = je_preload_strip(list, library), *out = NULL;

	if (own == NULL)
		return NULL;

	int before = (int)before_ours(own);
	const char *after = own + before;

	if (asprintf(&out, "%.*s%s%s%s%s", before, own, before > 0 ? ":" : "", library,
		     before == 0 && *after != '\0' ? ":" : "", after) < 0)
		out = NULL;
	free(own);
	return out;
}

/* Whether the user preloads another build of our library. Two in one process would count twice. */
bool je_preload_other(const char *list, const char *library)
{
	static const char name[] = "/libjobeff.so";
	size_t want = sizeof(name) - 1;

	for (const char *at = list; at != NULL && *at != '\0';) {
		size_t n = strcspn(at, JE_SEPARATORS);

		if (n >= want && memcmp(at + n - want, name, want) == 0 &&
		    !is_entry(at, n, library))
			return true;
		at += n + (at[n] != '\0');
	}
	return false;
}
