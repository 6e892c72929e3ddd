package words

import (
	"cmp"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy/curve"
	"jobeff/policy/facts"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/page"
)

// RefusalHTML writes why there is no page.
func RefusalHTML(w io.Writer, heading, message, hint string, links page.Links) error {
	return page.Write(w, "refusal", &page.Refusal{Frame: page.NewFrame(heading+" – jobeff", links), Heading: heading,
		Message: inert.Text(message, true), Hint: inert.Text(hint, true)})
}

// siteTable makes the table of a list out of texts, harmless or not.
func siteTable(caption, heads string, rows [][]string, note string) *page.Table {
	t := block.Table{Heads: strings.Split(heads, "|")}
	for _, row := range rows {
		for i := range row {
			row[i] = inert.Text(row[i], true)
		}
		t.Rows = append(t.Rows, row)
	}
	return page.NewTable(caption, t, note)
}

// WorkloadsHTML writes workloads as a page, in the given order. others: they may be other users', too.
func WorkloadsHTML(w io.Writer, q listing.JobQuery, all []listing.WorkloadSummary, more, others bool, links page.Links) error {
	l := &page.List{Heading: "Workloads", Span: "Runs that began since " + figure.Minute(q.Start) + ", " + OrderWords(q.Sort) + ".", Fold: q == unasked(q),
		Empty: "No workload ran in this time.", Pages: pages(q, len(all), more)}
	if others {
		l.Fields = []page.Field{{Name: "user", Label: "User", Value: q.User, Kind: "text"}}
	}
	l.Fields = inertFields(append(l.Fields, page.Field{Name: "start", Label: "Since", Value: day(q.Start), Kind: "date"}, sortField(q.Sort, workloadOrders)))
	var rows [][]string
	for i := range all {
		s := &all[i]
		cores := figure.Count(s.FewestCores)
		if s.MostCores > s.FewestCores {
			cores += " to " + figure.Count(s.MostCores)
		}
		muted := "-"
		if s.Mute != nil {
			muted = "until " + day(s.Mute.Until)
		}
		rows = append(rows, []string{s.Name, s.Newest.User, cmp.Or(strings.TrimPrefix(filepath.Base(s.Newest.Executable), "."), "-"), figure.Count(s.Runs), cores, figure.Hours(s.CoreHours), figure.Hours(s.Lost),
			figure.Minute(s.Newest.Start), s.Newest.DisplayID, muted})
	}
	l.Table = siteTable("Workloads", "<Workload|<User|<Program|Runs|Cores|Core-hours|Lost|<Newest run|<Its job|<Mails muted", rows,
		"Core-hours: of all runs in this time; Lost: those of them that are known not to have been useful.")
	for i := range all {
		l.Table.Rows[i][0].Link = workloadLink(links, all[i].Key)
		l.Table.Rows[i][8].Link = links.Job(all[i].Newest.DisplayID)
	}
	return writeList(w, l, links)
}

// NodesHTML writes when nodes reported last, and what they said of their outboxes, as a page: those in
// trouble first, then those that were silent longest.
func NodesHTML(w io.Writer, q listing.JobQuery, nodes []facts.Node, now time.Time, links page.Links) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n facts.Node) bool { return !strings.Contains(n.Node, q.Name) })
	lost := func(n *facts.Node) int { return n.Refused + n.Cut + n.Lost }
	slices.SortStableFunc(nodes, func(a, b facts.Node) int {
		return cmp.Or(cmp.Compare(lost(&b), lost(&a)), cmp.Compare(b.Oldest.Truncate(facts.LateAfter), a.Oldest.Truncate(facts.LateAfter)), a.Heard.Compare(b.Heard))
	})
	from := min(q.Offset, len(nodes))
	to := min(from+q.Limit, len(nodes))
	l := &page.List{Heading: "Nodes", Span: "Nodes that ever reported: those with lost or late reports first, then those that were silent longest.", Fold: q.Name == "",
		Fields: inertFields([]page.Field{{Name: "name", Label: "Name has", Value: q.Name, Kind: "search"}}), Notes: []string{figure.Counted(len(nodes), "node") + "."},
		Empty: "No node has reported.", Pages: pages(q, to-from, to < len(nodes))}
	var rows [][]string
	for _, n := range nodes[from:to] {
		box := []string{"-", "-", "-", "-", "-"}
		if !n.Said.IsZero() {
			box = []string{figure.Count(n.Waiting), "-", figure.Count(n.Refused), figure.Count(n.Cut), figure.Count(n.Lost)}
			if n.Waiting > 0 {
				box[1] = figure.Age(n.Oldest)
			}
		}
		rows = append(rows, append([]string{n.Node, figure.Minute(n.Heard), figure.Age(now.Sub(n.Heard))}, box...))
	}
	l.Table = siteTable("Nodes", "<Node|<Last report|<Ago|Waiting|<The oldest waits|Refused|Cut|Lost", rows,
		"A node reports when a job ends there. Waiting: reports in its outbox; Refused: set aside for good; Cut, Lost: since its outbox was full; -: it did not say.")
	return writeList(w, l, links)
}

