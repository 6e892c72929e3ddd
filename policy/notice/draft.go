package notice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
)

// draft is what one user may be told now.
type draft struct {
	userKey
	NoticeSettings
	sent  []Sent // to this user
	now   time.Time
	since time.Time // the last notice, at most LookBack ago
	name  string
	used  float64 // core-hours
	items []NoticeItem
	bare  []bare
	held  []Held
}

// bare is a flagged job without a line of its own, since only the newest runs of a workload
// are studied.
type bare struct {
	job  *Judged
	rule int // of its verdicts
}

// NoticeItem is one workload of a notice, told by the job that lost most.
type NoticeItem struct {
	Subject  string // what the cool-down counts
	Workload string // key; "" where it is not known
	Name     string // of the workload
	Job      *job.Job
	Verdicts []policy.Verdict // the one whose cause is told, and those that the site asks for
	Try      *Try             // the line to try; nil: only the site's own text
	Jobs     int              // of the workload that were flagged
	Lost     float64          // core-hours that they lost in sum, where it is known
	Saving   *curve.Estimate  // core-hours that the job would have saved; nil: not determined
	Sure     float64          // core-hours that the jobs are sure to save: the lower end
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
	try   *Try
}

// lateReport is how long before the last notice a job may have ended that was not known then.
const lateReport = 24 * time.Hour

func newDraft(who userKey, sent []Sent, s NoticeSettings, now time.Time) *draft {
	d := &draft{userKey: who, NoticeSettings: s, now: now, since: now.Add(-LookBack)}
	for i := range sent {
		e := &sent[i]
		if (userKey{e.Cluster, e.UID}) != who || e.At.After(now) {
			continue
		}
		d.sent = append(d.sent, *e)
		if from := e.At.Add(-lateReport); from.After(d.since) {
			d.since = from
		}
	}
	return d
}

// add takes in one of the user's jobs.
func (d *draft) add(j *Judged) {
	if j.Job.End.Before(d.since) {
		return
	}
	d.name = cmp.Or(j.Job.User, d.name)
	d.used += float64(j.Job.CPUs) * j.Job.Elapsed.Hours()
	told, try := d.tellable(j)
	if len(told) == 0 {
		return
	}
	if why := d.tooSoon(j.subject()); why != "" {
		d.hold(j, told[0].Rule, why)
		return
	}
	d.addTo(j, told, try)
}

func (d *draft) hold(j *Judged, rule, why string) { d.held = append(d.held, Held{*j, rule, why}) }

// tellable are the verdicts that may be told of a job: the site's own, and of the others the
// first with a line to try. One cause is enough, past the inflexion point before others.
func (d *draft) tellable(j *Judged) (told []policy.Verdict, try *Try) {
	lead := -1
	for i, v := range j.Verdicts {
		if v.Outcome != policy.Flagged {
			continue
		}
		if why := noGround(j.Job, &v); why != "" {
			d.hold(j, v.Rule, why)
			continue
		}
		if slices.Contains(d.Asked, v.Rule) {
			told = append(told, v)
			continue
		}
		if lead < 0 || j.tryFor(i) != nil && (j.tryFor(lead) == nil || isPast(&v) && !isPast(&j.Verdicts[lead])) {
			lead = i
		}
	}
	if lead < 0 {
		return told, nil
	}
	if j.tryFor(lead) == nil && !d.WithoutLine {
		d.bare = append(d.bare, bare{j, lead})
		return told, nil
	}
	if why := badLine(j.tryFor(lead)); why != "" {
		d.hold(j, j.Verdicts[lead].Rule, why)
		return told, nil
	}
	return slices.Insert(told, 0, j.Verdicts[lead]), j.tryFor(lead)
}

func isPast(v *policy.Verdict) bool { return strings.Contains(v.Condition, "past_inflexion") }

// tryFor is the line of a verdict.
func (j *Judged) tryFor(i int) *Try {
	if i >= len(j.try) {
		return nil
	}
	return j.try[i]
}

