package server

import (
	"context"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"jobeff/etc"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/ingest/store"
	"jobeff/policy/harm"
)

// counts is what GET /metrics shows.
type counts struct {
	registry *prometheus.Registry
	received *prometheus.CounterVec
	refused  *prometheus.CounterVec
	late     prometheus.Counter
	settled  *prometheus.CounterVec
	kept     prometheus.Histogram
	lostLogs prometheus.Counter
	rooms    rooms
}

// newCounts registers all metrics. db answers those about stored jobs. A reader has none about
// reports.
func newCounts(db *store.Store, reader, isApart bool) *counts {
	name := func(s string) string { return "jobeff_" + s }
	c := &counts{registry: prometheus.NewRegistry(),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("reports_received_total"),
			Help: "Reports that are in the database, by whether they were new."}, []string{"new"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("requests_refused_total"),
			Help: "Answers that were not 200, by reason."}, []string{"reason"}),
		late: prometheus.NewCounter(prometheus.CounterOpts{Name: name("reports_late_total"),
			Help: "New reports that came later than server.grace after the job's end on the node."}),
		settled: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("reports_settled_total"),
			Help: "Reports that Slurm's word settled after they came: fits, or waits apart since it fits no attempt that Slurm told of."}, []string{"fits"}),
		lostLogs: prometheus.NewCounter(prometheus.CounterOpts{Name: name("window_logs_dropped_total"),
			Help: "Logs of windows, each of one node, that were dropped without a replay."}),
		kept: prometheus.NewHistogram(prometheus.HistogramOpts{Name: name("report_commit_seconds"),
			Help:    "From the moment a report is handed to the writer until it is committed.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}),
	}
	for _, yes := range []string{"true", "false"} { // a rate needs the 0 before the first one
		c.received.WithLabelValues(yes)
		c.settled.WithLabelValues(yes)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: name("build_info"), Help: "1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": etc.Version}})
	build.Set(1)
	queue := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("write_queue"), Help: "Writes that wait for the database."},
		func() float64 { return float64(db.Queue()) })
	unmerged := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("jobs_to_merge"), Help: "Jobs whose reports are not in their figures yet, those that wait for Slurm among them; NaN: the database does not answer."},
		counted(db.Unmerged))
	unjudged := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("jobs_to_judge"), Help: "Jobs that the present rules have not judged for lists, those that wait for reports or for Slurm among them; NaN likewise."},
		counted(db.Unjudged))
	damaged := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("database_damaged"), Help: "1: the database's pages are wrong, and no report is taken."},
		func() float64 {
			if db.Damaged() {
				return 1
			}
			return 0
		})
	if !reader {
		c.registry.MustRegister(c.received, c.late, c.settled, c.kept, c.lostLogs, &c.rooms, queue, unmerged, unjudged, damaged)
	}
	core := newCoreTime(db.Months, isApart)
	core.refresh(time.Now())
	c.registry.MustRegister(c.refused, build, boxes{db}, alarms{db}, slowNodes{db}, &jobsOfDay{lately[store.Day]{ask: db.DayUntil, lifetime: dayLifetime}},
		&ledgerOfDay{lately[[]listing.LedgerLine]{ask: db.DayOfLines, lifetime: ledgerLifetime}}, core,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return c
}

// collectTimeout bounds one question to the database. If it fails, the metric is left out.
const collectTimeout = 5 * time.Second

// counted asks the database for a number.
func counted(ask func(context.Context) (int64, error)) func() float64 {
	return func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
		defer cancel()
		n, err := ask(ctx)
		if err != nil {
			return math.NaN()
		}
		return float64(n)
	}
}

// boxes collects what each node last said about the reports that wait there.
type boxes struct{ db *store.Store }

var (
	boxOldest = prometheus.NewDesc("jobeff_outbox_oldest_seconds", "Age of the report that waited longest on any node, as the nodes said within the last hour.", nil, nil)
	boxCount  = prometheus.NewDesc("jobeff_outbox_reports", "Reports on the nodes, as they said within the last hour: waiting, refused for good, cut or lost since the outbox was full.", []string{"state"}, nil)
	seenNodes = prometheus.NewDesc("jobeff_nodes_seen", "Nodes that reported within the last four weeks.", nil, nil)
	lateNodes = prometheus.NewDesc("jobeff_nodes_silent", "Those of them that have not reported for a day: no job ended there, or jobeff does not run there.", nil, nil)
)

// silentFor is how long a node that reported before must be quiet to count as silent.
const silentFor = 24 * time.Hour

// Describe and Collect make it a prometheus.Collector.
func (o boxes) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{boxOldest, boxCount, seenNodes, lateNodes} {
		ch <- desc
	}
}

