package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// heardNodes notes when the nodes reported, and writes it now and then: a row of its own for
// each report would cost more than it is worth. A daemon that dies between takes the last
// minute's with it; the node is heard again with its next report.
type heardNodes struct {
	mu   sync.Mutex
	last map[string]time.Time // not written yet
	kept time.Time            // when they were written last
}

// heardEvery is how long they may wait.
const heardEvery = time.Minute

// note notes a report.
func (h *heardNodes) note(node string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[string]time.Time{}
	}
	if at.After(h.last[node]) {
		h.last[node] = at
	}
}

// due takes what is to be written, if it is time.
func (h *heardNodes) due(now time.Time) map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.kept).Abs() < heardEvery {
		return nil
	}
	due := h.last
	h.last, h.kept = nil, now
	return due
}

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
