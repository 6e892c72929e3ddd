package words

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/report/figure"
)

// Column is a field that a list of jobs can show. It has sacct's name if sacct has the field. It is a text,
// or a number, by which a list can also be sorted.
type Column struct {
	Name   string
	Doc    string // what it is, its unit and source
	head   string // over the column, with the table's marks
	value  func(*job.Job) string
	number func(*job.Job) *float64 // nil: not known
	write  func(float64) string
	alike  func(...float64) func(float64) string // in place of write: all numbers of the column in one unit
	none   string                                // written if the number is not known; "": "-"
	ofTasks
	Width int  // given by the user; 0: as wide as its values
	Left  bool // aligned so by the user
	deep  bool // it needs the job's executions, which lists are read without
}

// ofTasks says how the number of an array follows from those of its listed tasks.
type ofTasks int

const (
	ofMean ofTasks = iota // the mean of those whose figures count
	ofSum
	ofFirst
	ofLast
)

// columns holds all columns, in the order of --helpformat.
var columns = []Column{
	{Name: "JobID", head: "<=JobID", Doc: "123, 123_4, 123+1; 123 of an array, whose tasks are one line", value: func(j *job.Job) string { return j.DisplayID }},
	{Name: "JobIDRaw", Doc: "Slurm's number of the job", value: func(j *job.Job) string { return fmt.Sprint(j.JobID) }},
	{Name: "Run", Doc: "the attempt: 1, or more after a requeue", value: func(j *job.Job) string { return fmt.Sprint(j.Attempt) }},
	{Name: "JobName", head: "<Name", Doc: "the job's name", value: func(j *job.Job) string { return j.Name }},
	{Name: "User", head: "<User", Doc: "its owner", value: func(j *job.Job) string { return j.User }},
	{Name: "UID", Doc: "its owner's uid", value: func(j *job.Job) string { return fmt.Sprint(j.UID) }},
	{Name: "Account", head: "<Account", Doc: "Slurm's account", value: func(j *job.Job) string { return j.Account }},
	{Name: "Partition", head: "<Partition", Doc: "Slurm's partition", value: func(j *job.Job) string { return j.Partition }},
	{Name: "QOS", head: "<QOS", Doc: "Slurm's quality of service", value: func(j *job.Job) string { return j.QOS }},
	{Name: "Cluster", head: "<Cluster", Doc: "the cluster's name", value: func(j *job.Job) string { return j.Cluster }},
	{Name: "State", head: "<!State", Doc: "how it ended, in one word; hung: it runs, but nothing moves; 5 CD, 1 F: how an array's tasks ended", value: stateWord},
	{Name: "ExitCode", Doc: "exit code:signal", value: func(j *job.Job) string { return cmp.Or(j.ExitCode, "-") }},
	{Name: "Submit", Doc: "when it was submitted, local time", number: moment(func(j *job.Job) time.Time { return j.Submit }), write: writtenTime, none: "Unknown", ofTasks: ofFirst},
	{Name: "Start", Doc: "when it began", number: moment(func(j *job.Job) time.Time { return j.Start }), write: writtenTime, none: "Unknown", ofTasks: ofFirst},
	{Name: "End", Doc: "when it ended", number: moment(func(j *job.Job) time.Time { return j.End }), write: writtenTime, none: "Unknown", ofTasks: ofLast},
	{Name: "Elapsed", Doc: "from start to end, [days-]hours:minutes:seconds; of a job that runs, so far", number: elapsed, write: clock},
	{Name: "ElapsedRaw", Doc: "the same in seconds", number: elapsed, write: func(s float64) string { return fmt.Sprint(int(s)) }},
	{Name: "NNodes", head: "Nodes", Doc: "nodes that it was given", number: positive(nodes), write: wholeNumber},
	{Name: "Reported", Doc: "nodes whose report has arrived", value: func(j *job.Job) string { return fmt.Sprint(j.Reports) }},
	{Name: "AllocCPUS", head: "Cores", Doc: "cores that it was given, hardware threads where Slurm counts these", number: positive(func(j *job.Job) int { return j.CPUs }), write: wholeNumber},
	{Name: "GPUs", Doc: "GPUs that it was given, from AllocTRES", value: func(j *job.Job) string { return fmt.Sprint(j.GPUs) }},
	{Name: "AllocTRES", head: "<AllocTRES", Doc: "all that it was given", value: func(j *job.Job) string { return cmp.Or(j.TRES, "-") }},
	{Name: "Ranks", Doc: "ranks that ran", number: ofMetrics(func(j *job.Job) float64 { return float64(ranksRan(j)) }), write: wholeNumber},
	{Name: "PE", Doc: "parallel efficiency, LB x CommE", number: ofEfficiencies(func(m *job.Metrics) float64 { return m.Parallel }), write: figure.Efficiency},
	{Name: "LB", Doc: "load balance", number: ofEfficiencies(func(m *job.Metrics) float64 { return m.LoadBalance }), write: figure.Efficiency},
	{Name: "LBIn", Doc: "load balance inside the nodes", number: ofEfficiencies(func(m *job.Metrics) float64 { return m.LoadBalanceIn }), write: figure.Efficiency},
	{Name: "LBOut", Doc: "load balance between nodes", number: ofEfficiencies(func(m *job.Metrics) float64 { return m.LoadBalanceOut }), write: figure.Efficiency},
	{Name: "CommE", Doc: "communication efficiency", number: ofEfficiencies(func(m *job.Metrics) float64 { return m.Communication }), write: figure.Efficiency},
	{Name: "MPIPE", Doc: "parallel efficiency of MPI alone", number: ofEfficiencies(func(m *job.Metrics) float64 { return m.MPI.Parallel }), write: figure.Efficiency},
	{Name: "OMPPE", Doc: "parallel efficiency of OpenMP alone as POP has it, PE / MPIPE", number: ofHybrid(func(j *job.Job) float64 { openmp, _, _ := j.Metrics.OpenMPQuotients(); return openmp }), write: figure.Efficiency},
	{Name: "SerE", deep: true, Doc: "serialisation efficiency, of the sampled windows", number: ofWindows(func(w *job.Windows) float64 { return w.Serialisation.Value }), write: figure.Efficiency},
	{Name: "TE", deep: true, Doc: "transfer efficiency, of the sampled windows", number: ofWindows(func(w *job.Windows) float64 { return w.Transfer.Value }), write: figure.Efficiency},
	{Name: "Threads", Doc: "threads of all ranks, if they used OpenMP", number: ofHybrid(func(j *job.Job) float64 { return float64(j.Metrics.Hybrid.Threads) }), write: wholeNumber},
	{Name: "Cover", Doc: "ranks recorded / ranks that ran", number: ofMetrics(func(j *job.Job) float64 { return j.Metrics.Coverage }), write: figure.Efficiency},
	{Name: "Threaded", Doc: "yes: its ranks had threads that were not measured, so its efficiencies speak of MPI only", value: func(j *job.Job) string { return yes(j.Threaded) }},
	{Name: "Useful", Doc: "useful time, s, sum over ranks and their threads", number: ofMetrics(func(j *job.Job) float64 { return j.Metrics.RealUseful() }), write: figure.Number, ofTasks: ofSum},
	{Name: "MPITime", Doc: "time in MPI, s, sum over ranks", number: ofMetrics(func(j *job.Job) float64 { return j.Metrics.MPITime }), write: figure.Number, ofTasks: ofSum},
	{Name: "CoreHours", head: "Core-h", Doc: "core-hours used, AllocCPUS x Elapsed", number: (*job.Job).UsedCoreHours, write: figure.Hours, ofTasks: ofSum},
	{Name: "Lost", Doc: "core-hours in which its cores did not compute", number: (*job.Job).LostCoreHours, write: figure.Hours, ofTasks: ofSum},
	{Name: "GPUHours", head: "GPU-h", Doc: "GPU-hours used, GPUs x Elapsed", number: ofGPUTime(func(t job.GPUTime) (job.CoreTime, bool) { return t.Used, t.Used > 0 }), write: figure.Hours, ofTasks: ofSum},
	{Name: "GPUIdle", Doc: "GPU-hours in which no kernel ran, at least", number: ofGPUTime(func(t job.GPUTime) (job.CoreTime, bool) { return t.Idle, t.Known > 0 }), write: figure.Hours, ofTasks: ofSum},
	{Name: "TotalCPU", Doc: "time that its cores were busy, as Slurm counts it; waiting in MPI counts too", number: ofUsage(func(j *job.Job) float64 { return j.Usage.TotalCPU.Seconds() }), write: clock, ofTasks: ofSum},
	{Name: "CPUEff", Doc: "CPU efficiency, TotalCPU / (Elapsed x AllocCPUS), as seff has it; not PE", number: (*job.Job).CPUEfficiency, write: figure.Efficiency},
	{Name: "Memory", Doc: "most memory that its steps held at once", number: ofBytes(func(u *job.Usage) int64 { return u.Memory }), alike: figure.BytesAlike},
	{Name: "AllocMem", Doc: "memory that it was given, on all nodes", number: ofBytes(func(u *job.Usage) int64 { return u.Allocated }), alike: figure.BytesAlike},
	{Name: "MemEff", Doc: "Memory / AllocMem", number: (*job.Job).MemoryEfficiency, write: figure.Efficiency},
	{Name: "MaxRSS", Doc: "most memory of one of its tasks", number: ofBytes(func(u *job.Usage) int64 { return u.LargestTask }), alike: figure.BytesAlike},
	{Name: "Flags", head: "<Flags", Doc: "the rules that flag it; -: not judged yet", value: flags},
	{Name: "Cause", deep: true, head: "<Cause", Doc: "what cost most of the lost time, as a code of RULES; -: not known", value: func(j *job.Job) string { return cmp.Or(policy.CauseOf(j).Code, "-") }},
	{Name: "NoData", head: "<NoData", Doc: "why it has no figures", value: func(j *job.Job) string { return cmp.Or(doubt.Text(j.NoData), "-") }},
}