// Collect adds up what nodes said within wordLifetime.
func (o boxes) Collect(ch chan<- prometheus.Metric) {
	var oldest time.Duration
	sum := map[string]int{"waiting": 0, "refused": 0, "cut": 0, "lost": 0}
	now := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	all, err := o.db.Outboxes(ctx, now.Add(-wordLifetime), now.Add(wordLifetime))
	if err != nil {
		return
	}
	for _, b := range all {
		oldest = max(oldest, b.Oldest)
		sum["waiting"] += b.Waiting
		sum["refused"] += b.Refused
		sum["cut"] += b.Cut
		sum["lost"] += b.Lost
	}
	ch <- prometheus.MustNewConstMetric(boxOldest, prometheus.GaugeValue, oldest.Seconds())
	for state, n := range sum {
		ch <- prometheus.MustNewConstMetric(boxCount, prometheus.GaugeValue, float64(n), state)
	}
	if seen, silent, err := o.db.NodesHeard(ctx, now, silentFor); err == nil {
		ch <- prometheus.MustNewConstMetric(seenNodes, prometheus.GaugeValue, float64(seen))
		ch <- prometheus.MustNewConstMetric(lateNodes, prometheus.GaugeValue, float64(silent))
	}
}

// alarms collects which alarms are up.
type alarms struct{ db *store.Store }

var alarmUp = prometheus.NewDesc("jobeff_alarm", "1: jobs that jobeff measures end surely worse than others, by what happens to more of them; jobeff admin alarm says more.", []string{"kind"}, nil)

// Describe and Collect make it a prometheus.Collector.
func (o alarms) Describe(ch chan<- *prometheus.Desc) { ch <- alarmUp }

// Collect sends 0 for the kinds that are not up.
func (o alarms) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	up, err := o.db.AlarmsUp(ctx)
	if err != nil {
		return
	}
	for _, kind := range harm.AlarmKinds {
		value := 0.0
		if slices.ContainsFunc(up, func(a harm.Alarm) bool { return a.Kind == kind }) {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(alarmUp, prometheus.GaugeValue, value, kind)
	}
}

// slowNodes collects which nodes the last look found slow.
type slowNodes struct{ db *store.Store }

var nodeSlower = prometheus.NewDesc("jobeff_node_slower_ratio", "How many times as long jobs computed on a node as alike jobs elsewhere, of nodes that the last look found slow, within two days; jobeff admin status says more.", []string{"cluster", "node"}, nil)

// Describe and Collect make it a prometheus.Collector.
func (o slowNodes) Describe(ch chan<- *prometheus.Desc) { ch <- nodeSlower }

// Collect sends the nodes that are named. An old look tells nothing of now.
func (o slowNodes) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	look, err := o.db.SlowNodes(ctx)
	if err != nil || look == nil || look.Old(time.Now()) {
		return
	}
	for _, n := range look.Nodes {
		ch <- prometheus.MustNewConstMetric(nodeSlower, prometheus.GaugeValue, n.Slower, strings.ToValidUTF8(n.Cluster, "?"), strings.ToValidUTF8(n.Node, "?"))
	}
}

// lately keeps an answer of the database for a while. Each new one reads all rows of a day.
type lately[T any] struct {
	ask      func(context.Context, time.Time) (T, error)
	lifetime time.Duration

	mu   sync.Mutex
	last T
	at   time.Time
}

// get asks if the last answer is too old. If the database fails, there is none.
func (a *lately[T]) get() (T, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.at) > a.lifetime {
		ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
		defer cancel()
		now, err := a.ask(ctx, time.Now())
		if err != nil {
			return now, false
		}
		a.last, a.at = now, time.Now()
	}
	return a.last, true
}

// jobsOfDay counts the jobs that started within the last 24 hours.
type jobsOfDay struct{ lately[store.Day] }

// How long a count of a day's jobs, and the sums of their core time, are used again. The sums change slowly.
const (
	dayLifetime    = 30 * time.Second
	ledgerLifetime = 5 * time.Minute
)

var (
	dayJobs     = prometheus.NewDesc("jobeff_jobs_of_day", "Attempts of jobs that started within the last 24 hours, by Slurm's state; unknown: sacct has not told of them.", []string{"state"}, nil)
	dayMeasured = prometheus.NewDesc("jobeff_jobs_of_day_measured", "… those that have figures.", nil, nil)
	dayPartial  = prometheus.NewDesc("jobeff_jobs_of_day_partial", "… those of which some nodes have not reported.", nil, nil)
	dayCoverage = prometheus.NewDesc("jobeff_jobs_of_day_coverage", "Mean share of ranks recorded, over those with figures.", nil, nil)
)

