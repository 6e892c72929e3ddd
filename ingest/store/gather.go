package store

import (
	"context"
	"errors"
	"fmt"
)

// gatherFor bounds how long reports wait for their turn.
const gatherFor = 4 * busyTimeout

// addGathered adds a report together with others of its job.
func (s *Store) addGathered(ctx context.Context, in *incoming) (added bool, err error) {
	g, i := s.gather(in)
	select {
	case <-g.done:
	case <-ctx.Done():
		return false, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	if g.err != nil {
		return false, g.err
	}
	return g.outcomes[i].attempt != nil, g.outcomes[i].err
}

// gather puts a report among the waiting ones of its job.
func (s *Store) gather(in *incoming) (g *gathered, i int) {
	k := jobKey{in.Cluster, in.JobID}
	s.gathering.mu.Lock()
	defer s.gathering.mu.Unlock()
	g = s.gathering.open[k]
	if g == nil || len(g.reports) == batchLength {
		g = &gathered{job: k, done: make(chan struct{})}
		if s.gathering.open == nil {
			s.gathering.open = map[jobKey]*gathered{}
		}
		s.gathering.open[k] = g
		go s.write(g)
	}
	g.reports = append(g.reports, in)
	return g, len(g.reports) - 1
}

// write adds all reports that gathered before its turn came.
func (s *Store) write(g *gathered) {
	defer close(g.done)
	defer s.gathering.forget(g)
	ctx, cancel := context.WithTimeout(background, gatherFor)
	defer cancel()
	g.outcomes, g.err = s.addTogether(ctx, g.job, func() []*incoming { return s.gathering.take(g) })
	reports := s.gathering.take(g)
	if g.err != nil && !errors.Is(g.err, ErrUnavailable) && len(reports) > 1 { // one of them is bad
		g.outcomes, g.err = s.addEach(ctx, g.job, reports), nil
	}
	if g.err != nil {
		return
	}
	for i, o := range g.outcomes {
		if o.apart {
			s.tellSettled(Settled{Cluster: g.job.cluster, JobID: g.job.jobID, Unfit: 1})
		}
		if o.attempt != nil && o.attempt.waits {
			s.kept.add(reports[i].NodeReport, reports[i].size)
			s.gathering.noteComplete(g.job, o.attempt)
		}
	}
}

// addTogether adds the reports that take returns when their turn has come.
func (s *Store) addTogether(ctx context.Context, k jobKey, take func() []*incoming) ([]outcome, error) {
	var outcomes []outcome
	err := s.doJob(ctx, k, func(w *writer) (err error) {
		outcomes, err = w.addReports(k, take())
		return err
	})
	if err != nil { // the work may still go on
		return nil, err
	}
	return outcomes, nil
}

// addEach adds each of the reports alone.
func (s *Store) addEach(ctx context.Context, k jobKey, reports []*incoming) []outcome {
	outcomes := make([]outcome, len(reports))
	for i := range reports {
		one, err := s.addTogether(ctx, k, func() []*incoming { return reports[i : i+1] })
		if err != nil {
			outcomes[i].err = err
			continue
		}
		outcomes[i] = one[0]
	}
	return outcomes
}
