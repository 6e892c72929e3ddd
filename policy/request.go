package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Kind is what a request changes first.
type Kind string

// The kinds of a request. requestFor takes the first that applies, in its own order.
const (
	AskTogether Kind = "together"  // its ranks never met: how to start them as one program
	AskBound    Kind = "bound"     // its threads shared cores although the job had enough: how to start it with a core for each
	AskCores    Kind = "cores"     // another core count, which is better according to the runs of its workload
	AskMoreCPUs Kind = "cpus"      // a CPU for each of its busy threads
	AskLessCPUs Kind = "one_cpu"   // one CPU for each rank, whose other threads had hardly anything to do
	AskNodes    Kind = "nodes"     // only the nodes on which ranks ran
	AskSpread   Kind = "spread"    // twice the nodes: it ran out of all the memory of its own
	AskAsItRan  Kind = "as_it_ran" // with the memory and time that it needs; Less and More say what changes
)

// Request is what to ask for next time. There is one for each job, array and workload. All texts about what to
// ask for come from it.
type Request struct {
	Why  string // why it is not known what to ask for; "": the following is
	Kind Kind

	// What to ask Slurm for; 0: as before.
	Nodes, Tasks, CPUsPerTask int
	Memory                    int64         // bytes of each node
	Time                      time.Duration // whole minutes
	NoMemory, NoTime          string        // why they stay as before

	GPUs    int    // to ask for, where Less names "GPUs"
	GPUKind string // Slurm's name of their kind; "": not known

	Less, More []string        // what changes: "memory", "time", "CPUs" and "GPUs"
	Needs      *workload.Needs // the reasons for memory and time; nil: they stay as before
	Like       job.Ran         // the job that it is for, or is compared with
	Array      bool            // Like is an array, with the time of all its tasks
	JobName    string          // identifies the workload; "": something else does
	Workload   string          // the name that its user gave the workload

	Best    *workload.Recommendation // of AskCores
	Instead int                      // the job's cores, for AskCores
	Once    bool                     // the workload ran only once on Instead cores
	Ranks   int                      // the job's ranks, if the request names them
	MPI     string                   // the library, for AskTogether
	Start   string                   // the command, for AskBound
	Saved   *curve.Estimate          // core-hours of the job; nil: not known
}

// Leave reports whether the job asked for the right things, as far as is known.
func (r *Request) Leave() bool {
	return r.Why == "" && r.Kind == AskAsItRan && len(r.Less)+len(r.More) == 0
}

// Said words what to ask for, in one sentence.
func (r *Request) Said() string {
	switch {
	case r.Why != "":
		return "What the next one needs is not known: " + r.Why + "."
	case r.Leave():
		return "Leave the request as it is: nothing better is known."
	}
	switch r.Kind {
	case AskTogether:
		return fmt.Sprintf("Start its %s together: each of them did the whole work alone.", figure.Counted(r.Ranks, "rank"))
	case AskBound:
		return "Start it with a core for each of its threads."
	case AskCores:
		text := "Ask for " + figure.Counted(int(r.Best.Cores.Value), "core")
		if r.Instead > 0 {
			text += " instead of " + figure.Count(r.Instead)
		}
		return text + "."
	case AskMoreCPUs:
		return fmt.Sprintf("Give each of its %s %s of its own.", figure.Counted(r.Ranks, "rank"), figure.Counted(r.CPUsPerTask, "CPU"))
	case AskLessCPUs:
		return fmt.Sprintf("Give each of its %s one CPU: the others had hardly anything to do.", figure.Counted(r.Ranks, "rank"))
	case AskNodes:
		return fmt.Sprintf("Ask for %s only: no rank ran on the others, and Slurm saw them idle.", figure.Counted(r.Nodes, "node"))
	case AskSpread:
		return fmt.Sprintf("Ask for %s: it ran out of all the memory of %s.", figure.Counted(r.Nodes, "node"), figure.Count(r.Like.Nodes))
	}
	var all []string
	for _, what := range r.More {
		all = append(all, "more "+what)
	}
	for _, what := range r.Less {
		all = append(all, r.less(what))
	}
	return "Ask for " + figure.And(all) + "."
}

