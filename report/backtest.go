package report

import (
	"fmt"
	"io"

	"jobeff/policy/notice"
	"jobeff/report/figure"
)

// Backtest writes how many jobs and users each rule would have flagged.
func Backtest(w io.Writer, b *notice.Backtest, opts Options) error {
	p := newPage(opts)
	p.line(p.title.Sprint(figure.Counted(b.Jobs, "job") + " of " + figure.Counted(b.Users(), "user") + " that you may see"))
	p.line("")
	t := table{heads: []string{"<rule", "flagged", "users", "mails", "lost core-h", "passed", "cannot tell", "not asked"}}
	if p.width < roomy {
		t.gap = " "
	}
	n := func(i int) string { return figure.Count(i) }
	mails, byRule := b.Mails(notice.NoticeSettings{})
	shadows := false
	for _, r := range b.Tallies() {
		name := r.Rule
		if r.Shadow {
			name, shadows = name+" *", true
		}
		t.rows = append(t.rows, []string{name, n(r.Flagged), n(r.Users()), n(byRule[r.Rule]), figure.Hours(r.LostHours), n(r.Passed), n(r.CannotTell), n(r.NotAsked)})
	}
	p.table(t, "")
	p.paragraph("", "", figure.Counted(mails, "mail")+" in all: at most one to a user in a week, of each workload once in four weeks, "+
		"sure verdicts only; a mail may speak of several rules", nil)
	if shadows {
		p.line("* in shadow: told to nobody")
	}
	_, err := p.out.WriteTo(w)
	return err
}

// BacktestJSON writes the same as a document.
func BacktestJSON(w io.Writer, b *notice.Backtest) error {
	type rule struct {
		Rule          string  `json:"rule"`
		Shadow        bool    `json:"shadow"`
		Flagged       int     `json:"flagged"`
		Users         int     `json:"users"`
		Mails         int     `json:"mails"`           // that would have spoken of it
		LostCoreHours float64 `json:"lost_core_hours"` // of the flagged jobs, where it is known
		Passed        int     `json:"passed"`
		CannotTell    int     `json:"cannot_tell"`
		NotAsked      int     `json:"not_asked"`
	}
	mails, byRule := b.Mails(notice.NoticeSettings{})
	rules := []rule{}
	for _, t := range b.Tallies() {
		rules = append(rules, rule{t.Rule, t.Shadow, t.Flagged, t.Users(), byRule[t.Rule], t.LostHours, t.Passed, t.CannotTell, t.NotAsked})
	}
	err := writeJSON(w, map[string]any{"jobs": b.Jobs, "users": b.Users(), "mails": mails, "rules": rules})
	if err != nil {
		return fmt.Errorf("report: backtest: %w", err)
	}
	return nil
}
