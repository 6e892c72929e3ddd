package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/wire"
)

// heardNodes remembers when each node reported, and what it said of its outbox. It is
// written once a minute, since a row for each report would cost too much. A daemon that
// dies loses the last minute, but the node's next report makes up for it.
type heardNodes struct {
	mu   sync.Mutex
	last map[nodeKey]heardNode // not written yet
	kept time.Time             // when they were written last
}

// nodeKey names a node.
type nodeKey struct{ cluster, node string }

func compareNodes(a, b nodeKey) int {
	return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.node, b.node))
}

// nodeName is a node's name for people. With the cluster's in front, if nodes of several have reported.
const nodeName = "CASE WHEN (SELECT count(DISTINCT cluster) FROM nodes) > 1 THEN cluster || ':' || node ELSE node END"

// heardNode is what a node said last.
type heardNode struct {
	at     time.Time
	outbox wire.OutboxState
	said   time.Time // when it said outbox; zero: not yet
}

// heardEvery is how often they are written.
const heardEvery = time.Minute

// note notes a report, unless a newer one is noted already.
func (h *heardNodes) note(node nodeKey, heard heardNode) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[nodeKey]heardNode{}
	}
	last := h.last[node]
	if heard.at.After(last.at) {
		last.at = heard.at
	}
	if heard.said.After(last.said) {
		last.outbox, last.said = heard.outbox, heard.said
	}
	h.last[node] = last
}

// due takes what must be written, if it is time.
func (h *heardNodes) due(now time.Time) map[nodeKey]heardNode {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.kept).Abs() < heardEvery {
		return nil
	}
	due := h.last
	h.last, h.kept = nil, now
	return due
}

// troubled selects outboxes in which reports are stuck or got lost, the worst first.
func troubled(all []listing.NodeOutbox) []listing.NodeOutbox {
	all = slices.DeleteFunc(all, func(b listing.NodeOutbox) bool {
		return b.Refused+b.Cut+b.Lost == 0 && b.Oldest < listing.LateAfter
	})
	slices.SortStableFunc(all, func(a, b listing.NodeOutbox) int {
		return cmp.Or(cmp.Compare(b.Refused+b.Cut+b.Lost, a.Refused+a.Cut+a.Lost), cmp.Compare(b.Oldest, a.Oldest))
	})
	return all
}

// keepHeard writes what the nodes said last, if it is time.
func (s *Store) keepHeard(ctx context.Context, now time.Time) error {
	due := s.heard.due(now)
	if len(due) == 0 {
		return nil
	}
	err := s.do(ctx, func(w *writer) error {
		for _, node := range slices.SortedFunc(maps.Keys(due), compareNodes) { // in a fixed order: another daemon may write the same rows
			if err := w.keepNode(node, due[node]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for node, heard := range due {
			s.heard.note(node, heard)
		}
		return fmt.Errorf("store: nodes: %w", err)
	}
	return nil
}

// keepNode writes what a node said, unless another daemon has heard from it later.
func (w *writer) keepNode(node nodeKey, heard heardNode) error {
	err := w.exec(`INSERT INTO nodes (cluster, node, heard_us) VALUES (?, ?, ?) ON CONFLICT (cluster, node) DO UPDATE SET heard_us = excluded.heard_us
		WHERE nodes.heard_us < excluded.heard_us`, node.cluster, node.node, heard.at.UnixMicro())
	if err != nil || heard.said.IsZero() {
		return err
	}
	said, b := heard.said.UnixMicro(), heard.outbox
	return w.exec("UPDATE nodes SET outbox_us = ?, waiting = ?, oldest_us = ?, refused = ?, cut = ?, lost = ? WHERE cluster = ? AND node = ? AND outbox_us < ?",
		said, b.Waiting, b.Oldest.Microseconds(), b.Refused, b.Cut, b.Lost, node.cluster, node.node, said)
}

// HeardOutbox notes what a node said of its outbox at a time. keepHeard writes it.
func (s *Store) HeardOutbox(cluster, node string, state wire.OutboxState, at time.Time) {
	s.heard.note(nodeKey{cluster, node}, heardNode{at: at, outbox: state, said: at})
}

// Outboxes reads what nodes said last of their outboxes, by name, if they said it within a
// span of time.
func (s *Store) Outboxes(ctx context.Context, from, to time.Time) (all []listing.NodeOutbox, err error) {
	err = s.eachRow(ctx, `SELECT `+nodeName+`, waiting, oldest_us, refused, cut, lost FROM nodes
		WHERE outbox_us >= ? AND outbox_us < ? ORDER BY cluster, node`, []any{from.UnixMicro(), to.UnixMicro()}, func(rows *sql.Rows) error {
		var b listing.NodeOutbox
		var oldest int64
		err := rows.Scan(&b.Node, &b.Waiting, &oldest, &b.Refused, &b.Cut, &b.Lost)
		b.Oldest = time.Duration(oldest) * time.Microsecond
		all = append(all, b)
		return err
	})
	return all, err
}

// NodesHeard counts the nodes that reported within silentAfter, and those of them that have not within a shorter
// time before now.
func (s *Store) NodesHeard(ctx context.Context, now time.Time, within time.Duration) (all, silent int64, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT count(*), COALESCE(sum(CASE WHEN heard_us < ? THEN 1 ELSE 0 END), 0) FROM nodes WHERE heard_us >= ?",
		now.Add(-within).UnixMicro(), now.Add(-silentAfter).UnixMicro()).Scan(&all, &silent)
	return all, silent, unavailable(err)
}

// silentAfter is the time after which a silent node is no longer missed.
const silentAfter = 28 * 24 * time.Hour
