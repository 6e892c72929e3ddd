package demo

import "testing"

// TestPossible walks all jobs of two sites: jobeff would show the figures of each.
func TestPossible(t *testing.T) {
	t.Parallel()
	for _, n := range []int{6000, 20_000} {
		for _, j := range jobs(1, n) {
			for i := range j.Executions {
				if err := j.Executions[i].Check(); err != nil {
					t.Errorf("job %d: %v: %+v", j.JobID, err, j.Executions[i])
				}
			}
			if j.Metrics != nil && j.Metrics.Check() != nil {
				t.Errorf("job %d: %v: %+v", j.JobID, j.Metrics.Check(), *j.Metrics)
			}
		}
	}
}
