package report

import (
	"io"

	"jobeff/report/words"
)

// TextOfBacktest writes how many jobs and users each rule would have flagged.
func TextOfBacktest(w io.Writer, s words.Backtest, opts Options) error {
	p := newTerminal(opts)
	p.line(p.Title.Sprint(s.Title))
	p.line("")
	t := s.Rules
	if p.Width < roomyList {
		t.Gap = " "
	}
	p.table(t, "")
	p.paragraph("", "", s.Mails, nil)
	if s.Under != "" {
		p.line(s.Under)
	}
	return p.writeTo(w)
}
