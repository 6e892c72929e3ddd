package words

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/overhead"
	"jobeff/preload/record"
	"jobeff/report/document"
	"jobeff/report/page"
	"jobeff/report/text"
)

// curveOf is a curve of three sizes whose availability at 64 KiB is given, in percent. The one of
// 1 MiB is refused.
func curveOf(mpi, direction string, day int, avail float64) overhead.Curve {
	small := 12.5
	return overhead.Curve{Cluster: "test", Partition: "normal", MPI: mpi, Direction: direction, Nodes: 2,
		Measured: time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC),
		Points: []overhead.Point{
			{Bytes: 8, Iterations: 1000, Overhead: 0.35, OverheadLow: 0.34, OverheadHigh: 0.36, BaseT: 0.4, BaseTLow: 0.39, BaseTHigh: 0.41, Avail: &small, AvailLow: 8, AvailHigh: 15},
			{Bytes: 64 << 10, Iterations: 600, Overhead: 6 - .06*avail, BaseT: 6, BaseTLow: 5.9, BaseTHigh: 6.1, Avail: &avail, AvailLow: avail - 1, AvailHigh: avail + 1},
			{Bytes: 1 << 20, Iterations: 40, Overhead: 90, BaseT: 80, BaseTLow: 80, BaseTHigh: 80, AvailLow: -14, AvailHigh: -12, Refused: "the overhead is larger than the transfer time"},
		}}
}

// overlapping is a job of 98 s x 4 ranks that sent 30 million messages of 32 to 64 KiB.
func overlapping(curves ...overhead.Curve) *job.Job {
	e := execution(2, work{60, 38}, work{61, 37}, work{62, 36}, work{59, 39})
	e.HistP2P = make([]uint64, 18)
	e.HistP2P[16], e.HistP2P[4] = 3_000_000, 1000
	e.Classes = []job.Call{{Name: record.ClassP2P.String(), Count: 3_001_000, Time: sec(40)}, {Name: record.ClassColl.String(), Time: sec(110)}}
	j := aJob(e)
	j.AddOverheads(curves)
	return j
}

// TestOverlap: what a job's views say of hiding its messages. Without a curve they are silent.
func TestOverlap(t *testing.T) {
	send, receive := curveOf("Open MPI v4.1.4", overhead.Send, 3, 92), curveOf("Open MPI v4.1.4", overhead.Receive, 3, 40)
	for name, j := range map[string]*job.Job{"both": overlapping(send, receive), "send": overlapping(send), "none": overlapping(curveOf("MPICH 4.0.2", overhead.Send, 3, 92))} {
		eachView(t, "overlap-"+name, func(w io.Writer, opts text.Options) error {
			if err := Job(w, j, nil, nil, opts); err != nil {
				return err
			}
			return Explain(w, j, judged(t, j), opts)
		})
	}
	var out bytes.Buffer
	if err := document.WriteJob(&out, overlapping(send, receive), nil, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "overlap.json", out.Bytes())
	out.Reset()
	if err := JobHTML(&out, &listing.JobAndWorkload{Job: overlapping(send, receive)}, nil, nil, page.Links{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("what computing could hide")) {
		t.Error("the page does not say what could be hidden")
	}
}

// TestOverheadViews: the list names what fell, and nothing that did not.
func TestOverheadViews(t *testing.T) {
	hostile := curveOf(nasty, overhead.Send, 3, 92)
	hostile.Partition, hostile.Cluster = nasty, nasty
	curves := []overhead.Curve{
		curveOf("Open MPI v4.1.4", overhead.Receive, 1, 90), curveOf("Open MPI v4.1.4", overhead.Receive, 2, 88),
		curveOf("Open MPI v4.1.4", overhead.Send, 1, 92), curveOf("Open MPI v5.0.3", overhead.Send, 9, 41),
	}
	eachView(t, "overheads", func(w io.Writer, opts text.Options) error { return Overheads(w, curves, opts) })
	eachView(t, "overheads-none", func(w io.Writer, opts text.Options) error { return Overheads(w, nil, opts) })
	eachView(t, "overheads-hostile", func(w io.Writer, opts text.Options) error {
		return Overheads(w, append(curves[:1:1], hostile), opts)
	})
	eachView(t, "overhead-plot", func(w io.Writer, opts text.Options) error {
		return OverheadPlot(w, []overhead.Curve{curves[2], hostile}, opts)
	})
	var out bytes.Buffer
	if err := OverheadPicture(&out, []overhead.Curve{curves[2], hostile}); err != nil {
		t.Fatal(err)
	}
	golden(t, "overhead.svg", out.Bytes())
}

// Persistent requests are in no size, and wherever sizes are shown that is said, from a tenth of the
// point-to-point messages on.
func TestSizesNote(t *testing.T) {
	const note = "the bytes of persistent requests are not in it"
	for _, c := range []struct {
		starts, messages uint64
		told             bool
	}{{0, 0, false}, {0, 90, false}, {9, 90, false}, {10, 90, true}, {1, 0, true}} {
		e := execution(2, work{90, 10}, work{90, 10})
		e.HistP2P, e.HistCol = []uint64{0, 0, c.messages}, nil
		e.Calls = []job.Call{{Name: "MPI_Startall", Count: c.starts}, {Name: "MPI_Send_init", Count: 50}}
		for name, write := range map[string]func(io.Writer, *job.Job) error{
			"text": func(w io.Writer, j *job.Job) error { return Job(w, j, nil, nil, text.Options{Width: 120}) },
			"page": func(w io.Writer, j *job.Job) error {
				return JobHTML(w, &listing.JobAndWorkload{Job: j}, nil, nil, page.Links{})
			},
			"JSON": func(w io.Writer, j *job.Job) error { return document.WriteJob(w, j, nil, nil) },
		} {
			var out bytes.Buffer
			if err := write(&out, aJob(e)); err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(strings.Join(strings.Fields(out.String()), " "), note); told != c.told {
				t.Errorf("%s of %d starts and %d messages: told %v", name, c.starts, c.messages, told)
			}
		}
	}
}
