package report

import (
	"fmt"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy"
	"jobeff/policy/doubt"
)

// Short names for the fixtures.
var (
	began = jobtest.Began
	sec   = jobtest.Sec
)

// work is the useful and the MPI time of one rank, in seconds.
type work struct{ useful, mpi float64 }

// execution is an MPI world whose ranks did this work, perNode of them on a node.
func execution(perNode int, ranks ...work) job.Execution {
	e := job.Execution{
		Key: "pmix:1", KeyFrom: "pmix", Steps: []string{"0"}, Size: len(ranks),
		Start: began.Add(sec(1)), End: began.Add(sec(99)),
		MPI: "Open MPI", MPIVersion: "Open MPI v4.1.4, package: Debian OpenMPI", Executable: "/usr/bin/lmp",
		ThreadLevel: "MPI_THREAD_SINGLE", Endings: map[string]int{"finalized": len(ranks)},
		RankIDs: fmt.Sprintf("0-%d", len(ranks)-1),
	}
	total := 0.0
	for i, r := range ranks {
		if i%perNode == 0 {
			e.Nodes = append(e.Nodes, job.NodeShare{Node: fmt.Sprintf("n%d", i/perNode+1), OnlineCPUs: 2, CPUs: 2})
		}
		n := &e.Nodes[len(e.Nodes)-1]
		n.Ranks++
		n.Useful += sec(r.useful)
		n.UsefulMax = max(n.UsefulMax, sec(r.useful))
		n.MPI += sec(r.mpi)
		n.ElapsedMax = max(n.ElapsedMax, sec(r.useful+r.mpi))
		n.ElapsedSum += sec(r.useful + r.mpi)
		total += r.mpi
	}
	e.Calls = calls(total, len(ranks))
	e.Slowest = slowest(e, perNode, ranks)
	return e
}

// calls shares the MPI time out over some functions.
func calls(total float64, ranks int) []job.Call {
	n := uint64(ranks)
	return []job.Call{
		{Name: "MPI_Allreduce", Count: 10000 * n, Time: sec(total * .7), Sent: 240000 * n, Received: 240000 * n, Largest: 48},
		{Name: "MPI_Wait", Count: 60000 * n, Time: sec(total * .2)},
		{Name: "MPI_Send", Count: 30000 * n, Time: sec(total * .07), Sent: 1234567890 * n, Largest: 1 << 20},
		{Name: "MPI_Irecv", Count: 60000 * n, Time: sec(total * .02), Received: 1234567890 * n, Largest: 1 << 20},
		{Name: "MPI_Bcast", Count: 12 * n, Time: sec(total * .009), Sent: 4096, Received: 4096 * n, Largest: 4096},
		{Name: "MPI_Barrier", Count: n, Time: sec(total * .001)},
	}
}

// slowest names the ranks with the most useful time.
func slowest(e job.Execution, perNode int, ranks []work) []job.Rank {
	var out []job.Rank
	used := map[int]bool{}
	for len(out) < min(job.SlowestKept, len(ranks)) {
		best := -1
		for i, r := range ranks {
			if !used[i] && (best < 0 || r.useful > ranks[best].useful) {
				best = i
			}
		}
		used[best] = true
		r := ranks[best]
		out = append(out, job.Rank{
			Rank: best, Node: e.Nodes[best/perNode].Node, PID: 1000 + best,
			Elapsed: sec(r.useful + r.mpi), Useful: sec(r.useful), MPI: sec(r.mpi), Ending: "finalized",
		})
	}
	return out
}

// aJob is a job of these executions that went well, as the server tells it.
func aJob(executions ...job.Execution) *job.Job {
	covered := 0.92
	j := &job.Job{
		Cluster: "test", JobID: 4711, Attempt: 1, DisplayID: "4711",
		UID: 1000, User: "anna", Account: "chem", Partition: "normal", QOS: "normal", Name: "lj-melt",
		State: "COMPLETED", ExitCode: "0:0", Start: began, End: began.Add(sec(107)), Elapsed: sec(107),
		Nodes: 2, Reports: 2, CPUs: 4, Decision: "on", Covered: &covered, Executions: executions,
		Steps: []job.Step{{ID: "batch", Tasks: 1, Exits: map[string]int{"0": 1}}, {ID: "0", Tasks: 4, Exits: map[string]int{"0": 4}}},
	}
	j.Metrics = job.JobMetrics(j.Executions)
	return j
}

