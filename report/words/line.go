package words

import (
	"fmt"
	"io"
	"math"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
	"jobeff/report/text"
)

// writeLine ends a text with the line, unbroken, and what it stands on; where there is none, with nothing.
func writeLine(p *text.Page, l *workload.Line, name string) {
	if line := shell.Line(l, name); line != "" {
		p.Line("")
		p.Field("Line", inert.Text(lineText(l), p.Unicode))
		p.Line(line)
	}
}

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

// NamedJobs writes what is known of a workload of jobs that left no record of a program.
func NamedJobs(w io.Writer, named *job.Workload, opts text.Options) error {
	p := text.NewPage(opts)
	s := inert.Copy(named, p.Unicode)
	p.Paragraph("", "", "Jobs named "+s.Name, p.Title)
	var f block.Facts
	newest, other := s.Jobs[len(s.Jobs)-1], 0
	for _, r := range s.Jobs {
		if r.State != "COMPLETED" {
			other++
		}
	}
	f.Add("Jobs", block.Joined(", ", figure.Counted(len(s.Jobs), "job"), figure.Count(other)+" of them not completed", of("user", s.User)))
	f.Add("Newest", fmt.Sprintf("job %s of %s: %s, %s, %s", newest.ID, figure.Minute(newest.Start), figure.Counted(newest.CPUs, "CPU"), figure.Counted(newest.Nodes, "node"),
		figure.Clock(figure.Duration(newest.Elapsed))))
	f.Add("No curve", "none of them left a record of a program: only their name and Slurm's figures bring them together")
	l, name := policy.LineOf(named)
	f.Add("No line", l.Why)
	p.Facts(f)
	writeLine(p, l, name)
	return p.To(w)
}
