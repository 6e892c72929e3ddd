/* places.c: where in the program's code its calls were made.
 *
 * The usual path reads the return address and a chain of frame pointers, and finds both in a table.
 * It takes no lock and no memory. Only a place that is new asks the loader whose code it is, as
 * each exception of C++ does.
 *
 * In code without frame pointers, the register may hold anything. So a chain is followed only on
 * the stack of the process's first thread, upwards, and while the addresses lie in code. The reader
 * finds out which of them are no calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <string.h>

#include "places.h"
#include "ticks.h"

#ifndef JE_LONG_NS /* the bench defines it */
#define JE_LONG_NS 20000
#endif
enum {
	JE_EVERY_NS = 250000,
	JE_BESIDE = 8,		/* neighbouring entries that are searched for a place */
	JE_FAILURES = 32,	/* lookups that may find no code */
	JE_STACK_GAP = 1 << 27, /* bytes that the kernel keeps free below the stack's top */
	JE_DRAWS = 1 << 16,	/* moments that are drawn at once */
};

/* Where the first thread's stack begins. ld.so has it since glibc 2.2; weak, since musl lacks it.
 */
#pragma GCC visibility push(default)
extern void *__libc_stack_end __attribute__((weak));
#pragma GCC visibility pop

static uint64_t every_ticks; /* atomic: as in je_place_table; 0: not known yet */

static uint64_t every(void)
{
	return __atomic_load_n(&every_ticks, __ATOMIC_RELAXED);
}

/* The moment that is drawn in piece i, in ticks after the piece begins. */
static uint64_t drawn(const struct je_slot *slot, uint64_t i)
{
	uint64_t mixed = je_mixed(((uint64_t)(uint32_t)slot->rank << 32) + i) >> 32;

	return (mixed * every()) >> 32;
}

/* Draws the moments up to `sum`, the time in all calls, and returns how many. There are more than
 * JE_DRAWS only if another process wrote to the record. */
static uint64_t draw(struct je_thread *me, const struct je_slot *slot, uint64_t sum)
{
	uint64_t n = 0;

	for (; sum > me->sample && n < JE_DRAWS; n++) {
		me->sample += every() - drawn(slot, me->samples);
		me->sample += drawn(slot, ++me->samples);
	}
	if (sum > me->sample)
		me->sample = sum;
	return n;
}

static bool is_on_stack(const struct je_thread *me, const void *frame)
{
	return (uintptr_t)frame < me->stack_top && me->stack_top - (uintptr_t)frame < JE_STACK_GAP;
}

/* Begins at the thread's first call, which took `ticks`. False: the clock's rate is not known, so
 * no places are noted. */