// fixtures are the jobs that every view is looked at with.
func fixtures() map[string]*job.Job {
	good := aJob(execution(2, work{92, 6}, work{91, 7}, work{93, 5}, work{90, 8}))
	bad := aJob(execution(2, work{90, 8}, work{30, 68}, work{62, 36}, work{61, 37}))
	phases(&bad.Executions[0])
	all := map[string]*job.Job{
		"good": good, "bad": bad, "killed": killed(), "no-mpi": noMPI(), "off": off(),
		"singletons": separate(), "by-hand": byHandJob(), "five": five(), "hostile": hostile(), "big": big(), "threads": threads(), "hybrid": hybrid(), "openmp": openMP(), "sections": sections(), "usage": usage(),
	}
	for _, j := range all {
		keep(j)
	}
	return all
}

// keep notes what a job lost, as jobeffd keeps it for lists.
func keep(j *job.Job) {
	h := policy.CoreHoursOf(j)
	j.Judged, j.Lost = h.Judged(), h.Lost
}

// phases gives an execution of two ranks on each of two nodes a course: they compute less in the second
// half.
func phases(e *job.Execution) {
	const shift = 7 // 2 s
	first := job.BucketOf(e.Start.UnixNano(), shift)
	n := int(job.BucketOf(e.End.UnixNano(), shift) - first + 1)
	var ranks []*job.Timeline
	e.Timeline = job.NewTimeline(shift, first, n)
	for _, quarters := range []time.Duration{4, 2, 3, 3} {
		t := job.NewTimeline(shift, first, n)
		t.Ranks = 1
		for i := range n {
			each := sec(1.9) * quarters / 4
			if i > n/2 {
				each = sec(0.6) * quarters / 4
			}
			t.Elapsed[i], t.Useful[i], t.Most[0][i] = sec(2), each, each
		}
		ranks = append(ranks, t)
		e.Timeline.Add(t)
	}
	for k := range e.Nodes {
		e.Nodes[k].BootID = "5fd1"
		e.Nodes[k].Course = job.NewCourse(e.Timeline, ranks[2*k:2*k+2])
	}
}

// hybrid is a job of MPI and OpenMP, in which one thread of each rank works. Of its time steps the
// record tells the busiest thread, of its forces it does not.
func hybrid() *job.Job {
	e := jobtest.Threaded(execution(2, work{40, 20}, work{42, 18}, work{41, 19}, work{42, 17}), 4, 0.02, 0.9, 0.01)
	add := func(label string, busiest int, all, own, useful, mpi, imbalance float64) {
		e.Sections = append(e.Sections, job.Section{Label: label, Ranks: 4, Count: 400,
			Elapsed: sec(all), ElapsedMax: sec(all / 4), Useful: sec(useful), UsefulMax: sec(useful / 4), MPI: sec(mpi), Own: sec(own), OwnUseful: sec(own * useful / all), OwnMPI: sec(own * mpi / all),
			Threads: &job.ThreadShare{Ranks: 4, Threads: 16, ThreadsMax: 4, Busiest: busiest, Useful: sec(useful), UsefulMax: sec(useful / 4), MPI: sec(4 * mpi), Imbalance: sec(imbalance), Serial: sec(3*useful - imbalance)}})
	}
	add("time steps", 4, 200, 60, 150, 50, 400)
	add("forces between all pairs of particles", 3, 140, 140, 140, 0, 390)
	j := aJob(e)
	j.CPUs = 16
	return j
}

// openMP is a job of one program without MPI.
func openMP() *job.Job {
	j := withoutMPI(jobtest.Threaded(execution(1, work{60, 0}), 8, 0.5, 0.1, 0.05))
	j.CPUs = 8
	return j
}

// withoutMPI is a job of one program on one node that uses no MPI.
func withoutMPI(e job.Execution) *job.Job {
	e.MPI, e.MPIVersion, e.ThreadLevel, e.Calls, e.Classes = "", "", "", nil, nil
	e.Endings, e.HistP2P, e.HistCol = map[string]int{"exit 0": 1}, nil, nil
	j := aJob(e)
	j.Nodes, j.Reports = 1, 1
	return j
}

