/* region.c: TALP's regions, which a program asks our libdlb.so (../talp) for.
 *
 * A region is a section of the record, and its figures are the growth of the record's sums. So a
 * program that asks for none pays nothing.
 */
#include <string.h>

#include "openmp.h"
#include "section.h"

#pragma GCC visibility push(default)
#include "region.h"
#pragma GCC visibility pop

void jobeff_region_enter(const char *name)
{
	je_section_enter(je_label_of(name, SIZE_MAX));
}

void jobeff_region_exit(const char *name)
{
	je_section_exit(je_label_of(name, SIZE_MAX));
}

/* Adds the clock's rate since the process claimed its slot, and the time at `end`. */
static void add_clock(struct je_region_now *now, const struct je_slot *slot, uint64_t end)
{
	struct je_pair pair = { 0 };
	uint64_t ticks;

	je_pair_read(je_clock, &pair);
	ticks = pair.ticks - slot->claimed_at.ticks;
	now->ns_per_tick =
		ticks == 0 ? 1 : (double)(pair.mono_ns - slot->claimed_at.mono_ns) / (double)ticks;
	now->mono_ns = slot->claimed_at.mono_ns +
		       (uint64_t)((double)(end - slot->claimed_at.ticks) * now->ns_per_tick);
}

static void add_openmp(struct je_region_now *now, uint64_t end)
{
	struct je_openmp_sum sum = { 0 };
	const uint64_t *parts = sum.parts;
	uint64_t mpi, scheduling, known, own_mpi;

	je_openmp_sum(&sum, end);
	mpi = parts[JE_PART_MPI] + parts[JE_PART_IO];
	scheduling = parts[JE_PART_SCHEDULING] + parts[JE_PART_LOCKED];
	known = parts[JE_PART_USEFUL] + mpi + scheduling;
	own_mpi = parts[JE_PART_REGION_MPI] + parts[JE_PART_REGION_IO];
	if (sum.team > 0)
		now->threads = sum.team;
	now->parallels = sum.regions;
	now->tasks = sum.tasks;
	now->imbalance_ticks = parts[JE_PART_TEAM] > known ? parts[JE_PART_TEAM] - known : 0;
	now->scheduling_ticks = scheduling;
	now->outside_ticks -= parts[JE_PART_REGION];
	now->useful_ticks += parts[JE_PART_USEFUL] + own_mpi - parts[JE_PART_REGION];
	now->mpi_ticks += mpi - own_mpi;
}

bool jobeff_region_now(struct je_region_now *now, size_t bytes)
{
	struct je_region_now is = { .threads = 1 };
	const struct je_slot *slot = je_process.slot;
	uint64_t end;

	if (slot == NULL || slot->init_leave_ticks == 0)
		return false;
	is.running = __atomic_load_n(&je_process.running, __ATOMIC_RELAXED);
	end = is.running || slot->fini_enter_ticks == 0 ? je_ticks() : slot->fini_enter_ticks;
	is.cpus = slot->cpus;
	is.elapsed_ticks = is.outside_ticks = end - slot->init_leave_ticks;
	is.mpi_ticks = slot->mpi_ticks + slot->io_ticks;
	is.useful_ticks = is.elapsed_ticks - is.mpi_ticks;
	for (uint32_t i = 0; i < JE_FUNCS; i++)
		is.mpi_calls += slot->funcs[i].count;
	if (slot->counters != 0) {
		is.instructions = slot->useful_instructions;
		is.cycles = slot->useful_cycles;
	}
	if (__atomic_load_n(&je_process.openmp, __ATOMIC_ACQUIRE) == JE_OPENMP_ON)
		add_openmp(&is, end);
	add_clock(&is, slot, end);
	memcpy(now, &is, bytes < sizeof(is) ? bytes : sizeof(is));
	return true;
}
