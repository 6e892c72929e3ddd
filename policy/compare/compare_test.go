package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	jobtesting "jobeff/ingest/job/jobtest"
	"jobeff/ingest/listing"
	"jobeff/policy/doubt"
)

// made is a made-up run: what each of its ranks does, and what is else known of it. Times are s.
type made struct {
	id             uint32
	nodes, perNode int
	useful         float64 // of each rank; with threads, of all of them in sum
	slowNode       float64 // times the useful time of the last node's ranks
	slowRank       float64 // likewise of the last rank
	comm, io       float64 // of the busiest rank
	outside        float64
	counted        bool
	instructions   float64 // of each rank
	ipc, ghz       float64 // where counted, they make the useful time
	ser            float64 // of windows; 0: none
	threads        int
	wait, schedule float64 // of the threads of a rank in sum
	serial         float64
	queue          float64 // part of the time
	mpi, build     string
}

// base is the earlier run of most pairs.
var base = made{id: 1, nodes: 8, perNode: 4, useful: 90, slowNode: 1, slowRank: 1, comm: 10, outside: 5, mpi: "Open MPI v4.1.4", build: "aa11"}

func (m made) with(change func(*made)) made {
	m.id++
	change(&m)
	return m
}

// busy is how long rank i of n is outside of MPI and files.
func (m made) busy(i, n int) float64 {
	u := m.useful
	switch {
	case m.threads > 1:
		u = (m.useful + m.wait + m.schedule + m.serial) / float64(m.threads)
	case m.counted:
		u = m.instructions / m.ipc / (m.ghz * 1e9)
	}
	if i/m.perNode == m.nodes-1 {
		u *= m.slowNode
	}
	if i == n-1 {
		u *= m.slowRank
	}
	return u
}

// job is the run's job.
func (m made) job() *listing.JobAndWorkload {
	n, most := m.nodes*m.perNode, 0.0
	for i := range n {
		most = max(most, m.busy(i, n))
	}
	elapsed := most + m.comm + m.io
	var ranks []jobtesting.Rank
	for i := range n {
		u := m.busy(i, n)
		ranks = append(ranks, jobtesting.Work(u, elapsed-u))
	}
	e := jobtesting.World(1, m.perNode, 2, ranks...)
	e.Start = jobtesting.Began.Add(time.Duration(m.id) * time.Hour)
	e.ArgsHash, e.InputHash, e.BuildID, e.MPIVersion = "ef", "1234567890", m.build, m.mpi
	e.Endings = map[string]int{job.EndingFinalized: n}
	e.Classes = []job.Call{{Name: "collective", Count: uint64(1000 * n)}}
	e.Calls = []job.Call{{Name: "MPI_Allreduce", Count: uint64(1000 * n), Time: jobtesting.Sec(m.comm * float64(n))}}
	for i := range e.Nodes {
		share := &e.Nodes[i]
		share.RankIDs = fmt.Sprintf("%d-%d", i*m.perNode, (i+1)*m.perNode-1)
		share.ElapsedMax = jobtesting.Sec(elapsed)
		io := jobtesting.Sec(m.io * float64(m.perNode))
		share.IO, share.MPI = io, share.MPI-io
		share.ElapsedSum = share.Useful + share.MPI + share.IO
		share.Load = &job.Load{Ranks: share.Ranks, Whole: share.Ranks, Span: share.ElapsedSum, CPU: share.ElapsedSum, ThreadSpan: share.ElapsedSum,
			Queue: time.Duration(m.queue * float64(share.ElapsedSum)), CPUList: "0-3", Busy: share.Ranks}
		if m.counted {
			share.Counters = &job.Counters{Ranks: share.Ranks, Instructions: uint64(m.instructions) * uint64(share.Ranks),
				Cycles: uint64(share.Useful.Seconds() * m.ghz * 1e9), Useful: share.Useful}
		}
		if m.threads > 1 {
			part := func(s float64) time.Duration { return jobtesting.Sec(s * float64(share.Ranks)) }
			share.Threads = &job.ThreadShare{Ranks: share.Ranks, Threads: m.threads * share.Ranks, ThreadsMax: m.threads, Useful: part(m.useful), UsefulMax: jobtesting.Sec(m.useful / float64(m.threads)),
				MPI: time.Duration(m.threads) * share.MPI, IO: time.Duration(m.threads) * share.IO, Imbalance: part(m.wait), Scheduling: part(m.schedule), Serial: part(m.serial)}
			share.Load.OpenMP, share.Load.Threaded = share.Ranks, share.Ranks
		}
	}
	if m.ser > 0 {
		c := most / elapsed
		e.Windows = &job.Windows{Logged: 9, Matched: 9, Serialisation: job.Estimate{Value: m.ser}, Transfer: job.Estimate{Value: c / m.ser}}
	}
	j := jobtesting.Job(e)
	j.Cluster, j.JobID, j.Attempt, j.DisplayID, j.UID = "test", m.id, 1, fmt.Sprint(m.id), 1000
	j.Nodes, j.Reports, j.CPUs = m.nodes, m.nodes, n
	j.Elapsed = jobtesting.Sec(elapsed + m.outside)
	return &listing.JobAndWorkload{Job: j}
}

