package report

import (
	"io"

	"jobeff/report/text"
	"jobeff/report/view"
)

// TextOfBacktest writes how many jobs and users each rule would have flagged.
func TextOfBacktest(w io.Writer, v *view.Backtest, opts text.Options) error {
	p, s := text.NewPage(opts), &v.Words
	p.Line(p.Title.Sprint(s.Title))
	p.Line("")
	t := s.Rules
	if p.Width < roomyList {
		t.Gap = " "
	}
	p.Table(t, "")
	p.Paragraph("", "", s.Mails, nil)
	if s.Under != "" {
		p.Line(s.Under)
	}
	return p.To(w)
}
