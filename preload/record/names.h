/* names.h: what the Go package needs of ../mpi_calls.def. */
#ifndef JOBEFF_NAMES_H
#define JOBEFF_NAMES_H

#include "record.h"

/* The C name of function `number`; NULL: the table has no such row. */
const char *je_call_name(uint32_t number);

/* The class of function `number`, enum je_class. */
uint32_t je_call_class(uint32_t number);

#endif
