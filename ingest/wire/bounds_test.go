package wire

import (
	"fmt"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// twoOnANode is an execution that can be.
func twoOnANode() *job.Execution {
	return &job.Execution{Key: "k", Size: 2, Nodes: []job.NodeShare{{Node: "n1", Ranks: 2, RankIDs: "0-1"}}}
}

// A list at its bound is taken; one more is not.
func TestBoundsOfLists(t *testing.T) {
	for name, c := range map[string]struct {
		most int
		set  func(x *job.Execution, n int)
	}{
		"nodes": {maxSharesOfNode, func(x *job.Execution, n int) {
			x.Size = 2 * n
			for i := 1; i < n; i++ {
				x.Nodes = append(x.Nodes, x.Nodes[0])
			}
		}},
		"sizes of messages": {maxHistogram, func(x *job.Execution, n int) { x.HistP2P = make([]uint64, n) }},
		"of collectives":    {maxHistogram, func(x *job.Execution, n int) { x.HistCol = make([]uint64, n) }},
		"calls":             {maxCalls, func(x *job.Execution, n int) { x.Calls = make([]job.Call, n) }},
		"classes":           {maxCalls, func(x *job.Execution, n int) { x.Classes = make([]job.Call, n) }},
		"arguments":         {MostArgs, func(x *job.Execution, n int) { x.Args = make([]string, n) }},
		"sections":          {maxSections, func(x *job.Execution, n int) { x.Sections = make([]job.Section, n) }},
		"warnings":          {maxNamed, func(x *job.Execution, n int) { x.Warnings = make([]doubt.Warning, n) }},
		"steps":             {maxSteps, func(x *job.Execution, n int) { x.Steps = make([]string, n) }},
		"endings": {maxNamed, func(x *job.Execution, n int) {
			x.Endings = map[string]int{}
			for i := range n {
				x.Endings[fmt.Sprint(i)] = 1
			}
		}},
	} {
		for _, more := range []int{0, 1} {
			x := twoOnANode()
			c.set(x, c.most+more)
			r := job.NodeReport{Executions: []job.Execution{*x}}
			if DropImpossible(&r); len(r.Executions) != 1-more {
				t.Errorf("%s: with %d of at most %d it is kept: %v", name, c.most+more, c.most, more == 1)
			}
		}
	}
	r := job.NodeReport{Executions: make([]job.Execution, job.MostExecutions+3)}
	for i := range r.Executions {
		r.Executions[i] = *twoOnANode()
	}
	if DropImpossible(&r); len(r.Executions) != job.MostExecutions || len(r.Warnings) != 1 || r.Warnings[0].Count != 3 {
		t.Errorf("%d executions, %+v", len(r.Executions), r.Warnings)
	}
}
