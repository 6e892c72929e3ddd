package assemble_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/when"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

// many are n whole executions of a few programs, most one after the other.
func many(rng *rand.Rand, n, programs int) (all []job.Execution) {
	start := jobtest.Start
	for i := range n {
		ranks := 1 + rng.IntN(3)
		e := jobtest.Part(rng, fmt.Sprint(i), "n0", start, 0, ranks, ranks)
		e.Executable, e.MPI, e.MPIVersion, e.ExecutableHash = fmt.Sprintf("/bin/app%d", rng.IntN(programs)), "MPICH", "4.0", ""
		e.BuildID, e.Nodes[0].BootID = "", "boot"
		e.Nodes[0].Load = &job.Load{Ranks: ranks, Span: time.Duration(rng.IntN(1e9)), CPU: time.Duration(rng.IntN(1e9)), Whole: ranks, Busy: ranks,
			ThreadSpan: time.Duration(rng.IntN(1e9)), Threaded: rng.IntN(2), BusyName: "worker"}
		modest(&e)
		if rng.IntN(5000) > 0 { // of few jobs, a rank has none
			e.Nodes[0].Counters = &job.Counters{Ranks: ranks, Instructions: rng.Uint64N(1e12), Cycles: rng.Uint64N(1e12), Useful: e.Nodes[0].Useful}
		}
		e.Nodes[0].IO, e.Nodes[0].ElapsedSum = 0, e.Nodes[0].Useful+e.Nodes[0].MPI
		if err := e.Check(); err != nil {
			panic(err)
		}
		start = start.Add(time.Duration(rng.IntN(2e12)))
		all = append(all, e)
	}
	return all
}

// modest makes numbers small enough that no sum of them stops at the largest number.
func modest(e *job.Execution) {
	for i := range e.Sections {
		s := &e.Sections[i]
		t := s.Elapsed % 1e12
		s.Elapsed, s.ElapsedMax, s.Useful, s.UsefulMax, s.MPI, s.IO = t, t, t/2, t/2, t/4, t/8
		s.Own, s.OwnUseful, s.OwnMPI = t/2, t/4, t/8
		s.Count %= 1e6
		if s.Threads != nil {
			s.Threads.Useful, s.Threads.UsefulMax, s.Threads.MPI, s.Threads.Imbalance = t/2, t/2, t/4, t/8
		}
	}
	for i := range e.Slowest {
		e.Slowest[i].Elapsed, e.Slowest[i].MPI = e.Slowest[i].Useful, 0
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		c.Count, c.Time, c.Sent, c.Received = c.Count%1e6, c.Time%1e12, c.Sent%1e9, c.Received%1e9
	}
}

// whole is a job of executions that one node reported.
func whole(executions []job.Execution) *job.Job {
	var m assemble.Merger
	m.Add(&job.NodeReport{Cluster: "c", JobID: 7, Node: "n0", NNodes: 1, Decision: "on", Executions: executions})
	return m.Job()
}

// figuresOf are what a job's executions come to.
func figuresOf(all []job.Execution) map[string]any {
	endings, ran := map[string]int{}, time.Duration(0)
	calls := map[string]job.Call{}
	recorded, sizes := 0, 0
	var last time.Time
	var spans [][2]time.Time
	for i := range all {
		e := &all[i]
		for name, n := range e.Endings {
			endings[name] += n
		}
		for _, c := range e.Calls {
			sum := calls[c.Name]
			sum.Add(c)
			calls[c.Name] = sum
		}
		a, b := e.Ranks()
		recorded, sizes = recorded+a, sizes+b
		for _, s := range e.Spans() {
			spans = append(spans, [2]time.Time{s.From, s.To})
		}
	}
	slices.SortFunc(spans, func(a, b [2]time.Time) int { return a[0].Compare(b[0]) })
	for _, s := range spans {
		if s[1].After(last) {
			ran += s[1].Sub(when.Last(s[0], last))
			last = s[1]
		}
	}
	main := all[job.MainExecution(all)]
	return map[string]any{"metrics": job.JobMetrics(all), "sections": job.JobSections(all), "load": job.LoadOf(all), "counters": job.UsefulCounters(all),
		"rank-seconds": job.RankSeconds(all), "threaded": job.Threaded(all), "executions": job.CountExecutions(all), "endings": endings,
		"calls": calls, "recorded": recorded, "ran": sizes, "time": ran, "main": main.Key}
}

var sameFigures = cmp.Options{cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateEmpty()}

