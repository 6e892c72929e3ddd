package main

import (
	"context"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy/slow"
)

// slowWatcher looks once a day for nodes that compute slower than their like. Each look takes all observations of the last
// year anew. Between two looks only the database knows anything, so they say the same whether jobeffd was restarted, and
// whichever of several made the last one. A million observations take about 13 s of CPU time and 60 MiB (BenchmarkSlowNodes).
// [measure] says which jobs have observations, so nothing else is left out here.
type slowWatcher struct {
	db  *store.Store
	log zerolog.Logger
	now func() time.Time
}

const (
	slowEvery = 24 * time.Hour
	slowAsk   = 10 * time.Minute      // how often to ask whether a look is due; at a start, the reports that waited for jobeffd come first
	slowLease = 6 * time.Hour         // a look that has not ended by then was broken off: with its rests, one of 10 million observations takes minutes to hours
	slowWork  = 50 * time.Millisecond // between two rests
	markSlow  = "slow_nodes"          // when the next look is due
)

func (s *slowWatcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(slowAsk):
		}
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.log.Error().Err(err).Msg("looking for slow nodes; it is tried again")
		}
	}
}

// look keeps which nodes are slow, and logs what is new, if a look is due and no other jobeffd is at it.
func (s *slowWatcher) look(ctx context.Context) error {
	now := s.now().UTC()
	mine, err := s.db.TakeTurn(ctx, markSlow, now, slowLease, slowEvery)
	if err != nil || !mine {
		return err
	}
	last, err := s.db.SlowNodes(ctx)
	if err != nil {
		return err
	}
	found, err := s.db.LookAtNodes(ctx, now, rests(ctx))
	if err != nil {
		return err
	}
	s.tell(last, found)
	return s.db.SetMark(ctx, markSlow, now.Add(slowEvery))
}

// rests returns what is called at each piece of work. It rests as judge does, after slowWork.
func rests(ctx context.Context) func() {
	begin := time.Now()
	return func() {
		worked := time.Since(begin)
		if worked < slowWork {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(restFactor * worked):
		}
		begin = time.Now()
	}
}

// tell logs the nodes that only one of two looks named.
func (s *slowWatcher) tell(last, found *listing.SlowNodes) {
	if last == nil {
		last = new(listing.SlowNodes)
	}
	for _, n := range found.Nodes {
		if !names(last, n) {
			s.log.Warn().Interface("node", n).Msg("a node computes slower than its like")
		}
	}
	for _, n := range last.Nodes {
		if !names(found, n) {
			s.log.Info().Interface("node", n).Msg("a node is no longer seen to compute slower than its like")
		}
	}
}

func names(s *listing.SlowNodes, n slow.Slow) bool {
	return slices.ContainsFunc(s.Nodes, func(o slow.Slow) bool { return o.Machine == n.Machine })
}
