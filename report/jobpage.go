package report

import (
	"cmp"
	"fmt"
	"io"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/measure"
	"jobeff/report/page"
)

// JobHTML writes a job as a page of its own. Study is that of its workload and
// verdicts are what the rules say of it, nil where they were not asked.
func JobHTML(w io.Writer, job *job.Job, study *workload.Study, verdicts []policy.Verdict, links page.Links) error {
	return page.Write(w, "job", jobPage(job, study, verdicts, links))
}

func jobPage(job *job.Job, study *workload.Study, verdicts []policy.Verdict, links page.Links) *page.Job {
	j := inert.Copy(job, true)
	p := &page.Job{
		Frame: page.NewFrame(block.Joined(" ", "Job", j.DisplayID, j.Name)+" – jobeff", links), ID: cmp.Or(j.DisplayID, "by hand"), Name: j.Name,
		Verdict:  headline(j, leading(study, job)),
		Timeline: timeline(j), Steps: notableSteps(j), Warnings: measure.Warnings(j), Rules: told(inertVerdicts(verdicts, true)),
	}
	p.Verdict.Text = inert.Text(p.Verdict.Text, true)
	for _, t := range p.Rules {
		if t.Outcome == policy.Flagged.String() && !t.Shadow {
			p.Told = append(p.Told, t)
		}
	}
	p.Facts = jobFacts(j)[1:] // the job itself is the heading
	if len(verdicts) > 0 {
		p.Facts = append(p.Facts, block.Facts(hoursFacts(verdicts[0].Hours, commonDoubts(verdicts))).Inert(true)...)
	}
	p.Facts = append(p.Facts, dataFacts(j)...)
	if study != nil {
		p.Advice = placeFacts(study, job).Inert(true)
		p.Curves = curveHTML(study)
		if links.Workloads != "" {
			p.Workload = links.Workloads + study.Workload.Key
		}
	}
	if j.Metrics != nil {
		fillFigures(p, j)
	}
	return p
}

// figures fills in what a job with data has.
func fillFigures(p *page.Job, j *job.Job) {
	if !measure.Singletons(j) {
		p.Tree = treeLines(branches(j))
		p.Shares = sharesOf(j)
	}
	p.Heat, p.HeatNote = heat(j)
	if len(j.Executions) > 1 {
		p.Executions = page.NewTable("MPI programs of this job", executionsTable(j), more(len(j.Executions)-listed, "execution", "with less core time"))
	}
	fillSections(p, j)
	if e, which := measure.Biggest(j); e != nil {
		nodes := measure.BusiestNodes(e)
		if len(nodes) > 1 {
			p.Nodes = page.NewTable("Nodes with the most work"+which, nodesTable(nodes[:min(listed, len(nodes))]), more(len(nodes)-listed, "node", "with less work"))
			p.Nodes.WithBars(2, func(i int) *page.Bar {
				return &page.Bar{To: measure.UsefulPerRank(nodes[i]) / max(measure.UsefulPerRank(nodes[0]), 1e-9)}
			})
		}
		if j.Metrics.Ranks > 1 {
			p.Ranks = page.NewTable("Ranks with the most work"+which, ranksTable(e), "the others wait for them")
		}
	}
	calls, whole := measure.Calls(j.Executions), measure.CoreTime(j.Metrics, j.Executions)
	p.Calls = page.NewTable("MPI calls that cost most", callsTable(calls[:min(listed, len(calls))], whole),
		block.Joined("; ", "time is summed over ranks, share is of the ranks' time", more(len(calls)-listed, "function", "with less time")))
	p.Calls.WithBars(3, func(i int) *page.Bar { return &page.Bar{To: calls[i].Time.Seconds() / max(whole, 1e-9)} })
	p.Messages = messages(j.Executions)
}

func fillSections(p *page.Job, j *job.Job) {
	all := measure.NamedSections(j)
	if len(all) == 0 {
		return
	}
	note := "elapsed is that of the longest rank; share is of the ranks' time, without the sections within, and MPI what of it is MPI"
	for _, s := range all {
		if s.Open > 0 {
			note = block.Joined("; ", note, fmt.Sprintf("%s was never left by %s", s.Label, figure.Counted(s.Open, "rank")))
		}
	}
	whole := 0.0
	for _, s := range all {
		whole += s.Own
	}
	p.Sections = page.NewTable("Sections of the program", sectionsTable(all), block.Joined("; ", note, more(len(all)-listed, "section", "with less time")))
	p.Sections.WithBars(4, func(i int) *page.Bar { return &page.Bar{To: all[i].Own / max(whole, 1e-9)} })
}

func treeLines(branches []block.Branch) (all []page.TreeLine) {
	for _, b := range branches {
		below := b.Value < figure.Line
		all = append(all, page.TreeLine{Name: b.Name, Depth: b.Depth, Value: figure.Efficiency(b.Value), Below: below,
			Bar: page.Bar{To: b.Value, Bad: below, Line: true}, Meaning: b.Meaning})
	}
	return all
}

func told(all []policy.Verdict) (rules []page.Told) {
	for _, v := range all {
		rules = append(rules, page.Told{Rule: v.Rule, Outcome: v.Outcome.String(), Text: v.Text, Reason: v.Reason,
			Condition: v.Condition, Link: v.Link, Shadow: v.Shadow})
	}
	return rules
}
