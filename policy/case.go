package policy

import (
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Case is a job as rules see it.
type Case struct {
	Fields
	Unknown map[string]string // fields that are not known → why
	Doubts  []string          // what makes the figures uncertain
	Ended   string            // a clause on how it ended, if that forbids judging what it ran; else ""
	why     Cause
	Hours   CoreHours
	// SoFar holds what rules about running jobs may read; nil: its nodes do not report one common moment.
	SoFar       *Case
	Runs        bool       // it is running
	AsOf        string     // "So far, as of …: ", put before the texts of a SoFar
	Request     *Request   // what to ask for next time
	Waits       []string   // those of Doubts that are themselves the cause: ranks lacked CPUs
	FewRuns     []string   // why past_inflexion is uncertain
	CPUDoubt    string     // why Slurm's CPU figures are
	MemoryDoubt string     // why its memory figures are
	Muted       *time.Time // its owner asked for no mails about it until then
}

// Fields that share one reason when they are not known.
var (
	EfficiencyFields = []string{"parallel_efficiency", "load_balance", "load_balance_in", "load_balance_out",
		"communication_efficiency", "idle_ranks", "idle_rank_share", "openmp_parallel_efficiency", "openmp_load_balance",
		"openmp_scheduling_efficiency", "openmp_serialisation_efficiency", "serialisation_efficiency", "transfer_efficiency"}
	mpiFields      = []string{"mpi_parallel_efficiency", "mpi_load_balance", "mpi_communication_efficiency"}
	measuredFields = slices.Concat([]string{"program", "mpi", "nodes_used", "executions", "ranks", "threads", "coverage", "threaded", "singletons",
		"mpi_runtime", "cause", "cause_text", "advised_cores", "gpu_ranks", "unused_nodes"}, mpiFields, EfficiencyFields)
	detailFields = append([]string{"program", "mpi", "executions", "threaded", "singletons", "mpi_runtime", "cause", "cause_text", "advised_cores", "gpu_ranks", "unused_nodes"}, EfficiencyFields...)
)

// unknown notes why fields are not known; the first reason stays.
func (c *Case) unknown(why string, names ...string) {
	for _, name := range names {
		if c.Unknown[name] == "" {
			c.Unknown[name] = why
		}
	}
}

// Fields that need the runs of the job's workload.
var (
	curveFields    = []string{"n_fast", "n_eff"}
	CoreFields     = append([]string{"workload", "workload_runs", "cores", "past_inflexion", "near_inflexion", "fastest_cores", "slower_by"}, curveFields...)
	workloadFields = slices.Concat(CoreFields, []string{"slower_than_before", "compare"})
)

// workload fills in what the runs of the job's workload show.
func (c *Case) workload(j *job.Job, s *workload.Study) {
	switch {
	case s == nil && job.WorkloadOf(j) == "":
		c.unknown("what tells its workload is not known", workloadFields...)
		return
	case s == nil:
		c.unknown("the runs of its workload were not looked at", workloadFields...)
		return
	}
	c.Workload = s.Workload.Name
	delete(c.Unknown, "workload")
	if s.Muted != nil {
		c.Muted = &s.Muted.Until
	}
	switch {
	case c.Cause == CauseGPUs:
		c.unknown("the job had GPUs: its useful time is the host's alone", workloadFields[1:]...)
	case s.Mine == nil:
		c.unknown(s.NotMine(), workloadFields[1:]...)
	default:
		c.compared(j, s)
	}
}

// compared fills in how the job's core count compares with the workload's others.
func (c *Case) compared(j *job.Job, s *workload.Study) {
	n := s.Mine.Cores()
	c.WorkloadRuns, c.Cores, c.FastestCores, c.SlowerBy = len(s.Runs), n, s.Fastest, s.At(n).T/s.At(s.Fastest).T-1
	than := s.Against(n)
	if c.PastInflexion, c.NearInflexion = than.Past, s.Near(); than.Past {
		c.FastestCores, c.SlowerBy = than.Than, than.Slower
	}
	if step := s.Slower(); step != nil && step.Beside != "" {
		c.unknown("its runs became slower, but "+step.Beside, "slower_than_before", "compare")
	} else if step != nil {
		c.SlowerThan, c.Compare = step.Factor.Value-1, "jobeff compare "+step.Before.DisplayID+" "+s.Mine.DisplayID
	}
	told := []string{"past_inflexion", "near_inflexion"}
	switch {
	case len(s.Counts) < 2:
		c.unknown(fmt.Sprintf("its workload was run on %s only", figure.Counted(n, "core")), told[0])
	case s.Undecided():
		why := "its workload scales weakly, or may do so: " + s.Why
		if s.Scaling == workload.ScalingUnclear {
			why = "whether its workload scales strongly is not clear: " + s.Why
		}
		c.unknown(why, append(append(told, "fastest_cores", "slower_by"), curveFields...)...)
	case than.Rose && !than.Past:
		c.unknown(than.Why, told[0])
	}
	if c.PastInflexion && !c.why.fewerMayHelp() {
		c.unknown("its time has another cause than the number of cores: "+c.why.clause(), told...)
	}
	c.NFast, c.NEff = estimated(c, "n_fast", s.Curve.Fast), estimated(c, "n_eff", s.Curve.Eff)
	if triesCores(j) {
		c.FewRuns = append(c.FewRuns, "the job ran its program on several core counts, which looks like a test of how it scales")
	}
}

// triesCores reports whether the job ran one program on several core counts. That is a test of how it scales,
// and its slow runs are no mistake.
func triesCores(j *job.Job) bool {
	sizes := map[string]int{}
	for i := range j.Executions {
		e := &j.Executions[i]
		key := job.WorkloadKey(j.Cluster, j.UID, e)
		if key == "" {
			continue
		}
		if size, seen := sizes[key]; seen && size != e.Size {
			return true
		}
		sizes[key] = e.Size
	}
	return false
}

// estimated returns a curve's core count. If the curve has none, it notes why.
func estimated(c *Case, field string, count curve.CoreCount) float64 {
	if count.Estimate == nil {
		c.unknown(count.Note, field)
		return 0
	}
	return count.Estimate.Value
}
