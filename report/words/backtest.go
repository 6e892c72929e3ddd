package words

import (
	"io"

	"jobeff/policy/notice"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/text"
)

// Backtest writes how many jobs and users each rule would have flagged.
func Backtest(w io.Writer, b *notice.Backtest, opts text.Options) error {
	p := text.NewPage(opts)
	p.Line(p.Title.Sprint(figure.Counted(b.Jobs, "job") + " of " + figure.Counted(b.Users(), "user") + " that you may see"))
	p.Line("")
	t := block.Table{Heads: []string{"<rule", "flagged", "users", "mails", "lost core-h", "passed", "cannot tell", "not asked"}}
	if p.Width < roomy {
		t.Gap = " "
	}
	n := func(i int) string { return figure.Count(i) }
	mails, byRule := b.Mails()
	shadows := false
	for _, r := range b.Tallies() {
		name := r.Rule
		if r.Shadow {
			name, shadows = name+" *", true
		}
		t.Rows = append(t.Rows, []string{name, n(r.Flagged), n(r.Users()), n(byRule[r.Rule]), figure.Hours(r.LostHours), n(r.Passed), n(r.CannotTell), n(r.NotAsked)})
	}
	p.Table(t, "")
	p.Paragraph("", "", figure.Counted(mails, "mail")+" in all: sure verdicts on completed jobs only, and only what [notice] lets through; at most one mail a week to a user, "+
		"and one in four weeks about a workload; one mail may name several rules", nil)
	if shadows {
		p.Line("* in shadow: told to nobody")
	}
	return p.To(w)
}
