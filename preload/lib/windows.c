/* windows.c: the log's stream of entries, and which windows are kept.
 *
 * The stream lies in slots of the record that are claimed one by one. When it is full, has
 * JE_WINDOWS_MOST windows, or has cost what it may, every second window is removed, and the others
 * move together. Which ones stay follows from their numbers: so all ranks keep the windows of the
 * rank with the least room, without talking to each other.
 *
 * The log may cost one logged call per JE_LOG_EVERY_NS. Kept windows may take JE_FREE_S and a
 * hundredth of the run's time. Both sums are halved with the windows, so each time that k grows, a
 * run pays for half of them once more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ticks.h"
#include "windows.h"

enum {
	JE_SLOTS_PER_MIB = (1 << 20) / JE_SLOT_BYTES,
	JE_K_MOST = 40,
	JE_WINDOWS_MOST = 1024, /* kept: more cost time, and show little more */
	JE_LOG_EVERY_NS = 100000,
	JE_FREE_S = 10,
};

static struct {
	je_claim_fn claim;
	struct je_windows *slots[JE_WINDOWS_SLOTS];
	uint32_t claimed, most; /* slots */
	uint32_t on_node;	/* slots of all processes of the job on this node */
	uint32_t used;		/* entries, over all slots */
	uint32_t kept;		/* entries that stay when k grows */
	uint32_t windows;	/* that are kept */
	uint32_t window;	/* where the open window begins */
	uint64_t index;		/* of the open window, when `skips` borders were left to skip */
	uint64_t next;		/* of the next one that is kept */
	uint32_t k;		/* as in the record */
	uint32_t skips;
	uint64_t began_ticks; /* when the open window began */
	uint64_t from_ticks;  /* when the log began */
	uint64_t second;      /* in ticks; 0: not known, and no limit of cost applies */
	uint64_t calls;	      /* that were logged */
	uint64_t kept_ticks;  /* time in the windows that are kept */
	uint8_t site;	      /* of the current call */
	bool any;	      /* a window is open, kept or not */
	bool too_long;	      /* the open window did not fit */
} stream;

/* The first window from `index` on that is kept. */
static uint64_t next_kept(uint64_t index)
{
	uint64_t block = index >> stream.k, found = je_window_of(block, stream.k);

	return found < index ? je_window_of(block + 1, stream.k) : found;
}

static bool is_kept(uint64_t index)
{
	return next_kept(index) == index;
}

static struct je_log *at(uint32_t i)
{
	return &stream.slots[i / JE_LOGS_PER_SLOT]->entries[i % JE_LOGS_PER_SLOT];
}

static uint8_t *site_of(uint32_t i)
{
	return &stream.slots[i / JE_LOGS_PER_SLOT]->site[i % JE_LOGS_PER_SLOT];
}

/* The largest number in the environment variable `name`: "3", or "2(x3),1", which means two on
 * three nodes and one on the next; 0: there is none. */
static uint32_t number_of(const char *name)
{
	const char *text = getenv(name);
	uint32_t most = 0;

	while (text != NULL && *text >= '0' && *text <= '9') {
		uint32_t n = 0;

		for (; *text >= '0' && *text <= '9' && n < 1000000; text++)
			n = n * 10 + (uint32_t)(*text - '0');
		most = n > most ? n : most;
		text = strchr(text, ',');
		text += text != NULL;
	}
	return most;
}

/* The number of the job's ranks on this node, or more. It comes from mpirun, else from Slurm. */
static uint32_t local_ranks(const struct je_slot *slot)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
					     "MV2_COMM_WORLD_LOCAL_SIZE",
					     "SLURM_STEP_TASKS_PER_NODE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (number_of(names[i]) > 0)
			return number_of(names[i]);
	return slot->size > 0 ? (uint32_t)slot->size : UINT32_MAX;
}

static JE_COLD bool claim_slot(void)
{
	uint32_t index;
	int saved = errno;
	struct je_windows *slot =
		stream.claimed < stream.most ? stream.claim(&index, stream.on_node) : NULL;

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
	slot->has_sites = 1;
	JE_IN_ORDER();
	slot->state = JE_STATE_RUNNING;
	slot->magic = JE_SLOT_MAGIC;
	stream.slots[stream.claimed++] = slot;
	return true;
}

