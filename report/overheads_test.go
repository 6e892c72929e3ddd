package report

import (
	"bytes"
	"io"
	"testing"
	"time"

	"jobeff/policy/overhead"
	"jobeff/report/words"
)

// overheadCurve is a curve of three sizes whose availability at 64 KiB is given, in percent. The one of
// 1 MiB is refused.
func overheadCurve(mpi, direction string, day int, avail float64) overhead.Curve {
	small := 12.5
	return overhead.Curve{Cluster: "test", Partition: "normal", MPI: mpi, Direction: direction, Nodes: 2,
		Measured: time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC),
		Points: []overhead.Point{
			{Bytes: 8, Iterations: 1000, Overhead: 0.35, OverheadLow: 0.34, OverheadHigh: 0.36, BaseT: 0.4, BaseTLow: 0.39, BaseTHigh: 0.41, Avail: &small, AvailLow: 8, AvailHigh: 15},
			{Bytes: 64 << 10, Iterations: 600, Overhead: 6 - .06*avail, BaseT: 6, BaseTLow: 5.9, BaseTHigh: 6.1, Avail: &avail, AvailLow: avail - 1, AvailHigh: avail + 1},
			{Bytes: 1 << 20, Iterations: 40, Overhead: 90, BaseT: 80, BaseTLow: 80, BaseTHigh: 80, AvailLow: -14, AvailHigh: -12, Refused: "the overhead is larger than the transfer time"},
		}}
}

// TestOverheadViews: the list names what fell, and nothing that did not.
func TestOverheadViews(t *testing.T) {
	hostile := overheadCurve(nasty, overhead.Send, 3, 92)
	hostile.Partition, hostile.Cluster = nasty, nasty
	curves := []overhead.Curve{
		overheadCurve("Open MPI v4.1.4", overhead.Receive, 1, 90), overheadCurve("Open MPI v4.1.4", overhead.Receive, 2, 88),
		overheadCurve("Open MPI v4.1.4", overhead.Send, 1, 92), overheadCurve("Open MPI v5.0.3", overhead.Send, 9, 41),
	}
	eachView(t, "overheads", func(w io.Writer, opts Options) error {
		return TextOfOverheads(w, words.OfOverheads(curves, opts.Unicode), opts)
	})
	eachView(t, "overheads-none", func(w io.Writer, opts Options) error {
		return TextOfOverheads(w, words.OfOverheads(nil, opts.Unicode), opts)
	})
	eachView(t, "overheads-hostile", func(w io.Writer, opts Options) error {
		return TextOfOverheads(w, words.OfOverheads(append(curves[:1:1], hostile), opts.Unicode), opts)
	})
	eachView(t, "overhead-plot", func(w io.Writer, opts Options) error {
		return TextOfOverheadCurves(w, words.OfOverheadCurves([]overhead.Curve{curves[2], hostile}, opts.Unicode), opts)
	})
	var out bytes.Buffer
	if err := words.OverheadPicture([]overhead.Curve{curves[2], hostile}).Picture().SVG(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "overhead.svg", out.Bytes())
}
