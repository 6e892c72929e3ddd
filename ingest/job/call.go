package job

import (
	"cmp"
	"math"
	"slices"
	"time"

	"jobeff/preload/record"
)

// Call is one MPI function, or one class of them, summed over ranks.
type Call struct {
	Name     string        `json:"name"` // C name
	Count    uint64        `json:"count"`
	Time     time.Duration `json:"time_ns"`
	Sent     uint64        `json:"sent"`     // bytes
	Received uint64        `json:"received"` // bytes
	Largest  uint64        `json:"largest"`  // bytes
}

// Section is one section of the program, by label, summed over the ranks that entered it
// (METRICS 3).
type Section struct {
	Label      string        `json:"label"`
	Ranks      int           `json:"ranks"`          // that entered it
	Open       int           `json:"open,omitempty"` // … and that ended inside it
	Count      uint64        `json:"count"`          // times entered
	Elapsed    time.Duration `json:"elapsed_ns"`     // sum over ranks, from enter to exit
	ElapsedMax time.Duration `json:"elapsed_max_ns"`
	Useful     time.Duration `json:"useful_ns"`
	UsefulMax  time.Duration `json:"useful_max_ns"`
	MPI        time.Duration `json:"mpi_ns,omitempty"`
	IO         time.Duration `json:"io_ns,omitempty"` // in MPI_File_*
	// The same without the sections inside it.
	Own       time.Duration `json:"own_ns,omitempty"`
	OwnUseful time.Duration `json:"own_useful_ns,omitempty"`
	OwnMPI    time.Duration `json:"own_mpi_ns,omitempty"`

	Instances *Instances `json:"instances,omitempty"` // nil: not known
	// Threads is what its ranks did with OpenMP; nil: none of them used it. Its UsefulMax covers
	// only the ranks in its Busiest.
	Threads *ThreadShare `json:"openmp,omitempty"`
}

// Add adds b to c. Sums stop at the largest number and do not wrap around. So they stay
// associative, whatever a hostile record says.
func (c *Call) Add(b Call) {
	c.Count = AddCount(c.Count, b.Count)
	c.Time = AddTime(c.Time, b.Time)
	c.Sent = AddCount(c.Sent, b.Sent)
	c.Received = AddCount(c.Received, b.Received)
	c.Largest = max(c.Largest, b.Largest)
}

// SortCalls sorts calls by time, the longest first.
func SortCalls(calls []Call) {
	slices.SortFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
}

// SectionSums sums up sections by label.
type SectionSums map[string]*Section

// At returns the sum of a label, and makes it if there is none.
func (s SectionSums) At(label string) *Section {
	if s[label] == nil {
		s[label] = &Section{Label: label}
	}
	return s[label]
}

// Add adds b, the section of other ranks, to s.
func (s *Section) Add(b *Section) {
	s.joinInstances(b)
	if s.Threads != nil || b.Threads != nil {
		all, more := s.threads(), b.threads()
		all.Add(&more)
		s.Threads = &all
	}
	s.Ranks = min(s.Ranks, math.MaxInt-b.Ranks) + b.Ranks
	s.Count = AddCount(s.Count, b.Count)
	s.Elapsed = AddTime(s.Elapsed, b.Elapsed)
	s.ElapsedMax = max(s.ElapsedMax, b.ElapsedMax)
	s.Useful = AddTime(s.Useful, b.Useful)
	s.UsefulMax = max(s.UsefulMax, b.UsefulMax)
	s.MPI = AddTime(s.MPI, b.MPI)
	s.IO = AddTime(s.IO, b.IO)
	s.Own = AddTime(s.Own, b.Own)
	s.OwnUseful = AddTime(s.OwnUseful, b.OwnUseful)
	s.OwnMPI = AddTime(s.OwnMPI, b.OwnMPI)
	s.Open = min(s.Open, math.MaxInt-b.Open) + b.Open
}

// threads is what the threads of the section's ranks did; ranks without OpenMP have one each.
func (s *Section) threads() ThreadShare {
	if s.Threads != nil {
		return *s.Threads
	}
	return ThreadShare{Threads: s.Ranks, ThreadsMax: min(s.Ranks, 1), Useful: s.Useful, UsefulMax: s.UsefulMax, Busiest: s.Ranks, MPI: s.MPI, IO: s.IO}
}

// joinInstances joins the instances of other ranks. If those of some ranks are nil, so are those of
// all. A section without ranks is a sum that has just begun.
func (s *Section) joinInstances(b *Section) {
	switch {
	case b.Ranks == 0:
	case s.Ranks == 0:
		s.Instances = b.Instances
	case s.Instances == nil || b.Instances == nil:
		s.Instances = nil
	default:
		s.Instances = s.Instances.with(b.Instances, s.Ranks, b.Ranks)
	}
}

// List lists all of them, the longest first.
func (s SectionSums) List() []Section {
	var out []Section
	for _, one := range s {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Section) int {
		return cmp.Or(cmp.Compare(b.Elapsed, a.Elapsed), cmp.Compare(a.Label, b.Label))
	})
	return out
}

// Cut moves the shortest sections into OtherSections if there are too many.
func (s SectionSums) Cut(most int) {
	if len(s) <= most {
		return
	}
	others := Section{Label: record.OtherSections}
	for _, one := range s.List()[most-1:] {
		if one.Label != others.Label {
			others.addLabel(&one)
			delete(s, one.Label)
		}
	}
	s.At(others.Label).addLabel(&others)
}

// addLabel adds b, of the same ranks, to s: the extremes become bounds.
func (s *Section) addLabel(b *Section) {
	ranks, open := max(s.Ranks, b.Ranks), max(s.Open, b.Open)
	elapsed, useful := AddTime(s.ElapsedMax, b.ElapsedMax), AddTime(s.UsefulMax, b.UsefulMax)
	s.Add(b)
	s.Instances, s.Threads = nil, nil
	s.Ranks, s.Open, s.ElapsedMax, s.UsefulMax = ranks, open, elapsed, useful
}

// CallSums sums up lists of calls, by name.
type CallSums map[string]*Call

// Add adds a list.
func (c CallSums) Add(list []Call) {
	for _, f := range list {
		if c[f.Name] == nil {
			c[f.Name] = &Call{Name: f.Name}
		}
		c[f.Name].Add(f)
	}
}

// List lists all of them, the longest first.
func (c CallSums) List() []Call {
	var out []Call
	for _, f := range c {
		out = append(out, *f)
	}
	SortCalls(out)
	return out
}

// SumCalls sums up a list of calls over executions, the longest first.
func SumCalls(executions []Execution, list func(*Execution) []Call) []Call {
	sums := CallSums{}
	for i := range executions {
		sums.Add(list(&executions[i]))
	}
	return sums.List()
}

// AddHist adds two histograms, bin by bin.
func AddHist(a, b []uint64) []uint64 {
	out := make([]uint64, max(len(a), len(b)))
	copy(out, a)
	for i, n := range b {
		out[i] = AddCount(out[i], n)
	}
	return out
}

// Slowest keeps the SlowestKept ranks with the most useful time. The order is total, so the
// order of merging makes no difference.
func Slowest(ranks []Rank) []Rank {
	slices.SortFunc(ranks, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(b.Useful, a.Useful), cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID))
	})
	return slices.Clip(ranks[:min(len(ranks), SlowestKept)])
}
