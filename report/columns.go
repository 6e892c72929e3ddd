package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/measure"
	"jobeff/report/text"
)

// Column is a field that a list of jobs can show. It has sacct's name if sacct has the field.
type Column struct {
	Name  string
	Doc   string // what it is, its unit and source
	head  string // over the column, with the table's marks
	value func(*job.Job) string
	width int // that the user gave; 0: as wide as its values
	left  bool
	deep  bool // it needs the job's executions, which a list is read without
}

// columns are all columns, in the order of --helpformat.
var columns = []Column{
	{Name: "JobID", head: "<!JobID", Doc: "123, 123_4, 123+1", value: func(j *job.Job) string { return j.DisplayID }},
	{Name: "JobIDRaw", Doc: "Slurm's number of the job", value: func(j *job.Job) string { return fmt.Sprint(j.JobID) }},
	{Name: "Run", Doc: "the attempt: 1, or more after a requeue", value: func(j *job.Job) string { return fmt.Sprint(j.Attempt) }},
	{Name: "JobName", head: "<Name", Doc: "the job's name", value: func(j *job.Job) string { return j.Name }},
	{Name: "User", head: "<User", Doc: "its owner", value: func(j *job.Job) string { return j.User }},
	{Name: "UID", Doc: "its owner's uid", value: func(j *job.Job) string { return fmt.Sprint(j.UID) }},
	{Name: "Account", head: "<Account", Doc: "Slurm's account", value: func(j *job.Job) string { return j.Account }},
	{Name: "Partition", head: "<Partition", Doc: "Slurm's partition", value: func(j *job.Job) string { return j.Partition }},
	{Name: "QOS", head: "<QOS", Doc: "Slurm's quality of service", value: func(j *job.Job) string { return j.QOS }},
	{Name: "Cluster", head: "<Cluster", Doc: "the cluster's name", value: func(j *job.Job) string { return j.Cluster }},
	{Name: "State", head: "<!State", Doc: "how it ended, one word; hung: it runs, and nothing of it moves", value: stateWord},
	{Name: "ExitCode", Doc: "exit code:signal", value: func(j *job.Job) string { return cmp.Or(j.ExitCode, "-") }},
	{Name: "Submit", Doc: "when it was submitted, local time", value: func(j *job.Job) string { return moment(j.Submit) }},
	{Name: "Start", Doc: "when it began", value: func(j *job.Job) string { return moment(j.Start) }},
	{Name: "End", Doc: "when it ended", value: func(j *job.Job) string { return moment(j.End) }},
	{Name: "Elapsed", Doc: "from start to end, [days-]hours:minutes:seconds", value: func(j *job.Job) string { return figure.Clock(j.Elapsed) }},
	{Name: "ElapsedRaw", Doc: "the same in seconds", value: func(j *job.Job) string { return fmt.Sprint(int(j.Elapsed.Round(time.Second).Seconds())) }},
	{Name: "NNodes", head: "Nodes", Doc: "nodes that it was given", value: nodes},
	{Name: "Reported", Doc: "nodes whose report has arrived", value: func(j *job.Job) string { return fmt.Sprint(j.Reports) }},
	{Name: "AllocCPUS", Doc: "cores that it was given, hardware threads where Slurm counts these", value: func(j *job.Job) string { return counted0(j.CPUs) }},
	{Name: "GPUs", Doc: "GPUs that it was given, from AllocTRES", value: func(j *job.Job) string { return fmt.Sprint(j.GPUs) }},
	{Name: "AllocTRES", head: "<AllocTRES", Doc: "all that it was given", value: func(j *job.Job) string { return cmp.Or(j.TRES, "-") }},
	{Name: "Ranks", Doc: "ranks that ran", value: ofMetrics(func(j *job.Job) string { return figure.Count(measure.RanksRan(j)) })},
	{Name: "PE", Doc: "parallel efficiency, LB x CommE", value: ofMetrics(func(j *job.Job) string { return figure.Efficiency(j.Metrics.Parallel) })},
	{Name: "LB", Doc: "load balance", value: ofMetrics(func(j *job.Job) string { return figure.Efficiency(j.Metrics.LoadBalance) })},
	{Name: "LBIn", Doc: "load balance inside the nodes", value: ofMetrics(func(j *job.Job) string { return figure.Efficiency(j.Metrics.LoadBalanceIn) })},
	{Name: "LBOut", Doc: "load balance between nodes", value: ofMetrics(func(j *job.Job) string { return figure.Efficiency(j.Metrics.LoadBalanceOut) })},
	{Name: "CommE", Doc: "communication efficiency", value: ofMetrics(func(j *job.Job) string { return figure.Efficiency(j.Metrics.Communication) })},
	{Name: "MPIPE", Doc: "parallel efficiency of MPI alone", value: ofMetrics(func(j *job.Job) string { return figure.Efficiency(j.Metrics.MPI.Parallel) })},
	{Name: "OMPPE", Doc: "parallel efficiency of OpenMP alone, PE / MPIPE", value: ofHybrid(func(j *job.Job) string { openmp, _, _ := j.Metrics.OpenMPQuotients(); return figure.Efficiency(openmp) })},
	{Name: "SerE", deep: true, Doc: "serialisation efficiency, of the sampled windows", value: ofWindows(func(w *job.Windows) string { return figure.Efficiency(w.Serialisation.Value) })},
	{Name: "TE", deep: true, Doc: "transfer efficiency, of the sampled windows", value: ofWindows(func(w *job.Windows) string { return figure.Efficiency(w.Transfer.Value) })},
	{Name: "Threads", Doc: "threads of all ranks, if they used OpenMP", value: ofHybrid(func(j *job.Job) string { return figure.Count(j.Metrics.Hybrid.Threads) })},
	{Name: "Cover", Doc: "ranks recorded / ranks that ran", value: ofMetrics(func(j *job.Job) string { return figure.Efficiency(j.Metrics.Coverage) })},
	{Name: "Threaded", Doc: "yes: its ranks had threads that were not measured, so its efficiencies speak of MPI only", value: func(j *job.Job) string { return yes(j.Threaded) }},
	{Name: "Useful", Doc: "useful time, s, sum over ranks and their threads", value: ofMetrics(func(j *job.Job) string { return figure.Number(j.Metrics.RealUseful()) })},
	{Name: "MPITime", Doc: "time in MPI, s, sum over ranks", value: ofMetrics(func(j *job.Job) string { return figure.Number(j.Metrics.MPITime) })},
	{Name: "CoreHours", Doc: "core-hours used, AllocCPUS x Elapsed", value: func(j *job.Job) string { return hoursKnown(usedHours(j)) }},
	{Name: "Lost", Doc: "core-hours used that were not useful time of its ranks", value: func(j *job.Job) string { return hoursKnown(j.LostCoreHours()) }},
	{Name: "TotalCPU", Doc: "time that its cores were busy, as Slurm counts it; waiting in MPI counts too", value: ofUsage(func(j *job.Job) string { return figure.Clock(j.Usage.TotalCPU) })},
	{Name: "CPUEff", Doc: "CPU efficiency, TotalCPU / (Elapsed x AllocCPUS), as seff has it; not PE", value: func(j *job.Job) string { return fraction(j.CPUEfficiency()) }},
	{Name: "Memory", Doc: "most memory that its steps held at once", value: ofUsage(func(j *job.Job) string { return bytesText(j.Usage.Memory) })},
	{Name: "AllocMem", Doc: "memory that it was given, on all nodes", value: ofUsage(func(j *job.Job) string { return bytesText(j.Usage.Allocated) })},
	{Name: "MemEff", Doc: "Memory / AllocMem", value: func(j *job.Job) string { return fraction(j.MemoryEfficiency()) }},
	{Name: "MaxRSS", Doc: "most memory of one of its tasks", value: ofUsage(func(j *job.Job) string { return bytesText(j.Usage.LargestTask) })},
	{Name: "Flags", head: "<Flags", Doc: "rules that flag it, judged when its figures or the rules changed; -: not judged yet", value: flags},
	{Name: "Cause", deep: true, head: "<Cause", Doc: "code of what cost most of the lost time, or made its figures unreadable; -: none is known", value: func(j *job.Job) string { return cmp.Or(policy.CauseOf(j).Code, "-") }},
	{Name: "NoData", head: "<NoData", Doc: "why it has no figures", value: func(j *job.Job) string { return cmp.Or(doubt.Text(j.NoData), "-") }},
}

