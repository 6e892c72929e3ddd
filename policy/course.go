package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
	"jobeff/report/figure"
)

// course holds how the ranks of an execution spent their time, in the buckets of its timeline. All ranks ran
// throughout the buckets from lo to hi-1.
type course struct {
	e                *job.Execution
	begin            []time.Time
	elapsed, mpi, io []time.Duration // of all ranks
	length           time.Duration   // of a bucket
	lo, hi           int
}

// Course describes an execution if it has at least courseLeast whole buckets, each at least courseLength long.
// In a whole bucket, ranks ran for at least courseWhole of the time. Up to courseCut buckets at either end may
// be cut, as ranks begin and end one after the other.
const (
	courseLeast  = 12
	courseLength = time.Second
	courseCut    = 2
	courseWhole  = 0.99
)

// misplaced are the warnings that put in doubt when something happened, or to whom its time belongs.
var misplaced = []string{doubt.WarnClock, doubt.WarnClockDrift, doubt.WarnTorn, doubt.WarnOdd, doubt.WarnAssumedEnd, doubt.WarnImpossible, doubt.WarnForeign, doubt.WarnForeignNode, doubt.WarnPart}

// Course says in sentences what the course of an execution shows beyond the spread of its buckets: since when
// its ranks are in MPI or in files, and what comes again and again (METRICS 1, "Over time"). It says nothing if
// that may be chance, or if the clocks leave in doubt when something was.
func Course(j *job.Job, e *job.Execution) (said []string) {
	c := newCourse(j, e)
	if c == nil {
		return nil
	}
	for _, text := range []string{c.turned(c.mpi, inMPI), c.turned(c.io, inFiles), c.repeated()} {
		if text != "" {
			said = append(said, text)
		}
	}
	return said
}

// newCourse returns nil if nothing may be said.
func newCourse(j *job.Job, e *job.Execution) *course {
	t := e.Timeline
	if t == nil || e.Folded != nil || suspended(j).Code != "" ||
		slices.ContainsFunc(warnings(j), func(w doubt.Warning) bool { return slices.Contains(misplaced, w.Code) }) {
		return nil
	}
	c := &course{e: e, elapsed: t.Elapsed, mpi: make([]time.Duration, len(t.Elapsed)), io: t.IO}
	for i := range len(t.Elapsed) + 1 {
		c.begin = append(c.begin, time.Unix(0, job.BucketBegin(t.First+int64(i), t.Shift)))
	}
	c.length = c.begin[1].Sub(c.begin[0])
	if c.io == nil {
		c.io = make([]time.Duration, len(t.Elapsed))
	}
	for i := range c.mpi {
		c.mpi[i] = t.Elapsed[i] - t.Useful[i] - c.io[i]
	}
	apart, known := e.ClockDoubt()
	if recorded, ran := e.Ranks(); recorded < ran || !known || apart > c.length/4 || c.length < courseLength || !c.whole(t.Ranks) {
		return nil
	}
	return c
}

// whole finds the buckets in which all ranks ran. It reports whether these are enough, without a gap, and
// nearly the whole run.
func (c *course) whole(ranks int) bool {
	in := func(d time.Duration) bool {
		return d.Seconds() >= courseWhole*float64(ranks)*c.length.Seconds()
	}
	c.lo = slices.IndexFunc(c.elapsed, in)
	if c.lo < 0 || c.lo > courseCut {
		return false
	}
	for c.hi = c.lo; c.hi < len(c.elapsed) && in(c.elapsed[c.hi]); c.hi++ {
	}
	return c.hi-c.lo >= courseLeast && len(c.elapsed)-c.hi <= courseCut
}

// share returns the part of the ranks' time that was spent on something.
func (c *course) share(spent []time.Duration, from, to int) float64 {
	return total(spent[from:to]).Seconds() / total(c.elapsed[from:to]).Seconds()
}

func total(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum = job.AddTime(sum, d)
	}
	return sum
}

