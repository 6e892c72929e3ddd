package job

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/policy/doubt"
)

// TestStepsOfManyNodesAreBounded: the nodes of a job that each saw other steps list as many together
// as one node may, whichever comes first, and say so.
func TestStepsOfManyNodesAreBounded(t *testing.T) {
	const nodes = 10
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	reports := make([]*NodeReport, nodes)
	for n := range reports {
		r := &NodeReport{JobID: 7, Node: fmt.Sprint("n", n), NNodes: nodes, Decision: "on", Steps: []Step{{ID: "extern", Tasks: 1, Start: start}}}
		for i := range MostSteps {
			id := i*nodes + n
			r.Steps = append(r.Steps, Step{ID: fmt.Sprint(id), Tasks: 1, Start: start.Add(time.Duration(id) * time.Second), Exits: map[string]int{"0": 1}})
		}
		reports[n] = r
	}
	var first *Job
	for range 3 {
		var m JobMerger
		for _, i := range rand.Perm(nodes) {
			m.Add(reports[i])
			if held := len(m.steps.byID); held > 2*MostSteps {
				t.Fatalf("%d steps are held", held)
			}
		}
		j := m.Job()
		cut := slices.ContainsFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnStepsCut })
		if len(j.Steps) != MostSteps || !cut || j.Steps[0].ID != "extern" || j.Steps[0].Tasks != nodes || j.Steps[MostSteps-1].ID != fmt.Sprint(MostSteps-2) {
			t.Fatalf("%d steps, the last %+v, cut %v", len(j.Steps), j.Steps[len(j.Steps)-1], cut)
		}
		if first == nil {
			first = j
		}
		if d := cmp.Diff(first.Steps, j.Steps); d != "" {
			t.Error(d)
		}
	}
}

// TestTasksOfAJob: what its script was given, or what one of its steps had on all nodes.
func TestTasksOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		steps []Step // of each of two nodes
		want  int
	}{
		"asked for":          {[]Step{{ID: "batch", Tasks: 1, Asked: 8}, {ID: "0", Tasks: 2}}, 8},
		"of a step":          {[]Step{{ID: "batch", Tasks: 1}, {ID: "extern", Tasks: 9}, {ID: "0", Tasks: 1}, {ID: "1", Tasks: 3}}, 6},
		"a script alone":     {[]Step{{ID: "batch", Tasks: 1}}, 0},
		"that cannot be":     {[]Step{{ID: "batch", Tasks: 1, Asked: -3}}, 0},
		"an interactive one": {[]Step{{ID: "interactive", Tasks: 4}}, 0},
	} {
		var m JobMerger
		for n := range 2 {
			m.Add(&NodeReport{JobID: 7, Node: fmt.Sprint("n", n), NNodes: 2, Decision: "on", Steps: slices.Clone(c.steps)})
		}
		if j := m.Job(); j.NTasks != c.want || RanOf(j).Tasks != c.want {
			t.Errorf("%s: %d, want %d", name, j.NTasks, c.want)
		}
	}
}
