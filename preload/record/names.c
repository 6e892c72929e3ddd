/* names.c: the names and classes of the functions, from mpi_calls.def. */
#include <stddef.h>

#include "names.h"

static const struct {
	const char *name;
	uint32_t class;
} rows[JE_FUNCS] = {
#define JE_CALL(number, name, lower, args, strings, class, ...) \
	[number] = { "MPI_" #name, JE_CLASS_##class },
#include "../mpi_calls.def"
#undef JE_CALL
};

const char *je_call_name(uint32_t number)
{
	return number < JE_FUNCS ? rows[number].name : NULL;
}

uint32_t je_call_class(uint32_t number)
{
	return number < JE_FUNCS ? rows[number].class : JE_CLASS_OTHER;
}