// NoticeRow is a line of NoticesHTML.
type NoticeRow struct {
	facts.Told
	Followed *workload.Followed // what became of the advice; nil: nothing that can be compared
}

// NoticesHTML writes what users were told, and what became of it, as a page.
func NoticesHTML(w io.Writer, q listing.JobQuery, all []NoticeRow, more bool, links page.Links) error {
	l := &page.List{Heading: "Notices", Span: "What users were told since " + figure.Minute(q.Start) + ", newest first.", Fold: true,
		Fields: []page.Field{{Name: "start", Label: "Since", Value: day(q.Start), Kind: "date"}},
		Empty:  "Nobody was told anything in this time.", Pages: pages(q, len(all), more)}
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
		"Jobs, Lost: what the notice told of, in core-hours. Saved: beside what the runs before the notice, or those since on as many cores, cost for the same useful time; the smaller one.")
	for i := range all {
		l.Table.Rows[i][2].Link = workloadLink(links, all[i].Workload)
		l.Table.Rows[i][4].Link = links.Job(all[i].Job)
	}
	return writeList(w, l, links)
}

// outcome says what became of a notice.
func outcome(n *NoticeRow) string {
	var said []string
	switch {
	case n.Muted:
		said = append(said, "not told: muted")
	case n.Shadow:
		said = append(said, "in shadow: not told to them")
	}
	if f := n.Followed; f != nil {
		said = append(said, figure.Counted(f.Count, "run")+" since, most on "+figure.Counted(f.Cores, "core"), savedText(f.Ever.Least()))
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

// savedText says what runs saved, and whether that is sure.
func savedText(e curve.Estimate) string {
	said := "saved " + figure.Hours(e.Value) + " core-hours"
	switch {
	case math.Abs(e.Value) < notice.LeastTold:
		return "nothing saved"
	case e.Value < 0:
		said = "took " + figure.Hours(-e.Value) + " core-hours more"
	}
	if e.Low < 0 && e.High > 0 {
		said += ", but not surely"
	}
	return said + " (saved " + figure.Interval(e.Low, e.High, figure.Hours) + ")"
}

// Week is one that has a digest.
type Week struct {
	Name, Link string
	From, To   time.Time
}

// DigestsHTML writes links to the digests of weeks as a page. of says of what they are.
func DigestsHTML(w io.Writer, of string, weeks []Week, links page.Links) error {
	l := &page.List{Heading: "Weekly digests", Span: "Each sums up a week " + of + ".", Empty: "No whole week is known yet."}
	var rows [][]string
	for _, week := range weeks {
		rows = append(rows, []string{week.Name, week.From.Format(time.DateOnly), week.To.Add(-time.Second).Format(time.DateOnly)})
	}
	l.Table = siteTable("Weeks", "<Week|<First day|<Last day", rows, "")
	for i := range weeks {
		l.Table.Rows[i][0].Link = weeks[i].Link
	}
	return writeList(w, l, links)
}
