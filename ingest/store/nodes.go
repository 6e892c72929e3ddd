package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// keepHeard writes when the nodes were heard, if it is time.
func (s *Store) keepHeard(ctx context.Context, now time.Time) error {
	due := s.heard.due(now)
	if len(due) == 0 {
		return nil
	}
	err := s.do(ctx, func(w *writer) error {
		for _, node := range slices.Sorted(maps.Keys(due)) { // in one order: another daemon may write the same
			if err := w.exec(`INSERT INTO nodes (node, heard_us) VALUES (?, ?) ON CONFLICT (node) DO UPDATE SET heard_us = excluded.heard_us
				WHERE nodes.heard_us < excluded.heard_us`, node, due[node].UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for node, at := range due {
			s.heard.note(node, at)
		}
		return fmt.Errorf("store: nodes: %w", err)
	}
	return nil
}

// HeardOutbox notes what a node said of its outbox at a time.
func (s *Store) HeardOutbox(node string, state job.OutboxState, at time.Time) {
	o := &s.outboxes
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil || len(o.of) >= mostOutboxes {
		o.of = map[string]heardOutbox{}
	}
	o.of[node] = heardOutbox{state, at}
}

// Outboxes is what the nodes said last of their outboxes, by name, of those that said
// anything in a span of time.
func (s *Store) Outboxes(from, to time.Time) (all []job.NodeOutbox) {
	o := &s.outboxes
	o.mu.Lock()
	defer o.mu.Unlock()
	for node, b := range o.of {
		if !b.at.Before(from) && b.at.Before(to) {
			all = append(all, job.NodeOutbox{Node: node, OutboxState: b.OutboxState})
		}
	}
	slices.SortFunc(all, func(a, b job.NodeOutbox) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// silentAfter is how far back a node must have reported to be missed.
const silentAfter = 28 * 24 * time.Hour
