package overhead

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// vector is the row of METRICS 5.
const vector = `{"msgsize": 8, "iterations": 1000, "iter_t": 9.465, "work_t": 8.608, "overhead": 0.858, "base_t": 3.990, "avail": 78.5%s}`

func TestReadOverheads(t *testing.T) {
	of := Of{Cluster: "c", Partition: "p", MPI: "MPICH Version:\t4.0.2", Measured: time.Unix(1000, 0)}
	said := fmt.Sprintf(vector, `, "overhead_low": 0.8, "overhead_high": 0.9, "avail_low": 77, "avail_high": 80, "direction": "receive", "nodes": 2,
		"mpi": "Open MPI v4.1.4, package: Debian", "cluster": "d", "partition": "q", "time": "2026-11-20T12:00:00Z"`)
	curves, err := Read([]byte("["+said+","+strings.Replace(said, `"msgsize": 8`, `"msgsize": 4`, 1)+"]"), Of{Partition: "p"})
	if err != nil || len(curves) != 1 || len(curves[0].Points) != 2 || curves[0].Points[0].Bytes != 4 {
		t.Fatalf("%+v, %v", curves, err)
	}
	c := curves[0]
	c.Points = nil
	want := Curve{Cluster: "d", Partition: "p", MPI: "Open MPI v4.1.4", Direction: Receive, Nodes: 2, Measured: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	curves, err = Read([]byte("["+fmt.Sprintf(vector, "")+"]"), of)
	if err != nil || curves[0].MPI != "MPICH 4.0.2" || curves[0].Points[0].BaseTLow != 3.99 || curves[0].Points[0].AvailHigh != 78.5 || !curves[0].Measured.Equal(of.Measured) {
		t.Errorf("a row of the original's columns: %+v, %v", curves, err)
	}
}

// MPICH's launcher prints to standard output, too: at Ctrl-C, and when a rank dies. Open MPI 5's
// forwards nothing after Ctrl-C.
func TestReadOverheadsInterrupted(t *testing.T) {
	rows := "[\n  " + fmt.Sprintf(vector, "") + ",\n  " + strings.Replace(fmt.Sprintf(vector, ""), `"msgsize": 8`, `"msgsize": 4`, 1)
	for _, text := range []string{rows + "[mpiexec@n1] Press Ctrl-C again to force abort\n\n]\n", rows + "\n[mpiexec@n1] Sending Ctrl-C\n]\n", rows + "\n]\n\n=====\n=   BAD TERMINATION\n", rows, rows + "\n"} {
		if curves, err := Read([]byte(text), Of{MPI: "MPICH 4.0.2"}); err != nil || len(curves) != 1 || len(curves[0].Points) != 2 {
			t.Errorf("%q: %+v, %v", text, curves, err)
		}
	}
}

func TestReadOverheadsRefuses(t *testing.T) {
	of := Of{Cluster: "c", Partition: "p", MPI: "MPICH 4.0.2"}
	row := fmt.Sprintf(vector, "")
	for _, c := range []struct {
		text string
		of   Of
		says string
	}{
		{"msgsize", of, "no output of jobeff-overhead"},
		{"[]", of, "there is no row"},
		{"[" + row + "," + row + "]", of, "8 bytes twice"},
		{"[" + row + "]", Of{MPI: "MPICH 4", Cluster: "c"}, "--cluster and --partition"},
		{"[" + row + "]", Of{Cluster: "c", Partition: "p"}, "--mpi"},
		{"[" + strings.Replace(row, "8,", "0,", 1) + "]", of, "a message of 0 bytes"},
		{"[" + strings.Replace(row, "3.990", "0", 1) + "]", of, "its times of 8 bytes"},
		{"[" + strings.Replace(row, "0.858", "1e300", 1) + "]", of, "its times of 8 bytes"},
		{"[" + strings.Replace(row, "78.5", "178.5", 1) + "]", of, "outside 0 to 100"},
		{"[" + fmt.Sprintf(vector, `, "avail_low": 80`) + "]", of, "outside its own interval"},
		{"[" + fmt.Sprintf(vector, `, "direction": "up"`) + "]", of, "not send or receive"},
		{"[" + fmt.Sprintf(vector, `, "pairs": 2`) + "]", of, "2 pairs at once"},
	} {
		curves, err := Read([]byte(c.text), c.of)
		for i := range curves {
			err = errors.Join(err, curves[i].Named())
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
}

// overheadCurve has base times of 1 us for 8 B and of 101 us for 1 KiB; half is available, give
// or take a tenth.
func overheadCurve(direction string) Curve {
	c := Curve{MPI: "MPICH 4.0.2", Direction: direction, Nodes: 2}
	for bytes, base := range map[uint64]float64{8: 1, 1024: 101} {
		avail := 50.0
		c.Points = append(c.Points, Point{Bytes: bytes, BaseT: base, BaseTLow: base, BaseTHigh: base, Overhead: base / 2, Avail: &avail, AvailLow: 40, AvailHigh: 60})
	}
	if err := c.sort(); err != nil {
		panic(err)
	}
	return c
}

// messages is a program that was so long in point-to-point calls, s, and sent n messages of 1,024
// to 2,047 bytes.
func messages(inCalls float64, n uint64) Program {
	p := Program{MPI: "MPICH 4.0.2", Sizes: make([]uint64, 12), Nodes: 2, P2P: inCalls}
	p.Sizes[11] = n
	return p
}

func TestHidable(t *testing.T) {
	send, receive := overheadCurve(Send), overheadCurve(Receive)
	middle := 101 * 0.5 * math.Sqrt(1024*2047) / 1024
	refused := overheadCurve(Send)
	for i := range refused.Points {
		refused.Points[i].Avail = nil
	}
	for _, c := range []struct {
		name   string
		of     Program
		curves []Curve
		want   *Hidable // times of this in us per message
	}{
		{"no curve", messages(1, 1000), nil, nil},
		{"no messages", messages(0, 1000), []Curve{send}, nil},
		{"another MPI", Program{MPI: "Open MPI v4", Sizes: []uint64{1}, P2P: 1}, []Curve{send}, nil},
		{"sent", messages(1, 1000), []Curve{send},
			&Hidable{P2P: 1, Most: 1e-3 * middle, Low: 1e-3 * 101 * .4, High: 1e-3 * 101 * .6 * 2047 / 1024, Send: true}},
		{"both sides", messages(1, 1000), []Curve{receive, send},
			&Hidable{P2P: 1, Most: 2e-3 * middle, Low: 2e-3 * 101 * .4, High: 2e-3 * 101 * .6 * 2047 / 1024, Send: true, Receive: true}},
		{"never more than measured", messages(.05, 1000), []Curve{send},
			&Hidable{P2P: .05, Most: .05, Low: 1e-3 * 101 * .4, High: .05, Send: true}},
		{"nothing was available", messages(1, 1000), []Curve{refused}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := []Program{c.of}
			h := HidableOf(of, Fitting(of, c.curves))
			if h == nil || c.want == nil {
				if h != nil || c.want != nil {
					t.Fatalf("%+v, want %+v", h, c.want)
				}
				return
			}
			close := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
			if !close(h.P2P, c.want.P2P) || !close(h.Most, c.want.Most) || !close(h.Low, c.want.Low) || !close(h.High, c.want.High) ||
				h.Send != c.want.Send || h.Receive != c.want.Receive || len(h.Curves) != len(c.curves) || h.Executions != 1 || h.Of != 1 {
				t.Errorf("%+v, want %+v", h, c.want)
			}
		})
	}
}

// A curve between two nodes bounds also what one node does; one inside a node says nothing of
// two. The first that is of as many nodes is taken.
func TestCurveOfAProgram(t *testing.T) {
	one, two, old := overheadCurve(Send), overheadCurve(Send), overheadCurve(Send)
	one.Nodes, two.Measured, old.Measured = 1, time.Unix(2, 0), time.Unix(1, 0)
	across := messages(1, 1)
	inside := across
	inside.Nodes = 1
	for _, c := range []struct {
		of     Program
		curves []Curve
		want   int // of curves; -1: none
	}{
		{across, []Curve{one, two, old}, 1},
		{inside, []Curve{two, one, old}, 1},
		{inside, []Curve{two, old}, 0},
		{across, []Curve{one}, -1},
	} {
		picked := curvesOf(&c.of, c.curves)
		if c.want < 0 && len(picked) > 0 || c.want >= 0 && (len(picked) != 1 || picked[0] != &c.curves[c.want]) {
			t.Errorf("%d of %+v: %+v", c.want, c.curves, picked)
		}
	}
}

// Between two sizes the time follows the logarithm of the size; below the smallest one nothing
// may be hidden.
func TestHidableAt(t *testing.T) {
	c := overheadCurve(Send)
	for bytes, want := range map[float64][3]float64{
		8: {.5, .4, .6}, 1: {.5, 0, .6}, 0: {.5, 0, .6}, 1024: {50.5, 40.4, 60.6}, 2048: {101, 40.4, 121.2},
		math.Sqrt(8 * 1024): {25.5, 20.4, 30.6},
	} {
		value, low, high := c.hidableAt(bytes)
		if math.Abs(value-want[0]) > 1e-9 || math.Abs(low-want[1]) > 1e-9 || math.Abs(high-want[2]) > 1e-9 {
			t.Errorf("%g bytes: %g, %g to %g; want %v", bytes, value, low, high, want)
		}
	}
}

// Of the sizes of a bin, 1024 to 2047, the least and the most are told, whatever lies between them; a size
// beyond it says nothing of it. Availability is 1 everywhere.
func TestHidableOfBin(t *testing.T) {
	avail := 100.0
	point := func(bytes uint64, low, high float64) Point {
		return Point{Bytes: bytes, BaseT: 10, BaseTLow: low, BaseTHigh: high, Avail: &avail, AvailLow: 100, AvailHigh: 100}
	}
	c := &Curve{Points: []Point{point(512, 1, 99), point(1024, 8, 12), point(1500, 5, 30), point(2047, 9, 11), point(4096, 1, 99)}}
	if middle, low, high := c.hidableOfBin(11); middle != 10 || low != 5 || high != 30 {
		t.Errorf("%g, %g to %g", middle, low, high)
	}
}

// A fall of availability is told from more than 5 points beyond both intervals on, if a quarter of
// the sizes fell.
func TestOverheadFell(t *testing.T) {
	curve := func(avail ...float64) *Curve {
		c := new(Curve)
		for i, a := range avail {
			c.Points = append(c.Points, Point{Bytes: 8 << i, Avail: &a, AvailLow: a - 1, AvailHigh: a + 1})
		}
		return c
	}
	before := curve(80, 80, 80, 80)
	before.Points = append(before.Points, Point{Bytes: 1 << 30})
	for _, c := range []struct {
		now   *Curve
		sizes int
		bytes uint64
	}{
		{curve(80, 80, 80, 80), 0, 0}, {curve(90, 90, 90, 90), 0, 0},
		{curve(80, 73, 73, 80), 0, 0}, {curve(80, 72, 71, 80), 2, 32}, {curve(80, 80, 60, 80), 1, 32}, {curve(80, 60, 70, 80), 2, 16},
		{curve(80, 80, 80, 80, 60), 0, 0},
	} {
		was, is, sizes := Fell(before, c.now)
		if sizes != c.sizes || sizes > 0 && (was.Bytes != c.bytes || is.Bytes != c.bytes || *was.Avail != 80) {
			t.Errorf("%v: %d sizes, %+v, %+v", c.now, sizes, was, is)
		}
	}
	five, one := curve(80, 80, 80, 80, 80), curve(80, 80, 80, 80, 60)
	if _, _, sizes := Fell(five, one); sizes != 0 {
		t.Errorf("%d of 5 sizes fell: that may be noise", sizes)
	}
}

// A row at its bounds is read.
func TestOverheadBounds(t *testing.T) {
	good := func() (Curve, Point) {
		avail := 100.
		return Curve{Cluster: strings.Repeat("c", 256), Direction: Send, Pairs: 1, Partition: "p", MPI: "m"},
			Point{Bytes: 1 << 40, IterT: mostOverhead, BaseT: 1, BaseTLow: 1, BaseTHigh: 1, Avail: &avail, AvailLow: 100, AvailHigh: 100}
	}
	if c, p := good(); c.check(p) != nil || c.Named() != nil {
		t.Error(c.check(p), c.Named())
	}
	for name, change := range map[string]func(c *Curve, p *Point){
		"a long name":     func(c *Curve, _ *Point) { c.MPI = strings.Repeat("m", 257) },
		"a large message": func(_ *Curve, p *Point) { p.Bytes++ },
		"a long time":     func(_ *Curve, p *Point) { p.WorkT = -2 * mostOverhead },
		"more than all":   func(_ *Curve, p *Point) { *p.Avail, p.AvailLow, p.AvailHigh = 102, 101, 103 },
		"less than none":  func(_ *Curve, p *Point) { *p.Avail, p.AvailLow, p.AvailHigh = -2, -3, -1 },
	} {
		c, p := good()
		if change(&c, &p); c.check(p) == nil {
			t.Errorf("%s: nothing was said", name)
		}
	}
	c, p := good()
	if *p.Avail, p.AvailLow, p.AvailHigh = 0, -1, 0; c.check(p) != nil {
		t.Error(c.check(p))
	}
}
