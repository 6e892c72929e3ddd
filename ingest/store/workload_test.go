package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/preload/record"
)

// runReport is the report of a one-node job that ran a program for some seconds.
func runReport(id uint32, hour int, ranks int, change func(x *job.Execution)) *job.NodeReport {
	r := nodeReport(id, 1, fmt.Sprint("w", id), time.Duration(hour)*time.Hour)
	x := &r.Executions[0]
	x.Size, x.Executable, x.BuildID, x.ArgsHash, x.InputHash = ranks, "/opt/lmp", "b1d0", strings.Repeat("a1", 16), strings.Repeat("c1", 16)
	x.Nodes[0].Ranks, x.Nodes[0].RankIDs = ranks, fmt.Sprintf("0-%d", ranks-1)
	if ranks == 1 { // instead of two
		x.Nodes[0].Useful, x.Nodes[0].MPI, x.Nodes[0].ElapsedSum = 7*time.Second, 5*time.Second, 12*time.Second
	}
	x.Classes = []job.Call{{Name: record.ClassColl.String(), Count: uint64(100 * ranks)}}
	x.Endings = map[string]int{job.EndingFinalized: ranks}
	if change != nil {
		change(x)
	}
	return r
}

func named(name string) func(*job.Execution) {
	return func(x *job.Execution) { x.Workload = name }
}

// TestWorkload: what makes a workload, and what its runs hold.
func TestWorkload(t *testing.T) {
	s := open(t)
	args := func(x *job.Execution) { x.ArgsHash = strings.Repeat("a2", 16) }
	input := func(x *job.Execution) { x.InputHash = strings.Repeat("c2", 16) }
	program := func(x *job.Execution) { x.BuildID = "b2" }
	unknown := func(x *job.Execution) { x.ArgsHash = "" }
	killed := func(x *job.Execution) { x.Endings = map[string]int{job.EndingFinalized: 1, "signal 9": 7} }
	addConfirmed(t, s, runReport(1, 1, 1, nil), runReport(2, 2, 2, nil), runReport(3, 3, 4, nil), runReport(4, 0, 8, killed),
		runReport(11, 4, 2, args), runReport(12, 4, 2, input), runReport(13, 4, 2, program), runReport(14, 4, 2, unknown), runReport(15, 4, 2, named("melt")))
	line := sacct(2, "2", "COMPLETED", 2*time.Hour, 2*time.Hour, 2*time.Hour+20*time.Second)
	line.GPUs = 3
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	w, err := s.WorkloadOf(ctx, alice, aJob(t, s, alice, "3", 0))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range w.Runs {
		got = append(got, fmt.Sprintf("%d: %d ranks, ended %v", r.JobID, r.Ranks, r.Ended))
	}
	if d := cmp.Diff("4: 8 ranks, ended false\n1: 1 ranks, ended true\n2: 2 ranks, ended true\n3: 4 ranks, ended true", strings.Join(got, "\n")); d != "" {
		t.Error(d)
	}
	if w.Name != "lmp-"+w.Key[:6] || w.UID != alice.UID || w.User != "alice" || w.Executable != "/opt/lmp" || w.Mute != nil {
		t.Errorf("workload %+v", w)
	}
	want := job.Run{Cluster: "test", JobID: 2, Attempt: 1, DisplayID: "2", UID: 1001, User: "alice", Account: "proj",
		Start: day.Add(2 * time.Hour), Ranks: 2, Threads: 1, Nodes: 1, GPUs: 3, AllocCPUs: 4, Ended: true, Coverage: 1, Elapsed: 12, Useful: 14, MPITime: 10, Partition: "main",
		Collectives: 100, Executable: "/opt/lmp", BuildID: "b1d0",
		Sections:   []job.RunSection{{Label: "MPI_MAIN", Own: 7.5}, {Label: "halo", Own: 4.5}},
		Conditions: &job.Conditions{Input: strings.Repeat("c1", 16), UsefulMax: 8}, State: "COMPLETED"}
	if d := cmp.Diff(want, w.Runs[2]); d != "" {
		t.Error(d)
	}
	if list, err := listed(s, alice, listing.WorkloadQuery{}, nil); err != nil || len(list.Workloads) != 5 {
		t.Errorf("%v, %v", list, err)
	}
	if w, err := s.WorkloadOf(ctx, alice, aJob(t, s, alice, "14", 0)); w != nil || err != nil {
		t.Errorf("a run whose arguments are not known: %v, %v", w, err)
	}
}

