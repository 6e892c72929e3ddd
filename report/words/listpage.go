package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// JobsPage is the data for OfJobs.
type JobsPage struct {
	Own       bool // the reader's own jobs; else all that they may see
	Others    bool // likewise, of several users
	Query     listing.JobQuery
	Lines     []listing.Line
	More      bool                      // there are more jobs
	All       listing.Selected          // what the query selects
	Workloads []listing.WorkloadSummary // of Lines, in their order; arrays have none
	Rules     []string                  // the site's
	Pending   *slurmid.PendingList      // what the query selects of the waiting jobs; nil: nothing, or that is not known
}

// jobColumns are the columns of a page of jobs. pageHeads are the heads that differ from those of a list.
const jobColumns = "jobid,jobname,user,account,state,partition,start,elapsed,alloccpus,pe,lb,comme,cover,corehours,lost"

var pageHeads = map[string]string{"JobID": "<=Job", "CoreHours": "Core-hours"}

const arraysNote = "; an array is one line: what its tasks lost and used in all, and the means of those that were completed; differ: its tasks ran several programs, or differ in a name"

const jobsNote = "PE parallel efficiency = LB load balance × CommE communication efficiency; Cover: ranks recorded / ranks that ran; " +
	"Lost: core-hours in which its cores did no computing for it; Flags: the rules that flag it; -: not known; the job's page says why"

// OfJobs makes the page of a list of jobs, in the given order.
func OfJobs(p *JobsPage) *ListPage {
	l := &ListPage{Heading: "All jobs that you may see", Fields: jobFields(p), Fold: p.Query == unasked(p.Query), Notes: []string{notSummed},
		Empty: "There are no such jobs in this time. A job appears a few seconds after its end."}
	if p.Own {
		l.Heading = "Your jobs"
	}
	if sum := p.All.Sum; sum != nil {
		l.Notes[0] = sumText(figure.Counted(sum.Jobs, "job"), *sum)
	}
	unknown := p.All.Unjudged
	if p.Query.Rule == "" {
		unknown = unjudged(linesOf(p.Lines))
	}
	if text := unjudgedText(unknown, p.Query.Rule != ""); text != "" {
		l.Notes, l.Empty = append(l.Notes, text), l.Empty+" "+text
	}
	l.Span = "Jobs that " + spanWords(p.Query) + ", " + OrderWords(p.Query.Sort) + "."
	l.Table = jobsPageTable(p)
	if p.Query.State == "PENDING" {
		l.Empty, p.Pending = "", cmp.Or(p.Pending, new(slurmid.PendingList))
	}
	if p.Pending != nil && (len(p.Pending.Jobs) > 0 || p.Query.State == "PENDING") {
		l.Beside, l.Lacks = pendingHeading(p.Pending), pendingNotes(p.Pending, len(p.Pending.Jobs), "")
		l.Second = pendingPageTable(p)
	}
	return l.asked(p.Query, len(p.Lines), p.More)
}

// pendingPageTable makes a table of the waiting jobs.
func pendingPageTable(p *JobsPage) ListTable {
	t := ListTable{Table: pendingTable(p.Pending.Jobs, p.Others, true), Note: "Slurm's words for why each waits; " +
		"its page says what they mean. Expected: when Slurm planned then to start it."}
	t.Caption = "Jobs that wait"
	for i := range p.Pending.Jobs {
		id, _, _ := strings.Cut(p.Pending.Jobs[i].ID, "_[")
		t.refer(i, 0, Ref{Job: id})
	}
	return t
}

func jobsPageTable(p *JobsPage) ListTable {
	lines := linesOf(p.Lines)
	columns := shown(jobColumns + gpuColumns(lines) + ",flags")
	if !p.Others {
		columns = slices.DeleteFunc(columns, func(c Column) bool { return c.Name == "User" })
	}
	t := ListTable{Table: linesTable(lines, columns, true), Note: jobsNote, Shares: make([]*float64, len(lines))}
	if t.Caption = "Jobs"; slices.ContainsFunc(lines, func(l line) bool { return l.array != nil }) {
		t.Note += arraysNote
	}
	for _, l := range gpuLegend {
		if slices.Contains(t.Heads, l.Heads[0]) {
			t.Note += "; " + strings.TrimSuffix(l.Text, ".")
		}
	}
	for k := range columns {
		c := &columns[k]
		t.Names, t.Heads[k] = append(t.Names, strings.ToLower(c.Name)), cmp.Or(pageHeads[c.Name], t.Heads[k])
		for i := range lines {
			t.dress(i, k, c, &lines[i])
		}
	}
	t.Names, t.Heads = append(t.Names, "workload"), append(t.Heads, "<Workload")
	for i, of := range p.Workloads {
		t.Rows[i] = append(t.Rows[i], cmp.Or(inert.Text(of.Name, true), "-"))
		t.refer(i, len(columns), Ref{Workload: of.Key})
	}
	return t
}

