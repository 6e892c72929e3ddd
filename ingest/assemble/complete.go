package assemble

import (
	"cmp"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
)

// complete fills in what follows from the parts of a whole execution.
func complete(e *job.Execution) {
	if e.Folded != nil { // its executions were completed before
		e.Metrics = job.JobMetrics([]job.Execution{*e})
		return
	}
	ranks, n := ranksOf(e), 0
	for _, r := range ranks {
		n += r.Last - r.First + 1
	}
	e.RankIDs = slurmid.RangesText(ranks)
	e.Metrics = job.JobMetrics([]job.Execution{*e})
	var found []doubt.Warning
	found = append(found, oversubscribed(e)...)
	found = append(found, loadWarnings(e)...)
	if n < e.Size {
		found = append(found, doubt.Warning{Code: doubt.WarnCoverage, Args: doubt.Arguments{N: n, Of: e.Size}})
	}
	found = append(found, CutSections(e)...)
	e.Warnings = doubt.MergeWarnings(e.Warnings, found)
}

// oversubscribed warns of machines that ran more ranks than they have CPUs. Nodes with the same
// boot id are one machine. If the kernel counted every rank, it warns of none: loadWarnings then
// sees whether ranks waited for a CPU, and ranks that sleep need none.
func oversubscribed(e *job.Execution) []doubt.Warning {
	type machine struct {
		ranks, cpus int
		nodes       []string
	}
	byBoot := map[string]*machine{}
	var order []string
	counted := true
	for i := range e.Nodes {
		n := &e.Nodes[i]
		counted = counted && n.Load != nil && n.Load.Whole == n.Ranks
		id := cmp.Or(n.BootID, "node "+n.Node)
		if byBoot[id] == nil {
			byBoot[id] = &machine{}
			order = append(order, id)
		}
		m := byBoot[id]
		m.ranks += n.Ranks
		m.cpus = max(m.cpus, n.OnlineCPUs)
		m.nodes = append(m.nodes, n.Node)
	}
	var out []doubt.Warning
	for _, id := range order {
		m := byBoot[id]
		if counted || m.cpus == 0 || m.ranks <= m.cpus {
			continue
		}
		nodes := slices.Compact(m.nodes)
		out = append(out, doubt.Warning{Code: doubt.WarnOversubs, Args: doubt.Arguments{N: m.ranks, CPUs: m.cpus, Of: len(nodes), Names: firstNames(nodes)}})
	}
	return out
}

// namedNodes is how many nodes a warning names.
const namedNodes = 4

// firstNames are the first of many names, as Args.Names holds them.
func firstNames(names []string) string { return strings.Join(names[:min(len(names), namedNodes)], ",") }

// CutSections bounds the labels of a whole execution, as job.SectionTotals.List does for a node.
func CutSections(e *job.Execution) []doubt.Warning {
	if len(e.Sections) <= job.MostLabels {
		return nil
	}
	sums := job.SectionSums{}
	for i := range e.Sections {
		sums.At(e.Sections[i].Label).Add(&e.Sections[i])
	}
	sums.Cut(job.MostLabels)
	e.Sections = sums.List()
	return []doubt.Warning{{Code: doubt.WarnSectionsMany}}
}

// loadWarnings are the doubts that the kernel's counts raise.
func loadWarnings(e *job.Execution) (out []doubt.Warning) {
	l := job.LoadOf([]job.Execution{*e})
	if l == nil {
		return nil
	}
	add := func(code string, a doubt.Arguments) { out = append(out, doubt.Warning{Code: code, Args: a}) }
	switch {
	case l.Threaded > l.OpenMP && l.BusyOfMPI:
		add(doubt.WarnProgress, doubt.Arguments{Name: l.BusyName})
	case l.Threaded > l.OpenMP && !e.AsksForThreads() && e.MPI != "":
		add(doubt.WarnThreadsCounted, l.ThreadedArgs())
	}
	switch {
	case l.CrowdBusy > 0:
		add(doubt.WarnContention, l.CrowdArgs())
	case l.Contended():
		add(doubt.WarnContention, l.QueueArgs())
	}
	if l.IsAsleep() {
		add(doubt.WarnSlept, l.SleptArgs())
	}
	return out
}
