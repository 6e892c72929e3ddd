package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/measure"
	"jobeff/report/page"
	"jobeff/report/text"
)

// ListOptions say how a list of jobs is written.
type ListOptions struct {
	text.Options
	Columns   []Column // nil: the usual ones
	NoHeader  bool
	Parsable2 bool   // values whole, with | between, as sacct -P
	Which     string // jobs were asked for: "of account chem ", "" for no choice
	More      bool   // the server left jobs out: say so under the list
}

// roomy is the page width from which the columns stand two blanks apart.
const roomy = 100

// List writes a line for each job, in the given order.
func List(w io.Writer, jobs []job.Job, opts ListOptions) error {
	p := text.NewPage(opts.Options)
	chosen := opts.Columns
	if chosen == nil {
		chosen = shown(listColumns)
	}
	t := jobsTable(p, jobs, chosen)
	switch {
	case opts.Parsable2:
		parsable(p, t, opts.NoHeader)
	case opts.Columns != nil:
		asked(p, chosen, t, opts.NoHeader)
	default:
		peopleList(p, t, jobs, opts)
	}
	return p.To(w)
}

// Worst writes the jobs of the last days days, which are sorted by what they lost.
func Worst(w io.Writer, jobs []job.Job, days int, more bool, opts text.Options) error {
	p := text.NewPage(opts)
	if len(jobs) == 0 {
		p.Line(noJobs)
	} else {
		p.Line(p.Title.Sprintf("Your jobs of the last %s, most core-hours lost first", figure.Counted(days, "day")))
		t := jobsTable(p, jobs, shown(worstColumns))
		legend := markPartial(t, jobs)
		p.Table(t, "")
		p.Line("")
		if more {
			p.Line(fmt.Sprintf("jobeff -S -%ddays lists all of them.", days))
		}
		p.Paragraph("", "", "Lost: core-hours that were not useful time of its ranks; -: not known. "+
			"jobeff JOBID shows where a job's time went, jobeff explain JOBID what the rules say of it."+legend, nil)
	}
	return p.To(w)
}

// jobsTable is a table of jobs.
func jobsTable(p *text.Page, jobs []job.Job, chosen []Column) block.Table {
	t := block.Table{Rows: make([][]string, len(jobs))}
	if p.Width < roomy {
		t.Gap = " "
	}
	for _, c := range chosen {
		t.Heads = append(t.Heads, c.head)
	}
	for i := range jobs {
		j := inert.Copy(&jobs[i], p.Unicode)
		for _, c := range chosen {
			t.Rows[i] = append(t.Rows[i], c.value(j))
		}
	}
	return t
}

// markPartial puts a star after the efficiencies of jobs whose threads or GPUs were not measured.
// It returns the legend of the star, "" without such jobs.
func markPartial(t block.Table, jobs []job.Job) (legend string) {
	for i := range jobs {
		if jobs[i].Metrics == nil || !jobs[i].Threaded && jobs[i].GPUs == 0 {
			continue
		}
		for k, head := range t.Heads {
			if slices.Contains([]string{"PE", "LB", "CommE"}, block.Name(head)) {
				t.Rows[i][k] += "*"
				legend = " *: of MPI on the host only; threads and GPUs are not measured."
			}
		}
	}
	return legend
}

// noJobs stands in place of an empty list.
const noJobs = "no such jobs in this time: look further back with -S, as -S -30days"

// noJobsOf says the same of what is not there and of what its reader may not see.
func noJobsOf(which string) string {
	if which == "" {
		return noJobs
	}
	return "no jobs " + which + "that you may see in this time: is it written right? Else look further back with -S, as -S -30days"
}

// peopleList writes the list for people.
func peopleList(p *text.Page, t block.Table, jobs []job.Job, opts ListOptions) {
	legend := markPartial(t, jobs)
	if len(t.Rows) == 0 {
		if opts.NoHeader {
			return
		}
		p.Paragraph("", "", noJobsOf(opts.Which), nil)
		return
	}
	if opts.NoHeader {
		p.Rows(t, "", t.Rows)
	} else {
		p.Table(t, "")
	}
	if opts.More {
		p.Line("there are older jobs that are not listed: narrow -S and -E, or raise --limit")
	}
	if !opts.NoHeader {
		p.Line("")
		if total := totalText(jobs); total != "" {
			p.Paragraph("", "", total, nil)
		}
		p.Paragraph("", "", "PE parallel efficiency = LB load balance x CommE communication efficiency; "+
			"Cover: ranks recorded / ranks that ran; Lost: core-hours in which its cores did no computing for it; -: no data, jobeff JOBID says why."+legend, nil)
	}
}

