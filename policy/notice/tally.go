package notice

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
)

// Backtest counts what rules say of jobs that were.
type Backtest struct {
	Jobs    int // judged
	rules   *policy.Rules
	users   map[uint32]bool
	tallies []Tally
	flagged []Judged // those that some rule flagged, with what Notices reads of them
}

// Tally is what one rule said of the jobs of a Backtest. The outcomes are numbers of
// jobs and add up to all.
type Tally struct {
	Rule       string
	Shadow     bool
	Flagged    int
	Passed     int
	CannotTell int
	NotAsked   int
	LostHours  float64 // core-hours that flagged jobs lost, where it is known
	users      map[uint32]bool
}

// Users is how many users had jobs that the rule flagged.
func (t *Tally) Users() int { return len(t.users) }

// NewBacktest begins a count.
func NewBacktest(rules *policy.Rules) *Backtest {
	b := &Backtest{rules: rules, users: map[uint32]bool{}}
	for _, r := range rules.Settings() {
		b.tallies = append(b.tallies, Tally{Rule: r.Name, Shadow: r.Shadow, users: map[uint32]bool{}})
	}
	return b
}

// Add judges one more job, with the study of its workload or nil.
func (b *Backtest) Add(j *job.Job, study *workload.Study) {
	b.Jobs++
	b.users[j.UID] = true
	judged, flagged := NewJudged(b.rules, j, study), false
	for i, v := range judged.Verdicts {
		t := &b.tallies[i]
		switch v.Outcome {
		case policy.Flagged:
			flagged = true
			t.Flagged++
			t.users[j.UID] = true
			if v.Hours.Lost != nil {
				t.LostHours += *v.Hours.Lost
			}
		case policy.Passed:
			t.Passed++
		case policy.CannotTell:
			t.CannotTell++
		case policy.NotAsked:
			t.NotAsked++
		}
	}
	if flagged {
		judged.Job = &job.Job{Cluster: j.Cluster, JobID: j.JobID, Attempt: j.Attempt, UID: j.UID, User: j.User, End: j.End}
		b.flagged = append(b.flagged, judged)
	}
}

// Mails is how many mails the rules would have made, and in how many of them each had a
// part: what Notices says at the end of every period, of the jobs that ended in it.
func (b *Backtest) Mails(settings NoticeSettings) (total int, byRule map[string]int) {
	settings = settings.withDefaults()
	byPeriod, byRule := map[time.Time][]Judged{}, map[string]int{}
	for _, j := range b.flagged {
		end := j.Job.End.UTC().Truncate(settings.Period).Add(settings.Period)
		byPeriod[end] = append(byPeriod[end], j)
	}
	var sent []Sent
	for _, end := range sortedTimes(byPeriod) {
		due, _ := Notices(byPeriod[end], sent, settings, end)
		for i := range due {
			total++
			sent = append(sent, due[i].Sent(end))
			for _, rule := range rulesOfNotice(&due[i]) {
				byRule[rule]++
			}
		}
		sent = slices.DeleteFunc(sent, func(s Sent) bool { return end.Sub(s.At) >= max(settings.CoolDown, settings.Period) })
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

// rulesOfNotice are the rules that a notice speaks of, each once.
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

// Users is how many users the jobs belong to.
func (b *Backtest) Users() int { return len(b.users) }

// Tallies are the rules' counts, in their order.
func (b *Backtest) Tallies() []Tally { return b.tallies }
