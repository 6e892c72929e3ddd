package words

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/page"
	"jobeff/report/text"
)

// JobsPage is what JobsHTML writes.
type JobsPage struct {
	Own       bool // the reader's own jobs; else all that they may see
	Others    bool // … of several users
	Query     listing.JobQuery
	Lines     []listing.Line
	More      bool                      // there are further ones
	All       listing.Selected          // what the query selects
	Workloads []listing.WorkloadSummary // of Lines, in their order; arrays have none
	Rules     []string                  // the site's
	Pending   *slurmid.PendingList      // what waits of what the query selects; nil: it selects none, or that is not known
}

// The columns of a page of jobs. Three of them stand under their left neighbours.
const (
	jobColumns  = "jobid,jobname,user,account,state,partition,start,elapsed,alloccpus,pe,lb,comme,cover,corehours,lost,flags"
	folded      = "jobname account partition"
	sorted      = "start elapsed alloccpus pe lb comme corehours lost"
	leastSorted = "pe lb comme name" // a click on their heads puts the least first
)

const arraysNote = "; an array is one line: what its tasks lost and used in all, and the means of those that were completed; differ: its tasks ran several programs, or differ in a name"

const jobsNote = "PE parallel efficiency = LB load balance × CommE communication efficiency; Cover: ranks recorded / ranks that ran; " +
	"Lost: core-hours in which its cores did no computing for it; Flags: the rules that flag it; -: not known; the job's page says why"

// JobsHTML writes a list of jobs as a page, in the given order.
func JobsHTML(w io.Writer, p *JobsPage, links page.Links) error {
	l := &page.List{Heading: "All jobs that you may see", Fields: jobFields(p), Fold: p.Query == unasked(p.Query), Notes: []string{sumText(figure.Counted(p.All.Sum.Jobs, "job"), p.All.Sum)},
		Empty: "There are no such jobs in this time. A job appears a few seconds after its end.", Pages: pages(p.Query, len(p.Lines), p.More)}
	if p.Own {
		l.Heading = "Your jobs"
	}
	if unjudged := unjudgedText(p.All.Unjudged, p.Query.Rule != ""); unjudged != "" {
		l.Notes, l.Empty = append(l.Notes, unjudged), l.Empty+" "+unjudged
	}
	l.Span = "Jobs that " + spanWords(p.Query) + ", " + OrderWords(p.Query.Sort) + "."
	l.Table = jobsPageTable(p, links)
	if p.Query.State == "PENDING" {
		l.Empty, p.Pending = "", cmp.Or(p.Pending, new(slurmid.PendingList))
	}
	if p.Pending != nil && (len(p.Pending.Jobs) > 0 || p.Query.State == "PENDING") {
		l.Beside, l.Lacks = pendingHeading(p.Pending), pendingNotes(p.Pending, len(p.Pending.Jobs), "")
		l.Second = pendingPageTable(p, links)
	}
	return writeList(w, l, links)
}

// writeList writes the page of a list.
func writeList(w io.Writer, l *page.List, links page.Links) error {
	l.Frame = page.NewFrame(l.Heading+" – jobeff", links)
	l.Wide, l.Policy = true, page.FormPolicy
	if l.Table != nil {
		l.Table.Cards = true
	} else {
		l.Notes = nil
	}
	return page.Write(w, "list", l)
}

// pendingPageTable is a table of what waits, nil for none.
func pendingPageTable(p *JobsPage, links page.Links) *page.Table {
	t := page.NewTable("Jobs that wait", pendingTable(p.Pending.Jobs, p.Others, true, 0), "Slurm's words for why each waits; "+
		"its page says what they mean. Expected: when Slurm planned then to start it.")
	if t == nil {
		return nil
	}
	t.Cards = true
	for i := range p.Pending.Jobs {
		id, _, _ := strings.Cut(p.Pending.Jobs[i].ID, "_[")
		t.Rows[i][0].Link = links.Job(id)
	}
	return t
}

