package workload

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Needs is how much memory and time the next run like a job should be given, from earlier runs of its kind.
// Each is at least what the largest of these needed. The next run exceeds it at most once in four hundred
// times.
type Needs struct {
	Like     job.Ran
	Runs     int           // completed runs: Time fits all of them
	Measured int           // those with known memory: Memory fits these
	Memory   int64         // bytes of each node, whole MiB; 0: NoMemory says why
	Time     time.Duration // whole minutes; 0: NoTime says why
	NoMemory string
	NoTime   string

	Most      float64  // bytes that the neediest node of Measured runs had to hold; 0: not known
	Longest   float64  // s, of Runs; 0: there are none
	RanOut    *Failure // ran out of memory
	OverTime  *Failure
	Smaller   *Smaller // a group that needed much less than Most; nil: all are of one size
	AllMemory bool     // Memory is all that a node has
	AllTime   bool     // Time is all that a job may have
	AtLimit   bool     // most runs end at their limit, and probably go on from a checkpoint: Time is that limit
	each      bool     // every run has work of its own: a killed one needs more itself
	Arguments bool     // only runs with the job's arguments count, as there are others
}

// Failure is a run that was killed for lack of what it asked for. Its true need is not known.
type Failure struct {
	Ran     job.Ran
	Had     float64 // bytes of each node, or s
	Of      int     // runs of the size, …
	Many    int     // … and how many of them were killed for it
	Doubled bool    // twice Had is asked for: too few runs completed since, or it is the job in hand
	Far     bool    // Had is so far above what the others needed that more may not help
}

// Smaller are runs that needed much less memory than the others. No known property separates them.
type Smaller struct {
	Runs   int
	Memory int64 // enough for them
}

const (
	// lookedAt is the number of newest runs of a size that are searched for killed ones.
	lookedAt = 60
	// someRuns is the number of completed runs that suffice to predict the next one, also after a killed one.
	someRuns = 5
	// exceeded is the chance that the next run needs more than is asked for, for memory and for time.
	exceeded = 0.0025
	// LeastReserve is the least reserve over the largest, a fraction of it. Memory may have been read in samples,
	// and without the kernel's own memory for the job.
	LeastReserve = 0.1
	// spreadWorth is the number of runs that the assumed spread of a resource counts as.
	spreadWorth = 4
	// apartBy is the factor between two neighbouring needs from which the larger begins another part.
	apartBy = 2.0
	// oneCoreLow and oneCoreHigh bound the mean of busy CPUs of a job that may have had one thread. A program with
	// several threads is between them only by chance, and not in each run.
	oneCoreLow, oneCoreHigh = 0.8, 1.05
	// nearLimit is the part of the limit from which a job counts as ended at its limit. If most jobs of a kind do,
	// each is taken to go on from the last one's checkpoint.
	nearLimit = 0.95
	// farAbove is the factor over the longest other run from which a killed run is taken to have been stuck.
	farAbove = 4
	// nodesShare is the part of a node's memory that jobs may count on if Slurm has not said it.
	nodesShare = 0.98
)

// resource holds what is assumed about memory or time before runs show it. An unused minute costs nobody
// anything, an unused GiB does.
type resource struct {
	spread    float64 // standard deviation of its logarithm
	few, many float64 // most reserve over the largest of a few and of many runs, as a fraction of it
}

var (
	ofMemory = resource{0.10, 0.4, 0.7}
	ofTime   = resource{0.20, 0.8, 1.4}
)

// NeedsOf returns what the next job like one should be given, from the jobs of its workload. room is what Slurm
// allows; nil: not known.
func NeedsOf(all []job.Ran, like job.Ran, room *job.Room) *Needs {
	n := &Needs{Like: like}
	runs := n.sameArguments(slices.DeleteFunc(byStart(all), func(r job.Ran) bool { return !sameSize(&r, &like) }))
	n.fill(runs[max(0, len(runs)-lookedAt):], CompletedLike(runs, &like), room)
	return n
}

// NeedsOfTasks returns what fits each task of an array, even if these did different work.
func NeedsOfTasks(tasks []job.Ran, like job.Ran, room *job.Room) *Needs {
	n := &Needs{Like: like, each: true}
	tasks = byStart(tasks)
	n.fill(tasks, slices.DeleteFunc(slices.Clone(tasks), func(r job.Ran) bool { return NotCompleted(&r) }), room)
	return n
}

func byStart(all []job.Ran) []job.Ran {
	return slices.SortedStableFunc(slices.Values(all), func(a, b job.Ran) int { return a.Start.Compare(b.Start) })
}

// NotCompleted reports whether a job did not come to its end.
func NotCompleted(r *job.Ran) bool { return r.State != "COMPLETED" }

// sameSize reports whether a job was as large as another. Jobs that used one core each are of one size, however
// many CPUs they had.
func sameSize(r, like *job.Ran) bool {
	return r.Nodes == like.Nodes && (r.CPUs == like.CPUs || IsOneCore(r) && IsOneCore(like))
}

