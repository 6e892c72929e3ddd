package job

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// JobRef is a job, or a step of one, as people name it.
type JobRef struct {
	ID        uint32  // 123: the raw id, or the array's or het job's own
	ArrayTask *uint32 // 123_4
	HetOffset *uint32 // 123+1
	Step      string  // decimal, "batch", "extern" or "interactive"; "" the whole job
}

// ParseJobID reads 123, 123_4 or 123+1, and each of them with a step: 123.0, 123.batch,
// 123_4.extern.
func ParseJobID(s string) (JobRef, error) {
	bad := func(why string) (JobRef, error) {
		return JobRef{}, fmt.Errorf("%s is not a job id (%s): give 123, 123_4 (a task of an array), 123+1 (a part of a het job), or a step, 123.0 or 123.batch", quoteShort(s), why)
	}
	var r JobRef
	job, step, hasStep := strings.Cut(strings.TrimSpace(s), ".")
	if hasStep {
		if r.Step = NormalStep(step); r.Step == "" {
			return bad("after the point stands no step")
		}
	}
	job, sub, sep := cutAny(job, "_+")
	id, ok := parseID(job)
	if number := job[:len(job)-len(strings.TrimLeft(job, "0123456789"))]; !ok && number != "" && number != job {
		return bad(fmt.Sprintf("after %s stands %s", quoteShort(number), quoteShort(job[len(number):])))
	}
	if !ok || id == 0 {
		return bad("it begins with no number above 0")
	}
	r.ID = id
	if sep == 0 {
		return r, nil
	}
	n, ok := parseID(sub)
	if !ok {
		return bad(fmt.Sprintf("after %q stands no number", string(sep)))
	}
	if sep == '_' {
		r.ArrayTask = &n
	} else {
		r.HetOffset = &n
	}
	return r, nil
}

// String is the reference as ParseJobID reads it.
func (r JobRef) String() string {
	s := strconv.FormatUint(uint64(r.ID), 10)
	if r.ArrayTask != nil {
		s += "_" + strconv.FormatUint(uint64(*r.ArrayTask), 10)
	}
	if r.HetOffset != nil {
		s += "+" + strconv.FormatUint(uint64(*r.HetOffset), 10)
	}
	if r.Step != "" {
		s += "." + r.Step
	}
	return s
}

// JobSet selects jobs as people name them: one, all of an array or a het job, or a range of an
// array's tasks.
type JobSet struct {
	JobRef
	Tasks []TaskRange // of 123_[1-3,7]; empty: as JobRef says
}

// TaskRange is first, first+step … up to last.
type TaskRange struct{ First, Last, Step uint32 }

// mostJobSets bounds a selection.
const mostJobSets = 1000

// ParseJobSets reads a list of jobs, "123,124_4,125_[1-3,7],126+0", as sacct does. A step in
// the list is an error.
func ParseJobSets(s string) ([]JobSet, error) {
	var all []JobSet
	for _, item := range splitOutside(s, ',') {
		set, err := parseJobSet(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if all = append(all, set); len(all) > mostJobSets {
			return nil, fmt.Errorf("more than %d jobs are named: ask for them in parts", mostJobSets)
		}
	}
	return all, nil
}

// Single tells whether s names one job or step.
func Single(s string) bool { return !strings.ContainsAny(s, ",[") }

func parseJobSet(s string) (JobSet, error) {
	job, tasks, ranges := strings.Cut(s, "_[")
	if !ranges {
		ref, err := ParseJobID(s)
		if err == nil && ref.Step != "" {
			err = fmt.Errorf("%s is a step: a list shows whole jobs, ask for the step alone", quoteShort(s))
		}
		return JobSet{JobRef: ref}, err
	}
	ref, err := ParseJobID(job)
	tasks, closed := strings.CutSuffix(tasks, "]")
	tasks, _, _ = strings.Cut(tasks, "%") // sbatch's limit of tasks at once
	if err != nil || !closed || ref.ArrayTask != nil || ref.HetOffset != nil || ref.Step != "" {
		return JobSet{}, fmt.Errorf("%s is no range of an array's tasks: write it like 123_[1-3,7]", quoteShort(s))
	}
	set := JobSet{JobRef: ref}
	for item := range strings.SplitSeq(tasks, ",") {
		r, ok := parseTaskRange(item)
		if !ok || len(set.Tasks) >= mostJobSets {
			return JobSet{}, fmt.Errorf("%s is no range of an array's tasks: write it like 123_[1-3,7]", quoteShort(s))
		}
		set.Tasks = append(set.Tasks, r)
	}
	return set, nil
}

// parseTaskRange reads 7, 1-3 or 0-15:4.
func parseTaskRange(s string) (r TaskRange, ok bool) {
	span, step, stepped := strings.Cut(s, ":")
	first, last, isSpan := strings.Cut(span, "-")
	if !isSpan {
		last = first
	}
	var ok1, ok2 bool
	r.First, ok1 = parseID(first)
	r.Last, ok2 = parseID(last)
	r.Step, ok = 1, true
	if stepped {
		r.Step, ok = parseID(step)
	}
	return r, ok && ok1 && ok2 && r.Step > 0 && r.First <= r.Last
}

// splitOutside splits s at separators outside of brackets.
func splitOutside(s string, separator byte) []string {
	var parts []string
	from, depth := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == '[':
			depth++
		case s[i] == ']':
			depth--
		case s[i] == separator && depth <= 0:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	return append(parts, s[from:])
}

// NormalStep returns the canonical spelling of a step; "" if s names none.
func NormalStep(s string) string {
	switch s {
	case "batch", "extern", "interactive":
		return s
	}
	n, ok := parseID(s)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10)
}

