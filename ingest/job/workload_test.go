package job

import (
	"fmt"
	"math"
	"testing"
	"time"

	"jobeff/ingest/slurmid"
	"jobeff/preload/record"
)

// TestRunSections: however many sections there are, a run keeps few, and they add up to all of
// it.
func TestRunSections(t *testing.T) {
	x := Execution{Size: 2, Nodes: []NodeShare{{Node: "n1", Ranks: 2, ElapsedSum: 300 * time.Second, ElapsedMax: 150 * time.Second, RankIDs: "0-1"}},
		Sections: []Section{{Label: record.OtherSections, Ranks: 2, Own: 40 * time.Second, Elapsed: 40 * time.Second}}}
	for i := range 200 {
		x.Sections = append(x.Sections, Section{Label: fmt.Sprint("s", i), Ranks: 2, Own: time.Second, Elapsed: time.Second})
	}
	r := RunOf(&x)
	var sum float64
	others := 0
	for _, s := range r.Sections {
		sum += s.Own
		if s.Label == record.OtherSections {
			others++
		}
	}
	if len(r.Sections) > runSections || math.Abs(sum-150) > 1e-6 || others != 1 || r.Sections[0].Label != MainSection {
		t.Errorf("%d sections, %d of the others, %v s", len(r.Sections), others, sum)
	}
}

// TestWorkloadKey: each part makes a different workload, and an unknown part makes none.
func TestWorkloadKey(t *testing.T) {
	base := Execution{BuildID: "b", ArgsHash: "a", InputHash: "i"}
	seen := map[string]string{WorkloadKey("c", 1, &base): "base"}
	if again := WorkloadKey("c", 1, &Execution{BuildID: "b", ArgsHash: "a", InputHash: "i", Size: 8, OMPThreads: 2}); seen[again] != "base" {
		t.Error("another core count is another workload")
	}
	for name, x := range map[string]Execution{
		"program": {BuildID: "b2", ArgsHash: "a", InputHash: "i"}, "arguments": {BuildID: "b", ArgsHash: "a2", InputHash: "i"},
		"input": {BuildID: "b", ArgsHash: "a", InputHash: "i2"}, "input not known": {BuildID: "b", ArgsHash: "a"},
		"name": {BuildID: "b", ArgsHash: "a", InputHash: "i", Workload: "x"}, "moved border": {BuildID: "ba", InputHash: "i", ArgsHash: "x"},
	} {
		key := WorkloadKey("c", 1, &x)
		if other, is := seen[key]; is || len(key) != 20 {
			t.Errorf("%s: key %q is that of %q", name, key, other)
		}
		seen[key] = name
	}
	for key, who := range map[string]string{WorkloadKey("c", 2, &base): "user", WorkloadKey("c2", 1, &base): "cluster"} {
		if other, is := seen[key]; is {
			t.Errorf("%s: the key is that of %q", who, other)
		}
	}
	for _, x := range []Execution{{ArgsHash: "a"}, {BuildID: "b"}, {ExecutableHash: "b", InputHash: "i"}} {
		if key := WorkloadKey("c", 1, &x); key != "" {
			t.Errorf("%+v has the key %s", x, key)
		}
	}
	byName := WorkloadKey("c", 1, &Execution{Workload: "x", BuildID: "p1"})
	if byName == "" || byName != WorkloadKey("c", 1, &Execution{Workload: "x", ArgsHash: "a"}) {
		t.Error("the name alone does not make the workload")
	}
}

// TestRunOf: what a curve is told of two ranks of 10 s, with and without threads.
func TestRunOf(t *testing.T) {
	const s = time.Second
	x := *twoRanks()
	x.ExecutableHash, x.CPUsPerTask, x.OMPThreads = "hash", 2, 3
	x.Endings = map[string]int{EndingFinalized: 2}
	x.Classes = []Call{{Name: record.ClassColl.String(), Count: 30}, {Name: record.ClassP2P.String(), Count: 7}}
	x.Nodes[0].Load = &Load{Ranks: 2, Whole: 2, Span: 20 * s, CPU: 19 * s, Queue: 3 * s, ThreadSpan: 20 * s, Busy: 2, GPURanks: 1, CPUList: "0-1"}
	r := RunOf(&x)
	if r.Ranks != 2 || r.Threads != 3 || r.Cores() != 6 || r.Nodes != 1 || r.BuildID != "hash" || r.Collectives != 15 || !r.Ended || r.Coverage != 1 || r.Sections != nil {
		t.Errorf("%+v", r)
	}
	c := r.Conditions
	if r.Elapsed != 10 || r.Useful != 12 || r.MPITime != 6 || c.IOTime != 2 || c.UsefulMax != 8 || c.CPUsAllowed != 2 ||
		!c.GPU || !c.Counted || !c.Contended || c.Asleep || c.BusyThreads != 2 || c.CPUTime != 19 || c.Span != 20 || c.QueueWait != 3 {
		t.Errorf("%+v, %+v", r, c)
	}
	x.BuildID, x.Nodes[0].Load.Whole, x.Nodes[0].Load.GPURanks = "id", 1, 0
	x.Nodes[0].Threads = &ThreadShare{Ranks: 2, Threads: 8, ThreadsMax: 4, Useful: 40 * s, UsefulMax: 6 * s, Imbalance: 8 * s, Scheduling: 4 * s, Serial: 2 * s}
	r = RunOf(&x)
	if c = r.Conditions; r.BuildID != "id" || r.Threads != 4 || r.Useful != 40 || c.OpenMP != 14 || !near(c.UsefulMax, 6, 1e-12) || c.Counted || c.GPU {
		t.Errorf("with threads: %+v, %+v", r, c)
	}
	if r = RunOf(&Execution{Size: 2}); r.Elapsed != 0 || r.Ended || r.Conditions != nil {
		t.Errorf("without a region: %+v", r)
	}
}