// pairs have one cause each: the part that it must go to.
var pairs = []struct {
	name    string
	before  made
	change  func(*made)
	part    string
	changed string // among what changed; ""
	outlier string // that is named; ""
}{
	{"staging took longer", base, func(m *made) { m.outside = 35 }, Outside, "", ""},
	{"slower computing", base, func(m *made) { m.useful = 120 }, Computing, "", ""},
	{"another build", base, func(m *made) { m.useful, m.build = 120, "bb22" }, Computing, "Build", ""},
	{"more instructions", counted(1), func(m *made) { m.instructions *= 1.3 }, Instructions, "", ""},
	{"fewer instructions per cycle", counted(1), func(m *made) { m.ipc = 0.7 }, IPC, "", ""},
	{"a lower clock", counted(1), func(m *made) { m.ghz = 1.8 }, Clock, "", ""},
	{"a slow node", base, func(m *made) { m.slowNode = 1.3 }, LoadBalance, "", "node n8"},
	{"a slow rank", base, func(m *made) { m.slowRank = 1.3 }, LoadBalance, "", "rank 31"},
	{"files", base, func(m *made) { m.io = 25 }, Files, "", ""},
	{"a slower network", base, func(m *made) { m.comm = 40 }, Communication, "", ""},
	{"another MPI library", base, func(m *made) { m.comm, m.mpi = 40, "MPICH 4.0.2" }, Communication, "MPI", ""},
	{"waits for work", windows(0.95), func(m *made) { m.comm, m.ser = 40, 0.95*100./130 }, Serialisation, "", ""},
	{"transfers", windows(0.95), func(m *made) { m.comm = 40 }, Transfer, "", ""},
	{"fewer cores", base, func(m *made) { m.nodes, m.useful = 6, 120 }, Cores, "Ranks and threads", ""},
	{"uneven threads", threaded(), func(m *made) { m.wait = 150 }, OpenMPLoadBalance, "", ""},
	{"threads' overhead", threaded(), func(m *made) { m.schedule = 150 }, OpenMPScheduling, "", ""},
	{"a serial part", threaded(), func(m *made) { m.serial = 150 }, OpenMPSerialisation, "", ""},
	{"shared cores", base, func(m *made) { m.useful, m.queue = 120, 0.25 }, Computing, "Waited for a CPU", ""},
}

func counted(id uint32) made {
	return base.with(func(m *made) { m.id, m.counted, m.instructions, m.ipc, m.ghz = id, true, 2.5e11, 1, 2.6 })
}

func windows(ser float64) made { return base.with(func(m *made) { m.id, m.ser = 1, ser }) }

func threaded() made {
	return base.with(func(m *made) { m.id, m.threads, m.useful, m.wait, m.schedule, m.serial = 1, 4, 350, 10, 5, 15 })
}

