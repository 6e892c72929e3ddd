package report

import (
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/report/figure"
	"jobeff/report/measure"
)

// line is what a list has in one line: a job, or an array as far as its tasks are in the list.
type line struct {
	job.Job               // of an array its newest task
	array   *policy.Array // nil: a job
	tasks   []job.Job
	done    []job.Job // those whose figures count
}

// fold makes lines of jobs, of which the newest is the last. It returns the newest first. An array stands
// where its newest task would. With tasks each job has its line.
func fold(jobs []job.Job, tasks bool) []line {
	type array struct {
		cluster string
		id, uid uint32
	}
	of, all := map[array]int{}, []line{}
	for _, j := range slices.Backward(jobs) {
		a := array{j.Cluster, j.ArrayJobID, j.UID}
		if i, seen := of[a]; seen && !tasks && a.id > 0 {
			all[i].tasks = append(all[i].tasks, j)
			continue
		}
		of[a] = len(all)
		all = append(all, line{Job: j, tasks: []job.Job{j}})
	}
	for i := range all {
		if l := &all[i]; len(l.tasks) > 1 {
			l.array = policy.ArrayOf(l.tasks)
			l.done, _ = policy.Counting(l.tasks)
		}
	}
	return all
}

// counted are the jobs whose figures the line shows.
func (l *line) counted() []job.Job {
	if l.array == nil {
		return l.tasks
	}
	return l.done
}

// number is that of a column; nil: it is not known or, as differ says, those of tasks of several programs
// are not alike.
func (l *line) number(c *Column) (n *float64, differ bool) {
	if l.array == nil {
		return c.number(&l.Job), false
	}
	of := l.tasks
	if c.ofTasks == ofMedian {
		of = l.done
	}
	var all []float64
	for i := range of {
		if n := c.number(&of[i]); n != nil {
			all = append(all, *n)
		}
	}
	if len(all) == 0 {
		return nil, false
	}
	slices.Sort(all)
	switch {
	case c.ofTasks == ofSum:
		total := 0.0
		for _, v := range all {
			total += v
		}
		return &total, false
	case c.ofTasks == ofFirst:
		return &all[0], false
	case c.ofTasks == ofLast:
		return &all[len(all)-1], false
	case len(l.array.Parts) > 1 && all[0] != all[len(all)-1]:
		return nil, true
	}
	return some(curve.Median(all)), false
}

// differing stands where the tasks of an array have no figure in common.
const differing = "differ"

// text is a column of the line.
func (l *line) text(c *Column) string {
	switch {
	case l.array == nil:
		return c.text(&l.Job)
	case c.Name == "JobID":
		return l.array.ID
	case c.Name == "State":
		return states(l.array.States)
	case c.number != nil:
		n, differ := l.number(c)
		if differ {
			return differing
		}
		return c.written(n)
	}
	common := c.value(&l.Job)
	if slices.ContainsFunc(l.tasks, func(j job.Job) bool { return c.value(&j) != common }) {
		return differing
	}
	return common
}

// isBad says whether a column of the line is bad news.
func (l *line) isBad(c *Column) bool {
	switch c.Name {
	case "PE":
		n, _ := l.number(c)
		return n != nil && *n < figure.Line
	case "State":
		word := measure.FirstWord(l.State)
		return l.Hung != nil || l.array != nil && len(l.array.Again) > 0 || l.array == nil && slices.Contains(badStates, word)
	}
	return false
}

var badStates = []string{"BOOT_FAIL", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"}

// ShortStates are sacct's abbreviations.
var ShortStates = map[string]string{
	"BF": "BOOT_FAIL", "CA": "CANCELLED", "CD": "COMPLETED", "DL": "DEADLINE", "F": "FAILED", "NF": "NODE_FAIL",
	"OOM": "OUT_OF_MEMORY", "PD": "PENDING", "PR": "PREEMPTED", "R": "RUNNING", "RQ": "REQUEUED",
	"RS": "RESIZING", "RV": "REVOKED", "S": "SUSPENDED", "TO": "TIMEOUT",
}

// mostStates is how many states of an array's tasks stand in a line.
const mostStates = 2

// states counts the states of an array's tasks: "60 COMPLETED", "57 CD, 3 F" or "55 CD, 3 F, 2 more".
func states(all []policy.Counted) string {
	if len(all) == 1 {
		return figure.Count(all[0].Tasks) + " " + all[0].Name
	}
	var parts []string
	left := 0
	for i, s := range all {
		if i >= mostStates {
			left += s.Tasks
			continue
		}
		name := s.Name
		for short, long := range ShortStates {
			if long == s.Name {
				name = short
			}
		}
		parts = append(parts, figure.Count(s.Tasks)+" "+name)
	}
	if left > 0 {
		parts = append(parts, figure.Count(left)+" more")
	}
	return strings.Join(parts, ", ")
}
