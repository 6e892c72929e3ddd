package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// listed is how many lines a list in a text has at most; the JSON document has all.
const listed = 10

// costly is how many MPI calls and nodes are named.
const costly = 5

// treeLabel is the width of the words before a figure of the tree.
const treeLabel = 32

// tree writes POP's tree of efficiencies with a bar for each.
func (p *page) tree(j *job.Job) {
	m := j.Metrics
	mpi := ""
	if job.Threaded(j.Executions) {
		mpi = "MPI "
	}
	p.line("")
	p.branch(0, mpi+"parallel efficiency", m.ParallelEfficiency)
	p.branch(1, mpi+"load balance", m.LoadBalance)
	p.branch(2, "inside the nodes", m.LoadBalanceIn)
	p.branch(2, "between nodes", m.LoadBalanceOut)
	p.branch(1, mpi+"communication efficiency", m.CommunicationEfficiency)
	p.line("")
	p.line(label("MPI share of the ranks' time", 0) + text4(figure.Percent(mpiShare(j))))
	if io := ioShare(j); io >= 0.005 {
		p.line(label("MPI-IO share (not useful)", 0) + text4(figure.Percent(io)))
	}
	if s := countersText(job.UsefulCounters(j.Executions)); s != "" {
		p.line(label("Useful instructions per cycle", 0) + s)
	}
}

// countersText is empty where not every rank had counters.
func countersText(c *job.Counters) string {
	if c == nil || c.IPC() == nil || c.Frequency() == nil {
		return ""
	}
	return fmt.Sprintf("%s  at %s GHz, %s instructions", figure.Ratio(*c.IPC()), figure.Ratio(*c.Frequency()/1e9), figure.Number(float64(c.Instructions)))
}

func text4(s string) string { return fmt.Sprintf("%4s", s) }

// label is the left part of a line of the tree.
func label(s string, depth int) string {
	s = strings.Repeat("  ", depth) + strings.ToUpper(s[:1]) + s[1:]
	return fmt.Sprintf("%-*s", treeLabel, s)
}

func (p *page) branch(depth int, name string, v float64) {
	c, note := p.good, ""
	if v < figure.Line {
		c, note = p.bad, "  below 0.80"
	}
	bar := p.bar(v, min(p.width-treeLabel-20, 60))
	p.line(label(name, depth) + text4(figure.Efficiency(v)) + "  " + c.Sprint(bar) + note)
}

// executions writes a line per execution of a job that had several.
func (p *page) executions(j *job.Job) {
	if len(j.Executions) < 2 {
		return
	}
	p.heading(figure.Counted(len(j.Executions), "execution") + " (MPI programs of this job)")
	p.table(executionsTable(j), "  ")
	p.line("  PE parallel efficiency, LB load balance, CommE communication efficiency")
	if more := len(j.Executions) - listed; more > 0 {
		p.line(fmt.Sprintf("  and %s with less core time; --json has them all", figure.Counted(more, "execution")))
	}
}

// executionsTable has the executions with the most core time, and their sum.
func executionsTable(j *job.Job) table {
	t := table{heads: []string{"no.", "<step", "<program", "ranks", "nodes", "elapsed", "PE", "LB", "CommE", "<ended"}}
	for _, i := range costliest(j.Executions, listed) {
		t.rows = append(t.rows, executionRow(i, &j.Executions[i]))
	}
	if !singletons(j) {
		total := executionFigures(j.Metrics)
		t.rows = append(t.rows, append([]string{"", "", "all", "", ""}, append(total[2:], "")...))
	}
	return t
}

func executionRow(i int, e *job.Execution) []string {
	row := []string{strconv.Itoa(i + 1), joined("+", e.Steps...), program(e)}
	row = append(row, executionFigures(metricsOf(e))...)
	return append(row, counted(e.Endings))
}

