package store

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"jobeff/ingest/job"
)

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
