/* timeline.c: how the region was spent over time.
 *
 * An edge is a snapshot of sums that exist anyway. No thread waits for it: the first call that
 * begins after the edge notes it. It subtracts the part of the last call that came after the edge,
 * as open_ticks and last_ticks show. So MPI and files are exact. For OpenMP threads no such moments
 * are known: their sums are those of a later moment, and the edge says how much later.
 */
#include <string.h>

#include "openmp.h"
#include "ticks.h"
#include "timeline.h"

enum { JE_NS_PER_S = 1000000000 };

/* A copy of what the record says about the edges. It is never read from the record: any process of
 * the user may write there, and these numbers are used as indexes, shifts and ends of loops. */
static struct {
	double ticks_per_ns; /* the best measurement so far */
	struct je_pair claimed_at;
	uint32_t used;
	int32_t shift;
	int64_t first;
} own;

/* How long a bucket is, ns. Powers of two are exact. */
static double bucket_ns(void)
{
	double ns = JE_NS_PER_S;

	for (int32_t i = own.shift; i < 0; i++)
		ns /= 2;
	for (int32_t i = own.shift; i > 0; i--)
		ns *= 2;
	return ns;
}

/* The next edge, in ticks. Its seconds are computed apart: CLOCK_REALTIME has more digits than a
 * double. */
static uint64_t next_edge(void)
{
	const struct je_pair *at = &own.claimed_at;
	uint64_t seconds = at->real_ns / JE_NS_PER_S;
	double from = (double)(at->real_ns % JE_NS_PER_S);
	int64_t number = own.first + own.used; /* of the edge, from the claim's second */

	if (own.shift < 0) {
		number -= (int64_t)(seconds << -own.shift);
	} else {
		uint64_t bucket = seconds >> own.shift;

		number -= (int64_t)bucket;
		from += (double)(seconds - (bucket << own.shift)) * JE_NS_PER_S;
	}
	return at->ticks + (uint64_t)(((double)number * bucket_ns() - from) * own.ticks_per_ns);
}

/* Drops every other edge. Those at multiples of twice the bucket stay. */
static void halve(struct je_timeline *line)
{
	uint32_t odd = (uint32_t)(own.first & 1), kept = 0;

	for (uint32_t i = odd; i < own.used; i += 2)
		line->edges[kept++] = line->edges[i];
	memset(line->edges + kept, 0, (own.used - kept) * sizeof(*line->edges));
	own.first = (own.first + odd) / 2;
	own.used = kept;
	own.shift++;
}

static void tell(struct je_timeline *line)
{
	line->used = own.used;
	line->shift = own.shift;
	line->first = own.first;
}

/* Keeps edges ascending, even if the clock's rate was measured better since. */
static uint64_t after_last(const struct je_timeline *line, uint64_t edge)
{
	uint64_t last = own.used == 0 ? 0 : line->edges[own.used - 1].ticks;

	return edge > last ? edge : last + 1;
}

/* Notes the sums at the edge. The last call may have gone on after it. */
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

static void measure_rate(void)
{
	double rate = je_ticks_per_ns(&own.claimed_at);

	if (rate > 0)
		own.ticks_per_ns = rate;
}

static void plan(struct je_thread *me)
{
	me->edge = next_edge();
	je_thread_plan(me);
}

JE_COLD void je_timeline_start(struct je_thread *me, struct je_slot *slot)
{
	uint64_t begin = je_ticks();

	me->edge = 0;
	own.claimed_at = slot->claimed_at;
	own.ticks_per_ns = 0;
	measure_rate();
	if (own.ticks_per_ns <= 0)
		return;
	own.used = 0;
	own.shift = JE_EDGE_SHIFT;
	own.first = (int64_t)(own.claimed_at.real_ns / JE_NS_PER_S) << -JE_EDGE_SHIFT;
	while (next_edge() <= begin)
		own.first++;
	tell(&slot->timeline);
	plan(me);
}

JE_COLD void je_timeline_cut(struct je_thread *me, struct je_slot *slot, uint64_t now, bool io)
{
	struct je_timeline *line = &slot->timeline;

	if (me->edge == 0 || now < me->edge)
		return;
	measure_rate();
	line->changes++;
	__atomic_thread_fence(__ATOMIC_RELEASE); /* a running job's record is read, too */
	for (uint64_t edge; (edge = next_edge()) <= now;) {
		if (own.used == JE_EDGES) {
			halve(line);
			continue;
		}
		note(slot, &line->edges[own.used], after_last(line, edge), io);
		note_openmp(me, slot, &line->edges[own.used], now);
		own.used++;
	}
	tell(line);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	line->changes++;
	plan(me);
}
