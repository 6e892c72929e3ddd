// Package overhead holds what jobeff-overhead measured of messages (METRICS 5): it reads and compares its
// curves, and bounds how much of a program's time in messages computation could have hidden. Nothing of
// jobeff comes before it; a job has the curves of its partition.
package overhead

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Curve holds what jobeff-overhead measured for messages in one direction, between the ranks of one partition
// with one MPI (METRICS 5).
type Curve struct {
	Cluster   string    `json:"cluster"`
	Partition string    `json:"partition"`
	MPI       string    `json:"mpi"`       // the library and its version, as LibraryName writes it
	Direction string    `json:"direction"` // Send or Receive
	Nodes     int       `json:"nodes"`     // 1: both ranks on one node; 2: on two
	Measured  time.Time `json:"measured"`
	Pairs     int       `json:"-"`      // of ranks that transferred at once; kept curves have one
	Points    []Point   `json:"points"` // the smallest message first
}

// Directions of a curve: the side whose processor has the overhead.
const (
	Send    = "send"
	Receive = "receive"
)

// Point is one message size of a Curve. Times are us, availabilities percent.
type Point struct {
	Bytes        uint64   `json:"msgsize"`
	Iterations   int      `json:"iterations"`
	IterT        float64  `json:"iter_t"`
	WorkT        float64  `json:"work_t"`
	Overhead     float64  `json:"overhead"`
	OverheadLow  float64  `json:"overhead_low"`
	OverheadHigh float64  `json:"overhead_high"`
	BaseT        float64  `json:"base_t"`
	BaseTLow     float64  `json:"base_t_low"`
	BaseTHigh    float64  `json:"base_t_high"`
	Avail        *float64 `json:"avail"` // nil: refused
	AvailLow     float64  `json:"avail_low"`
	AvailHigh    float64  `json:"avail_high"`
	Refused      string   `json:"refused,omitempty"` // why there is no availability
}

// overheadRow is a line of jobeff-overhead --json: a point, and what identifies its curve. A row without
// intervals has exact figures.
type overheadRow struct {
	Point
	OverheadLow  *float64  `json:"overhead_low"`
	OverheadHigh *float64  `json:"overhead_high"`
	BaseTLow     *float64  `json:"base_t_low"`
	BaseTHigh    *float64  `json:"base_t_high"`
	AvailLow     *float64  `json:"avail_low"`
	AvailHigh    *float64  `json:"avail_high"`
	Direction    string    `json:"direction"`
	MPI          string    `json:"mpi"`
	Cluster      string    `json:"cluster"`
	Partition    string    `json:"partition"`
	Nodes        int       `json:"nodes"`
	Pairs        int       `json:"pairs"`
	Time         time.Time `json:"time"`
}

// Of is what the caller knows about rows. Its names take precedence over theirs; Measured is for rows without a
// time.
type Of struct {
	Cluster, Partition, MPI string
	Measured                time.Time
}

// fromHydra matches what MPICH's launcher itself prints to standard output at Ctrl-C.
var fromHydra = regexp.MustCompile(`(?m)\[mpiexec@.*$`)

