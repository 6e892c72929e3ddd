package demo

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"jobeff/etc"
	"jobeff/ingest/assemble"
	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/when"
	"jobeff/policy/doubt"
)

// fates lists the bad endings, and how often they happen in 1000 jobs. The others are COMPLETED.
var fates = []struct {
	of1000 float64
	fate
}{
	{35, fate{"TIMEOUT", "0:0", "signal 15 (SIGTERM)", 0.8}},
	{30, fate{"CANCELLED", "0:15", "signal 15 (SIGTERM)", 0.4}},
	{25, fate{"FAILED", "1:0", "exit 1 without MPI_Finalize", 0.1}},
	{8, fate{"FAILED", "0:11", "signal 11 (SIGSEGV)", 0.3}},
	{6, fate{"OUT_OF_MEMORY", "0:125", "signal 9 (SIGKILL)", 0.5}},
	{3, fate{"NODE_FAIL", "1:0", "assumed", 0.6}},
}

func (y *Year) fate() fate {
	at := y.rng.Float64() * 1000
	for _, f := range fates {
		if at -= f.of1000; at < 0 {
			f.until *= 0.5 + y.rng.Float64()
			return f.fate
		}
	}
	return fate{"COMPLETED", "0:0", "finalized", 1}
}

// job makes a job with the fields that all jobs have.
func (y *Year) job(u user, name, partition string, submit time.Time, cores int) *job.Job {
	y.next++
	wait := time.Duration(y.between(1, 9000)) * time.Second
	if y.chance(0.4) {
		wait = time.Second
	}
	nodes := (cores + coresPerNode - 1) / coresPerNode
	j := &job.Job{Cluster: Cluster, JobID: y.next, Attempt: 1, UID: u.uid, User: u.name, Account: u.account, Partition: partition,
		QOS: "normal", Name: name, Submit: submit.Truncate(time.Second), TimeLimit: 24 * time.Hour, Nodes: nodes, CPUs: cores, Decision: "on"}
	if m := (etc.Measure{Share: y.opts.Share}); !m.Draws(j.JobID) {
		j.Decision = "off not among the jobs that the site measures (measure.share)"
	}
	j.Eligible, j.Start = j.Submit, j.Submit.Add(wait)
	return j
}

// end sets when and how a job ends. None ends after the year.
func (y *Year) end(j *job.Job, f fate, elapsed float64) {
	j.State, j.ExitCode = f.state, f.exit
	j.Elapsed = time.Duration(math.Ceil(max(elapsed, 1))) * time.Second
	if last := y.opts.Until.Add(-time.Second); j.Start.Add(j.Elapsed).After(last) {
		j.Start = last.Add(-j.Elapsed)
		j.Submit = when.First(j.Submit, j.Start)
		j.Eligible = j.Submit
	}
	if f.state == "TIMEOUT" { // within a minute of its limit, as Slurm looks now and then
		j.TimeLimit = max(j.Elapsed.Truncate(time.Minute), time.Minute)
	}
	j.End = j.Start.Add(j.Elapsed)
	j.DisplayID = job.DisplayID(j)
	y.usage(j)
}

// usage fills in what Slurm would have counted: MPI ranks that wait are busy, too.
func (y *Year) usage(j *job.Job) {
	const each = 4 << 30 // bytes per core that jobs are given
	held := int64(float64(each) * (0.05 + 0.7*y.rng.Float64()))
	if j.State == "OUT_OF_MEMORY" {
		held = each
	}
	j.TRES = fmt.Sprintf("billing=%d,cpu=%d,mem=%dG,node=%d", j.CPUs, j.CPUs, 4*j.CPUs, j.Nodes)
	j.Usage = &job.Usage{TotalCPU: time.Duration(float64(j.CPUs) * (0.93 + 0.06*y.rng.Float64()) * float64(j.Elapsed)),
		Memory: held * int64(j.CPUs), LargestTask: held, Allocated: each * int64(j.CPUs)}
}

// array makes an array of jobs of one core without MPI.
func (y *Year) array(t time.Time) {
	u := one(y, y.users)
	first := y.next + 1
	work := y.between(20, 5000)
	for task := range uint32(1 + y.rng.IntN(12)) {
		j := y.job(u, "array", "main", t, 1)
		j.ArrayJobID, j.ArrayTaskID = first, &task
		y.end(j, y.fate(), work*(0.7+0.6*y.rng.Float64()))
		y.report(j, nil)
		y.queue = append(y.queue, j)
	}
}

// run makes one job of a workload.
func (y *Year) run(l *load, t time.Time) *job.Job {
	cores := l.cores(y, t)
	threads := l.threads
	if cores < 4*threads {
		threads = 1
	}
	f := y.fate()
	j := y.job(l.user, l.job, l.part, t, max(cores, threads))
	b := l.buildAt(j.Start)
	noise := math.Exp(l.noise * y.rng.NormFloat64())
	if y.chance(0.02) {
		noise *= 1.2 + 0.6*y.rng.Float64() // a busy file system, a slow node
	}
	x := l.takes(float64(cores), b, noise)
	mix := mixOf(j, cores, threads)
	x.elapsed *= mix.longer
	x.elapsed *= f.until
	outside := 4 + 0.01*x.elapsed*y.rng.Float64()
	y.end(j, f, x.elapsed+outside)
	switch at := y.rng.Float64(); {
	case at < 0.02:
		j.Decision = "off JOBEFF=off in the environment"
		y.report(j, nil)
	case at < 0.03: // its nodes have no jobeff
		j.Decision = ""
	case at < 0.035:
		y.report(j, y.singletons(l, b, j, x, f, cores))
	default:
		y.report(j, y.execution(l, b, j, x, f, cores/threads, threads, mix))
	}
	return j
}