func killed() *job.Job {
	e := execution(2, work{40, 20}, work{20, 40}, work{42, 17})
	e.Size = 4
	e.Endings = map[string]int{"signal 15 (SIGTERM)": 3}
	e.Warnings = []doubt.Warning{{Code: doubt.WarnCoverage, Args: doubt.Arguments{N: 3, Of: 4}}, {Code: doubt.WarnNoFinalize, Count: 3}}
	for i := range e.Slowest {
		e.Slowest[i].Ending = "signal 15 (SIGTERM)"
	}
	j := aJob(e)
	j.State, j.ExitCode, j.Reports, j.Complete = "TIMEOUT", "0:15", 1, true
	j.Steps[1].Exits = map[string]int{"signal 15 (SIGTERM)": 4}
	j.Warnings = []doubt.Warning{{Code: doubt.WarnNodesMissing, Args: doubt.Arguments{N: 1, Of: 2}}}
	return j
}

func noMPI() *job.Job {
	j := aJob()
	j.NoData, j.Covered = doubt.NewWarning(doubt.WhyNoMPI, 0), nil
	return j
}

func off() *job.Job {
	j := aJob()
	j.Decision, j.NoData, j.Covered = "off asked by the job (--jobeff=off)", doubt.Warning{Code: doubt.WhyOff, Args: doubt.Arguments{Name: "asked by the job (--jobeff=off)"}}, nil
	j.Steps[1].Off = "asked by the job (--jobeff=off)"
	return j
}

func separate() *job.Job {
	var all []job.Execution
	for range 4 {
		e := execution(1, work{95, 0.1})
		e.Warnings = []doubt.Warning{{Code: doubt.WarnSingletons, Count: 1}}
		all = append(all, e)
	}
	return aJob(all...)
}

func five() *job.Job {
	var all []job.Execution
	for i := range 5 {
		f := float64(i + 1)
		e := execution(2, work{10 * f, 1}, work{10*f - 3, 4}, work{9 * f, f + 1}, work{9 * f, f + 1})
		e.Steps = []string{"batch", fmt.Sprint(i)}
		all = append(all, e)
	}
	return aJob(all...)
}

// nasty holds what may not reach a terminal, at the start so that cutting cannot hide it.
const nasty = "\x1b[31m=cmd\r\n<script>\u202egnp.exe\xff|\u0085\x9b2J\u200b\"e\u0301"

func hostile() *job.Job {
	e := execution(2, work{50, 10}, work{20, 40}, work{30, 30}, work{31, 29})
	e.Executable, e.MPIVersion, e.MPI = "/home/"+nasty, nasty, nasty
	e.Steps = []string{nasty}
	for i := range e.Nodes {
		e.Nodes[i].Node = nasty
	}
	for i := range e.Slowest {
		e.Slowest[i].Node, e.Slowest[i].Ending = nasty, nasty
	}
	e.Calls[0].Name = nasty
	e.Sections = []job.Section{{Label: nasty, Ranks: 4, Count: 4, Elapsed: sec(100), ElapsedMax: sec(40), Open: 1}}
	e.Endings = map[string]int{nasty: 4}
	e.Warnings = []doubt.Warning{{Code: nasty}, {Code: doubt.WarnProgress, Args: doubt.Arguments{Name: nasty}}}
	j := aJob(e)
	j.Name, j.User, j.Account, j.Partition, j.QOS, j.State, j.ExitCode = nasty, nasty, nasty, nasty, nasty, nasty, nasty
	j.DisplayID, j.Decision, j.NoData = nasty, nasty, doubt.NewWarning(nasty, 0)
	j.Steps = []job.Step{{ID: nasty, Tasks: 1, Off: nasty, Exits: map[string]int{nasty: 1}}}
	return j
}

// uneven are n ranks that computed for 3000 to 4000 of 4000 s.
func uneven(n int) []work {
	ranks := make([]work, n)
	for i := range ranks {
		u := 3000 + float64(i*7919%1000)
		ranks[i] = work{u, 4000 - u}
	}
	return ranks
}

func big() *job.Job {
	j := aJob(execution(40, uneven(1000)...))
	j.Nodes, j.Reports, j.CPUs, j.Elapsed = 25, 25, 1000, sec(4100)
	return j
}

// byHandJob is what jobeff-ingest --print shows: no Slurm knows of it.
func byHandJob() *job.Job {
	e := execution(4, work{4, 1}, work{3, 2}, work{3, 2}, work{3, 2})
	e.Warnings = []doubt.Warning{{Code: doubt.WarnOversubs, Args: doubt.Arguments{N: 4, CPUs: 2, Names: "n1"}}}
	j := aJob(e)
	return &job.Job{Executions: j.Executions, Metrics: j.Metrics, Nodes: 1, Reports: 1, Decision: "on", Start: began, End: began.Add(sec(6)), Elapsed: sec(6)}
}

