package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/ingest/store"
)

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
		return &job.Windows{Why: string(why)}, first, nil
	}
	all := make([]replay.Log, 0, l.Execution.Size)
	for i := range l.Heads {
		logs, err := s.unpacked(ctx, l, &l.Heads[i])
		if err != nil {
			return nil, nil, err
		}
		for j := range logs {
			if r := logs[j].Rank; r >= len(nodes.of) || nodes.of[r] != int32(i) {
				return &job.Windows{Why: string(replay.WhyOdd)}, first, nil
			}
		}
		all = append(all, logs...)
	}
	return replay.Windows(all, l.Execution), first, nil
}

// rankNodes tells which logs each rank must be in: those of the node that reported it.
type rankNodes struct {
	of      []int32
	first   int        // that of rank 0
	tooMany replay.Why // why nothing is unpacked
}

// ranksOf reads it from the execution, unless the logs have more ranks, entries or bytes than those
// of a run may have.
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
		_ = job.EachRange(share.RankIDs, func(low, high int) { // what was merged can be read
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
