package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/ingest/store"
)

const logsPath = "/v1/logs"

// postLogs takes the logs of windows of one node (job.NodeLogs): POST /v1/logs. Its 200 says that
// they are on the disk, until they are replayed.
func (s *Server) postLogs(w http.ResponseWriter, r *http.Request) {
	s.postOne(w, r, s.keepLogs)
}

func longLogs() *refusal {
	return &refusal{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the logs are larger than %d KiB, or than %d MiB when unpacked", job.MaxLogsBytes>>10, job.MaxLogsText>>20)}
}

// logsLine is the line of those who wait for the core that logs have, each with its packed logs in
// memory. Its length is bounded, and so is each sender's part of it (admit.Caller.Part).
type logsLine struct {
	core *semaphore.Weighted
	mu   sync.Mutex
	all  int
	of   map[string]int
}

const (
	mostInLine = 32
	mostOfLine = mostInLine / 4
	mostRest   = 2 * time.Second // a database that is slow takes no core
)

func newLogsLine() *logsLine {
	return &logsLine{core: semaphore.NewWeighted(1), of: map[string]int{}}
}

// take waits for the half of a core that logs of windows have. They are unpacked and replayed one at
// a time, and after each the core rests for as long as that took: reports and people come first, and
// there is never more than one replay, or one text, in memory.
func (l *logsLine) take(ctx context.Context, sender string) (release func(), e *refusal) {
	if !l.enter(sender) {
		return nil, &refusal{Status: http.StatusTooManyRequests, Reason: "memory", Message: "jobeffd reads too many logs of windows at once", Hint: "try again", Retry: time.Second}
	}
	defer l.leave(sender)
	if err := l.core.Acquire(ctx, 1); err != nil {
		return nil, refuse(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
	}
	begin := time.Now()
	return func() { time.AfterFunc(min(time.Since(begin), mostRest), func() { l.core.Release(1) }) }, nil
}

func (l *logsLine) enter(sender string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sender != "" && (l.all >= mostInLine || l.of[sender] >= mostOfLine) {
		return false
	}
	l.all++
	l.of[sender]++
	return true
}

func (l *logsLine) leave(sender string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.of[sender]--; l.of[sender] == 0 {
		delete(l.of, sender)
	}
}

// keepLogs decodes, checks and stores logs, packed, and logs it.
func (s *Server) keepLogs(ctx context.Context, _ *http.Request, by viewer, body []byte, _ time.Time) (added bool, e *refusal) {
	logs, isNew, e := s.decodeLogs(ctx, body, by.Part())
	if e == nil {
		e = by.CheckNode(ctx, logs.Node)
	}
	if e != nil || !isNew {
		return false, e
	}
	added, err := s.store.AddLogs(ctx, logs, body, by.Part())
	if err != nil {
		return false, refuse(err)
	}
	by.note(s.log.Info()).Str("cluster", logs.Cluster).Uint32("job", logs.JobID).Str("node", logs.Node).Str("nonce", logs.Nonce).
		Int("bytes", len(body)).Bool("new", added).Msg("logs of windows")
	return added, nil
}

// decodeLogs checks that logs can be read, hold what they say, and are wanted. It keeps nothing but
// their text meanwhile.
func (s *Server) decodeLogs(ctx context.Context, body []byte, sender string) (logs *job.NodeLogs, isNew bool, e *refusal) {
	if len(body) > job.MaxLogsBytes {
		return nil, false, longLogs()
	}
	release, e := s.logs.take(ctx, sender)
	if e != nil {
		return nil, false, e
	}
	defer release()
	logs, err := job.DecodeLogs(body)
	if err == nil {
		err = replay.Check(logs.Text, replay.Size{Ranks: logs.Ranks, Entries: logs.Entries})
	}
	switch {
	case errors.Is(err, job.ErrTooLarge):
		return nil, false, longLogs()
	case err != nil:
		return nil, false, badReport(err)
	}
	logs.Text = nil // the store keeps them packed
	if isNew, err = s.store.WantsLogs(ctx, logs, len(body), sender); err != nil {
		return nil, false, refuse(err)
	}
	return logs, isNew, nil
}
