package notice

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// Judged is a job with what the rules say of it.
type Judged struct {
	Job      *job.Job
	Workload string // key; "" where it is not known
	Name     string // of the workload
	Program  string // file name of its main program, "" where it is not known
	Verdicts []policy.Verdict
}

// NewJudged asks the rules about a job; study is that of its workload, or nil.
func NewJudged(r *policy.Rules, j *job.Job, study *workload.Study) Judged {
	c := policy.Describe(j, study)
	return Judged{Job: j, Workload: job.WorkloadOf(j), Name: c.Workload, Program: c.Program, Verdicts: r.JudgeCase(c)}
}

// subject is what a user is told of once in a cool-down: the workload, else the program.
func (j *Judged) subject() string {
	if j.Workload != "" {
		return j.Workload
	}
	return fmt.Sprintf("%s:%d:%s", j.Job.Cluster, j.Job.UID, cmp.Or(j.Program, "?"))
}

// NoticeSettings say how often people are told. The zero value is what jobeff does.
type NoticeSettings struct {
	Period   time.Duration // least time between two notices to a user; 0 means a week
	CoolDown time.Duration // least time between two about one workload; 0 means four weeks
}

const week = 7 * 24 * time.Hour

func (s NoticeSettings) withDefaults() NoticeSettings {
	if s.Period <= 0 {
		s.Period = week
	}
	if s.CoolDown <= 0 {
		s.CoolDown = 4 * week
	}
	return s
}

// Sent is what was told to a user: one notice.
type Sent struct {
	Cluster  string
	UID      uint32
	At       time.Time
	Subjects []string // of its items
}

// Notice is what one user shall be told now.
type Notice struct {
	Cluster string
	UID     uint32
	User    string // the name; "" where it is not known
	Reason  string // why now
	Items   []NoticeItem
}

// Sent is the notice as the log keeps it, once it was sent.
func (n *Notice) Sent(at time.Time) Sent {
	s := Sent{Cluster: n.Cluster, UID: n.UID, At: at}
	for _, i := range n.Items {
		s.Subjects = append(s.Subjects, i.Subject)
	}
	return s
}

// NoticeItem is one workload of a notice, told by the job that lost most.
type NoticeItem struct {
	Subject  string // what the cool-down counts
	Workload string // key; "" where it is not known
	Name     string // of the workload
	Job      *job.Job
	Verdicts []policy.Verdict // that flagged it, in the rules' order
	Jobs     int              // of the workload that were flagged
	Lost     float64          // core-hours that they lost in sum, where it is known
	Saving   *curve.Estimate  // core-hours that the job would have saved; nil: not determined
}

// Held is a flagged job that nobody is told of now, and why.
type Held struct {
	Job    *job.Job
	Rule   string
	Reason string
}

// Notices decides who is told what now of the judged jobs, and why not the others. It
// knows no clock and sends nothing: sent is the log of what was, in any order. Only
// verdicts that are sure, not muted and not in shadow are told. A job whose notice was
// sent is held by its workload's cool-down, so handing it in again does no harm.
func Notices(jobs []Judged, sent []Sent, settings NoticeSettings, now time.Time) (due []Notice, held []Held) {
	settings = settings.withDefaults()
	byUser := map[userKey][]NoticeItem{}
	names := map[userKey]string{}
	for i := range jobs {
		j := &jobs[i]
		flagged, no := tellable(j)
		held = append(held, no...)
		if len(flagged) == 0 {
			continue
		}
		who := userKey{j.Job.Cluster, j.Job.UID}
		if yes, why := needsNotice(who, j.subject(), sent, settings, now); !yes {
			for _, v := range flagged {
				held = append(held, Held{j.Job, v.Rule, why})
			}
			continue
		}
		names[who] = cmp.Or(j.Job.User, names[who])
		byUser[who] = withJob(byUser[who], j, flagged)
	}
	for who, items := range byUser {
		slices.SortFunc(items, func(a, b NoticeItem) int {
			return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(a.Subject, b.Subject))
		})
		due = append(due, Notice{Cluster: who.cluster, UID: who.uid, User: names[who], Items: items, Reason: dueText(who, sent)})
	}
	slices.SortFunc(due, func(a, b Notice) int { return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.UID, b.UID)) })
	return due, held
}

type userKey struct {
	cluster string
	uid     uint32
}

// tellable parts the verdicts that flagged a job into those that may be told and others.
func tellable(j *Judged) (told []policy.Verdict, held []Held) {
	for _, v := range j.Verdicts {
		why := ""
		switch {
		case v.Outcome != policy.Flagged:
			continue
		case v.Shadow:
			why = "the rule is in shadow"
		case v.Muted != nil:
			why = "its owner muted the workload until " + v.Muted.UTC().Format(time.DateOnly)
		case v.Confidence != policy.Sure:
			why = "the verdict is not sure"
			if len(v.Doubts) > 0 {
				why += ": " + v.Doubts[0]
			}
		}
		if why != "" {
			held = append(held, Held{j.Job, v.Rule, why})
			continue
		}
		told = append(told, v)
	}
	return told, held
}

// needsNotice says whether a user is to be told of a workload now, and why.
func needsNotice(who userKey, subject string, sent []Sent, s NoticeSettings, now time.Time) (bool, string) {
	for i := range sent {
		e := &sent[i]
		if (userKey{e.Cluster, e.UID}) != who || e.At.After(now) {
			continue
		}
		if slices.Contains(e.Subjects, subject) && now.Sub(e.At) < s.CoolDown {
			return false, "its owner was told of this workload on " + e.At.UTC().Format(time.DateOnly)
		}
		if now.Sub(e.At) < s.Period {
			return false, "its owner was sent a notice on " + e.At.UTC().Format(time.DateOnly)
		}
	}
	return true, dueText(who, sent)
}

// dueText is why a user is told now.
func dueText(who userKey, sent []Sent) string {
	var last time.Time
	for i := range sent {
		if (userKey{sent[i].Cluster, sent[i].UID}) == who && sent[i].At.After(last) {
			last = sent[i].At
		}
	}
	if last.IsZero() {
		return "the first notice to this user"
	}
	return "the last notice was sent on " + last.UTC().Format(time.DateOnly)
}

// withJob adds a flagged job to its workload's item, which speaks of the one that lost
// most.
func withJob(items []NoticeItem, j *Judged, flagged []policy.Verdict) []NoticeItem {
	item := NoticeItem{Subject: j.subject(), Workload: j.Workload, Name: cmp.Or(j.Name, j.Program), Job: j.Job, Verdicts: flagged, Jobs: 1}
	if lost := flagged[0].Hours.Lost; lost != nil {
		item.Lost = *lost
	}
	for _, v := range flagged {
		for _, r := range v.Recommended {
			if r.Saved != nil && (item.Saving == nil || r.Saved.Value > item.Saving.Value) {
				item.Saving = r.Saved
			}
		}
	}
	for i := range items {
		was := &items[i]
		if was.Subject != item.Subject {
			continue
		}
		jobs, sum := was.Jobs+1, was.Lost+item.Lost
		if losesMore(&item, was) {
			*was = item
		}
		was.Jobs, was.Lost = jobs, sum
		return items
	}
	return append(items, item)
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
