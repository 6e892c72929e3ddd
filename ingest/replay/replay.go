package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
)

const (
	windowsLeast = 4    // for an interval: windows, and blocks of matched ones
	shareLeast   = 0.8  // of the chosen windows' time in matched ones
	unlikeMost   = 0.05 // by which the windows' PE, LB and CommE may differ from the run's
	asWasMost    = 0.1  // by which the replay on the network as it was may differ from the run, and the clocks from each other
)

// Windows replays the windows of an execution, from the logs of its ranks.
func Windows(logs []Log, e *job.Execution) *job.Windows {
	var run efficiencies
	if m := job.ExecutionMetrics(e); m != nil {
		run = efficiencies{PE: m.MPI.Parallel, LB: m.MPI.LoadBalance, CommE: m.MPI.Communication}
	}
	return replay(logs, e.Size, run)
}

// replay replays the windows of a run of size ranks, which they must resemble in PE, LB and CommE.
func replay(logs []Log, size int, run efficiencies) *job.Windows {
	c, why := choose(logs, size)
	if why != Determined {
		return &job.Windows{Why: why}
	}
	r := newReplayer(c)
	for i, w := range c.windows {
		r.one(i, w)
	}
	return r.result(run)
}

// replayer replays the windows one after the other.
type replayer struct {
	*choice
	window *window
	sim    *sim
	paths  *paths
	all    sums
	blocks []sums
	useful []float64 // of the window at hand
	drops  map[Reason]*job.WindowDrop

	talking int
	chosen  float64 // time of all windows, ns
	inside  float64 // … of the matched ones
	unsure  float64 // of the matched ones: the clocks' doubts, ns
}

func newReplayer(c *choice) *replayer {
	n := len(c.readers)
	w := newWindow(c.nodeOf, c.clocks)
	blocks := min(blocksMost, len(c.windows))
	r := &replayer{choice: c, window: w, sim: newSim(w), paths: newPaths(n, blocks), all: newSums(n),
		useful: make([]float64, n), drops: map[Reason]*job.WindowDrop{}}
	for range blocks {
		r.blocks = append(r.blocks, newSums(n))
	}
	return r
}

// one replays a window, the i-th of the chosen ones.
func (r *replayer) one(i int, c *chosen) {
	r.chosen += c.meanTime()
	why := r.window.match(r.choice, c)
	if why == Matched && !r.sim.run(r.usefulTimes()) {
		why = ReasonEndless
	}
	if why != Matched {
		r.drop(why, c)
		return
	}
	r.inside += c.meanTime()
	if len(r.window.msgs) > 0 {
		r.talking++
	}
	nets, elapsed := r.sim.means(), r.window.elapsed()
	r.unsure += r.window.unsure()
	r.all.add(elapsed, &nets, r.useful)
	block := i * len(r.blocks) / len(r.windows)
	r.blocks[block].add(elapsed, &nets, r.useful)
	end := &r.sim.all[r.window.acts[len(r.window.acts)-1].ref]
	r.paths.add(r.sim, block, end.act, end.at[ideal], end.at[ideal]-slices.Max(r.useful))
}

// usefulTimes are the ranks' useful times in the window, ns.
func (r *replayer) usefulTimes() []float64 {
	clear(r.useful)
	for i := range r.window.acts {
		a := &r.window.acts[i]
		r.useful[a.rank] += a.gap
	}
	return r.useful
}

// means is the mean moment, on each network, at which the ranks left the window.
func (s *sim) means() times {
	var out times
	for r := range s.clock {
		for i := range out {
			out[i] += s.clock[r][i] / float64(len(s.clock))
		}
	}
	return out
}

func (r *replayer) drop(why Reason, c *chosen) {
	d := r.drops[why]
	if d == nil {
		d = &job.WindowDrop{Reason: why}
		r.drops[why] = d
	}
	d.Count++
	d.Time = time.Duration(min(float64(d.Time)+c.meanTime(), latest))
}

func (r *replayer) result(run efficiencies) *job.Windows {
	none := newSums(len(r.useful))
	e := r.all.without(&none)
	out := &job.Windows{Logged: len(r.windows), Matched: r.all.windows, Talking: r.talking, Dropped: len(r.windows) - r.all.windows,
		LoadBalance: e.LB, Communication: e.CommE}
	for _, why := range slices.Sorted(maps.Keys(r.drops)) {
		out.Drops = append(out.Drops, *r.drops[why])
	}
	slices.SortStableFunc(out.Drops, func(a, b job.WindowDrop) int { return cmp.Compare(b.Time, a.Time) })
	if r.chosen > 0 {
		out.Share = r.inside / r.chosen
	}
	switch {
	case out.Logged < windowsLeast:
		out.Why = WhyFew
	case out.Share < shareLeast:
		out.Why = WhyShare
	case r.matchedBlocks() < windowsLeast:
		out.Why = WhyFew
	case e.PE == 0 || math.Abs(e.PE-run.PE) > unlikeMost || math.Abs(e.LB-run.LB) > unlikeMost || math.Abs(e.CommE-run.CommE) > unlikeMost:
		out.Why = WhyNotLike
	default:
		r.estimate(out, e)
	}
	return out
}

// matchedBlocks is how many blocks of the run have a matched window.
func (r *replayer) matchedBlocks() int {
	n := 0
	for i := range r.blocks {
		if r.blocks[i].windows > 0 {
			n++
		}
	}
	return n
}

// estimate adds what is reported only if it is determined.
func (r *replayer) estimate(out *job.Windows, e efficiencies) {
	out.Serialisation, out.Transfer = jackknife(e, &r.all, r.blocks)
	nets := &r.all.nets
	elapsed := max(r.all.elapsed, nets[ideal])
	out.Elapsed, out.Ideal = time.Duration(min(elapsed, latest)), time.Duration(min(nets[ideal], latest))
	if math.Abs(nets[asWas]/elapsed-1) <= asWasMost && r.unsure <= asWasMost*elapsed {
		out.WhatIf = &job.WhatIf{FreeNetwork: e.TE,
			FasterNetwork: max(min(nets[halved]/nets[asWas], 1), e.TE),
			Balanced:      min(nets[balanced]/nets[asWas], 1)}
	}
	out.Path = r.paths.result(nets[ideal], nets[ideal]*(1-e.SerE))
	r.paths.links.tell(out.Path, r.sites, r.blocks)
}
