package report

import (
	"html/template"

	"jobeff/policy/doubt"
	"jobeff/report/block"
	"jobeff/report/words"
)

// jobPage is the data for the template of a job's page, in the order of the page. Its texts are for people, and
// inert already. Fields that are empty or nil are not shown.
type jobPage struct {
	frame
	ID, Name  string
	Verdict   block.Headline
	Ask       *block.Action // what to do, with a line to copy
	Brief     []block.Fact  // who, where and when
	Pending   []part        // further lines of a waiting job
	Tree      []treeLine    // POP's efficiencies
	ToldFirst []block.Fact  // what rules say, core-hours, doubts

	// What follows is folded.
	Todo     []block.Action // further things to do
	Beside   []block.Action // links to other runs of its workload
	Told     []block.Told
	Advice   []block.Fact // what the runs of its workload suggest about its core count
	Options  []part       // core counts to choose from
	Curves   []template.HTML
	Facts    []block.Fact
	Shares   []block.Fact // of the ranks' time
	Warnings []doubt.Doubt

	Timeline      *table
	Steps         []string      // steps that ended badly or were switched off
	Course        template.HTML // efficiency over time
	CourseNote    string
	CourseWords   []string      // the text of what it shows
	CourseMap     template.HTML // ranks or nodes over time
	CourseMapNote string
	Heat          template.HTML // the ranks by node
	HeatNote      string

	Programs []part       // executions and sections
	Balance  []part       // nodes and ranks with the most work, GPUs with the least
	MPI      []part       // calls, and sizes of messages
	Rules    []block.Told // the verdict of every rule
}

// treeLine is a line of POP's tree.
type treeLine struct {
	Name    string
	Depth   int
	Value   string
	Below   bool // below the 0.80 that POP recommends
	Bar     bar
	Meaning string // the question that it answers
}

// arrayPage is likewise the data for an array's page.
type arrayPage struct {
	frame
	ID, Name string
	Verdict  block.Headline
	Todo     []block.Action // the request, and the command that runs failed tasks again
	Facts    []block.Fact
	Parts    []part // how the figures of its tasks are spread, and the worst of them
}

// workloadPage is the data for the template of a workload's page: texts for people, inert already.
type workloadPage struct {
	frame
	Name     string
	Verdict  block.Headline // bad: fewer cores would have been better; good: its newest run is known to have had a good core count
	Facts    []block.Fact
	Curves   []template.HTML // run time and parallel efficiency over cores
	Advice   []block.Fact
	Expected []part       // core counts to choose from, and predictions for others
	Parts    []part       // measurements by cores, bounds of sections, runs that were left out
	Ask      block.Action // the request; without a line, there is none
	Runs     *table
	Warnings []doubt.Doubt
}

// proposalPage is the data for the template of a proposal's page: texts for people, inert already.
type proposalPage struct {
	frame
	words.Proposal
	Pictures           []template.HTML
	Measured, Expected []part
}

// listPage is the data for the template of a list: whose jobs it has, a form that filters it, totals, and a
// table.
type listPage struct {
	frame
	Heading string
	Span    string        // the time that it covers, and its order
	Fields  []block.Field // of the form; none: there is no form
	Fold    bool          // the form is folded: nothing was asked for
	Notes   []string      // above the table: totals, and what is not known
	Table   *table        // nil: Empty says why, or nothing needs to be said
	Empty   string
	Beside  string   // the heading of Second; "": there is none
	Second  *table   // nil: nothing of it
	Lacks   []string // what Second lacks
	Pages   []Link   // the pages of the list before and after this one
}

// statusPage is the data for the template of the page that says how jobeff itself does.
type statusPage struct {
	frame
	Verdict block.Headline
	Parts   []part
	Notes   []string
}

// refusalPage is the data for the template of a page that says why the one asked for is not shown.
type refusalPage struct {
	frame
	Heading, Message, Hint string
}

// wrongPage is the data for the template of the page that asks whether a notice was wrong.
type wrongPage struct {
	frame
	Told string // the notice
	Said string // what its reader said about it; "": nothing yet
	Job  string // the address of the job's page
}

// comparePage is the data for the template of a comparison of two jobs.
type comparePage struct {
	frame
	Before, After cell // the jobs' ids
	Verdict       block.Headline
	Facts         []block.Fact
	Parts         []part // where the difference comes from, what changed, what grew
}
