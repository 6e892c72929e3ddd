package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/policy/slow"
)

// timedReports are the reports of a job of an hour that says something of its nodes: of each, how long its two ranks
// computed in the mean, s.
func timedReports(id uint32, start time.Duration, useful ...time.Duration) []*job.NodeReport {
	all := ofNodes(id, len(useful), fmt.Sprint("timed", id), start)
	for i, r := range all {
		r.End = r.Start.Add(time.Hour)
		x := &r.Executions[0]
		x.End = x.Start.Add(time.Hour)
		x.Executable, x.BuildID, x.ArgsHash, x.Endings = "/opt/lmp", "b1d0", strings.Repeat("a1", 16), map[string]int{job.EndingFinalized: 2}
		x.Calls, x.Sections = nil, nil
		n := &x.Nodes[0]
		n.Useful, n.UsefulMax, n.MPI, n.ElapsedMax, n.ElapsedSum, n.CPUs = 2*useful[i], useful[i]+time.Second, time.Minute, time.Hour, 2*time.Hour, 1
		n.Hardware = &job.Hardware{Model: "Xeon", Sockets: 2, Cores: 32, ThreadsPerCore: 1, MaxMHz: 3000, MemoryMiB: 257_500}
		n.Load = &job.Load{Ranks: 2, Whole: 2, Busy: 2, Span: n.ElapsedSum, ThreadSpan: n.ElapsedSum, CPU: n.ElapsedSum}
	}
	return all
}

// timedLine is what sacct says of such a job.
func timedLine(id uint32, state string, start time.Duration, nodes int) slurm.Job {
	l := sacct(id, fmt.Sprint(id), state, start, start, start+time.Hour)
	l.Nodes, l.NodeList, l.WithSteps, l.Usage = nodes, "n1", true, &job.Usage{TotalCPU: time.Hour}
	if nodes > 1 {
		l.NodeList = fmt.Sprintf("n[1-%d]", nodes)
	}
	return l
}

