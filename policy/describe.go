package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// idleBelow is the useful share of its program's time below which a rank is idle.
const idleBelow = 0.05

// Describe makes a job's case. A job from a list, which has no executions, lacks
// what only these tell; what the runs of its workload tell is not known where study
// is nil.
func Describe(j *job.Job, study *workload.Study) *Case {
	c := &Case{Unknown: map[string]string{}}
	c.identity(j)
	c.size(j)
	c.measured(j)
	c.hours(j)
	c.doubts(j)
	c.workload(j, study)
	return c
}

// identity is what Slurm says of the job.
func (c *Case) identity(j *job.Job) {
	c.User, c.Account, c.Partition, c.QOS, c.Name = j.User, j.Account, j.Partition, j.QOS, j.Name
	c.State, _, _ = strings.Cut(j.State, " ")
	for name, text := range map[string]string{"user": c.User, "account": c.Account, "partition": c.Partition,
		"qos": c.QOS, "name": c.Name, "state": c.State} {
		if text == "" {
			c.unknown("Slurm has not said it", name)
		}
	}
	for _, w := range warnings(j) {
		if !slices.Contains(c.Warnings, w.Code) {
			c.Warnings = append(c.Warnings, w.Code)
		}
	}
}

// warnings are those of the job and of its executions.
func warnings(j *job.Job) []job.Warning {
	all := slices.Clone(j.Warnings)
	for i := range j.Executions {
		all = append(all, j.Executions[i].Warnings...)
	}
	return all
}

// size is what the job was given.
func (c *Case) size(j *job.Job) {
	c.Nodes, c.AllocCores, c.Runtime = j.Nodes, j.CPUs, j.Elapsed.Seconds()
	if c.Nodes == 0 {
		c.unknown("Slurm has not said it", "nodes")
	}
	c.GPUs = j.GPUs
	if c.AllocCores == 0 {
		c.unknown("Slurm's accounting has not said it yet", "alloc_cores")
		if c.GPUs == 0 {
			c.unknown("Slurm's accounting has not said it yet", "gpus")
		}
	}
	if j.End.IsZero() || j.Elapsed <= 0 {
		c.unknown("the job's end is not known", "runtime")
	}
}

// measured is what its nodes recorded.
func (c *Case) measured(j *job.Job) {
	m := j.Metrics
	if m == nil {
		c.unknown("no data, "+cmp.Or(j.NoData, "and no reason was recorded"), slices.Concat(measuredFields, workloadFields)...)
		return
	}
	if j.Reports < j.Nodes && !j.Complete {
		c.unknown(fmt.Sprintf("%d of %d nodes have reported, and the others are waited for", j.Reports, j.Nodes), slices.Concat(measuredFields, workloadFields)...)
		return
	}
	c.NodesUsed, c.Ranks, c.Coverage = m.Nodes, m.Ranks, m.Coverage
	if j.Reports < j.Nodes {
		c.unknown(fmt.Sprintf("%d of %d nodes have reported", j.Reports, j.Nodes), "nodes_used")
	}
	c.ParallelEfficiency, c.MPIParallelEfficiency = m.ParallelEfficiency, m.ParallelEfficiency
	c.LoadBalance, c.LoadBalanceIn, c.LoadBalanceOut = m.LoadBalance, m.LoadBalanceIn, m.LoadBalanceOut
	c.CommunicationEfficiency = m.CommunicationEfficiency
	if len(j.Executions) == 0 {
		c.unknown("a list of jobs does not hold it", slices.Concat(detailFields, workloadFields)...)
		return
	}
	c.executions(j)
}

// executions is what only the parts of the job tell.
func (c *Case) executions(j *job.Job) {
	c.Executions, c.Threaded = len(j.Executions), job.Threaded(j.Executions)
	main := &j.Executions[job.MainExecution(j.Executions)]
	for i := range j.Executions {
		e := &j.Executions[i]
		isSingleton := func(w job.Warning) bool { return w.Code == job.WarnSingletons }
		if e.Size == 1 && slices.ContainsFunc(e.Warnings, isSingleton) {
			c.Singletons++
		}
	}
	c.Program, c.MPI = filepath.Base(main.Executable), main.MPI
	if main.Executable == "" {
		c.unknown("it was not recorded", "program")
	}
	if main.MPI == "" {
		c.unknown("it was not recorded", "mpi")
	}
	c.MPIRuntime = together(j.Executions).Seconds()
	if c.Threaded {
		c.unknown("its ranks have threads or several CPUs each, and what threads do is not measured", efficiencyFields...)
	}
	if c.Singletons > 1 {
		c.unknown("its ranks never met each other", append(efficiencyFields, "mpi_parallel_efficiency")...)
	}
	c.idle(j.Executions)
}

// idle counts the ranks that hardly computed.
func (c *Case) idle(executions []job.Execution) {
	var lost, all float64
	for i := range executions {
		e := &executions[i]
		m := job.ExecutionMetrics(e)
		if m == nil {
			continue
		}
		n, known := idleRanks(e, m.Elapsed)
		if !known {
			c.unknown("the ranks' single figures are not kept", "idle_ranks", "idle_rank_share")
			return
		}
		c.IdleRanks = max(c.IdleRanks, n)
		lost += float64(n) * m.Elapsed
		all += float64(m.Ranks) * m.Elapsed
	}
	if all > 0 {
		c.IdleRankShare = lost / all
	}
}

// idleRanks counts an execution's ranks that computed for less than idleBelow of
// elapsed (s). Known is false where single ranks are not told.
func idleRanks(e *job.Execution, elapsed float64) (n int, known bool) {
	for i := range e.Nodes {
		node := &e.Nodes[i]
		if len(node.UsefulShare) != node.Ranks {
			return 0, false
		}
		for _, share := range node.UsefulShare {
			if float64(share)/255*node.ElapsedMax.Seconds() < idleBelow*elapsed {
				n++
			}
		}
	}
	return n, true
}

// doubtful are the warnings that put a job's efficiency in doubt.
var doubtful = []string{job.WarnOdd, job.WarnAssumedEnd, job.WarnRunning, job.WarnClock, job.WarnClockDrift,
	job.WarnThreads, job.WarnOversubs, job.WarnInitOnly, job.WarnLostFull, job.WarnLostMemory,
	job.WarnStatic, job.WarnPreload, job.WarnForeign, job.WarnUnreadable, job.WarnNodesMissing}

// doubts collects what lowers the confidence in every verdict of the job.
func (c *Case) doubts(j *job.Job) {
	if j.Metrics != nil && c.Coverage < 1 {
		c.Doubts = append(c.Doubts, fmt.Sprintf("coverage is %s: some ranks were not recorded", figure.Efficiency(c.Coverage)))
	}
	for _, w := range warnings(j) {
		if slices.Contains(doubtful, w.Code) && !slices.Contains(c.Doubts, w.Text) {
			c.Doubts = append(c.Doubts, w.Text)
		}
	}
}
