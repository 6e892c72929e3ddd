package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Change is something that differs between the two runs, with its value in each.
type Change struct{ What, Before, After string }

// WaitedForCPU is What of the Change whose ranks lacked CPUs.
const WaitedForCPU = "Waited for a CPU"

// Grown is a call, a section, a place, a node or ranks whose time differs between the runs. Times
// are s.
type Grown struct {
	Name          string
	Was           string // where it was before, if elsewhere; else ""
	Before, After float64
	Others        float64 // for a node or rank: by how much the computing of the median one grew, as a share
}

// Share is by how much it grew, as a share of Before.
func (g *Grown) Share() float64 { return g.After/g.Before - 1 }

const (
	// muchLonger: a node or rank is named if its time grew by this factor more than the median of all.
	muchLonger = 1.05
	// mostNamed bounds how many nodes or ranks are named. If more stand out, the work is distributed in another
	// way, and none is.
	mostNamed = 3
	// leastGrown is the least change of a call, section or place that gets a line, as a part of the run's time.
	leastGrown = 0.005
	// mostGrown bounds the lines about calls, about sections and about places.
	mostGrown = 5
	// sharesApart is the least difference in the shares of time in which ranks waited for a CPU, or slept, that is
	// listed.
	sharesApart = 0.05
)

// outliers finds the nodes whose computing grew much more than that of the others. It compares each with the
// earlier node that had the same ranks. If single ranks stand out, and are fewer than the ranks of such nodes,
// it names these ranks.
func (c *Comparison) outliers() {
	nodes, ranks := outlying(nodesOf(&c.Before.main, &c.After.main)), outlying(ranksOf(&c.Before.main, &c.After.main))
	on := 0
	for i := range c.After.main.Nodes {
		n := &c.After.main.Nodes[i]
		if slices.ContainsFunc(nodes, func(g Grown) bool { return g.Name == "node "+n.Node }) {
			on += n.Ranks
		}
	}
	if len(ranks) > 0 && (on == 0 || len(ranks) < on) {
		c.Ranks = ranks
		return
	}
	c.Nodes = nodes
}

// nodesOf pairs the nodes that have the same ranks, by the mean useful time of a rank.
func nodesOf(before, after *job.Execution) (all []Grown) {
	was := map[string]*job.NodeShare{}
	for i := range before.Nodes {
		was[before.Nodes[i].RankIDs] = &before.Nodes[i]
	}
	each := func(n *job.NodeShare) float64 { return n.Useful.Seconds() / float64(max(n.Ranks, 1)) }
	for i := range after.Nodes {
		n := &after.Nodes[i]
		then := was[n.RankIDs]
		if then == nil || n.RankIDs == "" {
			return nil
		}
		g := Grown{Name: "node " + n.Node, Before: each(then), After: each(n)}
		if then.Node != n.Node {
			g.Was = "node " + then.Node
		}
		all = append(all, g)
	}
	return all
}