// turned says how much of the time went into something before and after each turn; "" without a turn. The
// bucket in which a turn lies is on neither side.
func (c *course) turned(spent []time.Duration, into string) string {
	shares := make([]float64, 0, c.hi-c.lo)
	for i := c.lo; i < c.hi; i++ {
		shares = append(shares, c.share(spent, i, i+1))
	}
	turns := turnsOf(shares)
	if turns == nil {
		return ""
	}
	type stretch struct {
		from, to int
		share    float64
	}
	var all []stretch
	from := 0
	for _, turn := range append(turns, len(spent)-c.lo) {
		to := c.lo + turn
		all = append(all, stretch{from, to, c.share(spent, from, to)})
		from = to + 1
	}
	most := slices.MaxFunc(all, func(a, b stretch) int { return cmp.Compare(a.share, b.share) })
	var parts []string
	for i, s := range all {
		text := figure.Percent(s.share)
		switch {
		case i == 0:
			text = fmt.Sprintf("Until %s, %s of the ranks' time went into %s", c.at(s.to), text, into)
		case i == len(turns):
			text = fmt.Sprintf("since %s, %s", c.at(s.from), text)
		default:
			text = fmt.Sprintf("from %s to %s, %s", c.at(s.from), c.at(s.to), text)
		}
		if call := c.in(into, total(spent[s.from:s.to])); s == most && call != into {
			text += ", nearly all of it into " + call
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ") + "."
}

// at writes when a bucket begins.
func (c *course) at(bucket int) string { return figure.Beside(c.begin[bucket], c.begin[0]) }

// otherCalls bounds the part of some time that may belong to other calls than the named one.
const otherCalls = 0.05

// in names what the ranks' time went into: one function, if nearly all of the time must be its own, else all of
// MPI or of files.
func (c *course) in(all string, spent time.Duration) string {
	var whole, listed time.Duration
	for i := range c.e.Nodes {
		if all == inFiles {
			whole = job.AddTime(whole, c.e.Nodes[i].IO)
		} else {
			whole = job.AddTime(whole, c.e.Nodes[i].MPI)
		}
	}
	var first job.Call
	for _, call := range c.e.Calls { // the longest first
		if strings.HasPrefix(call.Name, "MPI_File_") != (all == inFiles) {
			continue
		}
		if listed = job.AddTime(listed, call.Time); first.Name == "" {
			first = call
		}
	}
	if others := max(whole, listed) - first.Time; first.Name == "" || others.Seconds() > otherCalls*spent.Seconds() {
		return all
	}
	return first.Name
}

// What the time went into if no single function had nearly all of it.
const (
	inMPI   = "MPI"
	inFiles = "MPI_File functions"
)

// A change is a turn if the shares on its two sides lie leastTurn apart, and timesSpread times as far as the
// shares on one side lie from each other. This holds for every bucket. Each side has at least sideLeast
// buckets.
const (
	leastTurn   = 0.1
	timesSpread = 2
	sideLeast   = 4
)

// turnsOf returns the buckets in which shares turned from one level to another for good, one or two; nil if
// they did not. It looks for two only if one does not explain the shares.
func turnsOf(shares []float64) (turns []int) {
	n, best := len(shares), 0.0
	for a := sideLeast; a < n-sideLeast; a++ {
		if apart := apartBy(shares[:a], shares[a+1:]); apart > best {
			best, turns = apart, []int{a}
		}
	}
	if turns != nil {
		return turns
	}
	for a := sideLeast; a < n; a++ {
		for b := a + 1 + sideLeast; b < n-sideLeast; b++ {
			first := apartBy(shares[:a], shares[a+1:b])
			if first == 0 {
				break // more shares only lie closer
			}
			if apart := min(first, apartBy(shares[a+1:b], shares[b+1:])); apart > best {
				best, turns = apart, []int{a, b}
			}
		}
	}
	return turns
}

// apartBy returns how far apart two lists of shares lie; 0 if that may be chance.
func apartBy(a, b []float64) float64 {
	spread := max(slices.Max(a)-slices.Min(a), slices.Max(b)-slices.Min(b))
	apart := max(slices.Min(a)-slices.Max(b), slices.Min(b)-slices.Max(a))
	if apart < leastTurn || apart < timesSpread*spread {
		return 0
	}
	return apart
}

// Time in files repeats if there are at least leastBeats beats, evenly spaced within beatDoubt buckets, with
// little time in files besides. A beat is a row of busy buckets between quiet ones.
const (
	leastBeats = 6
	leastEvery = 4 // buckets between beats
	beatDoubt  = 1
	quietBelow = 0.1 // of the busiest bucket
	leastShare = 0.01
	besides    = 0.05 // of the beats' time, outside of them
)

// beat is one time in files that may repeat.
type beat struct {
	at    float64 // its middle, in buckets
	spent float64 // s of each rank, mean
	wide  int     // buckets
}

// repeated says what time in files comes again and again; "" if none does.
func (c *course) repeated() string {
	each := make([]float64, 0, c.hi-c.lo)
	for i := c.lo; i < c.hi; i++ {
		each = append(each, c.share(c.io, i, i+1)*c.length.Seconds())
	}
	beats, every := beatsOf(each)
	if beats == nil {
		return ""
	}
	var spent []float64
	var sum float64
	for _, b := range beats {
		spent, sum = append(spent, b.spent), sum+b.spent
	}
	if sum < leastShare*float64(len(each))*c.length.Seconds() {
		return ""
	}
	n := float64(len(beats))
	call := c.in(inFiles, figure.Duration(sum*float64(c.e.Timeline.Ranks)))
	return fmt.Sprintf("About every %s, the ranks were in %s for %s each (%d times, %s; means over the ranks).", roundTime(every*c.length.Seconds()), call,
		figure.Seconds(sum/n), len(beats), figure.Interval(slices.Min(spent), slices.Max(spent), figure.Seconds))
}

// beatsOf returns the beats and their distance in buckets; nil if they do not repeat. A busy bucket at either
// end is no beat: its time may have begun or ended elsewhere.
func beatsOf(each []float64) (beats []beat, every float64) {
	quiet, rest := quietBelow*slices.Max(each), 0.0
	for i := 0; i < len(each); i++ {
		from := i
		for i < len(each) && each[i] > quiet {
			i++
		}
		if from == i {
			rest += each[i]
			continue
		}
		b := beat{wide: i - from}
		for k := max(from-1, 0); k <= min(i, len(each)-1); k++ { // with the parts that reach into the quiet buckets beside it
			b.spent += each[k]
			b.at += each[k] * (float64(k) + 0.5)
		}
		b.at /= b.spent
		if from > 0 {
			rest -= each[from-1]
		}
		if from > 0 && i < len(each) {
			beats = append(beats, b)
		}
	}
	n := len(beats)
	if n < leastBeats {
		return nil, 0
	}
	every = (beats[n-1].at - beats[0].at) / float64(n-1)
	first, last, least, sum := beats[0].at-float64(beats[0].wide), float64(len(each))-beats[n-1].at-float64(beats[n-1].wide), math.Inf(1), 0.0
	for i, b := range beats {
		if i > 0 && math.Abs(b.at-beats[i-1].at-every) > beatDoubt || float64(b.wide) > every/2 {
			return nil, 0
		}
		least, sum = min(least, b.spent), sum+b.spent
	}
	if every < leastEvery || first > every+beatDoubt || last > every+beatDoubt || rest > besides*sum || least < sum/float64(n)/2 {
		return nil, 0
	}
	return beats, every
}

// roundTime writes a time, given in seconds, with no more digits than are known: "20 min".
func roundTime(s float64) string {
	unit := 1.0
	for _, longer := range []float64{60, 3600} {
		if s >= 2*longer {
			unit = longer
		}
	}
	if s < 10*unit {
		unit /= 10
	}
	return figure.Tick(math.Round(s/unit) * unit)
}
