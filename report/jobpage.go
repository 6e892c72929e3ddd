package report

import (
	"cmp"
	"io"
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/measure"
	"jobeff/report/page"
)

// JobHTML writes a job as a page of its own, with the study of its workload and the verdicts of
// the rules. Both are nil if they were not asked for.
func JobHTML(w io.Writer, job *job.Job, study *workload.Study, verdicts []policy.Verdict, links page.Links) error {
	return page.Write(w, "job", jobPage(job, study, verdicts, links))
}

func jobPage(job *job.Job, study *workload.Study, verdicts []policy.Verdict, links page.Links) *page.Job {
	j, best := inert.Copy(job, true), policy.Recommend(study, job)
	steps := stepsPart(j)
	p := &page.Job{
		Frame: page.NewFrame(block.Joined(" ", "Job", j.DisplayID, j.Name)+" – jobeff", links), ID: cmp.Or(j.DisplayID, "by hand"), Name: j.Name,
		Verdict:  headline(j, best),
		Timeline: timeline(j), Steps: slices.Concat(steps.Items, steps.Notes), Warnings: measure.Warnings(j), Rules: told(inertVerdicts(verdicts, true)),
	}
	p.Verdict.Text = inert.Text(p.Verdict.Text, true)
	for _, t := range p.Rules {
		if t.Outcome == policy.Flagged.String() && !t.Shadow {
			p.Told = append(p.Told, t)
		}
	}
	p.Facts = jobFacts(j)[1:] // the job itself is the heading
	if len(verdicts) > 0 {
		p.Facts = append(p.Facts, block.Facts(hoursFacts(verdicts)).Inert(true)...)
	}
	p.Facts = append(p.Facts, dataFacts(j)...)
	if study != nil {
		p.Advice = placeFacts(study, job, best).Inert(true)
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

// fillFigures fills in what a job with data has.
func fillFigures(p *page.Job, j *job.Job) {
	if !measure.Singletons(j) {
		p.Tree = treeLines(branches(j))
		p.Shares = sharesOf(j)
	}
	p.Heat, p.HeatNote = heat(j)
	p.Programs = page.Parts(executionsPart(j), sectionsPart(j))
	p.Balance = page.Parts(nodesPart(j, listed), ranksPart(j))
	p.MPI = page.Parts(waitsOnPage(j), callsPart(j, listed), sizesPart(j, mostSizes), overlapPart(j))
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
