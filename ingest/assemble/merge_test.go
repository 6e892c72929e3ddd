package assemble_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

// partsOf are the parts of several executions over many nodes; a name returns after an hour.
func partsOf(rng *rand.Rand) []job.Execution {
	var parts []job.Execution
	for x, key := range []string{"a", "b", "a"} {
		nodes := 1 + rng.IntN(6)
		for n := range nodes {
			start := jobtest.Start.Add(time.Duration(x) * time.Hour)
			parts = append(parts, jobtest.Part(rng, key, fmt.Sprintf("n%d", n), start, 3*n, 3, 3*nodes))
		}
	}
	return parts
}

// mergeAtRandom merges the parts in a random order and a random tree.
func mergeAtRandom(rng *rand.Rand, parts []job.Execution) []job.Execution {
	if len(parts) < 2 {
		return parts
	}
	parts = append([]job.Execution(nil), parts...)
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	cut := rng.IntN(len(parts))
	return assemble.Merge(append(mergeAtRandom(rng, parts[:cut]), mergeAtRandom(rng, parts[cut:])...))
}

func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		parts := partsOf(rng)
		want := assemble.Merge(parts)
		if len(want) != 3 {
			t.Fatalf("seed %d: %d executions", seed, len(want))
		}
		for range 5 {
			if d := cmp.Diff(want, assemble.Merge(mergeAtRandom(rng, parts))); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}

func TestJobIsTheSameInAnyOrder(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var reports []*job.NodeReport
		for i, p := range partsOf(rng) {
			reports = append(reports, &job.NodeReport{Cluster: "c", JobID: 7, Node: fmt.Sprintf("n%d", i), NNodes: 20,
				Start: jobtest.Start.Add(time.Duration(i)), End: jobtest.Start.Add(2 * time.Hour), Decision: "on", Executions: []job.Execution{p},
				Steps: []job.Step{{ID: "0", Tasks: 3, Exits: map[string]int{"0": 3}}}})
		}
		jobOf := func() *job.Job {
			var m assemble.Merger
			for _, r := range reports {
				m.Add(r)
				if rng.IntN(4) == 0 {
					m.Bound()
				}
			}
			return m.Job()
		}
		want := jobOf()
		rng.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
		if d := cmp.Diff(want, jobOf()); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		if want.Metrics == nil || want.Executions[0].Metrics == nil || want.Executions[0].RankIDs == "" || want.Reports != len(reports) {
			t.Fatalf("not complete: %+v", want)
		}
	}
}

// TestMadeUpReportsAreBounded: root of a node makes up programs of a job, each with ranks on another node that never
// comes. What they take in memory has a bound.
func TestMadeUpReportsAreBounded(t *testing.T) {
	for what, made := range map[string]struct{ nodes, executions, calls, kept int }{"many": {3, 20_000, 0, 20_000}, "large": {20, 100, 4000, 1100}} {
		var m assemble.Merger
		e := jobtest.Part(rand.New(rand.NewPCG(1, 1)), "", "", jobtest.Start, 0, 2, 4)
		e.Calls = slices.Repeat(e.Calls[:1], made.calls)
		var added weak.Pointer[job.NodeReport]
		for node := range made.nodes {
			r := &job.NodeReport{JobID: 1, Node: fmt.Sprint("n", node), NNodes: made.nodes, Decision: "on"}
			for i := range made.executions {
				e.Key = fmt.Sprint(node, "-", i)
				e.Executable = e.Key
				r.Executions = append(r.Executions, e)
			}
			m.Add(r)
			m.Bound()
			added = weak.Make(r)
		}
		if runtime.GC(); added.Value() != nil {
			t.Errorf("%s: a report is held beside what it was joined to", what)
		}
		j := m.Job()
		if n := job.CountExecutions(j.Executions); n > made.kept || n == 0 || !strings.Contains(jobtest.Codes(j.Warnings), doubt.WarnImpossible) {
			t.Errorf("%s: %d executions, %v", what, n, jobtest.Codes(j.Warnings))
		}
	}
}

