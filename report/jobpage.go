package report

import (
	"cmp"
	"fmt"
	"io"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// JobHTML writes a job as a page of its own. Study is that of its workload and
// verdicts are what the rules say of it, nil where they were not asked.
func JobHTML(w io.Writer, job *job.Job, study *workload.Study, verdicts []policy.Verdict, links Links) error {
	return writePage(w, "job", jobPage(job, study, verdicts, links))
}

func jobPage(job *job.Job, study *workload.Study, verdicts []policy.Verdict, links Links) *JobPage {
	j := Inert(job, true)
	p := &JobPage{
		Frame: frame(joined(" ", "Job", j.DisplayID, j.Name)+" – jobeff", links), ID: cmp.Or(j.DisplayID, "by hand"), Name: j.Name,
		Verdict:  headline(j, leading(study, job)),
		Timeline: timeline(j), Steps: notableSteps(j), Warnings: allWarnings(j), Rules: told(inertVerdicts(verdicts, true)),
	}
	p.Verdict.Text = InertText(p.Verdict.Text, true)
	for _, t := range p.Rules {
		if t.Outcome == policy.Flagged.String() && !t.Shadow {
			p.Told = append(p.Told, t)
		}
	}
	p.Facts = jobFacts(j)[1:] // the job itself is the heading
	if len(verdicts) > 0 {
		p.Facts = append(p.Facts, facts(hoursFacts(verdicts[0].Hours, commonDoubts(verdicts))).inert(true)...)
	}
	p.Facts = append(p.Facts, dataFacts(j)...)
	if study != nil {
		p.Advice = placeFacts(study, job).inert(true)
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
func fillFigures(p *JobPage, j *job.Job) {
	if !singletons(j) {
		p.Tree = treeLines(branches(j))
		p.Shares = sharesOf(j)
	}
	p.Heat, p.HeatNote = heat(j)
	if len(j.Executions) > 1 {
		p.Executions = htmlTable("MPI programs of this job", executionsTable(j), more(len(j.Executions)-listed, "execution", "with less core time"))
	}
	fillSections(p, j)
	if e, which := biggest(j); e != nil {
		nodes := busiestNodes(e)
		if len(nodes) > 1 {
			p.Nodes = htmlTable("Nodes with the most work"+which, nodesTable(nodes[:min(listed, len(nodes))]), more(len(nodes)-listed, "node", "with less work"))
			p.Nodes.withBars(2, func(i int) *Bar {
				return &Bar{To: usefulPerRank(nodes[i]) / max(usefulPerRank(nodes[0]), 1e-9)}
			})
		}
		if j.Metrics.Ranks > 1 {
			p.Ranks = htmlTable("Ranks with the most work"+which, ranksTable(e), "the others wait for them")
		}
	}
	calls, whole := jobCalls(j.Executions), coreTime(j.Metrics, j.Executions)
	p.Calls = htmlTable("MPI calls that cost most", callsTable(calls[:min(listed, len(calls))], whole),
		joined("; ", "time is summed over ranks, share is of the ranks' time", more(len(calls)-listed, "function", "with less time")))
	p.Calls.withBars(3, func(i int) *Bar { return &Bar{To: calls[i].Time.Seconds() / max(whole, 1e-9)} })
	p.Messages = messages(j.Executions)
}

func fillSections(p *JobPage, j *job.Job) {
	all := namedSections(j)
	if len(all) == 0 {
		return
	}
	note := "elapsed is that of the longest rank; share is of the ranks' time, without the sections within, and MPI what of it is MPI"
	for _, s := range all {
		if s.Open > 0 {
			note = joined("; ", note, fmt.Sprintf("%s was never left by %s", s.Label, figure.Counted(s.Open, "rank")))
		}
	}
	whole := 0.0
	for _, s := range all {
		whole += s.Own
	}
	p.Sections = htmlTable("Sections of the program", sectionsTable(all), joined("; ", note, more(len(all)-listed, "section", "with less time")))
	p.Sections.withBars(4, func(i int) *Bar { return &Bar{To: all[i].Own / max(whole, 1e-9)} })
}

func treeLines(branches []Branch) (all []TreeLine) {
	for _, b := range branches {
		below := b.Value < figure.Line
		all = append(all, TreeLine{Name: b.Name, Depth: b.Depth, Value: figure.Efficiency(b.Value), Below: below,
			Bar: Bar{To: b.Value, Bad: below, Line: true}, Meaning: b.Meaning})
	}
	return all
}

func told(all []policy.Verdict) (rules []Told) {
	for _, v := range all {
		rules = append(rules, Told{Rule: v.Rule, Outcome: v.Outcome.String(), Text: v.Text, Reason: v.Reason,
			Condition: v.Condition, Link: v.Link, Shadow: v.Shadow})
	}
	return rules
}