// badLine says why a verdict is not told although it has a line, "" where it is told.
func badLine(try *Try) string {
	switch {
	case try != nil && try.Saved.Low <= 0:
		return "the line to try may save nothing"
	case try != nil && try.Once:
		return "the workload ran on so many cores only once, which may be a test"
	}
	return ""
}

// noGround says why a flagged job is no ground for a notice, "" where it is one.
func noGround(j *job.Job, v *policy.Verdict) string {
	state, _, _ := strings.Cut(j.State, " ")
	switch {
	case v.Shadow:
		return "the rule is in shadow"
	case v.Muted != nil:
		return "its owner muted the workload until " + v.Muted.UTC().Format(time.DateOnly)
	case state == "":
		return "Slurm has not told of the job yet"
	case state != "COMPLETED":
		return "the job ended as " + state
	case v.Confidence != policy.Sure && len(v.Doubts) > 0:
		return "the verdict is not sure: " + v.Doubts[0]
	case v.Confidence != policy.Sure:
		return "the verdict is not sure"
	}
	return ""
}

// tooSoon says why the user is not told of a workload again, "" where it is time.
func (d *draft) tooSoon(subject string) string {
	for i := range d.sent {
		e := &d.sent[i]
		on := e.At.UTC().Format(time.DateOnly)
		if slices.Contains(e.Subjects, subject) && d.now.Sub(e.At) < d.CoolDown {
			return "its owner was told of this workload on " + on
		}
		if d.now.Sub(e.At) < d.Period {
			return "its owner was sent a notice on " + on
		}
	}
	return ""
}

// addTo adds a job to its workload's item, which speaks of the one that lost most.
func (d *draft) addTo(j *Judged, told []policy.Verdict, try *Try) {
	item := NoticeItem{Subject: j.subject(), Workload: j.Workload, Name: cmp.Or(j.Name, j.Program), Job: j.Job, Verdicts: told, Try: try, Jobs: 1, last: j.Job.End,
		asked: slices.ContainsFunc(told, func(v policy.Verdict) bool { return slices.Contains(d.Asked, v.Rule) }), of: []*Judged{j}}
	if lost := told[0].Hours.Lost; lost != nil {
		item.Lost = *lost
	}
	if try != nil {
		item.Saving = &try.Saved
		item.onCores = []onCores{newOnCores(&item)}
	}
	at := slices.IndexFunc(d.items, func(i NoticeItem) bool { return i.Subject == item.Subject })
	if at < 0 {
		d.items = append(d.items, item)
		return
	}
	d.items[at] = joined(d.items[at], item)
}

func newOnCores(i *NoticeItem) onCores {
	a := onCores{jobs: 1, try: i.Try}
	if r := i.Try.Advice; r != nil {
		a.cores, a.used = i.Try.Cores, r.Saved.Value/r.Share.Value
	}
	return a
}