// TestRebuilt: where a build has no earlier run on as many cores, those of other builds of the same work are found.
func TestRebuilt(t *testing.T) {
	s := open(t)
	built := func(id string) func(*job.Execution) { return func(x *job.Execution) { x.BuildID = id } }
	other := func(x *job.Execution) { x.BuildID, x.ArgsHash = "b0", strings.Repeat("a2", 16) }
	bobs := runReport(9, 0, 2, nil)
	bobs.UID = bob.UID
	addConfirmed(t, s, runReport(1, 1, 2, built("b0")), runReport(2, 2, 2, nil), runReport(3, 3, 4, nil), runReport(4, 4, 2, other),
		runReport(5, 5, 2, built("b2")), runReport(6, 6, 2, built("b2")), runReport(7, 7, 2, built("b3")), runReport(8, 8, 8, built("b2")), bobs)
	for id, want := range map[string]string{"1": "[]", "2": "[1]", "4": "[]", "5": "[2 1]", "6": "[]", "7": "[6 5 2 1]", "8": "[]"} {
		j := aJob(t, s, alice, id, 0)
		w, err := s.WorkloadOf(ctx, alice, j)
		if err != nil {
			t.Fatal(err)
		}
		err = s.AddRebuilt(ctx, alice, w, j)
		found := []uint32{}
		for _, r := range w.Rebuilt {
			found = append(found, r.JobID)
		}
		if got := fmt.Sprint(found); got != want || err != nil {
			t.Errorf("before job %s: %s, not %s; %v", id, got, want, err)
		}
	}
}

