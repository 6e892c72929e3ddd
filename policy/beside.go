package policy

import (
	"slices"
	"time"

	"jobeff/ingest/job"
)

// together is how long at least one of the executions ran.
func together(executions []job.Execution) time.Duration {
	type span struct{ from, to time.Time }
	var all []span
	for i := range executions {
		e := &executions[i]
		if job.ExecutionMetrics(e) != nil {
			e.EachSpan(func(from, to time.Time) { all = append(all, span{from, to}) })
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	var sum time.Duration
	var last time.Time
	for _, s := range all {
		if s.from.Before(last) {
			s.from = last
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			last = s.to
		}
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
