package policy

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/when"
	"jobeff/policy/curve"
)

// Array sums up the tasks of an array, each by its last attempt.
type Array struct {
	ID         string // 123
	Tasks      int
	States     []Counted     // most tasks first
	Flags      []Counted     // rules that flag tasks, likewise
	Parts      []ArrayPart   // one for each program that ended tasks ran, likewise
	Hours      listing.Hours // of all attempts
	Worst      []job.Job     // at most three: those that lost most core-hours, or left most idle
	Idle       bool          // no task's loss is known: Worst goes by the CPU time that Slurm counted
	Again      []job.Job     // those that ended and were not completed
	Begun, End time.Time     // zero: not known, or some still run
	Request    *Request      // that fits all of them
}

// Counted is a name, and the number of tasks that it applies to.
type Counted struct {
	Name  string
	Tasks int
}

// ArrayPart sums up the tasks that ended and ran one program.
type ArrayPart struct {
	Program string // its path; "": they left no record of one
	Tasks   int
	// The figures are those of completed tasks or, if there are none, of all.
	Of        int
	Completed bool
	// Fractions, bytes and s.
	Efficiency, CPU, Memory, Time Spread
	Threaded                      bool // threads or GPUs of some were not measured
}

// Spread is how a figure differs from task to task.
type Spread struct {
	Tasks                     int // how many tasks have the figure
	Least, Median, Mean, Most float64
}

// worstTasks bounds Array.Worst: a reader looks at a few.
const worstTasks = 3

// leastLost is the least loss of a task in Array.Worst, core-hours: smaller ones would be printed as 0.
const leastLost = 0.005

// ArrayOf sums up the attempts of an array's tasks; nil for none.
func ArrayOf(attempts []job.Job) *Array {
	if len(attempts) == 0 {
		return nil
	}
	a := &Array{Hours: HoursOf(attempts)}
	a.ID = slurmid.Ref{ID: attempts[0].ArrayJobID}.String()
	tasks := lastAttempts(attempts)
	a.Tasks = len(tasks)
	states, flags, programs, runs := map[string]int{}, map[string]int{}, map[string][]job.Job{}, false
	for i := range tasks {
		j := &tasks[i]
		states[cmp.Or(j.StateWord(), "not known")]++
		for _, f := range j.Flags {
			flags[f]++
		}
		if !j.End.IsZero() {
			programs[j.Program] = append(programs[j.Program], *j)
		}
		a.Begun, a.End, runs = when.First(a.Begun, j.Start), when.Last(a.End, j.End), runs || j.End.IsZero()
		if !j.End.IsZero() && j.State != "" && j.StateWord() != completed {
			a.Again = append(a.Again, *j)
		}
	}
	if runs {
		a.End = time.Time{}
	}
	a.States, a.Flags = countedOf(states), countedOf(flags)
	for program, of := range programs {
		a.Parts = append(a.Parts, partOf(program, of))
	}
	slices.SortFunc(a.Parts, func(x, y ArrayPart) int {
		return cmp.Or(cmp.Compare(y.Tasks, x.Tasks), cmp.Compare(x.Program, y.Program))
	})
	a.worst(tasks)
	a.Request = RequestOfTasks(a.ID, tasks)
	return a
}

const completed = "COMPLETED"

// lastAttempts returns the last attempt of each task, by the task's number.
func lastAttempts(attempts []job.Job) (tasks []job.Job) {
	at := map[uint32]int{}
	for _, j := range attempts {
		number := uint32(0)
		if j.ArrayTaskID != nil {
			number = *j.ArrayTaskID
		}
		if i, seen := at[number]; !seen {
			at[number], tasks = len(tasks), append(tasks, j)
		} else if j.Start.After(tasks[i].Start) {
			tasks[i] = j
		}
	}
	slices.SortStableFunc(tasks, func(a, b job.Job) int { return cmp.Compare(taskNumber(&a), taskNumber(&b)) })
	return tasks
}

func taskNumber(j *job.Job) int64 {
	if j.ArrayTaskID == nil {
		return -1
	}
	return int64(*j.ArrayTaskID)
}

