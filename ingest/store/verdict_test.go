package store

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
)

// rulesOf are rules that say the same of every job.
func rulesOf(mark int64, flags ...string) Judging {
	return Judging{Rules: mark, Grace: time.Hour, Ask: func(*listing.JobAndWorkload) []string { return flags }}
}

// judged asks the rules once, at a time after day, and returns how many attempts they judged.
func judged(t *testing.T, s *Store, by Judging, at time.Duration) int {
	t.Helper()
	n, err := s.Judge(ctx, by, day.Add(at))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// flags are those of the jobs of a list, the oldest first; "?" is not judged.
func flags(t *testing.T, s *Store) string {
	t.Helper()
	list, err := s.Jobs(ctx, root, listing.JobQuery{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, j := range list.Jobs {
		said := strings.Join(j.Flags, ",")
		if j.Flags == nil {
			said = "?"
		}
		all = append(all, fmt.Sprintf("%d:%s", j.JobID, said))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func wantFlags(t *testing.T, s *Store, want string) {
	t.Helper()
	if d := cmp.Diff(want, flags(t, s)); d != "" {
		t.Error(d)
	}
}

// TestJudge: a job is judged when its reports, or the end of the grace, and Slurm's word are there;
// again when its figures change; and by no rules but the present ones.
func TestJudge(t *testing.T) {
	s := open(t)
	s.WaitForSlurm(time.Hour)
	first, other := rulesOf(1<<62, "low", "late"), rulesOf(5)
	if n := judged(t, s, first, 0); n != 0 {
		t.Errorf("judged %d before the rules are known", n)
	}
	if err := s.JudgeBy(ctx, first.Rules); err != nil {
		t.Fatal(err)
	}
	reports := ofNodes(7, 2, "a", 0)
	line := sacct(7, "7", "COMPLETED", 0, 0, 21*time.Second)
	line.Nodes, line.NodeList = 2, "n[1-2]"
	add(t, s, reports[0])
	merged(t, s)
	for _, step := range []struct {
		what string
		do   func()
		at   time.Duration
		want int
	}{
		{"Slurm has not told", func() {}, time.Minute, 0},
		{"its steps are not read", func() { addLines(t, s, line) }, 2 * time.Hour, 0},
		{"a report may come", func() { line.WithSteps, line.Usage = true, &job.Usage{}; addLines(t, s, line) }, time.Minute, 0},
		{"none came in time", func() {}, 2 * time.Hour, 1},
		{"nothing is new", func() { addLines(t, s, line) }, 2 * time.Hour, 0},
		{"the other report waits", func() { add(t, s, reports[1]) }, time.Minute, 0},
		{"and is merged", func() { merged(t, s) }, time.Minute, 1},
	} {
		step.do()
		if step.what == "its steps are not read" {
			merged(t, s)
		}
		if n := judged(t, s, first, step.at); n != step.want {
			t.Errorf("%s: judged %d, want %d", step.what, n, step.want)
		}
		merged(t, s)
	}
	wantFlags(t, s, "7:low,late")
	if err := s.JudgeBy(ctx, other.Rules); err != nil { // as another daemon does that starts
		t.Fatal(err)
	}
	wantFlags(t, s, "7:?")
	if n := judged(t, s, first, time.Minute); n != 0 {
		t.Errorf("rules of another daemon judge %d", n)
	}
	if n, err := s.Unjudged(ctx); n != 1 || err != nil {
		t.Errorf("%d to judge, %v", n, err)
	}
	if n := judged(t, s, other, time.Minute); n != 1 {
		t.Errorf("the present rules judge %d", n)
	}
	wantFlags(t, s, "7:")
	if n, err := s.Unjudged(ctx); n != 0 || err != nil {
		t.Errorf("%d to judge, %v", n, err)
	}
}

// TestJudgeArray: rules know the completed tasks of an array once none of it runs or waits. Tasks that were judged before
// are judged again then, and a list has the flags that the rules would give now. A task may take no time.
func TestJudgeArray(t *testing.T) {
	by := rulesOf(5)
	by.Ask = func(found *listing.JobAndWorkload) []string {
		flags := []string{"open"}
		if a := found.Job.Array; a != nil {
			flags = []string{fmt.Sprint(a.Tasks, " in ", a.Elapsed)}
		}
		if found.Job.State == "FAILED" {
			flags = append(flags, "failed")
		}
		return flags
	}
	task := func(n uint32, state string, end time.Duration) slurm.Job {
		l := sacct(20+n, fmt.Sprint("8_", n), state, 0, time.Second, end)
		l.ArrayJobID, l.ArrayTaskID, l.WithSteps, l.Usage = 8, &n, end > 0, &job.Usage{}
		return l
	}
	for name, steps := range map[string][]struct {
		what string
		do   func(*Store)
		want string
	}{
		"they end one after the other": {
			{"two of them", func(s *Store) {
				setPending(t, s, waiting(8, "8_[4-5]", alice.UID, "chem"))
				addLines(t, s, task(1, "COMPLETED", time.Second), task(2, "FAILED", 9*time.Second), task(3, "RUNNING", 0))
			}, "21:open 22:open,failed 23:?"},
			{"none runs, one waits", func(s *Store) {
				setPending(t, s, waiting(8, "8_[5]", alice.UID, "chem"))
				addLines(t, s, task(3, "COMPLETED", 9*time.Second), task(4, "COMPLETED", 3*time.Second))
			}, "21:open 22:open,failed 23:open 24:open"},
			{"the last one", func(s *Store) {
				setPending(t, s)
				addLines(t, s, task(5, "COMPLETED", 9*time.Second))
			}, "21:4 in 18s 22:4 in 18s,failed 23:4 in 18s 24:4 in 18s 25:4 in 18s"},
		},
		"those that wait are cancelled": {
			{"two of them", func(s *Store) {
				setPending(t, s, waiting(8, "8_[3-5]", alice.UID, "chem"))
				addLines(t, s, task(1, "COMPLETED", 4*time.Second), task(2, "COMPLETED", 9*time.Second))
			}, "21:open 22:open"},
			{"the others", func(s *Store) { setPending(t, s) }, "21:2 in 11s 22:2 in 11s"},
		},
		"all at once, and the queue is not known": {
			{"all of them", func(s *Store) { addLines(t, s, task(1, "FAILED", 3*time.Second), task(2, "CANCELLED", 3*time.Second)) }, "21:0 in 0s,failed 22:0 in 0s"},
		},
	} {
		s := open(t)
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			step.do(s)
			merged(t, s)
			for range 3 { // what was judged while others ran, it takes another look to judge again
				judged(t, s, by, 24*time.Hour)
			}
			if d := cmp.Diff(step.want, flags(t, s)); d != "" {
				t.Errorf("%s, %s: %s", name, step.what, d)
			}
		}
		if n := judged(t, s, by, 24*time.Hour); n != 0 {
			t.Errorf("%s: %d are judged again and again", name, n)
		}
	}
}

// TestJudgeIsLate: what rules said of older figures is not kept.
func TestJudgeIsLate(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	add(t, s, reports[0])
	merged(t, s)
	by := rulesOf(5, "low")
	by.Grace = 0
	if err := s.JudgeBy(ctx, by.Rules); err != nil {
		t.Fatal(err)
	}
	ask, asked := by.Ask, 0
	by.Ask = func(found *listing.JobAndWorkload) []string {
		if asked++; asked == 1 {
			add(t, s, reports[1])
			merged(t, s)
		}
		return append(ask(found), fmt.Sprint(found.Job.Metrics.Nodes))
	}
	for _, want := range []string{"7:?", "7:low,2"} {
		judged(t, s, by, time.Minute)
		wantFlags(t, s, want)
	}
	if n := judged(t, s, by, time.Minute); n != 0 || asked != 2 {
		t.Errorf("judged %d, asked %d times", n, asked)
	}
}

// TestJudgeOrder: what came last is judged first, then what other rules judged, newest first. A job
// that cannot be read counts as judged and stops no other.
func TestJudgeOrder(t *testing.T) {
	s := open(t)
	const jobs = judgedAtOnce + 4
	for i := range uint32(jobs) {
		add(t, s, nodeReport(7+i, 1, "a", time.Duration(i)*time.Minute))
		merged(t, s)
	}
	if err := s.do(ctx, func(w *writer) error { return w.exec("UPDATE executions SET detail = ? WHERE job_id = 7", []byte("x")) }); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []int64{5, 3} {
		by := rulesOf(mark)
		var asked []uint32
		by.Ask = func(found *listing.JobAndWorkload) []string {
			asked = append(asked, found.Job.JobID)
			return nil
		}
		if err := s.JudgeBy(ctx, mark); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Judge(ctx, by, day); n != judgedAtOnce || err != nil {
			t.Errorf("judged %d, %v", n, err)
		}
		if n, err := s.Judge(ctx, by, day); n != 4 || err == nil || !strings.Contains(err.Error(), "job 7") {
			t.Errorf("judged %d, %v", n, err)
		}
		var want []uint32
		for i := range uint32(jobs - 1) {
			want = append(want, 7+jobs-1-i)
		}
		if d := cmp.Diff(want, asked); d != "" {
			t.Error(d)
		}
	}
}

// TestJudgeKeepsHours: what a job used and lost is kept when the rules are asked, as package policy says it. New figures of
// it, its nodes' or Slurm's, take it back until they are asked again; other rules do not.
func TestJudgeKeepsHours(t *testing.T) {
	s := open(t)
	by := rulesOf(5)
	line := sacct(7, "7", "COMPLETED", 0, 0, 20*time.Second)
	line.WithSteps, line.Usage, line.CPUs = true, &job.Usage{TotalCPU: 20 * time.Second}, 2
	reports := ofNodes(7, 2, "a", 0)
	line.Nodes, line.NodeList = 2, "n[1-2]"
	for _, step := range []struct {
		what string
		do   func()
		kept string // judged and lost; "": not known
		now  string // after the rules were asked
	}{
		{"one report", func() { add(t, s, reports[0]); addLines(t, s, line); merged(t, s) }, "", ""},
		{"both", func() { add(t, s, reports[1]); merged(t, s) }, "", "40 12"},
		{"the same word", func() { addLines(t, s, line) }, "40 12", "40 12"},
		{"more CPUs", func() { line.CPUs = 4; addLines(t, s, line) }, "", "80 52"},
		{"an hour more", func() { line.Elapsed += time.Hour; addLines(t, s, line) }, "", "14480 14452"},
		{"more CPU time", func() { line.Usage = &job.Usage{TotalCPU: 3 * time.Hour}; addLines(t, s, line) }, "", "14480 14452"},
		{"other rules", func() { by = rulesOf(6) }, "14480 14452", "14480 14452"},
		{"a report again", func() { reports[1].Sequence++; add(t, s, reports[1]); merged(t, s) }, "", "14480 14452"},
	} {
		step.do()
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{step.kept, step.now} {
			j, got := aJob(t, s, root, "7", 0), ""
			if j.Lost != nil {
				got = fmt.Sprint(math.Round(3600*j.Judged.Hours()), math.Round(3600*j.Lost.Hours()))
			}
			if got != want {
				t.Errorf("%s: %q, want %q", step.what, got, want)
			}
			wantSums(t, s, step.what)
			judged(t, s, by, time.Minute)
		}
	}
}
