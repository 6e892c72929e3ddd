package words

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// waitBranches returns the two parts of communication efficiency; none if they are not determined.
func waitBranches(j *job.Job) []block.Branch {
	w := job.JobWindows(j.Executions)
	if !w.Determined() {
		return nil
	}
	return []block.Branch{
		{Name: "Serialisation efficiency", Depth: 2, Value: w.Serialisation.Value, Meaning: "do ranks wait for each other's work?"},
		{Name: "Transfer efficiency", Depth: 2, Value: w.Transfer.Value, Meaning: "what do messages themselves cost?"},
	}
}

// waitsPart says why ranks wait, and how sure that is. It is empty if no windows were sampled, as in most jobs:
// jobeff explain then says why.
func waitsPart(j *job.Job) block.Part {
	w := job.JobWindows(j.Executions)
	if w == nil || w.Logged == 0 {
		return block.Part{}
	}
	part := block.Part{Heading: "Why ranks wait in MPI"}
	if !w.Determined() {
		part.Items = []string{"serialisation and transfer efficiency are not determined: " + w.Why}
	} else {
		part.Items = append([]string{
			"waiting for other ranks' work: serialisation efficiency " + estimated(w.Serialisation),
			"data transfer and MPI itself: transfer efficiency " + estimated(w.Transfer),
		}, pathTexts(w)...)
	}
	part.Notes = block.Notes(linksNote(w, j), windowsText(w, j), droppedText(w), unlikeText(w, j), queueText(j))
	return part
}

// estimated writes an efficiency with its interval.
func estimated(e job.Estimate) string {
	return figure.Estimate(e.Value, e.Low, e.High, figure.Efficiency)
}

// windowsText says which windows the figures come from.
func windowsText(w *job.Windows, j *job.Job) string {
	if w.Logged == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s between collectives were replayed, with %s of their time", figure.Count(w.Matched),
		figure.Counted(w.Logged, "sampled window"), figure.Percent(w.Share))
	if j.Metrics != nil && w.Elapsed > 0 && len(j.Executions) == 1 {
		text += " and " + figure.Percent(min(w.Elapsed.Seconds()/j.Metrics.Elapsed, 1)) + " of the run's"
	}
	return text
}

// unlikeLeast is the difference from which windows are called unlike the run.
const unlikeLeast = 0.01

// unlikeText compares the windows with the whole run.
func unlikeText(w *job.Windows, j *job.Job) string {
	m := j.Metrics
	if m == nil || w.Matched == 0 {
		return ""
	}
	var all []string
	for _, pair := range []struct {
		name        string
		windows, in float64
	}{
		{"load balance", w.LoadBalance, m.MPI.LoadBalance},
		{"communication efficiency", w.Communication, m.MPI.Communication},
	} {
		if math.Abs(pair.windows-pair.in) >= unlikeLeast {
			all = append(all, fmt.Sprintf("%s %s in these windows, %s in the whole run", pair.name,
				figure.Compared(pair.windows, pair.in), figure.Compared(pair.in, pair.windows)))
		}
	}
	return strings.Join(all, "; ")
}

