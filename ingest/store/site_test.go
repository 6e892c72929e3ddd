package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/wire"
)

// siteStore holds jobs of two users under two accounts: 1, 2 and 3 are alice's under chem, chem and bio, 4 is
// bob's under bio; 5 of alice's under chem runs. 1 and 2 are runs of one workload, 4 of another one.
func siteStore(t *testing.T) *Store {
	s := open(t)
	for id, x := range map[uint32]func(*job.Execution){1: nil, 2: nil, 3: func(x *job.Execution) { x.Executable = "/opt/a_b%/x,y.exe"; x.Workload = "exe" },
		4: func(x *job.Execution) { x.Executable = "lmp"; x.Workload = "theirs" }} {
		r := runReport(id, int(id), 2, x)
		if id == 4 {
			r.UID, r.User = bob.UID, "bob"
		}
		add(t, s, onThreads(r, 1+int(id)%2))
	}
	for id := range uint32(5) {
		id++
		begin := time.Duration(id) * time.Hour
		line := sacct(id, fmt.Sprint(id), "COMPLETED", begin, begin, begin+time.Duration(20*id)*time.Second)
		line.CPUs, line.Account, line.Name, line.WithSteps = int(2*id), []string{"chem", "chem", "bio", "bio", "chem"}[id-1], fmt.Sprint("Job-", id), true
		switch id {
		case 4:
			line.UID, line.User = bob.UID, "bob"
		case 5:
			line.State, line.End, line.Elapsed = "RUNNING", time.Time{}, 0
		}
		addLines(t, s, line)
	}
	merged(t, s)
	rules := Judging{Rules: 1 << 62, Grace: time.Hour, Ask: func(j *listing.JobAndWorkload) []string {
		return map[uint32][]string{1: {"low"}, 2: {"low", "late"}, 4: {"lower"}}[j.JobID]
	}}
	if err := s.JudgeBy(ctx, rules.Rules); err != nil {
		t.Fatal(err)
	}
	judged(t, s, rules, 24*time.Hour)
	return s
}

// chemist is a coordinator of chem.
var chemist = Viewer{UID: 1003, Accounts: []string{"chem", ""}}

func TestFurtherFilters(t *testing.T) {
	s := siteStore(t)
	for _, c := range []struct {
		q    listing.JobQuery
		want string
	}{
		{listing.JobQuery{Program: "lmp"}, "1 2 4"},
		{listing.JobQuery{Program: "x,y.exe"}, "3"}, // a name with a comma
		{listing.JobQuery{Program: "none,lmp"}, "1 2 4"},
		{listing.JobQuery{Program: "/opt/lmp"}, "1 2"},
		{listing.JobQuery{Program: "mp"}, ""},
		{listing.JobQuery{Program: "%"}, ""},
		{listing.JobQuery{Program: "_mp,')) OR 1=1 --"}, ""},
		{listing.JobQuery{Program: strings.Repeat("é", 300) + ",,"}, ""},
		{listing.JobQuery{Rule: "low"}, "1 2"},
		{listing.JobQuery{Rule: "late,lower"}, "2 4"},
		{listing.JobQuery{Rule: "lo"}, ""},
		{listing.JobQuery{Rule: ",%,low' OR ''='"}, ""},
		{listing.JobQuery{Name: "job-"}, "1 2 3 4 5"},
		{listing.JobQuery{Name: "B-3"}, "3"},
		{listing.JobQuery{Name: "%"}, ""},
		{listing.JobQuery{Name: "' OR 1=1 --"}, ""},
		{listing.JobQuery{LeastCores: 6}, "3 4 5"},
		{listing.JobQuery{MostCores: 6}, "1 2 3"},
		{listing.JobQuery{LeastCores: 4, MostCores: 4}, "2"},
		{listing.JobQuery{LeastElapsed: time.Minute}, "3 4"},
		{listing.JobQuery{MostElapsed: 40 * time.Second}, "1 2 5"}, // so far
		{listing.JobQuery{Rule: "low", MostCores: 2, Program: "lmp", Name: "job", Account: "chem"}, "1"},
	} {
		forwards, backwards := strings.Fields(c.want), strings.Fields(c.want)
		slices.Reverse(backwards)
		for sort, want := range map[string][]string{"": forwards, "start": forwards, "-start": backwards, "alloccpus": forwards, "-alloccpus": backwards} {
			c.q.Sort = sort
			if got := ids(t, s, root, c.q); got != strings.Join(want, " ") {
				t.Errorf("%+v: %q, want %q", c.q, got, want)
			}
		}
		for who, theirs := range map[*Viewer]string{&alice: "1 2 3 5", &bob: "4", &chemist: "1 2 5"} {
			for id := range strings.FieldsSeq(ids(t, s, *who, c.q)) {
				if !strings.Contains(theirs, id) {
					t.Errorf("%+v shows %+v the job %s", c.q, *who, id)
				}
			}
		}
	}
	for _, by := range []string{"nosuch", "r.start_us", "lost;", "--lost", "-"} {
		if _, err := s.Jobs(ctx, root, listing.JobQuery{Sort: by}, nil); err == nil || !strings.Contains(err.Error(), "is not one of") {
			t.Errorf("by %q: %v", by, err)
		}
	}
}