// nodeTimesOf are the observations of all time.
func nodeTimesOf(t *testing.T, s *Store) (all []slow.Observation) {
	t.Helper()
	err := s.NodeTimes(ctx, day.AddDate(-100, 0, 0), day.AddDate(100, 0, 0), func(o slow.Observation) {
		if used := s.read.Stats().InUse; used > 0 {
			t.Errorf("%d connections are in use while do runs: it could hold up a checkpoint", used)
		}
		all = append(all, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNodeTimes: what a job says of its nodes is kept when it is judged, as policy/slow says it. It is made anew with new
// figures, and dropped if the job says nothing more. It stays when other rules judge the job, and when its ranks' figures are dropped.
func TestNodeTimes(t *testing.T) {
	s := open(t)
	by := rulesOf(5)
	reports, line := timedReports(7, 0, 3000*time.Second, 3300*time.Second), timedLine(7, "COMPLETED", 0, 2)
	again := func(change func(x *job.Execution)) func() {
		return func() {
			reports[1].Sequence++
			change(&reports[1].Executions[0])
			add(t, s, reports[1])
			merged(t, s)
		}
	}
	otherRules := func() { by = rulesOf(by.Rules + 1) }
	slower := math.Log(3300. / 3000)
	var before []slow.Observation
	for _, step := range []struct {
		what string
		do   func()
		want []float64 // of n1 and n2; nil: nothing is kept
		same bool      // as before
	}{
		{"it runs", func() { add(t, s, reports...); merged(t, s) }, nil, true},
		{"Slurm tells of it", func() { addLines(t, s, line); merged(t, s) }, []float64{-slower, slower}, false},
		{"other rules", otherRules, []float64{-slower, slower}, true},
		{"a later end", func() {
			line.End, line.Elapsed = line.End.Add(time.Second), line.Elapsed+time.Second
			addLines(t, s, line)
		}, []float64{-slower, slower}, false},
		{"a report again", again(func(x *job.Execution) { x.Nodes[0].Useful = 2 * 3000 * time.Second }), []float64{0, 0}, false},
		{"the figures of its ranks are dropped", func() {
			if done, err := s.Retain(ctx, Retention{Ranks: oneDay}, day.Add(2*oneDay), nil); done.Trimmed != 1 || err != nil {
				t.Fatal(done, err)
			}
			otherRules()
		}, []float64{0, 0}, true},
		{"it failed", func() {
			line.State, line.End, line.Elapsed = "FAILED", line.End.Add(time.Second), line.Elapsed+time.Second
			addLines(t, s, line)
		}, nil, false},
	} {
		step.do()
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			judged(t, s, by, 3*time.Hour)
		}
		got := nodeTimesOf(t, s)
		if step.same && cmp.Diff(before, got) != "" {
			t.Errorf("%s: %s", step.what, cmp.Diff(before, got))
		}
		before = got
		if d := cmp.Diff(slow.Of(aJob(t, s, root, "7", 0)), got); d != "" {
			t.Errorf("%s: %s", step.what, d)
		}
		if len(got) != len(step.want) {
			t.Fatalf("%s: %+v", step.what, got)
		}
		for i, o := range got {
			if math.Abs(o.Value-step.want[i]) > 1e-9 || o.Machine != (slow.Machine{Cluster: "test", Node: fmt.Sprintf("n%d", i+1)}) || o.UID != alice.UID || !o.At.Equal(line.End) {
				t.Errorf("%s: %+v", step.what, o)
			}
		}
	}
}

// TestAddedJobsTellOfNodes: a job that is added already merged says the same of its nodes, and judging it changes nothing of that.
func TestAddedJobsTellOfNodes(t *testing.T) {
	s, bulk, by := open(t), open(t), rulesOf(5)
	add(t, s, timedReports(7, 0, 3000*time.Second, 3300*time.Second)...)
	addLines(t, s, timedLine(7, "COMPLETED", 0, 2))
	merged(t, s)
	silent := &job.Job{Cluster: "test", JobID: 8, Attempt: 1}
	if err := bulk.AddJobs(ctx, []*job.Job{aJob(t, s, root, "7", 0), silent}); err != nil {
		t.Fatal(err)
	}
	added := nodeTimesOf(t, bulk)
	for _, one := range []*Store{s, bulk} {
		if err := one.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		judged(t, one, by, 3*time.Hour)
	}
	if d := cmp.Diff(nodeTimesOf(t, s), added); d != "" || len(added) != 2 {
		t.Errorf("%d observations: %s", len(added), d)
	}
	if d := cmp.Diff(added, nodeTimesOf(t, bulk)); d != "" {
		t.Errorf("judged: %s", d)
	}
}

// TestNodeTimesAreWrittenOnce: a look at the same figures writes nothing.
func TestNodeTimesAreWrittenOnce(t *testing.T) {
	onlySQLite(t, "the statement is the same, and the trigger is in SQLite's words")
	s := open(t)
	add(t, s, timedReports(7, 0, time.Hour/2)...)
	addLines(t, s, timedLine(7, "COMPLETED", 0, 1))
	settled(t, merged(t, s))
	err := s.do(ctx, func(w *writer) error {
		return w.exec("CREATE TRIGGER written BEFORE UPDATE ON node_times BEGIN SELECT RAISE(ABORT, 'it is written again'); END")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.JudgeBy(ctx, 5); err != nil {
		t.Fatal(err)
	}
	if n := judged(t, s, rulesOf(5), 3*time.Hour); n != 1 || len(nodeTimesOf(t, s)) != 1 {
		t.Errorf("judged %d, %+v", n, nodeTimesOf(t, s))
	}
}

// TestNodesMakeUpNoTimes: a node alone makes no times of nodes, whether Slurm never tells of its job, tells of another with
// that id, or tells that the job was on another node. Neither does a job that Slurm alone knows.
func TestNodesMakeUpNoTimes(t *testing.T) {
	for what, lines := range map[string][]slurm.Job{
		"Slurm says nothing":            nil,
		"Slurm says that it runs":       {func() slurm.Job { l := timedLine(7, "RUNNING", 0, 1); l.End = time.Time{}; return l }()},
		"another time":                  {timedLine(7, "COMPLETED", -40*oneDay, 1)},
		"another node":                  {func() slurm.Job { l := timedLine(7, "COMPLETED", 0, 1); l.NodeList = "n9"; return l }()},
		"another user":                  {func() slurm.Job { l := timedLine(7, "COMPLETED", 0, 1); l.UID = bob.UID; return l }()},
		"Slurm alone knows of a job":    {timedLine(8, "COMPLETED", 0, 1)},
		"it is as Slurm says (control)": {timedLine(7, "COMPLETED", 0, 1)},
	} {
		s := open(t)
		s.began = day.AddDate(-1, 0, 0)
		s.WaitForSlurm(time.Hour)
		add(t, s, timedReports(7, 0, time.Hour/2)...)
		addLines(t, s, lines...)
		if err := s.do(ctx, func(w *writer) error {
			return w.exec("UPDATE attempts SET changed_us = changed_us - 7200000000, usage_read = 1")
		}); err != nil { // no wait for Slurm's word is left
			t.Fatal(err)
		}
		merged(t, s)
		if n := len(nodeTimesOf(t, settled(t, s))); n != bit(strings.Contains(what, "control")) {
			t.Errorf("%s: %d", what, n)
		}
		if n := count(t, s, "attempts WHERE judged_by > 0"); n == 0 {
			t.Errorf("%s: nothing was judged", what)
		}
	}
}

// TestNodeTimesOfOldFigures: what came while the rules were asked takes the place of what they were asked about, and
// an attempt that was dropped meanwhile leaves nothing behind.
func TestNodeTimesOfOldFigures(t *testing.T) {
	for what, c := range map[string]struct {
		meanwhile func(s *Store)
		want      int
	}{
		"nothing": {func(*Store) {}, 1},
		"it is dropped": {func(s *Store) {
			if done, err := s.Retain(ctx, Retention{Jobs: oneDay}, day.Add(3*oneDay), nil); done.Pruned != 1 || err != nil {
				t.Error(done, err)
			}
		}, 0},
		"it was on another node": {func(s *Store) {
			l := timedLine(7, "COMPLETED", 0, 1)
			l.NodeList = "n9"
			addLines(t, s, l)
			merged(t, s)
		}, 0},
	} {
		s := open(t)
		add(t, s, timedReports(7, 0, time.Hour/2)...)
		addLines(t, s, timedLine(7, "COMPLETED", 0, 1))
		merged(t, s)
		by := rulesOf(5)
		by.Ask = func(*listing.JobAndWorkload) []string { c.meanwhile(s); return nil }
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		judged(t, s, by, 3*time.Hour)
		if n := count(t, s, "node_times"); n != c.want {
			t.Errorf("%s: %d", what, n)
		}
	}
}

// TestNodeTimesGo: the times of a job's nodes go with the job, when Slurm says that it ran elsewhere, and after a year, also
// if the job stays and is judged again.
func TestNodeTimesGo(t *testing.T) {
	rejudge := func(s *Store, at time.Duration) {
		t.Helper()
		by := rulesOf(int64(at))
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		if n := judged(t, s, by, at); n != 1 {
			t.Errorf("judged %d", n)
		}
	}
	retain := func(s *Store, keep, at time.Duration) {
		t.Helper()
		if _, err := s.Retain(ctx, Retention{Jobs: keep}, day.Add(at), nil); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		do   func(s *Store)
		want int
	}{
		"a year less a day":               {func(s *Store) { retain(s, 0, slow.Year-oneDay) }, 1},
		"a year and a day":                {func(s *Store) { retain(s, 0, slow.Year+oneDay) }, 0},
		"judged again after a year":       {func(s *Store) { rejudge(s, slow.Year+oneDay) }, 0},
		"judged again within a year":      {func(s *Store) { rejudge(s, slow.Year-oneDay) }, 1},
		"the job is dropped after a week": {func(s *Store) { retain(s, 7*oneDay, 8*oneDay) }, 0},
		"it was on another node": {func(s *Store) {
			l := timedLine(7, "COMPLETED", 0, 1)
			l.NodeList = "n9"
			addLines(t, s, l)
		}, 0},
	} {
		s := open(t)
		add(t, s, timedReports(7, 0, time.Hour/2)...)
		addLines(t, s, timedLine(7, "COMPLETED", 0, 1))
		merged(t, s)
		rejudge(s, 3*time.Hour)
		if n := count(t, s, "node_times"); n != 1 {
			t.Fatalf("%d at first", n)
		}
		if c.do(s); count(t, s, "node_times") != c.want {
			t.Errorf("%s: %d", what, count(t, s, "node_times"))
		}
	}
}

// TestNodeTimesTravel: an export has the times of nodes. A job that comes in counts as judged, so nothing would make them again.
func TestNodeTimesTravel(t *testing.T) {
	from, to := open(t), open(t)
	add(t, from, timedReports(7, 0, time.Hour/2, time.Hour/3)...)
	addLines(t, from, timedLine(7, "COMPLETED", 0, 2))
	settled(t, merged(t, from))
	if _, err := to.Import(ctx, bytes.NewReader([]byte(exported(t, from))), nil); err != nil {
		t.Fatal(err)
	}
	want := nodeTimesOf(t, from)
	if d := cmp.Diff(want, nodeTimesOf(t, settled(t, to))); d != "" || len(want) != 2 {
		t.Error(len(want), d)
	}
}

// fillNodeTimes puts n observations into a database, of a year before day, of that many nodes. Their ids and ends have different orders,
// and several end at once.
func fillNodeTimes(t testing.TB, s *Store, n, nodes int) (want []slow.Observation) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	const atOnce = 10_000
	for first := 0; first < n; first += atOnce {
		var args []any
		for i := first; i < min(first+atOnce, n); i++ {
			o := slow.Observation{Machine: slow.Machine{Cluster: "test", Node: fmt.Sprintf("n%05d", r.IntN(nodes))}, UID: uint32(r.IntN(60)), Value: 8 + .04*r.NormFloat64()}
			binary.LittleEndian.PutUint32(o.Stratum[:], uint32(r.IntN(max(8, n/300))))
			o.At = day.Add(-time.Duration(float64(slow.Year) * float64(n-i/2*2) / float64(n))).Truncate(time.Microsecond)
			times, err := packTimes([]slow.Observation{o})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, o)
			id := i*7919%n + 1 // another order than that of the ends
			args = append(args, "test", id, 1, o.At.UnixMicro(), o.UID, times)
		}
		err := s.do(ctx, func(w *writer) error {
			return w.insertRows("node_times (cluster, job_id, attempt, end_us, uid, times)", args)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return want
}

// TestNodeTimesInOrder: observations are read in the order of the ends, each once, however many there are, and only those of
// the span.
func TestNodeTimesInOrder(t *testing.T) {
	s := open(t)
	const n = 3*timesAtOnce + 7
	want := fillNodeTimes(t, s, n, 5)
	all := nodeTimesOf(t, s)
	byEnd := func(a, b slow.Observation) int { return a.At.Compare(b.At) }
	if len(all) != n || !slices.IsSortedFunc(all, byEnd) {
		t.Fatalf("%d, sorted %t", len(all), slices.IsSortedFunc(all, byEnd))
	}
	unordered := func(all []slow.Observation) []string {
		var lines []string
		for _, o := range all {
			lines = append(lines, fmt.Sprintf("%+v", o))
		}
		return slices.Sorted(slices.Values(lines))
	}
	if d := cmp.Diff(unordered(want), unordered(all)); d != "" {
		t.Error(d)
	}
	for range 2 { // the same data have the same order
		if d := cmp.Diff(all, nodeTimesOf(t, s)); d != "" {
			t.Error(d)
		}
	}
	var span []slow.Observation
	from, to := want[40].At, want[2*timesAtOnce].At
	if err := s.NodeTimes(ctx, from, to, func(o slow.Observation) { span = append(span, o) }); err != nil {
		t.Fatal(err)
	}
	outside := func(o slow.Observation) bool { return o.At.Before(from) || !o.At.Before(to) }
	if d := cmp.Diff(slices.DeleteFunc(slices.Clone(all), outside), span); d != "" || !span[0].At.Equal(from) {
		t.Error(d)
	}
}

// TestSlowNodesAreKept: what a look found comes back, and takes the place of what the one before found.
func TestSlowNodesAreKept(t *testing.T) {
	s := open(t)
	if last, err := s.SlowNodes(ctx); last != nil || err != nil {
		t.Errorf("before the first look: %+v, %v", last, err)
	}
	for _, want := range []*listing.SlowNodes{
		{At: day, Observed: 12, Nodes: []slow.Slow{{Machine: slow.Machine{Cluster: "test", Node: "n7"}, Slower: 1.12, Low: 1.1, High: 1.14, Since: day.AddDate(0, -1, 0), Jobs: 40, Users: 3, Days: 20, Evidence: 14.5}}},
		{At: day.Add(oneDay), Observed: 13},
	} {
		if err := s.KeepSlowNodes(ctx, want); err != nil {
			t.Fatal(err)
		}
		got, err := s.SlowNodes(ctx)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	if n := count(t, s, "slow_nodes"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestTakeTurn: of several that ask at once, one gets the turn; and the next gets it when the mark says so, or if the
// mark is of a wrong clock.
func TestTakeTurn(t *testing.T) {
	s := open(t)
	at := day
	asked := func() int {
		var mine atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				is, err := s.TakeTurn(ctx, "turn", at, time.Hour, oneDay)
				if err != nil {
					t.Error(err)
				}
				mine.Add(int32(bit(is)))
			})
		}
		wg.Wait()
		return int(mine.Load())
	}
	mark := func(next time.Time) func() {
		return func() {
			if err := s.SetMark(ctx, "turn", next); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []struct {
		what string
		do   func()
		want int
	}{
		{"never done", func() {}, 1},
		{"one is at it", func() { at = at.Add(time.Hour - time.Second) }, 0},
		{"nobody has done it", func() { at = at.Add(time.Second) }, 1},
		{"it is done", mark(day.Add(oneDay)), 0},
		{"a day later", func() { at = day.Add(oneDay) }, 1},
		{"a wrong clock", mark(day.AddDate(10, 0, 0)), 1},
	} {
		if step.do(); asked() != step.want {
			t.Error(step.what)
		}
	}
}

// usedCPU is the CPU time of this process, s: machines that run tests are busy.
func usedCPU(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// BenchmarkSlowNodes reads and compares so many observations of a year as `-benchtime Nx` says.
func BenchmarkSlowNodes(b *testing.B) {
	s := open(b)
	fillNodeTimes(b, s, b.N, 10_000)
	runtime.GC()
	before := usedCPU(b)
	w, n := slow.New(), 0
	err := s.NodeTimes(ctx, day.Add(-2*slow.Year), day, func(o slow.Observation) {
		w.Add(o)
		n++
	})
	read := usedCPU(b)
	w.Look(day)
	looked := usedCPU(b)
	if err != nil || n != b.N {
		b.Fatal(n, err)
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	b.ReportMetric(read-before, "CPU-s")
	b.ReportMetric(looked-read, "CPU-s/look")
	b.ReportMetric(float64(mem.HeapAlloc)/(1<<20), "MiB")
	runtime.KeepAlive(w)
}

// BenchmarkJudge judges jobs that say something of their node.
func BenchmarkJudge(b *testing.B) {
	s := open(b)
	for id := range uint32(400) {
		add(b, s, timedReports(id+1, time.Duration(id)*time.Second, time.Hour/2)...)
		if _, err := s.AddSlurm(ctx, []slurm.Job{timedLine(id+1, "COMPLETED", time.Duration(id)*time.Second, 1)}); err != nil {
			b.Fatal(err)
		}
	}
	merged(b, s)
	before, n := usedCPU(b), 0
	for mark := range b.N {
		by := rulesOf(int64(mark + 1))
		by.Grace = 0
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			b.Fatal(err)
		}
		for some := 1; some > 0; n += some {
			var err error
			if some, err = s.Judge(ctx, by, day.Add(oneDay)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(1e6*(usedCPU(b)-before)/float64(n), "CPU-us/job")
}