// dress adds to a cell what only a page shows: links, bars and words of its own.
func (t *ListTable) dress(row, column int, c *Column, l *line) {
	cell := &t.Rows[row][column]
	switch c.Name {
	case "JobID":
		t.refer(row, column, Ref{Job: l.text(c)})
	case "State":
		if *cell = strings.ReplaceAll(*cell, "_", " "); l.array != nil {
			*cell = figure.Counted(l.sum.Jobs, "task") + ": " + *cell
			t.refer(row, column, Ref{Array: l.array.ID})
		}
	case "Start":
		if begun, _ := l.number(c); begun != nil {
			*cell = figure.Minute(time.Unix(int64(*begun), 0))
		}
	case "PE":
		t.Share = column
		t.Shares[row], _ = l.number(c)
	}
}

// unasked returns a query without the fields that a form fills in.
func unasked(q listing.JobQuery) listing.JobQuery {
	return listing.JobQuery{Start: q.Start, Sort: q.Sort, Limit: q.Limit, Offset: q.Offset}
}

func spanWords(q listing.JobQuery) string {
	said := "ended since " + figure.Minute(q.Start) + ", or still run"
	if q.Start.IsZero() {
		said = "are known"
	}
	if !q.End.IsZero() {
		said += ", and began before " + figure.Minute(q.End)
	}
	return said
}

// jobFields returns the fields of the form over a list of jobs.
func jobFields(p *JobsPage) []block.Field {
	q := &p.Query
	fields := []block.Field{
		{Name: "name", Label: "Job name has", Value: q.Name, Kind: "search"},
		{Name: "job", Label: "Job ids", Value: q.Jobs, Kind: "text"},
		{Name: "user", Label: "Users", Value: q.User, Kind: "text"},
		{Name: "account", Label: "Accounts", Value: q.Account, Kind: "text"},
		{Name: "partition", Label: "Partitions", Value: q.Partition, Kind: "text"},
		{Name: "state", Label: "State", Choices: chosen(q.State, "any", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "RUNNING", "PENDING")},
		{Name: "program", Label: "Programs", Value: q.Program, Kind: "text"},
		{Name: "rule", Label: "Flagged by", Choices: chosen(q.Rule, "no matter", p.Rules...)},
		{Name: "start", Label: "Ended since", Value: day(q.Start), Kind: "date"},
		{Name: "end", Label: "Began before", Value: day(q.End), Kind: "date"},
		{Name: "least_cores", Label: "Cores, at least", Value: number(q.LeastCores), Kind: "number"},
		{Name: "most_cores", Label: "Cores, at most", Value: number(q.MostCores), Kind: "number"},
		{Name: "least_elapsed", Label: "Took at least, as 90m or 2h", Value: brief(q.LeastElapsed), Kind: "text"},
		{Name: "most_elapsed", Label: "Took at most, as 90m or 2h", Value: brief(q.MostElapsed), Kind: "text"},
		{Name: "tasks", Label: "An array", Choices: []block.Choice{{Text: "is one line"}, {Value: "1", Text: "has a line for each task", Chosen: q.Tasks}}},
		sortField(q.Sort, jobOrders),
	}
	if !p.Others {
		fields = slices.DeleteFunc(fields, func(f block.Field) bool { return f.Name == "user" })
	}
	return inertFields(fields)
}

// chosen returns the choices of a field. The present value is one of them, whatever it is.
func chosen(value, none string, all ...string) []block.Choice {
	choices := []block.Choice{{Text: none}}
	if value != "" && !slices.Contains(all, value) {
		all = append(slices.Clone(all), value)
	}
	for _, one := range all {
		choices = append(choices, block.Choice{Value: one, Text: one, Chosen: one == value})
	}
	return choices
}

// inertFields makes control characters in a query visible.
func inertFields(fields []block.Field) []block.Field {
	for i := range fields {
		fields[i].Value = inert.Text(fields[i].Value, true)
		for k := range fields[i].Choices {
			c := &fields[i].Choices[k]
			c.Value, c.Text = inert.Text(c.Value, true), inert.Text(c.Text, true)
		}
	}
	return fields
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateOnly)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// brief writes a time as a form's field takes it: "2h", "1h30m0s".
func brief(d time.Duration) string {
	if d == 0 {
		return ""
	}
	if h := d.Truncate(time.Hour); h == d {
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return d.String()
}
