package store

import (
	"slices"
	"sync"
)

// gathering joins reports of one job that wait to be written: the first takes a place in
// the queue, and those that come until its turn go with it. So a job of N nodes costs a
// few transactions of few statements, not N.
type gathering struct {
	mu   sync.Mutex
	open map[jobKey]*gathered
	// Attempts whose last report was written here and that wait for Settle. Should it not come
	// to them, they are found in the database.
	complete []attemptKey
}

// gathered are reports that are written together.
type gathered struct {
	job      jobKey
	reports  []*incoming
	done     chan struct{} // closed: what follows is set
	outcomes []outcome     // of each report
	err      error         // of all
}

// take is what was gathered; nothing comes to it any more.
func (c *gathering) take(g *gathered) []*incoming {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[g.job] == g {
		delete(c.open, g.job)
	}
	return g.reports
}

// forget drops the reports, which work that still stands in the queue would hold.
func (c *gathering) forget(g *gathered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g.reports = nil
}

// noteComplete notes an attempt that Settle shall merge at once, if it is complete.
func (c *gathering) noteComplete(k jobKey, attempt *candidate) {
	key := attemptKey{k.cluster, k.jobID, attempt.attempt}
	c.mu.Lock()
	defer c.mu.Unlock()
	if attempt.complete() && !slices.Contains(c.complete, key) {
		c.complete = append(c.complete, key)
	}
}

// takeComplete is the attempts that became complete since it was asked last.
func (c *gathering) takeComplete() []attemptKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := c.complete
	c.complete = nil
	return keys
}
