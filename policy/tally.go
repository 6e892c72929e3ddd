package policy

import "jobeff/ingest"

// Backtest counts what rules say of jobs that were.
type Backtest struct {
	Jobs    int // judged
	rules   *Rules
	users   map[uint32]bool
	tallies []Tally
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
func NewBacktest(rules *Rules) *Backtest {
	b := &Backtest{rules: rules, users: map[uint32]bool{}}
	for _, r := range rules.rules {
		b.tallies = append(b.tallies, Tally{Rule: r.Name, Shadow: r.Shadow, users: map[uint32]bool{}})
	}
	return b
}

// Add judges one more job, with the study of its workload or nil.
func (b *Backtest) Add(j *ingest.Job, study *Study) {
	b.Jobs++
	b.users[j.UID] = true
	for i, v := range b.rules.Judge(j, study) {
		t := &b.tallies[i]
		switch v.Outcome {
		case Flagged:
			t.Flagged++
			t.users[j.UID] = true
			if v.Hours.Lost != nil {
				t.LostHours += *v.Hours.Lost
			}
		case Passed:
			t.Passed++
		case CannotTell:
			t.CannotTell++
		case NotAsked:
			t.NotAsked++
		}
	}
}

// Users is how many users the jobs belong to.
func (b *Backtest) Users() int { return len(b.users) }

// Tallies are the rules' counts, in their order.
func (b *Backtest) Tallies() []Tally { return b.tallies }
