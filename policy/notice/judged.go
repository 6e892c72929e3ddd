package notice

import (
	"cmp"
	"fmt"
	"slices"

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

// tryFor is the line of a verdict.
func (j *Judged) tryFor(i int) *Try {
	if i >= len(j.try) {
		return nil
	}
	return j.try[i]
}
