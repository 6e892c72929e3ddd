package server

import (
	"encoding/json"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy/doubt"
	"jobeff/report/view"
)

// TestCoverage: the ledger of all core-hours is for operators alone, of this month and the one before if nobody says
// otherwise, and /metrics has its sums of a day. A job without a report is a hole in both.
func TestCoverage(t *testing.T) {
	s := start(t, func(*Options) {})
	if err := s.store.SetGrants(ctx, "", []store.Grant{{UID: daemon, Account: "chem"}}); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	var jobs []*job.Job
	for id, end := range []time.Time{now.Add(-time.Hour), month.AddDate(0, -1, 0), month.AddDate(0, -1, 0).Add(-time.Second)} {
		begin := end.Add(-time.Minute)
		jobs = append(jobs, &job.Job{Cluster: "test", JobID: uint32(id + 1), Attempt: 1, UID: alice, Account: "chem", Partition: "main", State: "COMPLETED", CPUs: 4, Nodes: 1, Submit: begin, Start: begin, End: end, Elapsed: time.Minute})
	}
	if err := s.store.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	get := request{Addr: s.unix, Method: "GET", Path: "/v1/coverage"}
	s.check(t, "a user", get.as(t, alice), 403, "the ledger of all core-hours is for root and operators")
	s.check(t, "a coordinator", get.as(t, daemon), 403, "coordinators have jobeff digest")
	for path, jobs := range map[string]int64{"": 2, "?start=2000-01-01T00:00:00Z": 3, "?start=2000-01-01T00:00:00Z&end=" + now.Add(-2*time.Hour).Format(time.RFC3339): 2, "?start=" + now.Add(-2*time.Hour).Format(time.RFC3339): 1} {
		of := get
		of.Path += path
		got := of.as(t, bob)
		var c view.Coverage
		if err := json.Unmarshal([]byte(got.Text), &c); err != nil || got.Status != 200 {
			t.Fatalf("%s: %v, %d %s", path, err, got.Status, got.Text)
		}
		var sum listing.LedgerLine
		for _, l := range c.Lines {
			if sum.Jobs, sum.Used = sum.Jobs+l.Jobs, sum.Used+l.Used; l.Class != listing.ClassSlurm || l.Reason != doubt.WhyNoReport || !l.Hole || l.Partition != "main" {
				t.Errorf("%s: %+v", path, l)
			}
		}
		if sum.Jobs != jobs || sum.Used != job.CoreTime(jobs*240e6) || c.Used != sum.Used.Hours() || c.Measured != 0 || c.Read != nil {
			t.Errorf("%s: %s", path, got.Text)
		}
	}
	for path, want := range map[string]string{"?start=never": "is not a time", "?start=2026-11-02&end=2026-11-01": "a time after start", "?week=2026-W46": "known are end, start"} {
		of := get
		of.Path += path
		s.check(t, path, of.do(), 400, want)
	}
	metrics := request{Addr: s.unix, Method: "GET", Path: "/metrics"}
	s.check(t, "metrics", metrics.do(), 200, `jobeff_core_seconds_of_day{class="slurm",hole="true",kind="",reason="no_report"} 240`)
}
