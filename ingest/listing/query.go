// Package listing holds the questions that people ask about jobs, workloads, months and the week of a
// digest, and the forms of the answers. Before it stand ingest/job, ingest/wire and policy/harm. The
// store finds the answers, server and client carry them, reports and pages show them.
package listing

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// JobQuery selects jobs for a list; a zero field does not restrict it. Each text may be a list
// with commas.
type JobQuery struct {
	Jobs      string // as slurmid.ParseSets reads it
	User      string // names or uids
	Account   string
	Partition string
	QOS       string
	Cluster   string
	State     string    // sacct's words; OUT_OF_MEMORY also finds jobs with such a step
	Program   string    // file names of programs that were measured in the job
	Rule      string    // rules that flag it, as lists show them
	Name      string    // a part of the job's name, in whatever case; no list
	Start     time.Time // jobs that ended after it, or still run
	End       time.Time // jobs that began before it
	Limit     int       // 0: the server's default
	Offset    int       // skips so many
	After     string    // begins behind this place, which the answer before gave; "": at the list's beginning
	Sort      string    // one of Sorts, the largest value first, or with - before it the smallest; "": the newest job first
	Detail    bool      // with executions; the server then returns fewer at a time
	Stored    bool      // answers a LineList or, with Tasks, a JobList, for jobeff's own commands; else documents
	Tasks     bool      // a line for each task of an array, not one for the whole array

	LeastCores, MostCores     int           // that the job was given; 0: no bound
	LeastElapsed, MostElapsed time.Duration // likewise, whole seconds
}

// Parameters maps the names of the API's parameters to a query's fields: pointers to a string, a
// time.Time, a time.Duration, an int or a bool. Fields that are zero are left out of the query.
type Parameters map[string]any

// Parameters lists all fields of the query.
func (q *JobQuery) Parameters() Parameters {
	return Parameters{"job": &q.Jobs, "user": &q.User, "account": &q.Account, "partition": &q.Partition, "qos": &q.QOS, "cluster": &q.Cluster,
		"state": &q.State, "program": &q.Program, "rule": &q.Rule, "name": &q.Name, "start": &q.Start, "end": &q.End, "limit": &q.Limit, "offset": &q.Offset,
		"after": &q.After, "sort": &q.Sort, "detail": &q.Detail, "stored": &q.Stored, "tasks": &q.Tasks, "least_cores": &q.LeastCores, "most_cores": &q.MostCores,
		"least_elapsed": &q.LeastElapsed, "most_elapsed": &q.MostElapsed}
}

// Values is the query as the API's parameters.
func (q JobQuery) Values() url.Values { return q.Parameters().values() }

func (p Parameters) values() url.Values {
	v := url.Values{}
	for name, field := range p {
		text := ""
		switch f := field.(type) {
		case *string:
			text = *f
		case *time.Time:
			if !f.IsZero() {
				text = f.UTC().Format(time.RFC3339Nano)
			}
		case *int:
			if *f > 0 {
				text = strconv.Itoa(*f)
			}
		case *time.Duration:
			if *f > 0 {
				text = strconv.FormatInt(int64(*f/time.Second), 10)
			}
		case *bool:
			if *f {
				text = "1"
			}
		}
		if text != "" {
			v.Set(name, text)
		}
	}
	return v
}

// Sorts are the fields that JobQuery.Sort may name.
var Sorts = []string{"alloccpus", "comme", "corehours", "elapsed", "lb", "lost", "nnodes", "pe", "ranks", "start"}

// Line is one line of a list: a job, or all tasks of an array that the list selects.
type Line struct {
	Jobs []job.Job `json:"jobs"` // the newest first; of a very large array not all
	Sum  Hours     `json:"sum"`  // of all; of a line that is not summed up, the number of jobs alone
}

// LinesOf makes a line of each job.
func LinesOf(jobs []job.Job) []Line {
	all := make([]Line, len(jobs))
	for i := range jobs {
		all[i] = Line{Jobs: jobs[i : i+1], Sum: Hours{Jobs: 1}}
	}
	return all
}

// Selected is what a query selects in all, beyond its limit, too.
type Selected struct {
	// Sum is nil if no stored sum answers it, and so many jobs ran in the span that their rows are not read for it.
	Sum *Hours `json:"sum_of_all,omitempty"`
	// Unjudged counts jobs if the query names rules: those that the rest of the query selects, that have ended, and
	// that the present rules have not judged. It is not known which rules flag them. MostUnjudged are that many or more.
	Unjudged int `json:"unjudged_of_all"`
}

// MostUnjudged bounds how many jobs without a verdict are counted for a list: after a change of rules they are the
// whole history.
const MostUnjudged = 10_000

