package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// Mix is a division of a core count into ranks and threads.
type Mix struct {
	Ranks, Threads int     // threads of each rank
	Runs           int     // runs with it
	T              float64 // s, median
}

// String words a mix: "8 ranks x 4 threads".
func (m Mix) String() string {
	return figure.Counted(m.Ranks, "rank") + " x " + figure.Counted(m.Threads, "thread")
}

// WarnMixes: a core count ran as several mixes.
const WarnMixes = "mixes"

// oneMix keeps the runs of one mix on one core count: that of the run asked about, if that is one of these,
// else the fastest. Other mixes cannot share its curve: 8 x 4 is not 32 x 1.
func oneMix(runs []job.Run, asked *job.Run) (kept, others []job.Run, all []Mix) {
	all = mixesOf(runs)
	ranks := all[0].Ranks
	if asked != nil && asked.Cores() == runs[0].Cores() {
		ranks = asked.Ranks
	}
	for _, r := range runs {
		if r.Ranks == ranks {
			kept = append(kept, r)
		} else {
			others = append(others, r)
		}
	}
	return kept, others, all
}

// MixesOn holds the mixes that ran on a core count, the fastest first.
type MixesOn struct {
	N     int
	Mixes []Mix
}

func sameRun(a, b *job.Run) bool {
	return a.Cluster == b.Cluster && a.JobID == b.JobID && a.Attempt == b.Attempt && a.Execution == b.Execution
}

// mixesOf returns the mixes of runs on one core count, the fastest first.
func mixesOf(runs []job.Run) (all []Mix) {
	byRanks := map[int][]job.Run{}
	for _, r := range runs {
		byRanks[r.Ranks] = append(byRanks[r.Ranks], r)
	}
	for ranks, of := range byRanks {
		all = append(all, Mix{Ranks: ranks, Threads: max(1, of[0].Threads), Runs: len(of), T: MedianOf(of, func(r *job.Run) float64 { return r.Elapsed })})
	}
	slices.SortFunc(all, func(a, b Mix) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Ranks, b.Ranks)) })
	return all
}

// FasterMix says which other mix of ranks and threads was faster on the studied run's cores, by more than weeks
// differ and in at least fewestEach runs; "": none was.
func (s *Study) FasterMix() string {
	for _, on := range s.Mixes {
		if s.Mine == nil || on.N != s.Mine.Cores() {
			continue
		}
		fast := on.Mixes[0]
		for _, mine := range on.Mixes[1:] {
			if mine.Ranks == s.Mine.Ranks && mine.T > (1+mostDrift)*fast.T && fast.Runs >= fewestEach {
				return fmt.Sprintf("%s took %s than %s on as many cores (%s and %s)", fast, figure.Change(fast.T/mine.T-1), mine, figure.Counted(fast.Runs, "run"), figure.Count(mine.Runs))
			}
		}
	}
	return ""
}

// unusual is the factor over the longest other run on its cores from which Unusual reports a run.
const unusual = 1.5

// Unusual says that the studied run took much longer than the others on its cores; "": it did not, or there are
// too few others to know which one is odd.
func (s *Study) Unusual() string {
	if s.Mine == nil {
		return ""
	}
	n := s.Mine.Cores()
	others := slices.DeleteFunc(slices.Clone(s.on(n).runs), func(r job.Run) bool { return sameRun(&r, s.Mine) })
	if len(others) < fewestEach || slices.ContainsFunc(others, func(r job.Run) bool { return s.Mine.Elapsed <= unusual*r.Elapsed }) {
		return ""
	}
	text, word := longerThan(s.Mine.Elapsed/MedianOf(others, func(r *job.Run) float64 { return r.Elapsed }) - 1)
	return fmt.Sprintf("it took %s %s the median of the %s other runs on %s; its ranks computed %s in sum", text, word, figure.Count(len(others)), figure.Counted(n, "core"),
		figure.Change(s.Mine.Useful/MedianOf(others, func(r *job.Run) float64 { return r.Useful })-1))
}

// mixText says which mix was fastest as measured, and how much longer the others took.
func mixText(n int, all []Mix) string {
	var others []string
	for _, m := range all[1:] {
		others = append(others, fmt.Sprintf("%s took %s longer (%s)", m, figure.Percent(m.T/all[0].T-1), figure.Counted(m.Runs, "run")))
	}
	return fmt.Sprintf("on %s, %s were fastest (%s): %s", figure.Counted(n, "core"), all[0], figure.Counted(all[0].Runs, "run"), strings.Join(others, ", "))
}
