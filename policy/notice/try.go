package notice

import (
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// Try is a line that a user can copy, and what a job would have saved with it.
type Try struct {
	Advice *workload.Recommendation // the core count; nil: one of the following
	Cores  int                      // … instead of this one
	Once   bool                     // … on which it ran once only
	Nodes  int                      // to ask for; the job's other nodes did nothing
	Ranks  int                      // … of this many ranks
	Launch bool                     // its ranks never met: how it is started
	MPI    string                   // … with this library
	CPUs   int                      // of its own that each of Ranks lacked
	Line   string                   // … although the job had as many: how it is started with them
	One    bool                     // CPU is enough for each of Ranks: their threads idle
	Saved  curve.Estimate           // core-hours of the job
}

// TryOf is the line that a verdict leads to, nil for none. It goes by the fields that the rule
// reads, since sites write rules of their own. Of a verdict that jobeffd sent, only the condition tells them.
func TryOf(j *job.Job, v *policy.Verdict, study *workload.Study) *Try {
	if v.Outcome != policy.Flagged {
		return nil
	}
	reads := func(name string) bool {
		if v.Figures == nil {
			return strings.Contains(v.Condition, name)
		}
		return slices.ContainsFunc(v.Figures, func(f policy.Figure) bool { return f.Name == name })
	}
	switch {
	case reads("singletons"):
		return launchOf(j)
	case reads("unused_nodes"):
		return nodesOf(j)
	case reads("cause") && policy.CauseOf(j).Code == policy.CauseContention:
		return cpusOf(j)
	case reads("parallel_efficiency") && policy.CauseOf(j).Code == policy.CauseIdleThreads:
		return oneEach(j)
	}
	r := v.Recommended
	if r == nil || r.Saved == nil || r.Share == nil {
		return nil
	}
	try := &Try{Advice: r, Cores: coresOf(j), Saved: *r.Saved}
	try.Once = study != nil && study.Mine != nil && study.At(study.Mine.Cores()).Runs < 2
	return try
}

// launchOf is the line for copies of one program that never met. Copies that differ in arguments
// or input may be on purpose. Of equal copies, all but one repeated the work.
func launchOf(j *job.Job) *Try {
	var copies []*job.Execution
	hours, ranks := 0.0, 0
	for i := range j.Executions {
		e := &j.Executions[i]
		if !e.IsSingleton() {
			continue
		}
		if e.InputHash == "" || e.ArgsHash == "" {
			return nil
		}
		if len(copies) > 0 && (e.InputHash != copies[0].InputHash || e.ArgsHash != copies[0].ArgsHash || e.BuildID != copies[0].BuildID || e.Executable != copies[0].Executable) {
			return nil
		}
		copies, ranks = append(copies, e), ranks+e.Count()
		if m := job.ExecutionMetrics(e); m != nil {
			hours += m.Elapsed / 3600
		}
	}
	if ranks < 2 {
		return nil
	}
	saved := hours * float64(ranks-1) / float64(ranks)
	return &Try{Launch: true, MPI: copies[0].MPI, Ranks: ranks, Saved: curve.Estimate{Value: saved, Low: saved, High: saved}}
}

// busyNode: if nodes without a rank were busy for more than this part of their time, other work
// ran there.
const busyNode = 0.05

// nodesOf is the line for a job with nodes that had no rank, if Slurm's TotalCPU shows that these
// were idle.
func nodesOf(j *job.Job) *Try {
	m := j.Metrics
	if m == nil || j.Usage == nil || len(j.Executions) != 1 || j.CPUs == 0 || m.Nodes == 0 || m.Nodes >= j.Nodes {
		return nil
	}
	unused := float64(j.Nodes-m.Nodes) * float64(j.CPUs) / float64(j.Nodes) * j.Elapsed.Seconds()
	if j.Usage.TotalCPU.Seconds()-job.RankSeconds(j.Executions) > busyNode*unused {
		return nil
	}
	hours := unused / 3600
	return &Try{Nodes: m.Nodes, Ranks: m.Ranks, Saved: curve.Estimate{Value: hours, Low: hours, High: hours}}
}

// cpusOf is the line for ranks that share too few CPUs, none where their launcher is not known. What it saves
// is not known.
func cpusOf(j *job.Job) *Try {
	load := job.LoadOf(j.Executions)
	if load == nil || load.CrowdBusy == 0 || len(j.Executions) != 1 {
		return nil
	}
	if b := policy.BindingOf(j); b != nil && b.Line == "" {
		return nil
	} else if b != nil {
		return &Try{Ranks: b.Ranks, CPUs: b.Each, Line: b.Line}
	}
	return &Try{Ranks: j.Executions[0].Size, CPUs: (load.CrowdBusy + load.CrowdRanks - 1) / load.CrowdRanks}
}

// oneEach is the line for a job with idle threads. All that one thread of each rank did then takes
// no longer, and what the others did at most 1.1 times as long.
func oneEach(j *job.Job) *Try {
	h := j.Metrics.Hybrid
	if len(j.Executions) != 1 {
		return nil
	}
	part := func(longer float64) float64 {
		return h.Span / 3600 * (1 - longer*float64(j.Metrics.Ranks)/float64(h.Threads))
	}
	return &Try{Ranks: j.Executions[0].Size, One: true, Saved: curve.Estimate{Value: part(1), Low: part(1.1), High: part(1)}}
}

// coresOf are the cores of a job's main program.
func coresOf(j *job.Job) int {
	main := job.MainExecution(j.Executions)
	if main < 0 {
		return j.CPUs
	}
	e := &j.Executions[main]
	return e.Size * e.Threads()
}
