package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
)

// TestThreadsAreKept: the metrics of threads stand in a page and in a list, and what the threads
// lost counts among the lost core-hours.
func TestThreadsAreKept(t *testing.T) {
	s := open(t)
	r := runReport(50, 5, 2, named("melt"))
	n := &r.Executions[0].Nodes[0]
	longest := n.ElapsedMax
	n.Useful, n.UsefulMax, n.MPI, n.IO, n.ElapsedSum = 2*longest, longest, 0, 0, 2*longest
	n.Threads = &job.ThreadShare{Ranks: 2, Threads: 8, ThreadsMax: 4, Useful: 3 * longest, UsefulMax: longest,
		MPI: longest / 2, IO: longest / 4, Imbalance: longest, Scheduling: longest / 8, Serial: 3 * longest}
	addConfirmed(t, s, r)
	want := job.ExecutionMetrics(&r.Executions[0]).Hybrid
	if want == nil || want.Span != 8*longest.Seconds() {
		t.Fatalf("%+v", want)
	}
	list, err := s.Jobs(ctx, alice, job.JobQuery{Jobs: "50"}, nil)
	if err != nil || len(list.Jobs) != 1 {
		t.Fatal(list, err)
	}
	near := cmpopts.EquateApprox(1e-9, 0)
	for place, j := range map[string]*job.Job{"page": aJob(t, s, alice, "50", 0), "list": &list.Jobs[0]} {
		if d := cmp.Diff(want, j.Metrics.Hybrid, near); d != "" || j.Threaded {
			t.Errorf("%s: threaded %v, %s", place, j.Threaded, d)
		}
	}
	w, err := s.Workload(ctx, alice, "melt", nil)
	if err != nil || len(w.Runs) != 1 {
		t.Fatal(w, err)
	}
	if run := w.Runs[0]; run.Cores() != 8 || run.Useful != 3*longest.Seconds() || run.Conditions.OpenMP != (4*longest+longest/8).Seconds() || time.Duration(run.Elapsed*1e9) != longest {
		t.Errorf("%+v", run)
	}
}