// SameShape reports whether a job had the nodes, CPUs, ranks and tasks of another, so that its memory and time
// apply to that one. Killed jobs may have left fewer ranks, so these are compared by sameSize.
func SameShape(r, like *job.Ran) bool {
	return sameSize(r, like) && r.Ranks == like.Ranks && r.Tasks == like.Tasks
}

// CompletedLike returns the completed jobs with the shape of another.
func CompletedLike(all []job.Ran, like *job.Ran) []job.Ran {
	return slices.DeleteFunc(slices.Clone(all), func(r job.Ran) bool { return NotCompleted(&r) || !SameShape(&r, like) })
}

// sameArguments returns the runs whose script had the job's arguments, if enough of them were completed, else
// all. The arguments of an MPI program are a part of its workload's key already.
func (n *Needs) sameArguments(runs []job.Ran) []job.Ran {
	var same []job.Ran
	completed := 0
	for i := range runs {
		if r := &runs[i]; r.Args == n.Like.Args {
			if same = append(same, *r); !NotCompleted(r) {
				completed++
			}
		}
	}
	if n.Like.Ranks > 0 || n.Like.Args == "" || completed < someRuns {
		return runs
	}
	n.Arguments = len(same) < len(runs)
	return same
}

// IsOneCore reports whether a job used one core all the time.
func IsOneCore(r *job.Ran) bool {
	busy := r.CPUTime / r.Elapsed
	return max(r.Ranks, r.Tasks) <= 1 && r.Nodes == 1 && busy >= oneCoreLow && busy <= oneCoreHigh
}

// fill fills in memory and time. runs are all of a size; done are the completed ones.
func (n *Needs) fill(runs, done []job.Ran, room *job.Room) {
	n.Runs = len(done)
	if room == nil {
		room = &job.Room{}
	}
	n.memory(runs, done, room)
	n.time(runs, done, room)
}

// memory fills in the memory of each node.
func (n *Needs) memory(runs, done []job.Ran, room *job.Room) {
	had := func(r *job.Ran) float64 { return float64(r.Memory) / float64(max(r.Nodes, 1)) }
	var known []float64
	for i := range done {
		switch r := &done[i]; {
		case r.Full && had(r) > 0: // it was completed with that, so as much is asked for
			known = append(known, had(r)/(1+LeastReserve))
		case r.NodeNeeded > 0:
			known = append(known, float64(r.NodeNeeded))
		}
	}
	n.RanOut = n.failureOf(runs, had, func(r *job.Ran) float64 { return float64(r.NodeNeeded) }, outOfMemory)
	n.Measured = len(known)
	if n.RanOut != nil && n.RanOut.Had == 0 {
		n.NoMemory = "job " + n.RanOut.Ran.ID + " ran out of memory, and how much it had is not known"
		return
	}
	if n.RanOut == nil && 2*len(known) < len(done) || len(done) == 0 && n.RanOut == nil {
		n.NoMemory = "how much memory it needed was not read on its nodes"
		if len(done) == 0 {
			n.NoMemory = noneCompleted
		}
		return
	}
	all := mostMemory(room, max(n.Like.Nodes, 1))
	most, asked := ofMemory.upper(known)
	for i := range runs { // a run that was stopped from outside held this, and so will the next one
		if r := &runs[i]; stopped(r) && float64(r.NodeNeeded) > most {
			most = float64(r.NodeNeeded)
			asked = max(asked, most*(1+LeastReserve))
		}
	}
	n.Most = most
	if f := n.RanOut; f != nil {
		if all > 0 && f.Had >= all {
			n.NoMemory, n.AllMemory = "a run of it ran out of all the memory of its node", true
			return
		}
		asked = max(asked, f.asked())
	}
	if asked == 0 {
		n.NoMemory = "how much memory it needed was not read on its nodes"
		return
	}
	if all > 0 && asked > all {
		asked = max(all, most)
		n.AllMemory = true
	}
	n.Memory = roundUp(asked)
	if room.Memory > 0 && n.Memory > room.Memory {
		n.Memory = room.Memory >> 20 << 20
	}
	if below, above := parts(known); below != nil && !n.each { // if each has work of its own, the user knows which are smaller
		_, enough := ofMemory.upper(below)
		n.Smaller = &Smaller{len(below), min(roundUp(enough), roundUp(above[0]))}
	}
}

// mostMemory returns what a job on so many nodes may ask for on each, bytes; 0: not known. What a node itself
// reported is its physical memory: only nodesShare of it counts.
func mostMemory(room *job.Room, nodes int) float64 {
	most := float64(room.Memory)
	if !room.FromSlurm() {
		return most * nodesShare
	}
	if each := float64(room.AllMemory) / float64(nodes); each > 0 {
		most = min(most, each)
	}
	return most
}

const noneCompleted = "no job of this size was completed"

