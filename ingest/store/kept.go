package store

import (
	"maps"
	"sync"
	"time"

	"jobeff/ingest/job"
)

// Limits of keptReports.
const (
	keptBytes = 24 << 20    // of JSON; decoded it takes about twice that
	keptFor   = time.Minute // since an attempt's last report
)

// keptReports holds decoded reports that are in the database and wait for Settle, which
// then need not read them. It is only a cache: Settle reads what found no room here or came
// to another daemon.
type keptReports struct {
	mu    sync.Mutex
	bytes int
	jobs  map[jobKey]*keptJob
}

type keptJob struct {
	bytes   int
	last    time.Time
	reports map[reportKey]*job.NodeReport
}

// add keeps a report, whose JSON has so many bytes, if there is room.
func (c *keptReports) add(r *job.NodeReport, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.bytes+bytes > keptBytes {
		c.forget(now.Add(-keptFor))
	}
	if c.bytes+bytes > keptBytes {
		return
	}
	k := jobKey{r.Cluster, r.JobID}
	j := c.jobs[k]
	if j == nil {
		if c.jobs == nil {
			c.jobs = map[jobKey]*keptJob{}
		}
		j = &keptJob{reports: map[reportKey]*job.NodeReport{}}
		c.jobs[k] = j
	}
	j.reports[reportKey{r.Node, r.Nonce}] = r
	j.bytes += bytes
	j.last = now
	c.bytes += bytes
}

// forget drops jobs that got no report since a time.
func (c *keptReports) forget(since time.Time) {
	for k, j := range c.jobs {
		if j.last.Before(since) {
			c.bytes -= j.bytes
			delete(c.jobs, k)
		}
	}
}

// get returns a job's reports.
func (c *keptReports) get(k jobKey) map[reportKey]*job.NodeReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[k]; j != nil {
		return maps.Clone(j.reports) // more may come meanwhile
	}
	return nil
}

// drop forgets a job's reports.
func (c *keptReports) drop(k jobKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[k]; j != nil {
		c.bytes -= j.bytes
		delete(c.jobs, k)
	}
}
