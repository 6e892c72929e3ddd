package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Proposal words how a workload scales for those who decide on an application for computing time.
type Proposal struct {
	Name     string
	Ask      block.Headline
	Measured block.Part
	Curves   []block.Curve // speedup, or time if it scales weakly, and parallel efficiency
	Why      []block.Fact  // of the core count
	Expected block.Part
	Method   []block.Fact
	Warnings []doubt.Doubt
}

// OfProposal words a study and its request. version is jobeff's.
func OfProposal(study *workload.Study, r *policy.Request, version string) Proposal {
	s := inert.Copy(study, true)
	return Proposal{Name: s.Workload.Name, Ask: askHeadline(study, r), Measured: speedupsPart(s), Curves: proposalCurves(study), Why: adviceFacts(s, r),
		Expected: expectedPart(s), Method: methodFacts(s, version), Warnings: slices.Concat(s.Warnings, s.Curve.Warnings)}
}

// askHeadline says which core count to ask for, and what a run takes there. It names one that is better than that of
// the study's own run or, where none is known to be, that one.
func askHeadline(study *workload.Study, r *policy.Request) block.Headline {
	own, text, n := workloadHeadline(study, r, true), "", 0
	switch {
	case r.Best != nil:
		n = int(r.Best.Cores.Value)
		text = fmt.Sprintf("Ask for %s, for %s.", figure.Counted(n, "core"), r.Best.For)
	case own.Good:
		n = study.Mine.Cores()
		text = fmt.Sprintf("Ask for %s. %s", figure.Counted(n, "core"), own.Text)
	default:
		return block.Headline{Text: own.Text}
	}
	if c := study.At(n); c != nil {
		text += fmt.Sprintf(" A run took %s and %s core-hours there.", figure.Seconds(c.T), figure.Hours(c.CoreHours))
	} else if q := study.Curve.At(n); q.T != nil && q.Determined() {
		text += fmt.Sprintf(" A run is expected to take %s and %s core-hours there.", figure.Estimate(q.T.Value, q.T.Low, q.T.High, figure.Seconds),
			figure.Estimate(q.CoreHours.Value, q.CoreHours.Low, q.CoreHours.High, figure.Hours))
	}
	return block.Headline{Text: text, Good: true}
}

// speedupsPart has a line for each core count, as reviewers read it.
func speedupsPart(s *workload.Study) block.Part {
	if len(s.Counts) == 0 {
		return block.Part{}
	}
	level, weak, fewest := figure.Percent(s.Curve.Level), s.Counts[0].Weak != nil, s.Counts[0].N
	t := block.Table{Heads: []string{"cores", "nodes", "runs", "time", "speedup", level, "efficiency", level, "PE", "core-hours"}}
	notes := []string{"time: median, MPI_Init to MPI_Finalize; speedup: time on " + figure.Counted(fewest, "core") + " / time here; efficiency: speedup x " + figure.Count(fewest) + " / cores"}
	if weak {
		t.Heads = slices.Delete(t.Heads, 4, 6)
		notes = []string{"time: median, MPI_Init to MPI_Finalize; efficiency: time on " + figure.Counted(fewest, "core") + " / time here, as the work grows with the cores"}
	}
	seconds := alike(s.Counts, medianTime)
	for i, speedup := range workload.Speedups(s.Points()) {
		c, efficiency := s.Counts[i], &speedup
		row := []string{figure.Count(c.N), nodesText(c.Nodes), figure.Count(c.Runs), seconds(c.T)}
		if !weak {
			row = append(row, figure.Number(speedup.Value), within(speedup, figure.Number))
			efficiency = speedup.Times(float64(fewest) / float64(c.N))
		}
		t.Rows = append(t.Rows, append(row, figure.Ratio(efficiency.Value), within(*efficiency, figure.Ratio), figure.Efficiency(c.PE), figure.Hours(c.CoreHours)))
	}
	return block.Part{Heading: "Measured, by cores", Tables: []block.Table{t}, Notes: append(notes,
		level+": the interval of the figure before it; PE: parallel efficiency of POP, the part of the cores' time in which they computed; core-hours: cores x time")}
}

// within writes an estimate's interval; "-": it has none, as others are compared with it.
func within(e curve.Estimate, write func(float64) string) string {
	if e.Low == e.High {
		return "-"
	}
	return figure.Interval(e.Low, e.High, write)
}

// proposalCurves returns the pictures: the speedup, or the time where the work grows, and the parallel efficiency.
func proposalCurves(study *workload.Study) []block.Curve {
	all := curvesOf(study)
	if len(all) == 0 || study.Counts[0].Weak != nil {
		return all
	}
	s := inert.Copy(study, true)
	all[0].Alt, all[0].Speedup = curveAlt("Speedup", s), true
	for i := range all[0].Runs {
		all[0].Runs[i].Y = s.Counts[0].T / all[0].Runs[i].Y
	}
	for i, f := range all[0].Fitted {
		e := s.Curve.At(int(f.N)).Speedup
		all[0].Fitted[i] = block.Fitted{N: f.N, Y: e.Value, Low: e.Low, High: e.High}
	}
	return all
}

// methodFacts say what was measured, where, when and by what.
func methodFacts(s *workload.Study, version string) []block.Fact {
	var f block.Facts
	each := func(of func(*job.Run) string) string {
		var all []string
		for i := range s.Runs {
			if text := of(&s.Runs[i]); text != "" && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		return cmp.Or(strings.Join(all, "; "), "not known")
	}
	f.Add("Program", each(func(r *job.Run) string { return block.Joined(", ", r.Executable, of("build", r.BuildID)) }))
	f.Add("MPI", each(func(r *job.Run) string { return r.MPI }))
	f.Add("Machine", each(workload.MachineText))
	if newest := newestRun(s); newest != nil {
		first := slices.MinFunc(s.Runs, func(a, b job.Run) int { return a.Start.Compare(b.Start) })
		f.Add("Runs", fmt.Sprintf("%s, from %s to %s", runsText(s), figure.Minute(first.Start), figure.Minute(newest.Start)))
	}
	f.Add("Scaling", string(s.Scaling)+": "+s.Why)
	if s.Curve.Refused == "" {
		f.Add("Curve", modelText(s.Curve)+", by Hoefinger and Haunschmid, J. Supercomput. 73 (2017) 4390")
	}
	f.Add("Measured by", "jobeff "+version+", on the unchanged program, as calls of MPI and OpenMP began and ended")
	return f
}
