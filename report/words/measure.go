package words

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// alone reports whether no rank of the job had another rank to wait for.
func alone(j *job.Job) bool {
	return !slices.ContainsFunc(j.Executions, func(e job.Execution) bool { return e.Size > 1 })
}

// ioShare returns the time in MPI_File_* as a fraction of ranks x elapsed.
func ioShare(j *job.Job) float64 {
	if t := j.RankSeconds(); t > 0 {
		return j.Metrics.IOTime / t
	}
	return 0
}

// mpiShare returns the time in MPI as a fraction of ranks x elapsed.
func mpiShare(j *job.Job) float64 {
	if t := j.RankSeconds(); t > 0 {
		return j.Metrics.MPITime / t
	}
	return 0
}

// ranksRan returns how many ranks ran, recorded or not. For several executions, it is the most that one of them
// had.
func ranksRan(j *job.Job) int {
	n := j.Metrics.Ranks
	if len(j.Executions) == 0 && j.Metrics.Coverage > 0 { // in a list
		return int(math.Round(float64(n) / j.Metrics.Coverage))
	}
	for _, e := range j.Executions {
		n = max(n, e.Size)
	}
	return n
}

// recordedOf returns how many ranks were recorded and how many ran, over all executions.
func recordedOf(j *job.Job) (recorded, ran int) {
	for i := range j.Executions {
		n, of := j.Executions[i].Ranks()
		recorded, ran = recorded+n, ran+of
	}
	return recorded, ran
}

// byHand reports whether the records were made without Slurm.
func byHand(j *job.Job) bool { return j.JobID == 0 }

// programOf returns the file name of an execution's executable.
func programOf(e *job.Execution) string {
	if e.Executable == "" {
		return "-"
	}
	return filepath.Base(e.Executable)
}

// warningsOf returns the warnings of the job and of its executions. Equal ones are merged, and their counts
// added. So are those that differ only in measured times, and these are added.
func warningsOf(j *job.Job) []doubt.Warning {
	all := slices.DeleteFunc(slices.Clone(j.Warnings), func(w doubt.Warning) bool { return w == job.NeverMetWarning && len(j.Executions) > 0 })
	at := map[doubt.Warning]int{}
	kind := func(w doubt.Warning) doubt.Warning {
		if w.Count = 0; w.Args.OfTime > 0 {
			w.Args.Time, w.Args.OfTime = 0, 0
		}
		return w
	}
	for i, w := range all {
		at[kind(w)] = i
	}
	for _, e := range j.Executions {
		for _, w := range e.Warnings {
			i, seen := at[kind(w)]
			if !seen {
				at[kind(w)] = len(all)
				all = append(all, w)
				continue
			}
			all[i].Count += w.Count
			if a := &all[i].Args; w.Args.OfTime > 0 {
				a.Time, a.OfTime = job.AddTime(a.Time, w.Args.Time), job.AddTime(a.OfTime, w.Args.OfTime)
			}
		}
	}
	return all
}

// costliest picks the n executions with the most core time, in the order of the job. Those without figures are
// picked last. Folded ones took less, and are never picked.
func costliest(executions []job.Execution, n int) []int {
	var order []int
	for i := range executions {
		if executions[i].Folded == nil {
			order = append(order, i)
		}
	}
	took := func(i int) float64 {
		if job.ExecutionMetrics(&executions[i]) == nil {
			return 0
		}
		return job.RankSeconds(executions[i : i+1])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(took(b), took(a)) })
	order = order[:min(n, len(order))]
	slices.Sort(order)
	return order
}

// Biggest returns the execution with the most core time, and words that name it among several.
func Biggest(j *job.Job) (*job.Execution, string) {
	first := costliest(j.Executions, 1)
	if len(first) == 0 {
		return nil, ""
	}
	i := first[0]
	if len(j.Executions) == 1 {
		return &j.Executions[0], ""
	}
	return &j.Executions[i], fmt.Sprintf(" of execution %d", i+1)
}