// Describe names what Collect sends.
func (d *jobsOfDay) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{dayJobs, dayMeasured, dayPartial, dayCoverage} {
		ch <- desc
	}
}

// Collect sends the counts.
func (d *jobsOfDay) Collect(ch chan<- prometheus.Metric) {
	day, ok := d.get()
	if !ok {
		return
	}
	send := func(desc *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	for state, n := range day.Jobs {
		send(dayJobs, float64(n), state)
	}
	send(dayMeasured, float64(day.Measured))
	send(dayPartial, float64(day.Partial))
	send(dayCoverage, day.Coverage)
}

// ledgerOfDay sums up the core time of the jobs that ended within the last 24 hours by what is known of them.
type ledgerOfDay struct{ lately[[]listing.LedgerLine] }

var dayCoreTime = prometheus.NewDesc("jobeff_core_seconds_of_day", "Core-seconds of jobs that ended within the last 24 hours, by the figures that they have (class) and why they have none (reason, kind). "+
	"hole: a site can mend the reason.", []string{"class", "reason", "kind", "hole"}, nil)

// Describe and Collect make it a prometheus.Collector.
func (l *ledgerOfDay) Describe(ch chan<- *prometheus.Desc) { ch <- dayCoreTime }

// Collect sends the sums. A day without a job has none.
func (l *ledgerOfDay) Collect(ch chan<- prometheus.Metric) {
	lines, _ := l.get()
	for _, one := range lines {
		ch <- prometheus.MustNewConstMetric(dayCoreTime, prometheus.GaugeValue, 3600*one.Used.Hours(), one.Class, one.Reason, one.Kind, strconv.FormatBool(one.Hole))
	}
}

// Metrics answers GET /metrics for Prometheus, which has no munge credential. It shows
// figures of the whole site and nobody's job.
func (s *Server) Metrics() http.Handler {
	return promhttp.HandlerFor(s.counts.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// getMetrics answers what Metrics does on jobeffd's usual addresses, to operators.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r)
	if !ok {
		return
	}
	if !by.Operates() {
		s.fail(w, r, by, &refusal{Status: http.StatusForbidden, Reason: "not_operator", Message: "the metrics are for operators",
			Hint: "server.operators names them; server.metrics is for Prometheus"})
		return
	}
	s.Metrics().ServeHTTP(w, r)
}

func (s *Server) getHealth(w http.ResponseWriter, r *http.Request) {
	if e := s.door.Shown(r); e != nil {
		s.fail(w, r, viewer{}, e)
		return
	}
	err := s.store.Ping(r.Context())
	if s.store.Damaged() {
		err = store.ErrDamaged
	}
	if err != nil {
		s.fail(w, r, viewer{}, refuse(err))
		return
	}
	said := map[string]any{"status": "ok", "uid": os.Geteuid()}
	if doubt, hint := s.store.Doubt(r.Context()); doubt != "" {
		said["doubt"], said["hint"] = doubt, hint
	}
	// The reason holds no number: anybody may ask.
	if c, err := s.store.Comparison(r.Context()); err == nil && c != nil && c.Cannot != "" {
		said["cannot_tell"] = c.Cannot
	}
	s.door.Answers(w, r)
	answer(w, r, said)
}

// wordLifetime is how long a node's word counts. A node sends it with reports, when jobs end there.
const wordLifetime = time.Hour

// rooms collects what each node last said to this daemon about its run directories.
type rooms struct {
	mu    sync.Mutex
	last  map[string]room
	swept time.Time // when old ones were forgotten last
}

// mostRooms bounds the nodes whose word is kept: reports name them, and a made-up report may name any.
const mostRooms = 100_000

type room struct {
	state node.RunDirState
	said  time.Time
}

var (
	roomNotes   = prometheus.NewDesc("jobeff_run_dir_used_ratio", "How full /run/jobeff is, on the node where it is fullest, as the nodes told this daemon within the last hour.", nil, nil)
	roomRecords = prometheus.NewDesc("jobeff_run_dir_full_records", "Records of running jobs that take all that measure.record_mib allows, as the nodes said likewise.", nil, nil)
	roomHeld    = prometheus.NewDesc("jobeff_run_dir_held_bytes", "Records that processes of ended jobs still hold, as the nodes said likewise.", nil, nil)
)

func (o *rooms) note(on string, state node.RunDirState, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at.Sub(o.swept) > wordLifetime {
		o.forget(at)
	}
	if _, is := o.last[on]; !is && len(o.last) >= mostRooms {
		return
	}
	if at.After(o.last[on].said) {
		o.last[on] = room{state, at}
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
