/* slot.c: takes a slot of the record, and maps it.
 *
 * A map of bits in the head names the slots that reuse.c freed. Slots are taken from it without
 * a lock. When it is empty, the next slot is one that nobody had yet.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"

/* Takes a slot out of the map of free slots; false: the map is empty. */
static bool take_freed(struct je_head *head, uint32_t *index)
{
	for (uint32_t w = 0; w < JE_FREE_WORDS; w++) {
		uint64_t bits = __atomic_load_n(&head->free_map[w], __ATOMIC_RELAXED);

		while (bits != 0) {
			uint64_t without = bits & (bits - 1);

			*index = w * 64 + (uint32_t)__builtin_ctzll(bits);
			if (!__atomic_compare_exchange_n(&head->free_map[w], &bits, without, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				continue;
			if (*index < head->slots)
				return true;
			bits = without;
		}
	}
	return false;
}

/* Takes a slot that was freed, else the next new one if its index is below `most`. False: there is
 * no such slot. */
bool je_slot_take(struct je_head *head, uint32_t most, uint32_t *index)
{
	if (take_freed(head, index))
		return true;
	if (__atomic_load_n(&head->next, __ATOMIC_RELAXED) >= most)
		return false;
	*index = __atomic_fetch_add(&head->next, 1, __ATOMIC_RELAXED);
	return *index < head->slots;
}

/* Gives the slot memory. A full file system fails here with ENOSPC; without this call a later
 * store would end the process with SIGBUS. Where fallocate is missing, zeros are written. */
static bool back(int fd, uint64_t at)
{
	static const char zeros[4096];

	for (int i = 0; i < 10; i++) {
		if (fallocate(fd, 0, (off_t)at, JE_SLOT_BYTES) == 0)
			return true;
		if (errno == EOPNOTSUPP || errno == ENOSYS)
			break;
		if (errno != EINTR)
			return false;
	}
	if (!je_may_write(at + JE_SLOT_BYTES))
		return false;
	for (uint64_t done = 0; done < JE_SLOT_BYTES; done += sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), (off_t)(at + done)) != sizeof(zeros))
			return false;
	return true;
}

/* Maps one slot. Pages may be larger than the head's 4 KiB, so the map starts with the page in
 * which the slot begins. */
void *je_slot_map(int fd, uint32_t index)
{
	uint64_t at = je_slot_at(index);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before = at % page;
	void *map = mmap(NULL, JE_SLOT_BYTES + before, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (off_t)(at - before));

	return map == MAP_FAILED ? NULL : (char *)map + before;
}

void je_slot_unmap(void *slot)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before = (uintptr_t)slot % page;

	munmap((char *)slot - before, JE_SLOT_BYTES + before);
}

/* Maps a slot that was just taken, filled with zeros; NULL: there is no memory for it. */
void *je_slot_map_new(int fd, uint32_t index)
{
	return back(fd, je_slot_at(index)) ? je_slot_map(fd, index) : NULL;
}
