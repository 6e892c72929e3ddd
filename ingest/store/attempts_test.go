package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

// TestAttempts: which reports make one attempt, in whatever order they come.
func TestAttempts(t *testing.T) {
	two := ofNodes(7, 2, "a", 0)
	skewed := ofNodes(7, 2, "a", 0)
	skewed[1].Start, skewed[1].End = skewed[1].Start.Add(35*time.Second), skewed[1].End.Add(35*time.Second)
	again := append(ofNodes(7, 2, "a", 0), ofNodes(7, 2, "b", 2*time.Minute)...)
	lost := append(ofNodes(7, 2, "a", 0)[:1], ofNodes(7, 2, "b", 2*time.Minute)...)
	moved := []*job.NodeReport{nodeReport(7, 1, "a", 0), nodeReport(7, 2, "b", 25*time.Second)}
	moved[0].NodeList, moved[1].NodeList = "n1", "n2"
	other := []*job.NodeReport{nodeReport(7, 1, "a", 0), nodeReport(7, 2, "b", 0)}
	other[1].UID = 1002
	for _, c := range []struct {
		name    string
		reports []*job.NodeReport
		want    string // reports of each attempt, by start
	}{
		{"two nodes", two, "2"},
		{"two nodes whose clocks differ", skewed, "2"},
		{"requeued", again, "2 2"},
		{"requeued, a node of the first attempt lost", lost, "1 2"},
		{"requeued soon on another node", moved, "1 1"},
		{"reused id", append(ofNodes(7, 1, "a", 0), ofNodes(7, 1, "b", 240*time.Hour)...), "1 1"},
		{"another user's", other, "1 1"},
	} {
		for seed := range uint64(6) {
			s := open(t)
			for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(c.reports)) {
				add(t, s, c.reports[i], c.reports[i])
			}
			list, err := s.Jobs(ctx, root, listing.JobQuery{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := len(list.Jobs) - 1; i >= 0; i-- {
				got = append(got, fmt.Sprint(list.Jobs[i].Reports))
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Errorf("%s, order %d: %s", c.name, seed, d)
			}
			s.Close()
		}
	}
}

func TestRunNumbers(t *testing.T) {
	s := open(t)
	add(t, s, nodeReport(7, 1, "b", 5*time.Minute), nodeReport(7, 1, "a", 0), nodeReport(7, 1, "c", 10*time.Minute))
	for attempt, start := range map[int]time.Duration{1: 0, 2: 5 * time.Minute, 3: 10 * time.Minute, 0: 10 * time.Minute} {
		if j := aJob(t, s, alice, "7", attempt); !j.Start.Equal(day.Add(start)) || attempt > 0 && j.Attempt != attempt {
			t.Errorf("attempt %d: number %d, start %v", attempt, j.Attempt, j.Start)
		}
	}
	if _, err := s.Job(ctx, alice, slurmid.Ref{ID: 7}, 4); !errors.Is(err, ErrNotFound) {
		t.Errorf("attempt 4: %v", err)
	}
}

// TestMerge: an attempt of which nodes are missing is merged after a while, a complete one at once;
// until then views say so.
func TestMerge(t *testing.T) {
	s := open(t)
	const nodes = 30
	reports := ofNodes(7, nodes, "a", 0)
	add(t, s, reports[:nodes-1]...)
	view := func() *job.Job {
		j, err := s.Job(ctx, alice, slurmid.Ref{ID: 7}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	now := time.Now()
	if j := view(); j.Reports != nodes-1 || j.Metrics != nil || j.NoData.Code != doubt.WhyMerging {
		t.Errorf("before: %d reports, %+v, %+v", j.Reports, j.Metrics, j.NoData)
	}
	for _, step := range []struct {
		at   time.Time
		want int
	}{{now, 0}, {now.Add(2 * quiet), 1}, {now.Add(3 * quiet), 0}} {
		if n, err := s.mergeAt(ctx, step.at); n != step.want || err != nil {
			t.Errorf("at %v: merged %d, want %d; %v", step.at.Sub(now), n, step.want, err)
		}
	}
	if j := view(); j.Metrics == nil || j.Metrics.Ranks != 2*(nodes-1) || j.NoData != (doubt.Warning{}) {
		t.Errorf("incomplete: %+v, %+v", j.Metrics, j.NoData)
	}
	add(t, s, reports[nodes-1])
	if j := view(); j.Reports != nodes || j.Metrics.Ranks != 2*(nodes-1) || !slices.ContainsFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnMerging }) {
		t.Errorf("one came: %d reports, %+v, %v", j.Reports, j.Metrics, j.Warnings)
	}
	if n, err := s.mergeAt(ctx, now); n != 1 || err != nil {
		t.Errorf("merged %d, %v", n, err)
	}
	if j := view(); j.Metrics.Ranks != 2*nodes || j.Metrics.Nodes != nodes || j.Metrics.Coverage != 1 || len(j.Warnings) != 0 || count(t, s, "executions") != 1 {
		t.Errorf("metrics %+v, %v", j.Metrics, j.Warnings)
	}
}

// TestMergeAfterClockSet: a clock that was set back keeps no attempt waiting.
func TestMergeAfterClockSet(t *testing.T) {
	s := open(t)
	add(t, s, ofNodes(7, 3, "a", 0)[:2]...)
	if n, err := s.mergeAt(ctx, time.Now().Add(-time.Hour)); n != 1 || err != nil {
		t.Errorf("merged %d, %v", n, err)
	}
}

// TestMergeIsLate: figures that were made from fewer reports than have come are not written.
func TestMergeIsLate(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 3, "a", 0)
	add(t, s, reports[:2]...)
	m := &merge{attemptKey: attemptKey{"test", 7, 1}}
	read := func() error {
		return s.read.QueryRow("SELECT unmerged FROM attempts").Scan(&m.unmerged)
	}
	err := s.mergeReports(ctx, m)
	if err = errors.Join(err, m.damaged, read()); err != nil {
		t.Fatal(err)
	}
	add(t, s, reports[2])
	if err := s.do(ctx, m.write); err != nil || m.written || count(t, s, "executions") != 0 {
		t.Errorf("written %v, %v", m.written, err)
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if j := aJob(t, s, alice, "7", 0); j.Metrics.Ranks != 6 {
		t.Errorf("%+v", j.Metrics)
	}
	if err := s.do(ctx, m.write); err != nil || m.written {
		t.Errorf("merged twice: %v, %v", m.written, err)
	}
}

// TestDamagedReport: a report that cannot be read is left out and named, and stops no other job.
func TestDamagedReport(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	add(t, s, append(reports, nodeReport(8, 1, "a", 0))...)
	if err := s.do(ctx, func(w *writer) error {
		return w.exec("UPDATE reports SET body = ? WHERE job_id = 7 AND node = 'n1'", []byte("x"))
	}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Merge(ctx); n != 2 || err == nil || !strings.Contains(err.Error(), "job 7, node n1") {
		t.Errorf("merged %d, %v", n, err)
	}
	if n, err := s.Merge(ctx); n != 0 || err != nil {
		t.Errorf("merged %d again, %v", n, err)
	}
	for id, ranks := range map[string]int{"7": 2, "8": 2} {
		if j := aJob(t, s, alice, id, 0); j.Metrics == nil || j.Metrics.Ranks != ranks {
			t.Errorf("job %s: %+v", id, j.Metrics)
		}
	}
}

// TestSequence: a report with a higher sequence replaces the earlier one as a whole, also in one
// batch with it; one with a lower or the same sequence changes nothing.
func TestSequence(t *testing.T) {
	s := open(t)
	of := func(id uint32, sequence int, program string) *job.NodeReport {
		r := nodeReport(id, 1, "a", 0)
		r.Sequence, r.Executions[0].Executable = sequence, program
		return r
	}
	for _, step := range []struct {
		sequence      int
		program, want string
		added         bool
	}{{2, "a", "a", true}, {1, "b", "a", false}, {2, "b", "a", false}, {3, "b", "b", true}, {2, "a", "b", false}} {
		added, err := addReport(s, of(7, step.sequence, step.program))
		if err != nil || added != step.added {
			t.Errorf("sequence %d: added %v, %v", step.sequence, added, err)
		}
		if j := aJob(t, s, alice, "7", 0); j.Reports != 1 || len(j.Executions) != 1 || j.Executions[0].Executable != step.want {
			t.Errorf("sequence %d: %d reports, %+v, want %s", step.sequence, j.Reports, j.Executions, step.want)
		}
	}
	var batch []*incoming
	for i, program := range []string{"a", "b"} {
		r := of(8, 1+i, program)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, &incoming{NodeReport: r, body: wire.Compress(text)})
	}
	if err := s.do(ctx, func(w *writer) error { return w.addReports(jobKey{"test", 8}, batch) }); err != nil {
		t.Fatal(err)
	}
	if j := aJob(t, s, alice, "8", 0); j.Reports != 1 || j.Executions[0].Executable != "b" {
		t.Errorf("in one batch: %d reports, %+v", j.Reports, j.Executions)
	}
}

func sacct(number uint32, id, state string, submit, start, end time.Duration) slurm.Job {
	j := slurm.Job{Cluster: "test", ID: id, RawID: number, UID: 1001, User: "alice", State: state, ExitCode: "0:0",
		Submit: day.Add(submit), Start: day.Add(start), Elapsed: end - start, Nodes: 1, CPUs: 4, NodeList: "n1",
		Account: "proj", QOS: "normal", Partition: "main", Name: "sim\x1b"}
	if end != 0 {
		j.End = day.Add(end)
	}
	return j
}

// TestSlurm: sacct's line and the reports make one row, whichever comes first.
func TestSlurm(t *testing.T) {
	line := sacct(7, "7", "TIMEOUT", -time.Minute, 0, 21*time.Second)
	line.ExitCode, line.GPUs, line.TRES, line.WithSteps = "0:15", 2, "cpu=4,gres/gpu=2,mem=1G", true
	line.Usage = &job.Usage{TotalCPU: 63 * time.Second, Memory: 1 << 29, LargestTask: 1 << 28, Allocated: 1 << 30, PartOfNodes: true, OutOfMemory: "0,batch"}
	for _, reportFirst := range []bool{true, false} {
		s := open(t)
		if reportFirst {
			add(t, s, nodeReport(7, 1, "a", 0))
			if ids, _, err := s.ToAsk(ctx, "", 0, 10); err != nil || len(ids) != 1 || ids[0] != 7 {
				t.Errorf("to ask: %v, %v", ids, err)
			}
		}
		for range 2 {
			if n, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
		if !reportFirst {
			if j := aJob(t, s, alice, "7", 0); j.NoData.Code != doubt.WhyNoReport || j.State != "TIMEOUT" {
				t.Errorf("before: %+v", j)
			}
			add(t, s, nodeReport(7, 1, "a", 0))
		}
		j := aJob(t, s, alice, "7", 0)
		if j.State != "TIMEOUT" || j.ExitCode != "0:15" || j.QOS != "normal" || j.Name != "sim?" || j.CPUs != 4 || j.NoData != (doubt.Warning{}) {
			t.Errorf("got %+v", j)
		}
		if j.Elapsed != 21*time.Second || !j.End.Equal(line.End) || !j.Submit.Equal(line.Submit) || j.Metrics == nil {
			t.Errorf("got %+v", j)
		}
		if d := cmp.Diff(line.Usage, j.Usage); d != "" || j.GPUs != 2 || j.TRES != line.TRES {
			t.Errorf("%d GPUs of %s; usage %s", j.GPUs, j.TRES, d)
		}
		if cpu, mem := j.CPUEfficiency(), j.MemoryEfficiency(); cpu == nil || *cpu != 0.75 || mem == nil || *mem != 0.5 {
			t.Errorf("CPU efficiency %v, memory efficiency %v", value(cpu), value(mem))
		}
		if want := 24.0 / (4 * 21); j.Covered == nil || *j.Covered != want {
			t.Errorf("covered %v, want %v", value(j.Covered), want)
		}
		if ids, _, err := s.ToAsk(ctx, "", 0, 10); err != nil || len(ids) != 0 || count(t, s, "attempts") != 1 {
			t.Errorf("to ask: %v, %v", ids, err)
		}
	}
}

// TestSlurmAttempts: requeued attempts, a running one, jobs from before the database.
func TestSlurmAttempts(t *testing.T) {
	lines := []slurm.Job{
		sacct(7, "7", "REQUEUED", 0, 0, 21*time.Second),
		sacct(7, "7", "CANCELLED", 21*time.Second, 150*time.Second, 171*time.Second),
	}
	by := uint32(1001)
	lines[1].CancelledBy = &by
	reports := []*job.NodeReport{nodeReport(7, 1, "a", 0), nodeReport(7, 1, "b", 150*time.Second)}
	for seed := range uint64(8) {
		s := open(t)
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(4) {
			if i < 2 {
				add(t, s, reports[i])
			} else if _, err := s.AddSlurm(ctx, lines[i-2:i-1]); err != nil {
				t.Fatal(err)
			}
		}
		if n := count(t, s, "attempts"); n != 2 {
			t.Errorf("order %d: %d attempts", seed, n)
			continue
		}
		for attempt, state := range map[int]string{1: "REQUEUED", 2: "CANCELLED by 1001"} {
			if j := aJob(t, s, alice, "7", attempt); j.State != state || j.Reports != 1 {
				t.Errorf("order %d, attempt %d: %s, %d reports", seed, attempt, j.State, j.Reports)
			}
		}
	}
	s := open(t)
	old := sacct(8, "8", "COMPLETED", -9*time.Hour, -8*time.Hour, -7*time.Hour)
	running := sacct(9, "9", "RUNNING", 0, 0, 0)
	if n, err := s.AddSlurm(ctx, []slurm.Job{old, running}); n != 1 || err != nil {
		t.Errorf("%d taken in, %v", n, err)
	}
	if j := aJob(t, s, alice, "9", 0); j.State != "RUNNING" || j.NoData.Code != doubt.WhyNotEnded {
		t.Errorf("running: %+v", j)
	}
	if _, err := s.Job(ctx, alice, slurmid.Ref{ID: 8}, 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("a job from before: %v", err)
	}
	if ids, _, err := s.ToAsk(ctx, "", 0, 10); err != nil || len(ids) != 0 {
		t.Errorf("to ask: %v, %v", ids, err)
	}
}

// A job starts again within seconds of its requeue, or at once: then the second in which sacct ends one start
// is the one in which it begins the next, and a report may overlap both. Each start keeps its own figures,
// whatever comes first, and also where sacct tells of one start before the other, or never when the first began.
func TestRequeuedAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	for _, at := range [][5]time.Duration{ // when the first start begins, is requeued and is gone, and the second begins and ends
		{0, 21000, 20000, 23000, 43000},
		{0, 5100, 5600, 5800, 6600},
		{0, 100, 600, 800, 30000},
		{0, 5100, 5600, 5800, 5900},
		{900, 950, 1050, 1100, 6000},
	} {
		var told [5]time.Duration
		for i := range at {
			at[i] *= time.Millisecond
			told[i] = at[i].Truncate(time.Second)
		}
		second := sacct(7, "7", "COMPLETED", told[1], told[3], told[4])
		for _, known := range []bool{true, false} {
			first := sacct(7, "7", "REQUEUED", -time.Minute, told[0], told[1])
			first.End = day.Add(told[1])
			lasted := []time.Duration{first.Elapsed}
			if !known {
				first.Start, first.Elapsed, lasted = time.Time{}, 0, append(lasted, at[2]-at[0])
			}
			both := []slurm.Job{first, second}
			for _, said := range [][]slurm.Job{both, both[:1], both[1:]} {
				for seed := range uint64(24) {
					s := open(t)
					of := func(nonce string, start, end time.Duration) {
						r := nodeReport(7, 1, nonce, start)
						r.End = day.Add(end)
						r.Executions[0].Executable = nonce
						add(t, s, r)
					}
					come := []func(){
						func() { of("a", at[0], at[2]) },
						func() { of("b", at[3], at[4]) },
						func() { addLines(t, s, said...) },
						func() { addLines(t, s, both[1-seed%2]) },
					}
					for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(come)) {
						come[i]()
					}
					addLines(t, s, both[seed%2]) // in the end it told of both
					merged(t, s)
					for attempt, want := range map[int]string{1: "REQUEUED a", 2: "COMPLETED b"} {
						j := aJob(t, s, alice, "7", attempt)
						got := j.State
						for _, x := range j.Executions {
							got += " " + x.Executable
						}
						if got != want || attempt == 1 && !slices.Contains(lasted, j.Elapsed) || count(t, s, "attempts") != 2 {
							t.Errorf("again after %v, start known: %v, %d lines at first, order %d: attempt %d is %q in %v of %d", at[3], known, len(said), seed, attempt, got, j.Elapsed, count(t, s, "attempts"))
						}
					}
					s.Close()
				}
			}
		}
	}
}

