package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/wire"
	"jobeff/policy/harm"
)

// TestLedgerOfTimes: the run times of jobs as the database has them, of the measured partitions and of the span alone.
func TestLedgerOfTimes(t *testing.T) {
	s := open(t)
	rng := rand.New(rand.NewPCG(54, 2))
	m := etc.Measure{Enabled: true, Share: .5, ExcludePartitions: []string{"gpu"}}
	want := harm.NewTimes(m.Share)
	var jobs []*job.Job
	for id := range uint32(400) {
		j := &job.Job{Cluster: "test", JobID: 1 + id, Attempt: 1, UID: 1000 + id%3, Name: "sim", Partition: []string{"main", "main", "gpu"}[rng.IntN(3)], State: "COMPLETED",
			CPUs: 4, Nodes: 1, Elapsed: time.Duration(1000*math.Exp(.1*rng.NormFloat64())) * time.Second, Start: day.Add(time.Duration(id) * time.Minute)}
		j.Submit, j.End = j.Start, j.Start.Add(j.Elapsed)
		drawn := m.Draws(j.JobID)
		if drawn {
			j.Decision, j.Executions, j.Reports = "on", nodeReport(j.JobID, 1, fmt.Sprint(id), 0).Executions, 1
			j.Metrics = new(job.Metrics)
		}
		jobs = append(jobs, j)
		if j.Partition == "main" && j.End.After(day.Add(time.Hour)) && !j.End.After(day.Add(5*time.Hour)) {
			want.Add(j, drawn)
		}
	}
	if err := s.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	c, err := s.Cost(ctx, day.Add(time.Hour), day.Add(5*time.Hour), "", m)
	if err != nil {
		t.Fatal(err)
	}
	got, is := c.Times, want.Slowdown()
	if got.Time == nil || *got.Time != *is.Time || *got.TimeLow != *is.TimeLow || *got.TimeHigh != *is.TimeHigh || got.Measured != is.Measured || got.Others != is.Others || got.Figures != got.Measured || got.Works != 3 {
		t.Errorf("%+v, want %+v", got, is)
	}
	if c, err = s.Cost(ctx, day, day.Add(oneDay), "", etc.Measure{Share: .5}); err != nil || c.Times.Cannot != harm.NoneMeasured {
		t.Errorf("%v, %+v", err, c)
	}
}

// TestLedgerOfCalls: the newest run of each workload, the one whose ranks call MPI most often first, and what the reports
// of the span's jobs take.
func TestLedgerOfCalls(t *testing.T) {
	s := open(t)
	var size, largest int64
	for id := uint32(1); id <= 8; id++ {
		r := nodeReport(id, 1, fmt.Sprint(id), time.Duration(id)*time.Minute)
		e := &r.Executions[0]
		e.Executable, e.BuildID, e.ArgsHash, e.InputHash, e.MPI = fmt.Sprintf("/apps/code%d", id%7), fmt.Sprintf("%040x", id%7), fmt.Sprintf("%032x", id%7), fmt.Sprintf("%032x", 1), "Open MPI"
		e.Classes = []job.Call{{Name: "collective", Count: uint64(24 * 100 * id), Time: time.Second}, {Name: "p2p", Count: 48, Time: time.Second}}
		add(t, s, r)
		if _, err := s.AddSlurm(ctx, []slurm.Job{sacct(id, fmt.Sprint(id), "COMPLETED", -time.Minute, time.Duration(id)*time.Minute, time.Duration(id)*time.Minute+20*time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	merged(t, s)
	rows, err := onlyColumn[int64](s.read.QueryContext(ctx, "SELECT length(body) FROM reports"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range rows {
		size, largest = size+n, max(largest, n)
	}
	c, err := s.Cost(ctx, day, day.Add(oneDay), "", etc.Measure{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Looked != 7 || len(c.Busiest) != mostBusiest || c.Reports != 8 || c.Kept != 8 || c.Bytes != size || c.Largest != largest || size == 0 {
		t.Errorf("%+v, %d reports of %d bytes, the largest %d", c, len(rows), size, largest)
	}
	for i, b := range c.Busiest { // job 1 is an older run of job 8's workload
		id := 8 - i
		want := listing.BusyRun{Job: fmt.Sprint(id), Program: fmt.Sprintf("/apps/code%d", id%7), Ranks: 2, OnNode: 2, Rate: float64(100*id + 2), Part: float64(100*id+2) * listing.CallSeconds}
		if math.Abs(b.Part-want.Part) < 1e-12 {
			want.Part = b.Part
		}
		if b != want {
			t.Errorf("%+v, want %+v", b, want)
		}
	}
	if err := s.do(ctx, func(w *writer) error { return w.exec("UPDATE reports SET body = ? WHERE job_id <= 3", []byte{}) }); err != nil {
		t.Fatal(err)
	}
	if c, err = s.Cost(ctx, day.Add(2*time.Minute), day.Add(oneDay), "", etc.Measure{}); err != nil || c.Reports != 7 || c.Kept != 5 || c.Bytes >= size {
		t.Errorf("%v, %+v", err, c)
	}
}

// TestLedgerOfStatus: what is stuck on nodes, and which of them are silent for a day and for a week; the jobs of the last
// day alone; what is up.
func TestLedgerOfStatus(t *testing.T) {
	s := open(t)
	at := day.Add(time.Hour)
	heard := func(node string, ago time.Duration, box wire.OutboxState) {
		s.HeardOutbox("test", node, box, at.Add(-ago))
	}
	heard("now", time.Minute, wire.OutboxState{})
	heard("stuck", time.Minute, wire.OutboxState{Waiting: 1, Oldest: time.Hour})
	heard("quiet", 2*oneDay, wire.OutboxState{Lost: 1})
	heard("silent", 8*oneDay, wire.OutboxState{})
	heard("gone", 36*oneDay, wire.OutboxState{})
	if err := s.keepHeard(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	add(t, s, nodeReport(1, 1, "a", 0), nodeReport(2, 1, "b", -30*time.Hour))
	for id, start := range map[uint32]time.Duration{1: 0, 2: -30 * time.Hour} {
		if _, err := s.AddSlurm(ctx, []slurm.Job{sacct(id, fmt.Sprint(id), "COMPLETED", start-time.Minute, start, start+20*time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	merged(t, s)
	if err := s.KeepAlarm(ctx, &harm.Alarm{Kind: harm.AlarmFailed, At: at}); err != nil {
		t.Fatal(err)
	}
	is, err := s.Status(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	var jobs int64
	for _, l := range is.Health.Known {
		jobs += l.Jobs
	}
	stuck := is.Health.Outboxes
	if jobs != 1 || len(is.Alarms) != 1 || is.Nodes != 4 || is.Quiet != 2 || !slices.Equal(is.Health.Silent, []string{"silent"}) || len(stuck) != 1 || stuck[0].Node != "stuck" || is.Damaged || !is.Read.IsZero() {
		t.Errorf("%+v", is)
	}
}
