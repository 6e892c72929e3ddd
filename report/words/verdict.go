package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// headline says what the job's figures mean, for a scientist who knows none of POP's words. better is the core
// count that it names, nil for none.
func headline(j *job.Job, better *workload.Recommendation) block.Headline {
	cause := policy.CauseOf(j)
	h := block.Headline{Text: upperFirst(verdictText(j, cause, better)), Bad: j.Hung != nil || belowLine(j)}
	h.Good = j.Metrics != nil && !h.Bad && better == nil && cause.Code == ""
	return h
}

// verdictText begins with how the job ended, if that was not well, and why. Otherwise the figures come first,
// and then the cause of the lost time. CPUs without a rank come before them.
func verdictText(j *job.Job, cause policy.Cause, better *workload.Recommendation) string {
	switch {
	case j.Hung != nil:
		return policy.HungText(j)
	case j.IsRunning() && j.Unconfirmed: // its node may have died, and nobody else would say so
		return fmt.Sprintf("Its last sign is of %s, and Slurm has not said whether it still runs. Up to then, %s", figure.Minute(j.AsOf), lowerFirst(figuresText(j, policy.Cause{}, nil)))
	case j.IsRunning() && j.Metrics == nil:
		return figuresText(j, policy.Cause{}, nil)
	case j.IsRunning():
		return "It runs. Up to " + figure.Minute(j.AsOf) + ", " + lowerFirst(figuresText(j, policy.Cause{}, nil))
	}
	figures := figuresText(j, cause, better)
	if policy.CutShort(j) == "CANCELLED" && cause.Code == policy.CauseEnded {
		figures = join(figures, policy.AsleepText(j))
	}
	switch {
	case endedBadly(cause) || policy.AtLimit(j) != "":
		return join(policy.AtLimit(j), join(cause.String(), figures))
	case cause.Code == policy.CauseWithoutRank:
		return join(cause.String(), figures)
	}
	return join(policy.WithoutRank(j), join(figures, cause.String()))
}

// endedBadly reports whether the cause is how the job ended, or that it stood still.
func endedBadly(c policy.Cause) bool {
	return slices.Contains([]string{policy.CauseEnded, policy.CauseHung, policy.CauseSuspended}, c.Code)
}

// figuresText says in one or two sentences where the time went, with the better core count if one is known.
func figuresText(j *job.Job, cause policy.Cause, better *workload.Recommendation) string {
	m := j.Metrics
	switch {
	case m == nil:
		return "No parallel efficiency: " + noData(j) + "."
	case j.NeverMet():
		return figure.Counted(len(j.Executions), "program") + " of one rank each instead of one program of many ranks: they never talked to " +
			"each other, so there is no parallel efficiency. If they are meant to be one program, see whether srun's --mpi fits the MPI library."
	case m.Hybrid == nil && !job.WithMPI(j.Executions):
		return fmt.Sprintf("1 thread has nobody to wait for: parallel efficiency %s says nothing about more threads.", figure.Efficiency(m.MPI.Parallel))
	case alone(j) && m.Hybrid == nil:
		return fmt.Sprintf("1 rank has nobody to wait for (%s of its time in MPI): %s %s says nothing about more ranks.",
			figure.Percent(mpiShare(j)), peName(j, cause), figure.Efficiency(m.MPI.Parallel))
	}
	where := fmt.Sprintf("%s %s%s.", peName(j, cause), figure.Efficiency(m.Parallel), comparedText(m.Parallel, cause))
	if better != nil {
		where = fmt.Sprintf("%s. %s", betterText(better), upperFirst(where))
	}
	first := whose(j) + " " + wentInto(j)
	if policy.CutShort(j) != "" {
		first = "Until then, " + first
	}
	return first + ": " + where
}

// comparedText compares an efficiency with the one that POP recommends. It says "above" only if nothing else is
// wrong with the job.
func comparedText(pe float64, cause policy.Cause) string {
	switch {
	case endedBadly(cause):
		return ""
	case pe < figure.Line:
		return ", below the 0.80 that POP recommends"
	case figure.Efficiency(pe) == figure.Efficiency(figure.Line):
		return ", not below the 0.80 that POP recommends"
	case cause.Code == "" || cause.Code == policy.CauseIdleRanks:
		return ", above the 0.80 that POP recommends"
	}
	return ""
}

// join joins sentences.
func join(first, second string) string { return strings.TrimSpace(first + " " + second) }

// noData says why there are no figures.
func noData(j *job.Job) string {
	why := cmp.Or(doubt.Text(j.NoData), "no reason was recorded")
	if j.NoData.Code == doubt.WhyNoMPI && j.NoData.Args.Kind == "" && j.CPUs == 1 {
		return "it had one core and used neither MPI nor OpenMP, so there was nobody to wait for"
	}
	if j.NoData.Code == doubt.WhyOff {
		return "this job was not measured, " + why
	}
	return why
}

// peName names the job's main figure: if threads were not measured, it covers only MPI.
func peName(j *job.Job, cause policy.Cause) string {
	name := "parallel efficiency"
	if job.ThreadsUnknown(j.Executions) {
		name = "MPI " + name
	}
	if cause.Code == policy.CauseGPUs {
		name += " of the host side"
	}
	return name
}

// whose says whose time is meant: "38 % of the time of 4 ranks".
func whose(j *job.Job) string {
	ranks := figure.Counted(ranksRan(j), "rank")
	if recorded, ran := recordedOf(j); recorded < ran {
		ranks = fmt.Sprintf("the %s recorded of %s", figure.Count(recorded), figure.Counted(ran, "rank"))
	}
	if h := j.Metrics.Hybrid; h != nil {
		threads := figure.Counted(h.Threads, "thread")
		if job.WithMPI(j.Executions) {
			threads += " of " + ranks
		}
		ranks = threads
	}
	return fmt.Sprintf("%s of the time of %s", figure.Percent(1-j.Metrics.Parallel), ranks)
}

// wentInto says where the time that was not useful went: into MPI, into files, or past the end of ranks that
// ended before the last one.
func wentInto(j *job.Job) string {
	lost, mpi, io, openmp := 1-j.Metrics.Parallel, mpiShare(j), ioShare(j), 0.0
	if h := j.Metrics.Hybrid; h != nil {
		mpi, io, openmp = h.MPITime/h.Span, h.IOTime/h.Span, h.OpenMPTime()/h.Span
	}
	switch {
	case math.Abs(lost-mpi) < 0.01 && openmp < 0.005:
		return "went into MPI"
	case math.Abs(lost-openmp) < 0.01 && mpi < 0.005:
		return "was lost in OpenMP"
	}
	var parts []string
	if openmp >= 0.005 {
		parts = append(parts, figure.Percent(openmp)+" in OpenMP")
	}
	if openmp == 0 || mpi >= 0.005 {
		parts = append(parts, figure.Percent(mpi)+" in MPI")
	}
	if io >= 0.005 {
		parts = append(parts, figure.Percent(io)+" in MPI-IO")
	}
	if beside := max(lost-mpi-io-openmp, 0); beside >= 0.005 || io < 0.005 && openmp < 0.005 {
		parts = append(parts, figure.Percent(beside)+" beside it: ranks that began late or ended early")
	}
	return "was not useful (" + strings.Join(parts, ", ") + ")"
}
