/* windows.c: the log's stream of entries, and which windows are kept.
 *
 * The stream lies in slots of the record that are claimed one by one. When it is full, or has
 * JE_WINDOWS_MOST windows, every second window is removed, and the others move together: all ranks
 * then keep the windows of the one with the least room, without talking to each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "windows.h"

enum {
	JE_NODE_WINDOW_SLOTS = 512, /* 16 MiB on a node */
	JE_K_MOST = 40,
	JE_WINDOWS_MOST = 1024, /* kept: more cost time, and tell little more */
	JE_SKIPS_MOST = 512,	/* looked up at a time */
};

static struct {
	je_claim_fn claim;
	struct je_windows *slots[JE_WINDOWS_SLOTS];
	uint32_t claimed, most; /* slots */
	uint32_t used;		/* entries, over all slots */
	uint32_t kept;		/* entries that stay when k grows */
	uint32_t windows;	/* that are kept */
	uint32_t window;	/* where the open window begins */
	uint64_t index;		/* of the open window, when `skips` borders were left to skip */
	uint32_t skips;
	uint64_t began_ticks; /* when it began */
	bool any;	      /* a window is open, kept or not */
	bool too_long;	      /* it did not fit */
} stream;

/* splitmix64 adds its step first: else window 0, a program's start, would always be kept. */
static bool is_kept(uint64_t index)
{
	return je_is_kept(index + UINT64_C(0x9e3779b97f4a7c15), stream.slots[0]->k);
}

static struct je_log *at(uint32_t i)
{
	return &stream.slots[i / JE_LOGS_PER_SLOT]->entries[i % JE_LOGS_PER_SLOT];
}

/* A number at the beginning of a text of the launcher's; 0: there is none. */
static uint32_t number_of(const char *name)
{
	const char *text = getenv(name);
	uint32_t n = 0;

	for (; text != NULL && *text >= '0' && *text <= '9' && n < 1000000; text++)
		n = n * 10 + (uint32_t)(*text - '0');
	return n;
}

/* How many ranks of the job are on this node, or more. */
static uint32_t local_ranks(const struct je_slot *slot)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
					     "MV2_COMM_WORLD_LOCAL_SIZE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (number_of(names[i]) > 0)
			return number_of(names[i]);
	return slot->size > 0 ? (uint32_t)slot->size : JE_NODE_WINDOW_SLOTS + 1;
}

static JE_COLD bool claim_slot(void)
{
	uint32_t index;
	int saved = errno;
	struct je_windows *slot = stream.claimed < stream.most ? stream.claim(&index) : NULL;

	errno = saved;
	if (slot == NULL) {
		stream.most = stream.claimed;
		return false;
	}
	slot->kind = JE_KIND_WINDOWS;
	slot->bytes = JE_SLOT_BYTES;
	slot->parent = je_process.index;
	slot->pid = je_process.slot->pid;
	slot->process_ticks = je_process.slot->claimed_at.ticks;
	slot->order = stream.claimed;
	JE_IN_ORDER();
	slot->state = JE_STATE_RUNNING;
	slot->magic = JE_SLOT_MAGIC;
	stream.slots[stream.claimed++] = slot;
	return true;
}

/* Whether the log can begin. The first slot is claimed now, so that it can say why it is empty. */
JE_COLD bool je_windows_open(const struct je_slot *slot, je_claim_fn claim)
{
	uint32_t share = JE_NODE_WINDOW_SLOTS / local_ranks(slot);

	stream.claim = claim;
	stream.most = share < JE_WINDOWS_SLOTS ? share : JE_WINDOWS_SLOTS;
	if (!claim_slot())
		return false;
	je_process.windows = stream.slots[0];
	return true;
}

static void set_seq(uint32_t seq)
{
	JE_IN_ORDER();
	for (uint32_t i = 0; i < stream.claimed; i++)
		stream.slots[i]->seq = seq;
	JE_IN_ORDER();
}

static bool stays(uint8_t op)
{
	return op == JE_LOG_COMM || (op >= JE_LOG_INIT_SEND && op <= JE_LOG_INIT_COLL);
}

/* Writes how many entries each slot has, and clears what was left behind. */
static void set_used(uint32_t used)
{
	for (uint32_t i = used; i < stream.used; i++)
		*at(i) = (struct je_log){ 0 };
	for (uint32_t s = 0; s < stream.claimed; s++) {
		uint32_t before = s * JE_LOGS_PER_SLOT, n = used > before ? used - before : 0;

		stream.slots[s]->used = n < JE_LOGS_PER_SLOT ? n : JE_LOGS_PER_SLOT;
	}
	stream.used = used;
}