// busiestNodes returns the nodes of an execution, those with the most work per rank first.
func busiestNodes(e *job.Execution) []job.NodeShare {
	return slices.SortedStableFunc(slices.Values(e.Nodes), func(a, b job.NodeShare) int {
		return cmp.Compare(usefulPerRank(b), usefulPerRank(a))
	})
}

// usefulPerRank returns the mean useful time of a node's ranks, in seconds.
func usefulPerRank(n job.NodeShare) float64 {
	return n.Useful.Seconds() / float64(max(n.Ranks, 1))
}

// Calls sums the calls of all executions, the longest first.
func Calls(executions []job.Execution) []job.Call {
	return job.SumCalls(executions, func(e *job.Execution) []job.Call { return e.Calls })
}

// Classes sums the classes of calls of all executions, the longest first.
func Classes(executions []job.Execution) []job.Call {
	return job.SumCalls(executions, func(e *job.Execution) []job.Call { return e.Classes })
}

// rankShares returns the useful shares of a node's ranks in the execution's elapsed time (s); nil: not known.
func rankShares(n job.NodeShare, elapsed float64) []float64 {
	shares, told := n.UsefulTimes()
	if !told || len(shares) == 0 || elapsed <= 0 {
		return nil
	}
	for i := range shares {
		shares[i] = clamp(shares[i] / elapsed)
	}
	return shares
}

// rankShare is the part of the elapsed time in which one rank was useful.
type rankShare struct {
	rank  int
	Share float64
}

// sharesByRank returns the useful shares of an execution's ranks, by rank; nil: they are not kept.
func sharesByRank(e *job.Execution, elapsed float64) []rankShare {
	var all []rankShare
	for _, n := range e.Nodes {
		shares := rankShares(n, elapsed)
		ranks, err := slurmid.RankList(n.RankIDs, len(shares))
		if shares == nil || err != nil || len(ranks) != len(shares) {
			return nil
		}
		for i, r := range ranks {
			all = append(all, rankShare{r, shares[i]})
		}
	}
	slices.SortFunc(all, func(a, b rankShare) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// sizelessShare is the part of the point-to-point messages from which SizesNote mentions persistent requests.
const sizelessShare = 0.1

// SizesNote says that persistent requests are in no size, if their starts are a large part of the
// point-to-point messages; else "". A start of several requests counts as one.
func SizesNote(executions []job.Execution) string {
	var starts, sized uint64
	for i := range executions {
		for _, n := range executions[i].HistP2P {
			sized = job.AddCount(sized, n)
		}
		for _, c := range executions[i].Calls {
			if c.Name == "MPI_Start" || c.Name == "MPI_Startall" {
				starts = job.AddCount(starts, c.Count)
			}
		}
	}
	if starts == 0 || float64(starts) < sizelessShare*(float64(starts)+float64(sized)) {
		return ""
	}
	return "the bytes of persistent requests are not in it, as MPI_Start and MPI_Startall name no size (calls: " + figure.Count(starts) + ")"
}

// clamp bounds a share to 0 and 1.
func clamp(v float64) float64 { return min(max(v, 0), 1) }

// namedSections returns the job's sections that have enough time to be named (METRICS 3), or in which a rank
// ended. light counts the others. own is the ranks' time in all of them, in seconds. It returns no section if
// only MPI_MAIN has enough.
func namedSections(j *job.Job) (named []job.SectionFigures, light int, own float64) {
	all := job.JobSections(j.Executions) // MPI_MAIN is the first
	whole := 0.0
	for _, s := range all {
		own += s.Own
		took := s.ElapsedMean * float64(s.Ranks)
		if whole = max(whole, took); took >= workload.LeastShare*whole || s.Open > 0 {
			named = append(named, s)
		}
	}
	light = len(all) - len(named)
	if len(named) == 1 && named[0].Label == job.MainSection {
		return nil, light, own
	}
	return named, light, own
}