// LineList is the answer to GET /v1/jobs?stored=1. Selected is filled in if the list starts at its beginning.
type LineList struct {
	Lines []Line `json:"lines"`
	Next  string `json:"next,omitempty"` // as in a JobList
	Selected
}

// JobList is the answer to GET /v1/jobs?stored=1&tasks=1.
type JobList struct {
	Jobs []job.Job `json:"jobs"`
	// More says that the limit, or the most bytes of one answer, left out jobs.
	More bool `json:"more,omitempty"`
	// Next is then the path that answers the next ones.
	Next string `json:"next,omitempty"`
	// Unjudged is as in Selected, where the query names rules.
	Unjudged int `json:"unjudged,omitempty"`
}

// After returns the place, in a list's Next, at which the next query goes on: the After of a JobQuery
// or a WorkloadQuery; "": nothing is left.
func After(next string) string {
	_, query, _ := strings.Cut(next, "?")
	v, _ := url.ParseQuery(query) // jobeffd wrote it
	return v.Get("after")
}

// Parameters lists all fields of the query.
func (q *WorkloadQuery) Parameters() Parameters {
	return Parameters{"user": &q.User, "cluster": &q.Cluster, "since": &q.Since, "muted": &q.Muted, "named": &q.Named, "limit": &q.Limit, "offset": &q.Offset, "after": &q.After, "stored": &q.Stored, "detail": &q.Detail}
}

// Values is the query as the API's parameters.
func (q WorkloadQuery) Values() url.Values { return q.Parameters().values() }

// WorkloadQuery selects workloads for a list; a zero field does not restrict it.
type WorkloadQuery struct {
	User    string    // a name or a uid
	Cluster string    // "": any
	Since   time.Time // workloads that ran after it
	Muted   bool      // only muted ones
	Named   bool      // lists NamedWorkloads, of jobs that left no record of a program, in place of the others
	Limit   int       // the ones that ran last; 0: the server's default

	Offset int    // skips so many
	After  string // as in a JobQuery
	Stored bool   // answers a WorkloadList, for jobeff's own commands; else documents
	Detail bool   // with their runs, as documents are; the server then returns fewer at a time
	Lost   bool   // the ones that lost most first; the API has no parameter for it
}

// WorkloadSummary is a workload in a list. If its jobs left no record of a program, the jobs count as its runs, and
// their CPUs as its cores.
type WorkloadSummary struct {
	Key         string    `json:"key"`
	Name        string    `json:"name"`
	Runs        int       `json:"runs"`
	FewestCores int       `json:"fewest_cores"`
	MostCores   int       `json:"most_cores"`
	CoreHours   float64   `json:"core_hours"` // sum over runs of Cores x Elapsed
	Lost        float64   `json:"-"`          // … the part that was not useful, over runs whose loss is known; -1: of none
	Newest      job.Run   `json:"newest"`
	Mute        *job.Mute `json:"mute,omitempty"` // nil: not muted

	Workload *job.Workload `json:"workload,omitempty"` // where the query asked for detail
}

// WorkloadList is the answer to GET /v1/workloads?stored=1, the workload of the newest run first.
type WorkloadList struct {
	Workloads []WorkloadSummary `json:"workloads"`
	// More says that the limit, or the most bytes of one answer, left out workloads.
	More bool `json:"more,omitempty"`
	// Next is then the path that answers the next ones.
	Next string `json:"next,omitempty"`
}

// FoundWorkload is the answer to GET /v1/workloads/NAME?stored=1.
type FoundWorkload struct {
	*job.Workload
	OfJob bool `json:"of_job,omitempty"` // NAME was the id of a job, which is Last; else it was its name or key
}

// Job is the job whose id was asked for; nil: it was a name or a key.
func (w *FoundWorkload) Job() *job.Job {
	if w.OfJob {
		return w.Last
	}
	return nil
}

// JobAndWorkload is a job with its workload and the verdicts on it: the answer to GET /v1/jobs/ID?stored=1.
type JobAndWorkload struct {
	*job.Job
	Step     bool            `json:"step,omitempty"`     // it is a step of a job: no run of a workload, and not judged
	Workload *job.Workload   `json:"workload,omitempty"` // of the main execution; nil: it belongs to none
	Verdicts json.RawMessage `json:"verdicts,omitempty"` // a list of policy.Verdict
	// Tasks are all attempts of an array's tasks, as in a list, where its id was asked for; else nil. MoreTasks:
	// only the first of them.
	Tasks     []job.Job `json:"tasks,omitempty"`
	MoreTasks bool      `json:"more_tasks,omitempty"`

	// The runs of the workload just before and after it; nil: there is none, or it was not asked for.
	Before, After *job.Run `json:"-"`
}
