package job

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Merge joins the parts of executions: the parts of one world become one. Parts may be merged
// already; the order makes no difference. Parts of one Key belong together if their ranks
// differ and their starts lie within the key's window, the nearest start first: a launcher
// reuses its names. Folded executions were whole and stay as they are.
func Merge(parts []Execution) []Execution {
	var sorted, folded []*Execution // they are large
	for i := range parts {
		if parts[i].Folded != nil {
			folded = append(folded, &parts[i])
		} else {
			sorted = append(sorted, &parts[i])
		}
	}
	slices.SortStableFunc(sorted, comparePart)
	byKey := map[string][]*whole{}
	var all []*whole
	for _, p := range sorted {
		id := p.Key + "\x00" + p.KeyFrom + strconv.Itoa(p.Size) + strconv.FormatBool(p.Spawned)
		ranks := ranksOf(p)
		w := pickWhole(byKey[id], p, ranks)
		if w == nil {
			w = &whole{start: p.Start}
			byKey[id] = append(byKey[id], w)
			all = append(all, w)
		}
		w.ranks.add(ranks)
		w.parts = append(w.parts, p)
	}
	out := make([]Execution, 0, len(all)+len(folded))
	for _, w := range all {
		out = append(out, w.join())
	}
	for _, f := range folded {
		out = append(out, *f)
	}
	slices.SortStableFunc(out, func(a, b Execution) int { return comparePart(&a, &b) })
	return out
}

// comparePart orders executions by start, so that the result does not depend on the order of
// arrival.
func comparePart(a, b *Execution) int {
	return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Size, b.Size),
		cmp.Compare(firstRank(a), firstRank(b)), cmp.Compare(firstNode(a), firstNode(b)), a.End.Compare(b.End))
}

// firstRank is the lowest rank of a part, or the highest number if it has none.
func firstRank(e *Execution) int {
	lowest := int(^uint(0) >> 1)
	for i := range e.Nodes {
		text, _, _ := strings.Cut(e.Nodes[i].RankIDs, ",")
		text, _, _ = strings.Cut(text, "-")
		if n, err := strconv.Atoi(text); err == nil {
			lowest = min(lowest, n)
		}
	}
	return lowest
}

func firstNode(e *Execution) string {
	if len(e.Nodes) == 0 {
		return ""
	}
	return e.Nodes[0].Node
}

// whole is an execution that is being joined.
type whole struct {
	start time.Time
	ranks rankSet
	parts []*Execution
}

// mostBeside is how many worlds of one key, the nearest ones, a part is compared with. A launcher that
// uses its names again starts fewer within the key's window.
const mostBeside = 64

// pickWhole is the execution that a part with these ranks belongs to; nil for a new one.
func pickWhole(wholes []*whole, part *Execution, ranks []numberRange) *whole {
	window := WindowOf(part.KeyFrom)
	for _, w := range slices.Backward(wholes[max(len(wholes)-mostBeside, 0):]) { // starts ascend: the nearest is last
		if part.Start.Sub(w.start) > window {
			return nil
		}
		if !w.ranks.overlaps(ranks) {
			return w
		}
	}
	return nil
}

// rankSet is a set of ranks, as lists of ranges, each more than twice as long as the next one. It takes
// no more memory than the text that names the ranks: nine letters may name a million.
type rankSet [][]numberRange

func (s *rankSet) add(ranks []numberRange) {
	for last := len(*s) - 1; last >= 0 && len((*s)[last]) <= 2*len(ranks); last-- {
		ranks = joinRanges(slices.Concat((*s)[last], ranks))
		*s = (*s)[:last]
	}
	*s = append(*s, ranks)
}

func (s rankSet) overlaps(ranks []numberRange) bool {
	return slices.ContainsFunc(s, func(list []numberRange) bool {
		return slices.ContainsFunc(ranks, func(r numberRange) bool {
			i, _ := slices.BinarySearchFunc(list, r.lo, func(in numberRange, lo int) int { return cmp.Compare(in.hi, lo) })
			return i < len(list) && list[i].lo <= r.hi
		})
	})
}

// ranksOf are the ranks of all of an execution's nodes.
func ranksOf(e *Execution) []numberRange {
	var all []numberRange
	for i := range e.Nodes {
		EachRange(e.Nodes[i].RankIDs, func(lo, hi int) { all = append(all, numberRange{lo, hi}) })
	}
	return joinRanges(all)
}

