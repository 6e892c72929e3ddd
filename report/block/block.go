// Package block holds what a text and a page show alike: headlines, labelled facts, tables, notes, the tree of
// efficiencies, and pictures: curves with their doubt, and maps of ranks. Package report/words makes blocks of a job
// or a workload once; package report writes them for a terminal and for a browser. Before it in the flow comes
// policy, whose figures it draws. Callers make hostile names inert before they come here.
package block

import (
	"math"
	"slices"
	"strings"

	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Part is a heading with its contents, in this order. Empty fields are not shown.
type Part struct {
	Heading string
	Facts   []Fact
	Tables  []Table
	Items   []string
	Notes   []string
}

// Headline is the first sentence of a text or a page.
type Headline struct {
	Text string
	Bad  bool // it is bad news; the words say so too
	Good bool // it is good news
}

// Fact is a text with its label; More are further lines of it.
type Fact struct {
	Label  string
	Strong string // the text's beginning, which stands out
	Text   string
	More   []string
}

// Facts are labelled texts that Add collects.
type Facts []Fact

// Add appends a text, unless it is empty. A text without a label becomes a further line of the
// fact before.
func (f *Facts) Add(label, s string) {
	if n := len(*f); s != "" && label == "" && n > 0 {
		(*f)[n-1].More = append((*f)[n-1].More, s)
	} else if s != "" {
		*f = append(*f, Fact{Label: label, Text: s})
	}
}

// Texts returns all of them, without labels.
func (f Facts) Texts() (all []string) {
	for _, one := range f {
		all = append(append(all, one.Text), one.More...)
	}
	return all
}

// Inert makes the texts harmless.
func (f Facts) Inert(wide bool) Facts {
	for i := range f {
		f[i].Text = inert.Text(f[i].Text, wide)
		for k := range f[i].More {
			f[i].More[k] = inert.Text(f[i].More[k], wide)
		}
	}
	return f
}

// Heat holds how useful ranks or nodes were, one share each.
type Heat struct {
	Label, Noun string // "ranks", "rank"
	Shares      []float64
}

// Scale is the range of shares that the colours or signs of a map span.
type Scale struct{ Low, High float64 }

// narrowest is the least span of a scale: a narrower one would make a pattern of noise.
const narrowest = 0.1

// ScaleOf returns the scale from the least share to the most, in whole percents.
func ScaleOf(shares []float64) Scale {
	low, high := 1.0, 0.0
	for _, share := range shares {
		low, high = min(low, share), max(high, share)
	}
	s := Scale{math.Floor(low*100) / 100, math.Ceil(high*100) / 100}
	if s.High-s.Low < narrowest {
		s.Low = max(0, s.High-narrowest)
		s.High = s.Low + narrowest
	}
	return s
}

// Level returns which of n equal parts of the scale holds a share, from 0.
func (s Scale) Level(share float64, n int) int {
	return min(max(int((share-s.Low)/(s.High-s.Low)*float64(n)), 0), n-1)
}

// Fitted returns at most `most` shares, each the mean of `each` neighbours.
func (h Heat) Fitted(most int) (shares []float64, each int) {
	each = (len(h.Shares) + most - 1) / most
	for some := range slices.Chunk(h.Shares, max(each, 1)) {
		sum := 0.0
		for _, s := range some {
			sum += s
		}
		shares = append(shares, sum/float64(len(some)))
	}
	return shares, each
}

// Spread words how the shares are distributed: "71 % and 90 %" for two, else "40 % to 64 %, median 54 %".
func (h Heat) Spread() string {
	s := slices.Sorted(slices.Values(h.Shares))
	n := len(s)
	low, high := figure.Percent(s[0]), figure.Percent(s[n-1])
	switch {
	case low == high:
		return low
	case n == 2:
		return low + " and " + high
	}
	return low + " to " + high + ", median " + figure.Percent((s[(n-1)/2]+s[n/2])/2)
}

// Action is something to do: a line to copy, or a link.
type Action struct{ Text, Line, Link string }

// Told is what a rule says about a job.
type Told struct {
	Rule, Outcome, Text, Reason, Condition, Link string
	Advice, But, Muted                           string // a core count, own doubts, until when
	Bad                                          bool   // it flags the job
	Shadow                                       bool
}

// Course holds an efficiency over time.
type Course struct {
	Which   string // names the execution among several: " of execution 2"
	Buckets []Moment
	Length  string   // of a bucket, and when the first begins
	Words   []string // what it shows
}

// Moment is one bucket of a course.
type Moment struct {
	Efficiency float64
	Name       string // its time and its efficiencies
}

// Branch is a line of POP's tree of efficiencies.
type Branch struct {
	Name    string
	Depth   int
	Value   float64
	Beside  string // the figure of another time, which a text shows in front of it
	Meaning string // the question that it answers
}

// Low reports whether it is below what POP recommends.
func (b Branch) Low() bool { return b.Value < figure.Line }

// Table is rows under heads. Under a head that starts with "<" are texts, aligned left; under the others are
// numbers, aligned right. If a terminal lacks room, the longest column of texts is cut. Columns with "<!" are
// cut last, those with "<=" never.
type Table struct {
	Caption string // on a page; "" means its part's heading
	Heads   []string
	Rows    [][]string
	Gap     string // between a text's columns; "" means two blanks
	// Bars are drawn on a page beside the values of a column: a share from 0 to 1 for each row.
	Bars map[int][]float64
	red  map[[2]int]bool // see Red
}

// Red marks a cell as bad news. It is red if there are colours.
func (t *Table) Red(row, column int) {
	if t.red == nil {
		t.red = map[[2]int]bool{}
	}
	t.red[[2]int{row, column}] = true
}

// IsRed reports whether Red marked a cell.
func (t *Table) IsRed(row, column int) bool { return t.red[[2]int{row, column}] }

// Names returns the heads without their marks.
func (t *Table) Names() (all []string) {
	for _, h := range t.Heads {
		all = append(all, Name(h))
	}
	return all
}

// Without returns the table without some columns, given by their heads with marks.
func (t Table) Without(heads ...string) Table {
	rows := t.Rows
	for c := len(t.Heads) - 1; c >= 0; c-- {
		if slices.Contains(heads, t.Heads[c]) {
			t.Heads = slices.Delete(slices.Clone(t.Heads), c, c+1)
			t.Rows = nil
			for _, row := range rows {
				t.Rows = append(t.Rows, slices.Delete(slices.Clone(row), c, c+1))
			}
			rows = t.Rows
		}
	}
	return t
}

// Bar notes the share of the next row in column c.
func (t *Table) Bar(c int, share float64) {
	if t.Bars == nil {
		t.Bars = map[int][]float64{}
	}
	t.Bars[c] = append(t.Bars[c], share)
}

// Name returns a head without its marks.
func Name(head string) string { return strings.TrimLeft(head, "<!=") }

// Field is a field of a form.
type Field struct {
	Name, Label, Value string
	Kind               string   // of an input element
	Choices            []Choice // of a select element in its place
}

// Choice is an option of a select element.
type Choice struct {
	Value, Text string
	Chosen      bool
}

// Notes returns the texts that are not empty.
func Notes(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// Joined joins the texts that are not empty.
func Joined(sep string, parts ...string) string {
	return strings.Join(Notes(slices.Clone(parts)...), sep)
}
