package demo

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// series is an array of the last day: its tasks run its programs by turns.
type series struct {
	name  string
	user  int
	ago   time.Duration // when it was submitted, before the year's end
	apps  []application // none: it uses no MPI
	lost  []float64     // by program, the part of its time in MPI
	takes []float64     // likewise, s
	ranks int
	given int     // GiB of memory
	needs float64 // GiB
	ends  map[uint32]fate
	runs  uint32 // tasks that still run, the last ones
}

// tasks is the number of tasks of each series.
const tasks = 60

var (
	ownCode = application{"/home/own/bin/prepare", openMPI, masterWork, nil, inChain}
	fails   = fate{"FAILED", "1:0", "exit 1 without MPI_Finalize", 0.1}
	crashes = fate{"FAILED", "0:11", "signal 11 (SIGSEGV)", 0.3}
	cut     = fate{"TIMEOUT", "0:0", "signal 15 (SIGTERM)", 1}
	full    = fate{"OUT_OF_MEMORY", "0:125", "signal 9 (SIGKILL)", 0.5}
)

var seriesOf = []series{
	{name: "scan", user: 3, ago: 22 * time.Hour, apps: applications[:1], lost: []float64{0.33}, takes: []float64{1500}, ranks: 16, given: 32, needs: 9,
		ends: map[uint32]fate{7: fails, 12: cut, 23: crashes, 35: full, 41: fails}},
	{name: "ensemble", user: 3, ago: 20 * time.Hour, apps: []application{applications[6], applications[6], ownCode}, lost: []float64{0.12, 0.12, 0.7}, takes: []float64{2400, 2400, 300}, ranks: 8, given: 64, needs: 20,
		ends: map[uint32]fate{17: fails}},
	{name: "convert", user: 5, ago: 18 * time.Hour, takes: []float64{420}, ranks: 1, given: 8, needs: 1.5,
		ends: map[uint32]fate{4: fails, 5: fails, 33: fails}},
	{name: "scan", user: 3, ago: 2 * time.Hour, apps: applications[:1], lost: []float64{0.3}, takes: []float64{1600}, ranks: 16, given: 32, needs: 9, runs: 20},
}

// interim is the time between two reports on running jobs.
const interim = 10 * time.Minute

// recent makes jobs of the last day, with random numbers of their own. They are arrays some of whose tasks
// failed, ran two programs or still run, programs of threads without MPI, and running jobs.
func (y *Year) recent() (all []*job.Job) {
	y.rng = rand.New(rand.NewPCG(y.opts.Seed, 3)) // #nosec G404 -- a made-up site, the same each time
	for i, s := range seriesOf {
		first := y.next + 1
		for task := range uint32(tasks) {
			j := y.task(i, &s, task)
			j.ArrayJobID, j.ArrayTaskID = first, &task
			j.DisplayID = job.DisplayID(j)
			all = append(all, j)
		}
	}
	for i := range 6 {
		all = append(all, y.stencil(i))
	}
	for i := range 3 {
		j := y.job(y.users[(7+i)%len(y.users)], one(y, jobNames), "main", y.opts.Until.Add(-time.Duration(2+3*i)*time.Hour), 64<<i)
		y.goesOn(j, i < 2, &applications[i], 0.2+0.2*float64(i))
		all = append(all, j)
	}
	return all
}

// task makes a task of series i.
func (y *Year) task(i int, s *series, task uint32) *job.Job {
	j := y.job(y.users[s.user%len(y.users)], s.name, "main", y.opts.Until.Add(-s.ago), s.ranks)
	j.Start = j.Submit.Add(time.Duration(task) * time.Minute / 4)
	if task >= tasks-s.runs {
		j.Start = y.opts.Until.Add(-time.Duration(9+task%19) * time.Minute)
		y.goesOn(j, task%19 > 8, &s.apps[0], s.lost[0])
		return j
	}
	f, ends := s.ends[task]
	if !ends {
		f = fate{"COMPLETED", "0:0", "finalized", 1}
	}
	which, noise := int(task)%len(s.takes), math.Exp(0.08*y.rng.NormFloat64())
	takes := s.takes[which] * noise * f.until
	needs := int64(s.needs * min(math.Exp(0.03*y.rng.NormFloat64()), 1.08) * (1 << 30))
	j.TimeLimit = time.Hour
	if f == cut {
		takes = j.TimeLimit.Seconds()
	}
	y.end(j, f, takes+5)
	if f == full {
		needs = int64(s.given) << 30
	}
	held(j, s.given, needs, 0.97*float64(s.ranks))
	if f == full {
		j.Cgroup.Full, j.Cgroup.Kills = 1, 1
	}
	if len(s.apps) == 0 {
		y.report(j, nil)
		return j
	}
	lost := s.lost[which] * math.Exp(0.1*y.rng.NormFloat64())
	l := ownLoad(j, &s.apps[which], i)
	y.report(j, y.execution(l, &l.builds[0], j, extent{elapsed: takes, lost: min(lost, 0.9)}, f, s.ranks, 1, mix{threads: 1}))
	return j
}