// less words what a request wants less of.
func (r *Request) less(what string) string {
	switch {
	case what == "GPUs" && r.GPUs == 0:
		return "no GPU"
	case what == "GPUs":
		return fmt.Sprintf("%s instead of %s", figure.Counted(r.GPUs, "GPU"), figure.Count(r.Like.GPUs))
	case what == "CPUs":
		return "fewer CPUs"
	}
	return "less " + what
}

// FewerGPUs reports whether GPUs is what to ask for.
func (r *Request) FewerGPUs() bool { return r.Why == "" && slices.Contains(r.Less, "GPUs") }

// RequestFor makes the request for the next job like this one. study is that of its workload, or nil.
func RequestFor(study *workload.Study, j *job.Job) *Request { return requestFor(study, j, CauseOf(j)) }

// requestFor is RequestFor with the job's cause, which the caller knows already.
func requestFor(study *workload.Study, j *job.Job, why Cause) *Request {
	all, like := alikeOf(study, j)
	r := &Request{Kind: AskAsItRan, Like: like}
	a := asking{study, j, why, all, j.Room}
	if job.WorkloadOf(j) == "" {
		r.JobName = j.Name
	} else if study != nil && study.Workload.Named() {
		r.Workload = study.Workload.Name
	}
	switch {
	case !j.ByScript():
		r.Why = "it was no batch script: what a session needs is its user's to know"
	case j.HetJobID != 0:
		r.Why = "it is a part of a heterogeneous job, whose parts are asked for together"
	case j.State == "" && !j.IsRunning():
		r.Why = "Slurm has not said how it ended"
	case a.notCompared():
		r.Why = "it did not come to its end, so its core count is not compared with the others"
	case !a.together(r) && !a.cpus(r) && !a.cores(r) && !a.nodes(r) && !a.oneEach(r):
		a.asItRan(r)
	}
	return r
}

// RequestOf makes the request for a job like the newest one of a workload. If that was not read with its
// executions, it is for a job like the newest completed one.
func RequestOf(study *workload.Study) *Request {
	w := study.Workload
	if as, last := AsLast(study); last != nil {
		return RequestFor(as, last)
	}
	r := &Request{Kind: AskAsItRan}
	if len(w.Runs) == 0 {
		r.JobName = w.Name
	} else if w.Named() {
		r.Workload = w.Name
	}
	a := asking{study: study, alike: w.Jobs, room: w.Room}
	if a.cores(r) {
		return r
	}
	at := -1
	for i := range w.Jobs {
		if !workload.NotCompleted(&w.Jobs[i]) {
			at = i
		}
	}
	if at < 0 {
		r.Why = "no job of it was completed"
		return r
	}
	r.Like = w.Jobs[at]
	a.asItRan(r)
	return r
}

// AsLast returns a study from the view of the workload's newest job, and that job. If the job was not read with
// its executions, it returns the study unchanged, and nil.
func AsLast(study *workload.Study) (*workload.Study, *job.Job) {
	if last := study.Workload.Last; last != nil {
		return study.As(last), last
	}
	return study, nil
}

// RequestOfTasks makes the request that fits each task of an array.
func RequestOfTasks(id string, tasks []job.Job) *Request {
	r := &Request{Kind: AskAsItRan, Array: true}
	if len(tasks) > 0 {
		r.JobName = tasks[0].Name
	}
	var all, done []job.Ran
	var elapsed float64
	var room *job.Room
	var finished []*job.Job
	for i := range tasks {
		if tasks[i].End.IsZero() {
			continue
		}
		ran := job.RanOf(&tasks[i])
		if all = append(all, ran); !workload.NotCompleted(&ran) {
			done, finished, elapsed, room = append(done, ran), append(finished, &tasks[i]), elapsed+ran.Elapsed, tasks[i].Room
		}
	}
	if len(done) == 0 {
		r.Why = "no task of it was completed"
		return r
	}
	r.Like = done[len(done)-1]
	if slices.ContainsFunc(done, func(one job.Ran) bool { return !workload.SameShape(&one, &r.Like) }) {
		r.Why = "its tasks had different numbers of nodes, CPUs or ranks"
		return r
	}
	a := asking{alike: all, room: room}
	r.Needs = workload.NeedsOfTasks(all, r.Like, room)
	a.shape(r, done)
	a.gpus(r, finished...)
	a.sizes(r)
	r.Like.ID, r.Like.Elapsed = id, elapsed
	return r
}

