package server

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

const (
	// overlap is how far before the last look the next one begins: Slurm's
	// database and the clocks of the machines may lag.
	overlap = 10 * time.Minute
	// window is the span that one call of sacct covers after looks were missed, so that neither
	// side takes in millions of jobs at once.
	window = time.Hour
	// Every sweepEvery a look goes back by sweepBack. While slurmdbd is away, slurmctld keeps its
	// news, and may send them a day later with the old times.
	sweepEvery = 24 * time.Hour
	sweepBack  = 3 * 24 * time.Hour
	// soon is how long after a report Slurm is asked. The reports of a job's nodes, and of jobs
	// that end together, then cause one question.
	soon = 2 * time.Second
	// askAtOnce is how many single jobs one call of sacct asks for at most. mostAsks is how many
	// such calls one look makes.
	askAtOnce = 1000
	mostAsks  = 50
	// sacctTimeout bounds one call of sacct.
	sacctTimeout = 2 * time.Minute
	// markRead is the time up to which sacct was read. markSwept is when it was last read far
	// back.
	markRead  = store.MarkRead
	markSwept = "sacct_swept"
)

// Poller asks Slurm how jobs ended, at an interval and soon after reports.
type Poller struct {
	Store    *store.Store
	Log      zerolog.Logger
	Interval time.Duration
	Cluster  string // the one that it asks, where jobeffd serves several; "": there is one

	sacct      slurm.Sacct
	atOnce     int // jobs that the next call of sacct asks for
	skip       int // jobs without an end that the next look does not ask for
	accessRead time.Time
	queue      queueReader
	rooms      lookout
	now        func() time.Time
	kicked     chan struct{}
}

// NewPoller makes a poller of this machine's Slurm; Run does the work.
func NewPoller(s *store.Store, log zerolog.Logger, interval time.Duration) *Poller {
	return &Poller{Store: s, Log: log, Interval: interval, now: time.Now, atOnce: askAtOnce, kicked: make(chan struct{}, 1)}
}

// Of makes it the poller of one of several clusters.
func (p *Poller) Of(cluster string, ask slurm.Commands) *Poller {
	p.Cluster, p.sacct.Of, p.Log = cluster, ask, p.Log.With().Str("cluster", cluster).Logger()
	return p
}

// Kick makes the next look come soon. It never waits.
func (p *Poller) Kick() {
	select {
	case p.kicked <- struct{}{}:
	default:
	}
}

