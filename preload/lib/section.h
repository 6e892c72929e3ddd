/* section.h: the program's sections, which section.c keeps in the record. */
#ifndef JOBEFF_SECTION_LIB_H
#define JOBEFF_SECTION_LIB_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

/* A section's label, in the program's memory. It ends at a zero, or after `most` bytes. */
struct je_label {
	const char *text;
	uint32_t most; /* under JE_SECTION_LABEL */
};

static inline struct je_label je_label_of(const char *text, size_t most)
{
	return (struct je_label){ text,
				  most < JE_SECTION_LABEL ? (uint32_t)most : JE_SECTION_LABEL - 1 };
}

/* Records that a section is entered, or left. This works for the thread that called MPI_Init only,
 * between MPI_Init and MPI_Finalize, outside of MPI calls. */
void je_section_enter(struct je_label label);
void je_section_exit(struct je_label label);

/* The same for calls that leave without a label. A pop leaves what was pushed last. If no pushed
 * section is open, it leaves none: its push may have come before MPI_Init. */
void je_section_push(struct je_label label);
void je_section_pop(void);

/* Whether a call of MPI_Pcontrol is the program's own and may name a section. */
bool je_section_possible(void);

#pragma GCC visibility pop

#endif
