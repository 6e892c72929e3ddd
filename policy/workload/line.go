package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// Line is what sbatch is to be asked for by the next job of a workload: never less than the largest run
// had, and no more than follows from the runs.
type Line struct {
	Why         string // why there is none; "": there is
	Nodes       int
	Tasks       int
	CPUsPerTask int
	Memory      int64         // bytes of each node, whole MiB
	Time        time.Duration // whole minutes
	Runs        int           // that it would have fitted: all that count
	Arguments   bool          // these are those with the job's arguments, where other jobs of its name had others
	// What was added to the largest run, as fractions of it.
	MemoryReserve, TimeReserve float64
	Like                       job.Ran // the job that it is for
	Array                      bool    // Like is an array, with the time of all its tasks
}

const (
	// manyRuns: from so many on, the past tells what reserve would have been enough.
	manyRuns = 60
	// someRuns: below it, the largest of the runs says little of the next one.
	someRuns = 5
	// fits is the part of the newer half that a reserve must have fitted.
	fits = 0.99
	// leastReserve: what was read of memory may be samples, without the kernel's own memory for the job.
	leastReserve = 0.1
	// apartBy is how many times as large the next larger run must be to begin another part, of partRuns or more.
	apartBy  = 2.0
	partRuns = 3
	// oneCore: a job that kept so many CPUs busy all the time may have had one thread. A mean near one of
	// a program with several threads is chance, and not in each run.
	oneCoreLow, oneCoreHigh = 0.8, 1.05
)

// LineOf is the line for a job like this one, from the jobs of its workload. Nil: like the newest that
// was completed.
func LineOf(all []job.Ran, like *job.Ran) *Line {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b job.Ran) int { return a.Start.Compare(b.Start) })
	for i := range all {
		if like == nil && all[len(all)-1-i].State == "COMPLETED" {
			like = &all[len(all)-1-i]
		}
	}
	if like == nil {
		return &Line{Why: "no job of it was completed"}
	}
	l := &Line{Like: *like, Nodes: like.Nodes}
	runs := l.sameArguments(slices.DeleteFunc(slices.Clone(all), func(r job.Ran) bool { return !l.sameSize(&r) }))
	if l.Why = ended(runs[max(0, len(runs)-manyRuns):]); l.Why == "" {
		runs = slices.DeleteFunc(runs, func(r job.Ran) bool { return notCompleted(r) || !l.sameShape(&r) })
		l.Why = l.fill(l.part(runs))
	}
	return l
}

// LineOfArray is the line for an array like this one: it fits each of its tasks, also where these did
// different work.
func LineOfArray(id string, tasks []job.Ran) *Line {
	tasks = slices.SortedStableFunc(slices.Values(tasks), func(a, b job.Ran) int { return a.Start.Compare(b.Start) })
	done := slices.DeleteFunc(slices.Clone(tasks), notCompleted)
	if len(done) == 0 {
		return &Line{Why: "no task of it was completed"}
	}
	l := &Line{Like: done[len(done)-1], Array: true}
	l.Nodes = l.Like.Nodes
	if l.Why = ended(tasks); l.Why == "" && slices.ContainsFunc(done, func(r job.Ran) bool { return !l.sameShape(&r) }) {
		l.Why = "its tasks had different numbers of nodes, CPUs or ranks"
	}
	if l.Why == "" {
		l.Why = l.fill(done)
	}
	l.Like.ID, l.Like.Elapsed = id, 0
	for _, r := range done {
		l.Like.Elapsed += r.Elapsed
	}
	return l
}

func notCompleted(r job.Ran) bool { return r.State != "COMPLETED" }

// sameSize says whether a job was as large as the line's. One core is one core, of however many.
func (l *Line) sameSize(r *job.Ran) bool {
	return r.Nodes == l.Like.Nodes && (r.CPUs == l.Like.CPUs || isOneCore(r) && isOneCore(&l.Like))
}

// sameShape says whether a job's memory and time tell of those of the line's job. One that was killed may have left
// fewer ranks.
func (l *Line) sameShape(r *job.Ran) bool {
	return l.sameSize(r) && r.Ranks == l.Like.Ranks && r.Tasks == l.Like.Tasks
}

// sameArguments are the runs whose script had the job's arguments, if enough of them were completed to tell; else
// all. An MPI program's own arguments have told its workload.
func (l *Line) sameArguments(runs []job.Ran) []job.Ran {
	var same []job.Ran
	completed := 0
	for _, r := range runs {
		if r.Args == l.Like.Args {
			if same = append(same, r); r.State == "COMPLETED" {
				completed++
			}
		}
	}
	if l.Like.Ranks > 0 || l.Like.Args == "" || completed < someRuns {
		return runs
	}
	l.Arguments = len(same) < len(runs)
	return same
}

// isOneCore says whether the job used one core all the time.
func isOneCore(r *job.Ran) bool {
	busy := r.CPUTime / r.Elapsed
	return max(r.Ranks, r.Tasks) <= 1 && r.Nodes == 1 && busy >= oneCoreLow && busy <= oneCoreHigh
}

