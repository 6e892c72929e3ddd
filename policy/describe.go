package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Describe makes a job's case. A job from a list has no executions, so its fields that come from these are
// unknown. Without a study, so are those from the runs of its workload.
func Describe(j *job.Job, study *workload.Study) *Case {
	c := &Case{Unknown: map[string]string{}, Runs: j.IsRunning()}
	if c.Runs && (j.Together || j.Hung != nil) {
		c.SoFar = Describe(upToNow(j), study)
		c.SoFar.AsOf = "So far, as of " + figure.Minute(j.AsOf) + ": "
		if !j.Together {
			c.SoFar.unknown("its nodes have not all told of one moment yet", slices.DeleteFunc(slices.Concat(measuredFields, workloadFields), func(name string) bool { return name == "coverage" })...)
		}
	}
	c.identity(j)
	c.size(j)
	c.measured(j)
	c.gpus(j)
	c.hours(j)
	c.cause(j, study)
	c.usage(j)
	c.doubts(j)
	c.workload(j, study)
	if c.Hung, c.HungText = j.Hung != nil, HungText(j); j.End.IsZero() && !j.Together && !c.Hung {
		c.unknown("its nodes have not all told of one moment at which it ran", "hung", "hung_text")
	}
	return c
}

// upToNow returns a running job as if it had ended when its nodes last reported.
func upToNow(j *job.Job) *job.Job {
	now := *j
	now.End, now.AsOf, now.Elapsed = j.AsOf, time.Time{}, max(j.AsOf.Sub(j.Start), 0)
	return &now
}

