package notice

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
)

// Judged is a job with what the rules say of it.
type Judged struct {
	Job      *job.Job
	Workload string // key; "" where it is not known
	Name     string // of the workload
	Program  string // file name of its main program, "" where it is not known
	Verdicts []policy.Verdict
	cores    int    // of its main program
	try      []*Try // by verdict; nil where it names no line
}

// NewJudged asks the rules about a job; study is that of its workload, or nil.
func NewJudged(r *policy.Rules, j *job.Job, study *workload.Study) Judged {
	c := policy.Describe(j, study)
	judged := Judged{Job: j, Workload: job.WorkloadOf(j), Name: c.Workload, Program: c.Program, Verdicts: r.JudgeCase(c), cores: coresOf(j)}
	for i := range judged.Verdicts {
		judged.try = append(judged.try, tryOf(j, &judged.Verdicts[i], study))
	}
	return judged
}

// flagged says whether a rule flagged the job.
func (j *Judged) flagged() bool {
	return slices.ContainsFunc(j.Verdicts, func(v policy.Verdict) bool { return v.Outcome == policy.Flagged })
}

// Slim is the job without what only a flagged one is asked for: there are many of the others.
func (j Judged) Slim() Judged {
	if !j.flagged() {
		j.Job = slim(j.Job)
	}
	return j
}

// slim is what Notices reads of a job itself.
func slim(j *job.Job) *job.Job {
	return &job.Job{Cluster: j.Cluster, JobID: j.JobID, Attempt: j.Attempt, DisplayID: j.DisplayID, UID: j.UID, User: j.User, End: j.End, State: j.State, CPUs: j.CPUs, Elapsed: j.Elapsed}
}

// subject is what a user is told of once in a cool-down: the workload, else the program.
func (j *Judged) subject() string {
	if j.Workload != "" {
		return j.Workload
	}
	return fmt.Sprintf("%s:%d:%s", j.Job.Cluster, j.Job.UID, cmp.Or(j.Program, "?"))
}

// Sent is what was told to a user: one notice.
type Sent struct {
	Cluster  string
	UID      uint32
	At       time.Time
	Subjects []string // of its items
}

// Notice is what one user is told now.
type Notice struct {
	Cluster string
	UID     uint32
	User    string // the name; "" where it is not known
	Reason  string // why now
	Since   time.Time
	Items   []NoticeItem // at most mostItems, those that save most first
	More    int          // items that are left out
	Sure    float64      // core-hours that all items are sure to save: the sum of the lower ends
	Used    float64      // core-hours of all the user's jobs since then
}

// mostItems is what a person reads of a mail.
const mostItems = 5

// Sent is the notice as the log keeps it, once it was sent.
func (n *Notice) Sent(at time.Time) Sent {
	s := Sent{Cluster: n.Cluster, UID: n.UID, At: at}
	for _, i := range n.Items {
		s.Subjects = append(s.Subjects, i.Subject)
	}
	return s
}

// Held is a flagged job that nobody is told of now, and why.
type Held struct {
	Judged
	Rule   string
	Reason string
}

// Notices decides who is told what now of the judged jobs, and why not the others. It
// knows no clock and sends nothing: sent is the log of what was, in any order. jobs are all
// of the users' jobs of that time, since a notice weighs what it saves against what was used.
// A job whose notice was sent is held by its workload's cool-down, so handing it in again
// does no harm.
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

type userKey struct {
	cluster string
	uid     uint32
}
