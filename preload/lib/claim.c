/* claim.c: claims a slot of the record for a process, a thread, sections, OpenMP threads or
 * windows.
 *
 * Any failure means "no slot", and then nothing is measured.
 */
#include "jobeff.h"

/* what a slot is wanted for */
enum wish { WISH_PROCESS, WISH_SECTIONS, WISH_WINDOWS };

/* Sections may not take the last quarter of the slots, and windows not the last half: processes and
 * threads that start later need them. */
static uint32_t most_of(const struct je_head *head, enum wish wish)
{
	if (wish == WISH_WINDOWS)
		return head->slots / 2;
	return wish == WISH_SECTIONS ? head->slots - head->slots / 4 : head->slots;
}

/* Counts a slot that could not be given. The log of windows itself records what it lacks. */
static void note_lost(struct je_head *head, enum wish wish, uint32_t *of_process)
{
	if (wish != WISH_WINDOWS)
		__atomic_fetch_add(wish == WISH_SECTIONS ? &head->lost_sections : of_process, 1,
				   __ATOMIC_RELAXED);
}

static void *claim_in(int fd, struct je_head *head, enum wish wish, uint32_t *index)
{
	void *slot;

	if (!je_slot_take(head, 0, index)) { /* no freed one: pack before a new one is used */
		je_reuse_pack(fd, head);
		if (!je_slot_take(head, most_of(head, wish), index)) {
			note_lost(head, wish, &head->lost_full);
			return NULL;
		}
	}
	slot = je_slot_map_new(fd, *index);
	if (slot == NULL)
		note_lost(head, wish, &head->lost_memory);
	return slot;
}

static void *claim(uint32_t *index, enum wish wish, uint32_t most)
{
	void *slot = NULL;
	int fd;
	struct je_head *head = je_record_map(&fd);

	if (head == NULL)
		return NULL;
	if (wish != WISH_WINDOWS || __atomic_fetch_add(&head->windows, 1, __ATOMIC_RELAXED) < most)
		slot = claim_in(fd, head, wish, index);
	je_record_unmap(head, fd);
	return slot;
}

/* Claims a slot, filled with zeros; NULL: there is none. */
JE_COLD struct je_slot *je_claim(uint32_t *index)
{
	return claim(index, WISH_PROCESS, 0);
}

/* Does the same for sections, for which fewer slots are left. */
JE_COLD struct je_sections *je_claim_sections(uint32_t *index)
{
	return claim(index, WISH_SECTIONS, 0);
}

/* Does the same for OpenMP threads. */
JE_COLD struct je_openmp *je_claim_openmp(uint32_t *index)
{
	return claim(index, WISH_PROCESS, 0);
}

/* Does the same for windows, for which the fewest are left: all processes together get at most
 * `most`. */
JE_COLD struct je_windows *je_claim_windows(uint32_t *index, uint32_t most)
{
	return claim(index, WISH_WINDOWS, most);
}
