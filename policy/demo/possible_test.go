package demo

import (
	"testing"
	"time"

	"jobeff/ingest/job"
)

// TestPossible walks all jobs of two sites: jobeff would show the figures of each.
func TestPossible(t *testing.T) {
	t.Parallel()
	courses := 0
	for _, all := range [][]*job.Job{jobs(1, 6000), large()} {
		for _, j := range all {
			for i := range j.Executions {
				e := &j.Executions[i]
				if err := e.Check(); err != nil {
					t.Errorf("job %d: %v: %+v", j.JobID, err, *e)
				}
				if e.Timeline == nil {
					continue
				}
				courses++
				var useful, want time.Duration
				for b, d := range e.Timeline.Useful {
					if useful += d; d < 0 || d > e.Timeline.Elapsed[b] || e.Timeline.Most[0][b] > d {
						t.Errorf("job %d: in bucket %d its ranks cannot have spent their time so: %+v", j.JobID, b, e.Timeline)
					}
				}
				for k := range e.Nodes {
					want += e.Nodes[k].Useful
				}
				if useful != want {
					t.Errorf("job %d: useful %v over time, %v in all", j.JobID, useful, want)
				}
			}
			if j.Metrics != nil && j.Metrics.Check() != nil {
				t.Errorf("job %d: %v: %+v", j.JobID, j.Metrics.Check(), *j.Metrics)
			}
		}
	}
	if courses < 1000 {
		t.Errorf("%d jobs have a course", courses)
	}
}
