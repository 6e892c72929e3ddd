package words

import (
	"fmt"
	"io"
	"strings"

	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/text"
)

// Check is one line of `jobeff admin doctor`.
type Check struct {
	Status Status
	What   string // what was looked at
	Found  string
	Mend   string // what to do if it is not right
}

// Status is the result of a check.
type Status int

// The statuses of a check, from good to bad.
const (
	OK Status = iota
	Warn
	Fail
)

// String is the word that is printed.
func (s Status) String() string { return [...]string{"ok", "warn", "fail"}[s] }

// Checks writes the lines of the doctor, and how many checks passed or failed.
func Checks(w io.Writer, checks []Check, opts text.Options) error {
	p := text.NewPage(opts)
	var bad [3]int
	for _, c := range inert.Copy(checks, p.Unicode) {
		bad[c.Status]++
		first := fmt.Sprintf("%-6s%-11s", c.Status, c.What)
		col := p.Good
		if c.Status != OK {
			col = p.Bad
		}
		rest := strings.Repeat(" ", len(first))
		p.Paragraph(col.Sprint(first[:6])+first[6:], rest, c.Found, nil)
		if c.Mend != "" {
			p.Paragraph(rest+"-> ", rest+"   ", c.Mend, nil)
		}
	}
	p.Line("")
	p.Line(fmt.Sprintf("%s ok, %s, %s failed", figure.Count(bad[OK]), figure.Counted(bad[Warn], "warning"), figure.Count(bad[Fail])))
	return p.To(w)
}