// overheadRows reads the rows of jobeff-overhead --json. It leaves out what a launcher printed after them, as
// MPICH's does when a rank dies. The array's end may be missing: Open MPI 5's launcher forwards nothing after
// Ctrl-C.
func overheadRows(text []byte) (rows []overheadRow, err error) {
	in := json.NewDecoder(bytes.NewReader(fromHydra.ReplaceAll(text, nil)))
	if begin, err := in.Token(); begin != json.Delim('[') {
		return nil, cmp.Or(err, errors.New("it is no array"))
	}
	for in.More() {
		var r overheadRow
		if err := in.Decode(&r); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Read reads what jobeff-overhead --json printed.
func Read(text []byte, of Of) ([]Curve, error) {
	rows, err := overheadRows(text)
	if err != nil {
		return nil, fmt.Errorf("this is no output of jobeff-overhead --json: %w", err)
	}
	var curves []Curve
	for i, r := range rows {
		c := r.curve(of)
		p := r.point()
		if err := c.check(p); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		at := slices.IndexFunc(curves, c.same)
		if at < 0 {
			at, curves = len(curves), append(curves, c)
		}
		curves[at].Points = append(curves[at].Points, p)
	}
	for i := range curves {
		if err := curves[i].sort(); err != nil {
			return nil, err
		}
	}
	if len(curves) == 0 {
		return nil, fmt.Errorf("there is no row in it: was jobeff-overhead interrupted?")
	}
	return curves, nil
}

func (r *overheadRow) curve(of Of) Curve {
	c := Curve{Cluster: cmp.Or(of.Cluster, r.Cluster), Partition: cmp.Or(of.Partition, r.Partition), MPI: LibraryName(cmp.Or(of.MPI, r.MPI)),
		Direction: cmp.Or(r.Direction, Send), Nodes: r.Nodes, Pairs: r.Pairs, Measured: r.Time.UTC()}
	if c.Measured.IsZero() {
		c.Measured = of.Measured.UTC()
	}
	return c
}

func (r *overheadRow) point() Point {
	or := func(v *float64, exact float64) float64 {
		if v == nil {
			return exact
		}
		return *v
	}
	p, avail := r.Point, 0.0
	if p.Avail != nil {
		avail = *p.Avail
	}
	p.OverheadLow, p.OverheadHigh = or(r.OverheadLow, p.Overhead), or(r.OverheadHigh, p.Overhead)
	p.BaseTLow, p.BaseTHigh = or(r.BaseTLow, p.BaseT), or(r.BaseTHigh, p.BaseT)
	p.AvailLow, p.AvailHigh = or(r.AvailLow, avail), or(r.AvailHigh, avail)
	return p
}

// mostOverhead bounds a message's times, us: no message takes as long.
const mostOverhead = 1e9

// check refuses figures that no measurement can have.
func (c *Curve) check(p Point) error {
	possible := func(v ...float64) bool {
		return !slices.ContainsFunc(v, func(v float64) bool { return math.IsNaN(v) || math.Abs(v) > mostOverhead })
	}
	switch {
	case max(len(c.Cluster), len(c.Partition), len(c.MPI)) > 256:
		return fmt.Errorf("a name in it is longer than 256 bytes")
	case c.Direction != Send && c.Direction != Receive:
		return fmt.Errorf("its direction is %.40q, not send or receive", c.Direction)
	case p.Bytes == 0 || p.Bytes > 1<<40:
		return fmt.Errorf("a message of %d bytes cannot be", p.Bytes)
	case !(p.BaseT > 0) || !(p.BaseTLow <= p.BaseT && p.BaseT <= p.BaseTHigh) || !(p.OverheadLow <= p.Overhead && p.Overhead <= p.OverheadHigh) ||
		!possible(p.IterT, p.WorkT, p.OverheadLow, p.OverheadHigh, p.BaseTHigh, p.AvailLow, p.AvailHigh):
		return fmt.Errorf("its times of %d bytes cannot be", p.Bytes)
	case p.Avail != nil && (*p.Avail < p.AvailLow || *p.Avail > p.AvailHigh || p.AvailLow > 100 || p.AvailHigh < 0):
		return fmt.Errorf("its availability of %d bytes is outside 0 to 100 %%, or outside its own interval", p.Bytes)
	}
	return nil
}

// Named refuses a curve that must not be stored: it does not identify itself, or no other is comparable.
func (c *Curve) Named() error {
	switch {
	case c.Cluster == "" || c.Partition == "":
		return fmt.Errorf("it does not say its cluster and partition: was it measured outside Slurm? Name them with --cluster and --partition")
	case c.MPI == "":
		return fmt.Errorf("it does not say its MPI: name it with --mpi")
	case c.Pairs > 1: // compared with one of one pair, it would look like a loss of availability
		return fmt.Errorf("it is of %d pairs at once: only a run without --pairs all can be kept; plot shows it", c.Pairs)
	}
	return nil
}

// same reports whether b is from the same run.
func (c *Curve) same(b Curve) bool {
	return c.Comparable(&b) && c.MPI == b.MPI && c.Measured.Equal(b.Measured)
}

// Comparable reports whether two curves differ only in the MPI's version and the time.
func (c *Curve) Comparable(b *Curve) bool {
	return c.Cluster == b.Cluster && c.Partition == b.Partition && c.Direction == b.Direction && c.Nodes == b.Nodes && family(c.MPI) == family(b.MPI)
}

// sort puts the smallest message first.
func (c *Curve) sort() error {
	slices.SortFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.Bytes, b.Bytes) })
	for i := 1; i < len(c.Points); i++ {
		if c.Points[i].Bytes == c.Points[i-1].Bytes {
			return fmt.Errorf("it has %d bytes twice", c.Points[i].Bytes)
		}
	}
	return nil
}

