package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
)

const logsPath = "/v1/logs"

// postLogs takes the logs of windows of one node (wire.NodeLogs): POST /v1/logs. Its 200 says that
// they are on the disk, until they are replayed.
func (s *Server) postLogs(w http.ResponseWriter, r *http.Request) {
	s.postOne(w, r, s.keepLogs)
}

func longLogs() *refusal {
	return &refusal{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the logs are larger than %d KiB, or than %d MiB when unpacked", wire.MaxLogsBytes>>10, wire.MaxLogsText>>20)}
}

// logsLine is the queue of requests that wait for the core of logs, each with its packed logs in
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
	mostRest   = 2 * time.Second // waiting for a slow database takes no core
)

func newLogsLine() *logsLine {
	return &logsLine{core: semaphore.NewWeighted(1), of: map[string]int{}}
}

// take waits for the half of a core that logs of windows get. They are unpacked and replayed one at
// a time, so no more than one replay, or one text, is in memory. After each the core rests for as
// long as that took: reports and people come first.
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
	logs, isNew, e := s.decodeLogs(ctx, body, by)
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

// decodeLogs checks that logs can be read, hold what they say, are of the sender's cluster, and are wanted. Meanwhile
// it holds only their text.
func (s *Server) decodeLogs(ctx context.Context, body []byte, by viewer) (logs *wire.NodeLogs, isNew bool, e *refusal) {
	if len(body) > wire.MaxLogsBytes {
		return nil, false, longLogs()
	}
	release, e := s.logs.take(ctx, by.Part())
	if e != nil {
		return nil, false, e
	}
	defer release()
	logs, err := wire.DecodeLogs(body)
	if err == nil {
		err = replay.Check(logs.Text, replay.Size{Ranks: logs.Ranks, Entries: logs.Entries})
	}
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, false, longLogs()
	case err != nil:
		return nil, false, badReport(err)
	}
	if e := by.CheckCluster(logs.Cluster); e != nil {
		return nil, false, e
	}
	logs.Text = nil // the store keeps them packed
	if isNew, err = s.store.WantsLogs(ctx, logs, len(body), by.Part()); err != nil {
		return nil, false, refuse(err)
	}
	return logs, isNew, nil
}

// replayEvery is how often ReplayLogs looks for logs.
const replayEvery = 2 * time.Second

// ReplayLogs replays the windows of executions on several nodes, one after the other, until the
// context ends. Logs that wait for others longer than grace are dropped.
func (s *Server) ReplayLogs(ctx context.Context, grace time.Duration) {
	for tick := time.NewTicker(replayEvery); ctx.Err() == nil; {
		more, err := s.replayNext(ctx, grace)
		if err != nil && ctx.Err() == nil {
			s.log.Error().Err(err).Msg("replaying windows")
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

// replayNext replays the windows of one execution, or drops logs; more is false if there were
// none.
func (s *Server) replayNext(ctx context.Context, grace time.Duration) (more bool, err error) {
	begin := time.Now()
	l, lost, err := s.store.NextLogs(ctx, begin, grace)
	for _, these := range lost {
		s.counts.lostLogs.Add(float64(these.Logs))
		s.log.Warn().Uint32("job", these.Job).Int("logs", these.Logs).Str("why", these.Why).Msg("logs of windows dropped")
	}
	if l == nil || err != nil {
		return len(lost) > 0 && err == nil, err
	}
	release, e := s.logs.take(ctx, "")
	if e != nil {
		return false, e
	}
	told, first, err := s.replayed(ctx, l)
	release()
	if err == nil {
		err = s.store.KeepWindows(ctx, l, first, told)
	}
	if err != nil {
		return true, err
	}
	s.log.Info().Str("cluster", l.Cluster()).Uint32("job", l.JobID()).Int("nodes", len(l.Heads)).Int("matched", told.Matched).Int("dropped", told.Dropped).
		Str("why", told.Why).Dur("ms", time.Since(begin)).Msg("windows replayed")
	return true, nil
}

// replayed replays the logs of all nodes. first are the logs with rank 0. Logs are a user's bytes:
// a panic over them must not end jobeffd.
func (s *Server) replayed(ctx context.Context, l *store.WindowLogs) (told *job.Windows, first *store.LogsHead, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	nodes := ranksOf(l)
	first = &l.Heads[nodes.first]
	if why := nodes.tooMany; why != replay.Determined {
		s.counts.lostLogs.Add(float64(len(l.Heads)))
		return &job.Windows{Why: why}, first, nil
	}
	all := make([]replay.Log, 0, l.Execution.Size)
	for i := range l.Heads {
		logs, err := s.unpacked(ctx, l, &l.Heads[i])
		if err != nil {
			return nil, nil, err
		}
		for j := range logs {
			if r := logs[j].Rank; r >= len(nodes.of) || nodes.of[r] != int32(i) {
				return &job.Windows{Why: replay.WhyOdd}, first, nil
			}
		}
		all = append(all, logs...)
	}
	return replay.Windows(all, l.Execution), first, nil
}

// rankNodes says which logs each rank must be in: those of the node that reported it.
type rankNodes struct {
	of      []int32
	first   int        // that of rank 0
	tooMany replay.Why // why nothing is unpacked
}

// ranksOf reads rankNodes from the execution, unless the logs have more ranks, entries or bytes than
// those of a run may have.
func ranksOf(l *store.WindowLogs) (n rankNodes) {
	var all replay.Size
	bytes, heads := 0, map[string]int32{}
	for i, h := range l.Heads {
		all.Ranks, all.Entries, bytes = all.Ranks+h.Ranks, all.Entries+h.Entries, bytes+h.Bytes
		heads[h.Node] = int32(i)
	}
	switch {
	case !all.Fits() || bytes > replay.MostBytes:
		n.tooMany = replay.WhyRoom
	case all.Ranks != l.Execution.Size:
		n.tooMany = replay.WhyRanks
	}
	size := min(l.Execution.Size, replay.MostRanks)
	n.of = make([]int32, size)
	for i := range n.of {
		n.of[i] = -1
	}
	for i := range l.Execution.Nodes {
		share := &l.Execution.Nodes[i]
		head, ok := heads[share.Node]
		if !ok {
			continue
		}
		_ = slurmid.EachRange(share.RankIDs, func(low, high int) { // merged ranks are well-formed
			for r := low; r <= high && r < size; r++ {
				n.of[r] = head
			}
		})
	}
	n.first = int(max(n.of[0], 0))
	return n
}

// unpacked are the logs of a node's ranks.
func (s *Server) unpacked(ctx context.Context, l *store.WindowLogs, h *store.LogsHead) ([]replay.Log, error) {
	packed, err := s.store.Logs(ctx, l, h)
	if err != nil {
		return nil, err
	}
	logs, err := replay.Unpack(packed.Text, replay.Size{Ranks: h.Ranks, Entries: h.Entries})
	for i := range logs {
		logs[i].Node, logs[i].ClockError = h.Node, packed.ClockError
	}
	return logs, err
}