// join makes one execution of the parts. What all ranks share comes from the part with the
// lowest rank. The rest are sums, extremes and sets.
func (w *whole) join() Execution {
	first := slices.MinFunc(w.parts, func(a, b *Execution) int {
		return cmp.Or(cmp.Compare(firstRank(a), firstRank(b)), cmp.Compare(firstNode(a), firstNode(b)))
	})
	e := *first
	e.RankIDs, e.Metrics = "", nil
	if len(w.parts) == 1 {
		return e
	}
	e.Nodes, e.Steps, e.Slowest, e.Endings = nil, nil, nil, map[string]int{}
	calls, classes := callsByName{}, callsByName{}
	sections := SectionSums{}
	e.HistP2P, e.HistCol = nil, nil
	e.Timeline, e.Places = joinTimelines(w.parts), joinPlaces(w.parts)
	var warn Warnings
	for _, p := range w.parts {
		e.Start, e.End = FirstTime(e.Start, p.Start), LastTime(e.End, p.End)
		e.Steps = append(e.Steps, p.Steps...)
		e.Nodes = append(e.Nodes, p.Nodes...)
		e.Slowest = append(e.Slowest, p.Slowest...)
		for ending, n := range p.Endings {
			e.Endings[ending] += n
		}
		calls.add(p.Calls)
		classes.add(p.Classes)
		for i := range p.Sections {
			sections.At(p.Sections[i].Label).Add(&p.Sections[i])
		}
		e.HistP2P, e.HistCol = addHist(e.HistP2P, p.HistP2P), addHist(e.HistCol, p.HistCol)
		for _, n := range p.Warnings {
			warn.Add(n)
		}
		if p.Executable != first.Executable || p.BuildID != first.BuildID {
			warn.Add(Warning{Code: WarnExecutables})
		}
	}
	slices.Sort(e.Steps)
	e.Steps = slices.Compact(e.Steps)
	slices.SortFunc(e.Nodes, func(a, b NodeShare) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.RankIDs, b.RankIDs))
	})
	e.Slowest = Slowest(e.Slowest)
	e.Calls, e.Classes = calls.list(), classes.list()
	e.Sections = sections.List()
	e.Warnings = warn.List()
	return e
}

// callsByName sums up lists of calls.
type callsByName map[string]*Call

func (c callsByName) add(list []Call) {
	for _, f := range list {
		if c[f.Name] == nil {
			c[f.Name] = &Call{Name: f.Name}
		}
		c[f.Name].Add(f)
	}
}

func (c callsByName) list() []Call {
	var out []Call
	for _, f := range c {
		out = append(out, *f)
	}
	SortCalls(out)
	return out
}

func addHist(a, b []uint64) []uint64 {
	out := make([]uint64, max(len(a), len(b)))
	copy(out, a)
	for i, n := range b {
		out[i] = AddCount(out[i], n)
	}
	return out
}

// Slowest keeps the SlowestKept ranks with the most useful time. The order is total, so the
// order of merging makes no difference.
func Slowest(ranks []Rank) []Rank {
	slices.SortFunc(ranks, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(b.Useful, a.Useful), cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID))
	})
	return slices.Clip(ranks[:min(len(ranks), SlowestKept)])
}

// FirstTime is the earlier of two times; zero means unknown.
func FirstTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// LastTime is the later of two times; zero means unknown.
func LastTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// startWindow is how far apart ranks of one world may leave MPI_Init if no launcher names the
// world.
const startWindow = 5 * time.Second

// launcherWindow is the same if a launcher names the world. The name alone is not enough: it
// holds a port or a hash of a process id, which return after thousands of mpiruns. The window
// is as wide as munge lets the clocks of two nodes differ.
const launcherWindow = 300 * time.Second

// StartKey is Execution.KeyFrom of worlds that no launcher names.
const StartKey = "start"

// WindowOf is the window of a key, by its KeyFrom.
func WindowOf(from string) time.Duration {
	if from == StartKey {
		return startWindow
	}
	return launcherWindow
}

// JobMerger merges the reports of a job's nodes. It keeps the parts and merges them when Job
// is called, so Add costs the same for the first and the ten-thousandth node. The zero value is
// empty.
type JobMerger struct {
	job      Job
	parts    []Execution
	steps    mergedSteps
	cgroup   Cgroup
	warn     Warnings
	on       bool
	off      bool
	offWhy   string // why a node did not measure
	prolog   bool
	lostFull int
	lostMem  int
	procs    int
	nodes    map[string]bool
	dropped  []string      // nodes whose spool had no room for their report
	refused  string        // why figures of a node were refused
	interim  []string      // nodes that have reported only while the job ran
	reports  []*NodeReport // what FindHung asks of them
	// HungAfter is for how long nothing must move in a job that hangs; 0: none does.
	HungAfter time.Duration
}

