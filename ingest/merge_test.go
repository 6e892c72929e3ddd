package ingest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testStart = time.Unix(1_700_000_000, 0).UTC()

// partOf is what node saw of the execution key: ranks first to first+n-1.
func partOf(rng *rand.Rand, key, node string, start time.Time, first, n, size int) Execution {
	e := Execution{Key: "pmix:" + key, KeyFrom: "pmix", Size: size, Start: start.Add(time.Duration(rng.IntN(1e9))),
		Executable: "/bin/app", Steps: []string{[]string{"batch", "0"}[rng.IntN(2)]}, Endings: map[string]int{}}
	e.End = e.Start.Add(time.Minute)
	share := NodeShare{Node: node, BootID: node, OnlineCPUs: 2, RankIDs: formatRanges(seq(first, n)), Ranks: n}
	for i := range n {
		useful, mpi := time.Duration(rng.IntN(1e12)), time.Duration(rng.IntN(1e12))
		share.Useful, share.UsefulMax = share.Useful+useful, max(share.UsefulMax, useful)
		share.MPI, share.ElapsedMax = share.MPI+mpi, max(share.ElapsedMax, useful+mpi)
		e.Slowest = append(e.Slowest, Rank{Rank: first + i, Node: node, Useful: useful})
		e.Endings[[]string{EndingFinalized, "signal 9 (SIGKILL)"}[rng.IntN(2)]]++
	}
	if rng.IntN(2) == 0 {
		share.Counters = &Counters{n, rng.Uint64(), rng.Uint64(), time.Duration(rng.Int64())}
	}
	e.Nodes = []NodeShare{share}
	for _, name := range []string{"MPI_Send", "MPI_Recv", "MPI_Bcast"}[:1+rng.IntN(3)] {
		e.Calls = append(e.Calls, Call{Name: name, Count: rng.Uint64() >> 2, Time: time.Duration(rng.Int64() >> 1),
			Sent: rng.Uint64(), Largest: rng.Uint64()})
	}
	e.HistP2P = make([]uint64, rng.IntN(5))
	for b := range e.HistP2P {
		e.HistP2P[b] = rng.Uint64()
	}
	e.InputNote, e.Workload = noRankZero, []string{"", "water", "ice"}[rng.IntN(3)]
	if first == 0 {
		e.ArgsHash, e.InputHash, e.Inputs, e.InputNote = fmt.Sprintf("%032x", rng.Uint64()), fmt.Sprintf("%032x", rng.Uint64()), 2, ""
	}
	e.Slowest = slowest(e.Slowest)
	sortCalls(e.Calls)
	e.Sections = sectionsAt(rng)
	if rng.IntN(2) == 0 {
		e.Warnings = []Warning{{Code: WarnTorn, Text: warningText[WarnTorn], Count: 1 + rng.IntN(3)}}
	}
	return e
}

func seq(first, n int) (out []int) {
	for i := range n {
		out = append(out, first+i)
	}
	return out
}

// partsOf are the parts of several executions over many nodes; a name comes round
// after an hour.
func partsOf(rng *rand.Rand) []Execution {
	var parts []Execution
	for x, key := range []string{"a", "b", "a"} {
		nodes := 1 + rng.IntN(6)
		for n := range nodes {
			start := testStart.Add(time.Duration(x) * time.Hour)
			parts = append(parts, partOf(rng, key, fmt.Sprintf("n%d", n), start, 3*n, 3, 3*nodes))
		}
	}
	return parts
}

// mergeAtRandom merges the parts in a random order and a random tree.
func mergeAtRandom(rng *rand.Rand, parts []Execution) []Execution {
	if len(parts) < 2 {
		return parts
	}
	parts = append([]Execution(nil), parts...)
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	cut := rng.IntN(len(parts))
	return Merge(append(mergeAtRandom(rng, parts[:cut]), mergeAtRandom(rng, parts[cut:])...))
}

