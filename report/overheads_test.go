package report

import (
	"bytes"
	"io"
	"testing"

	"jobeff/policy/overhead"
	"jobeff/report/text"
	"jobeff/report/words"
	"jobeff/report/wordstest"
)

// TestOverheadViews: the list names what fell, and nothing that did not.
func TestOverheadViews(t *testing.T) {
	hostile := wordstest.Curve(nasty, overhead.Send, 3, 92)
	hostile.Partition, hostile.Cluster = nasty, nasty
	curves := []overhead.Curve{
		wordstest.Curve("Open MPI v4.1.4", overhead.Receive, 1, 90), wordstest.Curve("Open MPI v4.1.4", overhead.Receive, 2, 88),
		wordstest.Curve("Open MPI v4.1.4", overhead.Send, 1, 92), wordstest.Curve("Open MPI v5.0.3", overhead.Send, 9, 41),
	}
	eachView(t, "overheads", func(w io.Writer, opts text.Options) error {
		return TextOfOverheads(w, words.OfOverheads(curves, opts.Unicode), opts)
	})
	eachView(t, "overheads-none", func(w io.Writer, opts text.Options) error {
		return TextOfOverheads(w, words.OfOverheads(nil, opts.Unicode), opts)
	})
	eachView(t, "overheads-hostile", func(w io.Writer, opts text.Options) error {
		return TextOfOverheads(w, words.OfOverheads(append(curves[:1:1], hostile), opts.Unicode), opts)
	})
	eachView(t, "overhead-plot", func(w io.Writer, opts text.Options) error {
		return TextOfOverheadCurves(w, words.OfOverheadCurves([]overhead.Curve{curves[2], hostile}, opts.Unicode), opts)
	})
	var out bytes.Buffer
	if err := words.OverheadPicture([]overhead.Curve{curves[2], hostile}).Picture().SVG(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "overhead.svg", out.Bytes())
}