// The main program is the one whose ranks took the most time, the first of two alike.
func TestMainExecution(t *testing.T) {
	of := func(useful ...float64) (all []Execution) {
		for _, u := range useful {
			all = append(all, executionOf([]times{{u, 0}}))
		}
		return all
	}
	folded := of(1, 9)
	folded[1].Folded = &Folded{Span: 9}
	allFolded := of(1)
	allFolded[0].Folded = &Folded{Span: 1}
	for i, c := range []struct {
		all  []Execution
		want int
	}{{nil, -1}, {of(0), 0}, {of(1, 3, 2), 1}, {of(3, 3), 0}, {folded, 0}, {allFolded, 0}} {
		if got := MainExecution(c.all); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
	if WorkloadOf(&Job{}) != "" {
		t.Error("a job without a program has a workload")
	}
	named := Execution{Workload: "w", BuildID: "b", Executable: "/bin/app"}
	if key := WorkloadOf(&Job{Executions: []Execution{named}}); key == "" || WorkloadName(key, &named) != "w" || WorkloadName("0123456789", &Execution{Executable: "/bin/app"}) != "app-012345" {
		t.Errorf("the workload %q is called %q", key, WorkloadName(key, &named))
	}
}

func TestRankList(t *testing.T) {
	for text, want := range map[string]string{"": "[]", "3": "[3]", "0-2,8": "[0 1 2 8]", "0-2,8-9": "[0 1 2 8]", "0-9": "[0 1 2 3]"} {
		if got, err := slurmid.RankList(text, 4); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestCoreHours: which runs' core-hours are added up, and of which it is known what they lost.
func TestCoreHours(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     func(r *Run) // of 4 ranks for an hour, half of it useful
		used, lost float64
	}{
		{"plain", func(*Run) {}, 4, 2},
		{"threads", func(r *Run) { r.Threads = 2 }, 8, -1},
		{"threads, and nothing known of them", func(r *Run) { r.Threads, r.Conditions = 2, nil }, 8, -1},
		{"several CPUs each, without threads", func(r *Run) { r.Threads, r.Conditions.Threaded = 2, false }, 8, 6},
		{"more useful than it can be", func(r *Run) { r.Useful = 1e9 }, 0, -1},
		{"nothing useful", func(r *Run) { r.Useful = 0 }, 4, 4},
		{"less than nothing", func(r *Run) { r.Useful = -1 }, 0, -1},
		{"no number", func(r *Run) { r.Useful = math.NaN() }, 0, -1},
		{"no rank", func(r *Run) { r.Ranks, r.Useful = 0, 0 }, 0, -1},
		{"no time", func(r *Run) { r.Elapsed, r.Useful, r.Conditions.UsefulMax = 0, 0, 0 }, 0, 0},
		{"too long", func(r *Run) { r.Elapsed = longestRun }, 0, -1},
		{"a rank missing", func(r *Run) { r.Coverage = .99 }, 4, -1},
	} {
		r := Run{Ranks: 4, Threads: 1, Elapsed: 3600, Useful: 7200, Coverage: 1, Conditions: &Conditions{Threaded: true, UsefulMax: 1800}}
		c.change(&r)
		if used, lost := r.CoreHours(); used != c.used || lost != c.lost {
			t.Errorf("%s: used %v, lost %v", c.name, used, lost)
		}
	}
	r := Run{Ranks: 4, Elapsed: 3600, Useful: 7200, Coverage: 1}
	half := r
	half.Coverage = .5
	w := Workload{Runs: []Run{r, half}}
	if got := w.Sum(); got != (RunSum{2, 8, 4, 2}) {
		t.Errorf("the sum is %+v", got)
	}
	w.All = &RunSum{Runs: 9}
	if got := w.Sum(); got.Runs != 9 {
		t.Errorf("of all it is %+v", got)
	}
}