// leastFall is the least fall of an availability, beyond both intervals, that is told, percent.
const leastFall = 5

// Fell finds the sizes at which the availability fell from one curve to another by more than their intervals
// and leastFall. It returns the point that fell furthest, before and now, and the number of such sizes. That is
// 0 if fewer than a quarter of the common ones fell: noise at a single size does not make a slower network.
func Fell(before, now *Curve) (was, is Point, sizes int) {
	common, furthest := 0, 0.0
	for _, b := range now.available() {
		for _, a := range before.available() {
			if a.Bytes != b.Bytes {
				continue
			}
			common++
			if a.AvailLow-b.AvailHigh <= leastFall {
				continue
			}
			sizes++
			if fall := *a.Avail - *b.Avail; fall > furthest {
				furthest, was, is = fall, a, b
			}
		}
	}
	if 4*sizes < common {
		return was, is, 0
	}
	return was, is, sizes
}

// LibraryName returns the first line of MPI_Get_library_version, without the library's package.
func LibraryName(version string) string {
	name, _, _ := strings.Cut(version, ",") // Open MPI goes on with its package
	return strings.Join(strings.Fields(strings.Replace(name, "Version:", "", 1)), " ")
}

// family returns an MPI's name without its version: "Open MPI v" for "Open MPI v4.1.4".
func family(mpi string) string {
	if at := strings.IndexFunc(mpi, unicode.IsDigit); at >= 0 {
		return mpi[:at]
	}
	return mpi
}

// Hidable says how much of a job's time in point-to-point calls computation could have hidden, at most: the sum
// over messages of base_t * availability (METRICS 5). All times are sums over ranks, in seconds.
type Hidable struct {
	P2P             float64 // in the calls of programs that have a curve
	Most, Low, High float64 // at most P2P
	Send, Receive   bool    // which side was counted
	Curves          []*Curve
	Executions, Of  int // programs that have a curve, of those with point-to-point calls
}

// Program is what one execution of a job sent.
type Program struct {
	MPI   string   // LibraryName of its MPI
	Nodes int      // on which it ran
	Sizes []uint64 // messages; bin b: sizes in [2^(b-1), 2^b) bytes, bin 0: 0
	P2P   float64  // s in point-to-point calls, sum over ranks
}

// HidableOf returns nil if no program with point-to-point messages has a curve.
func HidableOf(programs []Program, curves []Curve) *Hidable {
	h := new(Hidable)
	for i := range programs {
		if p := &programs[i]; p.P2P > 0 && len(p.Sizes) > 0 {
			h.Of++
			h.add(p, curves)
		}
	}
	if h.Executions == 0 {
		return nil
	}
	return h
}

// add adds a program, if it has a curve.
func (h *Hidable) add(p *Program, curves []Curve) {
	var most, low, high float64
	found := false
	for _, c := range curvesOf(p, curves) {
		found = true
		h.Send, h.Receive = h.Send || c.Direction == Send, h.Receive || c.Direction == Receive
		if !slices.Contains(h.Curves, c) {
			h.Curves = append(h.Curves, c)
		}
		for b, n := range p.Sizes {
			m, l, u := c.hidableOfBin(b)
			most, low, high = most+float64(n)*m*1e-6, low+float64(n)*l*1e-6, high+float64(n)*u*1e-6
		}
	}
	if !found {
		return
	}
	h.Executions++
	h.P2P += p.P2P
	h.Most, h.Low, h.High = h.Most+min(most, p.P2P), h.Low+min(low, p.P2P), h.High+min(high, p.P2P)
}

