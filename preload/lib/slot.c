/* slot.c: takes a slot of the record, and maps it.
 *
 * Slots that were freed (reuse.c) stand in a map of bits, which is taken from without a
 * lock; the others follow one after the other.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"

/* Takes a slot out of the map of free ones; false: there is none. */
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

/* Takes a free slot: one that was freed, else the next one of the first `most`; false: there
 * is none. */
bool je_slot_take(struct je_head *head, uint32_t most, uint32_t *index)
{
	if (take_freed(head, index))
		return true;
	if (__atomic_load_n(&head->next, __ATOMIC_RELAXED) >= most)
		return false;
	*index = __atomic_fetch_add(&head->next, 1, __ATOMIC_RELAXED);
	return *index < head->slots;
}

/* Backs the slot with memory: a full file system is ENOSPC here, SIGBUS at a later store.
 * Where fallocate is not known, zeros do it. */
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

/* Maps the slot alone. Pages may be larger than the head's 4 KiB: the map starts at the
 * page that the slot starts in. */
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

/* Backs and maps a slot that was taken just now, zeroed; NULL: there is no memory for it. */
void *je_slot_map_new(int fd, uint32_t index)
{
	return back(fd, je_slot_at(index)) ? je_slot_map(fd, index) : NULL;
}
