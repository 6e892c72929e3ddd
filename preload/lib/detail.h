/* detail.h: a section's detail: what it keeps besides its sums. A detail lies at the end of a slot
 * of sections, in entries that no label needs yet, so it takes no memory of its own. */
#ifndef JOBEFF_DETAIL_H
#define JOBEFF_DETAIL_H

#include "openmp.h"

#pragma GCC visibility push(hidden)

/* The detail of an entry of the slot; NULL: it has none. */
JE_HOT struct je_section_detail *je_detail_of(struct je_sections *slot,
					      const struct je_section *entry)
{
	uint32_t number = entry->detail - 1;

	return number < JE_DETAILS ? (void *)&slot->entries[je_detail_at(number)] : NULL;
}

/* Gives entry number `at` of the slot a detail, if there is room. A detail that lies where the
 * entry is goes away first. The caller has made je_sections.seq odd. */
void je_detail_give(struct je_sections *slot, uint32_t at);

/* Keeps an instance, or drops it. The caller has made je_sections.seq odd. */
void je_detail_keep(struct je_section_detail *detail, struct je_instance instance);

/* The useful time of each OpenMP thread in the instances of one label. While an instance is open,
 * each sum is reduced by what the thread had when it began. */
struct je_each {
	uint64_t useful[JE_TOLD_APART];
};

/* An instance begins; `each` may be NULL. */
void je_detail_begin(struct je_each *each, const struct je_threads *in);

/* Adds what OpenMP threads did in an instance. `each` may be NULL: then it is not known which
 * thread was the busiest. The caller has made je_sections.seq odd. */
void je_detail_add(struct je_section_detail *detail, struct je_each *each,
		   const struct je_threads *in, const struct je_threads *out);

#pragma GCC visibility pop

#endif
