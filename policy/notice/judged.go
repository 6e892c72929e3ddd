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

// Judged is a job with the verdicts of the rules.
type Judged struct {
	Job      *job.Job
	Workload string // key; "" where it is not known
	Name     string // of the workload
	Program  string // file name of its main program, "" where it is not known
	Verdicts []policy.Verdict
	cores    int // of its main program
	// When the first runs on each core count began: runs that share the job's curve, and runs that cannot.
	began, beganApart map[int]time.Time
	request           *policy.Request // of a flagged one
}

// NewJudged makes one of a job, its Case c and its verdicts. study is that of its workload, or nil.
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

// first notes when the first run on each core count began.
func first(runs []job.Run, began map[int]time.Time) {
	for i := range runs {
		n := runs[i].Cores()
		if at, known := began[n]; !known || runs[i].Start.Before(at) {
			began[n] = runs[i].Start
		}
	}
}

// advisedBy reports whether the notice advised the job's core count, for work that may still share a curve with
// the job's.
func (j *Judged) advisedBy(s *Sent) bool {
	a := s.Advised[j.subject()]
	ranBefore := func(began map[int]time.Time) bool {
		at, known := began[a.Instead]
		return known && at.Before(s.At)
	}
	return a.Cores > 0 && a.Cores == j.cores && (ranBefore(j.began) || !ranBefore(j.beganApart))
}

// flagged reports whether a rule flagged the job.
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

// slim keeps the fields that Notices reads.
func slim(j *job.Job) *job.Job {
	return &job.Job{Cluster: j.Cluster, JobID: j.JobID, Attempt: j.Attempt, DisplayID: j.DisplayID, UID: j.UID, User: j.User, End: j.End, State: j.State, CPUs: j.CPUs, Elapsed: j.Elapsed}
}

// subject is the unit of cool-downs: the workload, else the program.
func (j *Judged) subject() string {
	if j.Workload != "" {
		return j.Workload
	}
	return fmt.Sprintf("%s:%d:%s", j.Job.Cluster, j.Job.UID, cmp.Or(j.Program, "?"))
}

// Held is a flagged job that is not told now, and the reason.
type Held struct {
	Judged
	Rule   string
	Reason string
}

// tryFor returns the job's request if it answers verdict i.
func (j *Judged) tryFor(i int) *policy.Request {
	if j.request == nil || !j.request.Answers(&j.Verdicts[i]) {
		return nil
	}
	return j.request
}
