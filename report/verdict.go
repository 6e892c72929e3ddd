package report

import (
	"fmt"
	"math"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/measure"
)

// headline is what this job's figures mean, for a scientist who knows none of POP's words.
func headline(j *job.Job, better *workload.Recommendation) block.Headline {
	h := block.Headline{Text: verdictText(j, better), Bad: j.Metrics != nil && j.Metrics.ParallelEfficiency < figure.Line}
	h.Good = j.Metrics != nil && !h.Bad && better == nil && policy.CauseOf(j).Code == ""
	return h
}

// verdictText says it in one sentence, with the better core count where one is known,
// and where time was lost, in another one what it was lost to.
func verdictText(j *job.Job, better *workload.Recommendation) string {
	m := j.Metrics
	switch {
	case m == nil:
		why := "No parallel efficiency: " + noData(j) + "."
		if c := policy.CauseOf(j); c.Code == policy.CauseEnded {
			return join(why, c.String())
		}
		return why
	case measure.Singletons(j):
		return figure.Counted(len(j.Executions), "program") + " of one rank each instead of one program of many ranks: they never talked to " +
			"each other, so there is no parallel efficiency. If they are meant to be one program, see whether srun's --mpi fits the MPI library."
	case measure.Alone(j):
		return fmt.Sprintf("1 rank has nobody to wait for (%s of its time in MPI): %s %s says nothing about more ranks.",
			figure.Percent(measure.MPIShare(j)), peName(j), figure.Efficiency(m.ParallelEfficiency))
	}
	where := fmt.Sprintf("%s %s, %s the 0.80 that POP recommends.", peName(j), figure.Efficiency(m.ParallelEfficiency), aboveOrBelow(m.ParallelEfficiency))
	if better != nil {
		where = fmt.Sprintf("%s. %s", betterText(better), upperFirst(where))
	}
	first := fmt.Sprintf("%s %s: %s", whose(j), wentInto(j), where)
	cause := policy.CauseOf(j)
	switch cause.Code {
	case policy.CauseEnded:
		if until(policy.CutShort(j)) != "" { // it has named the cause
			return join(first, cause.Mend)
		}
	case policy.CauseThreads:
		return first + " How well its threads were used was not measured."
	}
	return join(first, cause.String())
}

// join puts sentences together.
func join(first, second string) string { return strings.TrimSpace(first + " " + second) }

// noData is the reason why there are no figures.
func noData(j *job.Job) string {
	off := strings.HasPrefix(j.Decision, "off")
	for _, s := range j.Steps {
		off = off || s.Off != "" && s.Off == j.NoData
	}
	switch {
	case j.NoData == "":
		return "no reason was recorded"
	case off:
		return "this job was not measured, " + j.NoData
	}
	return j.NoData
}

// peName is what the job's main figure is called: with threads that nobody
// measured it speaks only of MPI.
func peName(j *job.Job) string {
	name := "parallel efficiency"
	if job.Threaded(j.Executions) {
		name = "MPI " + name
	}
	if policy.CauseOf(j).Code == policy.CauseGPUs {
		name += " of the host side"
	}
	return name
}

// whose names the time that is spoken of: "38 % of the time of 4 ranks".
func whose(j *job.Job) string {
	ranks := figure.Counted(measure.RanksRan(j), "rank")
	if recorded, ran := measure.RecordedOf(j); recorded < ran {
		ranks = fmt.Sprintf("the %s recorded of %s", figure.Count(recorded), figure.Counted(ran, "rank"))
	}
	return fmt.Sprintf("%s%s of the time of %s", until(policy.CutShort(j)), figure.Percent(1-j.Metrics.ParallelEfficiency), ranks)
}

// until says of a job that did not end by itself that the figures end there.
func until(state string) string {
	switch state {
	case "TIMEOUT":
		return "Up to the time limit, "
	case "DEADLINE":
		return "Up to the deadline, "
	case "CANCELLED":
		return "Until it was cancelled, "
	case "PREEMPTED":
		return "Until it was preempted, "
	case "REQUEUED":
		return "Until it was requeued, "
	case "OUT_OF_MEMORY":
		return "Until memory ran out, "
	case "NODE_FAIL", "BOOT_FAIL":
		return "Until a node failed, "
	case "FAILED":
		return "Until it failed, "
	}
	return ""
}

// wentInto says where the time that was not useful went: into MPI, into files, or
// past the end of ranks that were done before the last.
func wentInto(j *job.Job) string {
	lost, mpi, io := 1-j.Metrics.ParallelEfficiency, measure.MPIShare(j), measure.IOShare(j)
	if math.Abs(lost-mpi) < 0.01 {
		return "went into MPI"
	}
	parts := []string{figure.Percent(mpi) + " in MPI"}
	if io >= 0.005 {
		parts = append(parts, figure.Percent(io)+" in MPI-IO")
	}
	if beside := max(lost-mpi-io, 0); beside >= 0.005 || io < 0.005 {
		parts = append(parts, figure.Percent(beside)+" beside it: ranks that began late or ended early")
	}
	return "was not useful (" + strings.Join(parts, ", ") + ")"
}

func aboveOrBelow(pe float64) string {
	if pe < figure.Line {
		return "below"
	}
	return "above"
}