// executionFigures are ranks, nodes, elapsed, PE, LB and CommE as texts.
func executionFigures(m *job.Metrics) []string {
	if m == nil {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	return []string{
		figure.Count(m.Ranks), figure.Count(m.Nodes), figure.Seconds(m.Elapsed), figure.Efficiency(m.ParallelEfficiency),
		figure.Efficiency(m.LoadBalance), figure.Efficiency(m.CommunicationEfficiency),
	}
}

// costliest picks the n executions with the most core time, in their own order.
func costliest(executions []job.Execution, n int) []int {
	order := make([]int, len(executions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(executionTime(&executions[b]), executionTime(&executions[a]))
	})
	order = order[:min(n, len(order))]
	slices.Sort(order)
	return order
}

// biggest is the execution that the named ranks and nodes are of.
func biggest(j *job.Job) (*job.Execution, string) {
	if len(j.Executions) == 0 {
		return nil, ""
	}
	i := costliest(j.Executions, 1)[0]
	if len(j.Executions) == 1 {
		return &j.Executions[0], ""
	}
	return &j.Executions[i], fmt.Sprintf(" of execution %d", i+1)
}

// slowNodes writes the nodes whose ranks had the most work.
func (p *page) slowNodes(j *job.Job) {
	e, which := biggest(j)
	if e == nil || len(e.Nodes) < 2 {
		return
	}
	nodes := busiestNodes(e)
	t := nodesTable(nodes[:min(costly, len(nodes))])
	p.heading(fmt.Sprintf("Nodes with the most work%s: the others wait for them", which))
	p.table(t, "  ")
	if more := len(nodes) - len(t.rows); more > 0 {
		last := nodes[len(nodes)-1]
		p.line(fmt.Sprintf("  and %s; least useful: %s, %s", figure.Counted(more, "more node"), last.Node, figure.Seconds(usefulPerRank(last))))
	}
}

// busiestNodes are the nodes of an execution, those with the most work per rank first.
func busiestNodes(e *job.Execution) []job.NodeShare {
	return slices.SortedStableFunc(slices.Values(e.Nodes), func(a, b job.NodeShare) int {
		return cmp.Compare(usefulPerRank(b), usefulPerRank(a))
	})
}

func nodesTable(nodes []job.NodeShare) table {
	t := table{heads: []string{"<node", "ranks", "useful per rank", "in MPI per rank"}}
	for _, n := range nodes {
		t.rows = append(t.rows, []string{
			n.Node, figure.Count(n.Ranks), figure.Seconds(usefulPerRank(n)), figure.Seconds(n.MPI.Seconds() / float64(max(n.Ranks, 1))),
		})
	}
	return t
}

// usefulPerRank is a node's mean useful time in seconds.
func usefulPerRank(n job.NodeShare) float64 {
	return n.Useful.Seconds() / float64(max(n.Ranks, 1))
}

// slowRanks writes the ranks that computed longest.
func (p *page) slowRanks(j *job.Job) {
	e, which := biggest(j)
	if e == nil || len(e.Slowest) == 0 || j.Metrics.Ranks < 2 {
		return
	}
	p.heading(fmt.Sprintf("Ranks with the most work%s: the others wait for them", which))
	p.table(ranksTable(e), "  ")
}

func ranksTable(e *job.Execution) table {
	t := table{heads: []string{"rank", "<node", "useful", "in MPI", "elapsed", "<ended"}}
	for _, r := range e.Slowest {
		t.rows = append(t.rows, []string{
			strconv.Itoa(r.Rank), r.Node, figure.Seconds(r.Useful.Seconds()), figure.Seconds(r.MPI.Seconds()), figure.Seconds(r.Elapsed.Seconds()), r.Ending,
		})
	}
	return t
}

// calls writes the MPI calls that took the most time, summed over ranks.
func (p *page) calls(j *job.Job) {
	all := jobCalls(j.Executions)
	if len(all) == 0 {
		return
	}
	t := callsTable(all[:min(costly, len(all))], coreTime(j.Metrics, j.Executions))
	p.heading("MPI calls that cost most (time summed over ranks, share of the ranks' time)")
	p.table(t, "  ")
	if more := len(all) - len(t.rows); more > 0 {
		p.line(fmt.Sprintf("  and %s with less time", figure.Counted(more, "other function")))
	}
}

// callsTable shows calls and what share they have of the whole core time, s.
func callsTable(calls []job.Call, whole float64) table {
	t := table{heads: []string{"<call", "calls", "time", "share", "sent", "largest"}}
	for _, c := range calls {
		t.rows = append(t.rows, []string{
			c.Name, figure.Count(c.Count), figure.Seconds(c.Time.Seconds()), figure.Percent(c.Time.Seconds() / max(whole, 1e-9)), figure.Bytes(c.Sent), figure.Bytes(c.Largest),
		})
	}
	return t
}

// jobCalls sums the calls of all executions, the longest first.
func jobCalls(executions []job.Execution) []job.Call {
	return sumCalls(executions, func(e *job.Execution) []job.Call { return e.Calls })
}

// jobClasses sums the classes of calls likewise.
func jobClasses(executions []job.Execution) []job.Call {
	return sumCalls(executions, func(e *job.Execution) []job.Call { return e.Classes })
}

func sumCalls(executions []job.Execution, list func(*job.Execution) []job.Call) []job.Call {
	var all []job.Call
	at := map[string]int{}
	for x := range executions {
		for _, c := range list(&executions[x]) {
			i, ok := at[c.Name]
			if !ok {
				i = len(all)
				at[c.Name] = i
				all = append(all, job.Call{Name: c.Name})
			}
			a := &all[i]
			a.Count += c.Count
			a.Time += c.Time
			a.Sent += c.Sent
			a.Received += c.Received
			a.Largest = max(a.Largest, c.Largest)
		}
	}
	slices.SortStableFunc(all, func(a, b job.Call) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	return all
}
