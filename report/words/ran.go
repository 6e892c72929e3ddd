package words

import (
	"fmt"
	"strconv"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// Ran is when a part of a job ran, in parts of the job's time.
type Ran struct {
	What, Time string
	Unknown    string // why From and To are not known; "": they are
	From, To   float64
}

// ran says when the job, its steps and its MPI programs ran, as far as that is known.
func ran(j *job.Job) (all []Ran, note string) {
	if j.Start.IsZero() || !j.End.After(j.Start) {
		return nil, ""
	}
	whole := j.End.Sub(j.Start)
	add := func(what string, from, to time.Time) {
		r := Ran{What: what}
		switch {
		case from.IsZero():
			r.Unknown = "its start is not known"
		case to.IsZero():
			r.Unknown = "began " + figure.Beside(from, j.Start) + "; its end was not seen"
		default:
			r.From, r.To = float64(from.Sub(j.Start))/float64(whole), float64(to.Sub(j.Start))/float64(whole)
			r.Time = figure.Clock(to.Sub(from)) + " from " + figure.Beside(from, j.Start)
		}
		all = append(all, r)
	}
	add("the job", j.Start, j.End)
	for _, s := range j.Steps[:min(listed, len(j.Steps))] {
		if !s.Start.IsZero() {
			add("step "+s.ID, s.Start, s.End)
		}
	}
	for _, i := range costliest(j.Executions, listed) {
		e := &j.Executions[i]
		what := "program " + programOf(e)
		if len(j.Executions) > 1 {
			what = fmt.Sprintf("%d. %s", i+1, what)
		}
		add(what, e.Start, e.End)
	}
	return all, block.Joined("; ", more(len(j.Steps)-listed, "step", "later"), more(len(j.Executions)-listed, "execution", "with less core time"))
}

// heat maps the useful part of the time of each rank of the biggest execution. If the shares of ranks were
// dropped, it shows the mean of each node.
func heat(j *job.Job) (h block.HeatMap) {
	e, which := Biggest(j)
	if e == nil {
		return h
	}
	m := job.ExecutionMetrics(e)
	if m == nil || m.Ranks < 2 {
		return h
	}
	var all []float64
	for _, n := range e.Nodes {
		shares := rankShares(n, m.Elapsed)
		if shares == nil {
			return nodeHeat(e, m, which)
		}
		node := block.HeatNode{Name: n.Node, Shares: shares}
		ranks, err := slurmid.RankList(n.RankIDs, len(shares))
		for _, r := range ranks {
			node.Ranks = append(node.Ranks, strconv.Itoa(r))
		}
		if err != nil || len(ranks) < len(shares) {
			node.Ranks = nil
		}
		h.Nodes, all = append(h.Nodes, node), append(all, shares...)
	}
	h.Alt = heatAlt(all, figure.Counted(len(all), "rank")+" on "+figure.Counted(len(h.Nodes), "node")+which)
	return h
}

// nodeHeat is that map with a cell for each node.
func nodeHeat(e *job.Execution, m *job.Metrics, which string) (h block.HeatMap) {
	if len(e.Nodes) < 2 {
		return h
	}
	all := block.HeatNode{Name: "nodes"}
	for _, n := range e.Nodes {
		all.Shares = append(all.Shares, clamp(usefulPerRank(n)/m.Elapsed))
		all.Ranks = append(all.Ranks, n.Node)
	}
	h.Nodes, h.Unit = []block.HeatNode{all}, "mean of"
	h.Alt = heatAlt(all.Shares, "the means of "+figure.Counted(len(e.Nodes), "node")+which) + " The shares of single ranks are not kept."
	return h
}

// heatAlt says in words what the map shows.
func heatAlt(shares []float64, of string) string {
	return fmt.Sprintf("Useful part of the elapsed time of %s: %s.", of, block.Heat{Shares: shares}.Spread())
}
