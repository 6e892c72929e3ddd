package words

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// jobFacts say who ran what, where, when, and how it ended.
func jobFacts(j *job.Job) []block.Fact {
	f := block.Facts{{Label: "Job", Strong: j.DisplayID, Text: block.Joined("  ", j.Name, requeued(j))}}
	f.Add("User", block.Joined(", ", j.User, of("account", j.Account), of("partition", j.Partition), of("QOS", j.QOS)))
	f.Add("State", block.Joined(", ", stateText(j), exitText(j), endings(j.Executions)))
	f.Add("Waits", waitsText(j.Pending))
	f.Add("Time", timeText(j))
	f.Add("Size", sizeText(j))
	f.Add("Core-hours", coreHoursText(j))
	f.Add("Busy", cpuText(j))
	f.Add("Memory", memoryText(j))
	f.Add("GPUs", gpuText(j))
	if !j.End.IsZero() {
		f.Add("GPU-hours", gpuHoursText(policy.HoursOf([]job.Job{*j})))
	}
	f.Add("Program", distinct(j.Executions, func(e job.Execution) string { return e.Executable }))
	f.Add("MPI", distinct(j.Executions, mpiText))
	return f
}

func requeued(j *job.Job) string {
	if j.Attempt > 1 {
		return fmt.Sprintf("(attempt %s)", figure.Count(j.Attempt))
	}
	return ""
}

func stateText(j *job.Job) string {
	switch {
	case j.State != "":
		return j.State
	case byHand(j):
		return ""
	case j.Unconfirmed:
		return "not confirmed by Slurm"
	}
	return "not known yet (Slurm's accounting has not said)"
}

// exitText is the exit code of a job that has ended. Before that, Slurm's 0:0 means nothing.
func exitText(j *job.Job) string {
	if j.State != "" && j.End.IsZero() {
		return ""
	}
	return of("exit code", j.ExitCode)
}

// endings says how the ranks ended, the most frequent first.
func endings(executions []job.Execution) string {
	sum := map[string]int{}
	for _, e := range executions {
		for ending, n := range e.Endings {
			sum[ending] += n
		}
	}
	if len(sum) == 0 {
		return ""
	}
	if !job.WithMPI(executions) {
		return "processes: " + counted(sum)
	}
	return "ranks: " + counted(sum)
}

func timeText(j *job.Job) string {
	s := ""
	if !j.Start.IsZero() && !j.End.IsZero() {
		s = figure.Span(j.Start, j.End) + ", "
	}
	if !byHand(j) {
		s += figure.Clock(j.Elapsed) + "; "
	}
	if m := j.Metrics; m != nil {
		where := "between MPI_Init and MPI_Finalize"
		if j.IsRunning() {
			where = "from MPI_Init to " + figure.Minute(j.AsOf)
		}
		if !job.WithMPI(j.Executions) {
			where = "from the first parallel region on"
		}
		s += fmt.Sprintf("%s elapsed %s", figure.Seconds(m.Elapsed), where)
		if n := job.CountExecutions(j.Executions); n > 1 {
			s += fmt.Sprintf(" (sum of %s)", figure.Counted(n, "execution"))
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, ", "), "; ")
}

func sizeText(j *job.Job) string {
	var parts []string
	most := ""
	if j.Used != nil {
		most = " at most: it was resized"
	}
	if m := j.Metrics; m != nil {
		ranks := figure.Counted(ranksRan(j), "rank")
		if !job.WithMPI(j.Executions) {
			ranks = "1 process"
		}
		if n := job.CountExecutions(j.Executions); n > 1 {
			ranks = fmt.Sprintf("%s of up to %s", figure.Counted(n, "execution"), ranks)
		}
		parts = append(parts, ranks+" on "+figure.Counted(m.Nodes, "node"))
	}
	if j.Nodes > 0 && !byHand(j) && (j.Metrics == nil || j.Nodes != j.Metrics.Nodes) {
		parts = append(parts, figure.Counted(j.Nodes, "node")+" allocated")
	}
	if j.CPUs > 0 {
		parts = append(parts, figure.Counted(j.CPUs, "core")+" allocated"+most)
	}
	if j.GPUs > 0 {
		parts = append(parts, figure.Counted(j.GPUs, "GPU"))
	}
	switch {
	case j.Metrics != nil && j.Metrics.Hybrid != nil:
		parts = append(parts, figure.Counted(j.Metrics.Hybrid.Threads, "thread"))
	case job.Threaded(j.Executions):
		parts = append(parts, "several threads or cores for each rank")
	}
	return strings.Join(parts, ", ")
}

// coreHoursText says what an ended job used and lost; "": neither is known. For a running job, flaggedFacts say
// it.
func coreHoursText(j *job.Job) string {
	h := policy.CoreHoursOf(j)
	if h.Used == nil || j.End.IsZero() {
		return ""
	}
	return hoursText(h)
}

// mpiText writes the MPI library, its version, and the level of threads that the program asked for.
func mpiText(e job.Execution) string { return block.Joined(", ", job.MPILibrary(&e), e.ThreadLevel) }

// notableSteps lists the steps that ended badly or were switched off.
func notableSteps(j *job.Job) (notable []string) {
	full := j.Usage.StepsOutOfMemory()
	for _, s := range j.Steps {
		bad := map[string]int{}
		for status, n := range s.Exits {
			if status != "0" && status != "exit 0" {
				bad[status] = n
			}
		}
		memory := ""
		if slices.Contains(full, s.ID) {
			memory = "ran out of memory"
		}
		parts := block.Joined("; ", of("off:", s.Off), memory, of("ended with", counted(bad)))
		if parts != "" {
			notable = append(notable, fmt.Sprintf("step %s of %s: %s", s.ID, figure.Counted(s.Tasks, "task"), parts))
		}
	}
	return notable
}

