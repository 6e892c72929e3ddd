package job

import (
	"testing"
	"time"

	"jobeff/policy/overhead"
	"jobeff/preload/record"
)

// TestHidableOfAJob: what an execution sent is judged by the curve of its MPI, and its time in other calls
// than point-to-point ones does not count.
func TestHidableOfAJob(t *testing.T) {
	avail := 50.0
	curve := overhead.Curve{MPI: "MPICH 4.0.2", Direction: overhead.Send, Nodes: 2, Points: []overhead.Point{{Bytes: 1, BaseT: 1, BaseTLow: 1, BaseTHigh: 1, Avail: &avail, AvailLow: 50, AvailHigh: 50}}}
	other := curve
	other.MPI = "MPICH 4.1"
	j := Job{Executions: []Execution{
		{MPIVersion: "MPICH Version:\t4.0.2", HistP2P: []uint64{0, 1000}, Nodes: make([]NodeShare, 2),
			Classes: []Call{{Name: record.ClassP2P.String(), Time: time.Second}, {Name: record.ClassWait.String(), Time: time.Second}, {Name: "collective", Time: time.Hour}}},
		{MPIVersion: "MPICH Version:\t4.0.2", Classes: []Call{{Name: record.ClassP2P.String(), Time: time.Hour}}},
	}}
	j.AddOverheads([]overhead.Curve{other, curve})
	h := j.Hidable()
	if len(j.Overheads) != 1 || h == nil || h.P2P != 2 || h.Most != 500e-6 || h.Executions != 1 || h.Of != 1 {
		t.Errorf("%+v of %+v", h, j.Overheads)
	}
}
