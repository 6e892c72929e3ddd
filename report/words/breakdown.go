package words

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// branches returns the tree of efficiencies that fits the job, with the question that each answers. Each is the
// product of those below it.
func branches(j *job.Job) []block.Branch {
	h := j.Metrics.Hybrid
	switch {
	case h == nil && job.WithMPI(j.Executions):
		return mpiBranches(j)
	case h == nil:
		return mpiBranches(j)[:1]
	}
	all := []block.Branch{{Name: "Parallel efficiency", Depth: 0, Value: j.Metrics.Parallel, Meaning: "the part of the threads' time that was useful computing"}}
	if !job.WithMPI(j.Executions) {
		return append(all, factors(j.Metrics.Parallel, regionBranches(h))...)
	}
	for i, b := range mpiBranches(j) {
		b.Depth++
		if i == 0 {
			b.Name, b.Meaning = "MPI parallel efficiency", "the part of the ranks' time outside of MPI"
		}
		all = append(all, b)
	}
	openmp, balance, communication := j.Metrics.OpenMPQuotients()
	return append(all,
		block.Branch{Name: "OpenMP parallel efficiency", Depth: 1, Value: openmp, Meaning: "the part of that time in which a rank's threads computed"},
		block.Branch{Name: "Load balance", Depth: 2, Value: balance, Meaning: "do the threads have the same amount of work?"},
		block.Branch{Name: "Communication efficiency", Depth: 2, Value: communication, Meaning: "the part of that time in which the busiest thread computed"})
}

// regionBranches returns DLB's efficiencies of OpenMP.
func regionBranches(h *job.Hybrid) []block.Branch {
	o := h.OpenMP()
	return []block.Branch{
		{Name: "Load balance", Depth: 1, Value: o.LoadBalance, Meaning: "do the threads of a region have the same amount of work?"},
		{Name: "Scheduling efficiency", Depth: 1, Value: o.Scheduling, Meaning: "what do regions, chunks, tasks and locks cost?"},
		{Name: "Serialisation efficiency", Depth: 1, Value: o.Serialisation, Meaning: "how much is done outside of parallel regions, by one thread?"},
	}
}

// rounded is how far a product may be from the figure that it should give, since each shows two digits.
const rounded = 0.01

// factors returns branches whose product is the value above them. It returns none if the product differs, as
// windows may from the whole run: a tree that does not multiply out is misleading.
func factors(above float64, all []block.Branch) []block.Branch {
	product := 1.0
	for _, b := range all {
		product *= b.Value
	}
	if math.Abs(product-above) > rounded {
		return nil
	}
	return all
}

// mpiBranches returns POP's tree for the ranks.
func mpiBranches(j *job.Job) []block.Branch {
	m, parallel, balance, communication := j.Metrics, "Parallel efficiency", "Load balance", "Communication efficiency"
	if job.ThreadsUnknown(j.Executions) {
		parallel, balance, communication = "MPI parallel efficiency", "MPI load balance", "MPI communication efficiency"
	}
	return append([]block.Branch{
		{Name: parallel, Depth: 0, Value: m.MPI.Parallel, Meaning: "the part of the ranks' time that was useful computing"},
		{Name: balance, Depth: 1, Value: m.MPI.LoadBalance, Meaning: "do all ranks have the same amount of work?"},
		{Name: "Inside the nodes", Depth: 2, Value: m.LoadBalanceIn, Meaning: "… the ranks of one node?"},
		{Name: "Between nodes", Depth: 2, Value: m.LoadBalanceOut, Meaning: "… the nodes?"},
		{Name: communication, Depth: 1, Value: m.MPI.Communication, Meaning: "the part of the time that the busiest rank computed"},
	}, factors(m.MPI.Communication, waitBranches(j))...)
}

// sharesOf returns the figures under the tree.
func sharesOf(j *job.Job) []block.Fact {
	var all []block.Fact
	h := j.Metrics.Hybrid
	if job.WithMPI(j.Executions) {
		all = append(all, block.Fact{Label: "MPI share of the ranks' time", Text: figure.Percent(mpiShare(j))})
	}
	if h != nil {
		all = append(all, block.Fact{Label: "Threads' time lost in OpenMP", Text: figure.Percent(h.OpenMPTime() / h.Span)})
		if job.WithMPI(j.Executions) {
			for _, b := range regionBranches(h) {
				all = append(all, block.Fact{Label: "In regions: " + strings.TrimSuffix(lowerFirst(b.Name), " efficiency"), Text: figure.Efficiency(b.Value)})
			}
		}
	}
	if io := ioShare(j); io >= 0.005 {
		all = append(all, block.Fact{Label: "MPI-IO share (not useful)", Text: figure.Percent(io)})
	}
	if s := countersText(job.UsefulCounters(j.Executions)); s != "" {
		all = append(all, block.Fact{Label: "Useful instructions per cycle", Text: s})
	}
	return all
}