// TestWorkloadMerge: a job whose nodes report one after another is one run.
func TestWorkloadMerge(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	for _, r := range reports {
		r.Executions[0].Workload = "two"
		add(t, s, r)
	}
	line := sacct(7, "7", "COMPLETED", 0, 0, 20*time.Second)
	line.Nodes, line.NodeList = 2, "n[1-2]"
	addLines(t, s, line)
	w, err := merged(t, s).Workload(ctx, alice, "two", nil)
	if err != nil || len(w.Runs) != 1 || w.Runs[0].Nodes != 2 || w.Runs[0].Coverage != 1 || count(t, s, "workload_runs") != 1 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWorkloadNames(t *testing.T) {
	s := open(t)
	addConfirmed(t, s, runReport(1, 1, 1, nil), runReport(2, 2, 2, named("melt")), runReport(3, 3, 2, named("melt-large")), runReport(4, 4, 2, named("crack")))
	bobs := runReport(5, 5, 2, named("melt"))
	bobs.UID = bob.UID
	addConfirmed(t, s, bobs)
	w, err := s.WorkloadOf(ctx, alice, aJob(t, s, alice, "1", 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		viewer Viewer
		name   string
		uid    *uint32
		want   string // its job, or the error
	}{
		{alice, w.Key, nil, "1"}, {alice, w.Key[:8], nil, "1"}, {alice, "lmp-" + w.Key[:6], nil, "1"}, {alice, "lm", nil, "1"},
		{alice, "melt", nil, "2"}, {alice, "melt-", nil, "3"}, {alice, "c", nil, "4"}, {bob, "m", nil, "5"}, {root, "melt", &bob.UID, "5"},
		{alice, "mel", nil, "ambiguous: 2"}, {root, "melt", nil, "ambiguous: 2"}, {alice, "%", nil, "none"}, {alice, "nothing", nil, "none"},
		{bob, w.Key, nil, "none"}, {bob, "crack", nil, "none"}, {bob, "crack", &alice.UID, "none"}, {bob, "melt", &alice.UID, "none"}, {Viewer{UID: 5}, "melt", nil, "none"},
	} {
		got := ""
		w, err := s.Workload(ctx, c.viewer, c.name, c.uid)
		var several *AmbiguousError
		switch {
		case err == nil:
			got = w.Runs[0].DisplayID
		case errors.As(err, &several):
			got = fmt.Sprintf("ambiguous: %d", len(several.Some))
		case errors.Is(err, ErrNoWorkload):
			got = "none"
		default:
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d asks for %q: got %s, want %s", c.viewer.UID, c.name, got, c.want)
		}
	}
}

// listed is the list that a query gets.
func listed(s *Store, v Viewer, q listing.WorkloadQuery, uid *uint32) (list listing.WorkloadList, err error) {
	list.Next, err = s.EachWorkload(ctx, v, q, uid, func(one *listing.WorkloadSummary) error {
		list.Workloads = append(list.Workloads, *one)
		return nil
	})
	list.More = list.Next != ""
	return list, err
}

// TestWorkloadCursor: page by page a list goes on behind what was listed last, also where it must look beyond
// the newest runs, and whatever runs meanwhile.
func TestWorkloadCursor(t *testing.T) {
	s := open(t)
	for i := range uint32(12) {
		addConfirmed(t, s, runReport(1+i, int(i)/2, 1<<(i%3), named(fmt.Sprint("w", i%9)))) // some begin together
	}
	for _, uid := range []*uint32{nil, &alice.UID} {
		var want, got []string
		whole, err := listed(s, root, listing.WorkloadQuery{}, uid)
		if err != nil || len(whole.Workloads) != 9 {
			t.Fatalf("%+v, %v", whole, err)
		}
		for _, w := range whole.Workloads {
			want = append(want, w.Name)
		}
		for q := (listing.WorkloadQuery{Limit: 2}); len(got) < 20; {
			page, err := listed(s, root, q, uid)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range page.Workloads {
				got = append(got, w.Name)
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if _, err := listed(s, root, listing.WorkloadQuery{Muted: true, After: whole.Next + "x"}, uid); err == nil {
			t.Error("a made-up place is taken")
		}
		addConfirmed(t, s, runReport(50, 40, 4, named("w8"))) // is the first one now
	}
}

// TestWorkloadsList: newest first, bounded, each with its sums; no one sees another's.
func TestWorkloadsList(t *testing.T) {
	s := open(t)
	for i := range uint32(12) {
		addConfirmed(t, s, runReport(1+i, int(i), 1<<(i%3), named(fmt.Sprint("w", i%4))))
	}
	list, err := listed(s, alice, listing.WorkloadQuery{Limit: 3}, nil)
	if err != nil || !list.More || len(list.Workloads) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	first := list.Workloads[0]
	if first.Name != "w3" || first.Newest.JobID != 12 || first.Runs != 3 || first.FewestCores != 1 || first.MostCores != 4 || first.CoreHours != 7*12.0/3600 {
		t.Errorf("%+v", first)
	}
	for _, c := range []struct {
		name string
		v    Viewer
		q    listing.WorkloadQuery
		uid  *uint32
		want int
	}{
		{"all", alice, listing.WorkloadQuery{}, nil, 4},
		{"since", alice, listing.WorkloadQuery{Since: day.Add(10 * time.Hour)}, nil, 2},
		{"muted", alice, listing.WorkloadQuery{Muted: true}, nil, 0},
		{"another's", bob, listing.WorkloadQuery{}, &alice.UID, 0},
		{"bob's own", bob, listing.WorkloadQuery{}, nil, 0},
		{"everybody's", root, listing.WorkloadQuery{}, nil, 4},
		{"after the first", alice, listing.WorkloadQuery{Offset: 3}, nil, 1},
		{"after the last", alice, listing.WorkloadQuery{Offset: 4, Detail: true}, nil, 0},
		{"one user's", root, listing.WorkloadQuery{}, &bob.UID, 0},
	} {
		list, err := listed(s, c.v, c.q, c.uid)
		if err != nil || len(list.Workloads) != c.want || list.More {
			t.Errorf("%s: %d, want %d; %v", c.name, len(list.Workloads), c.want, err)
		}
	}
	every, err := listed(s, root, listing.WorkloadQuery{}, nil)
	for i := range 4 {
		page, pageErr := listed(s, root, listing.WorkloadQuery{Limit: 1, Offset: i}, nil)
		if d := cmp.Diff(every.Workloads[i:i+1], page.Workloads); d != "" || err != nil || pageErr != nil || page.More != (i < 3) {
			t.Errorf("%v, %v, page %d, more %v: %s", err, pageErr, i, page.More, d)
		}
	}
	for i := range uint32(maxDetailed) {
		addConfirmed(t, s, runReport(20+i, 12, 2, named(fmt.Sprint("v", i))))
	}
	list, err = listed(s, alice, listing.WorkloadQuery{Detail: true}, nil)
	if err != nil || !list.More || len(list.Workloads) != maxDetailed {
		t.Fatalf("%d with detail, %v", len(list.Workloads), err)
	}
	list, err = listed(s, alice, listing.WorkloadQuery{Detail: true, Offset: maxDetailed}, nil)
	if err != nil || list.More || len(list.Workloads) != 4 {
		t.Fatalf("%d more, %v", len(list.Workloads), err)
	}
	one, err := s.Workload(ctx, alice, "w3", nil)
	if err == nil {
		err = s.AddJobsOf(ctx, alice, one)
	}
	if d := cmp.Diff(one, list.Workloads[0].Workload); d != "" || err != nil || len(one.Runs) != 3 {
		t.Errorf("%v, alone and in a list:\n%s", err, d)
	}
}

// TestWorkloadBound: of many runs the newest are read, and some of every core count.
func TestWorkloadBound(t *testing.T) {
	s := open(t)
	k := attemptKey{"test", 1, 1}
	attempt := func() {
		if err := s.do(ctx, func(w *writer) error {
			return w.writeAttempt(&attemptRow{attemptKey: k, job: job.Job{UID: alice.UID}, changed: day}, from(opening))
		}); err != nil {
			t.Fatal(err)
		}
	}
	attempt()
	addRuns := func(name string, from, n int, ranks func(i int) int) {
		var rows []any
		for i := range n {
			x := runReport(1, i, 4, named(name)).Executions[0]
			x.Size = ranks(i)
			x.Metrics = job.ExecutionMetrics(&x)
			row, err := workloadRow(k, alice.UID, from+i, &x)
			if err != nil {
				t.Fatal(err)
			}
			rows = appendValues(rows, workloadTable.columns, row)
		}
		if err := s.do(ctx, func(w *writer) error { return w.insertRows(workloadTable.into, rows) }); err != nil {
			t.Fatal(err)
		}
	}
	addRuns("many", 0, 2*runsKept, func(i int) int {
		if i < 3 {
			return 2
		}
		return 4 + i%24
	})
	w, err := s.Workload(ctx, alice, "many", nil)
	if err != nil || len(w.Runs) != runsKept {
		t.Fatalf("%d runs, %v", len(w.Runs), err)
	}
	runs := map[int]int{}
	for _, r := range w.Runs {
		runs[r.Ranks]++
	}
	if w.Runs[3].Execution < runsKept-100 || runs[2] != 3 || runs[4] < 40 || runs[27] < 40 {
		t.Errorf("runs by cores %v, the oldest but those on 2 is number %d", runs, w.Runs[3].Execution)
	}
	addRuns("same", 2*runsKept, 3*coreRunsKept, func(int) int { return 4 })
	if w, err = s.Workload(ctx, alice, "same", nil); err != nil || len(w.Runs) != coreRunsKept || w.Runs[0].Execution != 2*runsKept+2*coreRunsKept {
		t.Errorf("%d runs on one core count, from number %d, %v", len(w.Runs), w.Runs[0].Execution, err)
	}
	k.jobID = 2
	attempt()
	addRuns("same", 0, 1, func(int) int { return 4 })
	x := runReport(1, 0, 4, named("same")).Executions[0]
	j := &job.Job{Cluster: k.cluster, JobID: k.jobID, Attempt: 1, UID: alice.UID, Executions: []job.Execution{x}}
	if w, err = s.WorkloadOf(ctx, alice, j); err != nil || len(w.Runs) != coreRunsKept+1 || w.Runs[0].JobID != 2 {
		t.Errorf("%d runs of an old job's workload, the oldest of job %d, %v", len(w.Runs), w.Runs[0].JobID, err)
	}
	used, lost := w.Runs[0].CoreHours()
	n := float64(3*coreRunsKept + 1)
	want := job.RunSum{Runs: int(n), Used: n * used, Known: n * used, Lost: n * lost}
	if got := w.Sum(); lost <= 0 || got.Runs != want.Runs || math.Abs(got.Used-want.Used)+math.Abs(got.Known-want.Known)+math.Abs(got.Lost-want.Lost) > 1e-6 {
		t.Errorf("the sum is %+v, want %+v", got, want)
	}
	if got, err := s.sumOfRuns(ctx, bob, w); err != nil || *got != (job.RunSum{}) {
		t.Errorf("bob sees %+v, %v", got, err)
	}
	if os.Getenv(testServer) == "" {
		if plan := sqlitePlan(t, s, sumOfAllRuns); !strings.Contains(plan[0], "COVERING INDEX") {
			t.Errorf("the sum reads the runs: %v", plan)
		}
	}
}

func TestMute(t *testing.T) {
	s := open(t)
	addConfirmed(t, s, runReport(1, 1, 1, named("melt")))
	now := time.Now().Truncate(time.Microsecond).UTC()
	m := job.Mute{Since: now, Until: now.Add(time.Hour), Reason: "I know"}
	set := func(v Viewer, m job.Mute) error {
		_, err := s.SetMute(ctx, v, "melt", &alice.UID, m)
		return err
	}
	holds := func() *job.Mute {
		w, err := s.Workload(ctx, alice, "melt", nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := listed(s, alice, listing.WorkloadQuery{Muted: true}, nil)
		if err != nil || len(list.Workloads) == 1 != (w.Mute != nil) {
			t.Errorf("the list of muted ones has %d, %v", len(list.Workloads), err)
		}
		return w.Mute
	}
	if err := set(bob, m); !errors.Is(err, ErrNoWorkload) || holds() != nil {
		t.Errorf("another's: %v", err)
	}
	if err := set(alice, m); err != nil || cmp.Diff(&m, holds()) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(&m, holds()))
	}
	m.Reason = "root knows"
	if err := set(root, m); err != nil || cmp.Diff(&m, holds()) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(&m, holds()))
	}
	if w, err := s.ClearMute(ctx, alice, "melt", nil); err != nil || w.Mute == nil || holds() != nil {
		t.Errorf("%v, %v", w, err)
	}
	m.Until = now.Add(-time.Second)
	if err := set(alice, m); err != nil || holds() != nil {
		t.Errorf("one that has ended holds: %v", err)
	}
}