// ranksOf pairs the useful times of all ranks; nil if the times of single ranks are not kept.
func ranksOf(before, after *job.Execution) (all []Grown) {
	was, is := usefulByRank(before), usefulByRank(after)
	if len(was) != len(is) {
		return nil
	}
	for rank, s := range is {
		if was[rank] == 0 {
			return nil
		}
		all = append(all, Grown{Name: "rank " + strconv.Itoa(rank), Before: was[rank], After: s})
	}
	slices.SortFunc(all, func(a, b Grown) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func usefulByRank(e *job.Execution) map[int]float64 {
	all := map[int]float64{}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		times, told := n.UsefulTimes()
		ranks, err := slurmid.RankList(n.RankIDs, len(times))
		if !told || err != nil || len(ranks) != len(times) {
			return nil
		}
		for k, rank := range ranks {
			all[rank] = times[k]
		}
	}
	return all
}

// outlying returns those that grew much more than the median of all, the most first. It returns nothing if they
// are many.
func outlying(all []Grown) (out []Grown) {
	var shares []float64
	for i := range all {
		shares = append(shares, all[i].After/all[i].Before)
	}
	if len(all) < 2 {
		return nil
	}
	slices.Sort(shares)
	middle := shares[(len(shares)-1)/2] // of two, the lower one: the other is named
	for _, g := range all {
		if ratio := g.After / g.Before; ratio > muchLonger*middle && !math.IsInf(ratio, 0) {
			g.Others = middle - 1
			out = append(out, g)
		}
	}
	if len(out) > mostNamed || 2*len(out) > len(all) {
		return nil
	}
	slices.SortStableFunc(out, func(a, b Grown) int { return cmp.Compare(b.Share(), a.Share()) })
	return out
}

// grow fills in the calls, sections and places whose mean time per rank changed most.
func (c *Comparison) grow() {
	c.Calls = c.most(callsOf(&c.Before), callsOf(&c.After), mostGrown)
	if before, after := sectionsOf(&c.Before), sectionsOf(&c.After); before != nil && after != nil {
		c.Sections = c.most(before, after, mostGrown)
	}
	if before, after := c.Before.main.Places, c.After.main.Places; before != nil && after != nil {
		c.Named = before.Looked && after.Looked
		c.growPlaces(before, after)
	}
}

func callsOf(s *Side) map[string]float64 {
	all := map[string]float64{}
	for _, call := range s.main.Calls {
		all[call.Name] += call.Time.Seconds() / float64(s.metrics.Ranks)
	}
	return all
}

// sectionsOf returns the sections' own times, s, the mean of the ranks. MPI_MAIN has the time in no other
// section. The result is nil if there is no other.
func sectionsOf(s *Side) map[string]float64 {
	all := map[string]float64{}
	for _, section := range job.JobSections([]job.Execution{s.main}) {
		all[section.Label] = section.Own / float64(s.metrics.Ranks)
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// most returns the n that changed most, the largest change first.
func (c *Comparison) most(before, after map[string]float64, n int) (all []Grown) {
	for name, s := range after {
		all = append(all, Grown{Name: name, Before: before[name], After: s})
	}
	for name, s := range before {
		if _, both := after[name]; !both {
			all = append(all, Grown{Name: name, Before: s})
		}
	}
	all = slices.DeleteFunc(all, func(g Grown) bool { return math.Abs(g.After-g.Before) < leastGrown*c.mean })
	slices.SortFunc(all, func(a, b Grown) int {
		return cmp.Or(cmp.Compare(math.Abs(b.After-b.Before), math.Abs(a.After-a.Before)), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), n)]
}

// changes lists what the two runs do not have in common, as far as it is known of both.
func changes(before, after *Side) (all []Change) {
	add := func(what string, of func(*Side) string) {
		if a, b := of(before), of(after); a != b && a != "" && b != "" {
			all = append(all, Change{what, a, b})
		}
	}
	add("Program", func(s *Side) string { return s.main.Executable })
	add("Build", func(s *Side) string { return short(s.Run.BuildID) })
	if a, b := before.Run.MPI, after.Run.MPI; !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a) {
		all = append(all, Change{"MPI", a, b})
	}
	add("Arguments", func(s *Side) string { return cmp.Or(strings.Join(s.main.Args, " "), short(s.main.ArgsHash)) })
	add("Input", func(s *Side) string { return short(s.main.InputHash) })
	add("Partition", func(s *Side) string { return s.Run.Partition })
	add("Machine", func(s *Side) string { return workload.MachineText(&s.Run) })
	add("Highest clock", func(s *Side) string {
		if k := s.Run.Conditions; k != nil && k.Machine != nil && k.Machine.MaxMHz > 0 {
			return figure.Count(k.Machine.MaxMHz) + " MHz"
		}
		return ""
	})
	add("Nodes", func(s *Side) string { return nodesText(&s.main) })
	add("Placement", func(s *Side) string { return placement(&s.main) })
	add("CPUs", func(s *Side) string {
		if n := job.CPUsAllowed(&s.main); n > 0 {
			return figure.Counted(n, "CPU") + " for all ranks"
		}
		return ""
	})
	add("Ranks and threads", func(s *Side) string {
		return workload.Mix{Ranks: s.Run.Ranks, Threads: max(s.Run.Threads, 1)}.String()
	})
	return append(all, lacks(before, after)...)
}

// lacks compares how long ranks waited for a CPU, and how long they slept.
func lacks(before, after *Side) (all []Change) {
	a, b := job.LoadOf([]job.Execution{before.main}), job.LoadOf([]job.Execution{after.main})
	if a == nil || b == nil || a.Whole < before.metrics.Ranks || b.Whole < after.metrics.Ranks {
		return nil
	}
	for _, one := range []struct {
		what string
		of   func(*job.Load) float64
	}{
		{WaitedForCPU, func(l *job.Load) float64 { return l.Queue.Seconds() / l.ThreadSpan.Seconds() }},
		{"Slept outside MPI", func(l *job.Load) float64 { return l.Slept.Seconds() / l.Span.Seconds() }},
	} {
		if was, is := one.of(a), one.of(b); math.Abs(was-is) >= sharesApart {
			all = append(all, Change{one.what, figure.Percent(was) + " of the time", figure.Percent(is) + " of the time"})
		}
	}
	return all
}

// short returns the beginning of a hash.
func short(hash string) string { return hash[:min(len(hash), 8)] }

// mostNodes bounds how many nodes are named.
const mostNodes = 6

func nodesText(e *job.Execution) string {
	var names []string
	for i := range e.Nodes {
		names = append(names, e.Nodes[i].Node)
	}
	slices.Sort(names)
	if more := len(names) - mostNodes; more > 0 {
		return strings.Join(names[:mostNodes], ", ") + " and " + figure.Count(more) + " more"
	}
	return strings.Join(names, ", ")
}

// placement says how many ranks the nodes have.
func placement(e *job.Execution) string {
	var each []float64
	for i := range e.Nodes {
		each = append(each, float64(e.Nodes[i].Ranks))
	}
	least, most := int(slices.Min(each)), int(slices.Max(each))
	nodes := figure.Counted(len(each), "node")
	if least == most {
		return fmt.Sprintf("%s on each of %s", figure.Counted(most, "rank"), nodes)
	}
	return fmt.Sprintf("%s to %s on %s, median %s", figure.Count(least), figure.Counted(most, "rank"), nodes, figure.Cores(curve.Median(each)))
}