// queueText warns if ranks waited for CPUs: a replay cannot distinguish that from a slow network.
func queueText(j *job.Job) string {
	if load := job.LoadOf(j.Executions); load == nil || !load.Contended() {
		return ""
	}
	return "ranks waited for CPUs: a call that takes longer for it counts as transfer here"
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

// mostDrops bounds how many reasons for drops are named.
const mostDrops = 4

// waitsLeast is the loss from which a text says who waits for whom, and the part of the waits from which it
// names a call.
const waitsLeast = 0.05

// pathTexts say where ranks lose time by waiting for each other's work.
func pathTexts(w *job.Windows) []string {
	p := w.Path
	switch {
	case p == nil || 1-w.Serialisation.Value < waitsLeast:
		return nil
	case p.Varies():
		return []string{"more than half of the waiting for work is for work that varies: another rank has the most each time"}
	case len(p.Chain) < 2:
		return nil
	}
	var calls []string
	for _, c := range p.Calls[:min(len(p.Calls), mostPathCalls)] {
		if c.Share >= waitsLeast {
			calls = append(calls, fmt.Sprintf("%s (%s)", c.Call, figure.Percent(c.Share)))
		}
	}
	texts := []string{fmt.Sprintf("%s of the waiting for work is %s", figure.Percent(p.Inside*p.ChainShare), policy.Waiters(p))}
	if len(calls) > 0 {
		texts = append(texts, "the waits that make the others late are in "+strings.Join(calls, ", "))
	}
	links := linkTexts(p)
	return append(texts, links[:min(len(links), mostPathCalls)]...)
}

// linksPart lists all waits. It is empty if pathTexts says nothing.
func linksPart(w *job.Windows) block.Part {
	if !w.Determined() || len(pathTexts(w)) < 2 {
		return block.Part{}
	}
	return block.Part{Heading: "Waits that make other ranks late", Items: linkTexts(w.Path)}
}

// linkTexts say which call waits where for which other one, if that is surely a part of the waiting.
func linkTexts(p *job.WaitPath) (texts []string) {
	for i := range p.Links {
		l := &p.Links[i]
		if l.Share.Value < waitsLeast || l.Share.Low <= 0 {
			continue
		}
		s := spot{share: l.Share.Value, low: l.Share.Low, high: l.Share.High}
		waits, late := p.CallText(&l.Waits), p.CallText(&l.For)
		if waits == late && len(l.For.Frames) > 0 {
			texts = append(texts, s.text()+" of these waits: "+waits+", until another rank is there, too")
		} else {
			texts = append(texts, s.text()+" of these waits: "+waits+", for another rank's "+late)
		}
	}
	return texts
}

// linksNote says how to get the names of the lines in links.
func linksNote(w *job.Windows, j *job.Job) string {
	if len(pathTexts(w)) < 2 || len(linkTexts(w.Path)) == 0 || w.Path.Looked {
		return ""
	}
	return "`jobeff " + cmp.Or(j.DisplayID, "JOBID") + "` names functions, files and lines of these waits, where the program lies"
}

// mostPathCalls bounds how many calls of the critical path are named.
const mostPathCalls = 3

// waitsOnPage is waitsPart as facts, with possible gains.
func waitsOnPage(j *job.Job) block.Part {
	part := waitsPart(j)
	var f block.Facts
	name := "Waits"
	for _, item := range part.Items {
		f.Add(name, item)
		name = ""
	}
	if job.JobWindows(j.Executions).Determined() {
		f = append(f, whatIfFacts(j)...)
	}
	part.Facts, part.Items = f, nil
	return part
}

// atMost writes a share that is an upper bound.
func atMost(share float64) string {
	text := figure.Percent(share)
	if strings.HasPrefix(text, "under") {
		return text
	}
	return "at most " + text
}

// whatIfExplained is whatIfFacts with their doubts.
func whatIfExplained(j *job.Job) block.Facts {
	f := whatIfFacts(j)
	if job.JobWindows(j.Executions).Determined() {
		f.Add("", queueText(j))
	}
	return f
}

// whatIfFacts say how much time the windows could save at most.
func whatIfFacts(j *job.Job) (f block.Facts) {
	w := job.JobWindows(j.Executions)
	switch {
	case w == nil:
	case !w.Determined():
		f.Add("What if", "not determined: "+w.Why)
	case w.WhatIf == nil:
		f.Add("What if", "not determined: replayed on its own network, the run takes another time")
	default:
		f.Add("What if", "a network twice as fast would save "+atMost(1-w.WhatIf.FasterNetwork)+" of the time")
		f.Add("", "a network that takes no time would save "+atMost(1-w.WhatIf.FreeNetwork))
		f.Add("", "equal work on all ranks at all times would save "+atMost(1-w.WhatIf.Balanced))
	}
	return f
}