// Parts of one name that share ranks, or that started too far apart, are not one world.
func TestMergeKeepsWorldsApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	quick := func(from string, node string, first int, start time.Duration) job.Execution {
		e := jobtest.Part(rng, "k", node, jobtest.Start, first, 2, 4)
		e.KeyFrom, e.Start = from, jobtest.Start.Add(start)
		return e
	}
	tests := []struct {
		name  string
		parts []job.Execution
		want  []string // nodes and ranks of each
	}{
		{"one", []job.Execution{quick("pmix", "a", 0, 0), quick("pmix", "b", 2, 40*time.Second)}, []string{"a:0-1 b:2-3"}},
		{"no launcher, 6 s apart", []job.Execution{quick("start", "a", 0, 0), quick("start", "b", 2, 6*time.Second)}, []string{"a:0-1", "b:2-3"}},
		{"the nearest start", []job.Execution{quick("start", "a", 0, 0), quick("start", "b", 2, 2100*time.Millisecond),
			quick("start", "a", 0, 2*time.Second), quick("start", "b", 2, 100*time.Millisecond)}, []string{"a:0-1 b:2-3", "a:0-1 b:2-3"}},
		{"a rank twice", []job.Execution{quick("pmix", "a", 0, 0), quick("pmix", "b", 1, 0)}, []string{"a:0-1", "b:1-2"}},
	}
	for _, tt := range tests {
		var got []string
		for _, e := range assemble.Merge(tt.parts) {
			text := ""
			for _, n := range e.Nodes {
				text += " " + n.Node + ":" + n.RankIDs
			}
			got = append(got, text[1:])
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestMergeWarnsOfDifferentPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ executable, build, want string }{{"/bin/app", "ab", ""}, {"/bin/other", "ab", doubt.WarnExecutables}, {"/bin/app", "cd", doubt.WarnExecutables}} {
		a, b := jobtest.Part(rng, "k", "a", jobtest.Start, 0, 2, 4), jobtest.Part(rng, "k", "b", jobtest.Start, 2, 2, 4)
		a.Warnings, b.Warnings, a.BuildID, b.BuildID, b.Executable = nil, nil, "ab", c.build, c.executable
		e := assemble.Merge([]job.Execution{b, a})[0]
		if e.Executable != "/bin/app" || jobtest.Codes(e.Warnings) != c.want {
			t.Errorf("%+v: %s, %v", c, e.Executable, e.Warnings)
		}
	}
}

