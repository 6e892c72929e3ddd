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
	cores    int // of its main program
	// began are the starts of the first runs on each core count: of those that share the job's
	// curve, and of those that cannot.
	began, beganApart map[int]time.Time
	request           *policy.Request // of a flagged one
}

// NewJudged is a job, described as c, with its verdicts; study is that of its workload, or nil.
func NewJudged(j *job.Job, study *workload.Study, c *policy.Case, verdicts []policy.Verdict) Judged {
	judged := Judged{Job: j, Workload: job.WorkloadOf(j), Name: c.Workload, Program: c.Program, Verdicts: verdicts, cores: policy.CoresOf(j)}
	if !judged.flagged() {
		return judged
	}
	judged.request = c.Request
	if study != nil {
		judged.began, judged.beganApart = map[int]time.Time{}, map[int]time.Time{}
		first(study.Runs, judged.began)
		for _, split := range study.Splits {
			first(split.Runs, judged.beganApart)
		}
	}
	return judged
}

// first notes the starts of the first runs on each core count.
func first(runs []job.Run, began map[int]time.Time) {
	for i := range runs {
		n := runs[i].Cores()
		if at, known := began[n]; !known || runs[i].Start.Before(at) {
			began[n] = runs[i].Start
		}
	}
}

// advisedBy says whether the notice advised the job's core count, for work that can still share a
// curve with the job's.
func (j *Judged) advisedBy(s *Sent) bool {
	a := s.Advised[j.subject()]
	ranBefore := func(began map[int]time.Time) bool {
		at, known := began[a.Instead]
		return known && at.Before(s.At)
	}
	return a.Cores > 0 && a.Cores == j.cores && (ranBefore(j.began) || !ranBefore(j.beganApart))
}

// flagged says whether a rule flagged the job.
func (j *Judged) flagged() bool {
	return slices.ContainsFunc(j.Verdicts, func(v policy.Verdict) bool { return v.Outcome == policy.Flagged })
}

// Slim drops what only flagged jobs need; most jobs are not flagged.
func (j Judged) Slim() Judged {
	if !j.flagged() {
		j.Job = slim(j.Job)
	}
	return j
}

// slim keeps what Notices reads of a job.
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

// Held is a flagged job that nobody is told of now, and why.
type Held struct {
	Judged
	Rule   string
	Reason string
}

// tryFor is the job's request, where it answers a verdict.
func (j *Judged) tryFor(i int) *policy.Request {
	if j.request == nil || !j.request.Answers(&j.Verdicts[i]) {
		return nil
	}
	return j.request
}