// countersText is empty unless every rank had counters.
func countersText(c *job.Counters) string {
	if c == nil || c.IPC() == nil || c.Frequency() == nil {
		return ""
	}
	return fmt.Sprintf("%s  at %s GHz, %s instructions", figure.Ratio(*c.IPC()), figure.Ratio(*c.Frequency()/1e9), figure.Number(float64(c.Instructions)))
}

// executionsPart has a line per execution of a job that had several.
func executionsPart(j *job.Job) block.Part {
	if len(j.Executions) < 2 {
		return block.Part{}
	}
	of := " (MPI programs of this job)"
	if !job.WithMPI(j.Executions) {
		of = " (OpenMP programs of this job)"
	}
	folded := foldedOf(j)
	alone := len(j.Executions) - len(folded)
	notes := block.Notes("PE parallel efficiency, LB load balance, CommE communication efficiency", more(alone-listed, "execution", "with less core time"))
	if len(folded) > 0 {
		notes = append(notes, fmt.Sprintf("jobeff keeps %s of this job one by one, those with the most core time and the first ones; the others are one row for each program", figure.Counted(alone, "execution")))
	}
	return block.Part{Heading: figure.Counted(job.CountExecutions(j.Executions), "execution") + of, Tables: []block.Table{executionsTable(j)},
		Notes: notes}
}

// foldedOf returns the entries that sum up several executions.
func foldedOf(j *job.Job) (folded []*job.Execution) {
	for i := range j.Executions {
		if j.Executions[i].Folded != nil {
			folded = append(folded, &j.Executions[i])
		}
	}
	return folded
}

// executionsTable has the executions with the most core time, and the sum over all.
func executionsTable(j *job.Job) block.Table {
	t := block.Table{Heads: []string{"no.", "<step", "<program", "ranks", "nodes", "elapsed", "PE", "LB", "CommE", "<ended"}}
	figures := []*job.Metrics{j.Metrics}
	for i := range j.Executions {
		figures = append(figures, job.ExecutionMetrics(&j.Executions[i]))
	}
	seconds := alike(slices.DeleteFunc(figures, func(m *job.Metrics) bool { return m == nil }), func(m *job.Metrics) float64 { return m.Elapsed })
	for _, i := range costliest(j.Executions, listed) {
		t.Rows = append(t.Rows, executionRow(i, &j.Executions[i], seconds))
	}
	folded := foldedOf(j)
	for _, e := range folded[:min(len(folded), listed)] {
		t.Rows = append(t.Rows, foldedRow(e, seconds))
	}
	if !j.NeverMet() {
		total := executionFigures(j.Metrics, seconds)
		t.Rows = append(t.Rows, append([]string{"", "", "all", "", ""}, append(total[2:], "")...))
	}
	return t
}

func executionRow(i int, e *job.Execution, seconds func(float64) string) []string {
	row := []string{strconv.Itoa(i + 1), block.Joined("+", e.Steps...), programOf(e)}
	row = append(row, executionFigures(job.ExecutionMetrics(e), seconds)...)
	return append(row, counted(e.Endings))
}

// foldedRow is the row of executions that are not kept one by one.
func foldedRow(e *job.Execution, seconds func(float64) string) []string {
	row := []string{"", block.Joined("+", e.Steps...), figure.Count(e.Count()) + " other runs of " + programOf(e)}
	row = append(row, executionFigures(job.ExecutionMetrics(e), seconds)...)
	return append(row, counted(e.Endings))
}

