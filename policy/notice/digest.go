package notice

import (
	"cmp"
	"math"
	"slices"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/harm"
	"jobeff/policy/workload"
)

// How long the lists of a digest are.
const (
	digestNames   = 8
	digestSavings = 10
	digestChanges = 10
)

// LeastTold is the least number of core-hours worth telling: fewer would be written as 0.
const LeastTold = 0.005

// Digest sums up a week for those who run the cluster. Hours are core-hours.
type Digest struct {
	From, To time.Time
	Cluster  string   // "": all
	Accounts []string // empty: all
	Total    listing.Hours
	Before   listing.Hours // of the week before
	// The lists begin with those that lost most hours. More… counts those left out.
	// ByCluster is of a digest of several clusters alone.
	ByCluster, ByAccount, ByUser, ByProgram []Share
	IdleGPUs                                []listing.NamedHours // users, the most GPU-hours in which no kernel ran first
	MoreAccounts, MoreUsers                 int
	MorePrograms                            int
	Savings                                 []Saving            // the biggest first
	SavingsSum                              *curve.Estimate     // hours of Savings together; nil: there are none
	Losses                                  []Loss              // the largest without advice
	Changes                                 []workload.Change   // of executables; the ones that cost most first
	Steps                                   []workload.Step     // workloads whose runs became slower; the most first
	Followed                                []workload.Followed // what advice saved; most in the week first
	MoreFollowed                            int
	Saved, SavedEver                        curve.Estimate // hours of all that was followed: in the week, and since it was advised
	Health                                  listing.Health
	Alarms                                  []harm.Alarm     // that were up
	Comparison                              *harm.Comparison // what could be seen of a harm by now; nil: not known, or of some accounts only
	Wrong                                   []listing.Told   // how rare a harm could have been noticed by now; nil: not known, or for some accounts only
}

// Share is what one account, user or program used and lost.
type Share struct {
	listing.NamedHours
	Before *listing.Hours // of the week before; nil: there was nothing
}

// Saving is what a workload's jobs on one core count would have saved in the week on a
// recommended one.
type Saving struct {
	Name, Key, User, Account string
	Jobs                     int     // of the workload on Cores, in the week
	Lost                     float64 // hours that Jobs lost
	Job, JobName             string  // the one of Jobs that lost most
	Cores                    int     // what Jobs ran on
	Advice                   workload.Recommendation
	Hours                    curve.Estimate // hours that Jobs would have saved
	Muted                    bool
}

// NewDigest makes a digest of the facts of a week and of the one before.
func NewDigest(both *listing.TwoWeeks) *Digest {
	this, before := both.This, both.Before
	d := &Digest{From: this.From, To: this.To, Cluster: both.Cluster, Accounts: both.Accounts, Total: this.Total, Before: before.Total, Health: this.Health, Alarms: this.Alarms, Comparison: this.Comparison, Wrong: this.Wrong}
	d.IdleGPUs = this.IdleGPUs
	d.ByCluster, _ = shares(this.Clusters, before.Clusters)
	d.ByAccount, d.MoreAccounts = shares(this.Accounts, before.Accounts)
	d.ByUser, d.MoreUsers = shares(this.Users, before.Users)
	d.ByProgram, d.MorePrograms = shares(this.Programs, before.Programs)
	for i := range this.Heavy {
		if s := savingOf(&this.Heavy[i], this.To); s != nil {
			d.Savings = append(d.Savings, *s)
		}
	}
	slices.SortStableFunc(d.Savings, func(a, b Saving) int { return cmp.Compare(b.Hours.Value, a.Hours.Value) })
	d.Savings = oneAdvice(d.Savings)
	d.Losses = lossesOf(this.Heavy, d.Savings)
	d.Savings = d.Savings[:min(len(d.Savings), digestSavings)]
	d.SavingsSum = sumOf(d.Savings)
	for _, runs := range this.Lineages {
		if c := workload.CompareExecutables(runs, this.From); c != nil {
			d.Changes = append(d.Changes, *c)
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b workload.Change) int {
		return cmp.Or(cmp.Compare(b.Worse(), a.Worse()), cmp.Compare(b.Hours, a.Hours))
	})
	d.Changes = d.Changes[:min(len(d.Changes), digestChanges)]
	for _, runs := range this.Series {
		d.Steps = append(d.Steps, workload.StepsBetween(runs, this.From, this.To)...)
	}
	slices.SortStableFunc(d.Steps, func(a, b workload.Step) int { return cmp.Compare(b.Factor.Value, a.Factor.Value) })
	d.Steps = d.Steps[:min(len(d.Steps), digestChanges)]
	for i := range this.Told {
		if f := workload.FollowAdvice(&this.Told[i], this.From, this.To); f != nil && (math.Abs(f.Week.Least().Value) >= LeastTold || math.Abs(f.Ever.Least().Value) >= LeastTold) {
			d.Followed = append(d.Followed, *f)
		}
	}
	slices.SortStableFunc(d.Followed, func(a, b workload.Followed) int {
		return cmp.Or(cmp.Compare(b.Week.Least().Value, a.Week.Least().Value), cmp.Compare(b.Ever.Least().Value, a.Ever.Least().Value))
	})
	d.Saved = sumSaved(d.Followed, func(f *workload.Followed) curve.Estimate { return f.Week.Least() })
	d.SavedEver = sumSaved(d.Followed, func(f *workload.Followed) curve.Estimate { return f.Ever.Least() })
	d.MoreFollowed = max(0, len(d.Followed)-digestSavings)
	d.Followed = d.Followed[:len(d.Followed)-d.MoreFollowed]
	return d
}