static JE_COLD bool start(struct je_thread *me, struct je_slot *slot, uint64_t ticks)
{
	double rate = je_ticks_per_ns(&je_process.slot->claimed_at);
	uint64_t none = 0, first = (uint64_t)(JE_EVERY_NS * rate);

	me->mark = UINT64_MAX;
	if (first == 0 || first > UINT32_MAX)
		return false;
	__atomic_compare_exchange_n(&every_ticks, &none, first, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	slot->places.long_ticks = (uint64_t)(JE_LONG_NS * rate);
	slot->places.every_ticks = every();
	me->samples = 0;
	me->sample = slot->mpi_ticks - ticks + drawn(slot, 0);
	if (&__libc_stack_end != NULL && slot->pid == slot->tid)
		me->stack_top = (uintptr_t)__libc_stack_end & ~(sizeof(uintptr_t) - 1);
	return true;
}

/* How many modules there are. Any process of the user may write to the record. */
static uint16_t modules_of(const struct je_place_table *to)
{
	uint16_t n = __atomic_load_n(&to->modules, __ATOMIC_RELAXED);

	return n < JE_PLACE_MODULES ? n : JE_PLACE_MODULES;
}

/* The module whose code is at an address: index + 1; 0: it is not known yet. */
static uint8_t known_module(const struct je_place_table *to, uint64_t address)
{
	for (uint16_t i = 0, n = modules_of(to); i < n; i++)
		if (address >= to->module[i].from && address < to->module[i].to)
			return (uint8_t)(i + 1);
	return 0;
}

struct search {
	struct je_slot *slot;
	uint64_t address;
	uint8_t found; /* index + 1 */
};

static uint16_t keep_path(struct je_place_table *to, const char *path)
{
	uint16_t used = __atomic_load_n(&to->paths_bytes, __ATOMIC_RELAXED);
	size_t room = used < sizeof(to->paths) ? sizeof(to->paths) - used : 0;
	size_t n = strnlen(path, room);

	if (*path == '\0')
		return JE_PLACE_PROGRAM;
	if (n == room)
		return 0;
	memcpy(to->paths + used, path, n + 1);
	to->paths_bytes = (uint16_t)(used + n + 1);
	return (uint16_t)(used + 1);
}

/* The entry of an object: the one that it had before it was unloaded, or a new one; NULL: there is
 * no room. */
static struct je_place_module *entry_of(struct je_place_table *to, const struct dl_phdr_info *info)
{
	struct je_place_module new = { .bias = info->dlpi_addr };
	uint32_t bytes = 0;
	uint16_t n = modules_of(to);
	const uint8_t *id = je_build_id(info, &bytes);

	if (id != NULL && bytes <= sizeof(new.build_id)) {
		memcpy(new.build_id, id, bytes);
		new.build_id_bytes = (uint8_t)bytes;
	}
	for (uint16_t i = 0; i < n; i++) {
		struct je_place_module *old = &to->module[i];

		if (old->to == 0 && old->bias == new.bias &&new.build_id_bytes != 0 &&
		    old->build_id_bytes == new.build_id_bytes &&
		    memcmp(old->build_id, new.build_id, sizeof(new.build_id)) == 0)
			return old;
	}
	if (n == JE_PLACE_MODULES)
		return NULL;
	new.path = keep_path(to, info->dlpi_name);
	to->module[n] = new;
	to->modules = (uint16_t)(n + 1);
	return &to->module[n];
}

static bool has(const ElfW(Phdr) * part, uint64_t at)
{
	return part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0 && at >= part->p_vaddr &&
	       at - part->p_vaddr < part->p_memsz;
}

/* dl_iterate_phdr calls this for each object; returning 1 ends the walk. */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	struct je_place_table *to = &search->slot->places;
	uint64_t at = search->address - info->dlpi_addr;
	uint64_t ours = (uint64_t)(uintptr_t)je_place_note - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (!has(part, at))
			continue;
		if (has(part, ours))
			return 1;

		struct je_place_module *module = entry_of(to, info);

		if (module != NULL) {
			module->from = info->dlpi_addr + part->p_vaddr;
			module->to = module->from + part->p_memsz;
			search->found = (uint8_t)(module - to->module + 1);
		}
		return 1;
	}
	return 0;
}

/* Objects that were unloaded so far. */
static int count_unloaded(struct dl_phdr_info *info, size_t size, void *unloaded)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(uint64_t *)unloaded = info->dlpi_subs;
	return 1;
}

static uint32_t unloaded_now(void)
{
	uint64_t unloaded = 0;
	int saved = errno;

	dl_iterate_phdr(count_unloaded, &unloaded);
	errno = saved;
	return (uint32_t)unloaded;
}

/* Forgets where modules are, once one was unloaded: another may have taken its place. */
static void check_modules(struct je_thread *me, struct je_place_table *to, uint32_t unloaded)
{
	if (me->unloaded == unloaded)
		return;
	me->unloaded = unloaded;
	for (uint16_t i = 0, n = modules_of(to); i < n; i++)
		to->module[i].from = to->module[i].to = 0;
}

static JE_COLD uint8_t find_module(struct je_slot *slot, uint64_t address)
{
	struct search search = { slot, address, 0 };
	int saved = errno;

	dl_iterate_phdr(look, &search);
	errno = saved;
	return search.found;
}

static void begin_change(struct je_place_table *to)
{
	to->changes++;
	__atomic_thread_fence(__ATOMIC_RELEASE); /* a running job's record is read, too */
}

static void end_change(struct je_place_table *to)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->changes++;
}

void je_place_begin(struct je_slot *slot, const void *caller)
{
	uint64_t address = je_place_address((uintptr_t)caller);

	if (known_module(&slot->places, address) != 0)
		return;
	begin_change(&slot->places);
	find_module(slot, address);
	end_change(&slot->places);
}

uint32_t je_place_unloaded(struct je_thread *me, struct je_slot *slot)
{
	uint32_t unloaded = unloaded_now();

	if (unloaded != me->unloaded) {
		begin_change(&slot->places);
		check_modules(me, &slot->places, unloaded);
		end_change(&slot->places);
	}
	return unloaded;
}