// otherNames are other names that people use for fields.
var otherNames = map[string]string{"name": "jobname", "nodes": "nnodes", "ncpus": "alloccpus", "cores": "alloccpus", "coverage": "cover", "tres": "alloctres"}

// The columns of a plain list. A wide one adds wideColumns.
const (
	listColumns = "jobid,jobname,user,state,elapsed,alloccpus,ranks,pe,cpueff,corehours,lost"
	wideColumns = ",lb,comme,cover"
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
			c.Width, c.Left = max(n, -n), n < 0
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
	if name == "advice" { // if stored like the flags, it would come from another curve than that of the job's page
		return Column{}, errors.New("a list has no advice, since no curve is fitted while it is read: jobeff workload lists it by workload, jobeff JOBID shows a job's")
	}
	return Column{}, fmt.Errorf("%.40q is no field of a job: jobeff --helpformat lists them", name)
}

// shown parses a list of columns that the program itself gives.
func shown(list string) []Column {
	all, err := ParseColumns(list)
	if err != nil {
		panic(err) // a test rules this out
	}
	return all
}

// AllColumns returns all columns.
func AllColumns() []Column { return slices.Clone(columns) }

// text writes the column of a job.
func (c *Column) text(j *job.Job) string {
	if c.number == nil {
		return c.value(j)
	}
	return c.written(c.number(j))
}

