package policy

import (
	"math"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy/doubt"
)

// TestCauseOf holds what each loss is put down to, and the bounds of METRICS 1 from both sides.
// Times are s; where nothing else is said, ranks of 1000 s stand two to a node.
func TestCauseOf(t *testing.T) {
	two := func(ranks ...jobtest.Rank) job.Execution { return world(1, 2, 0, ranks...) }
	even := func() job.Execution { return two(alike(4, work(500, 500))...) }
	// The first rank computed for 1000 s, the next one for 300: 153/255 of the 500 s of its node.
	alone := func(start float64) job.Execution {
		return world(1, 2, start, work(1000, 0), work(100, 900), work(300, 200), work(300, 200))
	}
	io := func(s float64) job.Execution {
		e := even()
		for i := range e.Nodes {
			e.Nodes[i].IO, e.Nodes[i].MPI = sec(s), e.Nodes[i].MPI-sec(s)
		}
		return e
	}
	three := func(useful, mpi float64) job.Execution { return world(1, 3, 0, alike(3, work(useful, mpi))...) }
	smt := func(e job.Execution) job.Execution { e.Nodes[0].Hardware = &job.Hardware{ThreadsPerCore: 2}; return e }
	slept := func(s float64) job.Execution {
		return loaded(alone(0), job.Load{Ranks: 4, Whole: 4, Span: sec(4000), Slept: sec(s)})
	}
	stood := func(j *job.Job) *job.Job {
		since := time.Date(2026, 11, 20, 14, 20, 3, 0, time.UTC)
		j.Stood = &hang.Hung{Since: since, AsOf: since.Add(40 * time.Minute), Calls: []hang.OpenCalls{{Size: 9, Count: 1, Ranks: "5", Function: hang.OutsideMPI, Some: []hang.RankNow{{Rank: 5, Node: "n2", PID: 7, State: "S"}}}}}
		return j
	}
	within := func(e job.Execution, steps ...string) job.Execution { e.Steps = steps; return e }
	stuck := func(s float64, e job.Execution) job.Execution {
		for i := range e.Nodes {
			e.Nodes[i].Stuck = sec(s)
		}
		return e
	}
	finalized := func(e job.Execution) job.Execution {
		e.Endings = map[string]int{job.EndingFinalized: e.Size}
		return e
	}
	calls := func(e job.Execution, all ...job.Call) job.Execution { e.Calls = all; return e }
	barrier := func(s float64) job.Call { return job.Call{Name: "MPI_Barrier", Time: sec(s)} }
	as := func(state string, executions ...job.Execution) *job.Job {
		return with(aJob(executions...), func(j *job.Job) { j.State = state })
	}
	outOf := func(state, steps string, executions ...job.Execution) *job.Job {
		return with(as(state, executions...), func(j *job.Job) { j.Usage = &job.Usage{OutOfMemory: steps} })
	}
	onCPUs := func(s float64) *job.Job {
		return with(aJob(two(alike(4, work(900, 100))...)), func(j *job.Job) { j.Usage = &job.Usage{TotalCPU: sec(s)} })
	}
	stopped := func(s float64) *job.Job {
		return with(aJob(even()), func(j *job.Job) { j.Submit, j.End = began, j.End.Add(sec(s)) })
	}
	held := func(cpu float64, c job.Cgroup) *job.Job {
		return with(aJob(even()), func(j *job.Job) { j.Cgroup, j.Usage = &c, &job.Usage{TotalCPU: sec(cpu)} })
	}
	during := func(s float64) *time.Duration { d := sec(s); return &d }
	faulty := func(off float64, faults int) *job.Job {
		return aJob(loaded(even(), job.Load{Ranks: 4, Used: 4, Span: sec(4000), OffLeast: sec(off), OffMost: sec(off), Faults: faults}))
	}
	for _, c := range []struct {
		name string
		job  *job.Job
		code string
		end  string // of the text
	}{
		{"no program", aJob(), "", ""},
		{"at POP's line", aJob(two(alike(4, work(800, 200))...)), "", ""},
		{"MPI-IO of more than half of the loss", aJob(io(501)), CauseIO, ": 25 % of the ranks' time was in MPI_File functions."},
		{"MPI-IO of half of it", aJob(io(500)), CauseCommunication, "in the next run may tell which."},
		{"MPI-IO, from a list", with(aJob(io(900)), func(j *job.Job) { j.Executions = nil }), CauseCommunication, "in the next run may tell which."},
		{"as much to balance as to communication", aJob(two(work(500, 500), work(0, 1000))), CauseRanks, "inside the nodes)."},
		{"one rank", aJob(alone(0)), CauseOneRank, "one rank: it was outside MPI for 100 % of the time, the next one for 30 %."},
		{"one rank, which slept for over half of it", aJob(slept(501)), CauseOneRank, " Outside MPI, ranks slept or waited for a file or a device for 00:08:21 in all."},
		{"one rank, which slept for half of it", aJob(slept(500)), CauseOneRank, "for 30 %."},
		{"one rank of each of two programs", aJob(alone(0), alone(1000)), CauseRanks, "inside the nodes)."},
		{"one of two ranks", aJob(two(work(1000, 0), work(200, 800))), CauseRanks, "inside the nodes)."},
		{"the next rank does four fifths", aJob(two(work(1000, 0), work(200, 800), work(800, 200), work(200, 800))), CauseRanks, "inside the nodes)."},
		{"one node", aJob(two(work(500, 500), work(500, 500), work(1000, 0), work(1000, 0), work(600, 400), work(600, 400))), CauseOneNode,
			"the ranks of n2 computed for 100 % of the time, those of the next one for 60 %."},
		{"the next node does four fifths", aJob(world(1, 1, 0, work(1000, 0), work(800, 200), work(300, 700))), CauseNodes, "between nodes)."},
		{"three of eight ranks idle", aJob(world(1, 4, 0, append(alike(5, work(1000, 0)), alike(3, work(10, 990))...)...)), CauseIdleRanks,
			"3 of 8 ranks computed for less than 5 % of the time."},
		{"two of eight", aJob(world(1, 4, 0, append(alike(3, work(1000, 0)), work(10, 990), work(1000, 0), work(1000, 0), work(1000, 0), work(10, 990))...)), CauseRanks, "inside the nodes)."},
		{"all wait, most a little longer", aJob(two(append(alike(3, work(30, 970)), work(100, 900))...)), CauseCommunication, "in the next run may tell which."},
		{"one thread for each rank", aJob(openmp(even(), 1, 0, 0, 0)), CauseCommunication, "in the next run may tell which."},
		{"threads that are not measured", aJob(loaded(threaded(two(work(500, 500), work(500, 500))), job.Load{Ranks: 1, Whole: 1, Threaded: 1, OpenMP: 1})), CauseThreads,
			"Its environment asks for several threads or CPUs for each rank, and what these did is not measured."},
		{"more ranks than CPUs", with(aJob(even()), func(j *job.Job) {
			j.Warnings = []doubt.Warning{{Code: doubt.WarnTorn}, {Code: doubt.WarnOversubs, Args: doubt.Arguments{N: 4, CPUs: 2, Names: "n1"}}}
		}), CauseContention, "4 ranks share 2 CPUs (node n1), so some of the time of each is waiting for a CPU."},
		{"a quarter of the CPUs without a rank", aJob(three(3600, 0)), CauseWithoutRank, ": 1 of 4 CPUs had no rank and no thread."},
		{"a seventh of them", with(aJob(world(1, 6, 0, alike(6, work(3600, 0))...)), func(j *job.Job) { j.CPUs = 7 }), "", ""},
		{"a quarter for half of the time", aJob(three(1800, 0)), "", ""},
		{"MPI lost as much", aJob(three(2400, 1200)), CauseWithoutRank, ": 1 of 4 CPUs had no rank and no thread."},
		{"MPI lost more", aJob(three(2399, 1201)), CauseCommunication, "in the next run may tell which."},
		{"something else ran there", with(aJob(three(3600, 0)), func(j *job.Job) { j.Usage = &job.Usage{TotalCPU: sec(4 * 3600)} }), "", ""},
		{"a rank on each core of two hardware threads", aJob(smt(two(alike(2, work(3600, 0))...))), "", ""},
		{"a rank on one of two such cores", aJob(smt(two(work(3600, 0)))), CauseWithoutRank, ": 2 of 4 CPUs had no rank and no thread."},
		{"asleep after it was read", with(onCPUs(3000), func(j *job.Job) {
			j.Executions[0] = loaded(j.Executions[0], job.Load{Ranks: 4, Whole: 4, Span: sec(1)})
		}), CauseAsleep, "Slurm counted CPU time for only 75 % of their time."},
		{"read at last", with(onCPUs(3000), func(j *job.Job) {
			j.Executions[0] = loaded(j.Executions[0], job.Load{Ranks: 4, Whole: 4, Span: sec(2000)})
		}), "", ""},
		{"asleep", onCPUs(3000), CauseAsleep, "Slurm counted CPU time for only 75 % of their time."},
		{"not quite asleep", onCPUs(3200), "", ""},
		{"nothing to sleep", with(onCPUs(0), func(j *job.Job) { j.Executions = nil }), "", ""},
		{"a CPU limit", held(900, job.Cgroup{Nodes: 1, Throttled: during(100)}), CauseThrottled, "in at least 10 % of the time in which they wanted to compute (00:01:40, over all CPUs)."},
		{"a CPU limit that cost 5 %", held(950, job.Cgroup{Nodes: 1, Throttled: during(50)}), CauseCommunication, "in the next run may tell which."},
		{"it waited for memory", held(900, job.Cgroup{Nodes: 1, Stalled: during(360), Swapped: 1234}), CausePaging, "for memory in 10 % of the time: 1,234 pages came back from swap."},
		{"it waited for memory for 5 %", held(900, job.Cgroup{Nodes: 1, Stalled: during(180), Swapped: 1234}), CauseCommunication, "in the next run may tell which."},
		{"on one of two nodes", held(900, job.Cgroup{Nodes: 2, Stalled: during(360)}), CauseCommunication, "in the next run may tell which."},
		{"page faults", faulty(401, 20_050), CausePaging, "off the CPU in at least 10 % of their time, and page faults may be why: 20,050 read from a disk."},
		{"too few page faults", faulty(401, 20_049), CauseCommunication, "in the next run may tell which."},
		{"page faults for 10 %", faulty(400, 1e6), CauseCommunication, "in the next run may tell which."},
		{"suspended", stopped(37), CauseSuspended, "suspended for 00:00:37, and the time of its ranks contains that."},
		{"suspended for 1 %", stopped(36), CauseCommunication, "in the next run may tell which."},

		{"failed", as("FAILED", even()), CauseEnded, "It failed."},
		{"failed before a program began", as("FAILED"), CauseEnded, "It failed."},
		{"failed at the end", as("FAILED", finalized(even())), CauseEnded, "It failed, although all of its ranks called MPI_Finalize."},
		{"a step out of memory", outOf("COMPLETED", "1", finalized(within(even(), "0")), within(even(), "1")), CauseEnded, "Its step 1 ran out of memory."},
		{"another step, without a program", outOf("FAILED", "1", finalized(within(even(), "0"))), CauseEnded, "Its step 1 ran out of memory, although all of its ranks called MPI_Finalize."},
		{"such a step, and the job went on", outOf("COMPLETED", "1", finalized(within(even(), "0"))), CauseCommunication, "in the next run may tell which."},
		{"a program that another step cut", outOf("FAILED", "1", within(even(), "0"), within(even(), "1")), CauseEnded, "It failed."},
		{"five steps out of memory", outOf("FAILED", "0,1,2,3,4"), CauseEnded, "Its steps 0, 1, 2, 3 and 4 ran out of memory."},
		{"six", outOf("FAILED", "0,1,2,3,4,5"), CauseEnded, "Its steps 0, 1, 2, 3 and 2 others ran out of memory."},
		{"stood still for more than a tenth", as("CANCELLED", stuck(400, even()), stuck(101, even()), stuck(700, even()), finalized(even())), CauseHung, "for its last 00:01:41 all of its ranks were in MPI calls that they never left."},
		{"told as hung while it ran", stood(as("CANCELLED", even())), CauseHung, "It was cancelled. It seemed to hang: from 2026-11-20 14:20 to 2026-11-20 15:00, when its nodes last told of it before its end, nothing of it moved. Rank 5 was outside MPI (n2, asleep)."},
		{"told so, and failed", stood(as("FAILED", even())), CauseHung, "Rank 5 was outside MPI (n2, asleep)."},
		{"told so, and came to its end", stood(as("COMPLETED", finalized(even()))), CauseCommunication, "in the next run may tell which."},
		{"told so, and ranks came to their end", stood(as("FAILED", finalized(even()))), CauseEnded, "It failed, although all of its ranks called MPI_Finalize."},
		{"told so, and a node failed", stood(as("NODE_FAIL", even())), CauseEnded, "A node failed."},
		{"told so after a rank ran out of memory", stood(outOf("CANCELLED", "0", within(even(), "0"))), CauseEnded, "Its step 0 ran out of memory."},
		{"stood still for a tenth", as("CANCELLED", stuck(100, even())), CauseEnded, "It was cancelled."},
		{"one program of two stood still", as("CANCELLED", stuck(400, even()), even()), CauseEnded, "It was cancelled."},
		{"stood still and failed", as("FAILED", stuck(400, even())), CauseEnded, "It failed."},
		{"most of the time in one call", as("TIMEOUT", calls(two(alike(4, work(199, 801))...), barrier(1000), job.Call{Name: "MPI_Recv", Time: sec(204)}, barrier(2000))), CauseHung,
			"It may have hung: 75 % of the ranks' time was in MPI_Barrier."},
		{"that was cancelled", as("CANCELLED", calls(two(alike(4, work(199, 801))...), barrier(3000))), CauseEnded, "It was cancelled."},
		{"a fifth of it useful", as("TIMEOUT", calls(two(alike(4, work(200, 800))...), barrier(3100))), CauseCommunication, "in the next run may tell which."},
		{"less of it in one call", as("DEADLINE", calls(two(alike(4, work(199, 801))...), barrier(2999))), CauseCommunication, "in the next run may tell which."},
		{"a twentieth of it useful", as("TIMEOUT", calls(two(alike(4, work(50, 950))...), barrier(2000))), CauseCommunication, "in the next run may tell which."},
		{"less, in whatever call", as("TIMEOUT", calls(two(alike(4, work(49, 951))...), barrier(2000))), CauseHung, "It may have hung: its ranks computed for 5 % of the time."},
		{"as little, but of one that computed", as("TIMEOUT", calls(two(work(501, 499), work(0, 1000), work(0, 1000), work(0, 1000)), barrier(3400))), CauseIdleRanks, "3 of 4 ranks computed for less than 5 % of the time."},
		{"of one that computed for half of it", as("TIMEOUT", calls(two(work(500, 500), work(0, 1000), work(0, 1000), work(0, 1000)), barrier(3400))), CauseHung, "It may have hung: 85 % of the ranks' time was in MPI_Barrier."},
		{"of one that slept", as("TIMEOUT", calls(loaded(two(work(600, 400), work(0, 1000), work(0, 1000), work(0, 1000)), job.Load{Ranks: 4, Whole: 4, Span: sec(4000), Slept: sec(301)}), barrier(3400))), CauseHung, "It may have hung: 85 % of the ranks' time was in MPI_Barrier."},
		{"as little, but cancelled", as("CANCELLED", calls(two(alike(4, work(49, 951))...), barrier(2000))), CauseEnded, "It was cancelled."},
		{"from a list", with(as("TIMEOUT", two(alike(4, work(100, 900))...)), func(j *job.Job) { j.Executions = nil }), CauseCommunication, "in the next run may tell which."},
	} {
		if got := CauseOf(c.job); got.Code != c.code || !strings.HasSuffix(got.Text, c.end) || c.end == "" && got.Text != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestRecommendation: what ended a job, or shared its cores, is no reason for fewer of them.
func TestRecommendation(t *testing.T) {
	runs := []job.Run{run(1, 1, 101, 100), run(2, 1, 102, 100), run(3, 2, 70, 50), run(4, 2, 71, 50), run(5, 4, 120, 25), run(6, 4, 121, 25)}
	for _, c := range []struct {
		name  string
		job   *job.Job
		cores float64
	}{
		{"of its newest run", nil, 1},
		{"alone", jobOf(runs[5]), 1},
		{"that failed", with(jobOf(runs[5]), func(j *job.Job) { j.State = "FAILED" }), 0},
		{"two programs at once", with(jobOf(runs[5]), func(j *job.Job) { j.Executions = append(j.Executions, world(1, 4, 0, alike(4, work(25, 75))...)) }), 0},
		{"one after the other", with(jobOf(runs[5]), func(j *job.Job) { j.Executions = append(j.Executions, world(1, 4, 115, alike(4, work(4, 20))...)) }), 1},
	} {
		study, cores := studyOf(c.job, runs...), 0.0
		best := RequestOf(study).Best
		if c.job != nil {
			best = recommend(study, c.job, CauseOf(c.job))
		}
		if best != nil {
			cores = best.Cores.Value
		}
		if cores != c.cores {
			t.Errorf("%s: %v cores, want %v", c.name, cores, c.cores)
		}
	}
}

// TestFields holds single fields of a job, or why they are not known, and its doubts.
func TestFields(t *testing.T) {
	good := func() *job.Job { return aJob(world(1, 2, 0, alike(4, work(3400, 100))...)) }
	after := func(change func(*job.Job)) *job.Job { return with(good(), change) }
	folded := func(args string) *job.Job {
		return after(func(j *job.Job) {
			e := singleton(1)
			e.Folded, e.ArgsHash = &job.Folded{Count: 7, Sizes: 7, Ranks: 1, Span: 1, UsefulMax: 1, MeanMax: 1}, args
			j.Executions = []job.Execution{e}
		})
	}
	// The ranks had one core-hour, three were idle: a twentieth of these is 540 s.
	beside := func(s float64) *job.Job {
		return with(idling(world(1, 1, 0, work(3600, 0))), func(j *job.Job) { j.Usage.TotalCPU += sec(s) })
	}
	smt := func(mpi float64) job.Execution { // two ranks of an hour
		e := world(1, 2, 0, alike(2, work(3600-mpi, mpi))...)
		e.Nodes[0].Hardware = &job.Hardware{Cores: 2, ThreadsPerCore: 2}
		return e
	}
	counted := func(ranks int) *job.Job {
		e := loaded(world(1, 4, 0, alike(4, work(3400, 100))...), job.Load{Ranks: ranks, Whole: ranks, Span: sec(3500), CPU: sec(1000)})
		return with(aJob(e), func(j *job.Job) { j.Usage = &job.Usage{TotalCPU: sec(3000)} })
	}
	for _, c := range []struct {
		name  string
		job   *job.Job
		field string
		want  any // an error: why it is not known
	}{
		{"Slurm silent", after(func(j *job.Job) { j.CPUs = 0 }), "gpus", "Slurm's accounting has not said it yet"},
		{"Slurm silent but for GPUs", after(func(j *job.Job) { j.CPUs, j.GPUs = 0, 2 }), "gpus", 2},
		{"no time", after(func(j *job.Job) { j.Elapsed = 0 }), "runtime", "the job's end is not known"},
		{"a program", good(), "program", "lmp"},
		{"without a name", after(func(j *job.Job) { j.Executions[0].Executable = "" }), "program", "it was not recorded"},
		{"a library", good(), "mpi", "Open MPI"},
		{"another one", after(func(j *job.Job) { j.Executions[0].MPI = "" }), "mpi", "it was not recorded"},
		{"one singleton", aJob(singleton(1)), "coverage", 1.0},
		{"its efficiency", aJob(singleton(1)), "mpi_parallel_efficiency", 3500. / 3501},
		{"folded singletons", folded("ef"), "singletons", 7},
		{"folded, they may differ", folded(""), "singletons", 0},
		{"idle nodes", with(idling(world(1, 1, 0, work(3600, 0))), func(j *job.Job) { j.Nodes, j.Reports = 4, 4 }), "unused_nodes", 3},
		{"hardly busy CPUs", beside(540), "unused_nodes", 1},
		{"busy CPUs", beside(541), "unused_nodes", "Slurm counted CPU time beside that of the ranks: other programs may have run on the other nodes"},
		{"busy beside counted ranks", counted(4), "unused_nodes", "Slurm counted CPU time beside that of the ranks: other programs may have run on the other nodes"},
		{"not all counted", counted(3), "unused_nodes", 1},
		{"hardly busy, its hours", beside(540), "lost_idle_core_hours", 3.0},
		{"busy, its hours", beside(541), "lost_idle_core_hours", "Slurm counted CPU time beside that of the ranks: something else ran on CPUs without one"},
		{"busy, a twentieth idle", with(idling(world(1, 19, 0, alike(19, work(3600, 0))...)), func(j *job.Job) { j.CPUs, j.Usage.TotalCPU = 20, 20*time.Hour }), "lost_idle_core_hours", 1.0},
		{"a rank on each core of two hardware threads", aJob(smt(0)), "smt_core_hours", 2.0},
		{"such ranks, what was lost", aJob(smt(900)), "lost_core_hours", 0.5},
		{"such ranks, and MPI", aJob(smt(900)), "lost_mpi_core_hours", 0.5},
		{"such ranks, and no others", aJob(smt(900)), "lost_idle_core_hours", 0.0},
		{"such ranks, and outside of them", with(aJob(smt(0)), func(j *job.Job) { j.Elapsed = 2 * time.Hour }), "lost_outside_core_hours", 4.0},
		{"a rank on each hardware thread", aJob(smt(0), smt(0)), "smt_core_hours", 0.0},
		{"CPUs that may be one core", with(aJob(), func(j *job.Job) {
			j.Usage, j.Cgroup = &job.Usage{TotalCPU: time.Hour}, &job.Cgroup{Nodes: 1, CPUs: 256, Cores: 64}
		}), "busy_cores", "its CPUs may be the hardware threads of one core, which nobody else could have had"},
		{"CPUs of two cores", with(aJob(), func(j *job.Job) {
			j.Usage, j.Cgroup = &job.Usage{TotalCPU: time.Hour}, &job.Cgroup{Nodes: 1, CPUs: 128, Cores: 64}
		}), "busy_cores", 1.0},
		{"a workload", good(), "workload", "what tells its workload is not known"},
		{"its runs", jobOf(run(1, 4, 100, 90)), "workload", "the runs of its workload were not looked at"},
	} {
		d := Describe(c.job, nil)
		if got, why := d.Value(c.field), d.Unknown[c.field]; why != "" && why != c.want || why == "" && got != c.want {
			t.Errorf("%s: %s is %v (%q), want %v", c.name, c.field, got, why, c.want)
		}
	}
	waited, shared := doubt.Warning{Code: doubt.WarnContention, Args: doubt.Arguments{Time: 1, OfTime: 2}}, doubt.Warning{Code: doubt.WarnOversubs, Args: doubt.Arguments{N: 4, CPUs: 2, Names: "n1"}}
	for _, c := range []struct {
		name          string
		job           *job.Job
		doubts, waits string
	}{
		{"good", good(), "", ""},
		{"no data", after(func(j *job.Job) { j.Metrics, j.Executions, j.Reports = nil, nil, 0 }), "", ""},
		{"a node silent", after(func(j *job.Job) { j.Reports, j.Complete = 1, true }), "1 of 2 nodes have reported", ""},
		{"failed", after(func(j *job.Job) { j.State = "FAILED" }), "it failed (its figures are those of what ran until then)", ""},
		{"failed at the end", after(func(j *job.Job) {
			j.State, j.Executions[0].Endings = "FAILED", map[string]int{job.EndingFinalized: 4}
		}), "it failed, although all of its ranks called MPI_Finalize", ""},
		{"at its limit", after(func(j *job.Job) { j.State = "TIMEOUT" }), "the time limit ended the job: its figures are those of what ran until then", ""},
		{"suspended", after(func(j *job.Job) { j.Submit, j.Elapsed = began, 30*time.Minute }), "it was suspended for 00:30:00, and the time of its ranks contains that", ""},
		{"suspended, and failed", after(func(j *job.Job) { j.State, j.Submit, j.Elapsed = "FAILED", began, 30*time.Minute }),
			"it failed (its figures are those of what ran until then)|it was suspended for 00:30:00, and the time of its ranks contains that", ""},
		{"ranks without CPUs", after(func(j *job.Job) {
			j.Warnings = []doubt.Warning{waited, shared, {Code: doubt.WarnClock}, {Code: doubt.WarnTorn}}
		}), doubt.Text(waited) + "|" + doubt.Text(shared) + "|" + doubt.Text(doubt.NewWarning(doubt.WarnClock, 0)), doubt.Text(waited) + "|" + doubt.Text(shared)},
	} {
		d := Describe(c.job, nil)
		if doubts, waits := strings.Join(d.Doubts, "|"), strings.Join(d.Waits, "|"); doubts != c.doubts || waits != c.waits {
			t.Errorf("%s: doubts %q, want %q; of these waits %q, want %q", c.name, doubts, c.doubts, waits, c.waits)
		}
	}
}

// TestWithoutCPU: useful time without a CPU is what ranks slept, or what Slurm's count leaves; nothing where that is little or
// may be of a part.
func TestWithoutCPU(t *testing.T) {
	four := func(cpu, slept float64, edit func(*job.Job)) *job.Job { // 3600 s of useful time
		return with(aJob(loaded(world(1, 4, 0, alike(4, work(900, 100))...), job.Load{Ranks: 4, Whole: 4, Span: sec(4000), Slept: sec(slept)})), func(j *job.Job) {
			j.Usage = &job.Usage{TotalCPU: sec(cpu)}
			if edit != nil {
				edit(j)
			}
		})
	}
	for _, c := range []struct {
		name string
		job  *job.Job
		want float64 // s
	}{
		{"all but a tenth had one", four(3241, 0, nil), 0},
		{"a tenth had none", four(3240, 0, nil), 360},
		{"hardly any had one", four(1, 0, nil), 3599},
		{"nobody counted", four(0, 0, nil), 0},
		{"steps of some nodes", four(1, 0, func(j *job.Job) { j.Usage.PartOfNodes = true }), 0},
		{"Slurm silent", four(1, 0, func(j *job.Job) { j.Usage = nil }), 0},
		{"ranks slept", four(3600, 400, nil), 400},
		{"ranks hardly slept", four(3600, 359, nil), 0},
		{"Slurm knows more than old readings", four(600, 400, nil), 3000},
	} {
		got := 0.0
		if h := CoreHoursOf(c.job); h.NoCPU != nil {
			got = h.NoCPU.Hours() * 3600
		}
		if math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%s: %v s, want %v", c.name, got, c.want)
		}
	}
}
