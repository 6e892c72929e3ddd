package notice

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
)

// NoticeItem is one workload of a notice, with the job that lost most as its example.
type NoticeItem struct {
	Subject  string // identifies it for the cool-down
	Workload string // key; "" where it is not known
	Name     string // of the workload
	Job      *job.Job
	Verdicts []policy.Verdict // the one whose cause is told, and those of rules in Asked
	Try      *policy.Request  // what to ask for; nil: only the site's own text
	Jobs     int              // flagged jobs of the workload
	Lost     float64          // core-hours that Jobs lost in sum, as far as it is known
	Saving   *curve.Estimate  // core-hours that Job would have saved; nil: not determined
	Sure     float64          // core-hours that Jobs surely save: the lower end
	most     float64          // core-hours that Job lost
	last     time.Time        // end of the newest flagged job
	asked    bool             // a rule in Asked flagged it
	onCores  []onCores
	of       []*Judged
}

// onCores holds an item's jobs on one core count, with one advice.
type onCores struct {
	cores int
	jobs  int
	used  float64 // core-hours of the MPI programs
	try   *policy.Request
}

func newOnCores(i *NoticeItem) onCores {
	a := onCores{jobs: 1, try: i.Try}
	if r := i.Try.Best; r != nil {
		a.cores, a.used = i.Try.Instead, r.Saved.Value/r.Share.Value
	}
	return a
}

// joined merges two items of one workload: the item so far, and that of one more job.
func joined(was, one NoticeItem) NoticeItem {
	all := was
	if (one.Try != nil) != (was.Try != nil) && one.Try != nil || (one.Try != nil) == (was.Try != nil) && losesMore(&one, &was) {
		all = one
	}
	all.Jobs, all.Lost, all.asked, all.of = was.Jobs+1, was.Lost+one.Lost, was.asked || one.asked, append(was.of, one.of...)
	all.onCores = was.onCores
	for _, a := range one.onCores {
		at := slices.IndexFunc(all.onCores, func(b onCores) bool { return a.try.Best != nil && b.try.Best != nil && a.cores == b.cores })
		if at < 0 {
			all.onCores = append(all.onCores, a)
			continue
		}
		all.onCores[at].jobs, all.onCores[at].used = all.onCores[at].jobs+1, all.onCores[at].used+a.used
	}
	if was.last.After(all.last) {
		all.last = was.last
	}
	return all
}

// losesMore reports whether a lost more than b. If they lost the same, the newer job counts as more.
func losesMore(a, b *NoticeItem) bool {
	return cmp.Or(cmp.Compare(a.most, b.most), a.Job.End.Compare(b.Job.End), cmp.Compare(a.Job.JobID, b.Job.JobID), cmp.Compare(a.Job.Attempt, b.Job.Attempt)) > 0
}

// sure returns the lower end of what the item's jobs would have saved together, core-hours.
func (i *NoticeItem) sure() (sum float64) {
	for _, a := range i.onCores {
		switch {
		case a.try.Best != nil:
			sum += max(a.try.Best.ShareOver(a.jobs).Low*a.used, 0)
		case a.try.Saved != nil:
			sum += max(a.try.Saved.Low, 0)
		}
	}
	return sum
}
