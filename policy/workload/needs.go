package workload

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Needs is how much memory and time the next run like a job should be given, from earlier runs of its kind. Each is
// at least what the largest of them needed, and the next one exceeds it at most once in four hundred times.
type Needs struct {
	Like     job.Ran
	Runs     int           // that were completed: Time fits all of them
	Measured int           // those whose memory is known: Memory fits these
	Memory   int64         // bytes of each node, whole MiB; 0: NoMemory says why
	Time     time.Duration // whole minutes; 0: NoTime says why
	NoMemory string
	NoTime   string

	Most      float64  // bytes that the neediest node of these had to hold; 0: not known
	Longest   float64  // s, of these; 0: there are none
	RanOut    *Failure // of memory
	OverTime  *Failure
	Smaller   *Smaller // than Most; nil: they are of one size
	AllMemory bool     // Memory is all that a node has
	AllTime   bool     // Time is all that a job may have
	AtLimit   bool     // most end at their limit, as those do that go on from a checkpoint: Time is that
	each      bool     // every run has work of its own: one that was killed needs more itself
	Arguments bool     // only runs with the job's arguments count, as other jobs of its name had others
}

// Failure is a run that was killed for what it asked for: its true need is not known.
type Failure struct {
	Ran     job.Ran
	Had     float64 // bytes of each node, or s
	Of      int     // runs of the size, …
	Many    int     // … so many of which were killed for it
	Doubled bool    // too little is known since, or it is the job in hand: twice what it had is asked for
	Far     bool    // what it had is so far above what the others needed, that more is not known to help
}

// Smaller are runs that needed much less memory than the others. Nothing that is known tells them apart.
type Smaller struct {
	Runs   int
	Memory int64 // that would do for them
}

const (
	// lookedAt is how many of the newest runs of a size are searched for killed ones.
	lookedAt = 60
	// someRuns is how many completed runs are enough to tell of the next one, also after one that was
	// killed.
	someRuns = 5
	// exceeded is how often the next run may need more than is asked for, of each of memory and time.
	exceeded = 0.0025
	// LeastReserve is the least reserve over the largest, a fraction of it: memory may have been read in samples, and
	// without the kernel's own for the job.
	LeastReserve = 0.1
	// spreadWorth is how many runs the assumed spread of a resource counts as.
	spreadWorth = 4
	// apartBy is how many times as large the next larger need must be to begin another part.
	apartBy = 2.0
	// A job whose mean of busy CPUs lies between these may have had one thread. That of a program with
	// several threads is near one by chance, and not in each run.
	oneCoreLow, oneCoreHigh = 0.8, 1.05
	// nearLimit: where most jobs of a kind end at their limit, or after this part of it, each is taken to go on from the
	// last one's checkpoint.
	nearLimit = 0.95
	// farAbove is how many times as long as the longest other a run that was killed must have had to be thought stuck.
	farAbove = 4
	// nodesShare is the part of a node's memory that jobs may count on, where Slurm has not said it.
	nodesShare = 0.98
)

// resource is what is assumed of memory or time before runs show it. An unused minute costs nobody anything, an unused
// GiB does.
type resource struct {
	spread    float64 // standard deviation of its logarithm
	few, many float64 // the reserve over the largest of a few and of many runs, as a fraction of it, at most
}

var (
	ofMemory = resource{0.10, 0.4, 0.7}
	ofTime   = resource{0.20, 0.8, 1.4}
)

// NeedsOf is what the next job like one should be given, by the jobs of its workload. room is what Slurm gives it; nil: not known.
func NeedsOf(all []job.Ran, like job.Ran, room *job.Room) *Needs {
	n := &Needs{Like: like}
	runs := n.sameArguments(slices.DeleteFunc(byStart(all), func(r job.Ran) bool { return !sameSize(&r, &like) }))
	n.fill(runs[max(0, len(runs)-lookedAt):], CompletedLike(runs, &like), room)
	return n
}

// NeedsOfTasks is what fits each task of an array, also where these did different work.
func NeedsOfTasks(tasks []job.Ran, like job.Ran, room *job.Room) *Needs {
	n := &Needs{Like: like, each: true}
	tasks = byStart(tasks)
	n.fill(tasks, slices.DeleteFunc(slices.Clone(tasks), func(r job.Ran) bool { return NotCompleted(&r) }), room)
	return n
}

