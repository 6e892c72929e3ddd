package words

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/curve"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// ListPage words the page of a list: whose jobs it has, a form that filters it, totals, and a table.
type ListPage struct {
	Heading string
	Span    string // the time that it covers, and its order
	Fields  []block.Field
	Fold    bool     // the form was not filled in
	Notes   []string // above the table: totals, and what is not known
	Table   ListTable
	Empty   string     // replaces the table; "": nothing
	Beside  string     // the heading of Second; "": there is none
	Second  ListTable  // what is waiting
	Lacks   []string   // what Second lacks
	Query   url.Values // the query of the list
	Turns   []Turn     // to the pages of the list before and after this one
}

// ListTable is a table, with the links of its cells.
type ListTable struct {
	block.Table
	Note   string
	Names  []string       // of columns, to sort by or to identify them; none: it cannot be sorted
	Refs   map[[2]int]Ref // by row and column
	Share  int            // the column that Shares belongs to
	Shares []*float64     // of each row, drawn as bars; nil: not known
}

// Ref is the target of a cell's link: a job, a workload, the tasks of an array, or an address.
type Ref struct{ Job, Workload, Array, Address string }

// Turn leads to another page of a list.
type Turn struct {
	Text   string
	Offset int
}

// refer notes a cell's link.
func (t *ListTable) refer(row, column int, to Ref) {
	if t.Refs == nil {
		t.Refs = map[[2]int]Ref{}
	}
	t.Refs[[2]int{row, column}] = to
}

// asked fills in the query, and the links to the pages around this one, which has n rows.
func (l *ListPage) asked(q listing.JobQuery, n int, more bool) *ListPage {
	if q.Offset > 0 {
		l.Turns = append(l.Turns, Turn{"Page before", max(q.Offset-q.Limit, 0)})
	}
	if more {
		l.Turns = append(l.Turns, Turn{"Next page", q.Offset + n})
	}
	q.Limit = 0
	l.Query, l.Fields = q.Values(), inertFields(l.Fields)
	return l
}

// Refusal says why there is no page.
type Refusal struct{ Heading, Message, Hint string }

// OfRefusal makes a refusal harmless.
func OfRefusal(heading, message, hint string) Refusal {
	return Refusal{heading, inert.Text(message, true), inert.Text(hint, true)}
}

