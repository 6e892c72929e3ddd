package report

import (
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// cut has a job's ranks killed.
func cut(j *job.Job) *job.Job {
	for i := range j.Executions {
		e := &j.Executions[i]
		e.Endings = map[string]int{"signal 9 (SIGKILL)": e.Size}
	}
	return j
}

// outOfMemory has steps of a job run out of memory.
func outOfMemory(j *job.Job, steps string) *job.Job {
	j.Usage = &job.Usage{OutOfMemory: steps}
	for i := range j.Executions {
		j.Executions[i].Steps = strings.Split(steps, ",")
	}
	return j
}

// TestVerdict holds the sentence for each thing that can be said of a job.
func TestVerdict(t *testing.T) {
	state := func(j *job.Job, s string) *job.Job { j.State = s; return j }
	warn := func(j *job.Job, w doubt.Warning) *job.Job {
		j.Executions[0].Warnings = []doubt.Warning{w}
		return j
	}
	runs := func(j *job.Job) *job.Job {
		j.AsOf, j.End, j.State = j.Start.Add(time.Minute), time.Time{}, "RUNNING"
		return j
	}
	untold := func(j *job.Job) *job.Job { j.State, j.Unconfirmed = "", true; return j }
	load := func(j *job.Job, l job.Load) *job.Job { j.Executions[0].Nodes[0].Load = &l; return j }
	even := func() *job.Job { return aJob(execution(2, work{90, 10}, work{90, 10})) }
	for _, c := range []struct {
		name string
		job  *job.Job
		want string
	}{
		{"good", even(), "10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90, above the 0.80 that POP recommends."},
		{"two CPUs without a rank", even(), "Most of the lost core-hours are those of CPUs without work: 2 of 4 CPUs had no rank and no thread. More ranks or threads would use them; they are not lost if it needs their memory. " +
			"10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90."},
		{"on the line", aJob(execution(2, work{8, 2}, work{8, 2})),
			"20 % of the time of 2 ranks went into MPI: parallel efficiency 0.80, not below the 0.80 that POP recommends."},
		{"just below it", aJob(execution(2, work{7.99, 2.01}, work{7.99, 2.01})),
			"20 % of the time of 2 ranks went into MPI: parallel efficiency 0.79, below the 0.80 that POP recommends. The busiest rank computed 79 % of the time. Either MPI is slow, or ranks wait for each other in turn; `export JOBEFF_WINDOWS=16` in the next run may tell which."},
		{"no MPI time at all", aJob(execution(2, work{10, 0}, work{10, 0})),
			"0 % of the time of 2 ranks went into MPI: parallel efficiency 1.00, above the 0.80 that POP recommends."},
		{"one node waits for another", aJob(execution(1, work{100, 0}, work{40, 60})),
			"30 % of the time of 2 ranks went into MPI: parallel efficiency 0.70, below the 0.80 that POP recommends. Most of the lost time is waiting for one node: the ranks of n1 computed for 100 % of the time, those of the next one for 40 %. See whether this node has more work, or is slower."},
		{"one rank of a node waits for another", aJob(execution(2, work{100, 0}, work{40, 60})),
			"30 % of the time of 2 ranks went into MPI: parallel efficiency 0.70, below the 0.80 that POP recommends. Most of the lost time is unequal work: waiting for the rank that had the most (load balance inside the nodes). Distribute the work evenly among the ranks."},
		{"a rank that ended early", aJob(execution(2, work{90, 10}, work{40, 10})),
			"35 % of the time of 2 ranks was not useful (10 % in MPI, 25 % beside it: ranks that began late or ended early): parallel efficiency 0.65, below the 0.80 that POP recommends. Most of the lost time is unequal work: waiting for the rank that had the most (load balance inside the nodes). Distribute the work evenly among the ranks."},
		{"one rank", aJob(execution(1, work{99, 1})),
			"1 rank has nobody to wait for (1 % of its time in MPI): parallel efficiency 0.99 says nothing about more ranks."},
		{"cancelled", state(cut(even()), "CANCELLED by 1000"),
			"It was cancelled. Until then, 10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90."},
		{"out of memory", state(cut(even()), "OUT_OF_MEMORY"),
			"It ran out of memory. Until then, 10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90."},
		{"a step out of memory", outOfMemory(state(cut(even()), "FAILED"), "0"),
			"Its step 0 ran out of memory. Until then, 10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90."},
		{"its script failed when its ranks were done", state(even(), "FAILED"),
			"It failed, although all of its ranks called MPI_Finalize. See its output first. 10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90."},
		{"a node failed, and no report came", &job.Job{State: "NODE_FAIL", NoData: doubt.Warning{Code: doubt.WhyNoReport, Args: doubt.Arguments{Kind: doubt.KindYet}}}, "A node failed. Start it again. No parallel efficiency: no report has arrived from its nodes yet: it should within a minute of the job's end."},
		{"time limit", state(cut(even()), "TIMEOUT"), "It ran up to the time limit. Until then, 10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90, above the 0.80 that POP recommends."},
		{"it runs", runs(even()), "It runs. Up to 2026-11-20 12:01, 10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90, above the 0.80 that POP recommends."},
		{"nobody but its node told that it runs", untold(runs(even())), "Its last sign is of 2026-11-20 12:01, and Slurm has not said whether it still runs. Up to then, 10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90, above the 0.80 that POP recommends."},
		{"it runs, badly", runs(aJob(execution(1, work{100, 0}, work{40, 60}))),
			"It runs. Up to 2026-11-20 12:01, 30 % of the time of 2 ranks went into MPI: parallel efficiency 0.70, below the 0.80 that POP recommends."},
		{"hardly any time in MPI", aJob(execution(2, work{999, 1}, work{999, 1})),
			"Under 1 % of the time of 2 ranks went into MPI: parallel efficiency 0.99, above the 0.80 that POP recommends."},
		{"too many ranks for the CPUs", warn(even(), doubt.Warning{Code: doubt.WarnOversubs, Args: doubt.Arguments{N: 4, CPUs: 2, Names: "n1"}}),
			"10 % of the time of 2 ranks went into MPI: parallel efficiency 0.90. 4 ranks share 2 CPUs (node n1), so some of the time of each is waiting for a CPU. Each rank and thread wants a CPU of its own, and to be bound to it."},
		{"threads on too few CPUs", load(even(), job.Load{Ranks: 2, Whole: 2, Threaded: 2, CrowdRanks: 2, CrowdBusy: 4, CrowdCPUs: "0-1"}),
			"10 % of the time of 2 ranks went into MPI: MPI parallel efficiency 0.90. 4 busy threads of 2 ranks share 2 CPUs (0-1), so part of the useful time is waiting for a CPU. Each rank and thread wants a CPU of its own, and to be bound to it."},
		{"one thread without MPI", withoutMPI(execution(1, work{10, 0})), "1 thread has nobody to wait for: parallel efficiency 1.00 says nothing about more threads."},
		{"no data without a reason", &job.Job{}, "No parallel efficiency: no reason was recorded."},
		{"off in a step", fixtures()["off"], "No parallel efficiency: this job was not measured, asked by the job (--jobeff=off)."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := c.job.Metrics; m != nil && c.name != "two CPUs without a rank" {
				c.job.CPUs = m.Ranks
			}
			if got := viewOf(c.job, nil, nil, true).Words().Headline.Text; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
