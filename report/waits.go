package report

import (
	"fmt"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/measure"
)

// waitBranches are the two parts of communication efficiency; none if they are not determined.
func waitBranches(j *job.Job) []block.Branch {
	w := windowsOf(j)
	if !w.Determined() {
		return nil
	}
	return []block.Branch{
		{Name: "Serialisation efficiency", Depth: 2, Value: w.Serialisation.Value, Meaning: "do ranks wait for each other's work?"},
		{Name: "Transfer efficiency", Depth: 2, Value: w.Transfer.Value, Meaning: "what do messages themselves cost?"},
	}
}

// windowsOf are the job's sampled windows; nil for none, and for ranks that have nobody to wait for.
func windowsOf(j *job.Job) *job.Windows {
	if measure.Alone(j) {
		return nil
	}
	return job.JobWindows(j.Executions)
}

// waitsPart says why ranks wait, and how sure that is. It is empty where no windows were sampled.
func waitsPart(j *job.Job) block.Part {
	w := windowsOf(j)
	if w == nil {
		return block.Part{}
	}
	part := block.Part{Heading: "Why ranks wait in MPI"}
	if !w.Determined() {
		part.Items = []string{"serialisation and transfer efficiency are not determined: " + w.Why}
	} else {
		part.Items = slices.Concat(
			[]string{"serialisation efficiency " + estimated(w.Serialisation) + ": the rest is lost to waiting for each other's work"},
			pathTexts(w),
			[]string{"transfer efficiency " + estimated(w.Transfer) + ": the rest is lost to the transfer of messages"})
	}
	part.Notes = block.Notes(windowsText(w), droppedText(w))
	return part
}

// estimated is an efficiency with its interval.
func estimated(e job.Estimate) string {
	return figure.Estimate(e.Value, e.Low, e.High, figure.Efficiency)
}

// windowsText says what the figures are of.
func windowsText(w *job.Windows) string {
	if w.Logged == 0 {
		return ""
	}
	return fmt.Sprintf("from %s of %s of the run, each from one collective to the next, with %s of their time", figure.Count(w.Matched),
		figure.Counted(w.Logged, "sampled window"), figure.Percent(w.Share))
}

// droppedText says which windows were not replayed, most time first.
func droppedText(w *job.Windows) string {
	var all []string
	for _, d := range w.Drops[:min(len(w.Drops), mostDrops)] {
		all = append(all, fmt.Sprintf("%s (%s)", figure.Count(d.Count), d.Reason))
	}
	if len(all) == 0 {
		return ""
	}
	return "dropped: " + strings.Join(all, ", ")
}

// mostDrops is how many reasons for drops are told.
const mostDrops = 4

// waitsLeast is from which loss on it is told through whom ranks wait.
const waitsLeast = 0.05

// pathTexts say through whom ranks lose time.
func pathTexts(w *job.Windows) []string {
	p := w.Path
	switch {
	case p == nil || 1-w.Serialisation.Value < waitsLeast:
		return nil
	case p.Inside < 0.5:
		return []string{"more than half of that waiting comes from work that varies: now one rank has the most, now another"}
	case len(p.Chain) > 1:
		return []string{fmt.Sprintf("%s of that waiting is in a chain through ranks %s", figure.Percent(p.Inside*p.ChainShare), p.ChainText())}
	}
	return nil
}

// atMost is a share that is an upper bound.
func atMost(share float64) string {
	text := figure.Percent(share)
	if strings.HasPrefix(text, "under") {
		return text
	}
	return "at most " + text
}

// whatIfFacts say how much the windows could gain at most.
func whatIfFacts(j *job.Job) (f block.Facts) {
	w := windowsOf(j)
	switch {
	case w == nil:
		return nil
	case !w.Determined():
		f.Add("What if", "not determined: "+w.Why)
	case w.WhatIf == nil:
		f.Add("What if", "not determined: the replay does not show the run as it was")
	default:
		f.Add("What if", "a network twice as fast would save "+atMost(1-w.WhatIf.FasterNetwork)+" of the time")
		f.Add("", "a network that takes no time would save "+atMost(1-w.WhatIf.FreeNetwork))
		f.Add("", "equal work on all ranks would save "+atMost(1-w.WhatIf.Balanced))
	}
	f.Add("", windowsText(w))
	return f
}