// alikeOf returns the jobs of the same work as j, j among them, and j's own entry.
func alikeOf(study *workload.Study, j *job.Job) (all []job.Ran, like job.Ran) {
	if all = j.Alike; len(all) == 0 && study != nil {
		all = study.Workload.Jobs
	}
	if i := slices.IndexFunc(all, func(r job.Ran) bool { return r.JobID == j.JobID && r.Attempt == j.Attempt }); i >= 0 {
		return all, all[i]
	}
	if like = job.RanOf(j); !j.End.IsZero() {
		all = append(slices.Clip(all), like)
	}
	return all, like
}

// notCompared reports whether another core count might be better, but something ended the job before it was
// done.
func (a *asking) notCompared() bool {
	end := CutShort(a.job)
	if end == "" || a.study == nil || len(a.study.Counts) < 2 {
		return false
	}
	return end != outOfMemory && limits[end] == "" || a.study.AdvisedOn(CoresOf(a.job))
}

// asking holds what a request is made from. study and job may be nil.
type asking struct {
	study *workload.Study
	job   *job.Job
	why   Cause
	alike []job.Ran
	room  *job.Room
}

// cores makes the request for another core count, if the runs show one to be better.
func (a *asking) cores(r *Request) bool {
	var best *workload.Recommendation
	if a.job == nil {
		best = a.study.Recommend(nil)
	} else {
		best = recommend(a.study, a.job, a.why)
	}
	if best == nil {
		return false
	}
	n := int(best.Cores.Value)
	r.Kind, r.Best, r.Saved, r.Instead = AskCores, best, best.Saved, a.study.Mine.Cores()
	r.Once = a.study.At(r.Instead).Runs < 2
	r.CPUsPerTask = a.study.ThreadsFor(n)
	r.Tasks, r.Nodes = n/r.CPUsPerTask, a.study.NodesFor(n)
	for _, ran := range slices.Backward(a.alike) { // the newest job on them
		if ran.Ranks == r.Tasks && (r.Nodes == 0 || ran.Nodes == r.Nodes) && !workload.NotCompleted(&ran) {
			r.Like, r.Needs = ran, workload.NeedsOf(a.alike, ran, a.room)
			break
		}
	}
	if r.Needs == nil {
		r.Needs = a.study.NeedsOn(best, a.job, r.Nodes, a.room)
	}
	a.sizes(r)
	return true
}

// together makes the request for copies of one program that never met. Copies that differ in arguments or input
// may be on purpose. Of equal copies, all but one repeated the work.
func (a *asking) together(r *Request) bool {
	var copies []*job.Execution
	hours, ranks := 0.0, 0
	for i := range a.job.Executions {
		e := &a.job.Executions[i]
		if !e.IsSingleton() {
			continue
		}
		if e.InputHash == "" || e.ArgsHash == "" {
			return false
		}
		if len(copies) > 0 && (e.InputHash != copies[0].InputHash || e.ArgsHash != copies[0].ArgsHash || e.BuildID != copies[0].BuildID || e.Executable != copies[0].Executable) {
			return false
		}
		copies, ranks = append(copies, e), ranks+e.Count()
		if m := job.ExecutionMetrics(e); m != nil {
			hours += m.Elapsed / 3600
		}
	}
	if ranks < 2 {
		return false
	}
	r.Kind, r.MPI, r.Ranks, r.Saved = AskTogether, copies[0].MPI, ranks, surely(hours*float64(ranks-1)/float64(ranks))
	return true
}

func surely(hours float64) *curve.Estimate {
	return &curve.Estimate{Value: hours, Low: hours, High: hours}
}

