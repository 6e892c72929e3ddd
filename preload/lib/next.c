/* next.c: finds the function that a wrapper stands in front of. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

#include "jobeff.h"
#include "libc.h"

/* All names stand one after the other. A table of pointers would be relocated at each exec. */
struct names {
#define JE_CALL(number, name, lower, upper, ...) \
	char name[sizeof(#name)], f_##lower[sizeof(#lower)];
#include "../mpi_calls.def"
};
static const struct names names = {
#define JE_CALL(number, name, lower, upper, ...) #name, #lower,
#include "../mpi_calls.def"
};
static const struct {
	uint16_t c, fortran;
} name_at[] = {
#define JE_CALL(number, name, lower, upper, ...) \
	[number] = { offsetof(struct names, name), offsetof(struct names, f_##lower) },
#include "../mpi_calls.def"
};

void *je_next[JE_BINDINGS * JE_STRIDE];

static void *local_mpi; /* a handle that finds an MPI opened with RTLD_LOCAL */

void *je_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (symbol == NULL && local_mpi != NULL)
		symbol = dlsym(local_mpi, name);
	if (symbol == NULL)
		dlerror(); /* the program did not ask */
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

static void upper(char *text)
{
	for (; *text != '\0'; text++)
		if (*text >= 'a' && *text <= 'z')
			*text = (char)(*text - 'a' + 'A');
}

/* Writes spelling number `attempt` of a wrapped function; false: there are no more. */
static bool spelling(char *to, uint32_t index, int attempt)
{
	static const char after_name[][8] = { "_", "", "__", "" };
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
		if (attempt > 3)
			return false;
		join(to, "mpi_", fortran, after_name[attempt]);
		if (attempt == 3)
			upper(to);
		return true;
	}
}

bool je_is_ours(const void *address)
{
	Dl_info ours, theirs;

	return dladdr((void *)&je_next, &ours) != 0 && dladdr(address, &theirs) != 0 &&
	       ours.dli_fbase == theirs.dli_fbase;
}

void *je_handle_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) != 0 ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* A plugin that was opened with RTLD_LOCAL has its MPI in its own scope only. The MPI stays loaded
 * from now on, since its functions are remembered here. The plugin does not. Once the MPI is known
 * it is asked first: a plugin that ends in a call (a jump) leaves its own caller's address. */
static void *of_caller(const char *name, void *caller)
{
	void *known = local_mpi != NULL ? dlsym(local_mpi, name) : NULL;

	if (known != NULL)
		return known;

	void *plugin = je_handle_of(caller);
	void *symbol = plugin != NULL ? dlsym(plugin, name) : NULL;

	if (symbol != NULL && je_is_ours(symbol))
		symbol = NULL;
	if (symbol != NULL && local_mpi == NULL)
		local_mpi = je_handle_of(symbol);
	if (plugin != NULL)
		dlclose(plugin);
	return symbol;
}

/* Takes the place of a function that no MPI has. Without this library the program would have
 * ended with "undefined symbol". */
static int missing(intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3)
{
	(void)a0, (void)a1, (void)a2, (void)a3;
	return 16; /* MPI_ERR_OTHER or a similar error in every MPI */
}

JE_COLD void *je_find_next(uint32_t index, void *caller)
{
	char name[64];
	void *symbol = NULL;
	int saved = errno;

	for (int i = 0; symbol == NULL && spelling(name, index, i); i++)
		symbol = dlsym(RTLD_NEXT, name);
	for (int i = 0; symbol == NULL && spelling(name, index, i); i++)
		symbol = of_caller(name, caller);
	errno = saved;
	if (symbol == NULL)
		return (void *)missing;
	__atomic_store_n(&je_next[index], symbol, __ATOMIC_RELEASE);
	return symbol;
}

/* A lookup takes away the text that dlerror() has for the program. So the functions of a binding
 * are looked up once, when MPI begins: MPI opens its own parts then, and no text outlasts that. */
JE_COLD void je_find_all(uint32_t binding)
{
	uint32_t first = binding * JE_STRIDE, n = sizeof(name_at) / sizeof(name_at[0]);
	char name[64];

	for (uint32_t index = first; index < first + n; index++) {
		if (je_next_of(index) != NULL || !spelling(name, index, 0))
			continue;

		void *symbol = dlsym(RTLD_NEXT, name);

		if (symbol == NULL && local_mpi != NULL)
			symbol = dlsym(local_mpi, name);
		if (symbol != NULL)
			__atomic_store_n(&je_next[index], symbol, __ATOMIC_RELEASE);
	}
	dlerror();
}
