package slurm

import (
	"strings"
	"time"

	"jobeff/ingest/job"
)

// Job is one line of sacct: one attempt of a job. Times are Slurm's, in whole seconds; zero is
// unknown.
type Job struct {
	Cluster     string
	ID          string // as people write it: 123, 123_4, 123+1
	RawID       uint32
	ArrayJobID  uint32
	ArrayTaskID *uint32
	HetJobID    uint32
	HetOffset   *uint32
	UID         uint32
	User        string
	State       string // the word alone: COMPLETED, CANCELLED, …
	CancelledBy *uint32
	ExitCode    string // "0:9": exit code, signal. sacct prints exit code 137 as 9, so JSON's is read like that
	Submit      time.Time
	Eligible    time.Time     // when it could have started, if there had been room
	TimeLimit   time.Duration // 0: none, or not known
	Start       time.Time     // not known of all that ran, see ran
	End         time.Time
	Elapsed     time.Duration
	Nodes       int
	CPUs        int           // AllocCPUS
	Used        *job.CoreTime // of a job that was resized; nil: CPUs x Elapsed
	GPUs        int
	GPUUsed     *job.CoreTime // likewise; nil: GPUs x Elapsed
	TRES        string        // AllocTRES
	NodeList    string
	Account     string
	QOS         string
	Partition   string
	Name        string // hostile: it may hold anything, even line breaks
	// WithSteps says that sacct was asked for its steps, and that they are settled. Usage is
	// what they used; nil if there are none, or if the attempt has not ended.
	WithSteps bool
	Usage     *job.Usage
	StepsOpen bool // the end of a step, or what it used, is unknown
}

// ran reports whether the attempt had nodes. Slurm's database may lack the start of one that has ended
// (seen with 22.05, where slurmdbd was slow while a job was requeued).
func (j *Job) ran() bool {
	return !j.Start.IsZero() || !j.End.IsZero() && j.Nodes > 0 && j.NodeList != "" && j.NodeList != "None assigned"
}

// setEnd drops an impossible end, and the end of an attempt that goes on.
func (j *Job) setEnd() {
	if j.End.Before(j.Start) {
		j.End = time.Time{}
	}
}

// setID takes the ids of the array and the het job from the display id.
func (j *Job) setID() bool {
	if main, task, is := strings.Cut(j.ID, "_"); is {
		id, ok := parse32(main)
		if strings.HasPrefix(task, "[") {
			return ok // tasks that have not started: 123_[4-9]
		}
		n, ok2 := parse32(task)
		j.ArrayJobID, j.ArrayTaskID = id, &n
		return ok && ok2
	}
	if main, offset, is := strings.Cut(j.ID, "+"); is {
		id, ok := parse32(main)
		n, ok2 := parse32(offset)
		j.HetJobID, j.HetOffset = id, &n
		return ok && ok2
	}
	_, ok := parse32(j.ID)
	return ok
}

// setState splits "CANCELLED by 1001".
func (j *Job) setState(s string) {
	word, rest, _ := strings.Cut(s, " ")
	j.State = strings.TrimSuffix(word, "+")
	if by, ok := parse32(strings.TrimPrefix(rest, "by ")); ok {
		j.CancelledBy = &by
	}
}

// fields are asked of sacct in this order. Slurm 22.05 and later have all of them. The job's
// name comes last, since it may hold line breaks.
var fields = []string{"Cluster", "JobID", "JobIDRaw", "UID", "User", "State", "ExitCode", "Submit", "Start", "End",
	"ElapsedRaw", "NNodes", "AllocCPUS", "NodeList", "Account", "QOS", "Partition", "AllocTRES", "TotalCPU", "MaxRSS", "TRESUsageInTot", "Eligible", "TimelimitRaw", "JobName"}
