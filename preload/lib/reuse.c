/* reuse.c: slots of processes that are over are packed and used again.
 *
 * A script may start thousands of MPI programs, and the slots' pages are charged to the
 * job. A process that finalized and exits marks its slot as done. Whoever finds no free
 * slot packs those that are done into slots of kind JE_KIND_SUMMARY, without a loss: what
 * is zero is left out, which is most. The reader unpacks them.
 *
 * The packer holds the file's lock, which the kernel takes from it if it dies; nobody ever
 * waits for it. It may die anywhere: a slot is packed first, counted as packed then, and
 * freed last, so that at worst it is there twice, which the reader sees, or is lost to
 * further use.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "jobeff.h"

enum {
	JE_WORDS = JE_SLOT_BYTES / sizeof(uint64_t),
	JE_PACK_FIRST = 64,   /* claimed before anything is packed */
	JE_PACK_WORTH = 16,   /* fewer freed than this: wait for more */
	JE_PACK_MOST = 24576, /* larger ones keep their slot: packing gains little */
};

typedef uint64_t __attribute__((may_alias)) word; /* any field */

struct look { /* how every slot begins */
	uint32_t magic;
	uint16_t kind, reserved1;
	uint32_t bytes, parent, state;
};

struct packer {
	int fd;
	struct je_head *head;
	struct je_summary *summary; /* mapped; NULL: not yet */
	uint32_t freed;
};

/* The next run of words that are not all zero, at or after *at; its length, 0: no more. A
 * single zero word costs less inside a run than between two. */
static uint32_t next_run(const word *words, uint32_t *at)
{
	uint32_t end;

	while (*at < JE_WORDS && words[*at] == 0)
		++*at;
	for (end = *at; end < JE_WORDS; end++)
		if (words[end] == 0 && (end + 1 == JE_WORDS || words[end + 1] == 0))
			break;
	return end - *at;
}

/* Writes the packed form of a slot to `to`, NULL: nowhere; its length in bytes. */
static uint32_t pack(const word *words, word *to)
{
	uint32_t length = 1, at = 0, run;

	while ((run = next_run(words, &at)) != 0) {
		if (to != NULL) {
			to[length] = (uint64_t)at << 32 | run;
			memcpy(to + length + 1, words + at, run * sizeof(*words));
		}
		length += 1 + run;
		at += run;
	}
	if (to != NULL)
		to[0] = length * sizeof(*words);
	return length * sizeof(*words);
}

/* The slot that is being filled with packed ones, with room for `bytes`. */
static struct je_summary *summary_with(struct packer *packer, uint32_t bytes)
{
	struct je_head *head = packer->head;
	uint32_t index;

	if (packer->summary == NULL && head->summary != 0 && head->summary <= head->slots)
		packer->summary = je_slot_map(packer->fd, head->summary - 1);
	if (packer->summary != NULL && packer->summary->used <= JE_SUMMARY_BYTES - bytes)
		return packer->summary;
	if (packer->summary != NULL)
		je_slot_unmap(packer->summary);
	packer->summary =
		je_slot_take(head, head->slots, &index) ? je_slot_map_new(packer->fd, index) : NULL;
	if (packer->summary == NULL)
		return NULL;
	packer->summary->kind = JE_KIND_SUMMARY;
	packer->summary->bytes = JE_SLOT_BYTES;
	packer->summary->state = JE_STATE_RUNNING;
	JE_IN_ORDER();
	packer->summary->magic = JE_SLOT_MAGIC;
	head->summary = index + 1;
	return packer->summary;
}

static bool is_done(int fd, uint32_t index)
{
	struct look look;

	return pread(fd, &look, sizeof(look), (off_t)je_slot_at(index)) == sizeof(look) &&
	       look.magic == JE_SLOT_MAGIC && look.kind == JE_KIND_PROCESS &&
	       look.state == JE_STATE_DONE;
}

/* Packs one slot and frees it; false: there is no room to be had. */
static bool pack_slot(struct packer *packer, uint32_t index)
{
	struct je_slot *slot = je_slot_map(packer->fd, index);
	uint32_t bytes = slot == NULL ? 0 : pack((const word *)slot, NULL);
	struct je_summary *to = NULL;

	if (bytes > 0 && bytes <= JE_PACK_MOST)
		to = summary_with(packer, bytes);
	if (to != NULL) {
		pack((const word *)slot, (word *)(to->data + to->used));
		JE_IN_ORDER();
		to->used += bytes;
		JE_IN_ORDER();
		slot->magic = 0;
		JE_IN_ORDER(); /* no part of it is seen as a slot */
		memset(slot, 0, sizeof(*slot));
		__atomic_fetch_or(&packer->head->free_map[index / 64], 1ull << index % 64,
				  __ATOMIC_RELEASE);
		packer->freed++;
	}
	if (slot != NULL)
		je_slot_unmap(slot);
	return to != NULL || bytes > JE_PACK_MOST;
}

/* Packs what is done, where that is worth a look and nobody else is at it. */
void je_reuse_pack(int fd, struct je_head *head)
{
	struct packer packer = { .fd = fd, .head = head };
	uint32_t used = __atomic_load_n(&head->next, __ATOMIC_RELAXED);
	uint32_t from = head->pack_from != 0 ? head->pack_from : JE_PACK_FIRST;

	if (used < from || flock(fd, LOCK_EX | LOCK_NB) != 0)
		return;
	used = used < head->slots ? used : head->slots;
	for (uint32_t i = 0; i < used && i < JE_FREE_WORDS * 64; i++)
		if (is_done(fd, i) && !pack_slot(&packer, i))
			break;
	if (packer.freed < JE_PACK_WORTH)
		head->pack_from = used < head->slots ? used + JE_PACK_FIRST : UINT32_MAX;
	if (packer.summary != NULL)
		je_slot_unmap(packer.summary);
	flock(fd, LOCK_UN);
}