// TestSumsOfJobs: the sum of a query is that of the jobs which a viewer finds by it, whatever it is.
func TestSumsOfJobs(t *testing.T) {
	s := siteStore(t)
	add(t, s, nodeReport(99, 1, "x", 5*time.Hour)) // Slurm has not told of it
	merged(t, s)
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	measured, judged := 0, 0
	for range 300 {
		q := listing.JobQuery{Program: pick("", "", "lmp", "x,y.exe"), Rule: pick("", "", "low", "late"), Account: pick("", "", "chem", "bio"), Name: pick("", "", "-3"),
			LeastCores: rng.IntN(6), MostElapsed: time.Duration(rng.IntN(3)) * 40 * time.Second, Jobs: pick("", "", "", "1,3,4"), Sort: pick("", "lost", "-pe", "corehours"), Limit: 100}
		if rng.IntN(2) == 0 {
			q.Start = day.Add(time.Duration(rng.IntN(6)) * time.Hour)
		}
		for _, v := range []Viewer{root, alice, bob, chemist} {
			var uids []uint32
			if rng.IntN(3) == 0 {
				uids = []uint32{alice.UID}
			}
			list, err := s.Jobs(ctx, v, q, uids)
			if err != nil {
				t.Fatal(err)
			}
			var want listing.Hours
			for i := range list.Jobs {
				j := &list.Jobs[i]
				one := listing.Hours{Jobs: 1, Used: float64(j.CPUs) * j.Elapsed.Hours()}
				if j.Metrics != nil {
					one.Measured = 1
				}
				if lost := j.LostCoreHours(); lost != nil {
					one.Judged, one.Lost = j.Judged.Hours(), *lost
				}
				want.Add(one)
			}
			_, all, err := s.EachLine(ctx, v, q, uids, func(*listing.Line) error { return nil })
			got := all.Sum
			if err != nil || got.Jobs != want.Jobs || got.Measured != want.Measured || math.Abs(got.Used-want.Used)+math.Abs(got.Judged-want.Judged)+math.Abs(got.Lost-want.Lost) > 1e-9 {
				t.Errorf("%+v of %v: %+v, want %+v, %v", q, v, got, want, err)
			}
			measured, judged = measured+want.Measured, judged+int(want.Judged*1e6)
		}
	}
	if measured < 100 || judged < 100 {
		t.Errorf("hardly anything was summed up: %d, %d", measured, judged)
	}
}