// takes returns what a run on n cores takes: the model's times, changed by the build's factors and the noise.
// Past the knee the overhead grows as if there were too many messages: more cores make the run slower.
func (l *load) takes(n float64, b *build, noise float64) extent {
	useful := (l.model.Time(n) - l.model.Overhead(n)) * b.useful * noise
	tau := l.model.Overhead(n) * b.loss * noise
	if l.knee > 0 && n > l.knee {
		tau *= math.Pow(n/l.knee, 1.2)
	}
	return extent{elapsed: useful + tau, lost: tau / (useful + tau)}
}

// cores picks the size of a run: mostly the user's usual one.
func (l *load) cores(y *Year, t time.Time) int {
	if l.advised > 0 && t.After(l.learned) && y.chance(0.9) {
		return l.advised
	}
	if len(l.sizes) == 1 || y.chance(0.75) {
		return l.sizes[0]
	}
	return one(y, l.sizes[1:])
}

func (l *load) buildAt(t time.Time) *build {
	at := &l.builds[0]
	for i := range l.builds {
		if !t.Before(l.builds[i].from) {
			at = &l.builds[i]
		}
	}
	return at
}

// report merges what the job's nodes would report, as the server does.
func (y *Year) report(j *job.Job, executions []job.Execution) {
	y.reportOf(j, executions, func(int, *job.NodeReport) {})
}

// reportOf is report; change changes what the job's nth node reports.
func (y *Year) reportOf(j *job.Job, executions []job.Execution, change func(n int, r *job.NodeReport)) {
	var m assemble.Merger
	first := y.place(j)
	if j.Decision != "on" {
		executions = nil
	}
	step := job.Step{ID: "0", Tasks: 1, Start: j.Start.Add(time.Second), End: j.End.Add(-time.Second), Exits: map[string]int{"0": 1}}
	end, progress := j.End, (*hang.Progress)(nil)
	if j.IsRunning() {
		end, progress, step.End, step.Exits = j.AsOf, &hang.Progress{Moment: j.AsOf}, time.Time{}, nil
	}
	for n := range j.Nodes {
		r := &job.NodeReport{Version: job.ReportVersion, Sequence: 1, Cluster: j.Cluster, JobID: j.JobID, ArrayJobID: j.ArrayJobID, ArrayTaskID: j.ArrayTaskID,
			UID: j.UID, User: j.User, Account: j.Account, Partition: j.Partition, NNodes: j.Nodes, Node: nodeName(first + n), OnlineCPUs: coresPerNode,
			Start: j.Start, End: end, AsOf: j.AsOf, Progress: progress, Decision: j.Decision, Prolog: true, Steps: []job.Step{step}}
		if n == 0 {
			r.Steps = append(r.Steps, job.Step{ID: "batch", Tasks: 1, Start: j.Start, End: j.End})
			r.Executions = executions
		}
		change(n, r)
		m.Add(r)
	}
	for i := range executions {
		for k := range executions[i].Nodes {
			executions[i].Nodes[k].Node, executions[i].Nodes[k].Hardware = nodeName(first+k), &hardware
		}
	}
	said := m.Job()
	j.Reports, j.Steps, j.Executions, j.Metrics, j.NoData, j.Warnings, j.GPUUse = said.Reports, said.Steps, said.Executions, said.Metrics, said.NoData, said.Warnings, said.GPUUse
	if !j.IsRunning() {
		j.Covered = job.Covered(job.CoreSeconds(j.Executions), j.CPUs, j.Elapsed)
	}
}

// place chooses the first of a job's nodes, once for each job: they are made one after another. The last node of all gets none.
func (y *Year) place(j *job.Job) int {
	if y.placed != j.JobID {
		y.placed, y.first = j.JobID, y.rng.IntN(nodeCount-j.Nodes)
	}
	return y.first
}

func nodeName(i int) string { return fmt.Sprintf("n%03d", i+1) }

// singletons makes copies of a program that never met: somebody took the wrong mpirun.
func (y *Year) singletons(l *load, b *build, j *job.Job, x extent, f fate, copies int) []job.Execution {
	var all []job.Execution
	for i := range min(copies, 8) {
		e := y.execution(l, b, j, extent{elapsed: x.elapsed, lost: 0.001}, f, 1, 1, mix{threads: 1})[0]
		e.Key = "s" + strconv.Itoa(i)
		e.Warnings = []doubt.Warning{{Code: doubt.WarnSingletons, Count: 1}}
		all = append(all, e)
	}
	return all
}

// Told returns the notices after which users took fewer cores, as the log stores them.
func (y *Year) Told() (all []listing.Told) {
	for _, l := range y.loads {
		at := l.learned
		if l.advised == 0 || at.Before(l.from) || !at.Before(l.to) || l.threads > 1 {
			continue
		}
		b := l.buildAt(at)
		usual := l.sizes[0]
		x := l.takes(float64(usual), b, 1)
		e := job.Execution{Executable: l.app.path, BuildID: b.id, ArgsHash: l.args[:32], Workload: l.name}
		if l.input != "" {
			e.InputHash = l.input[:32]
		}
		key := job.WorkloadKey(Cluster, l.user.uid, &e)
		hours := float64(usual) * x.elapsed / 3600
		all = append(all, listing.Told{Cluster: Cluster, UID: l.user.uid, User: l.user.name, At: at.Truncate(time.Second), Subject: key, Workload: key,
			Name: job.WorkloadName(key, &e), Rule: "low-efficiency", Job: "made up", Cores: usual, Advised: l.advised, Jobs: 3, Lost: 3 * hours * x.lost})
	}
	return all
}
