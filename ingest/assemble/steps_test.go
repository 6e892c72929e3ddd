package assemble

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// TestStepsOfManyNodesAreBounded: the nodes of a job that each saw other steps list as many together
// as one node may, whichever comes first, and say so.
func TestStepsOfManyNodesAreBounded(t *testing.T) {
	const nodes = 10
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	reports := make([]*job.NodeReport, nodes)
	for n := range reports {
		r := &job.NodeReport{JobID: 7, Node: fmt.Sprint("n", n), NNodes: nodes, Decision: "on", Steps: []job.Step{{ID: "extern", Tasks: 1, Start: start}}}
		for i := range job.MostSteps {
			id := i*nodes + n
			r.Steps = append(r.Steps, job.Step{ID: fmt.Sprint(id), Tasks: 1, Start: start.Add(time.Duration(id) * time.Second), Exits: map[string]int{"0": 1}})
		}
		reports[n] = r
	}
	var first *job.Job
	for range 3 {
		var m Merger
		for _, i := range rand.Perm(nodes) {
			m.Add(reports[i])
			if held := len(m.steps.byID); held > 2*job.MostSteps {
				t.Fatalf("%d steps are held", held)
			}
		}
		j := m.Job()
		cut := slices.ContainsFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnStepsCut })
		if len(j.Steps) != job.MostSteps || !cut || j.Steps[0].ID != "extern" || j.Steps[0].Tasks != nodes || j.Steps[job.MostSteps-1].ID != fmt.Sprint(job.MostSteps-2) {
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
