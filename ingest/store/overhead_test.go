package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/policy/overhead"
)

// anOverhead is a curve that was measured so many days after the first.
func anOverhead(mpi, direction string, nodes, day int) overhead.Curve {
	avail := 75.0
	return overhead.Curve{Cluster: "test", Partition: "main", MPI: mpi, Direction: direction, Nodes: nodes,
		Measured: time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC),
		Points:   []overhead.Point{{Bytes: 8, Iterations: 1000, BaseT: 4, BaseTLow: 4, BaseTHigh: 4, Overhead: 1, OverheadLow: 1, OverheadHigh: 1, Avail: &avail, AvailLow: 75, AvailHigh: 75}}}
}

// A job gets the newest curves of its own partition and MPI, one of as many nodes if there is
// one. A curve comes in once, and goes into another database with an export.
func TestOverheads(t *testing.T) {
	s := open(t)
	r := runReport(7, 1, 1, nil)
	r.Partition, r.Executions[0].MPIVersion = "main", "Open MPI v4.1.4, package: Debian"
	r.Cluster = "test"
	addConfirmed(t, s, r)
	other := anOverhead("Open MPI v4.1.4", overhead.Send, 2, 9)
	other.Partition = "other"
	curves := []overhead.Curve{
		anOverhead("Open MPI v4.1.4", overhead.Send, 1, 1), anOverhead("Open MPI v4.1.4", overhead.Send, 1, 3), anOverhead("Open MPI v4.1.4", overhead.Send, 2, 5),
		anOverhead("Open MPI v4.1.4", overhead.Receive, 2, 4), anOverhead("Open MPI v5.0.0", overhead.Send, 1, 6), other,
	}
	for i, want := range []int{len(curves), 0} {
		if n, err := s.AddOverheads(ctx, curves); n != want || err != nil {
			t.Fatalf("time %d: %d added, %v; want %d", i+1, n, err, want)
		}
	}
	if diff := cmp.Diff([]overhead.Curve{curves[1], curves[3]}, aJob(t, s, Viewer{All: true}, "7", 0).Overheads); diff != "" {
		t.Error(diff)
	}
	all, err := s.Overheads(ctx)
	if err != nil || len(all) != len(curves) || !all[0].Measured.Equal(curves[3].Measured) {
		t.Errorf("%+v, %v", all, err)
	}
	var exported bytes.Buffer
	if err := s.Export(ctx, &exported, nil); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, t.TempDir()+"/again.db")
	done, err := again.Import(ctx, &exported, nil)
	if err != nil || done.Overheads != len(curves) {
		t.Fatalf("%+v, %v", done, err)
	}
	copied, err := again.Overheads(ctx)
	if diff := cmp.Diff(all, copied); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
