package notice

import (
	"cmp"
	"slices"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
)

// Backtest counts what rules say of past jobs.
type Backtest struct {
	Jobs    int // judged
	mails   NoticeSettings
	users   map[uint32]bool
	tallies []Tally
	periods map[time.Time]*period // by their end
}

// period holds what Notices reads about the jobs that ended in it.
type period struct {
	flagged []Judged
	others  map[userKey]*job.Job // each user's other jobs, as one job with the core time of all
}

// Tally is what one rule said of the jobs of a Backtest. The outcomes are numbers of jobs, and add up to all of
// them.
type Tally struct {
	Rule       string
	Shadow     bool
	Flagged    int
	Passed     int
	CannotTell int
	NotAsked   int
	LostHours  float64 // core-hours that flagged jobs lost, as far as it is known
	users      map[uint32]bool
}

// Users returns how many users had jobs that the rule flagged.
func (t *Tally) Users() int { return len(t.users) }

// NewBacktest begins a count of what these rules say. mails decide when a mail would have been sent.
func NewBacktest(rules []etc.Rule, mails NoticeSettings) *Backtest {
	b := &Backtest{mails: mails.withDefaults(), users: map[uint32]bool{}, periods: map[time.Time]*period{}}
	for _, r := range rules {
		b.tallies = append(b.tallies, Tally{Rule: r.Name, Shadow: r.Shadow, users: map[uint32]bool{}})
	}
	return b
}

// Add counts one more job. Its verdicts are in the order of the rules.
func (b *Backtest) Add(judged Judged) {
	b.Jobs++
	b.users[judged.Job.UID] = true
	for i, v := range judged.Verdicts {
		t := &b.tallies[i]
		switch v.Outcome {
		case policy.Flagged:
			t.Flagged++
			t.users[judged.Job.UID] = true
			if v.Hours.Lost != nil {
				t.LostHours += v.Hours.Lost.Hours()
			}
		case policy.Passed:
			t.Passed++
		case policy.CannotTell:
			t.CannotTell++
		case policy.NotAsked:
			t.NotAsked++
		}
	}
	b.keep(judged)
}

// keep adds a job to its period.
func (b *Backtest) keep(j Judged) {
	end := j.Job.End.UTC().Truncate(b.mails.Period).Add(b.mails.Period)
	p := b.periods[end]
	if p == nil {
		p = &period{others: map[userKey]*job.Job{}}
		b.periods[end] = p
	}
	if j.flagged() {
		j.Job = slim(j.Job)
		p.flagged = append(p.flagged, j)
		return
	}
	who := userKey{j.Job.Cluster, j.Job.UID}
	if p.others[who] == nil {
		p.others[who] = &job.Job{Cluster: who.cluster, UID: who.uid, End: j.Job.End, Elapsed: time.Second}
	}
	p.others[who].CPUs += j.Job.CPUs * int(j.Job.Elapsed.Seconds())
}

// judged returns the jobs that ended in the last periods before a time.
func (b *Backtest) judged(end time.Time) (all []Judged) {
	for at := end; at.After(end.Add(-LookBack)); at = at.Add(-b.mails.Period) {
		if p := b.periods[at]; p != nil {
			all = append(all, p.flagged...)
			for _, j := range p.others {
				all = append(all, Judged{Job: j})
			}
		}
	}
	return all
}

// Mails counts the mails that the rules would have made, and those to which each rule contributed. It calls
// Notices for the end of every period.
func (b *Backtest) Mails() (total int, byRule map[string]int) {
	byRule = map[string]int{}
	var sent []Sent
	for _, end := range sortedTimes(b.periods) {
		due, _ := Notices(b.judged(end), sent, b.mails, end)
		for i := range due {
			total++
			sent = append(sent, due[i].Sent(end))
			for _, rule := range rulesOfNotice(&due[i]) {
				byRule[rule]++
			}
		}
		sent = slices.DeleteFunc(sent, func(s Sent) bool { return end.Sub(s.At) >= max(b.mails.CoolDown, b.mails.Period, workload.AdviceFor) })
	}
	return total, byRule
}

func sortedTimes[V any](m map[time.Time]V) []time.Time {
	var all []time.Time
	for t := range m {
		all = append(all, t)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// rulesOfNotice returns the rules that a notice names, each once.
func rulesOfNotice(n *Notice) []string {
	var rules []string
	for _, item := range n.Items {
		for _, v := range item.Verdicts {
			rules = append(rules, v.Rule)
		}
	}
	slices.SortFunc(rules, cmp.Compare[string])
	return slices.Compact(rules)
}

// Users returns how many users the jobs belong to.
func (b *Backtest) Users() int { return len(b.users) }

// Tallies returns the rules' counts, in their order.
func (b *Backtest) Tallies() []Tally { return b.tallies }
