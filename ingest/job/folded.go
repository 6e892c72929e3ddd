package job

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/when"
	"jobeff/policy/doubt"
)

// Folded is what several executions of one program come to. The figures of the whole job do not
// change by it (METRICS 1): the sums over executions that they need stand here. Sums that are
// simple ones over ranks stand in the Execution itself.
type Folded struct {
	Count     int           `json:"count"`      // executions
	Sizes     int           `json:"sizes"`      // sum of their sizes
	Ranks     int           `json:"ranks"`      // recorded, most of one execution
	Elapsed   time.Duration `json:"elapsed_ns"` // sum of E_x
	Span      float64       `json:"span"`       // s, sum of n_x E_x
	UsefulMax float64       `json:"useful_max"` // s, sum of n_x max U_i
	MeanMax   float64       `json:"mean_max"`   // s, sum of n_x times the mean U_i of the node with the highest
	// Of all threads: those of the largest execution, sum of threads x E_x, and of threads x max u.
	Threads         int     `json:"threads,omitempty"`
	ThreadSpan      float64 `json:"thread_span,omitempty"`
	ThreadUsefulMax float64 `json:"thread_useful_max,omitempty"`
	// Spans are the times in which at least one of them ran: the gap since the one before (since
	// Execution.Start), its length, and so on.
	Spans    []time.Duration `json:"spans_ns"`
	Sections []SectionSum    `json:"sections,omitempty"` // with MPI_MAIN
}

// clean makes numbers from another machine possible ones.
func (f *Folded) Clean() {
	f.Count = min(max(f.Count, 1), mostCounted)
	for _, v := range []*float64{&f.Span, &f.UsefulMax, &f.MeanMax, &f.ThreadSpan, &f.ThreadUsefulMax} {
		*v = possible(*v)
	}
	f.Sections = f.Sections[:min(len(f.Sections), MostLabels+1)]
	for i := range f.Sections {
		f.Sections[i].clean()
	}
}

// mostCounted bounds Folded.Count: sums over all jobs of a database must fit 64 bits.
const mostCounted = 1 << 31

// How many executions of a job are kept one by one: those with the most core time, and of the
// others those that began first. The first ones were not picked for being slow, so a curve may
// use them.
const (
	keptCostly = 100
	keptFirst  = 100
	mostFolded = 50 // entries of folded executions
)

// keyFolded is Execution.Key and KeyFrom of folded executions.
const keyFolded = "folded"

// FoldWhole folds the executions of one node's report by program, if they are more than are kept
// one by one. An execution with ranks on other nodes stays, as its figures need their parts, too. So
// does one whose figures cannot be: it must not spoil the others'.
func FoldWhole(all []Execution) []Execution {
	return foldExecutions(all, func(e *Execution) bool { return e.Recorded() >= e.Size && e.Check() == nil })
}

// foldExecutions folds those that may be folded. The result does not depend on how often, or in
// which parts, they were folded before.
func foldExecutions(all []Execution, may func(*Execution) bool) []Execution {
	single, folded := 0, 0
	for i := range all {
		switch e := &all[i]; {
		case e.Folded != nil:
			folded++
		case may(e):
			single++
		}
	}
	if single <= keptCostly+keptFirst && folded < 2 {
		return all
	}
	var kept []Execution
	groups := map[program]*group{}
	more := tooMany(all, may)
	for i := range all {
		e := &all[i]
		if e.Folded == nil && !more[e] {
			kept = append(kept, *e)
			continue
		}
		groupOf(groups, programOf(e)).add(e)
	}
	return append(kept, listFolded(groups)...)
}

// tooMany are the executions that are not kept one by one. It marks those that are kept for
// their cost.
func tooMany(all []Execution, may func(*Execution) bool) map[*Execution]bool {
	type costed struct {
		*Execution
		cost float64
	}
	var list []costed
	for i := range all {
		if e := &all[i]; e.Folded == nil && may(e) {
			list = append(list, costed{e, RankSeconds(all[i : i+1])})
		}
	}
	if len(list) <= keptCostly+keptFirst {
		return nil
	}
	slices.SortStableFunc(list, func(a, b costed) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), comparePart(a.Execution, b.Execution))
	})
	for i, e := range list {
		e.Costly = i < keptCostly
	}
	others := list[keptCostly:]
	slices.SortStableFunc(others, func(a, b costed) int { return comparePart(a.Execution, b.Execution) })
	more := map[*Execution]bool{}
	for _, e := range others[keptFirst:] {
		more[e.Execution] = true
	}
	return more
}

