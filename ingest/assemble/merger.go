// Package assemble puts a job together from the reports of its nodes. Merge joins the parts of one MPI
// world, FoldWhole sums up what is too much to list, and a Merger makes the job. Before it stands
// ingest/job, whose sums may be added in any order; a node, the store and whoever prints a report call
// it.
package assemble

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/when"
	"jobeff/policy/doubt"
)

// Merger merges the reports of a job's nodes. It keeps the parts and merges them when Job
// is called, so Add costs the same for the first and the ten-thousandth node. The zero value is
// empty.
type Merger struct {
	job      job.Job
	parts    []job.Execution
	steps    mergedSteps
	cgroup   job.Cgroup
	gpus     job.GPUUse
	warn     doubt.Warnings
	on       bool
	off      bool
	offWhy   string // why a node did not measure
	prolog   bool
	lostFull int
	lostMem  int
	procs    int
	nodes    map[string]bool
	dropped  []string    // nodes whose spool had no room for their report
	refused  string      // why figures of a node were refused
	interim  []string    // nodes that have reported only while the job ran
	reports  []hang.Look // the part of each that hang.Find needs
	// HungAfter is how long nothing of a job may move until it counts as hung; 0: no job does.
	HungAfter time.Duration
}

// Add adds one node's report. The order makes no difference. The caller must not add a report
// twice, nor change its executions afterwards.
func (m *Merger) Add(r *job.NodeReport) {
	j := &m.job
	j.Cluster, j.JobID = r.Cluster, r.JobID
	j.ArrayJobID = max(j.ArrayJobID, r.ArrayJobID)
	j.HetJobID = max(j.HetJobID, r.HetJobID)
	if j.ArrayTaskID == nil {
		j.ArrayTaskID = r.ArrayTaskID
	}
	j.UID = r.UID
	j.User, j.Account, j.Partition = max(j.User, r.User), max(j.Account, r.Account), max(j.Partition, r.Partition)
	j.Start, j.End = when.First(j.Start, r.Start), when.Last(j.End, r.End)
	j.Nodes = max(j.Nodes, r.NNodes)
	if !r.AsOf.IsZero() {
		j.AsOf = when.First(j.AsOf, r.AsOf)
		m.interim = append(m.interim, r.Node)
	}
	m.decide(r.Decision)
	m.prolog = m.prolog || r.Prolog
	m.lostFull += r.LostFull
	m.lostMem += r.LostMemory
	m.procs += r.Processes
	if r.Cgroup != nil {
		m.cgroup.Add(r.Cgroup)
	}
	m.gpus.Add(r)
	for i := range r.Steps {
		m.steps.add(&r.Steps[i])
	}
	m.parts = append(m.parts, r.Executions...)
	for _, w := range r.Warnings {
		switch w.Code {
		case doubt.WarnOutboxFull:
			m.dropped = append(m.dropped, r.Node)
			continue
		case doubt.WarnInterim, job.WarnHung: // only the merger says so
			continue
		case doubt.WarnImpossible:
			m.refused = max(m.refused, w.Args.Other)
		}
		m.warn.Add(w)
	}
	if m.nodes == nil {
		m.nodes = map[string]bool{}
	}
	m.nodes[r.Node] = true
	m.reports = append(m.reports, r.Look()) // not the whole report, which takes memory (see Bound)
}

// Bound joins what was added so far: parts take more memory than the executions that they become. It
// drops what still takes too much, which only made-up reports do.
func (m *Merger) Bound() {
	m.parts = FoldWhole(Merge(m.parts))
	n, bytes := 0, 0
	for ; n < min(len(m.parts), job.MostExecutions); n++ {
		if bytes += sizeOf(reflect.ValueOf(&m.parts[n]).Elem()); bytes > mostBytesOfJob {
			break
		}
	}
	if n < len(m.parts) {
		m.refuse(job.ErrMany)
		m.parts = slices.Clone(m.parts[:n])
	}
}

// mostBytesOfJob is what the executions of a job may take in memory while its reports are merged. A job of
// 10,000 nodes takes a tenth of it.
const mostBytesOfJob = 256 << 20

// TooLarge notes that a report was left out, as those of the job are too large together.
func (m *Merger) TooLarge() { m.refuse(job.ErrBytes) }

func (m *Merger) refuse(why error) {
	m.refused = max(m.refused, why.Error())
	m.warn.Add(doubt.Warning{Code: doubt.WarnImpossible, Args: doubt.Arguments{Other: why.Error()}})
}

