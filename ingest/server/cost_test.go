package server

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/store"
	"jobeff/policy/harm"
	"jobeff/report/view"
)

// TestCost: what jobeff costs is for operators alone, of the last four weeks if nobody says otherwise, or since the share
// of measured jobs was changed.
func TestCost(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Measure = etc.Measure{Enabled: true, Share: .5}
		o.Spent = func() (cpu, up time.Duration) { return time.Minute, 12 * time.Hour }
	})
	now := time.Now().UTC()
	var jobs []*job.Job
	for id := range uint32(100) {
		end := now.Add(-time.Duration(id) * 12 * time.Hour) // 56 in four weeks
		j := &job.Job{Cluster: "test", JobID: id + 1, Attempt: 1, UID: alice, Name: "sim", Partition: "main", State: "COMPLETED", CPUs: 4, Nodes: 1, End: end, Elapsed: time.Duration(1000+id%7) * time.Second}
		j.Start, j.Submit = end.Add(-j.Elapsed), end.Add(-j.Elapsed)
		jobs = append(jobs, j)
	}
	if err := s.store.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	get := request{Addr: s.unix, Method: "GET", Path: "/v1/cost"}
	s.check(t, "a user", get.as(t, alice), 403, "what jobeff costs is for root and operators")
	ask := func(path string) (c view.Cost) {
		t.Helper()
		of := get
		of.Path += path
		got := of.as(t, bob)
		if err := json.Unmarshal([]byte(got.Text), &c); err != nil || got.Status != 200 {
			t.Fatalf("%s: %v, %d %s", path, err, got.Status, got.Text)
		}
		return c
	}
	days := func(c view.Cost) int { return int(c.To.Sub(c.From).Hours()/24 + .5) }
	if c := ask(""); days(c) != 28 || c.Times.Cannot != harm.FewAlike || c.Busiest == nil || *c.DaemonCPU != 120 || c.To.Before(now) {
		t.Errorf("%+v", c)
	}
	if c := ask("?start=2000-01-01&end=" + now.AddDate(0, 0, 3).Format(time.RFC3339)); c.From.Year() != 2000 || c.To.After(time.Now()) {
		t.Errorf("%+v", c)
	}
	if err := s.store.SetMark(ctx, store.MarkCompared, now.AddDate(0, 0, -5)); err != nil {
		t.Fatal(err)
	}
	if c := ask(""); days(c) != 5 {
		t.Errorf("%+v", c)
	}
	if c := ask("?end=" + now.AddDate(0, 0, -10).Format(time.RFC3339)); days(c) != 28 {
		t.Errorf("%+v", c)
	}
	for path, want := range map[string]string{"?start=never": "is not a time", "?start=2026-11-02&end=2026-11-01": "a time after start", "?start=9999-01-01": "a time that is over", "?week=2026-W46": "known are end, start"} {
		of := get
		of.Path += path
		s.check(t, path, of.do(), 400, want)
	}
}

// TestStatus: how jobeff does is for operators alone. What needs a hand comes with what helps.
func TestStatus(t *testing.T) {
	s := start(t, func(o *Options) { o.Measure = etc.Measure{Enabled: true, Share: 1} })
	now := time.Now().UTC()
	get := request{Addr: s.unix, Method: "GET", Path: "/v1/status"}
	s.check(t, "a user", get.as(t, alice), 403, "the status of jobeff is for root and operators")
	ask := func() (v view.Status) {
		t.Helper()
		got := get.as(t, bob)
		if err := json.Unmarshal([]byte(got.Text), &v); err != nil || got.Status != 200 {
			t.Fatalf("%v, %d %s", err, got.Status, got.Text)
		}
		return v
	}
	if v := ask(); len(v.Hands) != 1 || !strings.Contains(v.Hands[0].Text, "jobeffd has not read sacct") || v.Hands[0].Mend == "" || v.Times == nil || v.Times.Cannot != harm.AllMeasured {
		t.Errorf("%+v", v)
	}
	if err := errors.Join(s.store.SetMark(ctx, store.MarkRead, now), s.store.KeepAlarm(ctx, &harm.Alarm{Kind: harm.AlarmTimeout, From: now, At: now})); err != nil {
		t.Fatal(err)
	}
	if v := ask(); len(v.Hands) != 1 || !strings.HasPrefix(v.Hands[0].Text, "ALARM: ") || v.Hands[0].Mend != "jobeff admin alarm" || len(v.Alarms) != 1 {
		t.Errorf("%+v", v)
	}
}
