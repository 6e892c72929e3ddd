package workload

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Studies keeps the studies of workloads, so that many jobs are studied without fitting a curve for each.
type Studies struct {
	now   time.Time
	byKey map[string][]*Study // by workload: one for each group of runs that a job belonged to
}

// mostStudies bounds the memory that Studies takes: when it is full, all of them are dropped,
// and studied again on demand.
const mostStudies = 1000

// NewStudies makes an empty one. now decides which mutes still hold.
func NewStudies(now time.Time) *Studies { return &Studies{now: now, byKey: map[string][]*Study{}} }

// Of returns the study of a job's workload, as NewStudy makes it for that job; nil: the job belongs to none.
// load reads the workload. It is called once for each workload, as long as there are at most mostStudies.
func (s *Studies) Of(j *job.Job, load func() (*job.Workload, error)) (*Study, error) {
	key := job.WorkloadOf(j)
	if key == "" {
		return nil, nil
	}
	known, read := s.byKey[key]
	if !read {
		if len(s.byKey) >= mostStudies {
			clear(s.byKey)
		}
		w, err := load()
		if err != nil {
			return nil, err
		}
		if w != nil {
			known = append(known, NewStudy(w, j, s.now, curve.Settings{}))
		}
		s.byKey[key] = known
	}
	if len(known) == 0 {
		return nil, nil
	}
	for _, one := range known {
		if runOf(one.Runs, j) != nil {
			return one.As(j), nil
		}
	}
	first := known[0]
	for _, split := range first.Splits {
		if runOf(split.Runs, j) != nil {
			other := NewStudy(first.Workload, j, s.now, curve.Settings{})
			s.byKey[key] = append(known, other)
			return other, nil
		}
	}
	return first.As(j), nil
}

// runOf returns the job's run among runs; nil: there is none.
func runOf(runs []job.Run, j *job.Job) *job.Run {
	for i := range runs {
		if isMainRun(&runs[i], j) {
			return &runs[i]
		}
	}
	return nil
}

// As returns the study from the view of another job of the workload.
func (s *Study) As(j *job.Job) *Study {
	if run := runOf(s.Runs, j); run != nil {
		return s.mineIs(run, j, "")
	}
	return s.mineIs(nil, j, s.whyNotMine(j))
}

// mineIs returns the study with another job's run as the studied one.
func (s *Study) mineIs(run *job.Run, j *job.Job, why string) *Study {
	other := *s
	other.of(j)
	other.Mine, other.notMine = run, why
	return &other
}