func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		parts := partsOf(rng)
		want := Merge(parts)
		if len(want) != 3 {
			t.Fatalf("seed %d: %d executions", seed, len(want))
		}
		for range 5 {
			if d := cmp.Diff(want, Merge(mergeAtRandom(rng, parts))); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}

func TestJobIsTheSameInAnyOrder(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var reports []*NodeReport
		for i, p := range partsOf(rng) {
			reports = append(reports, &NodeReport{Cluster: "c", JobID: 7, Node: fmt.Sprintf("n%d", i), NNodes: 20,
				Start: testStart.Add(time.Duration(i)), End: testStart.Add(2 * time.Hour), Decision: "on", Executions: []Execution{p},
				Steps: []Step{{ID: "0", Tasks: 3, Exits: map[string]int{"0": 3}}}})
		}
		jobOf := func() *Job {
			var m JobMerger
			for _, r := range reports {
				m.Add(r)
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

// Parts of one name that share ranks, or started too far apart, are not one world.
func TestMergeKeepsWorldsApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	quick := func(from string, node string, first int, start time.Duration) Execution {
		e := partOf(rng, "k", node, testStart, first, 2, 4)
		e.KeyFrom, e.Start = from, testStart.Add(start)
		return e
	}
	tests := []struct {
		name  string
		parts []Execution
		want  []string // nodes and ranks of each
	}{
		{"one", []Execution{quick("pmix", "a", 0, 0), quick("pmix", "b", 2, 40*time.Second)}, []string{"a:0-1 b:2-3"}},
		{"no launcher, 6 s apart", []Execution{quick("start", "a", 0, 0), quick("start", "b", 2, 6*time.Second)}, []string{"a:0-1", "b:2-3"}},
		{"the nearest start", []Execution{quick("start", "a", 0, 0), quick("start", "b", 2, 2100*time.Millisecond),
			quick("start", "a", 0, 2*time.Second), quick("start", "b", 2, 100*time.Millisecond)}, []string{"a:0-1 b:2-3", "a:0-1 b:2-3"}},
		{"a rank twice", []Execution{quick("pmix", "a", 0, 0), quick("pmix", "b", 1, 0)}, []string{"a:0-1", "b:1-2"}},
	}
	for _, tt := range tests {
		var got []string
		for _, e := range Merge(tt.parts) {
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

func TestSumsStopAtTheLargestNumber(t *testing.T) {
	c := Call{Count: math.MaxUint64 - 1, Time: math.MaxInt64 - 1}
	c.add(Call{Count: 5, Time: 5})
	if c.Count != math.MaxUint64 || c.Time != math.MaxInt64 {
		t.Errorf("got %+v", c)
	}
}

func TestMergeWarnsOfDifferentPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	a, b := partOf(rng, "k", "a", testStart, 0, 2, 4), partOf(rng, "k", "b", testStart, 2, 2, 4)
	a.Warnings, b.Warnings, b.Executable = nil, nil, "/bin/other"
	e := Merge([]Execution{b, a})[0]
	if e.Executable != "/bin/app" || codes(e.Warnings) != WarnExecutables {
		t.Errorf("%s, %v", e.Executable, e.Warnings)
	}
}

func TestOversubscribed(t *testing.T) {
	share := func(node, boot string, ranks, cpus int) NodeShare {
		return NodeShare{Node: node, BootID: boot, Ranks: ranks, OnlineCPUs: cpus}
	}
	tests := []struct {
		nodes []NodeShare
		want  string
	}{
		{[]NodeShare{share("n1", "b", 2, 2)}, ""},
		{[]NodeShare{share("n1", "b", 3, 2)}, "3 ranks share 2 CPUs (node n1)"},
		{[]NodeShare{share("n1", "b", 2, 2), share("n2", "b", 2, 2)}, "4 ranks share 2 CPUs (nodes n1 and n2 are one machine)"},
		{[]NodeShare{share("n1", "b", 2, 2), share("n2", "c", 2, 2)}, ""},
		{[]NodeShare{share("n1", "b", 1, 1), share("n2", "b", 1, 1), share("n3", "b", 1, 1)},
			"3 ranks share 1 CPUs (nodes n1, n2 and n3 are one machine)"},
		{[]NodeShare{share("n1", "b", 9, 0)}, ""},
	}
	for _, tt := range tests {
		got := ""
		for _, w := range oversubscribed(&Execution{Nodes: tt.nodes}) {
			got += w.Text
		}
		if got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestNoData(t *testing.T) {
	on := NodeReport{JobID: 1, Node: "n1", Decision: "on", Steps: []Step{{ID: "batch"}}}
	change := func(f func(*NodeReport)) []*NodeReport {
		r := on
		f(&r)
		return []*NodeReport{&r}
	}
	tests := []struct {
		reports []*NodeReport
		want    string
	}{
		{nil, "no node has reported yet"},
		{change(func(r *NodeReport) { r.Decision = "off asked by the job (--jobeff=off)" }), "asked by the job (--jobeff=off)"},
		{change(func(r *NodeReport) { r.Decision = "off" }), "measuring was off"},
		{change(func(r *NodeReport) { r.Steps[0].Off = "JOBEFF=off" }), "JOBEFF=off"},
		{change(func(r *NodeReport) { r.Steps = nil }), "no step of this job ran under the plugin"},
		{change(func(r *NodeReport) { r.LostMemory = 1 }), "the records got no memory (the job's memory limit, or /run/jobeff is full)"},
		{change(func(r *NodeReport) { r.LostFull = 1 }), "the records found no room: raise measure.record_mib"},
		{change(func(r *NodeReport) { r.Processes = 1 }), "no process came out of MPI_Init"},
		{change(func(r *NodeReport) { r.Executions = []Execution{{Key: "k"}} }), "MPI_Finalize followed MPI_Init at once: there is no time to speak of"},
		{change(func(r *NodeReport) { r.Warnings = []Warning{{Code: WarnForeign, Text: warningText[WarnForeign]}} }),
			"the record of this job was replaced by another one"},
		{change(func(r *NodeReport) { r.Steps = []Step{{ID: "batch"}} }),
			"no MPI was seen: no process called MPI_Init (an MPI that is linked statically cannot be seen)"},
	}
	for _, tt := range tests {
		var m JobMerger
		for _, r := range tt.reports {
			m.Add(r)
		}
		if j := m.Job(); j.NoData != tt.want || j.Metrics != nil {
			t.Errorf("got %q, want %q", j.NoData, tt.want)
		}
	}
}

func TestJobWarnsOfMissingNodes(t *testing.T) {
	var m JobMerger
	m.Add(&NodeReport{JobID: 1, Node: "n1", NNodes: 3, Decision: "on", LostFull: 2})
	j := m.Job()
	if codes(j.Warnings) != WarnLostFull+" "+WarnNodesMissing || j.Nodes != 3 || j.Reports != 1 {
		t.Errorf("got %+v", j)
	}
}

func TestDisplayID(t *testing.T) {
	task, offset := uint32(4), uint32(1)
	tests := []struct {
		job  Job
		want string
	}{
		{Job{JobID: 7}, "7"},
		{Job{JobID: 9, ArrayJobID: 7, ArrayTaskID: &task}, "7_4"},
		{Job{JobID: 9, HetJobID: 7}, "7+2"},
		{Job{JobID: 9, HetJobID: 7, HetOffset: &offset}, "7+1"},
	}
	for _, tt := range tests {
		if got := DisplayID(&tt.job); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, text := range []string{"", "0", "0-3,8", "5,7-9,11"} {
		var got []int
		if err := eachRange(text, func(lo, hi int) { got = append(got, seq(lo, hi-lo+1)...) }); err != nil {
			t.Fatal(err)
		}
		if back := formatRanges(got); back != text {
			t.Errorf("%q became %q", text, back)
		}
	}
	for _, text := range []string{"3-1", "0-2,1", "a", "-1", "1,,2", "99999999999999999999"} {
		if err := eachRange(text, func(int, int) {}); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}
