/* names.h: what the Go package needs of ../mpi_calls.def and of the clocks. */
#ifndef JOBEFF_NAMES_H
#define JOBEFF_NAMES_H

#include "record.h"

/* The C name of function `number`, NULL where the table has no such row. */
const char *je_call_name(uint32_t number);

/* Its class, enum je_class. */
uint32_t je_call_class(uint32_t number);

/* Reads one moment on the clock `kind` (enum je_clock). Returns 0, or -1 where
 * this machine has no such clock. */
int je_read_pair(uint32_t kind, struct je_pair *pair);

#endif