func byStart(all []job.Ran) []job.Ran {
	return slices.SortedStableFunc(slices.Values(all), func(a, b job.Ran) int { return a.Start.Compare(b.Start) })
}

// NotCompleted says whether a job did not come to its end.
func NotCompleted(r *job.Ran) bool { return r.State != "COMPLETED" }

// sameSize says whether a job was as large as another. Jobs that used one core each are of one
// size, however many CPUs they had.
func sameSize(r, like *job.Ran) bool {
	return r.Nodes == like.Nodes && (r.CPUs == like.CPUs || IsOneCore(r) && IsOneCore(like))
}

// SameShape says whether a job had the nodes, CPUs, ranks and tasks of another, so that its memory and time say what
// that one needs. One that was killed may have left fewer ranks.
func SameShape(r, like *job.Ran) bool {
	return sameSize(r, like) && r.Ranks == like.Ranks && r.Tasks == like.Tasks
}

// CompletedLike are the jobs that were completed, of the shape of another.
func CompletedLike(all []job.Ran, like *job.Ran) []job.Ran {
	return slices.DeleteFunc(slices.Clone(all), func(r job.Ran) bool { return NotCompleted(&r) || !SameShape(&r, like) })
}

// sameArguments are the runs whose script had the job's arguments, if enough of them were completed to tell; else
// all. The arguments of an MPI program are a part of its workload already.
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

// IsOneCore says whether a job used one core all the time.
func IsOneCore(r *job.Ran) bool {
	busy := r.CPUTime / r.Elapsed
	return max(r.Ranks, r.Tasks) <= 1 && r.Nodes == 1 && busy >= oneCoreLow && busy <= oneCoreHigh
}

// fill fills in memory and time from the runs of a size, and from done, the completed ones of them.
func (n *Needs) fill(runs, done []job.Ran, room *job.Room) {
	n.Runs = len(done)
	if room == nil {
		room = &job.Room{}
	}
	n.memory(runs, done, room)
	n.time(runs, done, room)
}

// memory fills in that of each node.
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
	if below, above := parts(known); below != nil && !n.each { // where each has work of its own, the user knows which are smaller
		_, enough := ofMemory.upper(below)
		n.Smaller = &Smaller{len(below), min(roundUp(enough), roundUp(above[0]))}
	}
}

// mostMemory is what a job on so many nodes may ask for of each, bytes; 0: not known. What a node itself reported is
// all that is built in: nodesShare of it counts.
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

// time fills in Slurm's limit.
func (n *Needs) time(runs, done []job.Ran, room *job.Room) {
	had := func(r *job.Ran) float64 { // Slurm may have been told another limit since
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

// stopped says whether a run was well until it was stopped.
func stopped(r *job.Ran) bool { return overTime(r) || r.State == "NODE_FAIL" || r.State == "PREEMPTED" }

func overTime(r *job.Ran) bool { return r.State == "TIMEOUT" || r.State == "DEADLINE" }

// failureOf is the newest run that was killed for what it had, if any. Twice what it had is asked for, unless someRuns
// were completed since, or one that needed more than it had.
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

// upper is the largest of some values, and what to ask for the next one. By a t distribution of their logarithms about
// the median, the next one exceeds that with the chance of exceeded. It is LeastReserve above the largest at least, and
// the resource's own reserve at most. The spread is that of the values above the median, as small runs, which did less,
// tell nothing of large ones; the assumed one counts as spreadWorth runs.
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

// parts are the values below and above the highest gap, sorted, if there are enough below; else all are above.
func parts(values []float64) (below, above []float64) {
	sorted := slices.Sorted(slices.Values(values))
	for i := len(sorted) - 1; i >= someRuns; i-- {
		if sorted[i] >= apartBy*sorted[i-1] {
			return sorted[:i], sorted[i:]
		}
	}
	return nil, sorted
}

// roundUp is a number of bytes in whole MiB, at most a sixteenth more.
func roundUp(bytes float64) int64 {
	mib := max(int64(math.Ceil(bytes/(1<<20))), 32)
	step := int64(1)
	for step*32 <= mib {
		step *= 2
	}
	return (mib + step - 1) / step * step << 20
}
