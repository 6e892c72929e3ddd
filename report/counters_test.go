package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// The four figures and their line are there where every rank had counters.
func TestCounters(t *testing.T) {
	for _, all := range []bool{true, false} {
		j := *fixtures()["good"]
		j.Executions = append([]job.Execution{}, j.Executions...)
		for i := range j.Executions {
			nodes := append([]job.NodeShare{}, j.Executions[i].Nodes...)
			for k := range nodes {
				nodes[k].Counters = &job.Counters{Ranks: nodes[k].Ranks, Instructions: 3e12, Cycles: 2e12, Useful: 1000 * time.Second}
			}
			j.Executions[i].Nodes = nodes
		}
		if !all {
			j.Executions[0].Nodes[0].Counters = nil
		}
		var shown, written bytes.Buffer
		if err := textOf(&shown, &j, nil, nil, views["80"]); err != nil {
			t.Fatal(err)
		}
		if err := jsonOf(&written, &j, nil, nil); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{
			"1.50  at 2.00 GHz": strings.Contains(shown.String(), "1.50  at 2.00 GHz"),
			"IPC":               strings.Contains(written.String(), `"useful_ipc": 1.5`),
			"Hz":                strings.Contains(written.String(), `"useful_frequency": 2000000000`),
			"there":             strings.Contains(written.String(), `"useful_cycles"`),
		} {
			if want != all {
				t.Errorf("all %v: %s is %v\n%s", all, name, want, &shown)
			}
		}
	}
}
