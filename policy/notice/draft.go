package notice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Notices decides whom to tell now about which judged jobs, and says why the others are held. It knows no clock
// and sends nothing. sent is the log of earlier notices, in any order. jobs must hold all jobs of these users,
// since a notice weighs its savings against what they used. A workload's cool-down holds jobs that were told
// before, so they may be passed again.
func Notices(jobs []Judged, sent []Sent, settings NoticeSettings, now time.Time) (due []Notice, held []Held) {
	settings = settings.withDefaults()
	users := map[userKey]*draft{}
	for i := range jobs {
		j := &jobs[i]
		who := userKey{j.Job.Cluster, j.Job.UID}
		d := users[who]
		if d == nil {
			d = newDraft(who, sent, settings, now)
			users[who] = d
		}
		d.add(j)
	}
	for _, d := range users {
		if n := d.notice(jobs); n != nil {
			due = append(due, *n)
		}
		held = append(held, d.held...)
	}
	slices.SortFunc(due, func(a, b Notice) int { return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.UID, b.UID)) })
	slices.SortStableFunc(held, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Job.Cluster, b.Job.Cluster), cmp.Compare(a.Job.UID, b.Job.UID), cmp.Compare(a.Job.JobID, b.Job.JobID))
	})
	return due, held
}

// draft collects what one user may be told now.
type draft struct {
	userKey
	NoticeSettings
	sent   []Sent // to this user
	now    time.Time
	since  time.Time // the last notice, less lateReport; at most LookBack ago
	name   string
	used   float64 // core-hours
	items  []NoticeItem
	bare   []bare
	losses []Loss
	held   []Held
}

// bare is a flagged job without a line of its own to try. Only the newest runs of a workload are studied, so
// older jobs have none.
type bare struct {
	job  *Judged
	rule int // of its verdicts
}

// lateReport is how long a job's report may take: a job that ended less than this before the last notice may have
// been unknown then.
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
	if used := j.Job.UsedCoreHours(); used != nil {
		d.used += *used
	}
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

// tellable picks the verdicts on a job that are told: all of the site's own, with a line if there is one, and
// one other with a line to try. One cause is enough, and past the inflexion point comes before others.
func (d *draft) tellable(j *Judged) (told []policy.Verdict, try *policy.Request) {
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
			if line := j.tryFor(i); try == nil && d.badLine(j, line) == "" {
				try = line
			}
			continue
		}
		if lead < 0 || j.tryFor(i) != nil && (j.tryFor(lead) == nil || isPast(&v) && !isPast(&j.Verdicts[lead])) {
			lead = i
		}
	}
	if lead < 0 {
		return told, try
	}
	if j.tryFor(lead) == nil && !d.WithoutLine {
		d.bare = append(d.bare, bare{j, lead})
		return told, try
	}
	if why := d.badLine(j, j.tryFor(lead)); why != "" {
		d.hold(j, j.Verdicts[lead].Rule, why)
		return told, try
	}
	return slices.Insert(told, 0, j.Verdicts[lead]), j.tryFor(lead)
}

func isPast(v *policy.Verdict) bool { return strings.Contains(v.Condition, "past_inflexion") }

// badLine returns why a verdict is not told although it has a line; "": it is told.
func (d *draft) badLine(j *Judged, try *policy.Request) string {
	for i := range d.sent {
		if e := &d.sent[i]; try != nil && try.Best != nil && d.now.Sub(e.At) < workload.AdviceFor && j.advisedBy(e) {
			return fmt.Sprintf("a notice advised %s on %s", figure.Counted(j.cores, "core"), e.At.UTC().Format(time.DateOnly))
		}
	}
	switch {
	case try != nil && try.Saved != nil && try.Saved.Low <= 0:
		return "the line to try may save nothing"
	case try != nil && try.Once:
		return "the workload ran on so many cores only once, which may be a test"
	}
	return ""
}

// noGround returns why a flagged job is no ground for a notice; "": it is one.
func noGround(j *job.Job, v *policy.Verdict) string {
	switch state := j.StateWord(); {
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

// tooSoon returns why it is too soon to tell the user about a workload again; "": it is not.
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

// addTo adds a job to its workload's item, which describes the job that lost most.
func (d *draft) addTo(j *Judged, told []policy.Verdict, try *policy.Request) {
	item := NoticeItem{Subject: j.subject(), Workload: j.Workload, Name: cmp.Or(j.Name, j.Program), Job: j.Job, Verdicts: told, Try: try, Jobs: 1, last: j.Job.End,
		asked: slices.ContainsFunc(told, func(v policy.Verdict) bool { return slices.Contains(d.Asked, v.Rule) }), of: []*Judged{j}}
	if lost := told[0].Hours.Lost; lost != nil {
		item.Lost = lost.Hours()
	}
	if try != nil && try.Kind == policy.AskTogether {
		item.Lost = try.Saved.Value // copies compute all the time, in vain
	}
	if try != nil {
		item.Saving = try.Saved
		item.onCores = []onCores{newOnCores(&item)}
	}
	item.most = item.Lost
	at := slices.IndexFunc(d.items, func(i NoticeItem) bool { return i.Subject == item.Subject })
	if at < 0 {
		d.items = append(d.items, item)
		return
	}
	d.items[at] = joined(d.items[at], item)
}

// joinBare adds each job without a line to the item of its workload, cores and rule. If there is no such item,
// it holds the job and adds up what it lost.
func (d *draft) joinBare() {
	for _, b := range d.bare {
		v := &b.job.Verdicts[b.rule]
		at := slices.IndexFunc(d.items, func(i NoticeItem) bool {
			return i.Subject == b.job.subject() && i.Try != nil && i.Try.Best != nil && i.Verdicts[0].Rule == v.Rule && i.Try.Instead == b.job.cores
		})
		if at < 0 {
			d.hold(b.job, v.Rule, "no line to try is known")
			d.lose(b.job, v)
			continue
		}
		d.items[at].Jobs++
		if v.Hours.Lost != nil {
			d.items[at].Lost += v.Hours.Lost.Hours()
		}
	}
}

// notice returns what the user is told; nil: nothing.
func (d *draft) notice(jobs []Judged) *Notice {
	n := &Notice{Cluster: d.cluster, UID: d.uid, User: d.name, Reason: d.dueText(), Since: d.since, Used: d.used}
	d.joinBare()
	asked := false
	for i := range d.items {
		item := &d.items[i]
		if passedSince(jobs, &listing.Told{Subject: item.Subject, Rule: item.Verdicts[0].Rule, At: item.last}) {
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
	n.Losses = d.large()
	n.More = max(0, len(n.Items)-mostItems)
	n.Items = n.Items[:min(len(n.Items), mostItems)]
	return n
}

func (d *draft) holdItem(i *NoticeItem, why string) {
	for _, j := range i.of {
		d.hold(j, i.Verdicts[0].Rule, why)
	}
}

// tooLittle returns why the savings of a notice are not worth a mail; "": they are.
func (d *draft) tooLittle(n *Notice) string {
	switch {
	case n.Sure < d.LeastCoreHours:
		return fmt.Sprintf("all of it surely saves only %s core-hours, and notice.least_core_hours is %s", figure.Hours(n.Sure), figure.Hours(d.LeastCoreHours))
	case n.Sure < d.LeastShare*d.used:
		return fmt.Sprintf("all of it surely saves only %s of %s core-hours used, and notice.least_share is %s", figure.Hours(n.Sure), figure.Hours(d.used), figure.Percent(d.LeastShare))
	}
	return ""
}

// dueText says why the user is told now.
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