// program is what folded executions have in common.
type program struct {
	executable, build, hash, mpi string
	size, cpus, threads          int
}

func programOf(e *Execution) program {
	if e.Folded != nil && e.Executable == otherPrograms {
		return program{executable: otherPrograms}
	}
	return program{e.Executable, e.BuildID, e.ExecutableHash, e.MPI, e.Size, e.CPUsPerTask, e.OMPThreads}
}

// group is folded executions in the making.
type group struct {
	sum            Execution
	folded         Folded
	nodes          map[string]*NodeShare
	calls, classes callsByName
	warn           doubt.Warnings
	sections       map[string]*SectionSum
	spans          []when.Span
}

func groupOf(groups map[program]*group, p program) *group {
	if groups[p] == nil {
		groups[p] = &group{nodes: map[string]*NodeShare{}, calls: callsByName{}, classes: callsByName{}, sections: map[string]*SectionSum{}}
	}
	return groups[p]
}

// add adds an execution, folded or not.
func (g *group) add(e *Execution) {
	if e.Folded == nil && e.Metrics == nil { // not merged yet, so nobody doubted it
		one := *e
		complete(&one)
		e = &one
	}
	s := shareOf(e)
	f := &g.folded
	_, ran := e.Ranks()
	f.Count, f.Sizes, f.Ranks = f.Count+e.Count(), f.Sizes+ran, max(f.Ranks, s.most)
	f.Elapsed = AddTime(f.Elapsed, s.elapsedSum)
	f.Span, f.UsefulMax, f.MeanMax = f.Span+s.span, f.UsefulMax+s.usefulMax, f.MeanMax+s.meanMax
	var threads threadSums
	threads.add(e)
	f.Threads = max(f.Threads, threads.Threads)
	f.ThreadSpan, f.ThreadUsefulMax = f.ThreadSpan+threads.Span, f.ThreadUsefulMax+threads.usefulMax
	addSections(g.sections, e)
	g.spans = append(g.spans, e.Spans()...)
	g.addSums(e)
	g.addCommon(e)
}

// addSums adds what are sums over ranks.
func (g *group) addSums(e *Execution) {
	for i := range e.Nodes {
		n := &e.Nodes[i]
		if g.nodes[n.Node] == nil {
			g.nodes[n.Node] = &NodeShare{Node: n.Node, BootID: n.BootID, Hardware: n.Hardware}
		}
		g.nodes[n.Node].addExecution(n)
	}
	g.calls.add(e.Calls)
	g.classes.add(e.Classes)
	g.sum.HistP2P, g.sum.HistCol = AddHist(g.sum.HistP2P, e.HistP2P), AddHist(g.sum.HistCol, e.HistCol)
	if g.sum.Endings == nil {
		g.sum.Endings = map[string]int{}
	}
	for ending, n := range e.Endings {
		g.sum.Endings[ending] += n
	}
	for _, w := range e.Warnings {
		g.warn.Add(w)
	}
}

// addExecution adds the ranks of another execution on the same node.
func (n *NodeShare) addExecution(b *NodeShare) {
	if n.Threads != nil || b.Threads != nil {
		sum, more := n.threads(), b.threads()
		sum.Add(&more)
		n.Threads = &sum
	}
	n.OnlineCPUs, n.CPUs, n.Ranks = max(n.OnlineCPUs, b.OnlineCPUs), max(n.CPUs, b.CPUs), n.Ranks+b.Ranks
	n.Useful, n.MPI, n.IO = AddTime(n.Useful, b.Useful), AddTime(n.MPI, b.MPI), AddTime(n.IO, b.IO)
	n.UsefulMax, n.ElapsedMax = max(n.UsefulMax, b.UsefulMax), max(n.ElapsedMax, b.ElapsedMax)
	n.ElapsedSum = AddTime(n.ElapsedSum, b.ElapsedSum)
	if b.Counters != nil {
		if n.Counters == nil {
			n.Counters = &Counters{}
		}
		n.Counters.Add(*b.Counters)
	}
	if b.Load != nil {
		if n.Load == nil {
			n.Load = &Load{}
		}
		n.Load.Add(b.Load)
	}
}

