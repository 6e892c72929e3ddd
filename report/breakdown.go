package report

import (
	"fmt"
	"strconv"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// branches is POP's tree with what each efficiency asks.
func branches(j *job.Job) []Branch {
	m, parallel, balance, communication := j.Metrics, "Parallel efficiency", "Load balance", "Communication efficiency"
	if job.Threaded(j.Executions) {
		parallel, balance, communication = "MPI parallel efficiency", "MPI load balance", "MPI communication efficiency"
	}
	return []Branch{
		{parallel, 0, m.ParallelEfficiency, "the part of the ranks' time that was useful computing"},
		{balance, 1, m.LoadBalance, "do all ranks have the same amount of work?"},
		{"Inside the nodes", 2, m.LoadBalanceIn, "… those of one node?"},
		{"Between nodes", 2, m.LoadBalanceOut, "… one node and the next?"},
		{communication, 1, m.CommunicationEfficiency, "how much of its time the busiest rank computes"},
	}
}

// sharesOf are the figures that stand beside the tree.
func sharesOf(j *job.Job) []Fact {
	all := []Fact{{Label: "MPI share of the ranks' time", Text: figure.Percent(mpiShare(j))}}
	if io := ioShare(j); io >= 0.005 {
		all = append(all, Fact{Label: "MPI-IO share (not useful)", Text: figure.Percent(io)})
	}
	if s := countersText(job.UsefulCounters(j.Executions)); s != "" {
		all = append(all, Fact{Label: "Useful instructions per cycle", Text: s})
	}
	return all
}

// countersText is empty where not every rank had counters.
func countersText(c *job.Counters) string {
	if c == nil || c.IPC() == nil || c.Frequency() == nil {
		return ""
	}
	return fmt.Sprintf("%s  at %s GHz, %s instructions", figure.Ratio(*c.IPC()), figure.Ratio(*c.Frequency()/1e9), figure.Number(float64(c.Instructions)))
}

// executionsPart has a line per execution of a job that had several.
func executionsPart(j *job.Job) Part {
	if len(j.Executions) < 2 {
		return Part{}
	}
	b := Part{Heading: figure.Counted(len(j.Executions), "execution") + " (MPI programs of this job)", Tables: []table{executionsTable(j)},
		Notes: []string{"PE parallel efficiency, LB load balance, CommE communication efficiency"}}
	if more := len(j.Executions) - listed; more > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("and %s with less core time; --json has them all", figure.Counted(more, "execution")))
	}
	return b
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

// nodesPart has the nodes whose ranks had the most work.
func nodesPart(j *job.Job) Part {
	e, which := biggest(j)
	if e == nil || len(e.Nodes) < 2 {
		return Part{}
	}
	nodes := busiestNodes(e)
	t := nodesTable(nodes[:min(costly, len(nodes))])
	b := Part{Heading: fmt.Sprintf("Nodes with the most work%s: the others wait for them", which), Tables: []table{t}}
	if more := len(nodes) - len(t.rows); more > 0 {
		last := nodes[len(nodes)-1]
		b.Notes = []string{fmt.Sprintf("and %s; least useful: %s, %s", figure.Counted(more, "more node"), last.Node, figure.Seconds(usefulPerRank(last)))}
	}
	return b
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

// ranksPart has the ranks that computed longest.
func ranksPart(j *job.Job) Part {
	e, which := biggest(j)
	if e == nil || len(e.Slowest) == 0 || j.Metrics.Ranks < 2 {
		return Part{}
	}
	return Part{Heading: fmt.Sprintf("Ranks with the most work%s: the others wait for them", which), Tables: []table{ranksTable(e)}}
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

// callsPart has the MPI calls that took the most time, summed over ranks.
func callsPart(j *job.Job) Part {
	all := jobCalls(j.Executions)
	if len(all) == 0 {
		return Part{}
	}
	t := callsTable(all[:min(costly, len(all))], coreTime(j.Metrics, j.Executions))
	b := Part{Heading: "MPI calls that cost most (time summed over ranks, share of the ranks' time)", Tables: []table{t}}
	if more := len(all) - len(t.rows); more > 0 {
		b.Notes = []string{fmt.Sprintf("and %s with less time", figure.Counted(more, "other function"))}
	}
	return b
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
