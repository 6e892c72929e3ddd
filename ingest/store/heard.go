package store

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"jobeff/ingest/job"
)

// heardNodes remembers when each node reported, and what it said of its outbox. It is
// written once a minute, since a row for each report would cost too much. A daemon that
// dies loses the last minute, but the node's next report makes up for it.
type heardNodes struct {
	mu   sync.Mutex
	last map[string]heardNode // not written yet
	kept time.Time            // when they were written last
}

// heardNode is what a node said last.
type heardNode struct {
	at     time.Time
	outbox job.OutboxState
	said   time.Time // when it said outbox; zero: not yet
}

// heardEvery is how often they are written.
const heardEvery = time.Minute

// note notes a report, unless a newer one is noted already.
func (h *heardNodes) note(node string, heard heardNode) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[string]heardNode{}
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
func (h *heardNodes) due(now time.Time) map[string]heardNode {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.kept).Abs() < heardEvery {
		return nil
	}
	due := h.last
	h.last, h.kept = nil, now
	return due
}

// troubled selects outboxes in which reports are stuck or got lost: for each kind of
// trouble, the worst ones.
func troubled(all []job.NodeOutbox) []job.NodeOutbox {
	all = slices.DeleteFunc(all, func(b job.NodeOutbox) bool {
		return b.Refused+b.Cut+b.Lost == 0 && b.Oldest < job.LateAfter
	})
	slices.SortStableFunc(all, func(a, b job.NodeOutbox) int {
		return cmp.Or(cmp.Compare(b.Refused+b.Cut+b.Lost, a.Refused+a.Cut+a.Lost), cmp.Compare(b.Oldest, a.Oldest))
	})
	return all
}