// TestOneCause: at least four fifths of the difference go to the one cause, both ways round.
func TestOneCause(t *testing.T) {
	for _, p := range pairs {
		before, after := p.before.job(), p.before.with(p.change).job()
		for _, turned := range []bool{false, true} {
			if turned {
				before, after = after, before
			}
			c, err := New(before, after, false)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			at := slices.IndexFunc(c.Parts, func(one Part) bool { return one.Code == p.part })
			if at < 0 || c.Parts[at].Seconds/c.Longer() < 0.8 {
				t.Errorf("%s (turned: %v): %.1f s longer, %+v", p.name, turned, c.Longer(), c.Parts)
			}
			if p.changed != "" && !slices.ContainsFunc(c.Changed, func(one Change) bool { return one.What == p.changed }) {
				t.Errorf("%s: changed %+v", p.name, c.Changed)
			}
			if p.changed == "" && len(c.Changed) > 0 {
				t.Errorf("%s: nothing changed, but %+v", p.name, c.Changed)
			}
			if named := slices.Concat(c.Nodes, c.Ranks); !turned && (p.outlier != "") != (len(named) == 1 && named[0].Name == p.outlier) {
				t.Errorf("%s: named are %+v", p.name, named)
			}
		}
	}
}

// TestCountersWithoutCounts: counters that counted nothing in one run say nothing of the other.
func TestCountersWithoutCounts(t *testing.T) {
	before, after := counted(1).job(), counted(2).job()
	for i := range after.Job.Executions[0].Nodes {
		after.Job.Executions[0].Nodes[i].Counters.Cycles = 0
	}
	if c, err := New(before, after, false); err != nil || c.Parts[1].Code != Computing {
		t.Errorf("%v, %+v", err, c)
	}
}

// TestPartsAddUp: whatever the two runs did, the parts are the whole difference.
func TestPartsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 1))
	draw := func(id uint32) made {
		m := made{id: id, nodes: 1 + rng.IntN(6), perNode: 1 + rng.IntN(5), useful: 1 + 200*rng.Float64(), slowNode: 0.5 + rng.Float64(), slowRank: 0.5 + rng.Float64(),
			comm: 50 * rng.Float64(), io: 20 * rng.Float64() * float64(rng.IntN(2)), outside: 30 * rng.Float64(), mpi: "MPICH", build: "aa11"}
		switch rng.IntN(4) {
		case 0:
			m.counted, m.instructions, m.ipc, m.ghz = true, 1e11*(1+rng.Float64()), 0.2+rng.Float64(), 1+2*rng.Float64()
		case 1:
			m.threads, m.wait, m.schedule, m.serial = 2+rng.IntN(7), 30*rng.Float64(), 30*rng.Float64(), 30*rng.Float64()
			m.slowNode, m.slowRank = 1, 1
		case 2:
			m.ser = 0.1 + 0.9*rng.Float64()
		}
		return m
	}
	for range 2000 {
		a, b := draw(1), draw(2)
		c, err := New(a.job(), b.job(), true)
		if err != nil {
			t.Fatalf("%v: %+v %+v", err, a, b)
		}
		sum := 0.0
		for _, p := range c.Parts {
			sum += p.Seconds
		}
		if math.Abs(sum-c.Longer()) > 1e-9*max(c.Before.Time, c.After.Time) {
			t.Fatalf("parts come to %v of %v: %+v and %+v", sum, c.Longer(), a, b)
		}
	}
}

