package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
)

// TestBulkIsTheSame adds a job twice: from its report and sacct's line, and already merged.
// People see the same.
func TestBulkIsTheSame(t *testing.T) {
	t.Parallel()
	one, bulk := open(t), open(t)
	add(t, one, nodeReport(7, 1, "a", 0))
	want := aJob(t, one, root, "7", 0)
	want.Submit, want.State, want.CPUs, want.Name, want.QOS = day.Add(-time.Second), "COMPLETED", 2, "melt", "normal"
	want.Unconfirmed = false
	if err := bulk.AddJobs(ctx, []*job.Job{want}); err != nil {
		t.Fatal(err)
	}
	got := aJob(t, bulk, root, "7", 0)
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(job.Job{}, "Covered")); d != "" {
		t.Error(d)
	}
	if err := bulk.AddJobs(ctx, []*job.Job{{Cluster: "test", JobID: 8, Attempt: 1}, want}); err == nil {
		t.Error("a run that is there already:", err)
	}
	if n := count(t, bulk, "attempts"); n != 1 {
		t.Errorf("%d runs: a failed batch left some", n)
	}
}
