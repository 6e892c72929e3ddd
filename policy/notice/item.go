package notice

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
)

// NoticeItem is one workload of a notice, told by the job that lost most.
type NoticeItem struct {
	Subject  string // what the cool-down counts
	Workload string // key; "" where it is not known
	Name     string // of the workload
	Job      *job.Job
	Verdicts []policy.Verdict // the one whose cause is told, and those that the site asks for
	Try      *policy.Request  // what to ask for; nil: only the site's own text
	Jobs     int              // of the workload that were flagged
	Lost     float64          // core-hours that they lost in sum, where it is known
	Saving   *curve.Estimate  // core-hours that the job would have saved; nil: not determined
	Sure     float64          // core-hours that the jobs are sure to save: the lower end
	most     float64          // core-hours that Job lost
	last     time.Time        // end of the newest flagged job
	asked    bool             // the site asks for it
	onCores  []onCores
	of       []*Judged
}

// onCores are an item's jobs on one core count, with one advice.
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

// joined is an item with one more job.
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

// losesMore orders two jobs of one workload: the one that lost more, else the newer.
func losesMore(a, b *NoticeItem) bool {
	return cmp.Or(cmp.Compare(a.most, b.most), a.Job.End.Compare(b.Job.End), cmp.Compare(a.Job.JobID, b.Job.JobID), cmp.Compare(a.Job.Attempt, b.Job.Attempt)) > 0
}

// sure is the lower end of what the item's jobs would have saved together, core-hours.
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
