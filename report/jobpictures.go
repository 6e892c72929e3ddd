package report

import (
	"fmt"
	"html/template"
	"strconv"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/measure"
	"jobeff/report/page"
	pictures "jobeff/report/plot"
)

// timeline shows when the job, its steps and its MPI programs ran, as far as that is known.
func timeline(j *job.Job) *page.Table {
	if j.Start.IsZero() || !j.End.After(j.Start) {
		return nil
	}
	t := &page.Table{Caption: "When it ran", Heads: []page.Head{{Text: "what"}, {Text: "start to end of the job"}, {Text: "time", Number: true}}}
	whole := j.End.Sub(j.Start)
	add := func(what string, from, to time.Time) {
		row := []page.Cell{{Text: what, Head: true}, {}, {Number: true}}
		switch {
		case from.IsZero():
			row[1].Text = "its start is not known"
		case to.IsZero():
			row[1].Text = "began " + timeBeside(from, j.Start) + "; its end was not seen"
		default:
			row[1].Bar = &page.Bar{From: float64(from.Sub(j.Start)) / float64(whole), To: float64(to.Sub(j.Start)) / float64(whole)}
			row[2].Text = figure.Clock(to.Sub(from)) + " from " + timeBeside(from, j.Start)
		}
		t.Rows = append(t.Rows, row)
	}
	add("the job", j.Start, j.End)
	for _, s := range j.Steps[:min(listed, len(j.Steps))] {
		if !s.Start.IsZero() {
			add("step "+s.ID, s.Start, s.End)
		}
	}
	for _, i := range measure.Costliest(j.Executions, listed) {
		e := &j.Executions[i]
		what := "program " + measure.Program(e)
		if len(j.Executions) > 1 {
			what = fmt.Sprintf("%d. %s", i+1, what)
		}
		add(what, e.Start, e.End)
	}
	t.Note = block.Joined("; ", more(len(j.Steps)-listed, "step", "later"), more(len(j.Executions)-listed, "execution", "with less core time"))
	return t
}

// timeBeside is a time of day, with its date where that is another than the reference's.
func timeBeside(t, reference time.Time) string {
	t, reference = t.Local(), reference.Local()
	if t.Format(time.DateOnly) == reference.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// heat draws the useful part of the time for each rank of the biggest execution. Where the
// shares of ranks were dropped, it draws that of each node.
func heat(j *job.Job) (picture template.HTML, note string) {
	e, which := measure.Biggest(j)
	if e == nil {
		return "", ""
	}
	m := measure.MetricsOf(e)
	if m == nil || m.Ranks < 2 {
		return "", ""
	}
	h := pictures.Heat{}
	var all []float64
	for _, n := range e.Nodes {
		shares := measure.RankShares(n, m.Elapsed)
		if shares == nil {
			return nodeHeat(e, m, which)
		}
		node := pictures.HeatNode{Name: n.Node, Shares: shares}
		ranks, err := job.RankList(n.RankIDs, len(shares))
		for _, r := range ranks {
			node.Ranks = append(node.Ranks, strconv.Itoa(r))
		}
		if err != nil || len(ranks) < len(shares) {
			node.Ranks = nil
		}
		h.Nodes, all = append(h.Nodes, node), append(all, shares...)
	}
	h.Alt = heatAlt(all, figure.Counted(len(all), "rank")+" on "+figure.Counted(len(h.Nodes), "node")+which)
	return h.Picture().HTML(), h.Alt
}

// nodeHeat draws a cell for each node.
func nodeHeat(e *job.Execution, m *job.Metrics, which string) (template.HTML, string) {
	if len(e.Nodes) < 2 {
		return "", ""
	}
	all := pictures.HeatNode{Name: "nodes"}
	for _, n := range e.Nodes {
		all.Shares = append(all.Shares, measure.Clamp(measure.UsefulPerRank(n)/m.Elapsed))
		all.Ranks = append(all.Ranks, n.Node)
	}
	h := pictures.Heat{Nodes: []pictures.HeatNode{all}, Unit: "mean of"}
	h.Alt = heatAlt(all.Shares, "the means of "+figure.Counted(len(e.Nodes), "node")+which) + " The shares of single ranks are not kept."
	return h.Picture().HTML(), h.Alt
}

// heatAlt says in words what the map shows.
func heatAlt(shares []float64, of string) string {
	return fmt.Sprintf("Useful part of the elapsed time of %s: %s.", of, block.Heat{Shares: shares}.Spread())
}
