package server

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

const (
	// overlap is how far before the last look the next one begins: Slurm's
	// database and the clocks of the machines may lag.
	overlap = 10 * time.Minute
	// soon is how long after a report Slurm is asked, so that the reports of a
	// job's nodes, and of jobs that end together, cause one question.
	soon = 2 * time.Second
	// askAtOnce is how many single jobs are asked for in one call of sacct.
	askAtOnce = 1000
	// sacctTimeout bounds one call of sacct.
	sacctTimeout = 2 * time.Minute
	// markRead is the time up to which sacct was read.
	markRead = "sacct_read"
)

// Poller asks Slurm how jobs ended, at an interval and soon after reports.
type Poller struct {
	Store    *store.Store
	Log      zerolog.Logger
	Interval time.Duration
	kicked   chan struct{}
}

// NewPoller makes a poller; Run does the work.
func NewPoller(s *store.Store, log zerolog.Logger, interval time.Duration) *Poller {
	return &Poller{Store: s, Log: log, Interval: interval, kicked: make(chan struct{}, 1)}
}

// Kick makes the next look come soon. It never waits.
func (p *Poller) Kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

// Run looks until the context ends. Where Slurm is not installed it says so once
// and returns; a Slurm that is away is tried again.
func (p *Poller) Run(ctx context.Context) {
	away := false
	for ctx.Err() == nil {
		known, err := p.look(ctx)
		switch {
		case errors.Is(err, slurm.ErrNoSlurm):
			p.Log.Info().Msg("Slurm is not installed here: jobs are shown without state, account and name")
			return
		case err != nil && ctx.Err() == nil:
			if !away {
				p.Log.Warn().Err(err).Msg("Slurm's accounting cannot be read; it is tried again")
			}
			away = true
		case away:
			p.Log.Info().Msg("Slurm's accounting can be read again")
			away = false
		}
		p.Log.Debug().Int("jobs", known).Msg("sacct")
		p.wait(ctx)
	}
}

// wait lasts for the interval, or until soon after a kick.
func (p *Poller) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(p.Interval):
	case <-p.kicked:
		select {
		case <-ctx.Done():
		case <-time.After(min(soon, p.Interval)):
		}
	}
}

// look takes in what sacct says since the last look, and of the jobs whose end
// it has not told yet.
func (p *Poller) look(ctx context.Context) (known int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sacctTimeout)
	defer cancel()
	since, err := p.Store.Mark(ctx, markRead)
	if err != nil {
		return 0, err
	}
	if since.IsZero() {
		since = p.Store.Began()
	}
	begin := time.Now()
	jobs, err := slurm.Since(ctx, since.Add(-overlap))
	if err != nil {
		return 0, err
	}
	if known, err = p.Store.AddSlurm(ctx, jobs); err != nil {
		return known, err
	}
	ids, err := p.Store.ToAsk(ctx, askAtOnce)
	if err != nil || len(ids) == 0 {
		return known, errors.Join(err, p.Store.SetMark(ctx, markRead, begin))
	}
	if jobs, err = slurm.ByID(ctx, ids); err != nil {
		return known, err
	}
	n, err := p.Store.AddSlurm(ctx, jobs)
	return known + n, errors.Join(err, p.Store.SetMark(ctx, markRead, begin))
}