// siteTable makes the table of a list from texts, harmless or not.
func siteTable(caption, heads string, rows [][]string, note string) ListTable {
	t := ListTable{Table: block.Table{Caption: caption, Heads: strings.Split(heads, "|")}, Note: note}
	for _, row := range rows {
		for i := range row {
			row[i] = inert.Text(row[i], true)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// OfWorkloadsPage lists workloads in the given order. others means that they may belong to other users.
func OfWorkloadsPage(q listing.JobQuery, all []listing.WorkloadSummary, more, others bool) *ListPage {
	l := &ListPage{Heading: "Workloads", Span: "Runs that began since " + figure.Minute(q.Start) + ", " + OrderWords(q.Sort) + ".", Fold: q == unasked(q),
		Empty: "No workload ran in this time."}
	if others {
		l.Fields = []block.Field{{Name: "user", Label: "User", Value: q.User, Kind: "text"}}
	}
	l.Fields = append(l.Fields, block.Field{Name: "start", Label: "Since", Value: day(q.Start), Kind: "date"}, sortField(q.Sort, workloadOrders))
	var rows [][]string
	for i := range all {
		s := &all[i]
		cores := figure.Count(s.FewestCores)
		if s.MostCores > s.FewestCores {
			cores += " to " + figure.Count(s.MostCores)
		}
		muted, lost := "-", "-"
		if s.Lost >= 0 {
			lost = figure.Hours(s.Lost)
		}
		if s.Mute != nil {
			muted = "until " + day(s.Mute.Until)
		}
		rows = append(rows, []string{s.Name, s.Newest.User, cmp.Or(strings.TrimPrefix(filepath.Base(s.Newest.Executable), "."), "-"), figure.Count(s.Runs), cores, figure.Hours(s.CoreHours), lost,
			figure.Minute(s.Newest.Start), s.Newest.DisplayID, muted})
	}
	l.Table = siteTable("Workloads", "<Workload|<User|<Program|Runs|Cores|Core-hours|Lost|<Newest run|<Its job|<Mails muted", rows,
		"Core-hours: of all runs in this time; Lost: those of them that are known not to have been useful.")
	for i := range all {
		l.Table.refer(i, 0, Ref{Workload: all[i].Key})
		l.Table.refer(i, 8, Ref{Job: all[i].Newest.DisplayID})
	}
	return l.asked(q, len(all), more)
}

// OfNodes lists when nodes reported last, what they said about their outboxes, and which are slow. Those in trouble come
// first, then slow ones, then those that were silent longest.
func OfNodes(q listing.JobQuery, nodes []listing.Node, look *listing.SlowNodes, now time.Time) *ListPage {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n listing.Node) bool { return !strings.Contains(n.Node, q.Name) })
	lost := func(n *listing.Node) int { return n.Refused + n.Cut + n.Lost }
	slower := func(n *listing.Node) float64 {
		if found := look.Of(n.Node); found != nil {
			return found.Slower
		}
		return 0
	}
	slices.SortStableFunc(nodes, func(a, b listing.Node) int {
		return cmp.Or(cmp.Compare(lost(&b), lost(&a)), cmp.Compare(b.Oldest.Truncate(listing.LateAfter), a.Oldest.Truncate(listing.LateAfter)),
			cmp.Compare(slower(&b), slower(&a)), a.Heard.Compare(b.Heard))
	})
	from := min(q.Offset, len(nodes))
	to := min(from+q.Limit, len(nodes))
	l := &ListPage{Heading: "Nodes", Span: "Nodes that ever reported: those with lost or late reports first, then those that were silent longest.", Fold: q.Name == "",
		Fields: []block.Field{{Name: "name", Label: "Name has", Value: q.Name, Kind: "search"}}, Notes: []string{figure.Counted(len(nodes), "node") + "."},
		Empty: "No node has reported."}
	heads, note := "<Node|<Last report|<Ago|Waiting|<The oldest waits|Refused|Cut|Lost",
		"A node reports when a job ends there. Waiting: reports in its outbox; Refused: set aside for good; Cut, Lost: since its outbox was full; -: it did not say."
	named := look != nil && len(look.Nodes) > 0
	if named {
		heads += "|<Jobs computed"
		note += " Jobs computed: compared with alike jobs elsewhere, as of " + dayText(look.At) + "; -: not found to be longer."
		l.Span = "Nodes that ever reported: those with lost or late reports first, then those found slow, then those that were silent longest."
	}
	var rows [][]string
	for _, n := range nodes[from:to] {
		box := []string{"-", "-", "-", "-", "-"}
		if !n.Said.IsZero() {
			box = []string{figure.Count(n.Waiting), "-", figure.Count(n.Refused), figure.Count(n.Cut), figure.Count(n.Lost)}
			if n.Waiting > 0 {
				box[1] = figure.Age(n.Oldest)
			}
		}
		if named {
			box = append(box, slowCell(look.Of(n.Node)))
		}
		rows = append(rows, append([]string{n.Node, figure.Minute(n.Heard), figure.Age(now.Sub(n.Heard))}, box...))
	}
	l.Table = siteTable("Nodes", heads, rows, note)
	return l.asked(q, to-from, to < len(nodes))
}

// NoticeRow is a line of OfNotices.
type NoticeRow struct {
	listing.Told
	Followed *workload.Followed // what the advice led to; nil: no runs can be compared
}

// OfNotices lists what users were told, and what that led to.
func OfNotices(q listing.JobQuery, all []NoticeRow, more bool) *ListPage {
	l := &ListPage{Heading: "Notices", Span: "What users were told since " + figure.Minute(q.Start) + ", newest first.", Fold: true,
		Fields: []block.Field{{Name: "start", Label: "Since", Value: day(q.Start), Kind: "date"}},
		Empty:  "Nobody was told anything in this time."}
	var rows [][]string
	for i := range all {
		t := &all[i].Told
		advised := "-"
		if t.Advised > 0 {
			advised = figure.Count(t.Advised)
		}
		rows = append(rows, []string{figure.Minute(t.At), t.User, cmp.Or(t.Name, "-"), t.Rule, cmp.Or(t.Job, "-"), figure.Count(t.Jobs), figure.Hours(t.Lost), figure.Count(t.Cores), advised, outcome(&all[i])})
	}
	l.Table = siteTable("Notices", "<Told|<User|<Workload|<Rule|<Worst job|Jobs|Lost|Cores|Advised|<What became of it", rows,
		"Jobs, Lost: what the notice told of, in core-hours. Saved: beside what the runs before the notice, or those since on as many cores, cost for the same useful time; the smaller one. Runs that ran out of memory or time cost what they used, for no useful time.")
	for i := range all {
		l.Table.refer(i, 2, Ref{Workload: all[i].Workload})
		l.Table.refer(i, 4, Ref{Job: all[i].Job})
	}
	return l.asked(q, len(all), more)
}

// outcome says what a notice led to.
func outcome(n *NoticeRow) string {
	var said []string
	switch {
	case n.Muted:
		said = append(said, "not told: muted")
	case n.Shadow:
		said = append(said, "in shadow: not told to them")
	}
	if f := n.Followed; f != nil {
		said = append(said, figure.Counted(f.Count, "run")+" since, most on "+figure.Counted(f.Cores, "core"), SavedText(f.Ever.Least(), f.Level))
	} else if n.Advised > 0 {
		said = append(said, "cannot tell: no runs to compare")
	}
	if !n.Cleared.IsZero() {
		said = append(said, "told that it is better on "+day(n.Cleared))
	}
	if !n.WrongAt.IsZero() {
		said = append(said, "said to be wrong on "+day(n.WrongAt))
	}
	return cmp.Or(strings.Join(said, "; "), "-")
}

// SavedText writes "1,234 core-hours saved (90 %: 1,100 to 1,300)", "583 core-hours more, but not surely (90 %:
// 700 more to 40 saved)".
func SavedText(e curve.Estimate, level float64) string {
	hours := func(v float64) string { return figure.Hours(math.Abs(v)) }
	what, surely, low, high := "saved", "", hours(e.Low), hours(e.High)
	switch {
	case math.Abs(e.Value) < notice.LeastTold:
		return "nothing saved"
	case e.Low < 0 && e.High > 0:
		surely, low, high = ", but not surely", low+" more", high+" saved"
	case e.Value < 0:
		low, high = high, low
	}
	if e.Value < 0 {
		what = "more"
	}
	return fmt.Sprintf("%s core-hours %s%s (%s: %s to %s)", hours(e.Value), what, surely, figure.Percent(level), low, high)
}

// Week is a week that has a digest.
type Week struct {
	Name, Link string
	From, To   time.Time
}

// OfDigests lists links to the digests of weeks. `of` says whose jobs they sum up.
func OfDigests(of string, weeks []Week) *ListPage {
	l := &ListPage{Heading: "Weekly digests", Span: "Each sums up a week " + of + ".", Empty: "No whole week is known yet."}
	var rows [][]string
	for _, week := range weeks {
		rows = append(rows, []string{week.Name, week.From.Format(time.DateOnly), week.To.Add(-time.Second).Format(time.DateOnly)})
	}
	l.Table = siteTable("Weeks", "<Week|<First day|<Last day", rows, "")
	for i := range weeks {
		l.Table.refer(i, 0, Ref{Address: weeks[i].Link})
	}
	return l
}
