package report

import (
	"fmt"
	"io"
	"strings"

	"jobeff/report/figure"
)

// Check is one line of `jobeff admin doctor`.
type Check struct {
	Status Status
	What   string // what was looked at
	Found  string
	Mend   string // what to do, where it is not right
}

// Status is how a check came out.
type Status int

// The statuses of a check, from good to bad.
const (
	OK Status = iota
	Warn
	Fail
)

// String is the word that is printed.
func (s Status) String() string { return [...]string{"ok", "warn", "fail"}[s] }

// Checks writes the doctor's lines and, at the end, how many of them are bad.
func Checks(w io.Writer, checks []Check, opts Options) error {
	p := newPage(opts)
	var bad [3]int
	for _, c := range Inert(checks, p.unicode) {
		bad[c.Status]++
		first := fmt.Sprintf("%-6s%-11s", c.Status, c.What)
		col := p.good
		if c.Status != OK {
			col = p.bad
		}
		rest := strings.Repeat(" ", len(first))
		p.paragraph(col.Sprint(first[:6])+first[6:], rest, c.Found, nil)
		if c.Mend != "" {
			p.paragraph(rest+"-> ", rest+"   ", c.Mend, nil)
		}
	}
	p.line("")
	p.line(fmt.Sprintf("%d ok, %s, %d failed", bad[OK], figure.Counted(bad[Warn], "warning"), bad[Fail]))
	return p.to(w)
}
