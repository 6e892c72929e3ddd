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
		var text, document bytes.Buffer
		if err := Job(&text, &j, nil, nil, views["80"]); err != nil {
			t.Fatal(err)
		}
		if err := JSON(&document, &j, nil, nil); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{
			"1.50  at 2.00 GHz": strings.Contains(text.String(), "1.50  at 2.00 GHz"),
			"IPC":               strings.Contains(document.String(), `"useful_ipc": 1.5`),
			"Hz":                strings.Contains(document.String(), `"useful_frequency": 2000000000`),
			"not null":          !strings.Contains(document.String(), `"useful_cycles": null`),
		} {
			if want != all {
				t.Errorf("all %v: %s is %v\n%s", all, name, want, &text)
			}
		}
	}
}