// Slurm's database learns late that a job was requeued: nodes reported both starts, one of them only the second
// one so far, while sacct still says that the first one runs. Each start has its own figures in the end.
func TestRequeueToldLate(t *testing.T) {
	for _, wait := range []time.Duration{10 * time.Second, 150 * time.Second} {
		begin := 21*time.Second + wait
		first, second := sacct(7, "7", "REQUEUED", 0, 0, 21*time.Second), sacct(7, "7", "COMPLETED", 21*time.Second, begin, begin+21*time.Second)
		first.NodeList, second.NodeList = "n[1-2]", "n[1-2]"
		running := func(j slurm.Job) slurm.Job {
			j.State, j.End, j.Elapsed = "RUNNING", time.Time{}, 0
			return j
		}
		for i, said := range [][]slurm.Job{{running(first), first, second}, {running(first), running(second), first, second}} {
			s := open(t)
			a, b := ofNodes(7, 2, "a", 0), ofNodes(7, 2, "b", begin)
			add(t, s, a[0], b[1], b[0])
			addLines(t, s, said[0])
			add(t, s, a[1])
			for _, line := range said[1:] {
				addLines(t, s, line)
			}
			for attempt, want := range map[int]time.Duration{1: 0, 2: begin} {
				j := aJob(t, s, alice, "7", attempt)
				if j.Reports != 2 || len(j.Executions) != 1 || !j.Executions[0].Start.Equal(day.Add(want)) {
					t.Errorf("%v between, lines %d: attempt %d, %s, has %d reports and %d executions", wait, i, attempt, j.State, j.Reports, len(j.Executions))
				}
			}
		}
	}
}

