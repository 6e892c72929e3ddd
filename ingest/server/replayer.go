package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/ingest/store"
)

// replayEvery is how often ReplayLogs looks for logs.
const replayEvery = 2 * time.Second

// ReplayLogs replays the windows of executions on several nodes, one after the other, until the
// context ends. Logs that wait for others longer than grace are dropped.
func ReplayLogs(ctx context.Context, db *store.Store, log zerolog.Logger, grace time.Duration) {
	for tick := time.NewTicker(replayEvery); ctx.Err() == nil; {
		more, err := replayNext(ctx, db, log, grace)
		if err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("replaying windows")
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// replayNext replays the windows of one execution; more is false if there was none.
func replayNext(ctx context.Context, db *store.Store, log zerolog.Logger, grace time.Duration) (more bool, err error) {
	begin := time.Now()
	l, err := db.NextLogs(ctx, begin, grace)
	if l == nil || err != nil {
		return false, err
	}
	told, first, err := replayed(l)
	if err != nil {
		return true, err
	}
	if err := db.KeepWindows(ctx, l, first, told); err != nil {
		return true, err
	}
	log.Info().Str("cluster", first.Cluster).Uint32("job", first.JobID).Int("nodes", len(l.Logs)).Int("matched", told.Matched).Int("dropped", told.Dropped).
		Str("why", told.Why).Dur("ms", time.Since(begin)).Msg("windows replayed")
	return true, nil
}

// replayed replays the logs of all nodes. first are the logs with rank 0. Logs are a user's bytes:
// a panic over them must not end jobeffd.
func replayed(l *store.WindowLogs) (told *job.Windows, first *job.NodeLogs, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var all []replay.Log
	entries := 0
	first = l.Logs[0]
	for _, n := range l.Logs {
		logs, err := logsOf(n)
		if err != nil {
			return nil, nil, err
		}
		for i := range logs {
			entries += len(logs[i].Entries)
			if logs[i].Rank == 0 {
				first = n
			}
		}
		if all = append(all, logs...); entries > replay.MostEntries {
			return &job.Windows{Why: string(replay.WhyRoom)}, first, nil
		}
	}
	return replay.Windows(all, l.Execution), first, nil
}

// logsOf unpacks the logs of a node's ranks.
func logsOf(l *job.NodeLogs) ([]replay.Log, error) {
	logs, err := replay.Unpack(l.Text, replay.MostEntries)
	if err == nil && len(logs) != l.Ranks {
		err = fmt.Errorf("the logs say %d ranks and are of %d", l.Ranks, len(logs))
	}
	for i := range logs {
		logs[i].Node, logs[i].ClockError = l.Node, l.ClockError
	}
	return logs, err
}