/* Begins the log; false: that failed. The first slot is claimed at once, since it also holds the
 * reason why a log is empty. */
JE_COLD bool je_windows_open(const struct je_slot *slot, je_claim_fn claim)
{
	uint32_t mib = number_of("JOBEFF_WINDOWS");
	uint32_t share;

	stream.on_node = (mib < JE_WINDOWS_MIB ? mib : JE_WINDOWS_MIB) * JE_SLOTS_PER_MIB;
	share = stream.on_node / local_ranks(slot);
	stream.claim = claim;
	stream.most = share < JE_WINDOWS_SLOTS ? share : JE_WINDOWS_SLOTS;
	stream.from_ticks = je_ticks();
	stream.second = (uint64_t)(je_ticks_per_ns(&slot->claimed_at) * 1e9);
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
	for (uint32_t i = used; i < stream.used; i++) {
		*at(i) = (struct je_log){ 0 };
		*site_of(i) = 0;
	}
	for (uint32_t s = 0; s < stream.claimed; s++) {
		uint32_t before = s * JE_LOGS_PER_SLOT, n = used > before ? used - before : 0;

		stream.slots[s]->used = n < JE_LOGS_PER_SLOT ? n : JE_LOGS_PER_SLOT;
	}
	stream.used = used;
}

/* Frees the sites that no entry has any more. */
static void free_sites(void)
{
	bool named[UINT8_MAX + 1] = { false };

	named[stream.site] = true;
	for (uint32_t i = 0; i < stream.used; i++)
		named[*site_of(i)] = true;
	for (uint32_t i = 0; i < JE_SITES; i++)
		if (!named[i + 1])
			stream.slots[0]->sites[i] = 0;
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
		*site_of(to) = *site_of(i);
		*at(to++) = entry;
	}
	set_used(to);
	free_sites();
	stream.window = window;
	stream.windows = windows;
	if (stream.too_long && window != UINT32_MAX)
		at(window)->flags |= JE_LOG_TOO_LONG;
	set_seq(0);
}

/* Removes every second window. */
static JE_COLD void thin_out(void)
{
	stream.slots[0]->k = ++stream.k;
	stream.calls /= 2;
	stream.kept_ticks /= 2;
	stream.next = 0;
	compact();
}

/* Makes room in a full stream for the open window, which may itself be removed. */
static JE_COLD void make_room(void)
{
	uint32_t before = stream.used;

	while (stream.used == before && stream.k < JE_K_MOST)
		thin_out();
}

/* Whether more calls were logged up to `now` than a run of that length may log. One second's worth
 * is free. */
static bool is_dear(uint64_t now)
{
	uint64_t each = stream.second / (1000000000 / JE_LOG_EVERY_NS);

	return now > stream.from_ticks &&
	       stream.calls * each > now - stream.from_ticks + stream.second;
}

/* The same for the time in windows that are kept. */
static bool is_slow(uint64_t now)
{
	return stream.second != 0 &&
	       stream.kept_ticks > JE_FREE_S * stream.second + (now - stream.from_ticks) / 100;
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
	*site_of(stream.used) = stream.site;
	JE_IN_ORDER();
	slot->used++;
	stream.used++;
	stream.calls++;
	stream.kept += stays(entry->op);
}

static bool is_logging(void)
{
	return stream.any && stream.window != UINT32_MAX && !stream.too_long;
}

/* Unsuccessful tests in a row share one entry. If they follow each other at once, the program only
 * waits, and they cost nothing. If it works in between, each counts as a logged call. */
static bool joins(const struct je_log *entry)
{
	struct je_log *last;

	if (entry->op != JE_LOG_POLL || stream.used == 0)
		return false;
	last = at(stream.used - 1);
	if (last->op != JE_LOG_POLL)
		return false;
	stream.calls += entry->enter_ticks - last->leave_ticks > entry->bytes;
	last->leave_ticks = entry->leave_ticks;
	last->bytes += entry->bytes;
	last->request++;
	return true;
}

