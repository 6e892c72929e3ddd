package demo

import (
	"testing"
	"time"

	"jobeff/ingest/job"
)

// TestPossible walks all jobs of two sites: no time is negative, no rank computes
// longer than it ran, no efficiency is above 1.
func TestPossible(t *testing.T) {
	t.Parallel()
	for _, n := range []int{6000, 20_000} {
		for _, j := range jobs(1, n) {
			for i := range j.Executions {
				for _, s := range j.Executions[i].Nodes {
					possibleNode(t, j.JobID, s)
				}
			}
			if m := j.Metrics; m != nil {
				possibleMetrics(t, j.JobID, m)
			}
		}
	}
}

func possibleNode(t *testing.T, id uint32, s job.NodeShare) {
	t.Helper()
	longest := s.ElapsedMax + time.Microsecond // the sums are rounded apart
	if s.Useful < 0 || s.MPI < 0 || s.UsefulMax > longest {
		t.Errorf("job %d on %s: useful %v, at most %v of %v, MPI %v", id, s.Node, s.Useful, s.UsefulMax, s.ElapsedMax, s.MPI)
	}
}

func possibleMetrics(t *testing.T, id uint32, m *job.Metrics) {
	t.Helper()
	for name, value := range map[string]float64{"parallel efficiency": m.ParallelEfficiency, "load balance": m.LoadBalance,
		"communication efficiency": m.CommunicationEfficiency, "coverage": m.Coverage} {
		if value < 0 || value > 1+1e-9 {
			t.Errorf("job %d: %s %g", id, name, value)
		}
	}
}