// cpus makes the request for ranks that share too few CPUs. What it saves is not known.
func (a *asking) cpus(r *Request) bool {
	load := job.LoadOf(a.job.Executions)
	if a.why.Code != CauseContention || load == nil || load.CrowdBusy == 0 || len(a.job.Executions) != 1 {
		return false
	}
	b := BindingOf(a.job)
	if b != nil {
		r.Kind, r.Start, r.Ranks = AskBound, b.Line, b.Ranks
		if b.Line == "" {
			r.Why = "its threads shared cores although the job had enough, and its launcher is not known"
		}
		return true
	}
	r.Kind, r.Ranks = AskMoreCPUs, a.job.Executions[0].Size
	r.Tasks, r.CPUsPerTask = r.Ranks, (load.CrowdBusy+load.CrowdRanks-1)/load.CrowdRanks
	if a.room != nil && a.room.CPUs > 0 {
		if each := a.room.CPUs / r.CPUsPerTask; each > 0 {
			r.Nodes = max(a.job.Nodes, (r.Tasks+each-1)/each)
		}
	}
	a.others(r)
	return true
}

// others fills in the memory and time of a request that changes something else.
func (a *asking) others(r *Request) {
	r.Needs = workload.NeedsOf(a.alike, r.Like, a.room)
	a.sizes(r)
}

// busyNode is the part of their time from which busy nodes without a rank mean that other work ran there.
const busyNode = 0.05

// nodes makes the request for a job with nodes without a rank, if Slurm's TotalCPU shows that these were idle.
func (a *asking) nodes(r *Request) bool {
	j, m := a.job, a.job.Metrics
	if m == nil || j.Usage == nil || len(j.Executions) != 1 || j.CPUs == 0 || m.Nodes == 0 || m.Nodes >= j.Nodes || CutShort(j) != "" {
		return false
	}
	unused := float64(j.Nodes-m.Nodes) * float64(j.CPUs) / float64(j.Nodes) * j.Elapsed.Seconds()
	if j.Usage.TotalCPU.Seconds()-job.RankSeconds(j.Executions) > busyNode*unused {
		return false
	}
	r.Kind, r.Nodes, r.Tasks, r.Ranks, r.Saved = AskNodes, m.Nodes, m.Ranks, m.Ranks, surely(unused/3600)
	a.others(r)
	return true
}

// oneEach makes the request for a job with idle threads. The job then takes at most 1.1 times as long
// (fullyIdle).
func (a *asking) oneEach(r *Request) bool {
	j := a.job
	if a.why.Code != CauseIdleThreads || len(j.Executions) != 1 {
		return false
	}
	h := j.Metrics.Hybrid
	part := func(longer float64) float64 {
		return h.Span / 3600 * (1 - longer*float64(j.Metrics.Ranks)/float64(h.Threads))
	}
	r.Kind, r.Ranks = AskLessCPUs, j.Executions[0].Size
	r.Tasks, r.CPUsPerTask = r.Ranks, 1
	r.Saved = &curve.Estimate{Value: part(1), Low: part(1.1), High: part(1)}
	a.others(r)
	r.Time = time.Duration(math.Ceil(r.Time.Minutes()*1.1)) * time.Minute // it may take a little longer
	return true
}

// CoresOf returns the cores of a job's main program.
func CoresOf(j *job.Job) int {
	main := job.MainExecution(j.Executions)
	if main < 0 {
		return j.CPUs
	}
	e := &j.Executions[main]
	return e.Size * e.Threads()
}

// Answers reports whether the request answers a rule that flagged a job. It looks at the fields that the rule
// reads, since sites write rules of their own. A verdict from jobeffd names them only in its condition.
func (r *Request) Answers(v *Verdict) bool {
	if v.Outcome != Flagged || r.Why != "" {
		return false
	}
	reads := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			if v.Figures == nil {
				return strings.Contains(v.Condition, name)
			}
			return slices.ContainsFunc(v.Figures, func(f Figure) bool { return f.Name == name })
		})
	}
	if r.FewerGPUs() && reads("unused_gpus") {
		return true
	}
	switch r.Kind {
	case AskTogether:
		return reads("singletons")
	case AskNodes:
		return reads("unused_nodes")
	case AskBound, AskMoreCPUs:
		return reads("cause")
	case AskLessCPUs:
		return reads("parallel_efficiency")
	case AskCores:
		return v.Recommended != nil && r.Best.Saved != nil && r.Best.Share != nil
	}
	return false
}