// ownLoad makes a workload that only series i of jobs has.
func ownLoad(j *job.Job, app *application, i int) *load {
	own := *app
	if own.path[:6] == "/home/" {
		own.path = "/home/" + j.User + own.path[len("/home/own"):]
	}
	return &load{app: &own, job: j.Name, args: digest("recent "+own.path, i), input: digest("recent input", i), steps: 20_000, hot: 0.3,
		builds: []build{{id: digest("recent build "+own.path, 0)[:40]}}}
}

// goesOn makes a job one that still runs. Unless told, its nodes have not reported yet.
func (y *Year) goesOn(j *job.Job, told bool, app *application, lost float64) {
	j.State, j.ExitCode, j.Elapsed = "RUNNING", "0:0", y.opts.Until.Sub(j.Start)
	j.DisplayID = job.DisplayID(j)
	asOf := y.opts.Until.Add(-interim) // the year ends at a whole hour
	if !told || !asOf.After(j.Start.Add(time.Minute)) {
		return
	}
	l := ownLoad(j, app, 100)
	all := y.execution(l, &l.builds[0], j, extent{elapsed: asOf.Sub(j.Start).Seconds() - 2, lost: lost}, fate{ending: job.EndingRunning, until: 1}, j.CPUs, 1, mix{threads: 1})
	if j.Decision != "on" {
		return
	}
	j.AsOf = asOf
	e := &all[0]
	e.Warnings = []doubt.Warning{{Code: doubt.WarnRunning, Count: e.Size}}
	e.Calls, e.Classes, e.HistP2P, e.HistCol, e.Sections, e.Windows = nil, nil, nil, nil, nil, nil // these are reported at the end
	course(e, j.JobID, 1)
	y.report(j, all)
}

// stencil makes a job whose program has threads and no MPI.
func (y *Year) stencil(i int) *job.Job {
	const threads = 16
	j := y.job(y.users[4%len(y.users)], "stencil", "main", y.opts.Until.Add(-time.Duration(16-2*i)*time.Hour), threads)
	takes := 900 * math.Exp(0.05*y.rng.NormFloat64())
	y.end(j, fate{"COMPLETED", "0:0", "exit 0", 1}, takes+3)
	held(j, 32, 6<<30, 0.96*threads)
	n := job.NodeShare{OnlineCPUs: coresPerNode, CPUs: threads, Ranks: 1, RankIDs: "0", Useful: seconds(takes), UsefulMax: seconds(takes),
		ElapsedMax: seconds(takes), ElapsedSum: seconds(takes), UsefulShare: []byte{255}, MPIShare: []byte{0}}
	mix{threads: threads, useful: 0.72}.threadsOf(&n)
	e := job.Execution{Key: strconv.Itoa(int(j.JobID)), KeyFrom: "start", Steps: []string{"0"}, Size: 1, Start: j.Start.Add(time.Second), End: j.Start.Add(time.Second + seconds(takes)),
		Executable: "/home/" + j.User + "/bin/stencil", BuildID: digest("stencil", 0)[:40], ArgsHash: digest("stencil arguments", 0)[:32], OMPThreads: threads, CPUsPerTask: threads,
		InputHash: digest("stencil input", 0)[:32], Inputs: 1, Endings: map[string]int{"exit 0": 1}, Nodes: []job.NodeShare{n}}
	y.report(j, []job.Execution{e})
	return j
}