// Add adds one node's report. The order makes no difference. The caller must not add a report
// twice, nor change its executions afterwards.
func (m *JobMerger) Add(r *NodeReport) {
	j := &m.job
	j.Cluster, j.JobID = r.Cluster, r.JobID
	j.ArrayJobID = max(j.ArrayJobID, r.ArrayJobID)
	j.HetJobID = max(j.HetJobID, r.HetJobID)
	if j.ArrayTaskID == nil {
		j.ArrayTaskID = r.ArrayTaskID
	}
	j.UID = r.UID
	j.User, j.Account, j.Partition = max(j.User, r.User), max(j.Account, r.Account), max(j.Partition, r.Partition)
	j.Start, j.End = FirstTime(j.Start, r.Start), LastTime(j.End, r.End)
	j.Nodes = max(j.Nodes, r.NNodes)
	if !r.AsOf.IsZero() {
		j.AsOf = FirstTime(j.AsOf, r.AsOf)
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
	for i := range r.Steps {
		m.steps.add(&r.Steps[i])
	}
	m.parts = append(m.parts, r.Executions...)
	for _, w := range r.Warnings {
		switch w.Code {
		case WarnOutboxFull:
			m.dropped = append(m.dropped, r.Node)
			continue
		case WarnInterim, warnHung: // only the merger says so
			continue
		case WarnImpossible:
			m.refused = max(m.refused, w.Args.Other)
		}
		m.warn.Add(w)
	}
	if m.nodes == nil {
		m.nodes = map[string]bool{}
	}
	m.nodes[r.Node] = true
	m.reports = append(m.reports, &NodeReport{Sequence: r.Sequence, Progress: r.Progress, Still: r.Still}) // not all of it, see Bound
}

// Bound joins what was added so far, since parts take more memory than what they are joined to, and leaves
// out what still takes too much: only made-up reports do.
func (m *JobMerger) Bound() {
	m.parts = FoldWhole(Merge(m.parts))
	n, bytes := 0, 0
	for ; n < min(len(m.parts), maxExecutions); n++ {
		if bytes += sizeOf(reflect.ValueOf(&m.parts[n]).Elem()); bytes > mostBytesOfJob {
			break
		}
	}
	if n < len(m.parts) {
		m.refuse(errMany)
		m.parts = slices.Clone(m.parts[:n])
	}
}

// mostBytesOfJob is what the executions of a job may take in memory while its reports are merged. A job of
// 10,000 nodes takes a tenth of it.
const mostBytesOfJob = 256 << 20

// TooLarge notes that a report was left out, as those of the job are too large together.
func (m *JobMerger) TooLarge() { m.refuse(errBytes) }

func (m *JobMerger) refuse(why error) {
	m.refused = max(m.refused, why.Error())
	m.warn.Add(Warning{Code: WarnImpossible, Args: Args{Other: why.Error()}})
}

// sizeOf is about what a value of a report takes in memory, bytes.
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
func (m *JobMerger) Foreign() { m.warn.Note(WarnForeignNode) }

func (m *JobMerger) decide(decision string) {
	if reason, isOff := strings.CutPrefix(decision, "off"); isOff {
		m.off = true
		m.offWhy = max(m.offWhy, strings.TrimSpace(reason))
		return
	}
	m.on = true
}

// Job is what the reports say so far.
func (m *JobMerger) Job() *Job {
	j := m.job
	j.Reports = len(m.nodes)
	j.Nodes = max(j.Nodes, j.Reports)
	j.Elapsed = j.End.Sub(j.Start)
	j.Decision = "on"
	if !m.on && m.off {
		j.Decision = strings.TrimSpace("off " + m.offWhy)
	}
	j.DisplayID = DisplayID(&j)
	j.Steps = m.steps.list()
	if m.cgroup.Nodes > 0 {
		cgroup := m.cgroup
		j.Cgroup = &cgroup
	}
	j.Executions = Merge(m.parts)
	for i := range j.Executions {
		complete(&j.Executions[i])
	}
	j.Executions = foldExecutions(j.Executions, func(*Execution) bool { return true })
	for _, e := range KeepTimelines(j.Executions, mostTimelines) {
		e.settleCourse()
		if e.Places != nil {
			e.Places = e.Places.cut()
		}
	}
	j.Metrics = JobMetrics(j.Executions)
	j.Warnings = m.warnings(&j)
	if j.Metrics == nil {
		j.NoData = m.noData(&j)
	}
	return &j
}

// warnings are the doubts about the job as a whole.
func (m *JobMerger) warnings(j *Job) []Warning {
	all := Warnings{}
	for n, count := range m.warn.count {
		n.Count = count
		all.Add(n)
	}
	if m.lostFull > 0 {
		all.Add(Warning{Code: WarnLostFull, Count: m.lostFull})
	}
	if m.lostMem > 0 {
		all.Add(Warning{Code: WarnLostMemory, Count: m.lostMem})
	}
	if m.steps.cut {
		all.Note(WarnStepsCut)
	}
	if len(m.dropped) > 0 {
		all.Add(Warning{Code: WarnOutboxFull, Args: m.droppedOn(), Count: len(m.dropped)})
	}
	if n := len(m.interim); n > 0 {
		slices.Sort(m.interim)
		all.Add(Warning{Code: WarnInterim, Args: Args{N: n, Names: firstNames(m.interim), Other: j.AsOf.Format(time.RFC3339Nano), Kind: m.together()}})
	}
	if h := FindHung(m.reports, m.job.Nodes, m.HungAfter); h != nil {
		all.Add(h.warning())
	}
	if j.Reports < j.Nodes {
		all.Add(Warning{Code: WarnNodesMissing, Args: Args{N: j.Reports, Of: j.Nodes}})
	}
	return all.List()
}

// together is KindTogether if all nodes of the job told of one moment, at which it ran.
func (m *JobMerger) together() string {
	first := m.reports[0].Progress
	apart := func(r *NodeReport) bool { return r.Progress == nil || !r.Progress.Moment.Equal(first.Moment) }
	if first == nil || m.job.Nodes == 0 || len(m.reports) != m.job.Nodes || slices.ContainsFunc(m.reports, apart) {
		return ""
	}
	return KindTogether
}

// noData says why a job has no metrics.
func (m *JobMerger) noData(j *Job) Warning {
	off := stepsOff(j.Steps)
	_, foreign := m.warn.count[NewWarning(WarnForeign, 0)]
	_, preload := m.warn.count[NewWarning(WarnPreload, 0)]
	why := func(code string) Warning { return Warning{Code: code} }
	switch {
	case j.Reports == 0:
		return why(WhyNoReport)
	case !m.on:
		return Warning{Code: WhyOff, Args: Args{Name: m.offWhy}}
	case foreign:
		return why(WhyReplaced)
	case len(m.dropped) > 0 && len(j.Executions) == 0:
		return Warning{Code: WarnOutboxFull, Args: m.droppedOn()}
	case m.refused != "" && len(j.Executions) == 0:
		return Warning{Code: WarnImpossible, Args: Args{Other: m.refused}}
	case OnlyUnknownThreads(j.Executions):
		return NoThreads(j.Executions)
	case len(j.Executions) > 0:
		return why(WhyNoSign)
	case m.procs > 0:
		return why(WhyInMPIInit)
	case m.lostMem > 0:
		return why(WhyNoMemory)
	case m.lostFull > 0:
		return why(WhyNoRoom)
	case preload:
		return why(WarnPreload)
	case off != "":
		return Warning{Code: WhyOff, Args: Args{Name: off}}
	case len(j.Steps) == 0 && j.JobID != 0:
		return why(WhyNoStep)
	}
	none := why(WhyNoMPI)
	if i := slices.IndexFunc(j.Steps, func(s Step) bool { return s.ID != "extern" && s.Off != "" }); i >= 0 {
		none.Args.Names, none.Args.Other = j.Steps[i].ID, j.Steps[i].Off
	}
	if i := slices.IndexFunc(j.Steps, func(s Step) bool { return s.Container && s.Off == "" }); i >= 0 {
		none.Args.Kind, none.Args.Name = KindContainer, j.Steps[i].ID
	}
	return none
}

// NoThreads says why there are no figures of programs without MPI.
func NoThreads(executions []Execution) Warning {
	return Warning{Code: WhyThreads, Args: Args{Name: ThreadsWhy(executions)}}
}

// droppedOn says on which nodes the report was dropped.
func (m *JobMerger) droppedOn() Args {
	slices.Sort(m.dropped)
	return Args{N: len(m.dropped), Names: firstNames(m.dropped)}
}

// stepsOff is why no step was measured; "" if one was.
func stepsOff(steps []Step) string {
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

// DisplayID is the job's id as Slurm prints it: 123, 123_4 for a task of an array, 123+1 for a
// component of a het job. Until sacct tells the offset, it follows from the raw ids, which
// Slurm assigns in a row.
func DisplayID(j *Job) string {
	switch {
	case j.ArrayJobID != 0 && j.ArrayTaskID != nil:
		return fmt.Sprintf("%d_%d", j.ArrayJobID, *j.ArrayTaskID)
	case j.HetJobID != 0 && j.HetOffset != nil:
		return fmt.Sprintf("%d+%d", j.HetJobID, *j.HetOffset)
	case j.HetJobID != 0 && j.JobID >= j.HetJobID:
		return fmt.Sprintf("%d+%d", j.HetJobID, j.JobID-j.HetJobID)
	}
	return strconv.FormatUint(uint64(j.JobID), 10)
}