// totalText sums up the listed jobs. What was lost is a part of the core-hours of those whose
// loss is known.
func totalText(jobs []job.Job) string {
	var sum job.Hours
	for i := range jobs {
		used, lost := usedHours(&jobs[i]), jobs[i].LostCoreHours()
		if used == nil {
			continue
		}
		sum.Used += *used
		if lost != nil {
			sum.Judged, sum.Lost = sum.Judged+*used, sum.Lost+*lost
		}
	}
	if sum.Used == 0 {
		return ""
	}
	said := fmt.Sprintf("Total of %s: %s core-hours used", figure.Counted(len(jobs), "job"), figure.Hours(sum.Used))
	if sum.Judged == 0 {
		return said + "; of none is it known what was lost."
	}
	return fmt.Sprintf("%s; %s lost of %s that were judged (%s).", said, figure.Hours(sum.Lost), figure.Hours(sum.Judged), figure.Part(sum.Lost, sum.Judged))
}

// sortKeys are what a list can be sorted by; nil stands for what is not known.
var sortKeys = map[string]func(*job.Job) *float64{
	"lost": (*job.Job).LostCoreHours, "corehours": usedHours, "cpueff": (*job.Job).CPUEfficiency, "memeff": (*job.Job).MemoryEfficiency,
	"elapsed":   func(j *job.Job) *float64 { return some(j.Elapsed.Seconds()) },
	"alloccpus": func(j *job.Job) *float64 { return some(float64(j.CPUs)) },
	"nnodes":    func(j *job.Job) *float64 { return some(float64(j.Nodes)) },
	"pe":        ofFigures(func(j *job.Job) float64 { return j.Metrics.Parallel }),
	"lb":        ofFigures(func(j *job.Job) float64 { return j.Metrics.LoadBalance }),
	"comme":     ofFigures(func(j *job.Job) float64 { return j.Metrics.Communication }),
	"ranks":     ofFigures(func(j *job.Job) float64 { return float64(measure.RanksRan(j)) }),
}

func some(v float64) *float64 { return &v }

func ofFigures(value func(*job.Job) float64) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		if j.Metrics == nil {
			return nil
		}
		return some(value(j))
	}
}

// Sort puts the jobs with the most of a field first, with "-" before the field those with the
// least. Jobs of which it is not known come last.
func Sort(jobs []job.Job, by string) error {
	name, least := strings.CutPrefix(strings.ToLower(by), "-")
	key := sortKeys[cmp.Or(otherNames[name], name)]
	if key == nil {
		return fmt.Errorf("--sort %.40q is not one of %s; -FIELD puts the smallest first", by, strings.Join(slices.Sorted(maps.Keys(sortKeys)), ", "))
	}
	slices.SortStableFunc(jobs, func(a, b job.Job) int {
		x, y := key(&a), key(&b)
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		case least:
			return cmp.Compare(*x, *y)
		}
		return cmp.Compare(*y, *x)
	})
	return nil
}

// parsable writes the list for programs. A | inside a value would be a column.
func parsable(p *text.Page, t block.Table, noHeader bool) {
	if !noHeader {
		heads := make([]string, len(t.Heads))
		for i, h := range t.Heads {
			heads[i] = block.Name(h)
		}
		p.Line(strings.Join(heads, "|"))
	}
	for _, row := range t.Rows {
		for i := range row {
			if t.Heads[i][0] != '<' {
				row[i] = figure.Bare(row[i])
			}
			row[i] = strings.ReplaceAll(row[i], "|", `\x7c`)
		}
		p.Line(strings.Join(row, "|"))
	}
}

// pageColumns are those of JobsHTML. The first ones fit on a telephone.
const (
	pageColumns = "jobid,jobname,pe,corehours,lost,flags,ranks,nnodes,state,elapsed,lb,comme,cover,start"
	peColumn    = 2
)

const jobsNote = "PE parallel efficiency = LB load balance × CommE communication efficiency; Cover: ranks recorded / ranks that ran; " +
	"Lost: core-hours that were not useful time of its ranks; Flags: the rules that flag it; -: not known; the job's page says why"

// JobsHTML writes jobs as a page, in the given order. more says that a limit left some out.
func JobsHTML(w io.Writer, jobs []job.Job, more bool, links page.Links) error {
	p := &page.Jobs{Frame: page.NewFrame("Jobs – jobeff", links), Heading: "Your jobs",
		Empty: "You have no jobs here yet. A job appears a few seconds after its end."}
	note := jobsNote
	if more {
		note += "; there are older jobs that are not listed"
	}
	judged := len(slices.DeleteFunc(slices.Clone(jobs), func(j job.Job) bool { return j.Flags == nil }))
	if judged < len(jobs) {
		note += fmt.Sprintf("; the rules have judged %s of %d so far", figure.Counted(judged, "job"), len(jobs))
	}
	p.Jobs = page.NewTable("Jobs", jobsTable(text.NewPage(text.Options{Unicode: true}), jobs, shown(pageColumns)), note)
	p.Jobs.WithBars(peColumn, func(i int) *page.Bar {
		m := jobs[i].Metrics
		if m == nil {
			return nil
		}
		return &page.Bar{To: m.Parallel, Bad: m.Parallel < figure.Line, Line: true}
	})
	for i := range jobs {
		p.Jobs.Rows[i][0].Link = links.Job(jobs[i].DisplayID)
	}
	return page.Write(w, "jobs", p)
}
