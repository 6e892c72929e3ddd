package store

import (
	"sync"
	"testing"
	"time"
)

// BenchmarkLargeJob: 10,000 nodes report one job, which is then merged. It measures how long
// after the last report its figures are there.
func BenchmarkLargeJob(b *testing.B) {
	const nodes = 10_000
	s := open(b)
	reports := ofNodes(7, nodes, "a", 0)
	begin := time.Now()
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for i := worker; i < nodes; i += 64 {
				if _, err := addReport(s, reports[i]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	added := time.Now()
	if n, err := s.Merge(ctx); n != 1 || err != nil {
		b.Fatalf("settled %d, %v", n, err)
	}
	b.ReportMetric(nodes/added.Sub(begin).Seconds(), "reports/s")
	b.ReportMetric(time.Since(added).Seconds(), "s-until-whole")
	b.ReportMetric(0, "ns/op")
	if j := aJob(b, s, alice, "7", 0); j.Reports != nodes || j.Metrics == nil || j.Metrics.Nodes != nodes {
		b.Errorf("%d reports, %+v", j.Reports, j.Metrics)
	}
}