// ended says which of the jobs keep the others from telling what is enough.
func ended(runs []job.Ran) string {
	for _, r := range runs {
		switch {
		case r.State == "OUT_OF_MEMORY":
			return fmt.Sprintf("job %s ran out of memory: what it needed is not known", r.ID)
		case r.Full:
			return fmt.Sprintf("job %s reached its limit of memory: what it would have needed is not known", r.ID)
		case r.State == "TIMEOUT" || r.State == "DEADLINE":
			return fmt.Sprintf("job %s reached its time limit: what it would have needed is not known", r.ID)
		}
	}
	return ""
}

// fill makes the line of runs, which were completed, in the order of their start.
func (l *Line) fill(runs []job.Ran) (why string) {
	l.Runs = len(runs)
	switch {
	case len(runs) == 0:
		return "no job of this size was completed"
	case l.Like.GPUs > 0:
		return "it had GPUs, and what these need is not measured"
	case strings.Contains(l.Like.ID, "+"): // 123+1
		return "it is a part of a heterogeneous job, of which one line would ask for one part only"
	case slices.ContainsFunc(runs, func(r job.Ran) bool { return r.NodeNeeded <= 0 }):
		return "how much memory it needed was not read on its nodes"
	case l.Nodes < 1 || l.Like.CPUs < 1:
		return "Slurm has not said how many nodes and CPUs it had"
	}
	if why := l.cores(runs); why != "" {
		return why
	}
	memory, reserve := largest(runs, 0.4, 0.2, func(r *job.Ran) float64 { return float64(r.NodeNeeded) })
	reserve = max(reserve, leastReserve)
	l.Memory, l.MemoryReserve = roundUp(memory*(1+reserve)), reserve
	seconds, reserve := largest(runs, 0.8, 0.4, func(r *job.Ran) float64 { return max(r.Elapsed, 1) }) // Slurm counts whole seconds
	l.Time, l.TimeReserve = time.Duration(math.Ceil(seconds*(1+reserve)/60))*time.Minute, reserve
	return ""
}

// cores are the tasks, and the CPUs of each, that make the CPUs that the job was given. One that used one
// core each time asks for one. Of a job without MPI, Slurm's tasks are known: srun starts as many as are asked for.
func (l *Line) cores(runs []job.Ran) string {
	l.Tasks = max(l.Like.Ranks, l.Like.Tasks, l.Nodes)
	if !slices.ContainsFunc(runs, func(r job.Ran) bool { return !isOneCore(&r) }) {
		l.Tasks, l.CPUsPerTask = 1, 1
		return ""
	}
	if l.Like.CPUs%l.Tasks != 0 {
		return fmt.Sprintf("its %s do not part among %s", figure.Counted(l.Like.CPUs, "CPU"), figure.Counted(l.Tasks, "task"))
	}
	l.CPUsPerTask = l.Like.CPUs / l.Tasks
	return ""
}

// part are the runs that are alike the job: a gap in their memory or CPU time tells runs apart that did
// other work. A few large ones stay with the others: the next may be one of them. What the job itself would have
// needed is not known if it was not completed: then none are left out.
func (l *Line) part(runs []job.Ran) []job.Ran {
	for _, of := range []func(*job.Ran) float64{func(r *job.Ran) float64 { return float64(r.NodeNeeded) }, func(r *job.Ran) float64 { return r.CPUTime }} {
		values := make([]float64, len(runs))
		for i := range runs {
			values[i] = of(&runs[i])
		}
		slices.Sort(values)
		low, high, mine := 0.0, math.Inf(1), of(&l.Like)
		if mine <= 0 || notCompleted(l.Like) {
			continue
		}
		for i := partRuns; i <= len(values)-partRuns; i++ {
			if values[i-1] <= 0 || values[i] < apartBy*values[i-1] {
				continue
			}
			if mine >= values[i] {
				low = values[i]
			} else if high > values[i] {
				high = values[i]
			}
		}
		runs = slices.DeleteFunc(slices.Clone(runs), func(r job.Ran) bool { return of(&r) < low || of(&r) >= high })
	}
	return runs
}

// largest is the largest value of the runs, and the reserve on it, a fraction: few below someRuns, some below
// manyRuns. From then on it is by what the newer half exceeded the largest of the older one, and as much
// again: a line is for more runs than that half has.
func largest(runs []job.Ran, few, some float64, of func(*job.Ran) float64) (value, reserve float64) {
	var over []float64
	older := 0.0
	for i := range runs {
		v := of(&runs[i])
		if value = max(value, v); i < len(runs)/2 {
			older = value
		} else {
			over = append(over, v/older)
		}
	}
	switch n := len(runs); {
	case n < someRuns:
		return value, few
	case n < manyRuns:
		return value, some
	}
	slices.Sort(over)
	grew := max(1, over[int(math.Ceil(fits*float64(len(over))))-1])
	return value, grew*grew - 1
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

// Freed is what the job of a line would not have held with it, at least; less than 0: what it lacked. Slurm may give whole
// cores, with all hardware threads of each.
func (l *Line) Freed() (memoryHours, coreHours float64) {
	asked, each := l.Tasks*l.CPUsPerTask, max(l.Like.PerCore, 1)
	given := max(asked, min((asked+each-1)/each*each, l.Like.CPUs))
	hours := l.Like.Elapsed / 3600
	if l.Like.Memory > 0 {
		memoryHours = float64(l.Like.Memory-l.Memory*int64(l.Nodes)) / (1 << 30) * hours
	}
	return memoryHours, float64(l.Like.CPUs-given) * hours
}
