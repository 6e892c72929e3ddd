package words

import (
	"fmt"
	"math"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
)

// lineAction is the line for jobs of a name, and what it stands on; where there is none, nothing.
func lineAction(l *workload.Line, name string, wide bool) block.Action {
	line := shell.Line(l, name)
	if line == "" {
		return block.Action{}
	}
	return block.Action{Text: inert.Text(lineText(l), wide), Line: line}
}

// lineAsk is how a request for the line begins; its text follows.
const lineAsk = "For memory and time, this line "

// lineText says what the line stands on, and what a job like its job does not hold with it.
func lineText(l *workload.Line) string {
	like, run := "job ", "run"
	if l.Array {
		like, run = "array ", "task"
	}
	like += l.Like.ID
	said := fmt.Sprintf("would have fitted %s, with a reserve of %s on the most memory and of %s on the longest time.",
		figure.Counted(l.Runs, "completed "+run)+map[bool]string{true: " with its arguments"}[l.Arguments], figure.Percent(l.MemoryReserve), figure.Percent(l.TimeReserve))
	var frees, lacks []string
	memory, cores := l.Freed()
	for _, part := range []struct {
		hours float64
		unit  string
	}{{memory, "GiB-hours of memory"}, {cores, "core-hours"}} {
		hours := figure.Hours(math.Abs(part.hours))
		switch {
		case hours == figure.Hours(0):
		case part.hours > 0:
			frees = append(frees, hours+" "+part.unit)
		default:
			lacks = append(lacks, hours+" "+part.unit)
		}
	}
	switch was := time.Duration(l.Like.Limit) * time.Second; {
	case was > l.Time:
		frees = append(frees, fmt.Sprintf("%s of its time limit of %s", figure.Clock(was-l.Time), figure.Clock(was)))
	case was > 0 && was < l.Time:
		lacks = append(lacks, fmt.Sprintf("%s of time", figure.Clock(l.Time-was)))
	}
	if len(frees) > 0 {
		said += fmt.Sprintf(" %s would have left %s to others.", upperFirst(like), figure.And(frees))
	}
	if len(lacks) > 0 {
		said += fmt.Sprintf(" It asks for %s more than %s had.", figure.And(lacks), like)
	}
	return said
}

// NamedJobs is what is known of a workload of jobs that left no record of a program.
type NamedJobs struct {
	Title string
	Facts block.Facts
	Line  block.Action // for sbatch
}

// OfNamedJobs says it.
func OfNamedJobs(named *job.Workload, wide bool) NamedJobs {
	s := inert.Copy(named, wide)
	l, name := policy.LineOf(named)
	n := NamedJobs{Title: "Jobs named " + s.Name, Line: lineAction(l, name, wide)}
	newest, other := s.Jobs[len(s.Jobs)-1], 0
	for _, r := range s.Jobs {
		if r.State != "COMPLETED" {
			other++
		}
	}
	n.Facts.Add("Jobs", block.Joined(", ", figure.Counted(len(s.Jobs), "job"), figure.Count(other)+" of them not completed", of("user", s.User)))
	n.Facts.Add("Newest", fmt.Sprintf("job %s of %s: %s, %s, %s", newest.ID, figure.Minute(newest.Start), figure.Counted(newest.CPUs, "CPU"), figure.Counted(newest.Nodes, "node"),
		figure.Clock(figure.Duration(newest.Elapsed))))
	n.Facts.Add("No curve", "none of them left a record of a program: only their name and Slurm's figures bring them together")
	n.Facts.Add("No line", l.Why)
	return n
}
