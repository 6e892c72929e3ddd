package words

import (
	"jobeff/policy/notice"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// Backtest holds how many jobs and users each rule would have flagged.
type Backtest struct {
	Title string
	Rules block.Table
	Mails string
	Under string // explains the marks; "": there are none
}

// OfBacktest puts a backtest into words.
func OfBacktest(b *notice.Backtest) Backtest {
	mails, byRule := b.Mails()
	out := Backtest{Title: figure.Counted(b.Jobs, "job") + " of " + figure.Counted(b.Users(), "user") + " that you may see",
		Rules: block.Table{Heads: []string{"<rule", "flagged", "users", "mails", "lost core-h", "passed", "cannot tell", "not asked"}},
		Mails: figure.Counted(mails, "mail") + " in all: sure verdicts on completed jobs only, and only what [notice] lets through; at most one mail a week to a user, " +
			"and one in four weeks about a workload; one mail may name several rules"}
	n := func(i int) string { return figure.Count(i) }
	for _, r := range b.Tallies() {
		name := r.Rule
		if r.Shadow {
			name, out.Under = name+" *", "* in shadow: told to nobody"
		}
		out.Rules.Rows = append(out.Rules.Rows, []string{name, n(r.Flagged), n(r.Users()), n(byRule[r.Rule]), figure.Hours(r.LostHours), n(r.Passed), n(r.CannotTell), n(r.NotAsked)})
	}
	return out
}