// joined is an item with a job more.
func joined(was, one NoticeItem) NoticeItem {
	all := was
	if (one.Try != nil) != (was.Try != nil) && one.Try != nil || (one.Try != nil) == (was.Try != nil) && losesMore(&one, &was) {
		all = one
	}
	all.Jobs, all.Lost, all.asked, all.of = was.Jobs+1, was.Lost+one.Lost, was.asked || one.asked, append(was.of, one.of...)
	all.onCores = was.onCores
	for _, a := range one.onCores {
		at := slices.IndexFunc(all.onCores, func(b onCores) bool { return a.try.Advice != nil && b.try.Advice != nil && a.cores == b.cores })
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
	lost := func(i *NoticeItem) float64 {
		if l := i.Verdicts[0].Hours.Lost; l != nil {
			return *l
		}
		return 0
	}
	return cmp.Or(cmp.Compare(lost(a), lost(b)), a.Job.End.Compare(b.Job.End), cmp.Compare(a.Job.JobID, b.Job.JobID), cmp.Compare(a.Job.Attempt, b.Job.Attempt)) > 0
}

// sure is the lower end of what the item's jobs would have saved together, core-hours.
func (i *NoticeItem) sure() (sum float64) {
	for _, a := range i.onCores {
		low := a.try.Saved.Low
		if a.try.Advice != nil {
			low = a.try.Advice.ShareOver(a.jobs).Low * a.used
		}
		sum += max(low, 0)
	}
	return sum
}

// joinBare counts jobs without a line of their own with those of the same workload, cores and
// rule that have one, and holds the others.
func (d *draft) joinBare() {
	for _, b := range d.bare {
		v := &b.job.Verdicts[b.rule]
		at := slices.IndexFunc(d.items, func(i NoticeItem) bool {
			return i.Subject == b.job.subject() && i.Try != nil && i.Try.Advice != nil && i.Verdicts[0].Rule == v.Rule && i.Try.Cores == b.job.cores
		})
		if at < 0 {
			d.hold(b.job, v.Rule, "no line to try is known")
			continue
		}
		d.items[at].Jobs++
		if v.Hours.Lost != nil {
			d.items[at].Lost += *v.Hours.Lost
		}
	}
}

// notice is what the user is told, nil for nothing.
func (d *draft) notice(jobs []Judged) *Notice {
	n := &Notice{Cluster: d.cluster, UID: d.uid, User: d.name, Reason: d.dueText(), Since: d.since, Used: d.used}
	d.joinBare()
	asked := false
	for i := range d.items {
		item := &d.items[i]
		if item.betterSince(jobs) {
			d.holdItem(item, "its newest jobs pass the rule")
			continue
		}
		item.Sure = item.sure()
		n.Sure, asked = n.Sure+item.Sure, asked || item.asked
		n.Items = append(n.Items, *item)
	}
	if why := d.tooLittle(n); len(n.Items) > 0 && why != "" && !asked {
		for i := range n.Items {
			d.holdItem(&n.Items[i], why)
		}
		return nil
	}
	if len(n.Items) == 0 {
		return nil
	}
	slices.SortFunc(n.Items, func(a, b NoticeItem) int {
		return cmp.Or(cmp.Compare(b.Sure, a.Sure), cmp.Compare(b.Lost, a.Lost), cmp.Compare(a.Subject, b.Subject))
	})
	n.More = max(0, len(n.Items)-mostItems)
	n.Items = n.Items[:min(len(n.Items), mostItems)]
	return n
}

// betterSince says whether the workload's newest jobs pass the rule that is told.
func (i *NoticeItem) betterSince(jobs []Judged) bool {
	return passedSince(jobs, &job.Told{Subject: i.Subject, Rule: i.Verdicts[0].Rule, At: i.last})
}

func (d *draft) holdItem(i *NoticeItem, why string) {
	for _, j := range i.of {
		d.hold(j, i.Verdicts[0].Rule, why)
	}
}

// tooLittle says why what a notice would save is not worth a mail, "" where it is.
func (d *draft) tooLittle(n *Notice) string {
	switch {
	case n.Sure < d.LeastCoreHours:
		return fmt.Sprintf("it all is sure to save only %.0f core-hours, and notice.least_core_hours is %.0f", n.Sure, d.LeastCoreHours)
	case n.Sure < d.LeastShare*d.used:
		return fmt.Sprintf("it all is sure to save only %.0f of %.0f core-hours used, and notice.least_share is %g", n.Sure, d.used, d.LeastShare)
	}
	return ""
}

// dueText is why the user is told now.
func (d *draft) dueText() string {
	var last time.Time
	for i := range d.sent {
		if d.sent[i].At.After(last) {
			last = d.sent[i].At
		}
	}
	if last.IsZero() {
		return "the first notice to this user"
	}
	return "the last notice was sent on " + last.UTC().Format(time.DateOnly)
}