// curvesOf picks one curve of each direction for a program: the first with as many nodes, else the first.
func curvesOf(p *Program, curves []Curve) (picked []*Curve) {
	for _, direction := range []string{Send, Receive} {
		var best *Curve
		for i := range curves {
			c := &curves[i]
			if c.Direction == direction && c.fits(p) && (best == nil || c.alike(p) && !best.alike(p)) {
				best = c
			}
		}
		if best != nil {
			picked = append(picked, best)
		}
	}
	return picked
}

// Fitting returns the curves that fit the programs. curves are those of a cluster and partition, the newest
// first.
func Fitting(programs []Program, curves []Curve) (fitting []Curve) {
	for i := range programs {
		for _, c := range curvesOf(&programs[i], curves) {
			if !slices.ContainsFunc(fitting, c.same) {
				fitting = append(fitting, *c)
			}
		}
	}
	return fitting
}

// fits reports whether a curve is for the program's MPI. One between two nodes also bounds messages inside one.
// One inside a node says nothing about messages between nodes.
func (c *Curve) fits(p *Program) bool {
	return c.MPI == p.MPI && (c.Nodes != 1 || p.Nodes <= 1) && len(c.available()) > 0
}

// alike reports whether the curve has as many nodes as the program: one or several.
func (c *Curve) alike(p *Program) bool {
	return c.Nodes > 0 && (c.Nodes > 1) == (p.Nodes > 1)
}

// hidableOfBin returns the time that one message of a bin of Program.Sizes may hide, us: at the middle of its
// sizes, and the least and most for any of its sizes.
func (c *Curve) hidableOfBin(bin int) (middle, low, high float64) {
	first, last := 0.0, 0.0
	if bin > 0 {
		first, last = math.Exp2(float64(bin-1)), math.Exp2(float64(bin))-1
	}
	middle, _, _ = c.hidableAt(math.Sqrt(first * last))
	_, low, high = c.hidableAt(first)
	widen := func(size float64) {
		_, l, u := c.hidableAt(size)
		low, high = min(low, l), max(high, u)
	}
	widen(last)
	for _, p := range c.Points {
		if size := float64(p.Bytes); first < size && size < last {
			widen(size)
		}
	}
	return middle, low, high
}

// hidableAt returns base_t * availability for a message of so many bytes, us. Between two sizes it follows the
// logarithm of the size. A smaller message than all measured may hide nothing. A larger one may hide more, in
// proportion to its size.
func (c *Curve) hidableAt(size float64) (value, low, high float64) {
	points := c.available()
	at := slices.IndexFunc(points, func(p Point) bool { return float64(p.Bytes) >= size })
	switch {
	case at < 0:
		p := points[len(points)-1]
		value, low, high = p.hidable()
		more := size / float64(p.Bytes)
		return value * more, low, high * more
	case at == 0:
		value, low, high = points[0].hidable()
		if float64(points[0].Bytes) > size {
			low = 0
		}
		return value, low, high
	}
	a, b := points[at-1], points[at]
	share := math.Log(size/float64(a.Bytes)) / math.Log(float64(b.Bytes)/float64(a.Bytes))
	av, al, ah := a.hidable()
	bv, bl, bh := b.hidable()
	return av + share*(bv-av), al + share*(bl-al), ah + share*(bh-ah)
}

// available returns the points that have an availability.
func (c *Curve) available() []Point {
	return slices.DeleteFunc(slices.Clone(c.Points), func(p Point) bool { return p.Avail == nil })
}

// hidable returns base_t * availability with its interval, us, never below 0.
func (p *Point) hidable() (value, low, high float64) {
	share := func(percent float64) float64 { return min(max(percent, 0), 100) / 100 }
	return p.BaseT * share(*p.Avail), p.BaseTLow * share(p.AvailLow), p.BaseTHigh * share(p.AvailHigh)
}
