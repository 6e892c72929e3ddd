package demo

import (
	"fmt"
	"math/rand/v2"
	"time"

	"jobeff/ingest/job"
)

// ranksKept is how long a site keeps the courses of its jobs.
const ranksKept = 90 * 24 * time.Hour

// course fills in how the ranks, of `threads` threads each, spent their time over the run. Its random numbers
// follow from the job's id, so that the rest of the year stays as it is.
func course(e *job.Execution, id uint32, threads int) {
	rng := rand.New(rand.NewPCG(uint64(id), 32))
	from, to := e.Start.UnixNano(), e.End.UnixNano()
	if to <= from {
		return
	}
	shift := job.ShiftFor(0, from, to)
	first := job.BucketOf(from, shift)
	whole := job.NewTimeline(shift, first, int(job.BucketOf(to, shift)-first+1))
	pace := shape(rng, len(whole.Elapsed))
	var lived, sum, mean float64
	for i := range whole.Elapsed {
		whole.Elapsed[i] = time.Duration(min(to, job.BucketBegin(first+int64(i)+1, shift)) - max(from, job.BucketBegin(first+int64(i), shift)))
		lived, sum = lived+whole.Elapsed[i].Seconds(), sum+pace[i]*whole.Elapsed[i].Seconds()
	}
	mean = sum / lived
	for i := range pace {
		pace[i] -= mean
	}
	var all []*job.Timeline // of ranks or nodes
	beside := 0.0           // useful time of all threads, by that of the ranks
	for k := range e.Nodes {
		n := &e.Nodes[k]
		n.BootID, n.ClockError = fmt.Sprintf("%032x", k+1), time.Millisecond
		if n.Threads != nil {
			beside = n.Threads.Useful.Seconds() / max(n.Useful.Seconds(), 1e-9)
		}
		var rows []*job.Timeline
		if e.Size <= job.MostRows || len(e.Nodes) == 1 && n.Ranks <= job.MostRows {
			left, shares := n.Useful, 0
			for _, share := range n.UsefulShare {
				shares += int(share)
			}
			for r, share := range n.UsefulShare {
				useful := min(time.Duration(float64(n.Useful)*float64(share)/float64(max(shares, 1))), left)
				if left -= useful; r == n.Ranks-1 {
					useful += left
				}
				rows = append(rows, part(whole, pace, 1, useful, useful))
			}
		} else {
			rows = append(rows, part(whole, pace, n.Ranks, n.Useful, n.UsefulMax))
		}
		n.Course = job.NewCourse(whole, rows)
		all = append(all, rows...)
	}
	e.Timeline = job.SumTimelines(all)
	if t := e.Timeline; beside > 0 {
		for i := range t.Elapsed {
			t.Threads = append(t.Threads, time.Duration(threads)*t.Elapsed[i])
			t.ThreadsUseful = append(t.ThreadsUseful, min(time.Duration(beside*float64(t.Useful[i])), t.Threads[i]))
		}
	}
}

// shape returns the pace at which ranks compute in each of n buckets, up to a constant: the same all the time,
// lower at the beginning, or lower from some moment on.
func shape(rng *rand.Rand, n int) []float64 {
	pace, kind, turn := make([]float64, n), rng.IntN(6), n/2+rng.IntN(n/4+1)
	for i := range pace {
		pace[i] = 0.02 * rng.NormFloat64()
		if kind == 0 && i < n/8 || kind == 1 && i > turn {
			pace[i] -= 0.4
		}
	}
	return pace
}

// part makes the timeline of some ranks. All of them together computed for useful, the busiest for most.
func part(like *job.Timeline, pace []float64, ranks int, useful, most time.Duration) *job.Timeline {
	t := job.NewTimeline(like.Shift, like.First, len(like.Elapsed))
	t.Ranks, t.MostWhole = ranks, most
	var lived time.Duration
	for _, d := range like.Elapsed {
		lived += d
	}
	mean := useful.Seconds() / float64(ranks) / lived.Seconds()
	room := 1.0 // how much of pace fits between no computing and all the time
	for _, p := range pace {
		if p > 0 {
			room = min(room, (1-mean)/p)
		} else if p < 0 {
			room = min(room, mean/-p)
		}
	}
	left, of := useful, most.Seconds()/max(useful.Seconds(), 1e-9)
	for i, d := range like.Elapsed {
		t.Elapsed[i] = time.Duration(ranks) * d
		t.Useful[i] = min(max(time.Duration((mean+max(room, 0)*pace[i])*float64(t.Elapsed[i])), 0), t.Elapsed[i], left)
		left -= t.Useful[i]
		for level := range t.Most {
			t.Most[level][(t.First+int64(i))>>level-t.First>>level] += time.Duration(of * float64(t.Useful[i]))
		}
	}
	for i := range t.Useful { // what rounding left over
		more := min(left, t.Elapsed[i]-t.Useful[i])
		t.Useful[i], left = t.Useful[i]+more, left-more
	}
	return t
}
