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
	chain := &job.WaitPath{Inside: 0.9, Chain: []int{3, 4, 5}, ChainLength: 3, ChainShare: 0.8}
	turns := &job.WaitPath{Inside: 0.9, Chain: []int{0, 1}, ChainLength: 2, ChainReturns: true, ChainShare: 1, Calls: []job.PathShare{{Call: "MPI_Wait", Share: 0.8}}}
	long := &job.WaitPath{Inside: 0.9, Chain: []int{0, 1, 2, 3, 4, 5, 6, 7}, ChainLength: 12, ChainShare: 1, Calls: []job.PathShare{{Call: "MPI_Recv", Share: 0.4}}}
	serialised := func(p *job.WaitPath) *job.Windows {
		return &job.Windows{Serialisation: between(0.6, 0.55, 0.65), Transfer: between(0.9, 0.88, 0.92), Path: p}
	}
	transferred := func(talking int) *job.Windows {
		return &job.Windows{Talking: talking, Serialisation: between(0.9, 0.88, 0.92), Transfer: between(0.6, 0.55, 0.65), Path: chain}
	}
	for _, c := range []struct {
		name       string
		windows    *job.Windows
		code, text string
	}{
		{"none", nil, CauseCommunication, "MPI is slow"},
		{"not determined", &job.Windows{Why: "few"}, CauseCommunication, "MPI is slow"},
		{"a chain", serialised(chain), CauseSerialisation,
			"waiting for other ranks' work (serialisation efficiency 0.60, transfer efficiency 0.90). Most of it is in a chain through ranks 3 -> 4 -> 5."},
		{"turns", serialised(turns), CauseSerialisation, "Most of it is where ranks 0 and 1 wait for each other by turns, in MPI_Wait."},
		{"a long chain", serialised(long), CauseSerialisation, "Most of it is in a chain through 12 ranks, 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> ...."},
		{"varying", serialised(&job.WaitPath{Inside: 0.2, Chain: []int{3, 4}, ChainLength: 2, ChainShare: 1}), CauseSerialisation, "0.90). Another rank has the most work each time."},
		{"many chains", serialised(&job.WaitPath{Inside: 0.9, Chain: []int{3, 4, 5}, ChainLength: 3, ChainShare: 0.3}), CauseSerialisation, "transfer efficiency 0.90)."},
		{"half of it in a chain, half of that in a call", serialised(&job.WaitPath{Inside: 1, Chain: []int{3, 4}, ChainLength: 2, ChainShare: 0.5, Calls: []job.PathShare{{Call: "MPI_Wait", Share: 0.5}}}),
			CauseSerialisation, "Most of it is in a chain through ranks 3 -> 4, in MPI_Wait."},
		{"messages", transferred(9), CauseTransfer, "data transfer and MPI itself (transfer efficiency 0.60, serialisation efficiency 0.90)."},
		{"collectives only", transferred(0), CauseTransfer, "data transfer"},
		{"intervals that touch", &job.Windows{Serialisation: between(0.6, 0.55, 0.65), Transfer: between(0.7, 0.65, 0.75)}, CauseCommunication, "MPI is slow"},
		{"the other way", &job.Windows{Serialisation: between(0.7, 0.65, 0.75), Transfer: between(0.6, 0.55, 0.65)}, CauseCommunication, "MPI is slow"},
		{"intervals that overlap", &job.Windows{Serialisation: between(0.7, 0.5, 0.9), Transfer: between(0.8, 0.6, 1)}, CauseCommunication, "MPI is slow"},
	} {
		e := world(1, 2, 10, alike(4, work(1800, 1800))...)
		e.Windows = c.windows
		got := CauseOf(aJob(e))
		d := Describe(aJob(e), nil)
		if known := c.windows.Determined(); known != (d.Unknown["transfer_efficiency"] == "") || known && (d.Serialisation != c.windows.Serialisation.Value || d.Transfer != c.windows.Transfer.Value) {
			t.Errorf("%s: rules see %v and %v, %q", c.name, d.Serialisation, d.Transfer, d.Unknown["transfer_efficiency"])
		}
		if c.code == CauseTransfer && strings.Contains(got.Mend, "collectives") != (c.windows.Talking == 0) {
			t.Errorf("%s: %+v", c.name, got)
		}
		if got.Code != c.code || !strings.Contains(got.Text, c.text) || c.name == "many chains" && strings.Contains(got.Text, "chain") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// A chain of waiting ranks is named as far as its ranks are known.
func TestWhoWaits(t *testing.T) {
	for want, p := range map[string]job.WaitPath{
		"in a chain through ranks 3 -> 4":                  {Chain: []int{3, 4}, ChainLength: 2},
		"in a chain through 9 ranks, 3 -> 4 -> ...":        {Chain: []int{3, 4}, ChainLength: 9},
		"where ranks 3 and 4 wait for each other by turns": {Chain: []int{3, 4}, ChainLength: 2, ChainReturns: true},
		"where 9 ranks wait for each other by turns":       {Chain: []int{3, 4}, ChainLength: 9, ChainReturns: true},
	} {
		if got := Waiters(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