// otherNames are other names that people use for fields.
var otherNames = map[string]string{"name": "jobname", "nodes": "nnodes", "ncpus": "alloccpus", "cores": "alloccpus", "coverage": "cover", "tres": "alloctres"}

// The columns of a plain list, and of the worst jobs.
const (
	listColumns  = "jobid,jobname,user,state,elapsed,ranks,pe,lb,comme,cover,lost"
	worstColumns = "jobid,jobname,state,elapsed,alloccpus,ranks,pe,corehours,lost"
)

// ParseColumns reads "jobid,user%20,pe", a list of fields as sacct's --format takes it:
// %20 cuts or fills a column to 20 characters and aligns it right, %-20 left.
func ParseColumns(list string) ([]Column, error) {
	var all []Column
	for item := range strings.SplitSeq(list, ",") {
		field, width, wide := strings.Cut(strings.TrimSpace(item), "%")
		c, err := column(field)
		if err != nil {
			return nil, err
		}
		if wide {
			n, err := strconv.Atoi(width)
			if err != nil || n == 0 || n < -1000 || n > 1000 {
				return nil, fmt.Errorf("%.40q: write the width of the column after %%, as in %s%%20", item, c.Name)
			}
			c.width, c.left = max(n, -n), n < 0
		}
		all = append(all, c)
	}
	return all, nil
}

