package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"jobeff/report/words"
)

// Columns of a page of jobs. Three of them are below their left neighbours.
const (
	folded      = "jobname account partition"
	sortable    = "name jobs start elapsed alloccpus pe lb comme corehours lost"
	leastSorted = "pe lb comme name" // a click on their heads sorts the least first
)

// PageOfList writes the page of a list.
func PageOfList(w io.Writer, of *words.ListPage, links Links) error {
	l := listPage{frame: newFrame(of.Heading+" – jobeff", links), Heading: of.Heading, Span: of.Span, Fields: of.Fields, Fold: of.Fold,
		Table: listTable(&of.Table, of.Query, links), Empty: of.Empty, Beside: of.Beside, Second: listTable(&of.Second, of.Query, links), Lacks: of.Lacks}
	l.Wide = true
	if l.Table != nil {
		l.Notes = of.Notes
	}
	for _, turn := range of.Turns {
		l.Pages = append(l.Pages, Link{Text: turn.Text, Address: listAddress(of.Query, "offset", strings.TrimPrefix(fmt.Sprint(turn.Offset), "0"))})
	}
	return writePage(w, "list", l)
}

// PageOfRefusal writes why there is no page.
func PageOfRefusal(w io.Writer, of words.Refusal, links Links) error {
	return writePage(w, "refusal", &refusalPage{frame: newFrame(of.Heading+" – jobeff", links), Heading: of.Heading, Message: of.Message, Hint: of.Hint})
}

// listAddress returns the address of a list with a changed query. In changes, each name is followed by its
// value; "" removes it.
func listAddress(of url.Values, changes ...string) string {
	q := maps.Clone(of)
	for change := range slices.Chunk(changes, 2) {
		if q.Set(change[0], change[1]); change[1] == "" {
			q.Del(change[0])
		}
	}
	return "?" + q.Encode()
}

// listTable makes a table with its links and bars; nil for none.
func listTable(of *words.ListTable, q url.Values, links Links) *table {
	t := newTable(of.Caption, of.Table, of.Note)
	if t == nil {
		return nil
	}
	t.Cards = true
	for at, ref := range of.Refs {
		cell := &t.Rows[at[0]][at[1]]
		switch {
		case ref.Array != "":
			cell.Link = listAddress(q, "job", ref.Array, "tasks", "1", "offset", "")
		case ref.Workload != "" && links.Workloads != "":
			cell.Link = links.Workloads + url.PathEscape(ref.Workload)
		default:
			cell.Link = cmp.Or(ref.Address, links.Job(ref.Job))
		}
	}
	for i, share := range of.Shares {
		t.Heads[of.Share].Number = false
		cell, ofPOP := &t.Rows[i][of.Share], of.Names[of.Share] == "pe"
		if cell.Number = ofPOP && share == nil; share != nil {
			cell.Bar = &bar{To: *share, Bad: of.IsRed(i, of.Share), Line: ofPOP}
		}
	}
	for c := len(of.Names) - 1; c >= 0; c-- {
		switch name := of.Names[c]; {
		case hasWord(folded, name) && !hasWord(folded, of.Names[c-1]):
			first := t.Heads[0].Text // names the rows, and nothing else
			t.fold(c)
			t.Heads[0].Text = first
		case hasWord(sortable, name):
			sortedBy(&t.Heads[c], name, q)
		}
	}
	return t
}

func hasWord(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// sortedBy makes a column's head a link that sorts by it. If the list is sorted by it already, the link
// reverses that.
func sortedBy(h *head, name string, q url.Values) {
	by := name
	if hasWord(leastSorted, name) {
		by = "-" + name
	}
	switch q.Get("sort") {
	case name:
		h.Sorted, by = "descending", "-"+name
	case "-" + name:
		h.Sorted, by = "ascending", name
	}
	h.Link = listAddress(q, "sort", by, "offset", "")
}
