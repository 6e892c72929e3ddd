package store

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"jobeff/ingest/job"
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

// outboxes is what the nodes said last of what waits on them. It is kept in memory: a node
// says it again with its next report, and to the daemon that it reports to.
type outboxes struct {
	mu sync.Mutex
	of map[string]heardOutbox // by node
}

type heardOutbox struct {
	job.OutboxState
	at time.Time
}

// mostOutboxes bounds how many nodes are remembered.
const mostOutboxes = 100_000

// troubled are the outboxes in which reports are stuck or got lost: of each kind of
// trouble those with the most of it.
func troubled(all []job.NodeOutbox) []job.NodeOutbox {
	all = slices.DeleteFunc(all, func(b job.NodeOutbox) bool {
		return b.Refused+b.Cut+b.Lost == 0 && b.Oldest < job.LateAfter
	})
	slices.SortStableFunc(all, func(a, b job.NodeOutbox) int {
		return cmp.Or(cmp.Compare(b.Refused+b.Cut+b.Lost, a.Refused+a.Cut+a.Lost), cmp.Compare(b.Oldest, a.Oldest))
	})
	return all
}
