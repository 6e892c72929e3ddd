/* claim.c: claims a slot of the record for a process, a thread, sections or OpenMP threads.
 *
 * Any failure means "no slot", and then nothing is measured.
 */
#include "jobeff.h"

/* Sections may not take the last quarter of the slots: processes that start later need it. */
static void *claim_in(int fd, struct je_head *head, bool for_sections, uint32_t *index)
{
	void *slot;
	uint32_t most = for_sections ? head->slots - head->slots / 4 : head->slots;
	uint32_t *full = for_sections ? &head->lost_sections : &head->lost_full;
	uint32_t *no_memory = for_sections ? &head->lost_sections : &head->lost_memory;

	if (!je_slot_take(head, 0, index)) { /* no freed one: pack before a new one is used */
		je_reuse_pack(fd, head);
		if (!je_slot_take(head, most, index)) {
			__atomic_fetch_add(full, 1, __ATOMIC_RELAXED);
			return NULL;
		}
	}
	slot = je_slot_map_new(fd, *index);
	if (slot == NULL)
		__atomic_fetch_add(no_memory, 1, __ATOMIC_RELAXED);
	return slot;
}

static void *claim(uint32_t *index, bool for_sections)
{
	void *slot;
	int fd;
	struct je_head *head = je_record_map(&fd);

	if (head == NULL)
		return NULL;
	slot = claim_in(fd, head, for_sections, index);
	je_record_unmap(head, fd);
	return slot;
}

/* Claims a slot, filled with zeros; NULL: there is none. */
JE_COLD struct je_slot *je_claim(uint32_t *index)
{
	return claim(index, false);
}

/* Does the same for sections, for which fewer slots are left. */
JE_COLD struct je_sections *je_claim_sections(uint32_t *index)
{
	return claim(index, true);
}

/* Does the same for OpenMP threads. */
JE_COLD struct je_openmp *je_claim_openmp(uint32_t *index)
{
	return claim(index, false);
}
