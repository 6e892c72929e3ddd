package policy

import (
	"strings"
	"testing"

	"jobeff/ingest/job"
)

// TestCauseOfWaits: sampled windows tell waits for other ranks' work from the transfer of messages,
// where their intervals do.
func TestCauseOfWaits(t *testing.T) {
	between := func(v, low, high float64) job.Estimate { return job.Estimate{Value: v, Low: low, High: high} }
	chain := &job.WaitPath{Inside: 0.9, Chain: []int{3, 4, 5}, ChainShare: 0.8}
	for _, c := range []struct {
		name       string
		windows    *job.Windows
		code, text string
	}{
		{"none", nil, CauseCommunication, "MPI itself"},
		{"not determined", &job.Windows{Why: "few"}, CauseCommunication, "MPI itself"},
		{"a chain", &job.Windows{Serialisation: between(0.6, 0.55, 0.65), Transfer: between(0.9, 0.88, 0.92), Path: chain}, CauseSerialisation,
			"waiting for other ranks' work (serialisation efficiency 0.60, transfer efficiency 0.90). Most of the waits are in a chain through ranks 3 -> 4 -> 5."},
		{"many chains", &job.Windows{Serialisation: between(0.6, 0.55, 0.65), Transfer: between(0.9, 0.88, 0.92),
			Path: &job.WaitPath{Inside: 0.9, Chain: []int{3, 4, 5}, ChainShare: 0.3}}, CauseSerialisation, "transfer efficiency 0.90)."},
		{"messages", &job.Windows{Serialisation: between(0.9, 0.88, 0.92), Transfer: between(0.6, 0.55, 0.65), Path: chain}, CauseTransfer, "the transfer of messages"},
		{"intervals that overlap", &job.Windows{Serialisation: between(0.7, 0.5, 0.9), Transfer: between(0.8, 0.6, 1)}, CauseCommunication, "MPI itself"},
	} {
		e := world(1, 1, 10, alike(2, work(1800, 1800))...)
		e.Windows = c.windows
		got := CauseOf(aJob(e))
		d := Describe(aJob(e), nil)
		if known := c.windows.Determined(); known != (d.Unknown["transfer_efficiency"] == "") || known && (d.Serialisation != c.windows.Serialisation.Value || d.Transfer != c.windows.Transfer.Value) {
			t.Errorf("%s: rules see %v and %v, %q", c.name, d.Serialisation, d.Transfer, d.Unknown["transfer_efficiency"])
		}
		if got.Code != c.code || !strings.Contains(got.Text, c.text) || c.name == "many chains" && strings.Contains(got.Text, "chain") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
