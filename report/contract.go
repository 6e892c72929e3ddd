package report

import (
	"html/template"

	"jobeff/ingest/job"
)

// JobPage is what the template of a job's page reads, in the order of the page:
// texts for people, inert already. What is empty or nil is not shown.
type JobPage struct {
	Frame
	ID, Name string
	Verdict  Headline
	Told     []Told
	Advice   []Fact // what the runs of its workload say of its core count
	Curves   []template.HTML
	Workload string // address of its workload's page; ""

	Facts    []Fact
	Tree     []TreeLine // POP's efficiencies
	Shares   []Fact     // of the ranks' time
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

// TreeLine is a line of POP's tree.
type TreeLine struct {
	Name    string
	Depth   int
	Value   string
	Below   bool // POP's line
	Bar     Bar
	Meaning string
}

// WorkloadPage is what the template of a workload's page reads: texts for people,
// inert already.
type WorkloadPage struct {
	Frame
	Name     string
	Verdict  Headline // bad: fewer cores would have been better; good: its newest run is known to have had a good core count
	Facts    []Fact
	Curves   []template.HTML // run time and parallel efficiency over cores
	Advice   []Fact
	Expected []HTMLPart // of runs on other core counts
	Parts    []HTMLPart // measured by cores, bounds of sections, what was left out
	Plan     string     // the command of the run that would teach most; ""
	Runs     *HTMLTable
	Warnings []job.Warning
}

// JobsPage is what the template of a list of jobs reads.
type JobsPage struct {
	Frame
	Heading, Empty string
	Jobs           *HTMLTable
}
