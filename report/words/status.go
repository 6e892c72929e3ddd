package words

import (
	"cmp"
	"fmt"
	"time"

	"jobeff/ingest/listing"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// SiteStatus words how jobeff does.
type SiteStatus struct {
	Answer
	Hands []Remark // what needs a hand today, the most urgent first
}

// OfStatus words how jobeff does: what needs a hand first. Each sentence is made where the digest, the alarm or another
// command has it from. wide: its reader sees characters outside ASCII.
func OfStatus(status *listing.Status, wide bool) SiteStatus {
	l := inert.Copy(status, wide)
	var s SiteStatus
	var fine []string
	for _, r := range append(urgent(l), OfHealth(&l.Health, nil)...) {
		if r.Bad {
			s.Hands = append(s.Hands, r)
		} else {
			fine = append(fine, r.Text)
		}
	}
	s.Headline = "Nothing needs a hand today."
	if n := len(s.Hands); n > 0 {
		s.Headline = figure.Counted(n, "thing") + " need" + map[bool]string{true: "s"}[n == 1] + " a hand today."
		part := block.Part{Heading: "What to do"}
		for _, r := range s.Hands[:min(n, mostHands)] {
			part.Items = append(part.Items, r.Text+" -> "+r.Mend)
		}
		if n > mostHands {
			part.Notes = []string{"and " + figure.Count(n-mostHands) + " more: jobeff admin status --json"}
		}
		s.Parts = append(s.Parts, part)
	}
	s.Parts = append(s.Parts, block.Part{Heading: "The last 24 hours", Facts: statusFacts(l, fine)})
	s.Notes = []string{"As of " + utcMinute(l.At) + ", UTC. More: jobeff admin coverage, cost and alarm, jobeff digest; of one machine: jobeff admin doctor."}
	return s
}

// mostHands are those that fit a screen.
const mostHands = 10

// urgent is what comes before all else: an alarm, a database that loses reports, no word of Slurm.
func urgent(l *listing.Status) (all []Remark) {
	for i := range l.Alarms {
		all = append(all, Remark{"ALARM: " + AlarmText(&l.Alarms[i], time.UTC), true, "jobeff admin alarm"})
	}
	if l.Damaged {
		all = append(all, Remark{"The database's pages are wrong, and no report is taken.", true, "doc/ADMIN.md, section 6"})
	}
	if l.Doubt != "" {
		all = append(all, Remark{l.Doubt + ".", true, l.Hint})
	}
	if l.Read.IsZero() {
		all = append(all, Remark{notRead, true, "doc/ADMIN.md, section 12"})
	}
	return all
}

// statusFacts say how jobeff does where nothing must be done. fine are the digest's remarks that are not bad.
func statusFacts(l *listing.Status, fine []string) (facts block.Facts) {
	facts.Add("nodes", fmt.Sprintf("%s reported within four weeks; from %s no report came for a day", figure.Counted(int(l.Nodes), "node"), figure.Count(int(l.Quiet))))
	if len(l.Health.Outboxes) == 0 {
		facts.Add("outboxes", "no node told of a report that is stuck or lost")
	}
	if text := notSlowText(l.Health.SlowNodes, l.At); text != "" {
		facts.Add("speed", text)
	}
	for i, text := range fine {
		facts.Add(map[bool]string{true: "health"}[i == 0], text)
	}
	if len(l.Alarms) == 0 {
		facts.Add("alarm", "no alarm is up. "+cmp.Or(CannotTell(l.Comparison), comparisonText(l.Comparison)))
	}
	cost := "not known yet: jobeff admin cost"
	if l.Times != nil {
		cost = SlowdownText(l.Times)
	}
	facts.Add("cost", cost)
	return facts
}
