package notice

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy"
)

// SentOf turns the log into the notices that cool-downs count from: those that users got, or would have got
// without shadow. It leaves out muted lines, which nobody got, and lines about running jobs, which are sent at
// once.
func SentOf(log []listing.Told, shadow bool) (all []Sent) {
	for i := range log {
		t := &log[i]
		if t.Muted || t.Running || t.Shadow != shadow {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Cluster != t.Cluster || all[n-1].UID != t.UID || !all[n-1].At.Equal(t.At) {
			all = append(all, Sent{Cluster: t.Cluster, UID: t.UID, At: t.At})
		}
		all[len(all)-1].add(t.Subject, t.Advised, t.Cores)
	}
	return all
}

// Told returns the item as the log stores it.
func (i *NoticeItem) Told(at time.Time) listing.Told {
	return listing.Told{Cluster: i.Job.Cluster, UID: i.Job.UID, User: i.Job.User, At: at, Subject: i.Subject, Workload: i.Workload, Name: i.Name,
		Rule: i.Verdicts[0].Rule, Job: i.Job.DisplayID, Jobs: i.Jobs, Lost: i.Lost, Cores: i.Cores(), Advised: i.advised()}
}

// Cores returns the core count of the item's job.
func (i *NoticeItem) Cores() int { return policy.CoresOf(i.Job) }

// advised returns the core count that the item names; 0: none.
func (i *NoticeItem) advised() int {
	if i.Try == nil || i.Try.Best == nil {
		return 0
	}
	return int(i.Try.Best.Cores.Value)
}

// Muted lists what users would have been told without their mutes: one line for each workload
// that has no open line in the log.
func Muted(jobs []Judged, log []listing.Told, at time.Time) (all []listing.Told) {
	open := map[string]bool{}
	for i := range log {
		open[log[i].Subject] = open[log[i].Subject] || log[i].Cleared.IsZero()
	}
	for i := range jobs {
		j := &jobs[i]
		for _, v := range j.Verdicts {
			if v.Outcome != policy.Flagged || v.Muted == nil || v.Shadow || v.Confidence != policy.Sure || open[j.subject()] {
				continue
			}
			item := NoticeItem{Subject: j.subject(), Workload: j.Workload, Name: cmp.Or(j.Name, j.Program), Job: j.Job, Verdicts: []policy.Verdict{v}, Jobs: 1}
			t := item.Told(at)
			t.Muted, open[j.subject()] = true, true
			all = append(all, t)
		}
	}
	return all
}

// clearedBy is how many jobs in a row must pass for a workload to count as better.
const clearedBy = 3

// AllClear lists the lines of the log whose workload got better: its newest jobs pass the rule (passedSince).
// Each workload comes once.
func AllClear(jobs []Judged, log []listing.Told, shadow bool, now time.Time) (all []listing.Told) {
	done := map[string]bool{}
	for i := len(log) - 1; i >= 0; i-- { // the newest line of a workload decides
		t := log[i]
		if !t.Cleared.IsZero() || t.Workload == "" || t.Shadow != shadow && !t.Muted || done[t.Subject] {
			continue
		}
		done[t.Subject] = true
		if passedSince(jobs, &t) {
			t.Cleared = now
			all = append(all, t)
		}
	}
	return all
}

// passedSince reports whether, among the workload's jobs that ended after the notice, the newest clearedBy that
// the rule can judge passed, and no rule flagged one since then.
func passedSince(jobs []Judged, t *listing.Told) bool {
	var of []*Judged
	for i := range jobs {
		if j := &jobs[i]; j.subject() == t.Subject && j.Job.End.After(t.At) {
			of = append(of, j)
		}
	}
	slices.SortFunc(of, func(a, b *Judged) int { return b.Job.End.Compare(a.Job.End) })
	passed := 0
	for _, j := range of {
		for _, v := range j.Verdicts {
			switch {
			case v.Outcome == policy.Flagged && !v.Shadow:
				return false
			case v.Rule == t.Rule && v.Outcome == policy.Passed:
				passed++
			}
		}
		if passed == clearedBy {
			return true
		}
	}
	return false
}
