package report

import (
	"io"

	"jobeff/report/view"
)

// TextOfBacktest writes how many jobs and users each rule would have flagged.
func TextOfBacktest(w io.Writer, v *view.Backtest, opts Options) error {
	p, s := newTerminal(opts), &v.Words
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