// identity fills in what Slurm says of the job.
func (c *Case) identity(j *job.Job) {
	c.Cluster, c.User, c.Account, c.Partition, c.QOS, c.Name = j.Cluster, j.User, j.Account, j.Partition, j.QOS, j.Name
	c.State = endOf(j)
	for name, text := range map[string]string{"cluster": c.Cluster, "user": c.User, "account": c.Account, "partition": c.Partition,
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

// size fills in what the job was given.
func (c *Case) size(j *job.Job) {
	c.Nodes, c.AllocCores, c.Runtime = j.Nodes, j.CPUs, j.Elapsed.Seconds()
	if c.Nodes == 0 {
		c.unknown("Slurm has not said it", "nodes")
	}
	if c.AllocCores == 0 {
		c.unknown("Slurm's accounting has not said it yet", "alloc_cores")
	}
	if j.End.IsZero() || j.Elapsed <= 0 && !j.End.Equal(j.Start) { // Slurm counts whole seconds: a short job took none
		c.unknown("the job's end is not known", "runtime")
	}
}

// notMeasured returns why nothing is known from a job's nodes; "": something is.
func notMeasured(j *job.Job) string {
	switch {
	case j.Metrics == nil:
		return "no data, " + cmp.Or(doubt.Text(j.NoData), "and no reason was recorded")
	case !j.AsOf.IsZero():
		return "its figures are those up to " + figure.Minute(j.AsOf) + ", and it ran on"
	case j.Reports < j.Nodes && !j.Complete:
		return doubt.Reported(j.Reports, j.Nodes) + ", and the others are waited for"
	}
	return ""
}

// measured fills in what the job's nodes recorded.
func (c *Case) measured(j *job.Job) {
	m := j.Metrics
	if why := notMeasured(j); why != "" {
		c.unknown(why, slices.Concat(measuredFields, workloadFields)...)
		if m != nil && !j.AsOf.IsZero() {
			c.Coverage = m.Coverage
		}
		return
	}
	c.NodesUsed, c.Ranks, c.Coverage = m.Nodes, m.Ranks, m.Coverage
	if j.Reports < j.Nodes {
		c.unknown(doubt.Reported(j.Reports, j.Nodes), "nodes_used", "unused_nodes")
	}
	c.ParallelEfficiency, c.MPIParallelEfficiency = m.Parallel, m.MPI.Parallel
	c.threads(m)
	c.LoadBalance, c.MPILoadBalance, c.LoadBalanceIn, c.LoadBalanceOut = m.LoadBalance, m.MPI.LoadBalance, m.LoadBalanceIn, m.LoadBalanceOut
	c.CommunicationEfficiency, c.MPICommunicationEfficiency = m.Communication, m.MPI.Communication
	if len(j.Executions) == 0 {
		c.unknown("a list of jobs does not hold it", slices.Concat(detailFields, workloadFields)...)
		return
	}
	c.executions(j)
}

// threads fills in how the ranks' threads were used.
func (c *Case) threads(m *job.Metrics) {
	c.Threads = m.Ranks
	o := job.OpenMPEfficiencies{Parallel: 1, LoadBalance: 1, Scheduling: 1, Serialisation: 1}
	if h := m.Hybrid; h != nil {
		c.Threads, o = h.Threads, h.OpenMP()
	}
	c.OpenMPEfficiency, c.OpenMPLoadBalance, c.OpenMPScheduling, c.OpenMPSerialisation = o.Parallel, o.LoadBalance, o.Scheduling, o.Serialisation
}

// executions fills in what comes from the job's executions alone.
func (c *Case) executions(j *job.Job) {
	c.Executions, c.Threaded = job.CountExecutions(j.Executions), job.Threaded(j.Executions)
	main := &j.Executions[job.MainExecution(j.Executions)]
	c.Singletons = singletons(j.Executions)
	c.Program, c.MPI = filepath.Base(main.Executable), main.MPI
	if main.Executable == "" {
		c.unknown("it was not recorded", "program")
	}
	if main.MPI == "" {
		c.unknown("it was not recorded", "mpi")
	}
	c.MPIRuntime = job.RunTime(j.Executions).Seconds()
	if job.ThreadsUnknown(j.Executions) {
		c.unknown(withThreads(j, job.LoadOf(j.Executions)).clause(), EfficiencyFields...)
	}
	if j.NeverMet() {
		c.unknown("its ranks never met each other", slices.Concat(EfficiencyFields, mpiFields)...)
	}
	c.waits(job.JobWindows(j.Executions))
	c.idle(j.Executions)
	c.unused(j)
	if load := job.LoadOf(j.Executions); load != nil {
		c.GPURanks = load.GPURanks
	}
}

// waits fills in why ranks wait in MPI.
func (c *Case) waits(w *job.Windows) {
	switch {
	case w == nil:
		c.unknown("no windows of the run were sampled", "serialisation_efficiency", "transfer_efficiency")
	case !w.Determined():
		c.unknown(w.Why, "serialisation_efficiency", "transfer_efficiency")
	default:
		c.Serialisation, c.Transfer = w.Serialisation.Value, w.Transfer.Value
	}
}

// singletons counts the ranks of steps with several tasks that are each an MPI world of one: the largest group with the
// same program, arguments and input.
func singletons(executions []job.Execution) (alike int) {
	type work struct{ build, program, args, input string }
	same := map[work]int{}
	for i := range executions {
		e := &executions[i]
		if e.IsSingleton() {
			w, n := work{e.BuildID, e.Executable, e.ArgsHash, e.InputHash}, e.Count()
			if e.Folded != nil && e.ArgsHash == "" { // they may differ
				continue
			}
			same[w] += n
			alike = max(alike, same[w])
		}
	}
	return alike
}

// unused counts the nodes without a rank whose CPUs were idle. They were if Slurm's CPU time hardly exceeds
// what the ranks can have used.
func (c *Case) unused(j *job.Job) {
	if c.NodesUsed == 0 || c.NodesUsed >= j.Nodes {
		return
	}
	if j.Usage == nil {
		c.unknown("Slurm has not said how much CPU time the job used: whether the other nodes were idle is not known", "unused_nodes")
		return
	}
	if othersBusy(j) {
		c.unknown("Slurm counted CPU time beside that of the ranks: other programs may have run on the other nodes", "unused_nodes")
		return
	}
	c.Unused = j.Nodes - c.NodesUsed
}

// othersBusy reports whether Slurm counted more CPU time than the ranks had: something else ran on the CPUs
// without a rank.
func othersBusy(j *job.Job) bool {
	if j.Usage == nil || j.UsedTime() == nil {
		return false
	}
	ranks := min(ranksCPU(j), j.Usage.TotalCPU.Seconds())
	return j.Usage.TotalCPU.Seconds()-ranks > busyShare*(3600**j.UsedCoreHours()-ranks)
}

// ranksCPU returns the CPU time of the ranks, s: counted, else at most one thread's for each.
func ranksCPU(j *job.Job) float64 {
	if load := job.LoadOf(j.Executions); load != nil && load.Ranks == j.Metrics.Ranks {
		return load.CPU.Seconds()
	}
	return job.CoreSeconds(j.Executions)
}

// cause fills in why the job's figures are not good, and what to ask for instead.
func (c *Case) cause(j *job.Job, study *workload.Study) {
	c.why = CauseOf(j)
	c.Cause, c.CauseText = c.why.Code, c.why.String()
	if c.why.Code == CauseEnded || c.why.Code == CauseHung || c.why.Code == CauseSuspended {
		c.Ended = c.why.clause()
	}
	if c.why.blursUseful() {
		c.unknown(c.why.clause(), EfficiencyFields...)
	}
	if c.Request = requestFor(study, j, c.why); c.Request.Best != nil {
		c.Advised = int(c.Request.Best.Cores.Value)
	}
	if c.Request.Why == "" && !c.Request.Leave() {
		c.Ask = c.Request.Said()
	}
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

// doubtful are the warnings that cast doubt on a job's efficiency.
var doubtful = []string{doubt.WarnOdd, doubt.WarnAssumedEnd, doubt.WarnRunning, doubt.WarnClock, doubt.WarnClockDrift,
	doubt.WarnThreads, doubt.WarnOversubs, doubt.WarnContention, doubt.WarnInitOnly, doubt.WarnLostFull, doubt.WarnLostMemory,
	doubt.WarnStatic, doubt.WarnPreload, doubt.WarnUnseen, doubt.WarnForeign, doubt.WarnUnreadable, doubt.WarnNodesMissing, doubt.WarnInterim,
	doubt.WarnImpossible, doubt.WarnOutboxFull, doubt.WarnLeft}

// CastsDoubt reports whether a warning, by its code, casts doubt on a job's efficiency.
func CastsDoubt(code string) bool {
	return slices.Contains(doubtful, code) || code == doubt.WarnCoverage || code == doubt.WarnMerging
}

// doubts collects the reasons that lower the confidence in every verdict on the job.
func (c *Case) doubts(j *job.Job) {
	if j.Metrics != nil && c.Coverage < 1 {
		c.Doubts = append(c.Doubts, fmt.Sprintf("coverage is %s: some ranks were not recorded", figure.Efficiency(c.Coverage)))
	}
	if j.End.IsZero() {
		c.Doubts = append(c.Doubts, "the job's end is not known: it may still be running")
	}
	if j.Metrics != nil && j.Reports < j.Nodes {
		c.Doubts = append(c.Doubts, doubt.Reported(j.Reports, j.Nodes))
	}
	cut := CutShort(j)
	switch {
	case c.Ended != "" && cut != "":
		c.Doubts = append(c.Doubts, c.Ended+" (its figures are those of what ran until then)")
	case c.Ended != "":
		c.Doubts = append(c.Doubts, c.Ended)
	case limits[cut] != "":
		c.Doubts = append(c.Doubts, limits[cut]+" ended the job: its figures are those of what ran until then")
	case c.why.Code == CauseAsleep:
		c.Doubts = append(c.Doubts, c.why.clause())
	}
	if s := suspended(j); s.Code != "" && s != c.why {
		c.Doubts = append(c.Doubts, s.clause())
	}
	for _, w := range warnings(j) {
		if text := doubt.Text(w); slices.Contains(doubtful, w.Code) && !slices.Contains(c.Doubts, text) {
			c.Doubts = append(c.Doubts, text)
			if w.Code == doubt.WarnContention || w.Code == doubt.WarnOversubs {
				c.Waits = append(c.Waits, text)
			}
		}
	}
}

// atOnce reports whether MPI programs ran at the same time for long.
func atOnce(executions []job.Execution) bool {
	var sum float64
	for i := range executions {
		if m := job.ExecutionMetrics(&executions[i]); m != nil {
			sum += m.Elapsed
		}
	}
	return sum > 1.1*job.RunTime(executions).Seconds()
}
