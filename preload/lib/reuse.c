/* reuse.c: packs slots of finished processes, so that others can use them.
 *
 * A script may start thousands of MPI programs, and the kernel charges the slots' pages to the job.
 * A process that called MPI_Finalize, or never called MPI, marks its slots as done at its exit. A
 * process that finds no free slot packs the done ones into slots of kind JE_KIND_SUMMARY. Packing
 * loses nothing: it leaves out the zeros, which are most of a slot. The reader unpacks them.
 *
 * The packer holds a lock on the file. Nobody ever waits for it, and the kernel releases it if
 * the packer dies. The packer may die at any point: it first packs a slot, then counts it as
 * packed, and frees it last. At worst a slot is there twice, which the reader notices, or is
 * never used again.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "jobeff.h"

enum {
	JE_WORDS = JE_SLOT_BYTES / sizeof(uint64_t),
	JE_PACK_FIRST = 64,   /* slots that are claimed before the first packing */
	JE_PACK_WORTH = 16,   /* if packing frees fewer, the next attempt waits for more slots */
	JE_PACK_MOST = 24576, /* packed bytes; a larger one keeps its slot, packing gains little */
};

typedef uint64_t __attribute__((may_alias)) word; /* reads any field */

struct look { /* the first bytes of every slot */
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

/* Sets *at to the next run of non-zero words and returns its length; 0: there are no more. A run
 * may contain single zero words: a new run would cost more. */
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

/* Writes the packed form of a slot to `to`, at most `most` words. Returns its length in bytes; 0:
 * it is longer. Another process may write to the slot meanwhile, so each run is measured and copied
 * once, and its length is compared with the room that is left. */
static uint32_t pack(const word *words, word *to, uint32_t most)
{
	uint32_t length = 1, at = 0, run;

	while ((run = next_run(words, &at)) != 0) {
		if (length + 1 + run > most)
			return 0;
		to[length] = (uint64_t)at << 32 | run;
		memcpy(to + length + 1, words + at, run * sizeof(*words));
		length += 1 + run;
		at += run;
	}
	if (length > most)
		return 0;
	to[0] = length * sizeof(*words);
	return length * sizeof(*words);
}

/* How many bytes a summary has left. 0 if `used` holds what no packer writes: any process of the
 * user may write there. */
static uint32_t room_of(uint32_t used)
{
	return used < JE_SUMMARY_BYTES && used % sizeof(word) == 0 ? JE_SUMMARY_BYTES - used : 0;
}

/* Appends a slot, packed, to a summary; false: there is no room for it. */
static bool append(struct je_summary *to, const struct je_slot *slot)
{
	uint32_t used = __atomic_load_n(&to->used, __ATOMIC_RELAXED);
	uint32_t room = room_of(used), most = room < JE_PACK_MOST ? room : JE_PACK_MOST, bytes;

	if (room == 0)
		return false;
	bytes = pack((const word *)slot, (word *)(to->data + used), most / sizeof(word));
	JE_IN_ORDER();
	to->used = used + bytes;
	return bytes > 0;
}

/* The summary that is being filled; NULL: there is none. */
static struct je_summary *open_summary(struct packer *packer)
{
	uint32_t next = packer->head->summary;

	if (packer->summary == NULL && next != 0 && next <= packer->head->slots)
		packer->summary = je_slot_map(packer->fd, next - 1);
	return packer->summary;
}

/* An empty summary; NULL: there is no slot for it. */
static struct je_summary *new_summary(struct packer *packer)
{
	struct je_head *head = packer->head;
	uint32_t index;

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
	       look.magic == JE_SLOT_MAGIC &&
	       (look.kind == JE_KIND_PROCESS || look.kind == JE_KIND_OPENMP) &&
	       look.state == JE_STATE_DONE;
}

/* Packs one slot and frees it; false: there is no room for it. A slot that an empty summary does
 * not take is too long, and stays. */
static bool pack_slot(struct packer *packer, uint32_t index)
{
	struct je_slot *slot = je_slot_map(packer->fd, index);
	struct je_summary *to = slot == NULL ? NULL : open_summary(packer);
	bool packed = to != NULL && append(to, slot);

	if (slot != NULL && !packed && (to == NULL || room_of(to->used) < JE_PACK_MOST)) {
		to = new_summary(packer);
		packed = to != NULL && append(to, slot);
	}
	if (packed) {
		JE_IN_ORDER();
		slot->magic = 0;
		JE_IN_ORDER(); /* no part of it is seen as a slot */
		memset(slot, 0, sizeof(union je_any_slot));
		__atomic_fetch_or(&packer->head->free_map[index / 64], 1ull << index % 64,
				  __ATOMIC_RELEASE);
		packer->freed++;
	}
	if (slot != NULL)
		je_slot_unmap(slot);
	return to != NULL;
}

/* Packs the done slots, if enough were claimed and no other process is packing. */
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