func TestWorkloadsOfJobs(t *testing.T) {
	s := siteStore(t)
	list, err := s.Jobs(ctx, root, listing.JobQuery{Sort: "-alloccpus"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.WorkloadsOf(ctx, list.Jobs)
	if err != nil || len(all) != 5 || all[0].Key == "" || all[0].Key != all[1].Key || all[2].Name != "exe" || all[3].Name != "theirs" || all[4].Key != "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestCoordinatorsWorkloads: a coordinator finds workloads by the runs under their accounts, and no other ones.
func TestCoordinatorsWorkloads(t *testing.T) {
	s := siteStore(t)
	for _, lost := range []bool{false, true} {
		for who, want := range map[*Viewer]string{&root: "exe lmp theirs", &alice: "exe lmp", &bob: "theirs", &chemist: "lmp"} {
			var names []string
			next, err := s.EachWorkload(ctx, *who, listing.WorkloadQuery{Since: day, Lost: lost}, nil, func(w *listing.WorkloadSummary) error {
				name, _, _ := strings.Cut(w.Name, "-")
				names = append(names, name)
				if _, err := s.Workload(ctx, *who, w.Key, nil); err != nil {
					t.Errorf("%+v does not find %s: %v", *who, w.Name, err)
				}
				if w.Runs < 1 || !(w.CoreHours > 0) || !(w.Lost > 0) || w.Lost > w.CoreHours {
					t.Errorf("%+v", w)
				}
				return nil
			})
			slices.Sort(names)
			if got := strings.Join(names, " "); err != nil || next != "" || got != want {
				t.Errorf("%+v sees %q, want %q, %v", *who, got, want, err)
			}
		}
	}
	if _, err := s.EachWorkload(ctx, chemist, listing.WorkloadQuery{}, &bob.UID, func(w *listing.WorkloadSummary) error {
		t.Errorf("a coordinator of chem sees %+v", w)
		return nil
	}); err != nil {
		t.Error(err)
	}
	found, err := s.Workload(ctx, root, "theirs", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []Viewer{alice, chemist} {
		if w, err := s.Workload(ctx, who, found.Key, nil); err == nil {
			t.Errorf("%+v sees %+v", who, w)
		}
	}
}

// TestProgramsOf: a coordinator gets the hours of their accounts, and nobody else but who sees all gets any.
func TestProgramsOf(t *testing.T) {
	s := siteStore(t)
	from, to := day, day.Add(24*time.Hour)
	for who, want := range map[*Viewer]string{&root: "lmp 3 x,y.exe 1", &chemist: "lmp 2"} {
		all, err := s.Programs(ctx, *who, from, to)
		var got []string
		for _, p := range all {
			got = append(got, p.Name, fmt.Sprint(p.Jobs))
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" || err != nil {
			t.Errorf("%+v: %s, %v", *who, d, err)
		}
	}
	if all, err := s.Programs(ctx, alice, from, to); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, %v", all, err)
	}
}

// TestToldOf: who sees which notices, and their figures.
func TestToldOf(t *testing.T) {
	s := siteStore(t)
	keys := map[string]string{}
	if _, err := s.EachWorkload(ctx, root, listing.WorkloadQuery{}, nil, func(w *listing.WorkloadSummary) error {
		name, _, _ := strings.Cut(w.Name, "-")
		keys[name] = w.Key
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	told := []listing.Told{{Cluster: "test", UID: alice.UID, At: day.Add(90 * time.Minute), Subject: "a", Workload: keys["lmp"], Rule: "r", Job: "1", Cores: 2, Advised: 1, Jobs: 2, Lost: 3},
		{Cluster: "test", UID: bob.UID, At: day.Add(2 * time.Hour), Subject: "b", Workload: keys["theirs"], Rule: "r", Job: "4", Jobs: 1, Lost: 4},
		{Cluster: "test", UID: bob.UID, At: day.Add(3 * time.Hour), Subject: "c", Rule: "r", Job: "9", Jobs: 1, Lost: 5},
		{Cluster: "test", UID: alice.UID, At: day.Add(4 * time.Hour), Subject: "s", Workload: keys["lmp"], Rule: "r", Job: "2", Shadow: true, Jobs: 1, Lost: 6}}
	if err := s.KeepMuted(ctx, told); err != nil {
		t.Fatal(err)
	}
	for who, want := range map[*Viewer]string{&root: "s 2 1 6 c 9 1 5 b 4 1 4 a 1 2 3", &alice: "a 1 2 3", &bob: "c 9 1 5 b 4 1 4", &chemist: "a  0 0", {UID: 1003}: ""} {
		all, err := s.ToldOf(ctx, *who, day)
		var got []string
		for _, n := range all {
			got = append(got, fmt.Sprintf("%s %s %d %g", n.Subject, n.Job, n.Jobs, n.Lost))
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" || err != nil {
			t.Errorf("%+v: %s, %v", *who, d, err)
		}
	}
	for who, runs := range map[*Viewer]string{&root: "1 2", &chemist: "1 2", &bob: ""} {
		n := told[0]
		if err := s.AddRunsOf(ctx, *who, &n, day.Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range n.Runs {
			got = append(got, fmt.Sprint(r.JobID))
		}
		if strings.Join(got, " ") != runs {
			t.Errorf("%+v: runs %v, want %s", *who, got, runs)
		}
	}
}

// TestNodes: a node's last report, and what it said of its outbox.
func TestNodes(t *testing.T) {
	s := siteStore(t)
	s.HeardOutbox("test", "n1", wire.OutboxState{Waiting: 2, Oldest: time.Hour, Lost: 3}, day.Add(time.Hour))
	if err := s.keepHeard(ctx, day.Add(48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	all, err := s.Nodes(ctx)
	if err != nil || len(all) != 1 || all[0].Node != "n1" || all[0].Waiting != 2 || all[0].Lost != 3 || all[0].Oldest != time.Hour || all[0].Said.IsZero() || all[0].Heard.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestUnjudged: after the rules changed, a list says of how many jobs that have ended, and that a viewer may see, it is not
// known which rules flag them, if it is by rules.
func TestUnjudged(t *testing.T) {
	s := siteStore(t)
	want := func(after string, v Viewer, q listing.JobQuery, jobs, unjudged int) {
		t.Helper()
		_, all, err := s.EachLine(ctx, v, q, nil, func(*listing.Line) error { return nil })
		n, err2 := s.UnjudgedOf(ctx, v, q, nil)
		listed := unjudged
		if q.Rule == "" { // its lines say it
			listed = 0
		}
		if err = errors.Join(err, err2); err != nil || all.Sum.Jobs != jobs || all.Unjudged != listed || n != unjudged {
			t.Errorf("after %s, %+v lists %+v: %d jobs, %d and %d unjudged, want %d and %d, %v", after, v, q, all.Sum.Jobs, all.Unjudged, n, jobs, unjudged, err)
		}
	}
	want("judging", root, listing.JobQuery{}, 5, 0)
	want("judging", root, listing.JobQuery{Rule: "low"}, 2, 0)
	if err := s.JudgeBy(ctx, 5); err != nil {
		t.Fatal(err)
	}
	want("a change", root, listing.JobQuery{}, 5, 4) // the fifth runs
	want("a change", root, listing.JobQuery{Rule: "low"}, 0, 4)
	want("a change", root, listing.JobQuery{Rule: "low", Account: "bio"}, 0, 2)
	want("a change", alice, listing.JobQuery{Rule: "low", Account: "bio"}, 0, 1)
	want("a change", alice, listing.JobQuery{Jobs: "1,2,4"}, 2, 2)
	want("a change", root, listing.JobQuery{Rule: "low", Start: day.Add(4 * time.Hour)}, 0, 1)
	mostUnjudged = 3
	defer func() { mostUnjudged = listing.MostUnjudged }()
	want("a change, bounded", root, listing.JobQuery{Rule: "low"}, 0, 3)
	want("a change, bounded", alice, listing.JobQuery{Jobs: "1,2,4"}, 2, 2)
	judged(t, s, rulesOf(5, "low"), 24*time.Hour)
	want("judging again", root, listing.JobQuery{Rule: "low"}, 4, 0)
}