// executionFigures writes ranks, nodes, elapsed, PE, LB and CommE.
func executionFigures(m *job.Metrics, seconds func(float64) string) []string {
	if m == nil {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	return []string{
		figure.Count(m.Ranks), figure.Count(m.Nodes), seconds(m.Elapsed), figure.Efficiency(m.Parallel),
		figure.Efficiency(m.LoadBalance), figure.Efficiency(m.Communication),
	}
}

// nodesPart has the nodes whose ranks had the most work; `most` bounds their number.
func nodesPart(j *job.Job, most int) block.Part {
	e, which := Biggest(j)
	if e == nil || len(e.Nodes) < 2 {
		return block.Part{}
	}
	nodes := busiestNodes(e)
	last := nodes[len(nodes)-1]
	seconds := alike(nodes, usefulPerRank, inMPIPerRank)
	least := fmt.Sprintf("with less work, the least on %s (%s)", last.Node, seconds(usefulPerRank(last)))
	return block.Part{Heading: "Nodes with the most work" + which + waitText(usefulPerRank(nodes[0]), usefulPerRank(last)),
		Tables: []block.Table{nodesTable(nodes[:min(most, len(nodes))], seconds)}, Notes: block.Notes(more(len(nodes)-most, "node", least))}
}

// waitText ends a heading: the others wait for the busiest, or have nearly as much work.
func waitText(most, other float64) string {
	if other > (1-unequal)*most {
		return ", nearly equal"
	}
	return ": the others wait for them"
}

// unequal is the part of the most work by which others must have less to be called waiting.
const unequal = 0.05

func inMPIPerRank(n job.NodeShare) float64 { return n.MPI.Seconds() / float64(max(n.Ranks, 1)) }

func nodesTable(nodes []job.NodeShare, seconds func(float64) string) block.Table {
	t := block.Table{Heads: []string{"<node", "ranks", "useful per rank", "in MPI per rank"}}
	for _, n := range nodes {
		t.Bar(2, usefulPerRank(n)/max(usefulPerRank(nodes[0]), 1e-9))
		t.Rows = append(t.Rows, []string{
			n.Node, figure.Count(n.Ranks), seconds(usefulPerRank(n)), seconds(inMPIPerRank(n)),
		})
	}
	return t
}

// ranksPart has the ranks that computed longest.
func ranksPart(j *job.Job) block.Part {
	e, which := Biggest(j)
	if e == nil || len(e.Slowest) == 0 || j.Metrics.Ranks < 2 {
		return block.Part{}
	}
	return block.Part{Heading: "Ranks with the most work" + which + waitText(1, j.Metrics.MPI.LoadBalance), Tables: []block.Table{ranksTable(e)}}
}

func ranksTable(e *job.Execution) block.Table {
	t := block.Table{Heads: []string{"rank", "<node", "useful", "in MPI", "elapsed", "<ended"}}
	seconds := alike(e.Slowest, func(r job.Rank) float64 { return r.Useful.Seconds() }, func(r job.Rank) float64 { return r.MPI.Seconds() },
		func(r job.Rank) float64 { return r.Elapsed.Seconds() })
	for _, r := range e.Slowest {
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(r.Rank), r.Node, seconds(r.Useful.Seconds()), seconds(r.MPI.Seconds()), seconds(r.Elapsed.Seconds()), r.Ending,
		})
	}
	return t
}

// callsPart has the MPI calls that took the most time; `most` bounds their number.
func callsPart(j *job.Job, most int) block.Part {
	all := Calls(j.Executions)
	if len(all) == 0 {
		return block.Part{}
	}
	return block.Part{Heading: "MPI calls that cost most (time summed over ranks, share of the ranks' time)",
		Tables: []block.Table{callsTable(all[:min(most, len(all))], j.RankSeconds())},
		Notes:  block.Notes(more(len(all)-most, "function", "with less time"))}
}

// callsTable shows calls, and their shares of the whole core time, s.
func callsTable(calls []job.Call, whole float64) block.Table {
	t := block.Table{Heads: []string{"<call", "calls", "time", "share", "sent", "largest"}}
	seconds := alike(calls, func(c job.Call) float64 { return c.Time.Seconds() })
	for _, c := range calls {
		share := c.Time.Seconds() / max(whole, 1e-9)
		text := figure.Percent(share)
		if share > 1+job.Tolerance { // several threads of a rank were in it at once
			share, text = 1, "-"
		}
		t.Bar(3, share)
		t.Rows = append(t.Rows, []string{
			c.Name, figure.Count(c.Count), seconds(c.Time.Seconds()), text, figure.Bytes(c.Sent), figure.Bytes(c.Largest),
		})
	}
	return t
}
