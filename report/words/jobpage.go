package words

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/measure"
	"jobeff/report/page"
	pictures "jobeff/report/plot"
)

// JobHTML writes a job as a page of its own, with the study of its workload and the verdicts of
// the rules. Both are nil if they were not asked for.
func JobHTML(w io.Writer, found *listing.JobAndWorkload, study *workload.Study, verdicts []policy.Verdict, links page.Links) error {
	return page.Write(w, "job", jobPage(found, study, verdicts, links))
}

// jobPage shows first what a text's screen has; the rest is folded.
func jobPage(found *listing.JobAndWorkload, study *workload.Study, verdicts []policy.Verdict, links page.Links) *page.Job {
	if found.Step {
		study, verdicts = nil, nil
	}
	of := found.Job
	s := screenOf(of, study, verdicts, ofPage)
	p := &page.Job{ID: cmp.Or(s.id, "by hand"), Verdict: s.headline, Ask: s.ask, Brief: s.facts, Tree: treeLines(s.tree), ToldFirst: slices.Concat(s.verdict, s.told), Pending: page.Parts(s.parts...)}
	if s.facts[0].Label == "Job" { // it is the heading
		p.Name, p.Brief = s.facts[0].Text, s.facts[1:]
	}
	p.Frame = page.NewFrame(block.Joined(" ", "Job", s.id, p.Name)+" – jobeff", links)
	if of.OnlyWaits() {
		return p
	}
	fillRest(p, found, study, verdicts, links)
	return p
}

// fillRest fills in what is folded.
func fillRest(p *page.Job, found *listing.JobAndWorkload, study *workload.Study, verdicts []policy.Verdict, links page.Links) {
	of := found.Job
	j, best := inert.Copy(of, true), policy.Recommend(study, of)
	steps := stepsPart(j)
	p.Timeline, p.Steps, p.Warnings, p.Rules = timeline(j), slices.Concat(steps.Items, steps.Notes), doubt.All(measure.Warnings(j)), told(inertVerdicts(verdicts, true))
	p.Told = slices.DeleteFunc(told(flagged(inertVerdicts(verdicts, true), p.Verdict.Text)), func(t block.Told) bool { return t.Text == "" && t.Link == "" })
	p.Facts = slices.DeleteFunc(block.Facts(jobFacts(j)), func(f block.Fact) bool { return f.Label == "Job" })
	if len(verdicts) > 0 {
		p.Facts = append(p.Facts, block.Facts{confidenceFact(verdicts)}.Inert(true)...)
	}
	p.Facts = append(p.Facts, dataFacts(j)...)
	if study != nil {
		said := p.Verdict.Text
		for _, t := range p.Told {
			said += " " + t.Text
		}
		p.Advice = placeFacts(study, of, best, said).Inert(true)
		p.Options = page.Parts(optionsPart(policy.Options(study, of)))
		p.Curves = curveHTML(study)
	}
	if p.Ask != nil {
		p.Todo = todo(of, study, verdicts, true)[1:]
	}
	if !found.Step {
		p.Beside = besideLinks(found, study, links)
	}
	if j.Metrics != nil {
		fillFigures(p, j)
	}
}

// fillFigures fills in what a job with data has.
func fillFigures(p *page.Job, j *job.Job) {
	if !measure.Singletons(j) {
		p.Shares = sharesOf(j)
	}
	if c := course(j); len(c.Buckets) > 0 {
		p.CourseNote = "Parallel efficiency" + c.Which + "; each bar: " + c.Length + "."
		p.CourseWords = c.Words
		p.CourseMap, p.CourseMapNote = courseMap(j)
		p.Course = pictures.Course{Alt: p.CourseNote, Course: c}.Picture().HTML()
	}
	p.Heat, p.HeatNote = heat(j)
	p.Programs = page.Parts(executionsPart(j), sectionsPart(j))
	p.Balance = page.Parts(nodesPart(j, listed), ranksPart(j))
	p.MPI = page.Parts(waitsOnPage(j), callsPart(j, listed), placesPart(j), sizesPart(j), overlapPart(j))
}

func treeLines(branches []block.Branch) (all []page.TreeLine) {
	for _, b := range branches {
		below := b.Value < figure.Line
		all = append(all, page.TreeLine{Name: b.Name, Depth: b.Depth, Value: figure.Efficiency(b.Value), Below: below,
			Bar: page.Bar{To: b.Value, Bad: below, Line: true}, Meaning: b.Meaning})
	}
	return all
}

