// Package demo makes up a year of a believable site: users with their workloads, and the jobs that
// they ran, as jobeffd would know them. The same seed and end give the same year. Its curves are
// those of curve.Amdahl with noise. Before it in the flow come ingest and policy, after it `jobeff
// admin demo-data`, which puts the jobs into a scratch database so that anybody can look at every
// view.
package demo

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// New makes up the site; Next then makes up its jobs.
func New(o Options) *Year {
	o.Jobs, o.Workloads = cmp.Or(o.Jobs, 300_000), cmp.Or(o.Workloads, 200)
	o.Users = min(cmp.Or(o.Users, 50), len(userNames))
	o.Share = cmp.Or(o.Share, 1)
	o.Until = o.Until.UTC().Truncate(time.Hour)
	y := &Year{opts: o, rng: rand.New(rand.NewPCG(o.Seed, 1)), next: 1_000_000} // #nosec G404 -- a made-up site, the same each time
	y.users = y.makeUsers()
	for i := range o.Workloads {
		y.loads = append(y.loads, y.makeLoad(i))
	}
	y.hours = y.rhythm()
	return y
}

// Start is when the year begins.
func (y *Year) Start() time.Time { return y.opts.Until.Add(-year) }

// End is when it ends.
func (y *Year) End() time.Time { return y.opts.Until }

// Heard says when each node reported last: up to four hours before the year's end, but for the last one without GPUs, which
// gets no jobs.
func (y *Year) Heard() map[string]time.Time {
	all := map[string]time.Time{nodeName(nodeCount - 1): y.opts.Until.AddDate(0, 0, -16)}
	for i := range nodeCount - 1 {
		all[nodeName(i)] = y.opts.Until.Add(-time.Duration(1+i*7%240) * time.Minute)
	}
	for i := range gpuNodes {
		all[gpuNode(i)] = y.opts.Until.Add(-time.Duration(1+i) * time.Minute)
	}
	return all
}

// rhythm returns the share of the year's jobs that have begun by the end of each hour. People work by day, on
// weekdays, and not at the turn of the year.
func (y *Year) rhythm() []float64 {
	var sum float64
	var out []float64
	for t := y.Start(); t.Before(y.opts.Until); t = t.Add(time.Hour) {
		w := 1 + 1.5*math.Exp(-math.Pow(float64(t.Hour()-14)/4, 2))
		if d := t.Weekday(); d == time.Saturday || d == time.Sunday {
			w *= 0.45
		}
		if d := t.YearDay(); d > 357 || d < 5 {
			w *= 0.3
		}
		sum += w
		out = append(out, sum)
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// Next returns the next job, in the order of their ids; nil after the last. The jobs of bare, recent and
// onGPUs are added to the number that was asked for.
func (y *Year) Next() *job.Job {
	if y.made == y.opts.Jobs && y.last == nil {
		y.last = slices.Concat(y.bare(), y.recent(), y.onGPUs())
	}
	if y.made >= y.opts.Jobs {
		if y.made-y.opts.Jobs == len(y.last) {
			return nil
		}
		y.made++
		return y.last[y.made-y.opts.Jobs-1]
	}
	for len(y.queue) == 0 {
		y.submit(y.when())
	}
	j := y.queue[0]
	y.queue = y.queue[1:]
	y.made++
	return j
}

// when returns the time of the next submission.
func (y *Year) when() time.Time {
	for len(y.times) == 0 {
		if y.hour == len(y.hours) {
			return y.opts.Until.Add(-time.Minute)
		}
		from := y.Start().Add(time.Duration(y.hour) * time.Hour)
		n := int(y.hours[y.hour]*float64(y.opts.Jobs)) - y.made
		for range n {
			y.times = append(y.times, from.Add(time.Duration(y.rng.Int64N(int64(time.Hour)))))
		}
		slices.SortFunc(y.times, time.Time.Compare)
		y.hour++
	}
	t := y.times[0]
	y.times = y.times[1:]
	return t
}

// submit makes up what somebody submits at t: mostly an MPI job of a workload, else
// an array of jobs without MPI.
func (y *Year) submit(t time.Time) {
	if y.rng.Float64() < 0.05 {
		y.array(t)
		return
	}
	if l := y.pick(t); l != nil {
		y.queue = append(y.queue, y.run(l, t))
	}
}

// pick chooses a workload that is in use at t, the much used ones more often.
func (y *Year) pick(t time.Time) *load {
	for range 50 {
		l := y.loads[int(float64(len(y.loads))*math.Pow(y.rng.Float64(), 2.2))]
		if !t.Before(l.from) && t.Before(l.to) {
			return l
		}
	}
	return nil
}

// between returns a random number whose logarithm is uniform between those of low and high.
func (y *Year) between(low, high float64) float64 {
	return low * math.Pow(high/low, y.rng.Float64())
}

// chance is true with probability p.
func (y *Year) chance(p float64) bool { return y.rng.Float64() < p }
