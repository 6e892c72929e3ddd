package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"jobeff/ingest/node"
)

// logsKept is how long logs that jobeffd does not take are tried again. Later it no longer waits
// for them.
const logsKept = time.Hour

// sendLogs sends the logs of windows, once the reports are sent. It deletes what jobeffd took or
// refused for good, and what is old. When one is not answered, the others wait for the next time.
func (s *Sender) sendLogs(ctx context.Context, res *SendResult) {
	dir := node.LogsDir(s.Spool)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		res.Problems = append(res.Problems, fmt.Errorf("ingest: logs: %w", err))
	}
	away := false
	for _, e := range entries {
		if !node.IsLogsFile(e.Name()) {
			removeStale(dir, e)
			continue
		}
		path := filepath.Join(dir, e.Name())
		outcome := unanswered
		if !away && ctx.Err() == nil {
			var err error
			if outcome, err = s.sendLog(ctx, path); err != nil {
				res.Problems = append(res.Problems, fmt.Errorf("%s: %w", e.Name(), err))
			}
			away = outcome == unanswered
		}
		if info, err := e.Info(); outcome == decided || err == nil && time.Since(info.ModTime()) > logsKept {
			os.Remove(path)
		}
	}
}

func (s *Sender) sendLog(ctx context.Context, path string) (outcome, error) {
	body, err := node.ReadBounded(path)
	if err == nil {
		err = patiently(ctx, func() error { return s.Client.PostLogs(ctx, body) })
	}
	if errors.Is(err, fs.ErrNotExist) {
		return decided, nil // a report had no room
	}
	return outcomeOf(err), err
}
