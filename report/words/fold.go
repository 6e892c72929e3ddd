package words

import (
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/report/figure"
)

// line is a line of a list: a job, or the tasks of an array that the list selects.
type line struct {
	job.Job               // for an array, its newest task
	array   *policy.Array // nil: a job
	tasks   []job.Job
	done    []job.Job     // the tasks whose figures count
	sum     listing.Hours // of all tasks, even if the array is too large to list them
}

func linesOf(given []listing.Line) []line {
	all := make([]line, len(given))
	for i, g := range given {
		all[i] = line{Job: g.Jobs[0], tasks: g.Jobs, sum: g.Sum}
		if l := &all[i]; len(g.Jobs) > 1 {
			l.array = policy.ArrayOf(l.tasks)
			l.done, _ = policy.Counting(l.tasks)
		}
	}
	return all
}

// counted returns the jobs whose figures the line shows.
func (l *line) counted() []job.Job {
	if l.array == nil {
		return l.tasks
	}
	return l.done
}

// number returns the line's number in a column; nil: it is not known or, if differ, differs between tasks of
// several programs.
func (l *line) number(c *Column) (n *float64, differ bool) {
	if l.array == nil {
		return c.number(&l.Job), false
	}
	of := l.tasks
	if c.ofTasks == ofMean {
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
	total := 0.0
	for _, v := range all {
		total += v
	}
	switch {
	case c.ofTasks == ofSum && l.sum.Jobs > len(l.tasks):
		return map[string]*float64{"CoreHours": &l.sum.Used, "Lost": &l.sum.Lost, "GPUHours": &l.sum.GPU, "GPUIdle": &l.sum.GPUIdle}[c.Name], false
	case c.ofTasks == ofSum:
		return &total, false
	case c.ofTasks == ofFirst:
		return &all[0], false
	case c.ofTasks == ofLast:
		return &all[len(all)-1], false
	case len(l.array.Parts) > 1 && all[0] != all[len(all)-1]:
		return nil, true
	}
	return some(total / float64(len(all))), false
}

// differing is written if the tasks of an array share no figure.
const differing = "differ"

// text writes a column of the line.
func (l *line) text(c *Column) string {
	switch {
	case l.array == nil:
		return c.text(&l.Job)
	case c.Name == "JobID":
		return l.array.ID
	case c.Name == "State":
		return l.states()
	case c.Name == "Flags":
		return l.flags()
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

// flags counts the rules that flag an array's tasks. If none does, some tasks may not be judged yet.
func (l *line) flags() string {
	var all []string
	for _, f := range l.array.Flags {
		all = append(all, figure.Count(f.Tasks)+" "+f.Name)
	}
	switch {
	case len(all) > 0:
		return strings.Join(all, ", ")
	case slices.ContainsFunc(l.tasks, func(j job.Job) bool { return j.Flags == nil }):
		return flags(new(job.Job))
	}
	return flags(&l.Job)
}

// isBad reports whether a column of the line is bad news.
func (l *line) isBad(c *Column) bool {
	switch c.Name {
	case "PE":
		n, _ := l.number(c)
		return n != nil && *n < figure.Line
	case "State":
		return l.Hung != nil || l.array != nil && len(l.array.Again) > 0 || l.array == nil && slices.Contains(badStates, l.StateWord())
	}
	return false
}

var badStates = []string{"BOOT_FAIL", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"}

// ShortStates maps sacct's abbreviations to its states.
var ShortStates = map[string]string{
	"BF": "BOOT_FAIL", "CA": "CANCELLED", "CD": "COMPLETED", "DL": "DEADLINE", "F": "FAILED", "NF": "NODE_FAIL",
	"OOM": "OUT_OF_MEMORY", "PD": "PENDING", "PR": "PREEMPTED", "R": "RUNNING", "RQ": "REQUEUED",
	"RS": "RESIZING", "RV": "REVOKED", "S": "SUSPENDED", "TO": "TIMEOUT",
}

// mostStates bounds the states of an array's tasks that a line names.
const mostStates = 2

// states counts the states of an array's tasks: "60 COMPLETED", "57 CD, 3 F" or "55 CD, 3 F, 2 more".
func (l *line) states() string {
	all, left := l.array.States, max(l.sum.Jobs-len(l.tasks), 0)
	if len(all) == 1 && left == 0 {
		return figure.Count(all[0].Tasks) + " " + all[0].Name
	}
	var parts []string
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