func jobsPageTable(p *JobsPage, links page.Links) *page.Table {
	columns := shown(jobColumns)
	if !p.Others {
		columns = slices.DeleteFunc(columns, func(c Column) bool { return c.Name == "User" })
	}
	lines, note := linesOf(p.Lines), jobsNote
	if slices.ContainsFunc(lines, func(l line) bool { return l.array != nil }) {
		note += arraysNote
	}
	t := page.NewTable("Jobs", linesTable(text.NewPage(text.Options{Unicode: true}), lines, columns), note)
	if t == nil {
		return nil
	}
	for c := len(columns) - 1; c >= 0; c-- {
		name := strings.ToLower(columns[c].Name)
		t.Heads[c].Text = cmp.Or(map[string]string{"jobid": "Job", "alloccpus": "Cores", "corehours": "Core-hours"}[name], t.Heads[c].Text)
		for i := range t.Rows {
			dressCell(&t.Rows[i][c], &columns[c], &lines[i], p.Query, links)
		}
		if slices.Contains(strings.Fields(folded), name) && (p.Others || name != "account") {
			t.Fold(c)
			continue
		}
		if name == "pe" {
			t.Heads[c].Number = false
		}
		if slices.Contains(strings.Fields(sorted), name) {
			sortable(&t.Heads[c], name, p.Query)
		}
	}
	t.Heads = append(t.Heads, page.Head{Text: "Workload"})
	for i, of := range p.Workloads {
		t.Rows[i] = append(t.Rows[i], page.Cell{Text: cmp.Or(inert.Text(of.Name, true), "-"), Link: workloadLink(links, of.Key)})
	}
	return t
}

// dressCell gives a value what a terminal's has not.
func dressCell(cell *page.Cell, c *Column, l *line, q listing.JobQuery, links page.Links) {
	switch c.Name {
	case "JobID":
		cell.Link = links.Job(l.text(c))
	case "State":
		if cell.Text = strings.ReplaceAll(cell.Text, "_", " "); l.array != nil {
			cell.Text = figure.Counted(l.sum.Jobs, "task") + ": " + cell.Text
			cell.Link = queryLink(q, func(q *listing.JobQuery) { q.Jobs, q.Tasks, q.Offset = l.array.ID, true, 0 })
		}
	case "Start":
		if begun, _ := l.number(c); begun != nil {
			cell.Text = figure.Minute(time.Unix(int64(*begun), 0))
		}
	case "PE":
		if pe, _ := l.number(c); pe != nil {
			cell.Bar, cell.Number = &page.Bar{To: *pe, Bad: *pe < figure.Line, Line: true}, false
		}
	}
}

func workloadLink(links page.Links, key string) string {
	if key == "" || links.Workloads == "" {
		return ""
	}
	return links.Workloads + url.PathEscape(key)
}

// sortable makes a column's head a link that sorts by it, or, where the list is sorted by it, the other
// way round.
func sortable(h *page.Head, name string, q listing.JobQuery) {
	by := name
	if slices.Contains(strings.Fields(leastSorted), name) {
		by = "-" + name
	}
	switch q.Sort {
	case name:
		h.Sorted, by = "descending", "-"+name
	case "-" + name:
		h.Sorted, by = "ascending", name
	}
	h.Link = queryLink(q, func(q *listing.JobQuery) { q.Sort, q.Offset = by, 0 })
}

// queryLink leads to the same list with another query.
func queryLink(q listing.JobQuery, change func(*listing.JobQuery)) string {
	change(&q)
	q.Limit = 0
	return "?" + q.Values().Encode()
}

// pages are the links to the pages of a list around this one, which has n rows.
func pages(q listing.JobQuery, n int, more bool) (all []page.Link) {
	if q.Offset > 0 {
		all = append(all, page.Link{Text: "Page before", Address: queryLink(q, func(q *listing.JobQuery) { q.Offset = max(q.Offset-q.Limit, 0) })})
	}
	if more {
		all = append(all, page.Link{Text: "Next page", Address: queryLink(q, func(q *listing.JobQuery) { q.Offset += n })})
	}
	return all
}

// unasked is a query without what a form can ask for.
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

// jobFields are those of the form over a list of jobs.
func jobFields(p *JobsPage) []page.Field {
	q := &p.Query
	fields := []page.Field{
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
		{Name: "tasks", Label: "An array", Choices: []page.Choice{{Text: "is one line"}, {Value: "1", Text: "has a line for each task", Chosen: q.Tasks}}},
		sortField(q.Sort, jobOrders),
	}
	if !p.Others {
		fields = slices.DeleteFunc(fields, func(f page.Field) bool { return f.Name == "user" })
	}
	return inertFields(fields)
}

// chosen are the choices of a field. What was asked for is one of them, whatever it is.
func chosen(value, none string, all ...string) []page.Choice {
	choices := []page.Choice{{Text: none}}
	if value != "" && !slices.Contains(all, value) {
		all = append(slices.Clone(all), value)
	}
	for _, one := range all {
		choices = append(choices, page.Choice{Value: one, Text: one, Chosen: one == value})
	}
	return choices
}

// inertFields spells out control characters that somebody asked for.
func inertFields(fields []page.Field) []page.Field {
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