// stepsPart has the steps that ended badly or were switched off; it is empty if all went well.
func stepsPart(j *job.Job) block.Part {
	notable := notableSteps(j)
	if len(notable) == 0 {
		return block.Part{}
	}
	return block.Part{Heading: "Steps to look at", Items: notable[:min(listed, len(notable))],
		Notes: block.Notes(more(len(notable)-listed, "step", "like these"))}
}

// dataText says how much of the job was measured.
func dataText(j *job.Job) string {
	var parts []string
	if m := j.Metrics; m != nil {
		recorded, ran := recordedOf(j)
		parts = append(parts, fmt.Sprintf("%s of %s recorded (coverage %s)",
			figure.Count(recorded), figure.Counted(ran, "rank"), figure.Efficiency(m.Coverage)))
	}
	if j.Nodes > 0 && !byHand(j) {
		parts = append(parts, fmt.Sprintf("%s of %s reported", figure.Count(j.Reports), figure.Counted(j.Nodes, "node")))
	}
	if j.Covered != nil && j.Metrics != nil {
		said := fmt.Sprintf("the figures cover %s of the allocated core time", figure.Percent(*j.Covered))
		if further := j.CoveredBy(j.FurtherThreads()); further != nil && *further >= 0.005 {
			said += fmt.Sprintf(" (another %s are further hardware threads of its cores)", figure.Percent(*further))
		}
		parts = append(parts, said)
	}
	return strings.Join(parts, ", ")
}

// dataFacts say how much of the job was measured.
func dataFacts(j *job.Job) []block.Fact {
	var f block.Facts
	f.Add("Data", dataText(j))
	return f
}

// cpuText writes the CPU efficiency, and how it differs from POP's.
func cpuText(j *job.Job) string {
	e := j.CPUEfficiency()
	if e == nil {
		return ""
	}
	given, waits := job.MulTime(j.Elapsed, j.CPUs), ""
	if j.Used != nil {
		given = time.Duration(*j.Used) * time.Microsecond
	}
	if job.WithMPI(j.Executions) {
		waits = "waiting in MPI counts as busy"
	}
	return block.Joined("; ", fmt.Sprintf("CPU efficiency %s, %s of %s core time", figure.Efficiency(*e), figure.Clock(j.Usage.TotalCPU), figure.Clock(given)), waits)
}

// memoryText says what memory the job needed, and who counted that.
func memoryText(j *job.Job) string {
	need := j.NeededMemory()
	if need == nil {
		return ""
	}
	bytes := func(n int64) string { return figure.Bytes(uint64(n)) }
	given := ""
	if j.Usage != nil && j.Usage.Allocated > 0 {
		given = " of " + bytes(j.Usage.Allocated)
	}
	if need.From == job.MemorySlurm {
		return slurmsMemory(j, bytes(need.High)+given)
	}
	s := "at least " + bytes(need.Low) + given
	switch {
	case need.High == 0:
	case need.Use > 0 && need.Use == need.Low && need.Low < need.High:
		s = bytes(need.Low) + given + " without file cache, by " + figure.Counted(need.Samples, "reading") + " and the largest process; with it " + bytes(need.High)
	case float64(need.Low) > oneFigure*float64(need.High):
		s = bytes(need.High) + given
	default:
		s = bytes(need.Low) + " to " + bytes(need.High) + given + ": the rest may be file cache, which the kernel could have dropped"
	}
	if ranOut(j) || j.Cgroup.Kills > 0 {
		held := "most " + bytes(max(need.Low, need.High))
		if need.High == 0 {
			held = "least " + bytes(need.Low)
		}
		return "ran out. It held at " + held + given + ": a step, a task or a node may have had a lower limit"
	}
	if e := sharedEfficiency(j); e != nil {
		most := ""
		if need.Use != need.Low && need.Low < need.High {
			most = "at most "
		}
		s += fmt.Sprintf(" (memory efficiency %s%s)", most, figure.Efficiency(*e))
	}
	if need.Limit {
		s += "; its limit was reached, so it may need more"
	}
	return s
}

// sharedEfficiency returns the memory efficiency of a job that shared its nodes. On whole nodes nobody else
// could have had the memory.
func sharedEfficiency(j *job.Job) *float64 {
	if whole, _ := j.WholeNodes(); whole {
		return nil
	}
	return j.MemoryEfficiency()
}

// oneFigure is the part of the upper end of an interval from which its lower end is left out.
const oneFigure = 0.95

// slurmsMemory words Slurm's figure, with its doubt.
func slurmsMemory(j *job.Job, held string) string {
	if ranOut(j) {
		return "ran out. Slurm's samples saw at most " + held + ": they miss a short peak, and one node or task may run out before the others"
	}
	s := held + " at once, by Slurm, whose count may miss a short peak or hold file cache"
	if e := sharedEfficiency(j); e != nil {
		s += fmt.Sprintf(" (memory efficiency %s)", figure.Efficiency(*e))
	}
	if u := j.Usage; u.LargestTask > 0 && u.LargestTask < u.Memory {
		s += ", the largest task " + figure.Bytes(uint64(u.LargestTask))
	}
	return s
}

// ranOut reports whether the job or a step of it ran out of memory, whatever Slurm sampled.
func ranOut(j *job.Job) bool {
	return j.StateWord() == "OUT_OF_MEMORY" || len(j.Usage.StepsOutOfMemory()) > 0
}
