package store

import (
	"slices"
	"sync"
)

// gathering joins waiting reports of one job. The first takes a place in the queue; those
// that come before its turn share it. So a job of N nodes costs a few transactions of few
// statements, not N.
type gathering struct {
	mu   sync.Mutex
	open map[jobKey]*gathered
	// Attempts whose last report was written here, and that Settle will merge. If it does
	// not get to them, a later Settle finds them in the database.
	complete []attemptKey
}

// gathered are reports that are written together.
type gathered struct {
	job      jobKey
	reports  []*incoming
	done     chan struct{} // closed once the next two are set
	outcomes []outcome     // of each report
	err      error         // of all
}

// take returns the gathered reports; nothing joins them any more.
func (c *gathering) take(g *gathered) []*incoming {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[g.job] == g {
		delete(c.open, g.job)
	}
	return g.reports
}

// forget drops the reports, so that work which still waits in the queue does not hold them.
func (c *gathering) forget(g *gathered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g.reports = nil
}

// noteComplete tells Settle to merge an attempt at once, if it is complete.
func (c *gathering) noteComplete(k jobKey, attempt *candidate) {
	if attempt.complete() {
		c.mergeSoon(attemptKey{k.cluster, k.jobID, attempt.attempt})
	}
}

// mergeSoon tells Settle to merge an attempt at once.
func (c *gathering) mergeSoon(k attemptKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.complete, k) {
		c.complete = append(c.complete, k)
	}
}

// takeComplete returns the attempts that became complete since the last call.
func (c *gathering) takeComplete() []attemptKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := c.complete
	c.complete = nil
	return keys
}
