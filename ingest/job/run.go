package job

import (
	"cmp"
	"slices"

	"jobeff/preload/record"
)

// runSections bounds Run.Sections; the shorter sections are added up.
const runSections = 100

// RunOf is what a curve needs of a whole execution. It leaves empty what the job knows: ids,
// user, account, GPUs.
func RunOf(e *Execution) Run {
	r := Run{Start: e.Start, Ranks: e.Size, Threads: e.Threads(), Executable: e.Executable,
		BuildID: e.BuildID, Counters: UsefulCounters([]Execution{*e})}
	if r.BuildID == "" {
		r.BuildID = e.ExecutableHash
	}
	m := ExecutionMetrics(e)
	if m == nil {
		return r
	}
	r.Ended = e.CameToEnd()
	r.Nodes, r.Coverage = m.Nodes, m.Coverage
	r.Elapsed, r.Useful, r.MPITime = m.Elapsed, m.Useful, m.MPITime
	r.Conditions = conditionsOf(e, m)
	r.Threads = max(r.Threads, threadsOf(e).ThreadsMax)
	if h := m.Hybrid; h != nil {
		r.Useful, r.Conditions.OpenMP = h.Useful, h.OpenMPTime()
		r.Conditions.UsefulMax = m.Communication * m.Elapsed
	}
	for _, c := range e.Classes {
		if c.Name == record.ClassColl.String() {
			r.Collectives = float64(c.Count) / float64(m.Ranks)
		}
	}
	if len(e.Sections) > 0 {
		r.Sections = sectionsOfRun(e, m.Ranks)
	}
	return r
}

// Threads is how many cores each rank was meant to use.
func (e *Execution) Threads() int { return max(1, e.CPUsPerTask, e.OMPThreads) }

func conditionsOf(e *Execution, m *Metrics) *Conditions {
	c := &Conditions{Machine: HardwareOf(e), Input: e.InputHash, IOTime: m.IOTime, Threaded: e.threadsUnknown(), CPUsAllowed: CPUsAllowed(e)}
	for i := range e.Nodes {
		c.UsefulMax = max(c.UsefulMax, e.Nodes[i].UsefulMax.Seconds())
	}
	l := LoadOf([]Execution{*e})
	if l == nil {
		return c
	}
	c.GPU = l.GPURanks > 0
	if l.Whole < m.Ranks {
		return c
	}
	c.Counted, c.Contended, c.Asleep, c.BusyThreads = true, l.Contended(), l.IsAsleep(), l.Busy
	c.CPUTime, c.Span, c.QueueWait = l.CPU.Seconds(), l.Span.Seconds(), l.Queue.Seconds()
	return c
}

// sectionsOfRun lists the sections with the most time of their own. Together they are the whole
// run.
func sectionsOfRun(e *Execution, ranks int) []RunSection {
	var all []RunSection
	for _, s := range JobSections([]Execution{*e}) {
		all = append(all, RunSection{Label: s.Label, Own: s.Own / float64(ranks)})
	}
	slices.SortStableFunc(all, func(a, b RunSection) int { return cmp.Compare(b.Own, a.Own) })
	if len(all) <= runSections {
		return all
	}
	rest := RunSection{Label: record.OtherSections}
	kept := slices.DeleteFunc(slices.Clone(all[:runSections-1]), func(s RunSection) bool {
		if s.Label == rest.Label {
			rest.Own += s.Own
		}
		return s.Label == rest.Label
	})
	for _, s := range all[runSections-1:] {
		rest.Own += s.Own
	}
	return append(kept, rest)
}

// MainExecution is the index of the execution whose ranks took the most time. Advice on a job
// speaks of it. It is none of those that are folded: others took more. -1 if there is none.
func MainExecution(executions []Execution) int {
	at, most := -1, -1.0
	for i := range executions {
		if t := RankSeconds(executions[i : i+1]); t > most && executions[i].Folded == nil {
			at, most = i, t
		}
	}
	if at < 0 && len(executions) > 0 { // no node folds all
		return 0
	}
	return at
}

// WorkloadOf is the key of the workload of a job's main execution; "" if it belongs to none.
func WorkloadOf(j *Job) string {
	main := MainExecution(j.Executions)
	if main < 0 {
		return ""
	}
	return WorkloadKey(j.Cluster, j.UID, &j.Executions[main])
}
