package node

import (
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// timelinesOf makes a timeline of each process of a world, in buckets of one length; nil if one of
// them has none.
func timelinesOf(procs []*process) (all []*job.Timeline) {
	shift, from, to := 0, int64(math.MaxInt64), int64(0)
	threads := false
	for _, p := range procs {
		if p.slot.Timeline == nil || p.elapsed == 0 {
			return nil
		}
		shift = max(shift, p.slot.Timeline.Shift)
		from, to = min(from, p.realNs(p.start)), max(to, p.realNs(p.end))
		threads = threads || p.openmp != nil
	}
	shift = job.ShiftFor(shift, from, to)
	for _, p := range procs {
		all = append(all, p.timeline(shift, threads))
	}
	return all
}

// tellCourse fills in what the ranks did over time: all of them together, and in rows, one for each
// node or for each group of a node's ranks.
func (w *world) tellCourse(e *job.Execution) {
	all := timelinesOf(w.procs)
	if all == nil {
		return
	}
	rows := make([][]*job.Timeline, len(e.Nodes))
	for i := range e.Nodes {
		var ranks []*job.Timeline
		for k, p := range w.procs {
			if p.node == e.Nodes[i].Node {
				ranks = append(ranks, all[k])
			}
		}
		each := len(ranks)
		if w.size <= job.MostRows || len(ranks) == w.size {
			each = (len(ranks) + job.MostRows - 1) / job.MostRows
		}
		for some := range slices.Chunk(ranks, each) {
			rows[i] = append(rows[i], job.SumTimelines(some))
		}
	}
	e.Timeline = job.SumTimelines(slices.Concat(rows...))
	for i := range e.Nodes {
		e.Nodes[i].Course = job.NewCourse(e.Timeline, rows[i])
	}
}

func (p *process) realNs(mono uint64) int64 { return p.line.real(mono).UnixNano() }

// progress is what a process had done of its region at a moment.
type progress struct {
	at         uint64 // ns of CLOCK_MONOTONIC
	useful, io time.Duration
	threads    uint64 // useful time of all threads, ns
}

// timeline is how one process spent its time.
func (p *process) timeline(shift int, threads bool) *job.Timeline {
	first, last := job.BucketOf(p.realNs(p.start), shift), job.BucketOf(p.realNs(p.end), shift)
	t := job.NewTimeline(shift, first, int(last-first+1))
	t.Ranks, t.MostWhole = 1, p.useful
	share := p.threadShare()
	var points []point
	if threads {
		points = p.threadPoints(&share)
	}
	if points != nil {
		t.Threads, t.ThreadsUseful = make([]time.Duration, len(t.Elapsed)), make([]time.Duration, len(t.Elapsed))
	}
	if p.io > 0 {
		t.IO = make([]time.Duration, len(t.Elapsed))
	}
	before := progress{at: p.start}
	for i := range t.Elapsed {
		now := progress{at: p.end, useful: p.useful, io: p.io}
		if i < len(t.Elapsed)-1 {
			now = p.progressAt(first+int64(i)+1, shift, before)
		}
		t.Elapsed[i], t.Useful[i] = time.Duration(now.at-before.at), now.useful-before.useful
		if t.IO != nil {
			t.IO[i] = now.io - before.io
		}
		if t.Threads != nil {
			now.threads = usefulAt(points, now.at)
			t.Threads[i] = job.MulTime(t.Elapsed[i], share.Threads)
			t.ThreadsUseful[i] = min(time.Duration(now.threads-before.threads), t.Threads[i])
		}
		for level := range t.Most {
			t.Most[level][(first+int64(i))>>level-first>>level] += t.Useful[i]
		}
		before = now
	}
	return t
}

// progressAt is the progress at the begin of a bucket: by the edge that the process noted or, after
// its last call, by what it did since. It is bounded. What was spent between two moments is no longer
// than the time between them, and what is left is no longer than the time left.
func (p *process) progressAt(number int64, shift int, before progress) progress {
	at, mpi, io, noted := p.edge(number, shift)
	if !noted {
		mpi, io = p.sinceLast(at)
	}
	at = min(max(at, before.at), p.end)
	room, rest := time.Duration(at-before.at), time.Duration(p.end-at)
	now := progress{at: at, useful: time.Duration(at - p.start - min(mpi+io, at-p.start)), io: time.Duration(io)}
	now.useful = min(max(now.useful, before.useful, p.useful-rest), before.useful+room, p.useful)
	room, rest = room-(now.useful-before.useful), rest-(p.useful-now.useful)
	now.io = min(max(now.io, before.io, p.io-rest), before.io+room, p.io)
	return now
}

// edge is when a bucket begins, and what the process noted then: its time in MPI and in files, ns.
func (p *process) edge(number int64, shift int) (at, mpi, io uint64, noted bool) {
	if line := p.slot.Timeline; line != nil {
		if i := number<<(shift-line.Shift) - line.First; i >= 0 && i < int64(len(line.Edges)) {
			e := line.Edges[i]
			return p.line.mono(e.At), p.line.of(e.MPI), p.line.of(e.IO), true
		}
	}
	return uint64(max(job.BucketBegin(number, shift)-p.realNs(0), 0)), 0, 0, false
}

// sinceLast is what the process had spent in MPI and in files, ns, at a moment after the last edge
// that it noted.
func (p *process) sinceLast(at uint64) (mpi, io uint64) {
	s := p.slot
	mpi, io = p.line.of(s.MPITicks), p.line.of(s.IOTicks)
	if last := p.line.mono(s.Last); at < last {
		mpi -= min(mpi, last-at)
	}
	if open := p.line.mono(s.Open); s.OpenCall >= 0 && s.FiniEnter == 0 && at > open {
		if record.FuncClass(s.OpenCall) == record.ClassIO {
			io += at - open
		} else {
			mpi += at - open
		}
	}
	return mpi, io
}

// point is what all threads of a process had computed at a moment, ns.
type point struct{ at, useful uint64 }

// threadPoints are the points that are known, in order; nil if what threads computed is not known.
func (p *process) threadPoints(share *job.ThreadShare) []point {
	if share.Why != "" {
		return nil
	}
	points := []point{{p.start, 0}}
	add := func(at, useful uint64) {
		last := points[len(points)-1]
		if at > last.at && at <= p.end {
			points = append(points, point{at, max(useful, last.useful)})
		}
	}
	for _, e := range p.slot.Timeline.Edges {
		at := p.line.mono(e.At + e.Late)
		if e.OpenMP == 0 { // there was one thread until then
			add(at, at-min(at, p.start+p.line.of(e.MPI)+p.line.of(e.IO)))
		} else {
			add(at, p.line.of(e.OpenMP))
		}
	}
	for i := range points {
		points[i].useful = min(points[i].useful, uint64(share.Useful))
	}
	return append(points, point{p.end, uint64(share.Useful)})
}

// usefulAt is what had been computed at a moment: between two points it grows evenly.
func usefulAt(points []point, at uint64) uint64 {
	for i := 1; i < len(points); i++ {
		if a, b := points[i-1], points[i]; at <= b.at && b.at > a.at {
			return a.useful + uint64(float64(b.useful-a.useful)*float64(at-a.at)/float64(b.at-a.at))
		}
	}
	return points[len(points)-1].useful
}