// Run looks until the context ends. If Slurm is not installed, it says so once and returns. If
// Slurm does not answer, it tries again.
func (p *Poller) Run(ctx context.Context) {
	away, said := false, ""
	for ctx.Err() == nil {
		p.readQueue(ctx) // first: what begins meanwhile, sacct then shows
		known, err := p.look(ctx)
		if !errors.Is(err, slurm.ErrNoSlurm) {
			err = errors.Join(err, p.readAccess(ctx))
			p.readRooms(ctx)
		}
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
		if form, why := p.sacct.Form(); err == nil && form != said {
			p.Log.Info().Str("form", form).AnErr("no_json", why).Msg("Slurm's accounting is read")
			said = form
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

// look takes in what sacct has to say since the last look, and about jobs that still lack
// something.
func (p *Poller) look(ctx context.Context) (known int, err error) {
	begin, span := p.now(), window
	from, sweep, err := p.since(ctx, begin)
	for err == nil && !from.IsZero() {
		to := from.Add(span)
		read := to
		if !to.Before(begin) {
			to, read = time.Time{}, begin
		}
		known, err = p.take(ctx, known, func(ctx context.Context) ([]slurm.Job, error) { return p.sacct.Between(ctx, from, to) })
		if half := min(span, begin.Sub(from)) / 2; errors.Is(err, slurm.ErrTooMuch) && half > time.Second {
			span, err = half, nil
			continue
		}
		if err == nil {
			err = p.Store.SetMark(ctx, store.MarkOf(markRead, p.Cluster), read)
		}
		from = to
	}
	if err == nil && sweep {
		err = p.Store.SetMark(ctx, store.MarkOf(markSwept, p.Cluster), begin)
	}
	if err != nil {
		return known, err
	}
	return p.askMore(ctx, known)
}

// since returns where a look begins, and whether it is a sweep. A mark in the future says that
// this machine's clock is or was wrong. What was read is then unknown, so it sweeps.
func (p *Poller) since(ctx context.Context, now time.Time) (from time.Time, sweep bool, err error) {
	read, err := p.Store.Mark(ctx, store.MarkOf(markRead, p.Cluster))
	if err == nil && read.IsZero() { // from before jobeffd told clusters apart
		read, err = p.Store.Mark(ctx, markRead)
	}
	if err != nil {
		return from, false, err
	}
	if read.IsZero() {
		return p.Store.Began().Add(-overlap), true, nil
	}
	swept, err := p.Store.Mark(ctx, store.MarkOf(markSwept, p.Cluster))
	if err != nil {
		return from, false, err
	}
	from = read
	if gap := now.Sub(swept); read.After(now) || gap < 0 || gap >= sweepEvery {
		sweep = true
		if back := now.Add(-sweepBack); back.Before(from) {
			from = back
		}
	}
	return from.Add(-overlap), sweep, nil
}

// take hands one answer of sacct to the store.
func (p *Poller) take(ctx context.Context, known int, ask func(context.Context) ([]slurm.Job, error)) (int, error) {
	timed, cancel := context.WithTimeout(ctx, sacctTimeout)
	defer cancel()
	jobs, err := ask(timed)
	if err != nil {
		return known, err
	}
	for i := range jobs {
		if err := p.isOf(jobs[i].Cluster); err != nil {
			return known, err
		}
	}
	n, err := p.Store.AddSlurm(ctx, jobs)
	if err != nil && !errors.Is(err, store.ErrUnavailable) { // the same jobs would fail again, and all others would wait behind them
		p.Log.Error().Err(err).Msg("jobs of which Slurm tells cannot be matched with their reports")
		err = nil
	}
	return known + n, err
}

// isOf refuses what Slurm says of another cluster than the one that it is asked about.
func (p *Poller) isOf(cluster string) error {
	if p.Cluster == "" || p.Cluster == cluster {
		return nil
	}
	return fmt.Errorf("cluster %s: Slurm answers for cluster %.64q: is what [[cluster]] says of it right in jobeffd's configuration?", p.Cluster, cluster)
}

// askMore asks for single jobs that still lack something, for each of them once.
func (p *Poller) askMore(ctx context.Context, known int) (int, error) {
	asked, skip := map[uint32]bool{}, p.skip
	for range mostAsks {
		ids, next, err := p.Store.ToAsk(ctx, p.Cluster, skip, askAtOnce)
		if err != nil {
			return known, err
		}
		p.skip = next
		ids = slices.DeleteFunc(ids, func(id uint32) bool { return asked[id] })
		ids = ids[:min(len(ids), p.atOnce)]
		if len(ids) == 0 {
			break
		}
		if known, err = p.askFor(ctx, known, ids); err != nil {
			return known, err
		}
		if p.atOnce < len(ids) { // again
			continue
		}
		for _, id := range ids {
			asked[id] = true
		}
		if err := p.Store.Asked(ctx, p.Cluster, ids); err != nil {
			return known, err
		}
	}
	return known, nil
}

// askFor asks for these jobs. If they have too many steps for one call, or it fails, the next asks
// for half as many, so that a job of a great many steps keeps nobody else's from being read. If one
// alone has too many, what they used stays unknown.
func (p *Poller) askFor(ctx context.Context, known int, ids []uint32) (int, error) {
	known, err := p.take(ctx, known, func(ctx context.Context) ([]slurm.Job, error) { return p.sacct.ByID(ctx, ids) })
	switch {
	case err == nil:
		p.atOnce = min(2*p.atOnce, askAtOnce)
		return known, nil
	case !errors.Is(err, slurm.ErrTooMuch):
		p.atOnce = max(1, len(ids)/2)
		return known, err
	case len(ids) > 1:
		p.atOnce = len(ids) / 2
	default:
		p.Log.Warn().Uint32("job", ids[0]).Msg("sacct says too much of the job's steps: what they used stays unknown")
	}
	return known, nil
}

// grantsOf turns what Slurm says into grants. uids are those of a name; a name that has none gets nothing.
func grantsOf(a *slurm.Access, uids func(name string) []int64) (all []store.Grant) {
	if !a.Private {
		all = append(all, store.Grant{UID: store.Everybody})
	}
	for _, name := range a.Admins {
		for _, uid := range uids(name) {
			all = append(all, store.Grant{UID: uid})
		}
	}
	for name, accounts := range a.Coordinators {
		for _, uid := range uids(name) {
			for _, account := range accounts[:min(len(accounts), mostAccounts)] {
				all = append(all, store.Grant{UID: uid, Account: account})
			}
		}
	}
	return all
}

// mostAccounts bounds one coordinator's accounts. Each is an argument of their queries.
const mostAccounts = 10_000

// uidHere is the uid of a name on this machine; none if it has none.
func uidHere(name string) []int64 {
	u, err := user.Lookup(name)
	if err != nil {
		return nil
	}
	id, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil
	}
	return []int64{int64(id)}
}

// uidsThere are the uids on the cluster, by name. On a foreign one, only Slurm's jobs tell which name a uid has.
func (p *Poller) uidsThere(ctx context.Context) (func(name string) []int64, error) {
	if !p.sacct.Of.Foreign {
		return uidHere, nil
	}
	names, err := p.Store.NamesOfSlurm(ctx, p.Cluster)
	of := map[string][]int64{}
	for uid, name := range names {
		of[name] = append(of[name], int64(uid))
	}
	return func(name string) []int64 { return of[name] }, err
}

// accessEvery is how many of the poller's intervals pass before it asks Slurm again who may
// see whose jobs, and what it gives them.
const accessEvery = 10

// readAccess asks Slurm who may see whose jobs, unless it did so lately. If it cannot, the old grants
// stay. If the answer is too large, it waits for the next turn before it asks again, since jobs wait
// meanwhile: a coordinator can add tens of thousands of accounts.
func (p *Poller) readAccess(ctx context.Context) error {
	if p.now().Sub(p.accessRead).Abs() < accessEvery*p.Interval {
		return nil
	}
	timed, cancel := context.WithTimeout(ctx, sacctTimeout)
	defer cancel()
	a, err := p.sacct.Of.ReadAccess(timed)
	var uids func(string) []int64
	if err == nil {
		uids, err = p.uidsThere(timed)
	}
	if err == nil {
		err = p.Store.SetGrants(timed, p.Cluster, grantsOf(a, uids))
	}
	if err == nil || errors.Is(err, slurm.ErrTooMuch) || errors.Is(err, context.DeadlineExceeded) {
		p.accessRead = p.now()
	}
	return err
}
