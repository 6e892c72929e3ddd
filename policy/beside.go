package policy

import (
	"time"

	"jobeff/ingest/job"
)

// together is how long at least one of the executions ran.
func together(executions []job.Execution) time.Duration {
	var all []job.Span
	for i := range executions {
		if e := &executions[i]; job.ExecutionMetrics(e) != nil {
			all = append(all, e.Spans()...)
		}
	}
	var sum time.Duration
	for _, s := range job.Union(all) {
		sum += s.To.Sub(s.From)
	}
	return sum
}

// atOnce says whether MPI programs ran beside each other for long.
func atOnce(executions []job.Execution) bool {
	var sum float64
	for i := range executions {
		if m := job.ExecutionMetrics(&executions[i]); m != nil {
			sum += m.Elapsed
		}
	}
	return sum > 1.1*together(executions).Seconds()
}