// addCommon keeps what all executions have in common.
func (g *group) addCommon(e *Execution) {
	s := &g.sum
	s.Start, s.End = when.First(s.Start, e.Start), when.Last(s.End, e.End)
	s.Size, s.CPUsPerTask, s.OMPThreads = max(s.Size, e.Size), max(s.CPUsPerTask, e.CPUsPerTask), max(s.OMPThreads, e.OMPThreads)
	if s.Key == "" {
		s.Key, s.KeyFrom = keyFolded, keyFolded
		s.Steps, s.Args, s.Inputs = e.Steps, e.Args, e.Inputs
		for _, f := range commonTexts(s, e) {
			*f[0] = *f[1]
		}
		return
	}
	for _, f := range commonTexts(s, e) {
		if *f[0] != *f[1] {
			*f[0] = ""
		}
	}
	if s.ArgsHash == "" {
		s.Args = nil
	}
	if s.InputHash == "" {
		s.Inputs = 0
	}
	if !slices.Equal(s.Steps, e.Steps) {
		s.Steps = nil
	}
}

// commonTexts are the texts that are kept if all folded executions have the same.
func commonTexts(a, b *Execution) [][2]*string {
	return [][2]*string{{&a.MPI, &b.MPI}, {&a.MPIVersion, &b.MPIVersion}, {&a.Executable, &b.Executable}, {&a.BuildID, &b.BuildID},
		{&a.ThreadLevel, &b.ThreadLevel}, {&a.ExecutableHash, &b.ExecutableHash}, {&a.ArgsHash, &b.ArgsHash},
		{&a.InputHash, &b.InputHash}, {&a.InputNote, &b.InputNote}, {&a.Workload, &b.Workload}}
}

// execution is what was added.
func (g *group) execution() Execution {
	e, f := g.sum, g.folded
	for _, n := range g.nodes {
		e.Nodes = append(e.Nodes, *n)
	}
	slices.SortFunc(e.Nodes, func(a, b NodeShare) int { return cmp.Compare(a.Node, b.Node) })
	e.Calls, e.Classes, e.Warnings = g.calls.list(), g.classes.list(), g.warn.List()
	e.Endings = CutEndings(e.Endings)
	f.Sections = listSections(g.sections)
	f.Spans = offsets(e.Start, g.spans)
	e.Folded = &f
	e.Metrics = ExecutionMetrics(&e)
	return e
}

// offsets writes spans as Folded.Spans.
func offsets(start time.Time, spans []when.Span) (out []time.Duration) {
	for _, s := range when.Union(spans) {
		out = append(out, s.From.Sub(start), s.To.Sub(s.From))
		start = s.To
	}
	return out
}

// listFolded lists the groups, the one with the most core time first. Those for which there is no
// entry left are folded into one, with those for which there was none before.
func listFolded(groups map[program]*group) (all []Execution) {
	for _, g := range groups {
		all = append(all, g.execution())
	}
	others := func(e *Execution) int {
		if e.Executable == otherPrograms {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b Execution) int {
		return cmp.Or(cmp.Compare(others(&a), others(&b)), cmp.Compare(b.Folded.Span, a.Folded.Span), cmp.Compare(a.Executable, b.Executable), comparePart(&a, &b))
	})
	if len(all) <= mostFolded {
		return all
	}
	more := groupOf(map[program]*group{}, program{})
	for i := range all[mostFolded-1:] {
		more.add(&all[mostFolded-1+i])
	}
	rest := more.execution()
	rest.Executable = otherPrograms
	return append(all[:mostFolded-1], rest)
}

// otherPrograms is Execution.Executable of an entry that folds programs for which there was no
// entry left.
const otherPrograms = "(other programs)"

// CountExecutions is how many executions there were, folded or not.
func CountExecutions(all []Execution) (n int) {
	for i := range all {
		n += all[i].Count()
	}
	return n
}

// Count is how many executions this entry stands for.
func (e *Execution) Count() int {
	if e.Folded != nil {
		return e.Folded.Count
	}
	return 1
}

// recorded counts the ranks of an execution, or of all that are folded.
func (e *Execution) Recorded() (n int) {
	for i := range e.Nodes {
		n += e.Nodes[i].Ranks
	}
	return n
}

// Ranks is how many ranks were recorded and how many ran, over all that are folded.
func (e *Execution) Ranks() (recorded, ran int) {
	recorded = e.Recorded()
	if e.Folded != nil {
		return recorded, e.Folded.Sizes
	}
	return recorded, max(recorded, e.Size)
}

// Spans are the times in which it ran, one after the other.
func (e *Execution) Spans() []when.Span {
	if e.Folded == nil {
		return []when.Span{{From: e.Start, To: e.Start.Add(elapsedOf(e))}}
	}
	var all []when.Span
	at := e.Start
	for i := 0; i+1 < len(e.Folded.Spans); i += 2 {
		from := at.Add(e.Folded.Spans[i])
		at = from.Add(e.Folded.Spans[i+1])
		all = append(all, when.Span{From: from, To: at})
	}
	return all
}
