package policy

import (
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Recommend is the one core count that the job should have had: nothing where the study
// knows none, or where the cause of the lost time is another than the number of cores. Without
// a job it is that of the workload's newest run, whose cause is not known.
func Recommend(study *workload.Study, j *job.Job) []workload.Recommendation {
	if j != nil && !CauseOf(j).fewerMayHelp() {
		return nil
	}
	if best := workload.Advice(study.Recommend(j)); best != nil {
		return []workload.Recommendation{*best}
	}
	return nil
}

// CauseOf says why a job's figures are not good: first what forbids to read them, then what
// most of the lost time was lost to.
func CauseOf(j *job.Job) Cause {
	for _, look := range []func(*job.Job) Cause{ended, hung, computedElsewhere, contended, lostTo, asleep} {
		if c := look(j); c.Code != "" {
			return c
		}
	}
	return Cause{}
}

// endings are Slurm's states of jobs whose figures are those of a part of a run.
var endings = map[string]Cause{
	"OUT_OF_MEMORY": {Text: "It ran out of memory.", Mend: "Ask for more memory (--mem, --mem-per-cpu), or spread the ranks over more nodes."},
	"NODE_FAIL":     {Text: "A node failed.", Mend: "Start it again."},
	"BOOT_FAIL":     {Text: "A node did not boot.", Mend: "Start it again."},
	"FAILED":        {Text: "It failed.", Mend: "See its output first."},
	"CANCELLED":     {Text: "It was cancelled."},
	"PREEMPTED":     {Text: "It was preempted: a job of higher priority took its place."},
}

// ended is the state of a job that did not end well.
func ended(j *job.Job) Cause {
	c, bad := endings[stateOf(j)]
	if bad {
		c.Code = CauseEnded
	}
	return c
}

// stateOf is Slurm's state in one word.
func stateOf(j *job.Job) string {
	state, _, _ := strings.Cut(j.State, " ")
	return state
}

// timeLimits are the states of jobs that Slurm ended at a set time.
var timeLimits = []string{"TIMEOUT", "DEADLINE"}

// hungBelow is the parallel efficiency, and hungIn the part of the ranks' time in one MPI
// function, from which a job that ran into its time limit looks as if it hung.
const (
	hungBelow = 0.2
	hungIn    = 0.75
)

// hung is a job that ran into its time limit in one MPI function.
func hung(j *job.Job) Cause {
	if !slices.Contains(timeLimits, stateOf(j)) || j.Metrics == nil || j.Metrics.ParallelEfficiency >= hungBelow {
		return Cause{}
	}
	call, share := costliestCall(j)
	if share < hungIn {
		return Cause{}
	}
	return Cause{CauseHung, fmt.Sprintf("It may have hung until the time limit: %s of the ranks' time was in %s.", figure.Percent(share), call),
		"See at which point its output ends."}
}

// costliestCall is the MPI function with the most time, and its share of the ranks' time.
func costliestCall(j *job.Job) (name string, share float64) {
	times := map[string]float64{}
	for i := range j.Executions {
		for _, c := range j.Executions[i].Calls {
			times[c.Name] += c.Time.Seconds()
		}
	}
	for call, t := range times {
		if t > times[name] || t == times[name] && call < name {
			name = call
		}
	}
	if whole := job.RankSeconds(j.Executions); whole > 0 {
		share = times[name] / whole
	}
	return name, share
}

// computedElsewhere is a job that computed where nothing is measured.
func computedElsewhere(j *job.Job) Cause {
	load := job.LoadOf(j.Executions)
	switch {
	case j.GPUs > 0:
		return Cause{Code: CauseGPUs, Text: fmt.Sprintf("It had %s, and what these did is not measured.", figure.Counted(j.GPUs, "GPU"))}
	case load != nil && load.GPURanks > 0:
		return Cause{Code: CauseGPUs, Text: fmt.Sprintf("%s opened a GPU, and what GPUs do is not measured.", figure.Counted(load.GPURanks, "rank"))}
	case job.Threaded(j.Executions):
		return Cause{Code: CauseThreads, Text: "Its ranks had threads, and what these did is not measured."}
	}
	return Cause{}
}

// cpusText names the CPUs of a list such as "0-3,8".
func cpusText(list string) string {
	if strings.ContainsAny(list, ",-") {
		return "CPUs " + list
	}
	return "CPU " + list
}

// contended is a job whose ranks waited for CPUs: its useful time is not all useful.
func contended(j *job.Job) Cause {
	c := Cause{Code: CauseContention, Mend: "Ask for a CPU for each rank (--ntasks) and thread (--cpus-per-task), and bind them to it (srun --cpu-bind=cores)."}
	load := job.LoadOf(j.Executions)
	if load != nil && load.CrowdBusy > 0 {
		c.Text = fmt.Sprintf("%s of %s share %s, so part of the useful time is waiting for a CPU.",
			figure.Counted(load.CrowdBusy, "busy thread"), figure.Counted(load.CrowdRanks, "rank"), cpusText(load.CrowdCPUs))
		return c
	}
	for _, w := range warnings(j) {
		if w.Code == job.WarnOversubs {
			c.Text = w.Text + ", so some of the time of each is waiting for a CPU."
			return c
		}
	}
	if load != nil && load.Contended() {
		return Cause{CauseContention, fmt.Sprintf("Its busy threads waited for a CPU in %s of their time.", figure.Percent(load.Queue.Seconds()/load.ThreadSpan.Seconds())),
			"Other programs on its cores, too few CPUs (--cpus-per-task) or a CPU limit may be why."}
	}
	return Cause{}
}

// asleepBelow is the part of the ranks' time from which less CPU time means that they slept.
const asleepBelow = 0.8

// asleep is a job whose ranks used little CPU time although they were not in MPI.
func asleep(j *job.Job) Cause {
	c := Cause{Code: CauseAsleep, Mend: "See whether it waits for files, or sleeps."}
	if load := job.LoadOf(j.Executions); load != nil {
		if !load.IsAsleep() {
			return Cause{}
		}
		c.Text = fmt.Sprintf("Its ranks slept, or waited for a file: outside MPI they used no CPU in at least %s of their time.", figure.Percent(load.Slept.Seconds()/load.Span.Seconds()))
		return c
	}
	ran := job.RankSeconds(j.Executions)
	if j.Usage == nil || ran <= 0 || j.Usage.TotalCPU.Seconds() >= asleepBelow*ran {
		return Cause{}
	}
	c.Text = fmt.Sprintf("Slurm counted CPU time for only %s of the time of its ranks: the rest they slept or waited.", figure.Percent(j.Usage.TotalCPU.Seconds()/ran))
	return c
}
