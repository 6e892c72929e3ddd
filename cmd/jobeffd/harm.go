package main

import (
	"context"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"jobeff/cmd/jobeffd/notify"
	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/server"
	"jobeff/ingest/store"
	"jobeff/policy/harm"
)

// watcher compares measured jobs with others, and raises an alarm if the measured ones end worse.
type watcher struct {
	db      *store.Store
	srv     *server.Server
	mails   *notify.Notifier // nil: no mail is sent
	measure etc.Measure
	log     zerolog.Logger
	now     func() time.Time

	watch *harm.Watch
	since time.Time // when watch began
	read  time.Time // the end of the last job that was read
	kept  *harm.Comparison
}

const (
	watchEvery = time.Minute
	tellEvery  = 5 * time.Second // how soon nodes can hear that an alarm has ended
	// watchOverlap is read again at each look, since Slurm may report a job's end that late. A job
	// that is read twice counts once.
	watchOverlap = time.Hour
)

func (w *watcher) run(ctx context.Context) {
	for tick, n := time.NewTicker(tellEvery), 0; ctx.Err() == nil; n++ {
		turn := w.tell
		if n%int(watchEvery/tellEvery) == 0 {
			turn = w.look
		}
		if err := turn(ctx); err != nil && ctx.Err() == nil {
			w.log.Error().Err(err).Msg("comparing measured jobs with others; it is tried again")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// look takes in the jobs that ended since the last look, and raises alarms.
func (w *watcher) look(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	last := w.read
	err := w.db.EndedBetween(ctx, w.read.Add(-watchOverlap), w.now(), func(j *job.Job) {
		past := j.End.Before(w.since)
		if !w.measure.Covers(j.Partition) || past && (j.Decision == "on" || w.since.Sub(j.End) > harm.Before) {
			return
		}
		w.watch.Add(j, !past && w.measure.Draws(j.JobID))
		last = j.End
	})
	if err != nil {
		w.since = time.Time{} // begin anew: some of these jobs already count
		return err
	}
	w.read = last
	err = w.keep(ctx, w.watch.Comparison())
	var up []harm.Alarm
	if err == nil {
		up, err = w.db.AlarmsUp(ctx)
	}
	for _, a := range w.watch.Alarms() {
		if err == nil && !slices.ContainsFunc(up, func(u harm.Alarm) bool { return u.Kind == a.Kind }) {
			err = w.raise(ctx, &a)
			up = append(up, a)
		}
	}
	if err == nil {
		w.srv.SetAlarm(len(up) > 0)
	}
	return err
}

// tell reads from the database whether an alarm is up. From then on the server's answers to nodes say so.
func (w *watcher) tell(ctx context.Context) error {
	up, err := w.db.AlarmsUp(ctx)
	if err == nil {
		w.srv.SetAlarm(len(up) > 0)
	}
	return err
}

// keep writes into the database how rare a harm the comparison could have noticed by now, if that changed.
// Other processes read it there.
func (w *watcher) keep(ctx context.Context, is harm.Comparison) error {
	if w.kept != nil && *w.kept == is {
		return nil
	}
	err := w.db.KeepComparison(ctx, &is)
	if err == nil {
		w.kept = &is
	}
	return err
}

// begin begins a new comparison if the share of measured jobs was changed, or if an alarm was cleared.
func (w *watcher) begin(ctx context.Context) error {
	share := w.measure.Coin()
	was, err := w.db.Mark(ctx, store.MarkShare)
	if mark := store.ShareMark(share); err == nil && !was.Equal(mark) {
		if err = w.db.SetMark(ctx, store.MarkCompared, w.now()); err == nil {
			err = w.db.SetMark(ctx, store.MarkShare, mark)
		}
	}
	if err != nil {
		return err
	}
	since, err := w.db.Mark(ctx, store.MarkCompared)
	if now := w.now().Truncate(time.Microsecond); err == nil && since.After(now) { // by a clock that was wrong: nothing would count until then
		since, err = now, w.db.SetMark(ctx, store.MarkCompared, now)
	}
	if err == nil && !since.Equal(w.since) {
		w.watch, w.since, w.read = harm.New(share, since), since, since.Add(-harm.Before)
	}
	return err
}

// raise raises an alarm. The mail comes first, so a kill in between loses none. After such a kill the alarm is
// raised again, but its mail has the same key and is not sent twice.
func (w *watcher) raise(ctx context.Context, a *harm.Alarm) error {
	w.log.Error().Interface("alarm", a).Msg("measured jobs end worse than others: jobeff admin alarm says more")
	if w.mails != nil {
		if err := w.mails.Alarm(ctx, a); err != nil {
			return err
		}
	}
	return w.db.KeepAlarm(ctx, a)
}