func column(name string) (Column, error) {
	name = strings.ToLower(name)
	name = cmp.Or(otherNames[name], name)
	for _, c := range columns {
		if strings.ToLower(c.Name) == name {
			c.head = cmp.Or(c.head, c.Name)
			return c, nil
		}
	}
	if name == "advice" { // kept as the flags are, it would be of another curve than the job's page has
		return Column{}, errors.New("a list has no advice, since no curve is fitted while it is read: jobeff workload lists it by workload, jobeff JOBID shows a job's")
	}
	return Column{}, fmt.Errorf("%.40q is no field of a job: jobeff --helpformat lists them", name)
}

// shown parses a list of columns that the program itself names.
func shown(list string) []Column {
	all, err := ParseColumns(list)
	if err != nil {
		panic(err) // a test excludes it
	}
	return all
}

// AllColumns are all columns.
func AllColumns() []Column { return slices.Clone(columns) }

// Columns lists all fields for people.
func Columns(w io.Writer) error {
	p := text.NewPage(text.Options{Width: text.MaxWidth})
	for _, c := range columns {
		p.Paragraph(pretty.AlignLeft.Apply(c.Name, 12), strings.Repeat(" ", 12), c.Doc, nil)
	}
	return p.To(w)
}

// asked writes rows in the widths that the user gave. Other columns are as wide as their values,
// even beyond the page.
func asked(p *text.Page, columns []Column, t block.Table, noHeader bool) {
	rows := t.Rows
	if !noHeader {
		heads := make([]string, len(columns))
		for i, c := range columns {
			heads[i] = block.Name(c.head)
		}
		rows = append([][]string{heads}, rows...)
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range columns {
			align, n := pretty.AlignRight, c.width
			if c.left || c.width == 0 && c.head[0] == '<' {
				align = pretty.AlignLeft
			}
			if n == 0 {
				for _, r := range rows {
					n = max(n, text.Width(r[i]))
				}
			}
			cells[i] = align.Apply(pretty.Snip(row[i], n, p.Ellipsis()), n)
		}
		p.Line(strings.Join(cells, "  "))
	}
}

// ofMetrics is "-" for a job without figures.
func ofMetrics(value func(*job.Job) string) func(*job.Job) string {
	return func(j *job.Job) string {
		if j.Metrics == nil {
			return "-"
		}
		return value(j)
	}
}

// ofHybrid is "-" for a job whose ranks have one thread each, or threads that were not measured.
func ofHybrid(value func(*job.Job) string) func(*job.Job) string {
	return ofMetrics(func(j *job.Job) string {
		if j.Metrics.Hybrid == nil {
			return "-"
		}
		return value(j)
	})
}

// ofWindows is "-" for a job whose windows were not sampled, or tell nothing.
func ofWindows(value func(*job.Windows) string) func(*job.Job) string {
	return ofMetrics(func(j *job.Job) string {
		if w := windowsOf(j); w != nil && w.Determined() {
			return value(w)
		}
		return "-"
	})
}

// Deep says whether a column needs the jobs' executions.
func Deep(all []Column) bool { return slices.ContainsFunc(all, func(c Column) bool { return c.deep }) }

// ofUsage is "-" where Slurm has not said what the job used.
func ofUsage(value func(*job.Job) string) func(*job.Job) string {
	return func(j *job.Job) string {
		if j.Usage == nil {
			return "-"
		}
		return value(j)
	}
}

func usedHours(j *job.Job) *float64 {
	if j.CPUs <= 0 || j.Elapsed <= 0 {
		return nil
	}
	used := float64(j.CPUs) * j.Elapsed.Hours()
	return &used
}

func hoursKnown(h *float64) string {
	if h == nil {
		return "-"
	}
	return figure.Hours(*h)
}

func fraction(f *float64) string {
	if f == nil {
		return "-"
	}
	return figure.Efficiency(*f)
}

func bytesText(n int64) string {
	if n <= 0 {
		return "-"
	}
	return figure.Bytes(uint64(n))
}

// stateWord is the first word of the job's state.
func stateWord(j *job.Job) string {
	if j.Unconfirmed {
		return "unconfirmed"
	}
	if j.Hung != nil {
		return "hung"
	}
	return cmp.Or(measure.FirstWord(j.State), "-")
}

// flags are the names of the rules that flag the job.
func flags(j *job.Job) string {
	switch {
	case j.Flags == nil:
		return "-"
	case len(j.Flags) == 0:
		return "none"
	}
	return strings.Join(j.Flags, ", ")
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func counted0(n int) string {
	if n == 0 {
		return "-"
	}
	return figure.Count(n)
}

// moment is a time as sacct writes it, in the local zone.
func moment(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return t.Local().Format("2006-01-02T15:04:05")
}

func nodes(j *job.Job) string {
	switch {
	case j.Nodes > 0:
		return figure.Count(j.Nodes)
	case j.Metrics != nil:
		return figure.Count(j.Metrics.Nodes)
	}
	return "-"
}