// written writes a number of the column.
func (c *Column) written(n *float64) string {
	if n == nil {
		return cmp.Or(c.none, "-")
	}
	return c.write(*n)
}

// ofEfficiencies is ofMetrics for an efficiency, of which nothing is known if the ranks never met.
func ofEfficiencies(value func(*job.Metrics) float64) func(*job.Job) *float64 {
	known := ofMetrics(func(j *job.Job) float64 { return value(j.Metrics) })
	return func(j *job.Job) *float64 {
		if j.NeverMet() {
			return nil
		}
		return known(j)
	}
}

// ofMetrics makes a number of a job's metrics; nil: it has no figures.
func ofMetrics(value func(*job.Job) float64) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		if j.Metrics == nil {
			return nil
		}
		return some(value(j))
	}
}

// ofHybrid makes a number of a job with measured threads; nil: its ranks have one thread each, or
// threads that were not measured.
func ofHybrid(value func(*job.Job) float64) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		if j.Metrics == nil || j.Metrics.Hybrid == nil {
			return nil
		}
		return some(value(j))
	}
}

// ofWindows makes a number of a job's sampled windows; nil: there are none, or they do not determine it.
func ofWindows(value func(*job.Windows) float64) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		if j.Metrics == nil {
			return nil
		}
		if w := job.JobWindows(j.Executions); w != nil && w.Determined() {
			return some(value(w))
		}
		return nil
	}
}

// ofGPUTime makes a number of hours of a job's GPU time; nil: it has none, or it is not known.
func ofGPUTime(value func(job.GPUTime) (job.CoreTime, bool)) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		t, is := value(j.GPUTime())
		if !is {
			return nil
		}
		return job.HoursOf(&t)
	}
}

// Deep reports whether a column needs the jobs' executions.
func Deep(all []Column) bool { return slices.ContainsFunc(all, func(c Column) bool { return c.deep }) }

// ofUsage makes a number of what a job used; nil: Slurm has not said it.
func ofUsage(value func(*job.Job) float64) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		if j.Usage == nil {
			return nil
		}
		return some(value(j))
	}
}

func ofBytes(value func(*job.Usage) int64) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		if j.Usage == nil || value(j.Usage) <= 0 {
			return nil
		}
		return some(float64(value(j.Usage)))
	}
}

// positive makes a number; nil for 0, which means not known.
func positive(value func(*job.Job) int) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		if n := value(j); n > 0 {
			return some(float64(n))
		}
		return nil
	}
}

func some(v float64) *float64 { return &v }

func wholeNumber(n float64) string { return figure.Count(int(n)) }

func clock(s float64) string { return figure.Clock(figure.Duration(s)) }

// elapsed returns a job's time in whole seconds; nil: it is running, and Slurm has not given it yet.
func elapsed(j *job.Job) *float64 {
	if j.Elapsed <= 0 && j.End.IsZero() {
		return nil
	}
	return some(j.Elapsed.Round(time.Second).Seconds())
}

// moment makes a number of a time, in seconds.
func moment(of func(*job.Job) time.Time) func(*job.Job) *float64 {
	return func(j *job.Job) *float64 {
		t := of(j)
		if t.IsZero() {
			return nil
		}
		return some(float64(t.Unix()))
	}
}

// writtenTime writes a time as sacct does, in the local zone.
func writtenTime(s float64) string {
	return time.Unix(int64(s), 0).Local().Format("2006-01-02T15:04:05")
}

// stateWord returns the first word of the job's state.
func stateWord(j *job.Job) string {
	if j.Unconfirmed {
		return "unconfirmed"
	}
	if j.Hung != nil {
		return "hung"
	}
	return cmp.Or(j.StateWord(), "-")
}

// flags names the rules that flag the job.
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

func nodes(j *job.Job) int {
	if j.Nodes == 0 && j.Metrics != nil {
		return j.Metrics.Nodes
	}
	return j.Nodes
}
