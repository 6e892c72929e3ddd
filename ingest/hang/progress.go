// Package hang finds jobs in which nothing has moved for long. All nodes of a job look at the same
// moments how far its processes have come. Before it stand ingest/slurmid and ingest/when; a node
// notes its progress in a report, the store keeps since when a node stands still, and a merge asks
// Find.
package hang

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"jobeff/ingest/slurmid"
	"jobeff/ingest/when"
)

// Progress is how far the processes of a job on one node had come at a moment at which all nodes look. Two
// equal ones show that nothing moved between them, even if others in between were lost.
type Progress struct {
	Moment time.Time     `json:"moment"`             // a multiple of report.interim
	Every  time.Duration `json:"every_ns,omitempty"` // the node's report.interim; 0: an older node
	At     time.Time     `json:"at"`                 // when the node looked at its processes
	AtMS   int64         `json:"at_ms"`              // likewise, by a clock that nobody sets
	Read   time.Time     `json:"read"`               // when it had read the record, maybe much later
	ReadMS int64         `json:"read_ms"`
	Mark   string        `json:"mark"`             // a hash of all that changes when the job moves: calls, also open ones, and which processes and threads there are
	CPU    time.Duration `json:"cpu_ns"`           // of all threads, outside MPI
	Bytes  uint64        `json:"bytes"`            // read and written
	Doubts []string      `json:"doubts,omitempty"` // why nothing can be said; codes, see the constants
	Calls  []OpenCalls   `json:"calls,omitempty"`  // what the ranks that run are in, most ranks first
}

// Why it is not known whether processes move.
const (
	DoubtChanging = "changing" // a rank changed its sums while they were read
	DoubtStopped  = "stopped"  // by a signal, or by a tracer
	DoubtFrozen   = "frozen"   // with its cgroup
	DoubtGPU      = "gpu"      // one that is not in MPI has a GPU open
	DoubtUnread   = "unread"   // the kernel did not show a process
	DoubtLost     = "lost"     // processes have no slot in the record
	DoubtMany     = "many"     // more different calls than MostOpenCalls
)

// OpenCalls lists the ranks of an execution that are in one function.
type OpenCalls struct {
	Execution string    `json:"execution,omitempty"` // its key; "": MPI_Init has not told
	Size      int       `json:"size"`                // of its MPI_COMM_WORLD
	Function  string    `json:"function"`            // or OutsideMPI, or RankEnded
	Ranks     string    `json:"ranks"`               // "0-3,8"
	Count     int       `json:"count"`               // of them
	Since     time.Time `json:"since,omitzero"`      // when the first one entered it, or left its last call; zero: not known
	Until     time.Time `json:"until,omitzero"`      // … and the last one
	Some      []RankNow `json:"some,omitempty"`      // those with the lowest numbers
}

// OpenCalls.Function of ranks that are in no MPI function.
const (
	OutsideMPI = "outside MPI"
	RankEnded  = "ended"
)

// RankNow is one rank that runs.
type RankNow struct {
	Rank  int    `json:"rank"`
	Node  string `json:"node"`
	PID   int    `json:"pid"`
	State string `json:"state,omitempty"` // the kernel's letter: R runs, S sleeps, D waits for a device or a file system
}

// Bounds of a Progress, and of a Hung.
const (
	MostOpenCalls = 32
	MostSome      = 4
	mostNames     = 200 // bytes of Ranks in a Hung
)

