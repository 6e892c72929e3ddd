package server

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jobeff/ingest/job"
)

// wordLifetime is how long a node's word counts. A node speaks when jobs end there.
const wordLifetime = time.Hour

// rooms collects what each node last said to this daemon about its run directories.
type rooms struct {
	mu    sync.Mutex
	last  map[string]room
	swept time.Time // when old ones were forgotten last
}

// mostRooms bounds the nodes whose word is kept: their names are only what somebody says.
const mostRooms = 100_000

type room struct {
	state job.RunDirState
	said  time.Time
}

var (
	roomNotes   = prometheus.NewDesc("jobeff_run_dir_used_ratio", "How full /run/jobeff is, on the node where it is fullest, as the nodes told this daemon within the last hour.", nil, nil)
	roomRecords = prometheus.NewDesc("jobeff_run_dir_full_records", "Records of running jobs that take all that measure.record_mib allows, as the nodes said likewise.", nil, nil)
	roomHeld    = prometheus.NewDesc("jobeff_run_dir_held_bytes", "Records that processes of ended jobs still hold, as the nodes said likewise.", nil, nil)
)

func (o *rooms) note(node string, state job.RunDirState, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at.Sub(o.swept) > wordLifetime {
		o.forget(at)
	}
	if _, is := o.last[node]; !is && len(o.last) >= mostRooms {
		return
	}
	if at.After(o.last[node].said) {
		o.last[node] = room{state, at}
	}
}

// forget drops nodes that said nothing within wordLifetime.
func (o *rooms) forget(now time.Time) {
	o.swept = now
	if o.last == nil {
		o.last = map[string]room{}
	}
	maps.DeleteFunc(o.last, func(_ string, r room) bool { return now.Sub(r.said) > wordLifetime })
}

// Describe and Collect make it a prometheus.Collector.
func (o *rooms) Describe(ch chan<- *prometheus.Desc) {
	ch <- roomNotes
	ch <- roomRecords
	ch <- roomHeld
}

// Collect sends the sums of what nodes said within wordLifetime.
func (o *rooms) Collect(ch chan<- prometheus.Metric) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var notes, full int
	var held int64
	o.forget(time.Now())
	for _, r := range o.last {
		notes, full, held = max(notes, r.state.Notes), full+r.state.Full, held+r.state.Held
	}
	ch <- prometheus.MustNewConstMetric(roomNotes, prometheus.GaugeValue, float64(notes)/100)
	ch <- prometheus.MustNewConstMetric(roomRecords, prometheus.GaugeValue, float64(full))
	ch <- prometheus.MustNewConstMetric(roomHeld, prometheus.GaugeValue, float64(held))
}