// sections is a program with more sections than a text lists; two ranks died in one.
func sections() *job.Job {
	e := execution(2, work{92, 6}, work{91, 7}, work{93, 5}, work{50, 10})
	add := func(label string, count, ranks, open int, all, useful float64, own float64) {
		e.Sections = append(e.Sections, job.Section{
			Label: label, Count: uint64(count), Ranks: ranks, Open: open,
			Elapsed: sec(all), ElapsedMax: sec(all / float64(ranks) * 1.1), Useful: sec(useful), UsefulMax: sec(useful / float64(ranks) * 1.05),
			MPI: sec(all - useful), Own: sec(own), OwnUseful: sec(own * useful / all), OwnMPI: sec(own - own*useful/all),
		})
	}
	add("time steps", 4, 4, 2, 330, 310, 12)
	add("convolve", 40000, 4, 2, 300, 300, 300)
	for i := range e.Nodes {
		e.Nodes[i].BootID, e.Nodes[i].ClockError = fmt.Sprint("boot ", i), sec(0.0002)
	}
	first := e.Start.UnixNano()
	e.Sections[len(e.Sections)-1].Instances = &job.Instances{Least: 10000, Most: 10000, Kept: []job.Instance{ // ranks 0, 1, 2 and 5 ms late
		{Number: 1, In: first, Out: first + 20e6, Late: 8e6, Late2: job.Square{Lo: 30e12}, Early: 12e6},
		{Number: 27, In: first + 30e6, Out: first + 50e6, Late: 8e6, Late2: job.Square{Lo: 30e12}, Early: 20e6}}}
	add("exchange of the halo with the neighbours of a band", 40000, 4, 0, 18, 2, 18)
	for i := range 9 {
		add(fmt.Sprintf("set-up %d", i), 1, 1, 0, 1, 0.5, 1)
	}
	add("instant", 1, 1, 0, 1e-9, 1e-9, 0)
	return aJob(e)
}

func threads() *job.Job {
	e := execution(1, work{70, 28}, work{80, 18})
	e.CPUsPerTask, e.OMPThreads, e.ThreadLevel = 2, 2, "MPI_THREAD_FUNNELED"
	j := aJob(e)
	j.Threaded = true
	return j
}

// usage is a job with GPUs whose processes ran beyond their cores.
func usage() *job.Job {
	j := aJob(execution(2, work{92, 6}, work{91, 7}, work{93, 5}, work{90, 8}))
	j.GPUs, j.TRES = 4, "billing=4,cpu=4,gres/gpu=4,mem=6400M,node=2"
	j.Usage = &job.Usage{TotalCPU: sec(450.5), Memory: 3 << 30, LargestTask: 800 << 20, Allocated: 6400 << 20}
	j.Warnings = assemble.UsageWarnings(j)
	return j
}

// fixtureList are the fixtures as a list, in a fixed order.
func fixtureList() []job.Job {
	var jobs []job.Job
	for i, name := range []string{"good", "bad", "killed", "no-mpi", "off", "singletons", "five", "hostile", "big", "threads"} {
		j := *fixtures()[name]
		j.DisplayID = fmt.Sprint(4711 + i)
		jobs = append(jobs, j)
	}
	return jobs
}

// ranked gives each node of a job the shares of its ranks, and messages their sizes.
func ranked(j *job.Job) *job.Job {
	for x := range j.Executions {
		e, next := &j.Executions[x], 0
		e.HistP2P, e.HistCol = make([]uint64, 40), make([]uint64, 40)
		for b := range 24 {
			e.HistP2P[b], e.HistCol[b] = uint64(b*b*977), uint64((24-b)*100)
		}
		for i := range e.Nodes {
			n := &e.Nodes[i]
			n.RankIDs = fmt.Sprintf("%d-%d", next, next+n.Ranks-1)
			next += n.Ranks
			n.UsefulShare = nil
			for r := range n.Ranks {
				share := 255 * n.Useful.Seconds() / float64(n.Ranks) / n.ElapsedMax.Seconds()
				n.UsefulShare = append(n.UsefulShare, uint8(min(255, share*(0.8+0.4*float64((r*7+i*3)%11)/10))))
			}
		}
	}
	return j
}

// huge is a job of 10,240 ranks on 80 nodes.
func huge() *job.Job {
	j := aJob(execution(128, uneven(10240)...))
	j.Nodes, j.Reports, j.CPUs, j.Elapsed = 80, 80, 10240, sec(4100)
	return ranked(j)
}
