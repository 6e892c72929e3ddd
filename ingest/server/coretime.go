package server

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jobeff/ingest/listing"
	"jobeff/ingest/store"
)

// namedAccounts and namedPartitions bound the accounts and partitions whose core time is exported by
// name. That of all others is summed up under restName, also that of one with this very name.
const (
	namedAccounts   = 1000
	namedPartitions = 100
	restName        = "other"
)

// coreTimeLifetime is how long a sum is used again. Each new sum reads all months.
const coreTimeLifetime = 15 * time.Second

// coreTime counts the core time of jobs that ended, by partition and account, and by cluster where several are told apart, since it was made. It
// reads the sums of months, which keep what retention drops. A job's figures may be revised, and
// then a sum may fall. Prometheus would take that for a restart, and add all of it again, so a
// counter stays at the highest value of its sum. It starts at 0: what jobs used before is no part of
// any rate.
type coreTime struct {
	months monthsReader
	by     []string // what it counts by
	descs  [len(coreMetrics)]*prometheus.Desc

	mu                   sync.Mutex
	at                   time.Time // of the last sum
	accounts, partitions names
	before, most         map[place]coreSeconds
}

type monthsReader func(context.Context, store.Viewer, listing.MonthQuery) ([]listing.MonthSum, error)

// place is where core time is spent.
type place struct{ cluster, partition, account string }

type coreSeconds [len(coreMetrics)]float64

// names are those that keep a counter of their own.
type names map[string]bool

// of is the name under which one is counted. Text that Prometheus would refuse is replaced.
func (n names) of(name string, most int) string {
	name = cmp.Or(strings.ToValidUTF8(name, "?"), "unknown")
	if !n[name] && (len(n) >= most || name == restName) {
		return restName
	}
	n[name] = true
	return name
}

// newCoreTime counts from its first refresh on; by cluster, too, if several are told apart.
func newCoreTime(months monthsReader, isApart bool) *coreTime {
	c := &coreTime{months: months, by: []string{"partition", "account"}, accounts: names{}, partitions: names{}}
	if isApart {
		c.by = append([]string{"cluster"}, c.by...)
	}
	for i, m := range coreMetrics {
		c.descs[i] = prometheus.NewDesc(m.name, m.help, c.by, nil)
	}
	return c
}

// refresh reads the sums if the last ones are too old. If the database fails, the last ones stay.
func (c *coreTime) refresh(now time.Time) {
	if now.Sub(c.at) < coreTimeLifetime {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	rows, err := c.months(ctx, store.Viewer{All: true}, listing.MonthQuery{By: c.by})
	if err != nil {
		return
	}
	c.at = now
	sums := map[place]coreSeconds{}
	for _, r := range rows { // most lost first: these get the names
		p := place{strings.ToValidUTF8(r.Cluster, "?"), c.partitions.of(r.Partition, namedPartitions), c.accounts.of(r.Account, namedAccounts)}
		s := sums[p]
		for i, m := range coreMetrics {
			s[i] += 3600 * m.of(&r.Hours)
		}
		sums[p] = s
	}
	if c.before == nil {
		c.before, c.most = sums, map[place]coreSeconds{}
	}
	for p, s := range sums {
		m := c.most[p]
		for i := range m {
			m[i] = max(m[i], s[i])
		}
		c.most[p] = m
	}
}

// coreMetrics are what is counted. Those of GPUs are sent of places that had some.
var coreMetrics = [...]struct {
	name, help string
	of         func(*listing.Hours) float64
	gpu        bool
}{
	{"jobeff_used_core_seconds_total", "Core-seconds (allocated CPUs x elapsed) of jobs that ended since jobeffd started. " +
		"The partition or account other has all beyond the first 100 and 1,000 that lost most.", func(h *listing.Hours) float64 { return h.Used }, false},
	{"jobeff_judged_core_seconds_total", "Part of the used ones: of jobs whose loss is known, without further hardware threads of cores that had a rank.",
		func(h *listing.Hours) float64 { return h.Judged }, false},
	{"jobeff_lost_core_seconds_total", "Part of the judged ones in which cores did no computing for their job.",
		func(h *listing.Hours) float64 { return h.Lost }, false},
	{"jobeff_used_gpu_seconds_total", "GPU-seconds (allocated GPUs x elapsed) of these jobs.", func(h *listing.Hours) float64 { return h.GPU }, true},
	{"jobeff_known_gpu_seconds_total", "Part of the used ones: of GPUs of which it is known what they did.",
		func(h *listing.Hours) float64 { return h.GPUKnown }, true},
	{"jobeff_idle_gpu_seconds_total", "Part of the known ones in which no kernel ran, at least.", func(h *listing.Hours) float64 { return h.GPUIdle }, true},
}

// gpuUsed is the place of the GPU time among coreMetrics.
const gpuUsed = 3

// Describe names what Collect sends.
func (c *coreTime) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		ch <- desc
	}
}

// Collect sends what was added since the daemon started.
func (c *coreTime) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh(time.Now())
	for p, most := range c.most {
		before := c.before[p]
		for i, m := range coreMetrics {
			if !m.gpu || most[gpuUsed] > 0 {
				labels := []string{p.cluster, p.partition, p.account}
				ch <- prometheus.MustNewConstMetric(c.descs[i], prometheus.CounterValue, most[i]-before[i], labels[len(labels)-len(c.by):]...)
			}
		}
	}
}