// TestNearlyAlike: the logarithmic mean of equal times is theirs.
func TestNearlyAlike(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{{7, 7, 7}, {1, math.E, math.E - 1}, {100, 100 + 1e-5, 100 + 5e-6}, {100, 100.0001, 100.00005}} {
		if got := logMean(c.a, c.b); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("of %v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestRefused: the situations in which nothing may be said, and why. Some are shown where that is asked
// for.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*job.Job)
		why    string
		force  bool // can be shown
	}{
		{"it runs", func(j *job.Job) { j.AsOf, j.End = j.Start.Add(time.Minute), time.Time{} }, "job 2 runs", false},
		{"a node was lost", func(j *job.Job) { j.AsOf = j.Start.Add(time.Minute) }, "a node was lost", false},
		{"no figures", func(j *job.Job) { j.Metrics, j.Executions, j.NoData = nil, nil, doubt.NewWarning(doubt.WhyNoMPI, 0) }, "job 2 has no figures", false},
		{"reports are missing", func(j *job.Job) { j.Reports = 7 }, "not whole yet", false},
		{"itself", func(j *job.Job) { j.JobID = 1 }, "with itself", false},
		{"only folded programs", func(j *job.Job) { j.Executions[0].Folded = &job.Folded{Count: 300} }, "no single one is kept", false},
		{"ranks were not recorded", func(j *job.Job) { j.Executions[0].Size, j.Executions[0].Endings[job.EndingFinalized] = 64, 64 }, "not all of its ranks were recorded", true},
		{"it was killed", func(j *job.Job) { j.Executions[0].Endings = map[string]int{"signal 9 (SIGKILL)": 32} }, "did not finish", true},
		{"it was suspended", func(j *job.Job) { j.Submit, j.Elapsed = j.Start, j.End.Sub(j.Start)-30*time.Minute }, "suspended", true},
		{"it had GPUs", func(j *job.Job) { j.GPUs = 4 }, "had GPUs", true},
		{"threads were not measured", func(j *job.Job) { j.Executions[0].OMPThreads, j.Executions[0].Nodes[0].Load = 4, nil }, "threads", true},
		{"ranks that never met", func(j *job.Job) {
			e := jobtesting.World(1, 1, 0, jobtesting.Work(50, 1))
			e.Endings, e.Warnings = map[string]int{job.EndingFinalized: 1}, []doubt.Warning{{Code: doubt.WarnSingletons}}
			j.Executions = []job.Execution{e, e}
			j.Metrics = job.JobMetrics(j.Executions)
		}, "never met", true},
		{"another program", func(j *job.Job) { j.Executions[0].Executable = "/opt/gmx" }, "its ranks ran gmx, not lmp", true},
		{"more steps", func(j *job.Job) { j.Executions[0].Classes[0].Count *= 2 }, "another number of steps", true},
		{"other arguments, more work", func(j *job.Job) { j.Executions[0].ArgsHash = "cd"; work(j, 1.4) }, "whether the input is the same is not known", true},
		{"another input, more work", func(j *job.Job) { j.Executions[0].InputHash = "cd"; work(j, 1.15) }, "the input is another", true},
	} {
		after := base.with(func(*made) {}).job()
		c.change(after.Job)
		if c.name == "another input, more work" || c.name == "other arguments, more work" {
			after.Job.Metrics = job.JobMetrics(after.Job.Executions)
		}
		_, err := New(base.job(), after, false)
		var refused *Refusal
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.why) || refused.Force != c.force {
			t.Errorf("%s: %v, want %q", c.name, err, c.why)
		}
		forced, err := New(base.job(), after, true)
		if c.force != (err == nil) || err == nil && !strings.Contains(forced.Different, c.why) {
			t.Errorf("%s, with force: %v", c.name, err)
		}
	}
	files := base.with(func(*made) {}).job()
	for i := range files.Job.Executions[0].Nodes {
		n := &files.Job.Executions[0].Nodes[i]
		n.IO = n.ElapsedMax * time.Duration(n.Ranks)
	}
	if _, err := New(base.job(), files, true); err == nil || !strings.Contains(err.Error(), "the factor of time in files is 0") {
		t.Errorf("nothing but files: %v", err)
	}
	step := base.with(func(*made) {}).job()
	step.Step = true
	if _, err := New(base.job(), step, true); err == nil || !strings.Contains(err.Error(), "whole jobs") {
		t.Errorf("a step: %v", err)
	}
}

// work is a job whose ranks computed so many times as long.
func work(j *job.Job, factor float64) {
	for i := range j.Executions[0].Nodes {
		n := &j.Executions[0].Nodes[i]
		n.Useful, n.UsefulMax = time.Duration(factor*float64(n.Useful)), time.Duration(factor*float64(n.UsefulMax))
		n.ElapsedMax = max(n.ElapsedMax, n.UsefulMax)
	}
}

// TestDoubts: what is compared all the same, and what is said then.
func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*job.Job)
		said   string
	}{
		{"requeued", func(j *job.Job) { j.Attempt = 2 }, "was started 2 times: the last start is compared"},
		{"several programs", func(j *job.Job) {
			small := jobtesting.World(1, 1, 0, jobtesting.Work(1, 1))
			small.Endings = map[string]int{job.EndingFinalized: 1}
			j.Executions = append(j.Executions, small)
			j.Metrics = job.JobMetrics(j.Executions)
		}, "ran 2 programs"},
		{"Slurm is silent", func(j *job.Job) { j.Elapsed = 0 }, "Slurm has not told"},
		{"it lacked CPUs", func(j *job.Job) { j.Executions[0].Nodes[0].Load.CrowdBusy = 4 }, "job 2: its ranks lacked CPUs"},
		{"it failed later", func(j *job.Job) { j.State = "FAILED" }, "ended as FAILED"},
	} {
		after := base.with(func(m *made) { m.comm = 20 }).job()
		c.change(after.Job)
		got, err := New(base.job(), after, false)
		if err != nil || !strings.Contains(strings.Join(got.Doubts, "; "), c.said) {
			t.Errorf("%s: %v, %+v", c.name, err, got)
		}
		if c.name == "Slurm is silent" && (got.Parts[0].Code == Outside || got.Longer() != got.After.Elapsed-got.Before.Elapsed) {
			t.Errorf("%s: %+v", c.name, got.Parts)
		}
	}
}

