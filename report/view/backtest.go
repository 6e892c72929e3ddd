package view

import (
	"jobeff/policy/notice"
	"jobeff/report/words"
)

// Backtest is the view of how many jobs and users each rule would have flagged.
type Backtest struct {
	Jobs  int     `json:"jobs"`
	Mails int     `json:"mails"`
	Rules []Tally `json:"rules"`
	Users int     `json:"users"`

	Words words.Backtest `json:"-"`
}

// Tally is what one rule would have said.
type Tally struct {
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

// NewBacktest makes it.
func NewBacktest(b *notice.Backtest) *Backtest {
	mails, byRule := b.Mails()
	d := &Backtest{b.Jobs, mails, []Tally{}, b.Users(), words.OfBacktest(b)}
	for _, t := range b.Tallies() {
		d.Rules = append(d.Rules, Tally{t.Rule, t.Shadow, t.Flagged, t.Users(), byRule[t.Rule], t.LostHours, t.Passed, t.CannotTell, t.NotAsked})
	}
	return d
}
