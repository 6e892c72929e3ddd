/* section.h: sections of the program, as section.c keeps them in the record. */
#ifndef JOBEFF_SECTION_LIB_H
#define JOBEFF_SECTION_LIB_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

/* The label of a section where the program has it: it ends at a zero, or after `most` bytes. */
struct je_label {
	const char *text;
	uint32_t most; /* under JE_SECTION_LABEL */
};

static inline struct je_label je_label_of(const char *text, size_t most)
{
	return (struct je_label){ text,
				  most < JE_SECTION_LABEL ? (uint32_t)most : JE_SECTION_LABEL - 1 };
}

/* Record that a section is entered, or left. Only what the thread that called MPI_Init
 * does between MPI_Init and MPI_Finalize, outside of MPI, is recorded. */
void je_section_enter(struct je_label label);
void je_section_exit(struct je_label label);

/* Tells whether a call of MPI_Pcontrol is the program's own and may name a section. */
bool je_section_possible(void);

#pragma GCC visibility pop

#endif
