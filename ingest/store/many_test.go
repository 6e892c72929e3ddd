package store

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/wire"
)

// ofManyRuns is the report of a script that runs n MPI programs of two ranks, one after the other,
// of which each calls some functions. Of two nodes, each has one rank of each.
func ofManyRuns(id uint32, n, nodes int, node int) *job.NodeReport {
	r := nodeReport(id, node+1, "a", 0)
	r.NNodes = nodes
	one := r.Executions[0]
	r.Executions = nil
	for i := range n {
		e := one
		e.Key, e.KeyFrom, e.Size = fmt.Sprintf("pmix:%d.%d", id, i), "pmix", 2
		e.Executable, e.BuildID, e.ArgsHash = "/home/alice/a.out", "abcdef0123456789", fmt.Sprintf("%032x", i)
		e.Start = r.Start.Add(time.Duration(i) * 3 * time.Second)
		e.End = e.Start.Add(2 * time.Second)
		share := one.Nodes[0]
		share.RankIDs, share.Ranks = "0-1", 2
		if nodes == 2 {
			share.RankIDs, share.Ranks = fmt.Sprint(node), 1
		}
		share.Useful, share.MPI = time.Duration(1e9+i*12345), time.Duration(1e9-i*12345)
		share.UsefulMax, share.ElapsedMax, share.ElapsedSum = share.Useful, 2*time.Second, 2*time.Second*time.Duration(share.Ranks)
		e.Nodes = []job.NodeShare{share}
		e.Calls = nil
		for c := range 12 {
			e.Calls = append(e.Calls, job.Call{Name: fmt.Sprintf("MPI_Call%d", c), Count: uint64(100 + i*c), Time: time.Duration(1e6 * (i + c)), Sent: uint64(i * c), Received: uint64(i)})
		}
		e.Endings = map[string]int{"finalized": share.Ranks}
		r.Executions = append(r.Executions, e)
	}
	r.End = r.Start.Add(time.Duration(n) * 3 * time.Second)
	return r
}

// TestManyExecutions: a job of thousands of executions is summed up by program, and its runs are
// those of the first and the costliest ones, once Slurm has told of it.
func TestManyExecutions(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		s := open(t)
		for node := range nodes {
			add(t, s, ofManyRuns(7, 3000, nodes, node))
		}
		if n := count(t, s, "executions"); n != 0 {
			t.Errorf("%d nodes: %d rows were written with the report", nodes, n)
		}
		j := aJob(t, s, alice, "7", 0)
		if n := job.CountExecutions(j.Executions); n != 3000 || len(j.Executions) > 250 || count(t, s, "executions") != len(j.Executions) {
			t.Errorf("%d nodes: %d executions in %d entries", nodes, n, len(j.Executions))
		}
		if n := count(t, s, "workload_runs"); n != 0 {
			t.Errorf("%d nodes: %d runs of workloads, though Slurm has not told of the job", nodes, n)
		}
		line := sacct(7, "7", "COMPLETED", 0, 0, 3000*3*time.Second)
		line.Nodes, line.NodeList = nodes, "n[1-2]"
		addLines(t, s, line)
		if runs := count(t, merged(t, s), "workload_runs"); runs != 101 { // the first ones, and the costliest
			t.Errorf("%d nodes: %d runs of workloads", nodes, runs)
		}
	}
}

// BenchmarkManyExecutions measures what a job of many executions costs, as an older node reports
// it: how long its report waits for the writer, how long Merge then takes, and how much the
// database and its log grow.
func BenchmarkManyExecutions(b *testing.B) {
	for _, n := range []int{1, 200, 1620, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			onlySQLite(b, "it measures a file")
			path := newDatabase(b)
			s := openAt(b, path)
			before := sizeOf(path)
			const jobs = 5
			var adding time.Duration
			for i := range uint32(jobs) {
				body, err := json.Marshal(ofManyRuns(7+i, n, 1, 0))
				if err != nil {
					b.Fatal(err)
				}
				r, err := wire.DecodeReport(body)
				if err != nil {
					b.Fatal(err)
				}
				begin := time.Now()
				if _, err := s.AddReport(ctx, Sender{}, r, wire.Compress(body)); err != nil {
					b.Fatal(err)
				}
				adding += time.Since(begin)
			}
			begin := time.Now()
			if _, err := s.Merge(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(adding.Seconds()*1000/jobs, "ms/report")
			b.ReportMetric(time.Since(begin).Seconds()*1000/jobs, "ms/merge")
			b.ReportMetric(float64(sizeOf(path)-before)/jobs/1e6, "MB/job")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// sizeOf is the size of a database with its log, bytes.
func sizeOf(path string) (n int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			n += info.Size()
		}
	}
	return n
}

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
	list, err := s.Jobs(ctx, alice, listing.JobQuery{Jobs: "50"}, nil)
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