/* Appends an entry, if it stays or belongs to a kept window. */
void je_windows_add(struct je_thread *me, const struct je_log *entry)
{
	bool always = stays(entry->op);

	if (!always && !is_logging())
		return;
	if (joins(entry) && !is_dear(entry->leave_ticks))
		return;
	if (always && stream.kept >= stream.most * JE_LOGS_PER_SLOT / 2) {
		stream.slots[0]->lost++;
		return;
	}
	if (is_logging() && is_dear(entry->leave_ticks)) {
		stream.too_long = true;
		thin_out(); /* so that the next window may cost something, too */
	} else if (is_logging() && is_long()) {
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

/* Notes a communicator of fewer ranks than MPI_COMM_WORLD: other ranks may not have it. */
void je_windows_beside(struct je_thread *me, uintptr_t comm)
{
	me->beside[je_comm_place(comm)] = comm;
}

/* Notes the site of the current call. */
void je_windows_stand(uint8_t site)
{
	stream.site = site;
}

/* Forgets where the calls of the open window are, with the current one. */
JE_COLD void je_windows_lose_sites(void)
{
	stream.site = 0;
	for (uint32_t i = stream.window; i < stream.used; i++)
		*site_of(i) = 0;
}

/* Takes over how many borders were skipped. */
static void catch_up(struct je_thread *me)
{
	if (me->border != JE_NO_COMM)
		stream.index += stream.skips - me->skips;
	me->border = JE_NO_COMM;
	me->skips = 1; /* the next one is looked at */
}

/* From now on, the handles that calls named may mean other communicators. */
void je_windows_forget(struct je_thread *me)
{
	catch_up(me);
	for (uint32_t i = 0; i < JE_COMMS; i++)
		me->borders[i] = me->beside[i] = JE_NO_COMM;
}

/* The open window is not kept. Up to the next one that is, borders are only counted. */
static void skip_next(struct je_thread *me, uintptr_t comm)
{
	uint64_t left = stream.next - stream.index;

	me->skips = stream.skips = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
	me->border = me->borders[je_comm_place(comm)] = comm;
}

/* No call is logged from now on. */
void je_windows_end(struct je_thread *me)
{
	stream.any = false;
	me->border = JE_NO_COMM;
	me->windows = JE_WINDOWS_OFF;
}

static void close_window(struct je_thread *me, struct je_log entry)
{
	if (!stream.any)
		return;
	entry.flags |= JE_LOG_BORDER;
	je_windows_add(me, &entry);
	if (stream.window != UINT32_MAX) {
		uint64_t ticks = entry.leave_ticks - stream.began_ticks;

		stream.kept_ticks += ticks;
		if (stream.too_long)
			at(stream.window)->bytes = ticks;
	}
	stream.index++;
}

/* Begins a window that is kept; false: it cannot be. */
static bool begin_window(struct je_log entry)
{
	if (stream.windows == JE_WINDOWS_MOST || is_dear(entry.leave_ticks) ||
	    is_slow(entry.leave_ticks) || !has_room())
		return false;
	stream.window = stream.used;
	stream.windows++;
	entry.op = JE_LOG_WINDOW;
	entry.request = stream.index;
	entry.bytes = 0;
	append(&entry);
	return true;
}

/* A border was left: it closes a window and begins the next one. */
void je_windows_border(struct je_thread *me, struct je_log entry, uintptr_t comm)
{
	if (je_process.windows->why != JE_WINDOWS_LOGGED) { /* another thread called MPI */
		je_windows_end(me);
		return;
	}
	catch_up(me);
	close_window(me, entry);
	stream.any = true;
	stream.too_long = false;
	stream.window = UINT32_MAX;
	stream.began_ticks = entry.leave_ticks;
	me->windows = JE_WINDOWS_COUNTING;
	if (stream.next < stream.index)
		stream.next = next_kept(stream.index);
	while (stream.next == stream.index) {
		if (begin_window(entry)) {
			me->windows = JE_WINDOWS_LOGGING;
			return;
		}
		if (stream.k >= JE_K_MOST)
			break;
		thin_out();
		stream.next = next_kept(stream.index);
	}
	skip_next(me, comm);
}
