package job

import (
	"math"
	"slices"
	"time"

	"jobeff/preload/record"
)

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
			if !slices.ContainsFunc(j.Overheads, c.Same) {
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
func (c *OverheadCurve) hidableAt(bytes float64) (value, low, high float64) {
	points := c.available()
	at := slices.IndexFunc(points, func(p OverheadPoint) bool { return float64(p.Bytes) >= bytes })
	switch {
	case at < 0:
		p := points[len(points)-1]
		value, low, high = p.hidable()
		more := bytes / float64(p.Bytes)
		return value * more, low, high * more
	case at == 0:
		value, low, high = points[0].hidable()
		if float64(points[0].Bytes) > bytes {
			low = 0
		}
		return value, low, high
	}
	a, b := points[at-1], points[at]
	share := math.Log(bytes/float64(a.Bytes)) / math.Log(float64(b.Bytes)/float64(a.Bytes))
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
