package node

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// A job of 10,000 nodes is merged in a time that grows as they do, whichever node comes
// first.
func TestMergeOfManyNodes(t *testing.T) {
	const nodes, ranks = 10_000, 32
	few, all := reportsOf(nodes/4, ranks), reportsOf(nodes, ranks)
	var j *job.Job
	jobtest.WantLinear(t, func() { few.Job() }, func() { j = all.Job() })
	if len(j.Executions) != 1 || j.Executions[0].RankIDs != "0-319999" || j.Metrics.Coverage != 1 {
		t.Errorf("%d executions, coverage %v", len(j.Executions), j.Metrics.Coverage)
	}
}

// reportsOf are a job's reports of nodes in any order.
func reportsOf(nodes, ranks int) *assemble.Merger {
	rng := rand.New(rand.NewPCG(1, 3))
	var m assemble.Merger
	for _, n := range rng.Perm(nodes) {
		node := fmt.Sprintf("n%05d", n)
		m.Add(&job.NodeReport{JobID: 1, Node: node, NNodes: nodes, Decision: "on",
			Executions: []job.Execution{jobtest.Part(rng, "k", node, jobtest.Start, n*ranks, ranks, nodes*ranks)}})
	}
	return &m
}

// mostOnNode is about how many ranks of one node a record holds.
const mostOnNode = 2000

// recordOf is the record of a node's ranks of one world; no two ranks are alike.
func recordOf(tb testing.TB, node, ranks, size int) *record.File {
	slots := make([]record.Slot, ranks)
	for i := range slots {
		slots[i] = rankSlot(node*ranks+i, size, 8+float64(i%7), 4+float64(i%5))
		slots[i].Host = fmt.Sprintf("n%05d", node)
	}
	return openRecord(tb, slots...)
}

// A node's ranks are folded in a time that grows as they do.
func TestFoldOfManyRanks(t *testing.T) {
	few, all := recordOf(t, 0, mostOnNode/4, mostOnNode), recordOf(t, 0, mostOnNode, mostOnNode)
	var f folded
	jobtest.WantLinear(t, func() { foldRecord(few, testMachine(100), nil) }, func() { f = foldRecord(all, testMachine(100), nil) })
	if len(f.executions) != 1 || f.executions[0].Nodes[0].RankIDs != "0-1999" || len(f.warnings) != 0 {
		t.Errorf("%d executions, %v", len(f.executions), f.warnings)
	}
}

// BenchmarkFold folds 20,000 and 100,000 ranks, from their records to the job.
func BenchmarkFold(b *testing.B) {
	for _, ranks := range []int{20_000, 100_000} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				foldJob(b, ranks)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*ranks), "us/rank")
		})
	}
}

// foldJob folds each node's record and merges the reports. The timer stands while records are made.
func foldJob(b *testing.B, ranks int) {
	nodes := ranks / mostOnNode
	var m assemble.Merger
	for n := range nodes {
		b.StopTimer()
		rec := recordOf(b, n, mostOnNode, ranks)
		b.StartTimer()
		m.Add(&job.NodeReport{JobID: 1, Node: fmt.Sprintf("n%05d", n), NNodes: nodes, Decision: "on",
			Executions: foldRecord(rec, testMachine(100), nil).executions})
	}
	j := m.Job()
	if len(j.Executions) != 1 || j.Metrics.Ranks != ranks {
		b.Fatalf("%d executions, %d ranks", len(j.Executions), j.Metrics.Ranks)
	}
}

// A record full of worlds that each called everything gives a report of bounded size.
func TestReportOfAHostileRecordIsBounded(t *testing.T) {
	var slots []record.Slot
	for i := range 2047 {
		s := rankSlot(0, 1, 8, 4)
		s.PID, s.World, s.Funcs = i+1, fmt.Sprint("world ", i), nil
		for n := range 448 {
			s.Funcs = append(s.Funcs, record.Func{Number: n, Count: 1 << 52, Ticks: 1 << 60, Sent: 1 << 59, Received: 1 << 59, Largest: 1 << 59})
		}
		slots = append(slots, s)
	}
	f := foldSlots(t, testMachine(100), nil, slots...)
	body, err := json.Marshal(job.NodeReport{Executions: f.executions, Warnings: f.warnings})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.executions) > 250 || job.CountExecutions(f.executions) != 2047 || len(body) > 16<<20 || jobtest.Codes(f.warnings) != doubt.WarnCallsCut {
		t.Errorf("%d executions, %d bytes, %v", len(f.executions), len(body), f.warnings)
	}
}

// A script of 1,000 mpiruns gives a small report, whose figures are those of all of them.
func TestManyExecutionsAreFolded(t *testing.T) {
	var slots []record.Slot
	for i := range 1000 {
		for rank := range 2 {
			s := rankSlot(rank, 2, float64(1+i%7), float64(1+rank))
			s.PID, s.World, s.ExeHash = 2*i+rank+1, fmt.Sprint("world ", i), "0123456789abcdef0123456789abcdef"
			slots = append(slots, s)
		}
	}
	f := foldSlots(t, testMachine(100), nil, slots...)
	r := job.NodeReport{Executions: f.executions, Warnings: f.warnings}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	last := f.executions[len(f.executions)-1]
	if len(f.executions) != 201 || last.Count() != 800 || len(body) > 300_000 {
		t.Errorf("%d executions, the last stands for %d, %d bytes", len(f.executions), last.Count(), len(body))
	}
	var calls uint64
	for i := range f.executions {
		calls += f.executions[i].Calls[0].Count
	}
	m := job.JobMetrics(f.executions)
	want := 0.0
	for i := range 1000 {
		want += 2 * float64(1+i%7)
	}
	if calls != 4000 || m.Ranks != 2 || m.Coverage != 1 || m.Useful < want-1e-6 || m.Useful > want+1e-6 || len(f.warnings) != 0 {
		t.Errorf("%d calls, %+v, want %v s of useful time, %v", calls, m, want, f.warnings)
	}
}
