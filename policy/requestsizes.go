package policy

import (
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
)

// asItRan fills in what the job had, with the memory and time that jobs like it need.
func (a *asking) asItRan(r *Request) {
	r.Needs = workload.NeedsOf(a.alike, r.Like, a.room)
	a.shape(r, workload.CompletedLike(a.alike, &r.Like))
	if a.job != nil {
		a.gpus(r, a.job)
	}
	a.sizes(r)
	if r.Needs.RanOut != nil && r.Needs.AllMemory && r.Needs.Memory == 0 && r.Like.Ranks > r.Nodes && a.room.Holds(2*r.Nodes, 0, 0) {
		r.Kind, r.Nodes, r.Less, r.More = AskSpread, 2*r.Nodes, nil, nil
	}
	if r.Memory == 0 && r.Time == 0 && r.Kind == AskAsItRan && len(r.Less) == 0 {
		if r.Why = r.NoMemory; r.NoTime != r.Why {
			r.Why += "; " + r.NoTime
		}
	}
}

// mostThreads bounds the CPUs that may be the hardware threads of one core, if their number is not known.
const mostThreads = 2

// leastSeen is the time that jobs with one busy core must have run in sum before one CPU is asked for, s.
const leastSeen = 600

// shape fills in the tasks of r.Like and the CPUs of each, so that their product is what the job was given. If
// the jobs used one core each time, it asks for one. Without MPI it takes Slurm's tasks: srun starts as many as
// are asked for.
func (a *asking) shape(r *Request, done []job.Ran) {
	l := &r.Like
	if r.Nodes = l.Nodes; l.Nodes < 1 || l.CPUs < 1 {
		r.Nodes = 0
		return
	}
	tasks := max(l.Ranks, l.Tasks, l.Nodes)
	var seen float64
	for i := range done {
		seen += done[i].Elapsed
	}
	if seen >= leastSeen && l.CPUs > max(l.PerCore, mostThreads) && !slices.ContainsFunc(done, func(one job.Ran) bool { return !workload.IsOneCore(&one) }) {
		r.Tasks, r.CPUsPerTask = 1, 1
		r.Less = append(r.Less, "CPUs")
		return
	}
	if l.CPUs%tasks == 0 {
		r.Tasks, r.CPUsPerTask = tasks, l.CPUs/tasks
	}
}

// A request lowers memory or time only if at most this part of it is needed. A time limit that is too long
// costs others little, so time may differ by more.
const (
	muchLessMemory = 0.75
	muchLessTime   = 0.5
)

// sizes takes over the needed memory and time. If they are near what the job had, the request repeats that.
func (a *asking) sizes(r *Request) {
	n := r.Needs
	r.Memory, r.Time, r.NoMemory, r.NoTime = n.Memory, n.Time, n.NoMemory, n.NoTime
	same := r.Kind == AskAsItRan
	had := r.Like.Memory / int64(max(r.Like.Nodes, 1)) >> 20 << 20
	switch {
	case r.Memory == 0 || !same || had == 0 && n.RanOut == nil:
	case r.Memory > had && n.RanOut == nil && (1+workload.LeastReserve)*n.Most <= float64(had):
		r.Memory = had
	case r.Memory > had:
		r.More = append(r.More, "memory")
	case a.job != nil && wholeNodes(a.job):
		r.Memory, r.NoMemory = 0, "it had whole nodes, whose memory nobody else could have had"
	case float64(r.Memory) <= muchLessMemory*float64(had):
		r.Less = append([]string{"memory"}, r.Less...)
	default:
		r.Memory = had
	}
	limit := time.Duration(r.Like.Limit) * time.Second
	switch {
	case a.why.Code == CauseHung:
		r.Time, r.NoTime = 0, "it may have hung: its time tells nothing of the next one's"
	case r.Time == 0 || !same || n.AtLimit || limit == 0 && n.OverTime == nil: // or how long it might have run is not known
	case r.Time > limit && n.OverTime == nil && (1+workload.LeastReserve)*n.Longest <= limit.Seconds():
		r.Time = limit
	case r.Time > limit:
		r.More = append(r.More, "time")
	case r.Time.Seconds() <= muchLessTime*limit.Seconds():
		r.Less = append(r.Less, "time")
	default:
		r.Time = limit
	}
	if a.room != nil && a.room.Time > 0 && r.Time > a.room.Time { // it had more than is allowed now
		if r.Time = a.room.Time.Truncate(time.Minute); same {
			r.Less = append(r.Less, "time")
		}
	}
}

func wholeNodes(j *job.Job) bool {
	whole, _ := j.WholeNodes()
	return whole
}

// Reserves returns by how much memory and time exceed the most that the runs needed, as fractions of that; 0:
// not known.
func (r *Request) Reserves() (memory, limit float64) {
	if r.Memory > 0 && r.Needs.Most > 0 {
		memory = max(float64(r.Memory)/r.Needs.Most-1, 0)
	}
	if r.Time > 0 && r.Needs.Longest > 0 {
		limit = max(r.Time.Seconds()/r.Needs.Longest-1, 0)
	}
	return memory, limit
}

// Freed returns the GiB-hours of memory and the core-hours that the job would at least have left to others with
// this request; negative: what it lacked. Both are 0 unless the request is AskAsItRan. CPUs are rounded up to
// whole cores, which Slurm may give with all their hardware threads.
func (r *Request) Freed() (memoryHours, coreHours float64) {
	l, hours := &r.Like, r.Like.Elapsed/3600
	if r.Kind != AskAsItRan || r.Why != "" {
		return 0, 0
	}
	if r.Tasks > 0 && r.CPUsPerTask > 0 {
		asked, each := r.Tasks*r.CPUsPerTask, max(l.PerCore, 1)
		given := max(asked, min((asked+each-1)/each*each, l.CPUs))
		coreHours = float64(l.CPUs-given) * hours
	}
	if l.Memory > 0 && r.Memory > 0 && slices.Contains(append(slices.Clip(r.Less), r.More...), "memory") {
		memoryHours = float64(l.Memory-r.Memory*int64(r.Nodes)) / (1 << 30) * hours
	}
	return memoryHours, coreHours
}
