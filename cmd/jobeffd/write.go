package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"jobeff/cmd/jobeffd/notify"
	"jobeff/etc"
	"jobeff/ingest/server"
	"jobeff/ingest/store"
)

// committed is called after each COMMIT of a report. It is nil without the build tag failpoint.
var committed func()

// write runs the writer until the context ends. It takes reports, and answers people too. It
// alone migrates and checkpoints the database, asks Slurm and sends mail.
func write(ctx context.Context, cfg *etc.Config, log zerolog.Logger) (err error) {
	o, err := options(cfg, log)
	if err != nil {
		return err
	}
	db, err := store.Open(cfg.Server.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	how := judging(o.Rules, time.Duration(cfg.Server.Grace))
	if err := db.JudgeBy(ctx, how.Rules); err != nil {
		return err
	}
	if cfg.Server.Socket == "" && cfg.Server.Listen == "" {
		return errors.New("server.socket and server.listen are both empty: nobody could reach jobeffd; set one of them")
	}
	listeners, err := writersUnit(cfg).listen()
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	asking := pollers(cfg, db, log)
	ofSlurm(db, cfg)
	db.FindHung(time.Duration(cfg.Server.HungAfter))
	o.Store, o.Committed = db, committed
	o.Reported = func(cluster string) {
		for _, p := range asking {
			if cluster == "" || cluster == p.Cluster {
				p.Kick()
			}
		}
	}
	o.Cores, o.ReportRate, o.StrictNode = runtime.GOMAXPROCS(0), cfg.Server.ReportRate, cfg.Server.StrictNode
	srv := server.New(o)
	mails, err := notify.New(cfg, db, log, time.Now)
	if err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if l := listeners[metricsKey]; l != nil {
		delete(listeners, metricsKey)
		serveMetrics(background, &wg, l, srv)
	}
	log.Info().Str("version", etc.Version).Str("database", store.Name(cfg.Server.Database)).Str("socket", cfg.Server.Socket).
		Str("listen", cfg.Server.Listen).Str("reader", readerAt(cfg)).Int("pid", os.Getpid()).Msg("jobeffd is ready")
	switch {
	case mails != nil:
		wg.Go(func() { mails.Run(background) })
	case len(cfg.Digest.To)+len(cfg.Digest.Accounts) > 0:
		log.Warn().Msg("[digest] names people, but [mail] has neither host nor sendmail: no mail is ever sent")
	}
	wg.Go(func() { merge(background, db, log) })
	wg.Go(func() { judge(background, db, how, log) })
	harms := &watcher{db: db, srv: srv, mails: mails, measure: cfg.Measure, log: log, now: time.Now}
	wg.Go(func() { harms.run(background) })
	slows := &slowWatcher{db: db, log: log, now: time.Now}
	wg.Go(func() { slows.run(background) })
	wg.Go(func() { srv.ReplayLogs(background, time.Duration(cfg.Server.Grace)) })
	wg.Go(func() { retain(background, db, cfg.Retention, log) })
	wg.Go(func() { check(background, db, log) })
	for _, p := range asking {
		if p.Interval > 0 {
			wg.Go(func() { p.Run(background) })
		}
	}
	wg.Go(func() { keepAlive(background) })
	err = srv.Serve(ctx, slices.Collect(maps.Values(listeners))...)
	log.Info().Msg("jobeffd ends")
	return err
}

// mergeEvery is the time between two looks for new reports.
const mergeEvery = 300 * time.Millisecond

// merge makes jobs' figures from the reports that came.
func merge(ctx context.Context, db *store.Store, log zerolog.Logger) {
	for tick := time.NewTicker(mergeEvery); ctx.Err() == nil; {
		if n, err := db.Merge(ctx); err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("merging")
		} else if n > 0 {
			log.Info().Int("attempts", n).Msg("merged")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// lookEvery is the time after which check asks again whether the database is due to be read.
const lookEvery = 10 * time.Second

// check looks for damage in the database, and logs it.
func check(ctx context.Context, db *store.Store, log zerolog.Logger) {
	for tick := time.NewTicker(lookEvery); ctx.Err() == nil; {
		if found, err := db.Check(ctx, time.Now()); found != "" {
			log.Error().Str("found", found).Msg("the database is damaged: nothing is written into it any more; ADMIN.md 6 has the way out")
		} else if err != nil && ctx.Err() == nil && !db.Damaged() {
			log.Error().Err(err).Msg("looking for damage in the database")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// retainEvery is the time between two looks for old jobs. The first look comes after retainFirst, when the
// reports that waited for jobeffd are in.
const (
	retainFirst = 10 * time.Minute
	retainEvery = 24 * time.Hour
)

// retain drops jobs that are older than the configuration keeps.
func retain(ctx context.Context, db *store.Store, keep etc.Retention, log zerolog.Logger) {
	for wait := retainFirst; ; wait = retainEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		done, err := db.Retain(ctx, store.Retention{Ranks: time.Duration(keep.Ranks), Jobs: time.Duration(keep.Jobs)}, time.Now(), nil)
		if err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("dropping old jobs")
		} else if done != (store.Retained{}) {
			log.Info().Int("trimmed", done.Trimmed).Int("pruned", done.Pruned).Msg("old jobs dropped")
		}
	}
}