func told(all []policy.Verdict) (rules []block.Told) {
	for _, v := range all {
		rules = append(rules, block.Told{Rule: v.Rule, Outcome: v.Outcome.String(), Text: v.Text, Reason: v.Reason,
			Condition: v.Condition, Link: v.Link, Shadow: v.Shadow})
	}
	return rules
}

// timeline shows when the job, its steps and its MPI programs ran, as far as that is known.
func timeline(j *job.Job) *page.Table {
	if j.Start.IsZero() || !j.End.After(j.Start) {
		return nil
	}
	t := &page.Table{Caption: "When it ran", Heads: []page.Head{{Text: "what"}, {Text: "start to end of the job"}, {Text: "time", Number: true}}}
	whole := j.End.Sub(j.Start)
	add := func(what string, from, to time.Time) {
		row := []page.Cell{{Text: what, Head: true}, {}, {Number: true}}
		switch {
		case from.IsZero():
			row[1].Text = "its start is not known"
		case to.IsZero():
			row[1].Text = "began " + figure.Beside(from, j.Start) + "; its end was not seen"
		default:
			row[1].Bar = &page.Bar{From: float64(from.Sub(j.Start)) / float64(whole), To: float64(to.Sub(j.Start)) / float64(whole)}
			row[2].Text = figure.Clock(to.Sub(from)) + " from " + figure.Beside(from, j.Start)
		}
		t.Rows = append(t.Rows, row)
	}
	add("the job", j.Start, j.End)
	for _, s := range j.Steps[:min(listed, len(j.Steps))] {
		if !s.Start.IsZero() {
			add("step "+s.ID, s.Start, s.End)
		}
	}
	for _, i := range measure.Costliest(j.Executions, listed) {
		e := &j.Executions[i]
		what := "program " + measure.Program(e)
		if len(j.Executions) > 1 {
			what = fmt.Sprintf("%d. %s", i+1, what)
		}
		add(what, e.Start, e.End)
	}
	t.Note = block.Joined("; ", more(len(j.Steps)-listed, "step", "later"), more(len(j.Executions)-listed, "execution", "with less core time"))
	return t
}

// heat draws the useful part of the time for each rank of the biggest execution. Where the
// shares of ranks were dropped, it draws that of each node.
func heat(j *job.Job) (picture template.HTML, note string) {
	e, which := measure.Biggest(j)
	if e == nil {
		return "", ""
	}
	m := measure.MetricsOf(e)
	if m == nil || m.Ranks < 2 {
		return "", ""
	}
	h := pictures.Heat{}
	var all []float64
	for _, n := range e.Nodes {
		shares := measure.RankShares(n, m.Elapsed)
		if shares == nil {
			return nodeHeat(e, m, which)
		}
		node := pictures.HeatNode{Name: n.Node, Shares: shares}
		ranks, err := slurmid.RankList(n.RankIDs, len(shares))
		for _, r := range ranks {
			node.Ranks = append(node.Ranks, strconv.Itoa(r))
		}
		if err != nil || len(ranks) < len(shares) {
			node.Ranks = nil
		}
		h.Nodes, all = append(h.Nodes, node), append(all, shares...)
	}
	h.Alt = heatAlt(all, figure.Counted(len(all), "rank")+" on "+figure.Counted(len(h.Nodes), "node")+which)
	return h.Picture().HTML(), h.Alt
}

// nodeHeat draws a cell for each node.
func nodeHeat(e *job.Execution, m *job.Metrics, which string) (template.HTML, string) {
	if len(e.Nodes) < 2 {
		return "", ""
	}
	all := pictures.HeatNode{Name: "nodes"}
	for _, n := range e.Nodes {
		all.Shares = append(all.Shares, measure.Clamp(measure.UsefulPerRank(n)/m.Elapsed))
		all.Ranks = append(all.Ranks, n.Node)
	}
	h := pictures.Heat{Nodes: []pictures.HeatNode{all}, Unit: "mean of"}
	h.Alt = heatAlt(all.Shares, "the means of "+figure.Counted(len(e.Nodes), "node")+which) + " The shares of single ranks are not kept."
	return h.Picture().HTML(), h.Alt
}

// heatAlt says in words what the map shows.
func heatAlt(shares []float64, of string) string {
	return fmt.Sprintf("Useful part of the elapsed time of %s: %s.", of, block.Heat{Shares: shares}.Spread())
}