// sizeOf estimates the memory that a value of a report takes, bytes.
func sizeOf(v reflect.Value) int {
	bytes := int(v.Type().Size())
	switch v.Kind() {
	case reflect.String:
		bytes += v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			bytes += sizeOf(v.Elem())
		}
	case reflect.Slice:
		if each := v.Type().Elem(); each.Kind() < reflect.Array { // a number
			return bytes + v.Len()*int(each.Size())
		}
		for i := range v.Len() {
			bytes += sizeOf(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			bytes += sizeOf(key) + sizeOf(v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() >= reflect.Array {
				bytes += sizeOf(f) - int(f.Type().Size())
			}
		}
	}
	return bytes
}

// Foreign notes that a report was left out: Slurm says that the job did not have its node.
func (m *Merger) Foreign() { m.warn.Note(doubt.WarnForeignNode) }

func (m *Merger) decide(decision string) {
	if reason, isOff := strings.CutPrefix(decision, "off"); isOff {
		m.off = true
		m.offWhy = max(m.offWhy, strings.TrimSpace(reason))
		return
	}
	m.on = true
}

// Job is what the reports say so far.
func (m *Merger) Job() *job.Job {
	j := m.job
	j.Reports = len(m.nodes)
	j.Nodes = max(j.Nodes, j.Reports)
	j.Elapsed = j.End.Sub(j.Start)
	j.Decision = "on"
	if !m.on && m.off {
		j.Decision = strings.TrimSpace("off " + m.offWhy)
	}
	j.DisplayID = job.DisplayID(&j)
	j.Steps = m.steps.list()
	j.NTasks = job.TasksOf(j.Steps)
	if m.cgroup.Nodes > 0 {
		cgroup := m.cgroup
		j.Cgroup = &cgroup
	}
	if m.gpus.GPUs > 0 {
		gpus := m.gpus
		gpus.Unknown, gpus.List = maps.Clone(gpus.Unknown), slices.Clone(gpus.List)
		j.GPUUse = &gpus
	}
	j.Executions = Merge(m.parts)
	for i := range j.Executions {
		complete(&j.Executions[i])
	}
	j.Executions = foldExecutions(j.Executions, func(*job.Execution) bool { return true })
	for _, e := range job.KeepTimelines(j.Executions, mostTimelines, job.MostPlaced) {
		if e.Timeline != nil {
			e.SettleCourse()
		}
		if e.Places != nil {
			e.Places = e.Places.Cut()
		}
	}
	j.Metrics = job.JobMetrics(j.Executions)
	j.Warnings = m.warnings(&j)
	if j.Metrics == nil {
		j.NoData = m.noData(&j)
	}
	return &j
}

// warnings are the doubts about the job as a whole.
func (m *Merger) warnings(j *job.Job) []doubt.Warning {
	all := m.warn.Clone()
	if m.lostFull > 0 {
		all.Add(doubt.Warning{Code: doubt.WarnLostFull, Count: m.lostFull})
	}
	if m.lostMem > 0 {
		all.Add(doubt.Warning{Code: doubt.WarnLostMemory, Count: m.lostMem})
	}
	if j.NeverMet() {
		all.Add(job.NeverMetWarning)
	}
	if m.steps.cut {
		all.Note(doubt.WarnStepsCut)
	}
	if len(m.dropped) > 0 {
		all.Add(doubt.Warning{Code: doubt.WarnOutboxFull, Args: m.droppedOn(), Count: len(m.dropped)})
	}
	if n := len(m.interim); n > 0 {
		slices.Sort(m.interim)
		all.Add(doubt.Warning{Code: doubt.WarnInterim, Args: doubt.Arguments{N: n, Names: firstNames(m.interim), Other: j.AsOf.Format(time.RFC3339Nano), Kind: m.together(), Time: m.every()}})
	}
	if h := hang.Find(m.reports, m.job.Nodes, m.HungAfter); h != nil {
		all.Add(job.HungWarning(h, slices.ContainsFunc(m.reports, func(l hang.Look) bool { return l.Last })))
	}
	if j.Reports < j.Nodes {
		all.Add(doubt.Warning{Code: doubt.WarnNodesMissing, Args: doubt.Arguments{N: j.Reports, Of: j.Nodes}})
	}
	return all.List()
}

// together is KindTogether if all nodes of the job reported one moment, and the job ran at it.
func (m *Merger) together() string {
	first := m.reports[0].Progress
	apart := func(l hang.Look) bool { return l.Progress == nil || !l.Progress.Moment.Equal(first.Moment) }
	if first == nil || m.job.Nodes == 0 || len(m.reports) != m.job.Nodes || slices.ContainsFunc(m.reports, apart) {
		return ""
	}
	return doubt.KindTogether
}

// every is the longest report.interim of the job's nodes.
func (m *Merger) every() (most time.Duration) {
	for _, l := range m.reports {
		if l.Progress != nil {
			most = max(most, l.Progress.Every)
		}
	}
	return most
}

// pastUs are the warnings of processes whose MPI the library did not see, or cannot measure.
var pastUs = []string{doubt.WarnPreload, doubt.WarnUnseen, doubt.WarnStatic, doubt.WarnStub}

// noData says why a job has no metrics.
func (m *Merger) noData(j *job.Job) doubt.Warning {
	off := stepsOff(j.Steps)
	_, foreign := m.warn.Count(doubt.WarnForeign)
	past := slices.IndexFunc(pastUs, func(code string) bool { n, _ := m.warn.Count(code); return n > 0 })
	why := func(code string) doubt.Warning { return doubt.Warning{Code: code} }
	switch {
	case j.Reports == 0:
		return why(doubt.WhyNoReport)
	case !m.on:
		return doubt.Warning{Code: doubt.WhyOff, Args: doubt.Arguments{Name: m.offWhy}}
	case foreign:
		return why(doubt.WhyReplaced)
	case len(m.dropped) > 0 && len(j.Executions) == 0:
		return doubt.Warning{Code: doubt.WarnOutboxFull, Args: m.droppedOn()}
	case m.refused != "" && len(j.Executions) == 0:
		return doubt.Warning{Code: doubt.WarnImpossible, Args: doubt.Arguments{Other: m.refused}}
	case job.OnlyUnknownThreads(j.Executions):
		return NoThreads(j.Executions)
	case len(j.Executions) > 0:
		return why(doubt.WhyNoSign)
	case m.procs > 0:
		return why(doubt.WhyInMPIInit)
	case m.lostMem > 0:
		return why(doubt.WhyNoMemory)
	case m.lostFull > 0:
		return why(doubt.WhyNoRoom)
	case past >= 0:
		return why(pastUs[past])
	case m.unread().Code != "":
		return m.unread()
	case off != "":
		return doubt.Warning{Code: doubt.WhyOff, Args: doubt.Arguments{Name: off}}
	case len(j.Steps) == 0 && j.JobID != 0:
		return why(doubt.WhyNoStep)
	}
	none := why(doubt.WhyNoMPI)
	if i := slices.IndexFunc(j.Steps, func(s job.Step) bool { return s.ID != "extern" && s.Off != "" }); i >= 0 {
		none.Args.Names, none.Args.Other = j.Steps[i].ID, j.Steps[i].Off
	}
	if i := slices.IndexFunc(j.Steps, func(s job.Step) bool { return s.Container && s.Off == "" }); i >= 0 {
		none.Args.Kind, none.Args.Name = doubt.KindContainer, j.Steps[i].ID
	}
	return none
}

// unread is the warning that a node's record was not read, if there is one.
func (m *Merger) unread() doubt.Warning {
	all := m.warn.List()
	i := slices.IndexFunc(all, func(w doubt.Warning) bool { return w.Code == doubt.WarnUnreadable && w.Args.Kind != doubt.KindFile })
	if i < 0 {
		return doubt.Warning{}
	}
	return doubt.Warning{Code: all[i].Code, Args: all[i].Args}
}

// NoThreads says why there are no figures of programs without MPI.
func NoThreads(executions []job.Execution) doubt.Warning {
	return doubt.Warning{Code: doubt.WhyThreads, Args: doubt.Arguments{Name: job.ThreadsWhy(executions)}}
}

// droppedOn says on which nodes the report was dropped.
func (m *Merger) droppedOn() doubt.Arguments {
	slices.Sort(m.dropped)
	return doubt.Arguments{N: len(m.dropped), Names: firstNames(m.dropped)}
}

// stepsOff is why no step was measured; "" if one was.
func stepsOff(steps []job.Step) string {
	reason := ""
	for _, s := range steps {
		if s.ID == "extern" {
			continue
		}
		if s.Off == "" {
			return ""
		}
		reason = s.Off
	}
	return reason
}
