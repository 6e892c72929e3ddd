package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// JobPage is what the template of a job's page reads, in the order of the page:
// texts for people, inert already. What is empty or nil is not shown.
type JobPage struct {
	Frame
	ID, Name string
	Verdict  string
	Bad      bool // the verdict is bad news; the words say so too
	Good     bool // it is good news
	Told     []Told
	Advice   []Fact // what the runs of its workload say of its core count
	Curves   []template.HTML
	Workload string // address of its workload's page; ""

	Facts    []Fact
	Tree     []Branch // POP's efficiencies
	Shares   []Fact   // of the ranks' time
	Timeline *HTMLTable
	Heat     template.HTML // the ranks by node
	HeatNote string

	// Executions, Sections, Nodes, Ranks and Calls are what the terminal shows, too.
	Executions, Sections, Nodes, Ranks, Calls *HTMLTable
	Messages                                  *HTMLTable // how large they were

	Steps    []string // that ended badly or were switched off
	Warnings []job.Warning
	Rules    []Told // what every rule said
}

// Told is what a rule says.
type Told struct {
	Rule, Outcome, Text, Reason, Condition, Link string
	Shadow                                       bool
}

// Fact is a text with its label; More are further lines.
type Fact struct {
	Label, Text string
	More        []string
}

// Branch is a line of POP's tree.
type Branch struct {
	Name    string
	Depth   int
	Value   string
	Below   bool // POP's line
	Bar     Bar
	Meaning string
}

// JobHTML writes a job as a page of its own. Study is that of its workload and
// verdicts are what the rules say of it, nil where they were not asked.
func JobHTML(w io.Writer, job *job.Job, study *workload.Study, verdicts []policy.Verdict, links Links) error {
	return writePage(w, "job", jobPage(job, study, verdicts, links))
}

func jobPage(job *job.Job, study *workload.Study, verdicts []policy.Verdict, links Links) *JobPage {
	j := Inert(job, true)
	p := &JobPage{
		Frame: frame(joined(" ", "Job", j.DisplayID, j.Name)+" – jobeff", links), ID: cmp.Or(j.DisplayID, "by hand"), Name: j.Name,
		Verdict: InertText(verdictText(j, leading(study, job)), true), Bad: j.Metrics != nil && j.Metrics.ParallelEfficiency < figure.Line,
		Timeline: timeline(j), Steps: notableSteps(j), Warnings: allWarnings(j), Rules: told(inertVerdicts(verdicts, true)),
	}
	p.Good = j.Metrics != nil && !p.Bad && leading(study, job) == nil
	for _, t := range p.Rules {
		if t.Outcome == policy.Flagged.String() && !t.Shadow {
			p.Told = append(p.Told, t)
		}
	}
	p.Facts = recorded(func(p *page) {
		p.facts(j)
		if len(verdicts) > 0 {
			p.field("Core-hours", hoursText(verdicts[0].Hours))
			p.field("Confidence", p.inert(confidenceText(commonDoubts(verdicts))))
		}
		p.completeness(j)
	})[0].Facts[1:] // the job itself is the heading
	if study != nil {
		p.Advice = recorded(func(p *page) { p.workloadOf(study, job) })[0].Facts
		p.Curves = curveHTML(study)
		if links.Workloads != "" {
			p.Workload = links.Workloads + study.Workload.Key
		}
	}
	if j.Metrics != nil {
		p.figures(j)
	}
	return p
}

// figures fills in what a job with data has.
func (p *JobPage) figures(j *job.Job) {
	if !singletons(j) {
		p.Tree = branches(j)
		p.Shares = sharesOf(j)
	}
	p.Heat, p.HeatNote = heat(j)
	if len(j.Executions) > 1 {
		p.Executions = htmlTable("MPI programs of this job", executionsTable(j), more(len(j.Executions)-listed, "execution", "with less core time"))
	}
	p.sections(j)
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

func (p *JobPage) sections(j *job.Job) {
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

// more says what a table left out.
func more(n int, noun, which string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("and %s %s; jobeff --json has them all", figure.Counted(n, noun), which)
}

// branches is POP's tree with what each efficiency asks.
func branches(j *job.Job) []Branch {
	m, mpi := j.Metrics, ""
	if job.Threaded(j.Executions) {
		mpi = "MPI "
	}
	branch := func(depth int, name string, v float64, meaning string) Branch {
		return Branch{Name: capital(name), Depth: depth, Value: figure.Efficiency(v), Below: v < figure.Line,
			Bar: Bar{To: v, Bad: v < figure.Line, Line: true}, Meaning: meaning}
	}
	return []Branch{
		branch(0, mpi+"parallel efficiency", m.ParallelEfficiency, "the part of the ranks' time that was useful computing"),
		branch(1, mpi+"load balance", m.LoadBalance, "do all ranks have the same amount of work?"),
		branch(2, "inside the nodes", m.LoadBalanceIn, "… those of one node?"),
		branch(2, "between nodes", m.LoadBalanceOut, "… one node and the next?"),
		branch(1, mpi+"communication efficiency", m.CommunicationEfficiency, "how much of its time the busiest rank computes"),
	}
}

func sharesOf(j *job.Job) []Fact {
	facts := []Fact{{Label: "MPI share of the ranks' time", Text: figure.Percent(mpiShare(j))}}
	if io := ioShare(j); io >= 0.005 {
		facts = append(facts, Fact{Label: "MPI-IO share (not useful)", Text: figure.Percent(io)})
	}
	if s := countersText(job.UsefulCounters(j.Executions)); s != "" {
		facts = append(facts, Fact{Label: "Useful instructions per cycle", Text: s})
	}
	return facts
}

func told(all []policy.Verdict) (rules []Told) {
	for _, v := range all {
		rules = append(rules, Told{Rule: v.Rule, Outcome: v.Outcome.String(), Text: v.Text, Reason: v.Reason,
			Condition: v.Condition, Link: v.Link, Shadow: v.Shadow})
	}
	return rules
}
