package view

import (
	"jobeff/ingest/listing"
	"jobeff/policy/harm"
	"jobeff/policy/slow"
	"jobeff/report/words"
)

// Status is the view of how jobeff itself does, for those who run the site.
type Status struct {
	listing.Status
	Hands []Hand `json:"hands"` // what needs a hand today, the most urgent first; none: nothing does

	Words words.SiteStatus `json:"-"`
}

// Hand is something that somebody should look at.
type Hand struct {
	Text string `json:"text"` // what, in words, which may change
	Mend string `json:"mend"` // the command or section that helps
}

// NewStatus makes the view of a status. wide: its reader sees characters outside ASCII.
func NewStatus(of *listing.Status, wide bool) *Status {
	s := &Status{Status: *of, Hands: []Hand{}, Words: words.OfStatus(of, wide)}
	s.Alarms, s.Health.Known, s.Health.Silent = append([]harm.Alarm{}, of.Alarms...), append([]listing.LedgerLine{}, of.Health.Known...), append([]string{}, of.Health.Silent...)
	if look := of.Health.SlowNodes; look != nil {
		s.Health.SlowNodes = &listing.SlowNodes{At: look.At, Observed: look.Observed, Nodes: append([]slow.Slow{}, look.Nodes...)}
	}
	for _, r := range s.Words.Hands {
		s.Hands = append(s.Hands, Hand{r.Text, r.Mend})
	}
	return s
}