func countedOf(sums map[string]int) (all []Counted) {
	for name, n := range sums {
		all = append(all, Counted{name, n})
	}
	slices.SortFunc(all, func(a, b Counted) int { return cmp.Or(cmp.Compare(b.Tasks, a.Tasks), cmp.Compare(a.Name, b.Name)) })
	return all
}

// Counting returns the tasks whose figures count: the completed ones or, if there are none, all that ended.
func Counting(tasks []job.Job) (some []job.Job, areCompleted bool) {
	some = slices.DeleteFunc(slices.Clone(tasks), func(j job.Job) bool { return j.StateWord() != completed })
	if len(some) > 0 {
		return some, true
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(j job.Job) bool { return j.End.IsZero() }), false
}

// partOf sums up the tasks of one program that ended.
func partOf(program string, tasks []job.Job) ArrayPart {
	p := ArrayPart{Program: program, Tasks: len(tasks)}
	done, areCompleted := Counting(tasks)
	p.Of, p.Completed = len(done), areCompleted
	p.Threaded = slices.ContainsFunc(done, func(j job.Job) bool { return j.Threaded || j.GPUs > 0 })
	p.Efficiency = spreadOf(done, func(j *job.Job) *float64 {
		if j.Metrics == nil || !j.AsOf.IsZero() || j.NeverMet() {
			return nil
		}
		return &j.Metrics.Parallel
	})
	p.CPU = spreadOf(done, (*job.Job).CPUEfficiency)
	p.Memory = spreadOf(done, func(j *job.Job) *float64 {
		need := j.NeededMemory()
		if need == nil || need.Needed() <= 0 {
			return nil
		}
		bytes := float64(need.Needed())
		return &bytes
	})
	p.Time = spreadOf(done, func(j *job.Job) *float64 {
		s := j.Elapsed.Seconds()
		return &s
	})
	return p
}

func spreadOf(tasks []job.Job, value func(*job.Job) *float64) (s Spread) {
	var all []float64
	for i := range tasks {
		if v := value(&tasks[i]); v != nil {
			all, s.Mean = append(all, *v), s.Mean+*v
		}
	}
	if s.Tasks = len(all); s.Tasks == 0 {
		return s
	}
	s.Mean /= float64(s.Tasks)
	s.Median = curve.Median(all) // it sorts them
	s.Least, s.Most = all[0], all[s.Tasks-1]
	return s
}

// worst fills in the tasks that lost most.
func (a *Array) worst(tasks []job.Job) {
	by := (*job.Job).LostCoreHours
	if a.Idle = a.Hours.Judged == 0; a.Idle {
		by = IdleCoreHours
	}
	all := slices.DeleteFunc(slices.Clone(tasks), func(j job.Job) bool { lost := by(&j); return lost == nil || *lost < leastLost })
	slices.SortStableFunc(all, func(x, y job.Job) int { return cmp.Compare(*by(&y), *by(&x)) })
	a.Worst = all[:min(worstTasks, len(all))]
}

// IdleCoreHours returns the core-hours in which a job's CPUs were not busy, as Slurm counted; nil: not known. A
// busy CPU is taken to occupy the other hardware threads of its core as well.
func IdleCoreHours(j *job.Job) *float64 {
	if j.End.IsZero() || j.CPUEfficiency() == nil || j.UsedTime() == nil {
		return nil
	}
	idle := max(0, *j.UsedCoreHours()-float64(j.ThreadsPerCore())*j.Usage.TotalCPU.Hours())
	return &idle
}

// HoursOf sums up the core-hours and GPU-hours of a list's jobs. Lost is a part of Judged, the core-hours whose loss is
// known.
func HoursOf(jobs []job.Job) (sum listing.Hours) {
	add := func(to *float64, more *job.CoreTime) {
		if more != nil {
			*to += float64(*more) // whole numbers: their sum has no rest
		}
	}
	for i := range jobs {
		j := &jobs[i]
		sum.Jobs++
		if j.Metrics != nil {
			sum.Measured++
		}
		add(&sum.Used, j.UsedTime())
		add(&sum.Judged, j.Judged)
		add(&sum.Lost, j.Lost)
		t := j.GPUTime()
		add(&sum.GPU, &t.Used)
		add(&sum.GPUKnown, &t.Known)
		add(&sum.GPUIdle, &t.Idle)
	}
	return sum.Over(job.CoreHour)
}