// JoinCalls joins OpenCalls by execution and function, most ranks first. Their order makes no difference.
func JoinCalls(all []OpenCalls) []OpenCalls {
	type key struct{ execution, function string }
	joined, ranks := map[key]*OpenCalls{}, map[key][]slurmid.Range{}
	for _, c := range all {
		k := key{c.Execution, c.Function}
		if joined[k] == nil {
			joined[k] = &OpenCalls{Execution: c.Execution, Function: c.Function}
		}
		sum := joined[k]
		sum.Size, sum.Count = max(sum.Size, c.Size), sum.Count+c.Count
		sum.Since, sum.Until = when.First(sum.Since, c.Since), when.Last(sum.Until, c.Until)
		sum.Some = append(sum.Some, c.Some...)
		slurmid.EachRange(c.Ranks, func(lo, hi int) { ranks[k] = append(ranks[k], slurmid.Range{First: lo, Last: hi}) })
	}
	var out []OpenCalls
	for k, sum := range joined {
		sum.Ranks = slurmid.RangesText(slurmid.JoinRanges(ranks[k]))
		slices.SortFunc(sum.Some, func(a, b RankNow) int {
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID))
		})
		sum.Some = sum.Some[:min(len(sum.Some), MostSome)]
		out = append(out, *sum)
	}
	slices.SortFunc(out, func(a, b OpenCalls) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.Function, b.Function))
	})
	return out
}

// inMPI reports whether the ranks are in an MPI function.
func (c *OpenCalls) inMPI() bool { return c.Function != OutsideMPI && c.Function != RankEnded }

// Still says since when nothing has moved on a node, by its reports. The server stores it with the node's
// last report.
type Still struct {
	Since    time.Time     `json:"since"`    // Progress.Read of the first report that is like the last one
	SinceMS  int64         `json:"since_ms"` // … ReadMS
	At       time.Time     `json:"at"`       // of the last report, as the fields below
	AtMS     int64         `json:"at_ms"`
	Moment   time.Time     `json:"moment"`
	Before   time.Time     `json:"before"` // Moment of the report before it; zero: there was none
	Sequence int           `json:"sequence"`
	Mark     string        `json:"mark"`
	CPU      time.Duration `json:"cpu_ns"`
	Bytes    uint64        `json:"bytes"`
	Doubted  bool          `json:"doubted,omitempty"`
	Calls    []OpenCalls   `json:"calls,omitempty"` // stored here, since the node's final report, after the job's end, has none
}

// All processes of a job on a node count as standing still while they use, together, at most
// idleShare of one core. Between two looks they may use idleLeast in any case: launchers and helper
// threads of MPI libraries look around now and then. A program that looks for a file ten times a
// second needs more.
const (
	idleShare = 5e-5
	idleLeast = 10 * time.Millisecond
)

// Look is what a report says about whether its node stands still.
type Look struct {
	Sequence int       // of the report
	Last     bool      // the job has ended on its node
	Progress *Progress // nil: the report says nothing
	Still    *Still    // the node's Still once this report is counted
}

// Then returns the node's Still after a further look; nil: the look says nothing. A look that was
// counted before, or comes late, changes nothing, and neither does the job's end.
func (s *Still) Then(l Look) *Still {
	p := l.Progress
	if s != nil && l.Sequence <= s.Sequence {
		return s
	}
	switch {
	case p == nil && l.Last && s != nil:
		last := *s
		last.Sequence = l.Sequence
		return &last
	case p == nil:
		return nil
	}
	next := &Still{Since: p.Read, SinceMS: p.ReadMS, At: p.At, AtMS: p.AtMS, Moment: p.Moment, Sequence: l.Sequence, Mark: p.Mark, CPU: p.CPU, Bytes: p.Bytes, Doubted: len(p.Doubts) > 0, Calls: p.Calls}
	if s != nil {
		next.Before = s.Moment
	}
	if s == nil || s.Doubted || next.Doubted || s.Mark != next.Mark || s.Bytes != next.Bytes {
		return next
	}
	idle := time.Duration(idleShare * float64(span(s.At, next.At, s.AtMS, next.AtMS)))
	if grown := next.CPU - s.CPU; grown < 0 || grown > max(idle, idleLeast) {
		return next
	}
	next.Since, next.SinceMS = s.Since, s.SinceMS
	return next
}

// Text is the form in which the store keeps it; "" for nil.
func (s *Still) Text() string {
	if s == nil {
		return ""
	}
	text, _ := json.Marshal(s) // cannot fail
	return string(text)
}

