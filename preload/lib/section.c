/* section.c: keeps the program's sections in slots of the record.
 *
 * A section's time in MPI is the growth of je_slot.mpi_ticks between enter and exit. So the
 * wrappers of MPI calls know nothing about sections. The record also holds the open sections:
 * the fold then knows where a killed rank was. A label is found by its text, because two places
 * of a program may use the same label.
 */
#include <errno.h>
#include <string.h>

#include "detail.h"
#include "section.h"
#include "ticks.h"

_Static_assert(JE_SECTION_DEPTH <= 64, "a bit per open section");

enum { JE_BUCKETS = 2048, JE_SEEN = 16, JE_NOT_FOUND = UINT16_MAX };

/* An entry's number counts over all slots of the process. Number 0 is JE_SECTION_OTHERS. */
static struct {
	struct je_sections *slots[JE_SECTIONS_SLOTS];
	uint32_t slots_used;
	uint32_t labels;		       /* entries used */
	uint32_t depth;			       /* as in the record */
	uint32_t deeper;		       /* open sections beyond JE_SECTION_DEPTH */
	uint64_t pushed;		       /* a bit per open section that was pushed */
	bool tried;			       /* the first slot was claimed, or that failed */
	bool full;			       /* no room for further labels */
	uint16_t buckets[JE_BUCKETS];	       /* first entry of a hash; 0: none */
	uint16_t links[JE_SECTION_LABELS + 1]; /* next entry of the same bucket */
	uint32_t hashes[JE_SECTION_LABELS + 1];
	struct je_threads in[JE_SECTION_DEPTH]; /* at the entry of each open section */
	struct je_each each[JE_DETAILS];	/* of the details of the first slot */
	struct { /* by address of the label: most programs pass string constants */
		const char *text;
		uint32_t number;
	} seen[JE_SEEN];
} all;

static uint32_t hash_of(const struct je_label *label)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < label->most && label->text[i] != '\0'; i++)
		hash = (hash ^ (uint8_t)label->text[i]) * 16777619u;
	return hash;
}

static struct je_section *entry_of(uint32_t number)
{
	return &all.slots[number / JE_SECTIONS_PER_SLOT]->entries[number % JE_SECTIONS_PER_SLOT];
}

static struct je_section_detail *detail_of(uint32_t number)
{
	return je_detail_of(all.slots[number / JE_SECTIONS_PER_SLOT], entry_of(number));
}

/* What each thread did in a label's instances; NULL: that is not kept. */
static struct je_each *each_of(uint32_t number)
{
	uint32_t detail = entry_of(number)->detail - 1;

	return number < JE_SECTIONS_PER_SLOT && detail < JE_DETAILS ? &all.each[detail] : NULL;
}

/* Claims one more slot for entries. */
static JE_COLD bool claim_more(void)
{
	uint32_t order = all.slots_used, index;
	int saved = errno;
	struct je_sections *slot = NULL;

	if (order < JE_SECTIONS_SLOTS)
		slot = je_claim_sections(&index);
	je_process.sections = true;
	errno = saved;
	if (slot == NULL)
		return false;
	slot->kind = JE_KIND_SECTIONS;
	slot->bytes = JE_SLOT_BYTES;
	slot->parent = je_process.index;
	slot->pid = je_process.slot->pid;
	slot->init_ticks = je_process.slot->init_enter_ticks;
	slot->order = order;
	JE_IN_ORDER();
	slot->state = JE_STATE_RUNNING;
	slot->magic = JE_SLOT_MAGIC;
	__atomic_store_n(&all.slots[order], slot, __ATOMIC_RELEASE);
	all.slots_used++;
	return true;
}

/* The first slot; NULL: there is none. Its first entry sums up labels that found no room. */
static struct je_sections *first_slot(void)
{
	if (JE_LIKELY(all.slots[0] != NULL) || all.tried)
		return all.slots[0];
	all.tried = true;
	if (!claim_more())
		return NULL;
	memcpy(entry_of(0)->label, JE_SECTION_OTHERS, sizeof(JE_SECTION_OTHERS));
	all.labels = all.slots[0]->used = 1;
	return all.slots[0];
}

