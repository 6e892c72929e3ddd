/* timeline.c: how the region was spent over time.
 *
 * An edge is a snapshot of sums that there are anyway. No thread waits for it: the first call that
 * begins after it notes it. What it then takes off the sums is the part of the last call that came
 * after the edge, which open_ticks and last_ticks tell. So MPI and files are exact. Of OpenMP's
 * threads no moments are known: their sums are those of a later moment, and the edge says how much
 * later.
 */
#include <string.h>

#include "openmp.h"
#include "ticks.h"
#include "timeline.h"

enum { JE_NS_PER_S = 1000000000 };

static double ticks_per_ns; /* as it is known so far */

/* How long a bucket is, ns. Powers of two are exact. */
static double bucket_ns(const struct je_timeline *line)
{
	double ns = JE_NS_PER_S;

	for (int32_t i = line->shift; i < 0; i++)
		ns /= 2;
	for (int32_t i = line->shift; i > 0; i--)
		ns *= 2;
	return ns;
}

/* When the clock shows the edge that comes next. CLOCK_REALTIME has more digits than a double. */
static uint64_t next_edge(const struct je_slot *slot)
{
	const struct je_timeline *line = &slot->timeline;
	const struct je_pair *at = &slot->claimed_at;
	uint64_t seconds = at->real_ns / JE_NS_PER_S;
	double from = (double)(at->real_ns % JE_NS_PER_S);
	int64_t number = line->first + line->used; /* of the edge, from the claim's second */

	if (line->shift < 0) {
		number -= (int64_t)(seconds << -line->shift);
	} else {
		uint64_t bucket = seconds >> line->shift;

		number -= (int64_t)bucket;
		from += (double)(seconds - (bucket << line->shift)) * JE_NS_PER_S;
	}
	return at->ticks + (uint64_t)(((double)number * bucket_ns(line) - from) * ticks_per_ns);
}

/* Drops every other edge, so that those stay which are multiples of twice the bucket. */
static void halve(struct je_timeline *line)
{
	uint32_t odd = (uint32_t)(line->first & 1), kept = 0;

	for (uint32_t i = odd; i < line->used; i += 2)
		line->edges[kept++] = line->edges[i];
	memset(line->edges + kept, 0, (line->used - kept) * sizeof(*line->edges));
	line->first = (line->first + odd) / 2;
	line->used = kept;
	line->shift++;
}

/* Edges ascend, also if the clock's rate is known better by now. */
static uint64_t after_last(const struct je_timeline *line, uint64_t edge)
{
	uint64_t last = line->used == 0 ? 0 : line->edges[line->used - 1].ticks;

	return edge > last ? edge : last + 1;
}

/* The sums at the edge, after which the last call may have gone on. */
static void note(struct je_slot *slot, struct je_edge *edge, uint64_t ticks, bool io)
{
	uint64_t from = ticks > slot->open_ticks ? ticks : slot->open_ticks;
	uint64_t after = slot->last_ticks > from ? slot->last_ticks - from : 0;
	uint64_t mpi = io ? 0 : after, files = io ? after : 0;

	edge->ticks = ticks;
	edge->mpi_ticks = slot->mpi_ticks > mpi ? slot->mpi_ticks - mpi : 0;
	edge->io_ticks = slot->io_ticks > files ? slot->io_ticks - files : 0;
}

/* What all threads together computed up to the edge. Since then this thread was alone, or it was in
 * the parallel region that is still open. */
static void note_openmp(const struct je_thread *me, const struct je_slot *slot,
			struct je_edge *edge, uint64_t now)
{
	struct je_openmp_sum sum = { 0 };
	const uint64_t *parts = sum.parts;
	uint64_t alone_from = edge->ticks > slot->last_ticks ? edge->ticks : slot->last_ticks;

	if (me->openmp == NULL)
		return;
	je_openmp_sum(&sum, now);
	edge->openmp_ticks =
		now - slot->init_leave_ticks - slot->mpi_ticks - slot->io_ticks -
		(parts[JE_PART_REGION] - parts[JE_PART_REGION_MPI] - parts[JE_PART_REGION_IO]) +
		parts[JE_PART_USEFUL];
	if (me->openmp->region_since == 0 && now > alone_from)
		edge->openmp_ticks -= now - alone_from;
	else
		edge->late_ticks = now - edge->ticks;
}

static void measure_rate(const struct je_slot *slot)
{
	double rate = je_ticks_per_ns(&slot->claimed_at);

	if (rate > 0)
		ticks_per_ns = rate;
}

static void plan(struct je_thread *me, const struct je_slot *slot)
{
	me->edge = next_edge(slot);
	je_thread_plan(me);
}

JE_COLD void je_timeline_start(struct je_thread *me, struct je_slot *slot)
{
	struct je_timeline *line = &slot->timeline;
	uint64_t begin = je_ticks();

	me->edge = 0;
	ticks_per_ns = 0;
	measure_rate(slot);
	if (ticks_per_ns <= 0)
		return;
	line->shift = JE_EDGE_SHIFT;
	line->first = (int64_t)(slot->claimed_at.real_ns / JE_NS_PER_S) << -JE_EDGE_SHIFT;
	while (next_edge(slot) <= begin)
		line->first++;
	plan(me, slot);
}

JE_COLD void je_timeline_cut(struct je_thread *me, struct je_slot *slot, uint64_t now, bool io)
{
	struct je_timeline *line = &slot->timeline;

	if (me->edge == 0 || now < me->edge)
		return;
	measure_rate(slot);
	line->changes++;
	__atomic_thread_fence(__ATOMIC_RELEASE); /* a running job's record is read, too */
	for (uint64_t edge; (edge = next_edge(slot)) <= now;) {
		if (line->used == JE_EDGES) {
			halve(line);
			continue;
		}
		note(slot, &line->edges[line->used], after_last(line, edge), io);
		note_openmp(me, slot, &line->edges[line->used], now);
		line->used++;
	}
	__atomic_thread_fence(__ATOMIC_RELEASE);
	line->changes++;
	plan(me, slot);
}
