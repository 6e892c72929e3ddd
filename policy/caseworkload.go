package policy

import (
	"fmt"
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Fields that only the runs of a job's workload tell.
var (
	curveFields    = []string{"n_fast", "n_eff"}
	workloadFields = append([]string{"workload", "workload_runs", "cores", "past_inflexion", "near_inflexion", "fastest_cores", "slower_by"}, curveFields...)
	// adviceFields are those whose flag a core count answers.
	adviceFields = append([]string{"parallel_efficiency", "mpi_parallel_efficiency", "communication_efficiency", "idle_rank_share", "lost_core_hours", "lost_mpi_core_hours"}, workloadFields...)
)

// workload fills in what the other runs of the job's workload tell.
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
		c.unknown("the job had GPUs: what these did is not measured", workloadFields[1:]...)
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
	if c.PastInflexion, c.NearInflexion = than.Past, s.Near(n); than.Past {
		c.FastestCores, c.SlowerBy = than.Than, than.Slower
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

// triesCores says whether the job ran one program on several core counts: a test of
// how it scales, whose slow runs are no mistake.
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

// estimated is a curve's core count; why it has none is noted.
func estimated(c *Case, field string, count curve.CoreCount) float64 {
	if count.Estimate == nil {
		c.unknown(count.Note, field)
		return 0
	}
	return count.Estimate.Value
}

var (
	// judgedFields speak of how well the job ran, or of how much it lost.
	judgedFields = slices.Concat(efficiencyFields, adviceFields, []string{"unused_nodes", "nodes_used", "cause"})
)