func TestOversubscribed(t *testing.T) {
	share := func(node, boot string, ranks, cpus int) job.NodeShare {
		return job.NodeShare{Node: node, BootID: boot, Ranks: ranks, OnlineCPUs: cpus}
	}
	counted := func(n job.NodeShare, whole int) job.NodeShare {
		n.Load = &job.Load{Ranks: n.Ranks, Whole: whole}
		return n
	}
	tests := []struct {
		nodes []job.NodeShare
		want  string
	}{
		{[]job.NodeShare{share("n1", "b", 2, 2)}, ""},
		{[]job.NodeShare{share("n1", "b", 3, 2)}, "3 ranks share 2 CPUs (node n1)"},
		{[]job.NodeShare{share("n1", "b", 2, 2), share("n2", "b", 2, 2)}, "4 ranks share 2 CPUs (nodes n1 and n2 are one machine)"},
		{[]job.NodeShare{share("n1", "b", 2, 2), share("n2", "c", 2, 2)}, ""},
		{[]job.NodeShare{share("n1", "b", 1, 1), share("n2", "b", 1, 1), share("n3", "b", 1, 1)},
			"3 ranks share 1 CPU (nodes n1, n2 and n3 are one machine)"},
		{[]job.NodeShare{share("n1", "b", 9, 0)}, ""},
		{[]job.NodeShare{counted(share("n1", "b", 3, 2), 2)}, "3 ranks share 2 CPUs (node n1)"},
		{[]job.NodeShare{counted(share("n1", "b", 3, 2), 3)}, ""}, // the kernel's counts tell whether they waited
		{[]job.NodeShare{counted(share("n1", "b", 3, 2), 3), share("n2", "c", 1, 1)}, "3 ranks share 2 CPUs (node n1)"},
	}
	for _, tt := range tests {
		got := ""
		for _, w := range assemble.Oversubscribed(&job.Execution{Nodes: tt.nodes}) {
			got += doubt.Text(w)
		}
		if got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// withoutMPI is a program of two threads on node n1, with others that are busy.
func withoutMPI(why string, busy int) job.Execution {
	return job.Execution{Key: "k", Size: 1, Nodes: []job.NodeShare{{Node: "n1", Ranks: 1, Useful: jobtest.Sec(10), UsefulMax: jobtest.Sec(10), ElapsedMax: jobtest.Sec(10), ElapsedSum: jobtest.Sec(10),
		Threads: &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Why: why},
		Load:    &job.Load{Ranks: 1, Whole: 1, Threaded: busy, Span: jobtest.Sec(10), CPU: jobtest.Sec(20), Other: jobtest.Sec(10)}}}}
}

func TestNoData(t *testing.T) {
	on := job.NodeReport{JobID: 1, Node: "n1", Decision: "on", Steps: []job.Step{{ID: "batch"}}}
	change := func(f func(*job.NodeReport)) []*job.NodeReport {
		r := on
		f(&r)
		return []*job.NodeReport{&r}
	}
	tests := []struct {
		reports []*job.NodeReport
		want    string
	}{
		{nil, doubt.Text(doubt.NewWarning(doubt.WhyNoReport, 0))},
		{change(func(r *job.NodeReport) { r.Decision = "off asked by the job (--jobeff=off)" }), "asked by the job (--jobeff=off)"},
		{change(func(r *job.NodeReport) { r.Decision = "off" }), "measuring was off"},
		{change(func(r *job.NodeReport) { r.Steps[0].Off = "JOBEFF=off" }), "JOBEFF=off"},
		{change(func(r *job.NodeReport) { r.Steps = nil }), "no step of this job ran under the plugin"},
		{change(func(r *job.NodeReport) { r.LostMemory = 1 }), "the records got no memory (the job's memory limit, or the record was filled)"},
		{change(func(r *job.NodeReport) { r.LostFull = 1 }), "the records found no room; nothing is wrong with your job; tell your support, with its id"},
		{change(func(r *job.NodeReport) { r.Processes = 1 }), "no process came back from MPI_Init"},
		{change(func(r *job.NodeReport) { r.Executions = []job.Execution{{Key: "k"}} }), "no rank left a sign after MPI_Init: there is no time to speak of"},
		{change(func(r *job.NodeReport) { r.Executions = []job.Execution{withoutMPI("old code", 1)} }),
			"it used no MPI, and what its threads did is not known: old code"},
		{change(func(r *job.NodeReport) { r.Executions = []job.Execution{withoutMPI("", 1)} }),
			"it used no MPI, and what its threads did is not known: some of them are not OpenMP's"},
		{change(func(r *job.NodeReport) {
			r.Warnings = []doubt.Warning{{Code: doubt.WarnForeign}}
		}),
			"the record of this job was replaced by another one"},
		{change(func(r *job.NodeReport) { r.Warnings = []doubt.Warning{doubt.NewWarning(doubt.WarnPreload, 2)} }),
			doubt.Text(doubt.NewWarning(doubt.WarnPreload, 0))},
		{change(func(r *job.NodeReport) { r.Warnings = []doubt.Warning{doubt.NewWarning(doubt.WarnUnseen, 2)} }),
			doubt.Text(doubt.NewWarning(doubt.WarnUnseen, 0))},
		{change(func(r *job.NodeReport) {
			r.Warnings = []doubt.Warning{doubt.NewWarning(doubt.WarnStub, 1), doubt.NewWarning(doubt.WarnStatic, 1)}
		}),
			doubt.Text(doubt.NewWarning(doubt.WarnStatic, 0))},
		{change(func(r *job.NodeReport) { r.Warnings = []doubt.Warning{doubt.NewWarning(doubt.WarnStub, 1)} }),
			doubt.Text(doubt.NewWarning(doubt.WarnStub, 0))},
		{change(func(r *job.NodeReport) {
			r.Warnings = []doubt.Warning{{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Kind: doubt.KindFile, Name: "x"}}, {Code: doubt.WarnUnreadable, Args: doubt.Arguments{Other: "it ends"}, Count: 1}}
		}), "the record was not read: it ends"},
		{change(func(r *job.NodeReport) { r.Steps = []job.Step{{ID: "batch"}, {ID: "0", Container: true}} }),
			"neither MPI nor OpenMP was seen: step 0 starts a container, and jobeff sees only into those that hold libjobeff.so and the job's record (doc/ADMIN.md, section 9)"},
		{change(func(r *job.NodeReport) { r.Steps = []job.Step{{ID: "batch"}} }),
			"neither MPI nor OpenMP was seen: no process called MPI_Init or began a parallel region (static linking, containers without jobeff and jobs that replace LD_PRELOAD hide them)"},
	}
	for _, tt := range tests {
		var m assemble.Merger
		for _, r := range tt.reports {
			m.Add(r)
		}
		if j := m.Job(); doubt.Text(j.NoData) != tt.want || j.Metrics != nil {
			t.Errorf("got %q, want %q", doubt.Text(j.NoData), tt.want)
		}
	}
}