// ReadStill reads what Text wrote.
func ReadStill(text string) (*Still, error) {
	if text == "" {
		return nil, nil
	}
	s := new(Still)
	return s, json.Unmarshal([]byte(text), s)
}

// span is the time between two looks, by the clock that shows less: somebody may have set the other.
func span(from, to time.Time, fromMS, toMS int64) time.Duration {
	return max(min(to.Sub(from), time.Duration(toMS-fromMS)*time.Millisecond), 0)
}

// Hung says that nothing of a job has moved for long.
type Hung struct {
	Since time.Time   `json:"since"`
	AsOf  time.Time   `json:"as_of"`
	Calls []OpenCalls `json:"calls"` // what the ranks are in, most ranks first
	// Odd are some of the ranks that are not where most of their execution's ranks wait.
	Odd []RankNow `json:"odd,omitempty"`
}

// Find reports whether a job hangs, from the last report of each of its nodes, or whether it did when
// its nodes last reported before its end; nil: it does not, or nothing can be said.
//
// It needs all nodes' reports of one moment, and at least one rank that waits for others in MPI. A
// program whose ranks are all outside may wait for a person, a file or a service. Nodes that have
// already reported the next moment stand still beyond this one.
func Find(all []Look, nodes int, after time.Duration) *Hung {
	if after <= 0 || nodes == 0 || len(all) != nodes {
		return nil
	}
	h, moment := new(Hung), time.Time{}
	waits := false
	for _, l := range all {
		s := l.Still
		if s == nil || s.Doubted || s.Sequence != l.Sequence || span(s.Since, s.At, s.SinceMS, s.AtMS) < after {
			return nil
		}
		moment, h.AsOf, h.Since = when.First(moment, s.Moment), when.First(h.AsOf, s.At), when.Last(h.Since, s.Since)
		h.Calls = append(h.Calls, s.Calls...)
		waits = waits || slices.ContainsFunc(s.Calls, func(c OpenCalls) bool { return c.inMPI() && c.Size != 1 })
	}
	lacks := func(l Look) bool { return !l.Still.Moment.Equal(moment) && !l.Still.Before.Equal(moment) }
	if !waits || h.AsOf.Sub(h.Since) < after || slices.ContainsFunc(all, lacks) {
		return nil
	}
	h.Calls = JoinCalls(h.Calls)
	runs := map[string]bool{}
	for _, c := range h.Calls {
		runs[c.Execution] = runs[c.Execution] || c.Function != RankEnded
	}
	h.Calls = slices.DeleteFunc(h.Calls, func(c OpenCalls) bool { return !runs[c.Execution] })
	for _, c := range h.OddCalls() {
		h.Odd = append(h.Odd, c.Some...)
	}
	h.Calls = h.Calls[:min(len(h.Calls), MostOpenCalls)]
	for i := range h.Calls {
		if c := &h.Calls[i]; len(c.Ranks) > mostNames {
			c.Ranks = c.Ranks[:strings.LastIndexByte(c.Ranks[:mostNames], ',')+1] + "…"
		}
	}
	return h
}

// OddCalls returns the calls of the ranks that are not where most of their execution's ranks are. It
// returns none unless more than half of these are in one MPI call.
func (h *Hung) OddCalls() (odd []OpenCalls) {
	most := map[string]*OpenCalls{}
	all := map[string]int{}
	for i := range h.Calls {
		c := &h.Calls[i]
		if all[c.Execution] += c.Count; c.inMPI() && (most[c.Execution] == nil || most[c.Execution].Count < c.Count) {
			most[c.Execution] = c
		}
	}
	maps.DeleteFunc(most, func(execution string, c *OpenCalls) bool { return 2*c.Count <= all[execution] })
	for i := range h.Calls {
		if c := &h.Calls[i]; most[c.Execution] != nil && most[c.Execution] != c {
			odd = append(odd, *c)
		}
	}
	return odd
}
