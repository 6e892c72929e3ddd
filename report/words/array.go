package words

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/shell"
)

// Array sums up the tasks of an array in words.
type Array struct {
	Name     string // name of its jobs
	Headline block.Headline
	Line     block.Action // for sbatch; without one, there is no request
	Facts    block.Facts  // the first one names the array
	Programs []block.Part // how the figures of each program's tasks are distributed
	Worst    block.Part   // the tasks that lost most
	Again    block.Action // runs failed tasks again; without a text, none failed
	Further  string       // how to see one of its tasks, or all
}

// OfArray sums up the attempts of an array, read like a list but with their programs. cut means that there are
// more tasks.
func OfArray(attempts []job.Job, cut, wide bool) Array {
	j := inert.Copy(&attempts[0], wide)
	v := &arrayView{Array: policy.ArrayOf(attempts), name: j.Name, example: j.DisplayID}
	if len(v.Worst) > 0 {
		v.example = v.Worst[0].DisplayID
	}
	a := Array{Name: v.name, Headline: block.Headline{Text: inert.Text(v.verdict(), wide), Bad: len(v.Again) > 0}, Line: requestAction(v.Request, wide),
		Facts: v.facts(j, cut, wide), Again: v.rerun(wide), Further: fmt.Sprintf("jobeff %s shows one of its tasks, jobeff %s --tasks lists them all.", v.example, v.ID)}
	for i := range v.Parts[:min(listed, len(v.Parts))] {
		a.Programs = append(a.Programs, v.part(&v.Parts[i], wide))
	}
	if left := more(len(v.Parts)-listed, "program", "of fewer tasks"); left != "" {
		a.Programs[listed-1].Notes = append(a.Programs[listed-1].Notes, left)
	}
	if len(v.Worst) > 0 {
		a.Worst = v.worst()
	}
	return a
}

// arrayView is an array with its name and an example.
type arrayView struct {
	*policy.Array
	name, example string // a task to look at
}

// ends words the states of tasks.
var ends = map[string]string{"COMPLETED": "completed", "FAILED": "failed", "TIMEOUT": "reached the time limit", "OUT_OF_MEMORY": "ran out of memory",
	"CANCELLED": "cancelled", "NODE_FAIL": "lost a node", "RUNNING": "running", "PREEMPTED": "preempted", "DEADLINE": "reached the deadline", "SUSPENDED": "suspended"}

func endsText(states []policy.Counted) string {
	var all []string
	for _, s := range states {
		word := ends[s.Name]
		if word == "" {
			word = s.Name
		}
		all = append(all, figure.Count(s.Tasks)+" "+word)
	}
	return figure.And(all)
}

// verdict says how the tasks ended, and what they lost.
func (v *arrayView) verdict() string {
	said := fmt.Sprintf("%s: %s.", figure.Counted(v.Tasks, "task"), endsText(v.States))
	programs := len(slices.DeleteFunc(slices.Clone(v.Parts), func(p policy.ArrayPart) bool { return p.Program == "" }))
	switch {
	case programs > 1:
		said += fmt.Sprintf(" They ran %s, whose figures stand apart.", figure.Counted(programs, "different program"))
	case programs < len(v.Parts) && programs > 0:
		said += " Some left no record of a program, and stand apart."
	}
	switch h := v.Hours; {
	case h.Used == 0:
	case h.Judged == 0:
		said += fmt.Sprintf(" They used %s core-hours; of none is it known what was lost.", figure.Hours(h.Used))
	default:
		said += fmt.Sprintf(" They used %s core-hours; %s were lost of %s that were judged (%s).", figure.Hours(h.Used), figure.Hours(h.Lost), figure.Hours(h.Judged), figure.Part(h.Lost, h.Judged))
	}
	return block.Joined(" ", said, GPUHoursText("", v.Hours))
}

// facts say who owns the array, and what each task was given.
func (v *arrayView) facts(j *job.Job, cut, wide bool) block.Facts {
	f := block.Facts{{Label: "Array", Strong: v.ID, Text: v.name}}
	f.Add("User", block.Joined(", ", j.User, of("account", j.Account), of("partition", j.Partition), of("QOS", j.QOS)))
	switch {
	case v.Begun.IsZero():
	case v.End.IsZero():
		f.Add("Time", "since "+figure.Minute(v.Begun)+"; some of its tasks run, and their figures so far do not count below")
	default:
		f.Add("Time", figure.Span(v.Begun, v.End))
	}
	if j.CPUs > 0 && j.Nodes > 0 {
		f.Add("Size", fmt.Sprintf("%s on %s for each task", figure.Counted(j.CPUs, "core"), figure.Counted(j.Nodes, "node")))
	}
	known := cmp.Or(waitsText(j.Pending), "Tasks that have not begun are not summed up here; squeue lists them.")
	if cut {
		known = "Only its first " + figure.Counted(v.Tasks, "task") + " are summed up here."
	}
	f.Add("Tasks", known)
	var flags []string
	for _, c := range v.Flags {
		flags = append(flags, c.Name+" flags "+figure.Counted(c.Tasks, "task"))
	}
	if len(flags) > 0 {
		f.Add("Rules", strings.Join(flags, ", ")+"; jobeff explain "+v.example+" says why of one")
	}
	f.Add("No line", v.Request.Why)
	return f.Inert(wide)
}