/* Removes the windows that k leaves out, and the calls of the open one if it is too long. */
static JE_COLD void compact(void)
{
	uint32_t to = 0, window = UINT32_MAX, windows = 0;
	bool keeps = true;

	set_seq(1);
	for (uint32_t i = 0; i < stream.used; i++) {
		struct je_log entry = *at(i);
		bool begins = entry.op == JE_LOG_WINDOW;

		if (begins)
			keeps = is_kept(entry.request);
		windows += begins && keeps;
		if (begins && i == stream.window && keeps)
			window = to;
		if (!stays(entry.op) && (!keeps || (stream.too_long && i > stream.window)))
			continue;
		*at(to++) = entry;
	}
	set_used(to);
	stream.window = window;
	stream.windows = windows;
	if (stream.too_long && window != UINT32_MAX)
		at(window)->flags |= JE_LOG_TOO_LONG;
	set_seq(0);
}

/* Makes room in a full stream: for the open window, which may be removed itself. */
static JE_COLD void make_room(void)
{
	uint32_t before = stream.used;

	while (stream.used == before && stream.slots[0]->k < JE_K_MOST) {
		stream.slots[0]->k++;
		compact();
	}
}

/* One window may take half of what the stream can hold, so that it never drives out all others. */
static bool is_long(void)
{
	return stream.used - stream.window >= (stream.most * JE_LOGS_PER_SLOT - stream.kept) / 2;
}

static bool has_room(void)
{
	return stream.used < stream.claimed * JE_LOGS_PER_SLOT || claim_slot();
}

static void append(const struct je_log *entry)
{
	struct je_windows *slot = stream.slots[stream.used / JE_LOGS_PER_SLOT];

	*at(stream.used) = *entry;
	JE_IN_ORDER();
	slot->used++;
	stream.used++;
	stream.kept += stays(entry->op);
}

static bool is_logging(void)
{
	return stream.any && stream.window != UINT32_MAX && !stream.too_long;
}

/* Unsuccessful tests in a row are one entry. */
static bool joins(const struct je_log *entry)
{
	struct je_log *last;

	if (entry->op != JE_LOG_POLL || stream.used == 0)
		return false;
	last = at(stream.used - 1);
	if (last->op != JE_LOG_POLL)
		return false;
	last->leave_ticks = entry->leave_ticks;
	last->bytes += entry->bytes;
	last->request++;
	return true;
}

/* Appends an entry, if it stays or belongs to a kept window. */
void je_windows_add(struct je_thread *me, const struct je_log *entry)
{
	bool always = stays(entry->op);

	if ((!always && !is_logging()) || joins(entry))
		return;
	if (always && stream.kept >= stream.most * JE_LOGS_PER_SLOT / 2) {
		stream.slots[0]->lost++;
		return;
	}
	if (is_logging() && is_long()) {
		stream.too_long = true;
		compact();
	} else if (!has_room()) {
		make_room();
	}
	if (me->windows == JE_WINDOWS_LOGGING && !is_logging())
		me->windows = JE_WINDOWS_COUNTING;
	if (has_room() && (always || is_logging()))
		append(entry);
	else if (always)
		stream.slots[0]->lost++;
}

/* Takes over how many borders were skipped. */
static void catch_up(struct je_thread *me)
{
	stream.index += stream.skips - me->skips;
	stream.skips = me->skips = 0;
}

/* The communicators that calls named may be others from now on. */
void je_windows_forget(struct je_thread *me)
{
	catch_up(me);
	me->beside = 0;
}

/* The open window is not kept: lets the next such ones pass. */
static void skip_next(struct je_thread *me)
{
	while (stream.skips < JE_SKIPS_MOST && !is_kept(stream.index + stream.skips + 1))
		stream.skips++;
	me->skips = stream.skips;
}

/* No call is logged from now on. */
void je_windows_end(struct je_thread *me)
{
	stream.any = false;
	me->windows = JE_WINDOWS_OFF;
}

static void close_window(struct je_thread *me, struct je_log entry)
{
	if (!stream.any)
		return;
	entry.flags |= JE_LOG_BORDER;
	je_windows_add(me, &entry);
	if (stream.too_long && stream.window != UINT32_MAX)
		at(stream.window)->bytes = entry.leave_ticks - stream.began_ticks;
	stream.index++;
}

/* A collective was left that closes a window and begins the next one. */
void je_windows_border(struct je_thread *me, struct je_log entry, uintptr_t comm)
{
	catch_up(me);
	close_window(me, entry);
	me->border = comm;
	stream.any = true;
	stream.too_long = false;
	stream.window = UINT32_MAX;
	stream.began_ticks = entry.leave_ticks;
	me->windows = JE_WINDOWS_COUNTING;
	while (is_kept(stream.index)) {
		if (stream.windows < JE_WINDOWS_MOST && has_room()) {
			stream.window = stream.used;
			stream.windows++;
			entry.op = JE_LOG_WINDOW;
			entry.request = stream.index;
			entry.bytes = 0;
			append(&entry);
			me->windows = JE_WINDOWS_LOGGING;
			return;
		}
		if (stream.slots[0]->k >= JE_K_MOST)
			return;
		stream.slots[0]->k++;
		compact();
	}
	skip_next(me);
}