func TestJobWarnsOfMissingNodes(t *testing.T) {
	var m assemble.Merger
	m.Add(&job.NodeReport{JobID: 1, Node: "n1", NNodes: 3, Decision: "on", LostFull: 2})
	j := m.Job()
	if jobtest.Codes(j.Warnings) != doubt.WarnLostFull+" "+doubt.WarnNodesMissing || j.Nodes != 3 || j.Reports != 1 {
		t.Errorf("got %+v", j)
	}
}

// TestJobWarnsOfRanksThatNeverMet: a job whose every rank was alone says so itself, since lists have no executions.
func TestJobWarnsOfRanksThatNeverMet(t *testing.T) {
	for want, executions := range map[bool][]job.Execution{
		true:  {jobtest.Singleton(0), jobtest.Singleton(0)},
		false: {jobtest.Singleton(0), jobtest.Singleton(0), jobtest.World(0, 2, 0, jobtest.Work(3500, 1), jobtest.Work(3500, 1))},
	} {
		var m assemble.Merger
		r := jobtest.Report(1, "n1", jobtest.Nonce)
		for i := range executions {
			executions[i].Key = fmt.Sprint("k", i)
		}
		r.Executions = executions
		m.Add(r)
		if j := m.Job(); len(j.Executions) != len(executions) || slices.Contains(j.Warnings, job.NeverMetWarning) != want || j.NeverMet() != want {
			t.Errorf("%d executions: %v, %t, want %t", len(j.Executions), j.Warnings, j.NeverMet(), want)
		}
	}
}

// TestRanksTakeNoMemory: nine letters name a million ranks. What they take does not grow with these, and
// worlds that all have the same ranks are not each compared with all others.
func TestRanksTakeNoMemory(t *testing.T) {
	merged := func(worlds int) {
		var m assemble.Merger
		r := jobtest.Report(1, "n1", jobtest.Nonce)
		x := r.Executions[0]
		x.Size, x.Nodes[0].Ranks, x.Nodes[0].RankIDs = 1<<20+1, 1<<20, "0-1048575"
		r.Executions = slices.Repeat([]job.Execution{x}, worlds)
		if wire.DropImpossible(r); len(r.Executions) != worlds {
			t.Fatalf("%d of %d worlds can be", len(r.Executions), worlds)
		}
		m.Add(r)
		m.Job()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	merged(20)
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 20 {
		t.Errorf("20 worlds of a million ranks took %d MiB", took)
	}
	jobtest.WantLinear(t, func() { merged(2000) }, func() { merged(8000) })
}