// runs are those of a workload: their times, at ids from 1 on.
func runs(times ...float64) *job.Workload {
	w := &job.Workload{Key: "k", Name: "lmp"}
	for i, t := range times {
		r := jobtesting.Run(uint32(i+1), 32, t, 0.9*t)
		r.Nodes = 8
		w.Runs = append(w.Runs, r)
	}
	return w
}

func TestMedianRun(t *testing.T) {
	of := func(w *job.Workload, id uint32) (string, int) {
		found := base.with(func(m *made) { m.id = id }).job()
		found.Job.Start = jobtesting.Began.Add(time.Duration(id) * time.Hour)
		found.Workload = w
		c := new(Comparison)
		r, err := c.medianRun(found)
		if err != nil {
			return err.Error(), 0
		}
		if c.Rebuilt {
			return "rebuilt " + r.DisplayID, c.Median
		}
		return r.DisplayID, c.Median
	}
	w := runs(100, 140, 120, 110, 99, 130)
	for _, c := range []struct {
		id   uint32
		want string
		of   int
	}{{9, "4", 6}, {6, "4", 5}, {5, "4", 4}, {4, "3", 3}, {3, "1", 2}, {2, "1", 1}, {1, "no run of its workload on 32 cores began before job 1: name", 0}} {
		if got, n := of(w, c.id); !strings.HasPrefix(got, c.want) || n != c.of {
			t.Errorf("before %d: %s of %d, want %s of %d", c.id, got, n, c.want, c.of)
		}
	}
	for name, change := range map[string]func(*job.Run){
		"other cores": func(r *job.Run) { r.Ranks = 64 }, "other steps": func(r *job.Run) { r.Collectives = 2000 }, "unfinished": func(r *job.Run) { r.Ended = false },
		"part of its ranks": func(r *job.Run) { r.Coverage = 0.5 }, "another mix": func(r *job.Run) { r.Ranks, r.Threads = 8, 4; r.Conditions.Counted = true },
	} {
		w := runs(100, 140, 120)
		change(&w.Runs[2])
		if got, n := of(w, 9); got != "1" || n != 2 {
			t.Errorf("%s: %s of %d", name, got, n)
		}
	}
	w.Rebuilt = runs(100, 140, 120).Runs[1:]
	for id, want := range map[uint32]string{9: "4", 3: "1"} {
		if got, _ := of(w, id); got != want {
			t.Errorf("before %d: %s, although there are earlier runs of the same build", id, got)
		}
	}
	if got, n := of(&job.Workload{Runs: w.Runs[3:], Rebuilt: w.Rebuilt}, 4); got != "rebuilt 3" || n != 2 {
		t.Errorf("%s of %d builds before", got, n)
	}
	if got, _ := of(nil, 9); !strings.Contains(got, "belongs to no workload") {
		t.Error(got)
	}
}