uint8_t je_place_module(struct je_thread *me, struct je_slot *slot, uint64_t address)
{
	struct je_place_table *to = &slot->places;
	uint8_t module = known_module(to, address);

	if (module == 0 && me->failures < JE_FAILURES) {
		begin_change(to);
		module = find_module(slot, address);
		end_change(to);
		me->failures += module == 0;
	}
	return module;
}

/* Fills in the frames of a place. A frame pointer may point to anything on the stack. */
static __attribute__((no_sanitize("address"))) void walk(struct je_thread *me, struct je_slot *slot,
							 const void *frame, struct je_place *place)
{
	const uintptr_t *at = frame;
	bool follow = is_on_stack(me, frame);

	place->frames[0] = je_place_address(at[1]);
	for (uint32_t n = 1; follow && n < JE_FRAMES; n++) {
		uintptr_t next = at[0];

		if (next <= (uintptr_t)at || next % sizeof(next) != 0 ||
		    next >= me->stack_top - 2 * sizeof(next))
			return;
		at = (const uintptr_t *)next;

		uint64_t address = je_place_address(at[1]);

		if (je_place_module(me, slot, address) == 0)
			return;
		place->frames[n] = address;
	}
}

static bool is_same(const struct je_place *a, const struct je_place *b)
{
	return a->function == b->function && memcmp(a->frames, b->frames, sizeof(a->frames)) == 0;
}

static uint64_t weight(const struct je_place_table *in, const struct je_place *place)
{
	return place->ticks + place->samples * in->every_ticks;
}

/* The entry that a place has or may take: its own, a free one, or the one with the least time. */
static struct je_place *find(struct je_place_table *in, const struct je_place *place)
{
	uint64_t mixed = place->function;
	struct je_place *least = NULL;
	uint32_t first;

	for (uint32_t i = 0; i < JE_FRAMES; i++)
		mixed = (mixed ^ place->frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
	first = (uint32_t)((mixed >> 32) * JE_PLACES >> 32);
	for (uint32_t i = 0; i < JE_BESIDE; i++) {
		struct je_place *at = &in->places[(first + i) % JE_PLACES];

		if (at->function == 0 || is_same(at, place))
			return at;
		if (least == NULL || weight(in, at) < weight(in, least))
			least = at;
	}
	return least;
}

/* Takes an entry for a place. */
static JE_COLD void take(struct je_thread *me, struct je_slot *slot, struct je_place *entry,
			 struct je_place *place)
{
	struct je_place_table *in = &slot->places;

	begin_change(in);
	check_modules(me, in, unloaded_now());
	for (uint32_t i = 0; i < JE_FRAMES && place->frames[i] != 0; i++) {
		place->modules[i] = known_module(in, place->frames[i]);
		if (place->modules[i] == 0)
			place->modules[i] = find_module(slot, place->frames[i]);
	}
	if (entry->function != 0) {
		in->dropped_calls += entry->calls;
		in->dropped_ticks += entry->ticks;
		in->dropped_samples += entry->samples;
	}
	*entry = *place;
	end_change(in);
}

void je_place_note(struct je_thread *me, struct je_slot *slot, uint32_t number, uint64_t ticks,
		   const void *frame)
{
	struct je_place place = { .function = (uint16_t)(number + 1) };
	struct je_place *entry;
	bool is_long;
	uint64_t sum = slot->mpi_ticks, samples;

	if (JE_UNLIKELY(me->mark == 0) && !start(me, slot, ticks))
		return;
	is_long = ticks >= slot->places.long_ticks;
	if (is_long)
		me->sample += ticks;
	samples = draw(me, slot, sum); /* a call of no time has no moment */
	me->mark = sum + slot->places.long_ticks;
	if (me->sample < me->mark)
		me->mark = me->sample;
	if (!is_long && samples == 0)
		return;
	walk(me, slot, frame, &place);
	entry = find(&slot->places, &place);
	if (JE_UNLIKELY(entry->function == 0 || !is_same(entry, &place)))
		take(me, slot, entry, &place);
	if (is_long) {
		entry->calls++;
		entry->ticks += ticks;
	} else {
		entry->samples += samples;
		entry->short_calls += samples * (every() << 8) / (ticks | (ticks == 0));
	}
	if (ticks > entry->longest_ticks)
		entry->longest_ticks = ticks;
}

int je_place_note_here(uint32_t number, uint64_t ticks, int result)
{
	je_place_note(&je_me, je_me.slot, number, ticks, __builtin_frame_address(0));
	return result;
}
