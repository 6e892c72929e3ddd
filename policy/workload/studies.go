package workload

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Studies keeps the studies of workloads, so that many jobs can be asked about without
// fitting a curve for each.
type Studies struct {
	now   time.Time
	byKey map[string][]*Study // of every group of runs that was asked about
}

// mostStudies bounds the memory that Studies takes: when it is full, all of them are dropped,
// and studied again on demand.
const mostStudies = 1000

// NewStudies makes an empty one; now decides what is muted still.
func NewStudies(now time.Time) *Studies { return &Studies{now: now, byKey: map[string][]*Study{}} }

// Of is the study of a job's workload, as NewStudy makes it for that job; load reads the
// workload and is called once for each of up to a thousand. Nil: the job belongs to none.
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

// runOf is the job's among runs, nil where it is not.
func runOf(runs []job.Run, j *job.Job) *job.Run {
	for i := range runs {
		if isMainRun(&runs[i], j) {
			return &runs[i]
		}
	}
	return nil
}

// As is the study as another job of the workload sees it.
func (s *Study) As(j *job.Job) *Study {
	if run := runOf(s.Runs, j); run != nil {
		return s.mineIs(run, j, "")
	}
	return s.mineIs(nil, j, s.whyNotMine(j))
}

// mineIs is the study with another job's run as the one that is asked about.
func (s *Study) mineIs(run *job.Run, j *job.Job, why string) *Study {
	other := *s
	other.of(j)
	other.Mine, other.notMine = run, why
	return &other
}
