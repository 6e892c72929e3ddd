package report

import (
	"html/template"

	"jobeff/policy/doubt"
	"jobeff/report/block"
)

// jobPage is what the template of a job's page reads, in the order of the page:
// texts for people, inert already. What is empty or nil is not shown.
type jobPage struct {
	frame
	ID, Name  string
	Verdict   block.Headline
	Ask       *block.Action // what to do, with a line to copy
	Brief     []block.Fact  // who, where and when
	Pending   []part        // further lines of a job that waits
	Tree      []treeLine    // POP's efficiencies
	ToldFirst []block.Fact  // what rules say, core-hours, doubts

	// What follows is folded.
	Todo     []block.Action // further things to do
	Beside   []block.Action // links to other runs of its workload
	Told     []block.Told
	Advice   []block.Fact // what the runs of its workload say of its core count
	Options  []part       // core counts to choose from
	Curves   []template.HTML
	Facts    []block.Fact
	Shares   []block.Fact // of the ranks' time
	Warnings []doubt.Doubt

	Timeline      *table
	Steps         []string      // that ended badly or were switched off
	Course        template.HTML // efficiency over time
	CourseNote    string
	CourseWords   []string      // what it shows
	CourseMap     template.HTML // ranks or nodes over time
	CourseMapNote string
	Heat          template.HTML // the ranks by node
	HeatNote      string

	Programs []part       // executions and sections
	Balance  []part       // nodes and ranks with the most work
	MPI      []part       // calls, and sizes of messages
	Rules    []block.Told // what every rule says
}

// treeLine is a line of POP's tree.
type treeLine struct {
	Name    string
	Depth   int
	Value   string
	Below   bool // the 0.80 that POP recommends
	Bar     bar
	Meaning string // the question that it answers
}

// arrayPage is what the template of an array's page reads, likewise.
type arrayPage struct {
	frame
	ID, Name string
	Verdict  block.Headline
	Todo     []block.Action // the request, and what runs failed tasks again
	Facts    []block.Fact
	Parts    []part // how the figures of its tasks are spread, and the worst of them
}

// workloadPage is what the template of a workload's page reads: texts for people,
// inert already.
type workloadPage struct {
	frame
	Name     string
	Verdict  block.Headline // bad: fewer cores would have been better; good: its newest run is known to have had a good core count
	Facts    []block.Fact
	Curves   []template.HTML // run time and parallel efficiency over cores
	Advice   []block.Fact
	Expected []part       // core counts to choose from, and what runs on others may take
	Parts    []part       // measured by cores, bounds of sections, what was left out
	Ask      block.Action // the request; without a line, there is none
	Runs     *table
	Warnings []doubt.Doubt
}

// listPage is what the template of a list reads: what it is of, a form that filters it, totals, and a table.
type listPage struct {
	frame
	Heading string
	Span    string        // of which time, and in what order
	Fields  []block.Field // of the form; none: there is no form
	Fold    bool          // the form is folded: nothing was asked for
	Notes   []string      // above the table: totals, and what is not told
	Table   *table        // nil: Empty says why, or nothing needs to be said
	Empty   string
	Beside  string   // what Second is; "": there is none
	Second  *table   // nil: nothing of it
	Lacks   []string // what Second does not tell
	Pages   []Link   // the pages of the list before and after this one
}

// refusalPage is what the template reads for a page that cannot be had.
type refusalPage struct {
	frame
	Heading, Message, Hint string
}

// wrongPage is what the template reads for the page that asks whether a notice was wrong.
type wrongPage struct {
	frame
	Told string // what was told
	Said string // what was said of it; "": nothing yet
	Job  string // its page
}

// comparePage is what the template of a comparison of two jobs reads.
type comparePage struct {
	frame
	Before, After cell // the jobs' ids
	Verdict       block.Headline
	Facts         []block.Fact
	Parts         []part // where the difference comes from, what changed, what grew
}
