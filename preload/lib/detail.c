/* detail.c: a section's detail: some of its instances, and what its OpenMP threads did.
 *
 * Labels fill a slot from its start, and details from its end. So a program with few labels has a
 * detail for each, and one with many loses the details of its later labels.
 */
#include <string.h>

#include "detail.h"

/* Takes away the detail with the highest number. */
static JE_COLD void give_up_last(struct je_sections *slot, uint32_t last)
{
	for (uint32_t i = 0; i < JE_SECTIONS_PER_SLOT && i < slot->used; i++)
		if (slot->entries[i].detail == last)
			slot->entries[i].detail = 0;
	memset(&slot->entries[je_detail_at(last - 1)], 0, JE_DETAIL_BYTES);
}

JE_COLD void je_detail_give(struct je_sections *slot, uint32_t at)
{
	uint32_t details = __atomic_load_n(&slot->details, __ATOMIC_RELAXED);

	if (details > JE_DETAILS) /* another process wrote here */
		details = 0;
	while (details > 0 && je_detail_at(details - 1) <= at)
		give_up_last(slot, details--);
	if (details < JE_DETAILS && je_detail_at(details) > at)
		slot->entries[at].detail = ++details;
	slot->details = details;
}

/* Makes room: k grows until one instance or more falls out. Returns how many are left. */
static JE_COLD uint32_t thin_out(struct je_section_detail *detail)
{
	uint32_t kept;

	do {
		detail->k++;
		kept = 0;
		for (uint32_t i = 0; i < JE_INSTANCES; i++)
			if (je_is_kept(detail->kept[i].number, detail->k))
				detail->kept[kept++] = detail->kept[i];
	} while (kept == JE_INSTANCES && detail->k < 63);
	detail->used = kept;
	return kept;
}

void je_detail_keep(struct je_section_detail *detail, struct je_instance instance)
{
	uint32_t used = __atomic_load_n(&detail->used, __ATOMIC_RELAXED);

	if (JE_LIKELY(!je_is_kept(instance.number, detail->k)))
		return;
	if (JE_UNLIKELY(used >= JE_INSTANCES)) {
		used = thin_out(detail);
		if (!je_is_kept(instance.number, detail->k))
			return;
	}
	if (used < JE_INSTANCES)
		detail->kept[used++] = instance;
	detail->used = used;
}

void je_detail_begin(struct je_each *each, const struct je_threads *in)
{
	if (JE_LIKELY(!in->any) || each == NULL)
		return;
	for (uint32_t i = 0; i < in->entries && i < JE_TOLD_APART; i++)
		each->useful[i] -= in->useful[i];
}

/* Adds the useful time of each thread, and returns the most that one has. */
static uint64_t add_each(struct je_each *each, const struct je_threads *out)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < out->entries; i++) {
		each->useful[i] += out->useful[i];
		if (each->useful[i] > most)
			most = each->useful[i];
	}
	return most;
}

void je_detail_add(struct je_section_detail *detail, struct je_each *each,
		   const struct je_threads *in, const struct je_threads *out)
{
	if (detail->openmp == 0) {
		detail->openmp = JE_SECTION_OPENMP_KNOWN;
		detail->busiest = each != NULL;
	}
	if (JE_LIKELY(!out->any))
		return;
	for (int i = 0; i < JE_SECTION_PARTS; i++)
		detail->parts[i] += out->parts[i] - (in->any ? in->parts[i] : 0);
	if (!out->whole || (in->any && !in->whole))
		detail->openmp = JE_SECTION_OPENMP_INSIDE;
	detail->busiest = each != NULL && out->entries <= JE_TOLD_APART;
	if (detail->busiest)
		detail->parts[JE_PART_USEFUL_MOST] = add_each(each, out);
}
