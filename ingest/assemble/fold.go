package assemble

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/when"
	"jobeff/policy/doubt"
)

// A job keeps these executions one by one: the keptCostly with the most core time and, of the others,
// the keptFirst that began first. The latter were not picked for being slow, so a curve may use them.
const (
	keptCostly = 100
	keptFirst  = 100
	mostFolded = 50 // entries of folded executions
)

// FoldWhole folds the executions of one node's report by program, if there are more than a job keeps
// one by one. An execution with ranks on other nodes stays, as its figures need their parts, too.
// One with impossible figures stays, so that it does not spoil the sums of others.
func FoldWhole(all []job.Execution) []job.Execution {
	return foldExecutions(all, func(e *job.Execution) bool { return e.Recorded() >= e.Size && e.Check() == nil })
}

// foldExecutions folds executions for which may is true. The result does not depend on how often,
// or in which parts, they were folded before.
func foldExecutions(all []job.Execution, may func(*job.Execution) bool) []job.Execution {
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
	var kept []job.Execution
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

// tooMany are the executions that are not kept one by one. It sets Costly on those that are kept
// for their cost.
func tooMany(all []job.Execution, may func(*job.Execution) bool) map[*job.Execution]bool {
	type costed struct {
		*job.Execution
		cost float64
	}
	var list []costed
	for i := range all {
		if e := &all[i]; e.Folded == nil && may(e) {
			list = append(list, costed{e, job.RankSeconds(all[i : i+1])})
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
	more := map[*job.Execution]bool{}
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

func programOf(e *job.Execution) program {
	if e.Folded != nil && e.Executable == otherPrograms {
		return program{executable: otherPrograms}
	}
	return program{e.Executable, e.BuildID, e.ExecutableHash, e.MPI, e.Size, e.CPUsPerTask, e.OMPThreads}
}

// group sums up the executions of one program.
type group struct {
	sum            job.Execution
	folded         job.Folded
	nodes          map[string]*job.NodeShare
	calls, classes job.CallSums
	warn           doubt.Warnings
	sections       job.SectionTotals
	spans          []when.Span
}

func groupOf(groups map[program]*group, p program) *group {
	if groups[p] == nil {
		groups[p] = &group{nodes: map[string]*job.NodeShare{}, calls: job.CallSums{}, classes: job.CallSums{}, sections: job.SectionTotals{}}
	}
	return groups[p]
}

// add adds an execution, folded or not.
func (g *group) add(e *job.Execution) {
	if e.Folded == nil && e.Metrics == nil { // not merged yet, so it has no figures and warnings
		one := *e
		complete(&one)
		e = &one
	}
	g.folded.Add(e)
	g.sections.AddOf(e)
	g.spans = append(g.spans, e.Spans()...)
	g.addSums(e)
	g.addCommon(e)
}

// addSums adds the sums over ranks.
func (g *group) addSums(e *job.Execution) {
	for i := range e.Nodes {
		n := &e.Nodes[i]
		if g.nodes[n.Node] == nil {
			g.nodes[n.Node] = &job.NodeShare{Node: n.Node, BootID: n.BootID, Hardware: n.Hardware}
		}
		g.nodes[n.Node].AddExecution(n)
	}
	g.calls.Add(e.Calls)
	g.classes.Add(e.Classes)
	g.sum.HistP2P, g.sum.HistCol = job.AddHist(g.sum.HistP2P, e.HistP2P), job.AddHist(g.sum.HistCol, e.HistCol)
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

// addCommon keeps what all executions have in common.
func (g *group) addCommon(e *job.Execution) {
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
func commonTexts(a, b *job.Execution) [][2]*string {
	return [][2]*string{{&a.MPI, &b.MPI}, {&a.MPIVersion, &b.MPIVersion}, {&a.Executable, &b.Executable}, {&a.BuildID, &b.BuildID},
		{&a.ThreadLevel, &b.ThreadLevel}, {&a.ExecutableHash, &b.ExecutableHash}, {&a.ArgsHash, &b.ArgsHash},
		{&a.InputHash, &b.InputHash}, {&a.InputNote, &b.InputNote}, {&a.Workload, &b.Workload}}
}

// execution makes one entry of what was added.
func (g *group) execution() job.Execution {
	e, f := g.sum, g.folded
	for _, n := range g.nodes {
		e.Nodes = append(e.Nodes, *n)
	}
	slices.SortFunc(e.Nodes, func(a, b job.NodeShare) int { return cmp.Compare(a.Node, b.Node) })
	e.Calls, e.Classes, e.Warnings = g.calls.List(), g.classes.List(), g.warn.List()
	e.Endings = job.CutEndings(e.Endings)
	f.Sections = g.sections.List()
	f.Spans = offsets(e.Start, g.spans)
	e.Folded = &f
	e.Metrics = job.JobMetrics([]job.Execution{e})
	return e
}

// keyFolded is Execution.Key and KeyFrom of folded executions.
const keyFolded = "folded"

// offsets writes spans as Folded.Spans.
func offsets(start time.Time, spans []when.Span) (out []time.Duration) {
	for _, s := range when.Union(spans) {
		out = append(out, s.From.Sub(start), s.To.Sub(s.From))
		start = s.To
	}
	return out
}

// listFolded lists the groups, the one with the most core time first. Groups beyond mostFolded are
// folded into one, together with those that were beyond it before.
func listFolded(groups map[program]*group) (all []job.Execution) {
	for _, g := range groups {
		all = append(all, g.execution())
	}
	others := func(e *job.Execution) int {
		if e.Executable == otherPrograms {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b job.Execution) int {
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