/* The label of an entry is padded with zeros. */
static bool matches(uint32_t number, const struct je_label *label)
{
	const char *text = entry_of(number)->label;

	return strncmp(text, label->text, label->most) == 0 && text[label->most] == '\0';
}

static uint32_t find_label(const struct je_label *label)
{
	uint32_t seen = (uint32_t)((uintptr_t)label->text / 8 % JE_SEEN);
	uint32_t number = all.seen[seen].number, hash;

	if (JE_LIKELY(all.seen[seen].text == label->text && matches(number, label)))
		return number;
	hash = hash_of(label);
	for (number = all.buckets[hash % JE_BUCKETS]; number != 0; number = all.links[number]) {
		if (all.hashes[number] != hash || !matches(number, label))
			continue;
		all.seen[seen].text = label->text;
		all.seen[seen].number = number;
		return number;
	}
	return all.full ? 0 : JE_NOT_FOUND;
}

/* Adds a label and returns its number; 0: there is no room for it. */
static JE_COLD uint32_t add_label(const struct je_label *label)
{
	uint32_t number = all.labels, hash = hash_of(label), bucket = hash % JE_BUCKETS;

	if (number > JE_SECTION_LABELS ||
	    (number / JE_SECTIONS_PER_SLOT >= all.slots_used && !claim_more())) {
		all.full = true;
		return 0;
	}

	struct je_sections *slot = all.slots[number / JE_SECTIONS_PER_SLOT];

	all.slots[0]->seq++;
	JE_IN_ORDER();
	je_detail_give(slot, number % JE_SECTIONS_PER_SLOT);
	strncpy(entry_of(number)->label, label->text, label->most);
	slot->used++;
	JE_IN_ORDER();
	all.slots[0]->seq++;
	all.hashes[number] = hash;
	all.links[number] = all.buckets[bucket];
	all.buckets[bucket] = (uint16_t)number;
	all.labels++;
	return number;
}

/* Whether this thread's sections are recorded now. Other threads' are counted as ignored. */
static bool is_here(void)
{
	struct je_sections *first;

	if (!__atomic_load_n(&je_process.running, __ATOMIC_RELAXED))
		return false;
	if (JE_LIKELY(je_ready(&je_me) != NULL && je_ready(&je_me) == je_process.slot))
		return true;
	first = __atomic_load_n(&all.slots[0], __ATOMIC_ACQUIRE);
	if (first != NULL)
		__atomic_fetch_add(&first->ignored, 1, __ATOMIC_RELAXED);
	return false;
}

bool je_section_possible(void)
{
	return je_ready(&je_me) != NULL && je_ready(&je_me) == je_process.slot;
}

static bool is_open_below(const struct je_sections *first, uint32_t depth, uint32_t number)
{
	while (depth > 0)
		if (first->open[--depth].section == number)
			return true;
	return false;
}

void je_section_enter(struct je_label label)
{
	struct je_sections *first;

	if (!is_here() || (first = first_slot()) == NULL)
		return;
	if (all.depth == JE_SECTION_DEPTH) {
		all.deeper++;
		first->deep++;
		return;
	}

	uint32_t number = find_label(&label);

	if (JE_UNLIKELY(number == JE_NOT_FOUND))
		number = add_label(&label);

	struct je_section_open *open = &first->open[all.depth];

	first->seq++;
	JE_IN_ORDER();
	open->section = number;
	open->inner_ticks = open->inner_mpi_ticks = open->inner_io_ticks = 0;
	open->in_mpi_ticks = je_process.slot->mpi_ticks;
	open->in_io_ticks = je_process.slot->io_ticks;
	uint64_t count = ++entry_of(number)->count;
	open->number = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	je_openmp_threads(&all.in[all.depth]);
	if (JE_UNLIKELY(all.in[all.depth].any) && !is_open_below(first, all.depth, number))
		je_detail_begin(each_of(number), &all.in[all.depth]);
	first->depth = ++all.depth;
	open->in_ticks = first->last_ticks = je_ticks();
	JE_IN_ORDER();
	first->seq++;
}