// TestFoldKeepsTheFigures: however a job's executions are folded, in one go, in parts on the way
// or not at all, the job's figures are the same, and so are the executions that are kept.
func TestFoldKeepsTheFigures(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(1, seed))
		all := many(rng, 900, 7)
		want := figuresOf(all)
		once := assemble.FoldWhole(slices.Clone(all))
		if d := cmp.Diff(want, figuresOf(once), sameFigures); d != "" {
			t.Fatalf("seed %d: (-want +got)\n%s", seed, d)
		}
		var steps []job.Execution
		for part := range slices.Chunk(all, 1+rng.IntN(300)) {
			steps = assemble.FoldWhole(append(steps, part...))
		}
		text, err := json.Marshal(steps)
		if err != nil {
			t.Fatal(err)
		}
		var sent []job.Execution
		if err := json.Unmarshal(text, &sent); err != nil {
			t.Fatal(err)
		}
		got := whole(sent)
		if d := cmp.Diff(want, figuresOf(got.Executions), sameFigures); d != "" {
			t.Fatalf("seed %d, in steps: (-want +got)\n%s", seed, d)
		}
		if d := cmp.Diff(want["metrics"], got.Metrics, sameFigures); d != "" {
			t.Errorf("seed %d, the job's: %s", seed, d)
		}
		for i := range once {
			if once[i].Key != sent[i].Key || once[i].Executable != sent[i].Executable || once[i].Costly != sent[i].Costly {
				t.Errorf("seed %d, entry %d: %s %s and %s %s", seed, i, once[i].Key, once[i].Executable, sent[i].Key, sent[i].Executable)
			}
		}
	}
}

// TestFoldIsBounded: the entries of a job stay few, whatever its user runs, and few executions
// are not folded at all.
func TestFoldIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	all := many(rng, 2000, 1000)
	want := figuresOf(all)
	got := assemble.FoldWhole(slices.Clone(all))
	if len(got) > 250 || got[len(got)-1].Executable != assemble.OtherPrograms {
		t.Errorf("%d entries, the last of %s", len(got), got[len(got)-1].Executable)
	}
	if d := cmp.Diff(want, figuresOf(got), sameFigures); d != "" {
		t.Error(d)
	}
	least, most := math.Inf(1), 0.0 // of those that are kept for what they cost, and of the other ones
	for i, e := range got {
		if cost := job.RankSeconds(got[i : i+1]); e.Costly {
			least = min(least, cost)
		} else if e.Folded == nil {
			most = max(most, cost)
		}
	}
	if least < most || most == 0 {
		t.Errorf("kept for its cost of %v s, beside one of %v s", least, most)
	}
	again := assemble.FoldWhole(append(assemble.FoldWhole(slices.Clone(all[:1500])), all[1500:]...))
	if n := len(slices.DeleteFunc(again, func(e job.Execution) bool { return e.Executable != assemble.OtherPrograms })); n != 1 {
		t.Errorf("other programs are %d entries", n)
	}
	if few := assemble.FoldWhole(slices.Clone(all[:200])); len(few) != 200 || slices.ContainsFunc(few, func(e job.Execution) bool { return e.Folded != nil || e.Costly }) {
		t.Errorf("200 executions became %d", len(few))
	}
	for i := range all {
		all[i].Size++ // a rank is elsewhere
	}
	if parts := assemble.FoldWhole(all); len(parts) != len(all) {
		t.Errorf("of %d parts, %d are left", len(all), len(parts))
	}
}

// TestFoldKeepsWhatIsCommon: arguments and inputs that all folded executions had, threads where one of them
// had any, and the doubts about each.
func TestFoldKeepsWhatIsCommon(t *testing.T) {
	for _, differ := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 3))
		all := many(rng, 600, 1)
		for i := range all {
			e := &all[i]
			e.Size, e.Args, e.ArgsHash, e.Inputs, e.InputHash = e.Nodes[0].Ranks, []string{"-in", "a"}, "ef", 2, "ab"
			e.Nodes[0].Load.CrowdBusy, e.Nodes[0].Load.CrowdRanks, e.Nodes[0].Load.CrowdCPUs = 4, 1, "0-1"
			if e.Nodes[0].Threads, e.Warnings, e.Metrics = nil, nil, nil; differ {
				e.ArgsHash, e.InputHash = fmt.Sprint(i), fmt.Sprint(i)
				if i%2 == 0 {
					n := &e.Nodes[0]
					n.Threads = &job.ThreadShare{Ranks: n.Ranks, Threads: 2 * n.Ranks, ThreadsMax: 2, Useful: 2 * n.Useful, UsefulMax: n.UsefulMax, MPI: 2 * n.MPI}
				}
			}
		}
		want := figuresOf(all)
		got := assemble.FoldWhole(all)
		if d := cmp.Diff(want, figuresOf(got), sameFigures); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		for _, e := range got {
			if e.Folded == nil {
				continue
			}
			if common := !differ; (len(e.Args) == 2) != common || (e.ArgsHash == "ef") != common || (e.Inputs == 2) != common || (e.InputHash == "ab") != common || (e.Nodes[0].Threads == nil) != common {
				t.Errorf("they differ: %v, %q %q %d %q, threads %+v", differ, e.Args, e.ArgsHash, e.Inputs, e.InputHash, e.Nodes[0].Threads)
			}
			if !slices.ContainsFunc(e.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnContention }) {
				t.Errorf("ranks lacked CPUs, but %v", e.Warnings)
			}
		}
	}
}