// time fills in the time limit to ask Slurm for.
func (n *Needs) time(runs, done []job.Ran, room *job.Room) {
	had := func(r *job.Ran) float64 { // the limit may have been changed since
		if r.Limit > 0 {
			return min(r.Limit, r.Elapsed)
		}
		return r.Elapsed
	}
	n.OverTime = n.failureOf(runs, had, func(r *job.Ran) float64 { return r.Elapsed }, overTime)
	atLimit := 0
	for i := range runs {
		if r := &runs[i]; overTime(r) || r.Limit > 0 && !NotCompleted(r) && r.Elapsed >= nearLimit*r.Limit {
			atLimit++
		}
	}
	switch {
	case atLimit >= 3 && 2*atLimit >= len(runs) && n.Like.Limit > 0 && !slices.ContainsFunc(done, func(r job.Ran) bool { return r.Elapsed > n.Like.Limit }):
		n.Time, n.AtLimit = time.Duration(n.Like.Limit)*time.Second, true
		return
	case len(done) == 0 && n.OverTime == nil:
		n.NoTime = noneCompleted
		return
	}
	var known []float64
	for i := range done {
		known = append(known, max(done[i].Elapsed, 1)) // Slurm counts whole seconds
	}
	longest, asked := ofTime.upper(known)
	n.Longest = longest
	if f := n.OverTime; f != nil {
		if f.Far = len(done) >= someRuns && f.Had >= farAbove*longest; f.Far {
			f.Doubled = false
		}
		asked = max(asked, f.asked())
	}
	n.Time = time.Duration(math.Ceil(asked/60)) * time.Minute
	if room.Time > 0 && n.Time > room.Time {
		n.Time, n.AllTime = room.Time.Truncate(time.Minute), true
	}
}

func outOfMemory(r *job.Ran) bool { return r.State == "OUT_OF_MEMORY" }

// stopped reports whether a run was well until it was stopped.
func stopped(r *job.Ran) bool { return overTime(r) || r.State == "NODE_FAIL" || r.State == "PREEMPTED" }

func overTime(r *job.Ran) bool { return r.State == "TIMEOUT" || r.State == "DEADLINE" }

// failureOf returns the newest run that was killed for lack of what it had, if any. Twice that is asked for,
// unless someRuns were completed since, or one that needed more than it had.
func (n *Needs) failureOf(runs []job.Ran, had, needed func(*job.Ran) float64, killed func(*job.Ran) bool) *Failure {
	var f *Failure
	many, since, answered := 0, 0, false
	for i := range runs {
		switch r := &runs[i]; {
		case killed(r):
			before := 0.0
			if f != nil {
				before = f.Had
			}
			f = &Failure{Ran: *r, Had: max(had(r), before)}
			many, since, answered = many+1, 0, false
		case f != nil && !NotCompleted(r):
			since++
			answered = answered || needed(r) > f.Had
		}
	}
	if f != nil {
		f.Of, f.Many, f.Doubled = len(runs), many, !answered && since < someRuns
		if killed(&n.Like) { // the next one is like this one
			f.Ran, f.Had = n.Like, max(f.Had, had(&n.Like))
		}
		f.Doubled = f.Doubled || killed(&n.Like) || n.each
	}
	return f
}

func (f *Failure) asked() float64 {
	if f.Doubled {
		return 2 * f.Had
	}
	return f.Had
}

// upper returns the largest of some values, and what to ask for next. Under a t distribution of their
// logarithms about the median, the next value exceeds that with the chance exceeded. It is at least
// LeastReserve and at most the resource's own reserve above the largest. The spread is that of the values above
// the median: smaller runs did less, and say nothing about large ones. The assumed spread counts as spreadWorth
// runs.
func (r resource) upper(values []float64) (most, asked float64) {
	if len(values) == 0 {
		return 0, 0
	}
	_, values = parts(values)
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i], most = math.Log(v), max(most, v)
	}
	middle, free, squares := curve.Median(logs), float64(spreadWorth+len(values)-1), spreadWorth*r.spread*r.spread
	for _, l := range logs {
		squares += 2 * max(l-middle, 0) * max(l-middle, 0) // the lower half is taken to be as far
	}
	t := distuv.StudentsT{Sigma: 1, Nu: free}.Quantile(1 - exceeded)
	likely, reserve := math.Exp(middle+t*math.Sqrt(squares/free*(1+1/float64(len(values))))), r.many
	if len(values) < someRuns {
		reserve = r.few
	}
	return most, max(min(likely, (1+reserve)*most), (1+LeastReserve)*most)
}

// parts returns the values below and above the highest gap, sorted, if there are enough below. Otherwise all
// are above.
func parts(values []float64) (below, above []float64) {
	sorted := slices.Sorted(slices.Values(values))
	for i := len(sorted) - 1; i >= someRuns; i-- {
		if sorted[i] >= apartBy*sorted[i-1] {
			return sorted[:i], sorted[i:]
		}
	}
	return nil, sorted
}

// roundUp returns a number of bytes in whole MiB, at least 32 of them, at most a sixteenth more.
func roundUp(bytes float64) int64 {
	mib := max(int64(math.Ceil(bytes/(1<<20))), 32)
	step := int64(1)
	for step*32 <= mib {
		step *= 2
	}
	return (mib + step - 1) / step * step << 20
}