// TestNoneEarlier: why no earlier run can be taken, and that of the newest one is told.
func TestNoneEarlier(t *testing.T) {
	for why, change := range map[string]func(*job.Workload, *made){
		"no run of its workload on 32 cores began before job 9":                                                        func(w *job.Workload, _ *made) { w.Runs = nil },
		"no run of its workload on 32 ranks x 1 thread began before job 9":                                             func(w *job.Workload, _ *made) { w.Runs[0].Ranks, w.Runs[0].Threads = 8, 4; w.Runs = w.Runs[:1] },
		"only the newest runs of its workload are looked at, and none of these on 32 cores began before job 9":         func(w *job.Workload, _ *made) { w.Runs, w.All = nil, &job.RunSum{Runs: 99} },
		"2 earlier runs on 32 cores cannot be taken (job 2, the newest: the job did not finish)":                       func(w *job.Workload, _ *made) { w.Runs[0].Collectives, w.Runs[1].Ended = 1, false },
		"1 earlier run on 32 cores cannot be taken (job 1: its ranks lacked CPUs, because other programs used them or": func(w *job.Workload, _ *made) { w.Runs[0].Conditions.Contended = true; w.Runs = w.Runs[:1] },
		"2 earlier runs on 32 cores cannot be taken (job 2, the newest: job 9 did other work: its ranks made 1,000 collective calls each, not 2,000": func(w *job.Workload, _ *made) {
			w.Runs[0].Ended, w.Runs[1].Collectives = false, 2000
		},
		"1 earlier run on 32 cores cannot be taken (job 1: job 9 did other work: its ranks computed 25 % longer in sum, and the input is another": func(w *job.Workload, m *made) {
			w.Runs[0].Conditions.Input, w.Runs[0].Useful, w.Runs = "another", 32*72, w.Runs[:1]
		},
		"1 earlier run on 32 cores cannot be taken (job 1: job 9 did other work: its ranks ran lmp, not gmx": func(w *job.Workload, m *made) {
			w.Runs[0].Executable, w.Runs = "/opt/gmx", w.Runs[:1]
		},
		"2 earlier runs on 32 cores cannot be taken (job 2, the newest: not all of its ranks": func(w *job.Workload, m *made) {
			w.Runs[0].Ended, w.Runs[1].Coverage = false, 0.5
			w.Runs, w.Rebuilt = w.Runs[:1], w.Runs[1:]
		},
	} {
		w, of := runs(100, 101), base
		change(w, &of)
		found := of.with(func(m *made) { m.id = 9 }).job()
		found.Workload = w
		if _, err := new(Comparison).medianRun(found); err == nil || !strings.HasPrefix(err.Error(), why) || !strings.HasSuffix(err.Error(), ": name a job to compare it with") {
			t.Errorf("%v, want %s", err, why)
		}
	}
	killed := base.with(func(m *made) { m.id = 9 }).job()
	killed.Job.Executions[0].Endings, killed.Job.Executions[0].Classes = map[string]int{"signal 9 (SIGKILL)": 32}, nil
	killed.Workload = runs(100, 101)
	if _, err := new(Comparison).medianRun(killed); err == nil || err.Error() != "job 9: the job did not finish" {
		t.Error(err)
	}
}

// TestMedianCounts: the median counts among the earlier runs, and later ones do not count.
func TestMedianCounts(t *testing.T) {
	w := runs(100, 102, 98, 101, 99, 115, 85)
	after := base.with(func(m *made) { m.id, m.comm = 6, 20 }).job()
	after.Workload = w
	c, err := WithMedian(after, false, func(r *job.Run) (*listing.JobAndWorkload, error) {
		return base.with(func(m *made) { m.id = r.JobID }).job(), nil
	})
	if err != nil || c.Median != 5 || c.Usual.Runs != 5 || c.Before.Job.JobID != 1 || c.Usual.Time > 0.05 {
		t.Errorf("%v %+v", err, c)
	}
	_, err = WithMedian(after, false, func(r *job.Run) (*listing.JobAndWorkload, error) { return nil, errors.New("gone") })
	if err == nil || err.Error() != "job 1, the median of 5 earlier runs: gone" {
		t.Error(err)
	}
	requeued := base.with(func(m *made) { m.id = 1 }).job()
	requeued.Job.Attempt = 2
	if _, err := WithMedian(after, false, func(*job.Run) (*listing.JobAndWorkload, error) { return requeued, nil }); err == nil || !strings.Contains(err.Error(), "earlier start of job 1") {
		t.Error(err)
	}
}

