package job

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

	"jobeff/preload/record"
)

// OverheadCurve is what jobeff-overhead measured of messages in one direction, between the ranks
// of one partition with one MPI (METRICS 5).
type OverheadCurve struct {
	Cluster   string          `json:"cluster"`
	Partition string          `json:"partition"`
	MPI       string          `json:"mpi"`       // the library and its version, as libraryName has it
	Direction string          `json:"direction"` // OverheadSend or OverheadReceive
	Nodes     int             `json:"nodes"`     // 1: both ranks on one; 2
	Measured  time.Time       `json:"measured"`
	Pairs     int             `json:"-"`      // of ranks that transferred at once; kept curves have one
	Points    []OverheadPoint `json:"points"` // the smallest message first
}

// Directions of a curve: whose processor the overhead is of.
const (
	OverheadSend    = "send"
	OverheadReceive = "receive"
)

// OverheadPoint is one size of an OverheadCurve. Times are us, availabilities percent.
type OverheadPoint struct {
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

// overheadRow is a line of jobeff-overhead --json: a point, and what its curve is of. A row
// without intervals has exact figures.
type overheadRow struct {
	OverheadPoint
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

// OverheadOf is what the caller knows of rows. Names win over those of the rows; Measured is for
// rows that do not say when.
type OverheadOf struct {
	Cluster, Partition, MPI string
	Measured                time.Time
}

// fromHydra is what MPICH's launcher itself prints to standard output at Ctrl-C.
var fromHydra = regexp.MustCompile(`(?m)\[mpiexec@.*$`)

// overheadRows reads the rows of jobeff-overhead --json. What a launcher printed after them, as
// MPICH's does when a rank dies, is left out. The array's end may be missing: Open MPI 5's launcher
// forwards nothing after Ctrl-C.
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

// ReadOverheads reads what jobeff-overhead --json printed.
func ReadOverheads(text []byte, of OverheadOf) ([]OverheadCurve, error) {
	rows, err := overheadRows(text)
	if err != nil {
		return nil, fmt.Errorf("this is no output of jobeff-overhead --json: %w", err)
	}
	var curves []OverheadCurve
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

func (r *overheadRow) curve(of OverheadOf) OverheadCurve {
	c := OverheadCurve{Cluster: cmp.Or(of.Cluster, r.Cluster), Partition: cmp.Or(of.Partition, r.Partition), MPI: libraryName(cmp.Or(of.MPI, r.MPI)),
		Direction: cmp.Or(r.Direction, OverheadSend), Nodes: r.Nodes, Pairs: r.Pairs, Measured: r.Time.UTC()}
	if c.Measured.IsZero() {
		c.Measured = of.Measured.UTC()
	}
	return c
}

func (r *overheadRow) point() OverheadPoint {
	or := func(v *float64, exact float64) float64 {
		if v == nil {
			return exact
		}
		return *v
	}
	p, avail := r.OverheadPoint, 0.0
	if p.Avail != nil {
		avail = *p.Avail
	}
	p.OverheadLow, p.OverheadHigh = or(r.OverheadLow, p.Overhead), or(r.OverheadHigh, p.Overhead)
	p.BaseTLow, p.BaseTHigh = or(r.BaseTLow, p.BaseT), or(r.BaseTHigh, p.BaseT)
	p.AvailLow, p.AvailHigh = or(r.AvailLow, avail), or(r.AvailHigh, avail)
	return p
}

// mostOverhead is a time that no message takes, us.
const mostOverhead = 1e9

// check refuses what a curve cannot be.
func (c *OverheadCurve) check(p OverheadPoint) error {
	possible := func(v ...float64) bool {
		return !slices.ContainsFunc(v, func(v float64) bool { return math.IsNaN(v) || math.Abs(v) > mostOverhead })
	}
	switch {
	case max(len(c.Cluster), len(c.Partition), len(c.MPI)) > 256:
		return fmt.Errorf("a name in it is longer than 256 bytes")
	case c.Direction != OverheadSend && c.Direction != OverheadReceive:
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

// Named refuses a curve that cannot be kept: it does not say what it is of, or compares with no other.
func (c *OverheadCurve) Named() error {
	switch {
	case c.Cluster == "" || c.Partition == "":
		return fmt.Errorf("it does not say its cluster and partition: was it measured outside Slurm? Name them with --cluster and --partition")
	case c.MPI == "":
		return fmt.Errorf("it does not say its MPI: name it with --mpi")
	case c.Pairs > 1: // beside a curve of one pair it would look like a loss of availability
		return fmt.Errorf("it is of %d pairs at once: only a run without --pairs all can be kept; plot shows it", c.Pairs)
	}
	return nil
}

// same says whether b is of the same run.
func (c *OverheadCurve) same(b OverheadCurve) bool {
	return c.Comparable(&b) && c.MPI == b.MPI && c.Measured.Equal(b.Measured)
}

// Comparable says whether two curves differ only in the version of the MPI and in the time.
func (c *OverheadCurve) Comparable(b *OverheadCurve) bool {
	return c.Cluster == b.Cluster && c.Partition == b.Partition && c.Direction == b.Direction && c.Nodes == b.Nodes && family(c.MPI) == family(b.MPI)
}

// sort puts the smallest message first.
func (c *OverheadCurve) sort() error {
	slices.SortFunc(c.Points, func(a, b OverheadPoint) int { return cmp.Compare(a.Bytes, b.Bytes) })
	for i := 1; i < len(c.Points); i++ {
		if c.Points[i].Bytes == c.Points[i-1].Bytes {
			return fmt.Errorf("it has %d bytes twice", c.Points[i].Bytes)
		}
	}
	return nil
}

// leastFall is how far an availability must fall, beyond both intervals, to be told, percent.
const leastFall = 5

// OverheadFell finds the sizes at which the availability fell from one curve to another by more
// than their intervals and 5 points. It returns the point that fell furthest, before and now, and
// the number of sizes: 0 if fewer than a quarter of the common ones fell, as the noise of a single
// size does not make a slower network.
func OverheadFell(before, now *OverheadCurve) (was, is OverheadPoint, sizes int) {
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

// libraryName is the first line of MPI_Get_library_version without the library's package.
func libraryName(version string) string {
	name, _, _ := strings.Cut(version, ",") // Open MPI goes on with its package
	return strings.Join(strings.Fields(strings.Replace(name, "Version:", "", 1)), " ")
}

// family is the name of an MPI without its version: "Open MPI v" of "Open MPI v4.1.4".
func family(mpi string) string {
	if at := strings.IndexFunc(mpi, unicode.IsDigit); at >= 0 {
		return mpi[:at]
	}
	return mpi
}

// Hidable says how much of a job's time in point-to-point calls computation could have hidden, at
// most: the sum over messages of base_t * availability (METRICS 5). All times are sums over ranks,
// in seconds.
type Hidable struct {
	P2P             float64 // in the calls, of the executions that have a curve
	Most, Low, High float64 // at most P2P
	Send, Receive   bool    // whose side was counted
	Curves          []*OverheadCurve
	Executions, Of  int // that have a curve; of so many with point-to-point calls
}

// HidableOf is nil where no execution with point-to-point messages has a curve.
func HidableOf(j *Job) *Hidable {
	h := new(Hidable)
	for i := range j.Executions {
		e := &j.Executions[i]
		if p2p := p2pTime(e); p2p > 0 && len(e.HistP2P) > 0 {
			h.Of++
			h.add(e, p2p, j.Overheads)
		}
	}
	if h.Executions == 0 {
		return nil
	}
	return h
}

// p2pClasses are the classes of calls in which ranks send and receive, or wait for that.
var p2pClasses = []string{record.ClassP2P.String(), record.ClassP2PStart.String(), record.ClassWait.String(), record.ClassRecv.String(), record.ClassTest.String()}

func p2pTime(e *Execution) float64 {
	var t time.Duration
	for _, c := range e.Classes {
		if slices.Contains(p2pClasses, c.Name) {
			t = AddTime(t, c.Time)
		}
	}
	return t.Seconds()
}

// add adds an execution, if it has a curve.
func (h *Hidable) add(e *Execution, p2p float64, curves []OverheadCurve) {
	var most, low, high float64
	found := false
	for _, c := range curvesOf(e, curves) {
		found = true
		h.Send, h.Receive = h.Send || c.Direction == OverheadSend, h.Receive || c.Direction == OverheadReceive
		if !slices.Contains(h.Curves, c) {
			h.Curves = append(h.Curves, c)
		}
		for b, n := range e.HistP2P {
			m, l, u := c.hidableOfBin(b)
			most, low, high = most+float64(n)*m*1e-6, low+float64(n)*l*1e-6, high+float64(n)*u*1e-6
		}
	}
	if !found {
		return
	}
	h.Executions++
	h.P2P += p2p
	h.Most, h.Low, h.High = h.Most+min(most, p2p), h.Low+min(low, p2p), h.High+min(high, p2p)
}

// curvesOf picks one curve of each direction for an execution, the first that is of as many
// nodes, else the first.
func curvesOf(e *Execution, curves []OverheadCurve) (picked []*OverheadCurve) {
	for _, direction := range []string{OverheadSend, OverheadReceive} {
		var best *OverheadCurve
		for i := range curves {
			c := &curves[i]
			if c.Direction == direction && c.fits(e) && (best == nil || c.alike(e) && !best.alike(e)) {
				best = c
			}
		}
		if best != nil {
			picked = append(picked, best)
		}
	}
	return picked
}

// AddOverheads gives the job those of its cluster's and partition's curves that are of its
// executions; the newest curve comes first.
func AddOverheads(j *Job, curves []OverheadCurve) {
	for i := range j.Executions {
		for _, c := range curvesOf(&j.Executions[i], curves) {
			if !slices.ContainsFunc(j.Overheads, c.same) {
				j.Overheads = append(j.Overheads, *c)
			}
		}
	}
}

// fits says whether a curve is of the execution's MPI. One between two nodes also bounds what
// happens inside one; one inside a node says nothing of messages between nodes.
func (c *OverheadCurve) fits(e *Execution) bool {
	return c.MPI == libraryName(e.MPIVersion) && (c.Nodes != 1 || len(e.Nodes) <= 1) && len(c.available()) > 0
}

// alike says whether the curve is of as many nodes as the execution: one or several.
func (c *OverheadCurve) alike(e *Execution) bool {
	return c.Nodes > 0 && (c.Nodes > 1) == (len(e.Nodes) > 1)
}

// hidableOfBin is what one message of a bin of HistP2P may hide, us: at the middle of its sizes,
// and the least and most of all its sizes.
func (c *OverheadCurve) hidableOfBin(bin int) (middle, low, high float64) {
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

// hidableAt is base_t * availability of a message of so many bytes, us. Between two sizes it
// follows the logarithm of the size. A smaller message than all measured may hide nothing, and a
// larger one as much more as it is larger.
func (c *OverheadCurve) hidableAt(size float64) (value, low, high float64) {
	points := c.available()
	at := slices.IndexFunc(points, func(p OverheadPoint) bool { return float64(p.Bytes) >= size })
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

// available are the points that have an availability.
func (c *OverheadCurve) available() []OverheadPoint {
	return slices.DeleteFunc(slices.Clone(c.Points), func(p OverheadPoint) bool { return p.Avail == nil })
}

// hidable is base_t * availability with its interval, us, never below 0.
func (p *OverheadPoint) hidable() (value, low, high float64) {
	share := func(percent float64) float64 { return min(max(percent, 0), 100) / 100 }
	return p.BaseT * share(*p.Avail), p.BaseTLow * share(p.AvailLow), p.BaseTHigh * share(p.AvailHigh)
}