// mostProgram bounds the columns of a program's name in a heading.
const mostProgram = 40

// part is a table of how the figures of one program's tasks are distributed.
func (v *arrayView) part(p *policy.ArrayPart, wide bool) block.Part {
	which := "completed "
	if !p.Completed {
		which = "ended "
	}
	b := block.Part{Heading: upperFirst(figure.Counted(p.Of, which+"task"))}
	if len(v.Parts) > 1 || p.Program != "" {
		program := "without a record of a program"
		if p.Program != "" {
			program = "of " + pretty.Snip(inert.Text(filepath.Base(p.Program), wide), mostProgram, "~")
		}
		b.Heading += " " + program
	}
	if p.Program != "" {
		b.Notes = append(b.Notes, "Program: "+inert.Text(p.Program, wide))
	}
	efficiency := "parallel efficiency"
	if p.Threaded {
		efficiency = "parallel efficiency*"
		b.Notes = append(b.Notes, "*: of MPI on the host only, where threads and GPUs are not measured")
	}
	t := block.Table{Heads: []string{"<figure", "least", "median", "mean", "most", "tasks"}}
	for _, row := range []struct {
		name  string
		s     policy.Spread
		write func(float64) string
	}{
		{efficiency, p.Efficiency, figure.Efficiency}, {"CPU efficiency", p.CPU, figure.Efficiency},
		{"needed memory", p.Memory, figure.BytesAlike(p.Memory.Least)}, {"time", p.Time, figure.SecondsAlike(p.Time.Least, p.Time.Most)},
	} {
		if row.s.Tasks > 0 {
			t.Rows = append(t.Rows, []string{row.name, row.write(row.s.Least), row.write(row.s.Median), row.write(row.s.Mean), row.write(row.s.Most), figure.Count(row.s.Tasks)})
		}
	}
	if len(t.Rows) == 0 {
		b.Notes = append(b.Notes, "Nothing is known of them.")
		return b
	}
	b.Tables = []block.Table{t}
	return b
}

// worst lists the tasks that lost most.
func (v *arrayView) worst() block.Part {
	b, lost := block.Part{Heading: "Tasks that lost most core-hours"}, (*job.Job).LostCoreHours
	if v.Idle {
		b.Heading, lost = "Tasks that left most core-hours idle", policy.IdleCoreHours
		b.Notes = append(b.Notes, "Idle: their cores were not busy, as Slurm counts it. How much of the rest was useful is not known.")
	}
	t := jobsTable(v.Worst, shown("jobid,state,elapsed,pe,cpueff"), false)
	t.Heads = append(t.Heads, "core-hours")
	for i := range v.Worst {
		t.Rows[i] = append(t.Rows[i], (&Column{write: figure.Hours}).written(lost(&v.Worst[i])))
	}
	b.Tables = []block.Table{t}
	return b
}

// rerun says which tasks to run again, and what some of them lacked.
func (v *arrayView) rerun(wide bool) block.Action {
	if len(v.Again) == 0 {
		return block.Action{}
	}
	tasks := "task that was not completed"
	if n := len(v.Again); n > 1 {
		tasks = figure.Counted(n, "task") + " that were not completed"
	}
	all := shell.Tasks(v.Again, v.Request)
	if all == "" {
		return block.Action{Text: fmt.Sprintf("The %s: jobeff %s --tasks --state FAILED,TIMEOUT,OUT_OF_MEMORY,CANCELLED,NODE_FAIL lists them.", tasks, v.ID)}
	}
	lacks := map[string][]job.Job{}
	for _, j := range v.Again {
		lacks[j.StateWord()] = append(lacks[j.StateWord()], j)
	}
	for _, one := range []struct{ state, what string }{{"OUT_OF_MEMORY", "ran out of memory"}, {"TIMEOUT", "reached the time limit"}} {
		if some := lacks[one.state]; len(some) > 0 {
			tasks += fmt.Sprintf("; %s %s", idsOf(some), one.what)
		}
	}
	return block.Action{Text: "To run again the " + tasks + ":", Line: inert.Text(all, wide)}
}

// idsOf names the first few tasks.
func idsOf(tasks []job.Job) string {
	var ids []string
	for i := range tasks[:min(costly, len(tasks))] {
		ids = append(ids, tasks[i].DisplayID)
	}
	if left := len(tasks) - len(ids); left > 0 {
		ids = append(ids, figure.Count(left)+" more")
	}
	return figure.And(ids)
}