// parseID reads a decimal number of 32 bits without sign or blanks.
func parseID(s string) (uint32, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// cutAny cuts s at the first of the separators; sep is 0 if there is none.
func cutAny(s, separators string) (before, after string, sep byte) {
	i := strings.IndexAny(s, separators)
	if i < 0 {
		return s, "", 0
	}
	return s[:i], s[i+1:], s[i]
}

// quoteShort quotes what a person typed, shortened and harmless.
func quoteShort(s string) string {
	if len(s) > 40 {
		s = s[:40] + "..."
	}
	return strconv.QuoteToASCII(s)
}

// JobQuery selects jobs for a list; a zero field does not restrict it. Each text may be a list
// with commas.
type JobQuery struct {
	Jobs      string // as ParseJobSets reads it
	User      string // names or uids
	Account   string
	Partition string
	QOS       string
	Cluster   string
	State     string    // sacct's words; OUT_OF_MEMORY also finds jobs with such a step
	Program   string    // file names of programs of which the job has figures
	Rule      string    // rules that flag it, as lists show that
	Name      string    // a part of the job's name, in whatever case; no list
	Start     time.Time // jobs that ended after it, or still run
	End       time.Time // jobs that began before it
	Limit     int       // 0: the server's default
	Offset    int       // skips so many
	After     string    // the place behind which it begins, from the answer before; "": the whole list
	Sort      string    // a field of which the most comes first, with - before it the least; "": the newest first
	Detail    bool      // with executions; the server then returns fewer at a time
	Stored    bool      // a LineList or, with Tasks, a JobList, as jobeff's own commands want it; else documents
	Tasks     bool      // a line for each task of an array, where it would be one

	LeastCores, MostCores     int           // that it was given; 0: no bound
	LeastElapsed, MostElapsed time.Duration // likewise, whole seconds
}

// Parameters are the fields of a query by the names of the API's parameters: pointers to a string,
// a time.Time, a time.Duration, an int or a bool. A field that is zero is not in the query.
type Parameters map[string]any

// Parameters are all of the query.
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

// Line is what a list has in one line: a job, or of an array all tasks that the list selects.
type Line struct {
	Jobs []Job `json:"jobs"` // the newest first; of a very large array not all
	Sum  Hours `json:"sum"`  // of all; of a job that is not summed up, Jobs alone
}

// LinesOf makes a line of each job.
func LinesOf(jobs []Job) []Line {
	all := make([]Line, len(jobs))
	for i := range jobs {
		all[i] = Line{Jobs: jobs[i : i+1], Sum: Hours{Jobs: 1}}
	}
	return all
}

// Selected is what a query selects in all, beyond its limit, too.
type Selected struct {
	Lines int   `json:"lines_of_all"`
	Sum   Hours `json:"sum_of_all"`
	// Unjudged are the jobs that have ended and that the present rules have not judged, so that it is not known which flag
	// them. Where the query names rules, they are of what it selects but for these.
	Unjudged int `json:"unjudged_of_all"`
}

// LineList is the answer to GET /v1/jobs?stored=1. Selected is that of a list from its beginning.
type LineList struct {
	Lines []Line `json:"lines"`
	Next  string `json:"next,omitempty"` // as in a JobList
	Selected
}

// JobList is the answer to GET /v1/jobs?stored=1&tasks=1.
type JobList struct {
	Jobs []Job `json:"jobs"`
	// More says that the limit, or the most bytes of one answer, left out jobs.
	More bool `json:"more,omitempty"`
	// Next is then the path that answers the next ones.
	Next string `json:"next,omitempty"`
	// Unjudged is as in Selected, where the query names rules.
	Unjudged int `json:"unjudged,omitempty"`
}

// After is JobQuery.After, or a WorkloadQuery's, for a list's Next; "": nothing is left.
func After(next string) string {
	_, query, _ := strings.Cut(next, "?")
	v, _ := url.ParseQuery(query) // jobeffd wrote it
	return v.Get("after")
}

// Parameters are all of the query.
func (q *WorkloadQuery) Parameters() Parameters {
	return Parameters{"user": &q.User, "since": &q.Since, "muted": &q.Muted, "named": &q.Named, "limit": &q.Limit, "offset": &q.Offset, "after": &q.After, "detail": &q.Detail}
}

// Values is the query as the API's parameters.
func (q WorkloadQuery) Values() url.Values { return q.Parameters().values() }