// TestUsual: what runs usually differ by is not known from few of them, and holds 9 of 10 of those that
// differ by chance.
func TestUsual(t *testing.T) {
	pair := func(w *job.Workload, after made) *Comparison {
		a, b := base.with(func(m *made) { m.id = 98 }).job(), after.with(func(m *made) { m.id = 99 }).job()
		a.Workload, b.Workload = w, w
		c, err := New(a, b, false)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := pair(runs(100, 101), base); c.Usual.Known() || c.Nothing() {
		t.Errorf("of two runs: %+v", c.Usual)
	}
	c := pair(runs(100, 102, 98, 101, 99), base.with(func(m *made) { m.comm = 12 }))
	if !c.Usual.Known() || c.Usual.Time < 0.03 || c.Usual.Time > 0.06 || c.Usual.Runs != 5 || !c.Nothing() {
		t.Errorf("2 %% longer, where 1.6 %% is the deviation: %+v", c.Usual)
	}
	if c := pair(runs(100, 102, 98, 101, 99), base.with(func(m *made) { m.comm = 20 })); c.Nothing() {
		t.Error("10 % longer is nothing")
	}
	if c := pair(runs(100, 102, 98, 101, 99), base.with(func(m *made) { m.outside = 60 })); c.Nothing() {
		t.Error("a minute outside is nothing")
	}
	// load balance and computing are far off, and make up for each other
	if c := pair(runs(100, 102, 98, 101, 99), base.with(func(m *made) { m.useful, m.slowNode = 70, 1.3 })); math.Abs(c.Longer()) > 3 || c.Nothing() {
		t.Errorf("what makes up for each other is nothing: %.1f s, %+v", c.Longer(), c.Parts)
	}
	// before and since a step runs differ by as little as ever
	if c := pair(runs(100, 102, 98, 101, 99, 100, 101, 100, 120, 121, 119, 122, 120), base.with(func(m *made) { m.comm = 30 })); c.Usual.Time > 0.05 || c.Usual.Runs != 13 || c.Nothing() {
		t.Errorf("20 %% longer, where runs became 20 %% slower: %+v", c.Usual)
	}
	if c := pair(runs(100, 120, 98, 121, 119, 100, 122, 100, 120, 101, 119, 102, 120), base.with(func(m *made) { m.comm = 30 })); c.Usual.Time < 0.2 || !c.Nothing() {
		t.Errorf("20 %% longer, as half of the runs: %+v", c.Usual)
	}
	rng, within := rand.New(rand.NewPCG(5, 6)), 0
	for range 2000 {
		draw := func() float64 { return 100 * math.Exp(0.03*rng.NormFloat64()) }
		var times []float64
		for range 6 {
			times = append(times, draw())
		}
		d, _ := spread([][]job.Run{runs(times...).Runs}, 1, func(r *job.Run) float64 { return r.Elapsed })
		if math.Abs(math.Log(draw()/draw())) < d {
			within++
		}
	}
	if part := float64(within) / 2000; part < 0.88 || part > 0.92 {
		t.Errorf("%.3f of pairs that differ by chance differ by less than usual", part)
	}
}

// TestHostile compares whatever nodes may report: nothing panics, and no figure is without end.
func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 7))
	draw := func(id uint32) *listing.JobAndWorkload {
		var all []job.Execution
		for i := range 1 + rng.IntN(3) {
			all = append(all, jobtesting.Part(rng, fmt.Sprint(i), fmt.Sprintf("n%d", rng.IntN(3)), jobtesting.Began, 0, rng.IntN(4), 1+rng.IntN(5)))
		}
		j := jobtesting.Job(all...)
		j.Cluster, j.JobID, j.Attempt, j.DisplayID = "test", id, 1, fmt.Sprint(id)
		w := runs(1e-9, 1e300, 0, -1, math.NaN(), 100, 101)
		w.Runs = append(w.Runs, job.RunOf(&all[0]))
		return &listing.JobAndWorkload{Job: j, Workload: w}
	}
	shown := 0
	for range 3000 {
		c, err := New(draw(1), draw(2), true)
		if err != nil {
			continue
		}
		shown++
		for _, p := range c.Parts {
			if math.IsNaN(p.Seconds) || math.IsInf(p.Seconds, 0) || p.Usual != nil && (math.IsNaN(*p.Usual) || math.IsInf(*p.Usual, 0)) {
				t.Fatalf("%+v", p)
			}
		}
		for _, g := range slices.Concat(c.Nodes, c.Ranks, c.Calls, c.Sections) {
			if math.IsNaN(g.Before+g.After+g.Others) || math.IsInf(g.Before+g.After+g.Others, 0) {
				t.Fatalf("%+v", g)
			}
		}
	}
	if shown < 100 {
		t.Errorf("only %d of 3,000 are shown", shown)
	}
}
