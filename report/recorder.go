package report

import "strings"

// Part is a heading and what stands under it, for a page.
type Part struct {
	Heading string
	Facts   []Fact
	Tables  []*HTMLTable
	Notes   []string
}

// recorder keeps what a page of text would have written, in parts: what the terminal
// and a browser show alike is made once.
type recorder struct{ parts []Part }

// recorded runs what writes a text and gives its parts; the first has no heading.
func recorded(write func(*page)) []Part {
	p := newPage(Options{Width: maxWidth, Unicode: true})
	p.record = &recorder{parts: []Part{{}}}
	write(p)
	return p.record.parts
}

func (r *recorder) last() *Part { return &r.parts[len(r.parts)-1] }

func (r *recorder) heading(s string) { r.parts = append(r.parts, Part{Heading: s}) }

// fact without a label goes on with the one before.
func (r *recorder) fact(label, s string) {
	p := r.last()
	if n := len(p.Facts); label == "" && n > 0 {
		p.Facts[n-1].More = append(p.Facts[n-1].More, s)
		return
	}
	p.Facts = append(p.Facts, Fact{Label: label, Text: s})
}

func (r *recorder) note(s string) {
	if s = strings.TrimSpace(s); s != "" {
		r.last().Notes = append(r.last().Notes, s)
	}
}

// table takes the heading above it for its caption, or that it has none.
func (r *recorder) table(t table) {
	if made := htmlTable(r.last().Heading, t, ""); made != nil {
		r.last().Tables = append(r.last().Tables, made)
	}
}
