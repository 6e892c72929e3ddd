package job_test

import (
	"fmt"
	"slices"
	"testing"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
)

// TestTasksOfAJob: what its script was given, or what one of its steps had on all nodes.
func TestTasksOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		steps []job.Step // of each of two nodes
		want  int
	}{
		"asked for":          {[]job.Step{{ID: "batch", Tasks: 1, Asked: 8}, {ID: "0", Tasks: 2}}, 8},
		"of a step":          {[]job.Step{{ID: "batch", Tasks: 1}, {ID: "extern", Tasks: 9}, {ID: "0", Tasks: 1}, {ID: "1", Tasks: 3}}, 6},
		"a script alone":     {[]job.Step{{ID: "batch", Tasks: 1}}, 0},
		"that cannot be":     {[]job.Step{{ID: "batch", Tasks: 1, Asked: -3}}, 0},
		"an interactive one": {[]job.Step{{ID: "interactive", Tasks: 4}}, 0},
	} {
		var m assemble.Merger
		for n := range 2 {
			m.Add(&job.NodeReport{JobID: 7, Node: fmt.Sprint("n", n), NNodes: 2, Decision: "on", Steps: slices.Clone(c.steps)})
		}
		if j := m.Job(); j.NTasks != c.want || job.RanOf(j).Tasks != c.want {
			t.Errorf("%s: %d, want %d", name, j.NTasks, c.want)
		}
	}
}