/* Closes the innermost open section. */
static void close_innermost(struct je_sections *first, uint64_t now)
{
	struct je_threads threads;
	uint32_t depth = all.depth - 1;
	const struct je_section_open *open = &first->open[depth];
	uint32_t number = open->section % all.labels;
	struct je_section *entry = entry_of(number);
	struct je_section_detail *detail = detail_of(number);
	uint64_t ticks = now - open->in_ticks;
	uint64_t mpi_ticks = je_process.slot->mpi_ticks - open->in_mpi_ticks;
	uint64_t io_ticks = je_process.slot->io_ticks - open->in_io_ticks;

	je_openmp_threads(&threads);
	first->seq++;
	JE_IN_ORDER();
	first->last_ticks = now;
	entry->own_ticks += ticks - open->inner_ticks;
	entry->own_mpi_ticks += mpi_ticks - open->inner_mpi_ticks;
	entry->own_io_ticks += io_ticks - open->inner_io_ticks;
	if (detail != NULL && open->number != UINT32_MAX)
		je_detail_keep(detail, (struct je_instance){ open->number, open->in_ticks, now });
	if (!is_open_below(first, depth, open->section)) {
		entry->ticks += ticks;
		entry->mpi_ticks += mpi_ticks;
		entry->io_ticks += io_ticks;
		if (detail != NULL)
			je_detail_add(detail, each_of(number), &all.in[depth], &threads);
	}
	if (depth > 0) {
		first->open[depth - 1].inner_ticks += ticks;
		first->open[depth - 1].inner_mpi_ticks += mpi_ticks;
		first->open[depth - 1].inner_io_ticks += io_ticks;
	}
	first->depth = all.depth = depth;
	all.pushed &= ~(UINT64_C(1) << depth);
	JE_IN_ORDER();
	first->seq++;
}

/* Keeps both labels of a wrong exit. */
static JE_COLD void note_wrong(struct je_sections *first, const struct je_label *label)
{
	char open[JE_SECTION_LABEL] = "", exited[JE_SECTION_LABEL] = "";

	if (all.depth > 0)
		memcpy(open, entry_of(first->open[all.depth - 1].section % all.labels)->label,
		       sizeof(open));
	strncpy(exited, label->text, label->most);
	first->wrong++;
	for (uint32_t i = 0; i < JE_SECTION_WRONGS; i++) {
		struct je_section_wrong *kept = &first->wrongs[i];

		if (kept->count == 0) {
			memcpy(kept->open, open, sizeof(open));
			memcpy(kept->exited, exited, sizeof(exited));
		} else if (memcmp(kept->open, open, sizeof(open)) != 0 ||
			   memcmp(kept->exited, exited, sizeof(exited)) != 0) {
			continue;
		}
		kept->count++;
		return;
	}
}

void je_section_exit(struct je_label label)
{
	uint64_t now = je_ticks();
	struct je_sections *first;

	if (!is_here() || (first = first_slot()) == NULL)
		return;
	if (all.deeper > 0) {
		all.deeper--;
		return;
	}

	uint32_t number, at = all.depth;

	if (JE_LIKELY(at > 0 && matches(first->open[at - 1].section % all.labels, &label))) {
		close_innermost(first, now);
		return;
	}
	number = find_label(&label);
	while (at > 0 && first->open[at - 1].section != number)
		at--;
	if (at == 0 || at != all.depth)
		note_wrong(first, &label);
	while (at > 0 && all.depth >= at)
		close_innermost(first, now);
}

void je_section_push(struct je_label label)
{
	uint32_t depth = all.depth;

	je_section_enter(label);
	if (all.depth > depth)
		all.pushed |= UINT64_C(1) << depth;
}

void je_section_pop(void)
{
	char label[JE_SECTION_LABEL];

	if (!is_here() || all.pushed == 0)
		return;

	uint32_t depth = 63 - (uint32_t)__builtin_clzll(all.pushed);
	uint32_t number = all.slots[0]->open[depth].section % all.labels;

	memcpy(label, entry_of(number)->label, sizeof(label));
	je_section_exit(je_label_of(label, sizeof(label)));
}