// shares returns the first of a list, each with its hours of the week before, and how many are left out.
func shares(this, before []listing.NamedHours) (all []Share, more int) {
	was := map[string]*listing.Hours{}
	for i := range before {
		was[before[i].Name] = &before[i].Hours
	}
	for _, h := range this[:min(len(this), digestNames)] {
		all = append(all, Share{h, was[h.Name]})
	}
	return all, max(0, len(this)-digestNames)
}

// savingOf says what the week's jobs of a workload on one core count would have saved; nil: nothing better is
// known.
func savingOf(h *listing.HeavyWorkload, now time.Time) *Saving {
	study := workload.NewStudy(h.Workload, h.Job, now, curve.Settings{})
	best := policy.RequestFor(study, h.Job).Best
	if best == nil || best.Share == nil || best.Share.Value <= 0 {
		return nil
	}
	s := &Saving{Name: h.Workload.Name, Key: h.Workload.Key, User: cmp.Or(h.Job.User, h.Workload.User), Account: h.Job.Account,
		Jobs: h.Jobs, Lost: h.Lost, Job: h.Job.DisplayID, JobName: h.Job.Name, Cores: study.Mine.Cores(), Advice: *best, Muted: study.Muted != nil}
	s.Hours = *best.ShareOver(h.Jobs).Times(h.Used)
	return s
}

// oneAdvice keeps for each workload the advice that saves most. savings are sorted.
func oneAdvice(savings []Saving) []Saving {
	cores := map[string]float64{}
	return slices.DeleteFunc(savings, func(s Saving) bool {
		first, known := cores[s.Key]
		if !known {
			cores[s.Key] = s.Advice.Cores.Value
		}
		return known && first != s.Advice.Cores.Value
	})
}

// sumSaved adds up what the advice of several workloads saved. Their intervals add in squares.
func sumSaved(all []workload.Followed, of func(*workload.Followed) curve.Estimate) (sum curve.Estimate) {
	var low2, high2 float64
	for i := range all {
		e := of(&all[i])
		sum.Value += e.Value
		low2, high2 = low2+(e.Value-e.Low)*(e.Value-e.Low), high2+(e.High-e.Value)*(e.High-e.Value)
	}
	sum.Low, sum.High = sum.Value-math.Sqrt(low2), sum.Value+math.Sqrt(high2)
	return sum
}

// sumOf adds savings up. Intervals add linearly inside a workload, whose savings come from one
// curve, and in squares between workloads.
func sumOf(savings []Saving) *curve.Estimate {
	if len(savings) == 0 {
		return nil
	}
	var sum, low2, high2 float64
	below, above := map[string]float64{}, map[string]float64{}
	for i := range savings {
		s := &savings[i]
		sum += s.Hours.Value
		below[s.Key] += s.Hours.Value - s.Hours.Low
		above[s.Key] += s.Hours.High - s.Hours.Value
	}
	for key := range below {
		low2, high2 = low2+below[key]*below[key], high2+above[key]*above[key]
	}
	return &curve.Estimate{Value: sum, Low: sum - math.Sqrt(low2), High: sum + math.Sqrt(high2)}
}