// TestWrongClock: a node's report and sacct's line lie minutes apart. They are one attempt if
// they cannot be two, in whatever order they come. Attempts of requeued jobs and of reused ids
// stay apart, even if only one side of each came.
func TestWrongClock(t *testing.T) {
	line := func(state string, submit, start, end time.Duration) slurm.Job {
		return sacct(7, "7", state, submit, start, end)
	}
	at := func(nonce string, start time.Duration) *job.NodeReport {
		r := nodeReport(7, 1, nonce, start)
		r.NodeList = "n1"
		return r
	}
	elsewhere, others, late := at("a", 3*time.Minute), at("a", 3*time.Minute), 150*time.Second
	elsewhere.NodeList, others.UID = "n2", 1002
	first, second := line("REQUEUED", 0, 0, 21*time.Second), line("COMPLETED", 21*time.Second, late, late+21*time.Second)
	cancelled, again := line("CANCELLED", 0, 0, 21*time.Second), line("COMPLETED", 90*time.Second, 91*time.Second, 112*time.Second)
	done := line("COMPLETED", -time.Second, 0, 21*time.Second)
	queued := line("COMPLETED", -time.Hour, 0, 21*time.Second)
	for _, c := range []struct {
		name string
		come []any  // reports, lines, and lines that sacct tells together
		want string // state and number of reports of each attempt
	}{
		{"the node is ahead", []any{done, at("a", 3*time.Minute)}, "COMPLETED 1"},
		{"the node is behind", []any{done, at("a", -3*time.Minute)}, "COMPLETED 1"},
		{"the node is ahead, the job was queued", []any{queued, at("a", 3*time.Minute)}, "COMPLETED 1"},
		{"the node is behind, the job was queued", []any{queued, at("a", -3*time.Minute)}, "COMPLETED 1"},
		{"the node is behind, the job runs", []any{line("RUNNING", -time.Second, 0, 0), at("a", -3*time.Minute)}, "RUNNING 1"},
		{"ahead by too much", []any{done, at("a", 6*time.Minute)}, " 1, COMPLETED 0"},
		{"behind by too much", []any{done, at("a", -6*time.Minute)}, " 1, COMPLETED 0"},
		{"on another node", []any{done, elsewhere}, " 1, COMPLETED 0"},
		{"another user's", []any{done, others}, " 1, COMPLETED 0"},
		{"requeued", []any{first, second, at("a", 0), at("b", late)}, "COMPLETED 1, REQUEUED 1"},
		{"requeued, the first report is lost", []any{first, second, at("b", late)}, "COMPLETED 1, REQUEUED 0"},
		{"requeued, the second report is lost", []any{first, second, at("a", 0)}, "COMPLETED 0, REQUEUED 1"},
		{"requeued, the first report and the second line are lost", []any{first, at("b", late)}, " 1, REQUEUED 0"},
		{"requeued, the second report and the first line are lost", []any{second, at("a", 0)}, " 1, COMPLETED 0"},
		{"failed, perhaps requeued", []any{line("FAILED", -time.Second, 0, 21*time.Second), at("b", late)}, " 1, FAILED 0"},
		{"the id is used again", []any{at("a", 0), []slurm.Job{again, cancelled}}, "CANCELLED 1, COMPLETED 0"},
		{"the id is used again, sacct's first line first", []any{at("a", 0), []slurm.Job{cancelled, again}}, "CANCELLED 1, COMPLETED 0"},
	} {
		for seed := range uint64(6) {
			s := open(t)
			for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(c.come)) {
				switch what := c.come[i].(type) {
				case *job.NodeReport:
					add(t, s, what)
				case slurm.Job:
					addLines(t, s, what)
				case []slurm.Job:
					addLines(t, s, what...)
				}
			}
			list, err := s.Jobs(ctx, root, listing.JobQuery{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range list.Jobs {
				got = append(got, fmt.Sprintf("%s %d", j.State, j.Reports))
			}
			slices.Sort(got)
			if d := cmp.Diff(c.want, strings.Join(got, ", ")); d != "" {
				t.Errorf("%s, order %d: %s", c.name, seed, d)
			}
			s.Close()
		}
	}
}

func addLines(t *testing.T, s *Store, lines ...slurm.Job) {
	t.Helper()
	if _, err := s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
}

// TestOneWrongClock: sacct has told of a job of several nodes. A node with a wrong clock makes
// no second attempt.
func TestOneWrongClock(t *testing.T) {
	for seed := range uint64(6) {
		s := open(t)
		reports := ofNodes(7, 3, "a", 0)
		reports[1].Start, reports[1].End = reports[1].Start.Add(-4*time.Minute), reports[1].End.Add(-4*time.Minute)
		line := sacct(7, "7", "COMPLETED", -time.Second, 0, 21*time.Second)
		line.NodeList, line.Nodes = "n[1-3]", 3
		addLines(t, s, line)
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(3) {
			add(t, s, reports[i])
		}
		if j := aJob(t, s, alice, "7", 0); j.Reports != 3 || count(t, s, "attempts") != 1 {
			t.Errorf("order %d: %d reports, %d attempts", seed, j.Reports, count(t, s, "attempts"))
		}
	}
}

func TestSlurmMany(t *testing.T) {
	s := open(t)
	var lines []slurm.Job
	for i := uint32(1); i <= 2*slurmAtOnce+1; i++ {
		lines = append(lines, sacct(i, fmt.Sprint(i), "COMPLETED", 0, 0, time.Second))
	}
	if n, err := s.AddSlurm(ctx, lines); n != len(lines) || err != nil || count(t, s, "attempts") != len(lines) {
		t.Errorf("%d of %d, %v", n, len(lines), err)
	}
}

func value(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

// TestToWeigh: the steps of an ended attempt are asked for once. A later answer without them
// erases nothing.
func TestToWeigh(t *testing.T) {
	s := open(t)
	now := time.Now().Truncate(time.Second)
	line := sacct(7, "7", "COMPLETED", 0, 0, time.Second)
	line.Submit, line.Start, line.End = now, now, now.Add(time.Second)
	running := sacct(8, "8", "RUNNING", 0, 0, 0)
	running.Submit, running.Start = now, now
	look := func(want ...uint32) {
		t.Helper()
		if _, err := s.AddSlurm(ctx, []slurm.Job{line, running}); err != nil {
			t.Fatal(err)
		}
		if ids, _, err := s.ToAsk(ctx, "", 0, 10); err != nil || !slices.Equal(ids, want) {
			t.Errorf("to ask: %v, %v; want %v", ids, err, want)
		}
	}
	look(7)
	if j := aJob(t, s, alice, "7", 0); j.Usage != nil || j.CPUEfficiency() != nil || j.MemoryEfficiency() != nil {
		t.Errorf("before: %+v", j.Usage)
	}
	line.WithSteps, line.Usage = true, &job.Usage{TotalCPU: 8 * time.Second, Memory: 2, Allocated: 1}
	look()
	line.WithSteps, line.Usage = false, nil
	look()
	j := aJob(t, s, alice, "7", 0)
	if j.Usage == nil || j.Usage.TotalCPU != 8*time.Second {
		t.Fatalf("after: %+v", j.Usage)
	}
	var codes []string
	for _, w := range j.Warnings {
		codes = append(codes, w.Code)
	}
	if d := cmp.Diff([]string{doubt.WarnCPUOver, doubt.WarnMemoryOver}, codes); d != "" {
		t.Error(d)
	}
}

// TestAsked: an attempt that sacct does not know is asked for again, until its steps cannot
// change any more.
func TestAsked(t *testing.T) {
	s := open(t)
	for id, ago := range map[uint32]time.Duration{7: time.Minute, 8: time.Hour} {
		line := sacct(id, fmt.Sprint(id), "COMPLETED", 0, 0, time.Second)
		line.End = time.Now().Add(-ago).Truncate(time.Second)
		line.Submit, line.Start = line.End.Add(-time.Second), line.End.Add(-time.Second)
		s.began = line.Submit
		if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Asked(ctx, "", []uint32{7, 8, 9}); err != nil {
			t.Fatal(err)
		}
		if ids, _, err := s.ToAsk(ctx, "", 0, 10); err != nil || !slices.Equal(ids, []uint32{7}) {
			t.Errorf("to ask: %v, %v", ids, err)
		}
	}
}

// TestWaitingParts: nobody takes more of what may wait for Slurm's word than their part.
func TestWaitingParts(t *testing.T) {
	a, b, other := Sender{Part: "a"}, Sender{Part: "b"}, Sender{Part: "c"}
	far, further := Sender{Part: "10.0.0.1", Stranger: true}, Sender{Part: "10.0.0.2", Stranger: true}
	type waits struct {
		by   Sender
		as   string // the node; "": another one each time
		n    int
		told bool
	}
	for _, c := range []struct {
		name  string
		there []waits
		by    Sender
		full  bool
	}{
		{"none", nil, a, false},
		{"of its own node", []waits{{a, "n1", waitingOfNode, false}}, a, true},
		{"but one", []waits{{a, "n1", waitingOfNode - 1, false}}, a, false},
		{"of which Slurm told", []waits{{a, "n1", waitingOfNode, true}}, a, false},
		{"in another's name", []waits{{a, "n2", waitingOfNode, false}}, a, false},
		{"in all names", []waits{{a, "", waitingOfSender, false}}, a, true},
		{"another's in all names", []waits{{b, "", waitingOfSender, false}}, a, false},
		{"another's in this name", []waits{{b, "n1", waitingOfNode, false}}, a, false},
		{"two strangers'", []waits{{far, "", waitingOfSender, false}, {further, "", waitingOfSender, false}}, a, false},
		{"two strangers', for a third", []waits{{far, "", waitingOfSender, false}, {further, "", waitingOfSender, false}}, Sender{Part: "10.0.0.3", Stranger: true}, true},
		{"all", []waits{{b, "", waitingOfSender, false}, {other, "", mostWaiting - waitingOfSender, false}}, a, true},
	} {
		var attempts []*candidate
		for _, w := range c.there {
			for i := range w.n {
				node := w.as
				if node == "" {
					node = fmt.Sprint("m", i)
				}
				attempts = append(attempts, &candidate{sender: w.by.as(node), submit: sql.NullInt64{Valid: w.told}})
			}
		}
		if got := c.by.full("n1", attempts); got != c.full {
			t.Errorf("%s: full is %v", c.name, got)
		}
	}
}

// TestMadeUpSLUID: root of a node of a job tells a wrong SLUID of it, before the other nodes report. What
// Slurm says of the job's time and nodes counts.
func TestMadeUpSLUID(t *testing.T) {
	line := sacct(7, "7", "COMPLETED", -time.Minute, 0, 21*time.Second)
	line.NodeList, line.Nodes = "n[1-3]", 3
	for _, told := range []bool{true, false} {
		s := open(t)
		s.WaitForSlurm(time.Hour)
		if told {
			addLines(t, s, line)
		}
		reports := ofNodes(7, 3, "a", 0)
		for i, r := range reports {
			r.SLUID = []string{"made up", "sABC", "sABC"}[i]
		}
		add(t, s, reports...)
		addLines(t, s, line)
		if j := aJob(t, s, alice, "7", 0); j.Reports != 3 || count(t, s, "attempts") != 1 {
			t.Errorf("told at first: %v: %d reports in the last of %d attempts", told, j.Reports, count(t, s, "attempts"))
		}
	}
}

// TestWaitingIsCheap: until Slurm tells of a job, what root of a node reports of it is small, not much, and
// not merged before it may be shown. The job's own nodes lose nothing.
func TestWaitingIsCheap(t *testing.T) {
	s := open(t)
	s.WaitForSlurm(time.Hour)
	by := func(sender string, r *job.NodeReport) error {
		t.Helper()
		text, err := json.Marshal(r)
		if err == nil {
			_, err = s.AddReport(ctx, Sender{Part: sender}, r, wire.Compress(text))
		}
		return err
	}
	large := nodeReport(7, 1, "large", 0)
	large.Steps = slices.Repeat(large.Steps, mostWaitingText/100)
	if err := by("n1", large); !errors.Is(err, ErrManyWaiting) {
		t.Errorf("a large one: %v", err)
	}
	taken := 0
	for i := range 2 * waitingOfSender {
		r := nodeReport(7, 1000+i, "fake", 0)
		r.NNodes = 1 << 20
		switch err := by("n9", r); {
		case err == nil:
			taken++
		case !errors.Is(err, ErrManyWaiting):
			t.Fatal(err)
		}
	}
	if n := count(t, s, "reports"); taken != waitingOfSender || n != taken {
		t.Errorf("%d of one sender were taken, %d are there", taken, n)
	}
	other := nodeReport(7, 2, "real", 0)
	other.NNodes = 2
	if err := by("n2", other); err != nil {
		t.Error(err)
	}
	now := time.Now()
	if n, err := s.mergeAt(ctx, now.Add(time.Minute)); n != 0 || err != nil {
		t.Errorf("%d attempts that wait were merged, %v", n, err)
	}
	line := sacct(7, "7", "COMPLETED", -time.Minute, 0, 21*time.Second)
	line.NodeList, line.Nodes = "n[1-2]", 2
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	if err := by("n1", large); err != nil {
		t.Errorf("a large one, now: %v", err)
	}
	if n, err := s.mergeAt(ctx, now.Add(time.Minute)); n != 1 || err != nil {
		t.Errorf("%d were merged, %v", n, err)
	}
	if j := aJob(t, s, alice, "7", 0); j.Reports != 2 || j.Metrics == nil {
		t.Errorf("%+v", j)
	}
	if err := by("n9", nodeReport(8, 9, "unknown", 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.mergeAt(ctx, now.Add(2*time.Hour)); n != 1 || err != nil {
		t.Errorf("%d were merged after their wait, %v", n, err)
	}
}

// TestWaitingTakesItsNodes: an attempt that waits takes no more reports than its job has nodes, so who
// joins another's with made-up nodes soon has an attempt of their own.
func TestWaitingTakesItsNodes(t *testing.T) {
	s := open(t)
	s.WaitForSlurm(time.Hour)
	for node := range 4 {
		r := nodeReport(7, 1+node, "x", 0)
		r.NNodes = 2
		add(t, s, r)
	}
	if n := count(t, s, "attempts"); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

// TestDamagedReportIsAlone: a report that cannot be read keeps Slurm's word from its own job only.
func TestDamagedReportIsAlone(t *testing.T) {
	s := open(t)
	add(t, s, nodeReport(7, 1, "a", -time.Hour), nodeReport(8, 1, "b", -time.Hour))
	err := s.do(ctx, func(w *writer) error { return w.exec("UPDATE reports SET body = ? WHERE job_id = 7", []byte("x")) })
	if err != nil {
		t.Fatal(err)
	}
	known, err := s.AddSlurm(ctx, []slurm.Job{sacct(7, "7", "COMPLETED", -time.Minute, 0, 21*time.Second), sacct(8, "8", "COMPLETED", -time.Minute, 0, 21*time.Second)})
	if known != 1 || err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "job 7: store: a report is damaged") {
		t.Errorf("%d known, %v", known, err)
	}
	if j, err := s.Job(ctx, alice, slurmid.Ref{ID: 8}, 0); err != nil || j.State != "COMPLETED" {
		t.Errorf("%v, %+v", err, j)
	}
}

// TestClustersAreBounded: root of a node makes up clusters. Those that are there, and those of which Slurm
// tells, are taken all the same.
func TestClustersAreBounded(t *testing.T) {
	s := open(t)
	add(t, s, nodeReport(7, 1, "first", 0))
	taken := 0
	for i := range 2 * mostClusters {
		r := nodeReport(7, 1, fmt.Sprint("x", i), 0)
		r.Cluster = fmt.Sprint("made-up-", i)
		switch _, err := addReport(s, r); {
		case err == nil:
			taken++
		case !errors.Is(err, ErrManyClusters):
			t.Fatal(err)
		}
	}
	if n := count(t, s, "clusters"); taken != mostClusters-1 || n != mostClusters {
		t.Errorf("%d were taken, %d are there", taken, n)
	}
	add(t, s, nodeReport(8, 1, "same", 0))
	r, line := nodeReport(9, 1, "new", 0), sacct(9, "9", "COMPLETED", -time.Minute, 0, 21*time.Second)
	r.Cluster, line.Cluster = "new", "new"
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	add(t, s, r)
}
