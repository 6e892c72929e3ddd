package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/overhead"
	"jobeff/preload/record"
)

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
	send, receive := overheadCurve("Open MPI v4.1.4", overhead.Send, 3, 92), overheadCurve("Open MPI v4.1.4", overhead.Receive, 3, 40)
	for name, j := range map[string]*job.Job{"both": overlapping(send, receive), "send": overlapping(send), "none": overlapping(overheadCurve("MPICH 4.0.2", overhead.Send, 3, 92))} {
		eachView(t, "overlap-"+name, func(w io.Writer, opts Options) error {
			if err := textOf(w, j, nil, nil, opts); err != nil {
				return err
			}
			return explain(w, j, judged(t, j), opts)
		})
	}
	var out bytes.Buffer
	if err := jsonOf(&out, overlapping(send, receive), nil, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "overlap.json", out.Bytes())
	out.Reset()
	if err := pageOf(&out, overlapping(send, receive), nil, nil, Links{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("what computing could hide")) {
		t.Error("the page does not say what could be hidden")
	}
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
			"text": func(w io.Writer, j *job.Job) error { return textOf(w, j, nil, nil, Options{Width: 120}) },
			"page": func(w io.Writer, j *job.Job) error {
				return pageOf(w, j, nil, nil, Links{})
			},
			"JSON": func(w io.Writer, j *job.Job) error { return jsonOf(w, j, nil, nil) },
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