// TestFoldAfterMerge: executions over several nodes are folded once all their parts are there,
// and the job's figures are those of the executions.
func TestFoldAfterMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var parts []job.Execution
	for i := range 500 {
		start := jobtest.Start.Add(time.Duration(i) * time.Hour)
		for n := range 2 {
			parts = append(parts, jobtest.Part(rng, fmt.Sprint(i), fmt.Sprint("n", n), start, 2*n, 2, 4))
		}
	}
	for i := range parts {
		modest(&parts[i])
	}
	want := figuresOf(assemble.Merge(slices.Clone(parts)))
	if want["executions"] != 500 {
		t.Fatal(want)
	}
	var m assemble.Merger
	for n := range 2 {
		r := &job.NodeReport{Cluster: "c", JobID: 7, Node: fmt.Sprint("n", n), NNodes: 2, Decision: "on"}
		for i := n; i < len(parts); i += 2 {
			r.Executions = append(r.Executions, parts[i])
		}
		r.Executions = assemble.FoldWhole(r.Executions)
		m.Add(r)
	}
	got := m.Job()
	if len(got.Executions) > 250 {
		t.Errorf("%d entries", len(got.Executions))
	}
	if d := cmp.Diff(want, figuresOf(got.Executions), sameFigures); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestFoldedOfAnOldNode: a report that is not folded is folded when it is read.
func TestFoldedOfAnOldNode(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	one := r.Executions[0]
	for i := range 4999 {
		e := one
		e.Key, e.Start = fmt.Sprint(i), one.Start.Add(time.Duration(i)*time.Minute)
		e.End = e.Start.Add(time.Second)
		r.Executions = append(r.Executions, e)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.DecodeReport(text)
	if err != nil {
		t.Fatal(err)
	}
	if n := job.CountExecutions(got.Executions); n != 5000 || len(got.Executions) != 201 {
		t.Errorf("%d executions in %d entries", n, len(got.Executions))
	}
}

// TestFoldedChecks: folded executions whose sums cannot be are left out, and other ones are made
// harmless.
func TestFoldedChecks(t *testing.T) {
	possible := job.Folded{Count: 2, Sizes: 4, Ranks: 2, Elapsed: 12 * time.Second, Span: 24, UsefulMax: 16, MeanMax: 14, Spans: []time.Duration{0, 12 * time.Second},
		Sections: []job.SectionSum{{Span: 1e308, SectionFigures: job.SectionFigures{Label: "a\x1b[31m", Own: -1}}}}
	for _, tt := range []struct {
		name   string
		change func(*job.Folded)
		left   int
	}{
		{"possible", func(*job.Folded) {}, 1},
		{"more useful time than passed", func(f *job.Folded) { f.Span = 10 }, 0},
		{"a load balance above 1", func(f *job.Folded) { f.UsefulMax = 1 }, 0},
		{"negative", func(f *job.Folded) { f.Span = -1 }, 0},
	} {
		r := jobtest.Report(7, "n1", jobtest.Nonce)
		f := possible
		tt.change(&f)
		r.Executions[0].Folded = &f
		if err := wire.Validate(r); err != nil || len(r.Executions) != tt.left {
			t.Errorf("%s: %v, %d executions", tt.name, err, len(r.Executions))
		}
		if s := f.Sections[0]; tt.left > 0 && (s.Span != 1e18 || s.Own != 0 || s.Label != "a?[31m") {
			t.Errorf("%+v", s)
		}
	}
}

// TestSectionsWithThreadsAlone: a made-up report folds a section whose threads took time and whose ranks took none.
func TestSectionsWithThreadsAlone(t *testing.T) {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	x := &r.Executions[0]
	x.Folded = &job.Folded{Count: 2, Sizes: 4, Ranks: 2, Elapsed: 24 * time.Second, Span: 48, UsefulMax: 32, MeanMax: 28,
		Sections: []job.SectionSum{{SectionFigures: job.SectionFigures{Label: "a"}, Threaded: true, Threads: job.Hybrid{Span: 1}}}}
	if err := wire.Validate(r); err != nil || len(r.Executions) != 1 {
		t.Fatal(err, r.Warnings)
	}
	if s := job.JobSections(r.Executions); len(s) != 1 || s[0].Metrics != nil {
		t.Errorf("%+v", s)
	}
}
