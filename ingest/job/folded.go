package job

import (
	"math"
	"time"
)

// Folded is what several executions of one program come to. The figures of the whole job do not
// change by it (METRICS 1): the sums over executions that they need stand here. Sums that are
// simple ones over ranks stand in the Execution itself.
type Folded struct {
	Count     int           `json:"count"`      // executions
	Sizes     int           `json:"sizes"`      // sum of their sizes
	Ranks     int           `json:"ranks"`      // recorded, most of one execution
	Elapsed   time.Duration `json:"elapsed_ns"` // sum of E_x
	Span      float64       `json:"span"`       // s, sum of n_x E_x
	UsefulMax float64       `json:"useful_max"` // s, sum of n_x max U_i
	MeanMax   float64       `json:"mean_max"`   // s, sum of n_x times the mean U_i of the node with the highest
	// Of all threads: those of the largest execution, sum of threads x E_x, and of threads x max u.
	Threads         int     `json:"threads,omitempty"`
	ThreadSpan      float64 `json:"thread_span,omitempty"`
	ThreadUsefulMax float64 `json:"thread_useful_max,omitempty"`
	// Spans are the times in which at least one of them ran: the gap since the one before (since
	// Execution.Start), its length, and so on.
	Spans    []time.Duration `json:"spans_ns"`
	Sections []SectionSum    `json:"sections,omitempty"` // with MPI_MAIN
}

// clean makes numbers from another machine possible ones.
func (f *Folded) clean() {
	f.Count = max(f.Count, 1)
	for _, v := range []*float64{&f.Span, &f.UsefulMax, &f.MeanMax, &f.ThreadSpan, &f.ThreadUsefulMax} {
		*v = possible(*v)
	}
	f.Sections = f.Sections[:min(len(f.Sections), MostLabels+1)]
	for i := range f.Sections {
		f.Sections[i].clean()
	}
}

// SectionFigures are the figures of one section of a job (METRICS 3), s and fractions. If a
// section ran in several executions, it is weighted as the job is (METRICS 1): its elapsed
// times add up.
type SectionFigures struct {
	Label       string  `json:"label"`
	Count       uint64  `json:"count"`            // times entered, sum over ranks
	Ranks       int     `json:"ranks"`            // that entered it; the most of one execution
	Open        int     `json:"open,omitempty"`   // ranks that ended inside it
	Elapsed     float64 `json:"elapsed"`          // E: of its slowest rank, all instances
	ElapsedMean float64 `json:"elapsed_mean"`     // mean over the ranks that entered it
	Useful      float64 `json:"useful"`           // sum over ranks
	MPITime     float64 `json:"mpi_time"`         // sum over ranks
	IOTime      float64 `json:"io_time,omitzero"` // in MPI_File_*, sum over ranks

	// Without the sections inside it, sums over ranks. Those of all sections add up to the
	// whole run.
	Own       float64 `json:"own"`
	OwnUseful float64 `json:"own_useful"`
	OwnMPI    float64 `json:"own_mpi"`

	Efficiencies *Efficiencies `json:"-"` // nil: it took no time

	// Of sampled instances, nil where not known (METRICS 3), s and s^2.
	Instances              int      `json:"-"` // how many were sampled
	Imbalance              *float64 `json:"-"` // mean
	EntryImbalanceMean     *float64 `json:"-"` // mean over instances and ranks
	EntryImbalanceVariance *float64 `json:"-"` // of the ranks of an instance, mean over instances

	Hybrid        *Hybrid `json:"-"` // of all threads; nil: one thread per rank, or not known
	BusiestThread bool    `json:"-"` // Hybrid has load balance and communication efficiency
}

// Efficiencies are POP's for one section. Its region is that of the ranks that entered it.
type Efficiencies struct{ Parallel, LoadBalance, Communication float64 }

// SectionSum is a SectionFigures in the making. Those of several jobs or of folded executions add
// up.
type SectionSum struct {
	SectionFigures
	Span      float64 `json:"span"`       // s, sum over executions of ranks times E
	UsefulMax float64 `json:"useful_max"` // s, sum over executions of ranks times max U

	Imbalances Imbalances `json:"imbalances,omitzero"`

	Threads         Hybrid  `json:"threads,omitzero"` // only the sums
	Threaded        bool    `json:"threaded,omitempty"`
	ThreadsUnknown  bool    `json:"threads_unknown,omitempty"`
	Busiest         float64 `json:"busiest,omitzero"`           // the part of Threads.Span of which ThreadUsefulMax is known
	ThreadUsefulMax float64 `json:"thread_useful_max,omitzero"` // s, sum over executions of threads times max u
}

// floats pairs the sums of s and b.
func (s *SectionSum) floats(b *SectionSum) [][2]*float64 {
	return [][2]*float64{{&s.Elapsed, &b.Elapsed}, {&s.ElapsedMean, &b.ElapsedMean}, {&s.Useful, &b.Useful}, {&s.MPITime, &b.MPITime},
		{&s.IOTime, &b.IOTime}, {&s.Own, &b.Own}, {&s.OwnUseful, &b.OwnUseful}, {&s.OwnMPI, &b.OwnMPI}, {&s.Span, &b.Span}, {&s.UsefulMax, &b.UsefulMax},
		{&s.Imbalances.Sum, &b.Imbalances.Sum}, {&s.Imbalances.EntryMean, &b.Imbalances.EntryMean},
		{&s.Imbalances.EntryVariance, &b.Imbalances.EntryVariance},
		{&s.Threads.Span, &b.Threads.Span}, {&s.Threads.Useful, &b.Threads.Useful}, {&s.Threads.MPITime, &b.Threads.MPITime},
		{&s.Threads.IOTime, &b.Threads.IOTime}, {&s.Threads.Imbalance, &b.Threads.Imbalance}, {&s.Threads.Scheduling, &b.Threads.Scheduling},
		{&s.Threads.Serial, &b.Threads.Serial}, {&s.Busiest, &b.Busiest}, {&s.ThreadUsefulMax, &b.ThreadUsefulMax}}
}

// clean makes numbers from another machine possible ones.
func (s *SectionSum) clean() {
	for _, sum := range s.floats(s) {
		*sum[0] = possible(*sum[0])
	}
	s.Imbalances.count(Imbalances{})
}

// Imbalances are sums over sampled instances of what METRICS 3 tells of each.
type Imbalances struct {
	Sampled       int     `json:"sampled"`        // instances
	Known         int     `json:"known"`          // instances in Sum
	Entries       int     `json:"entries"`        // instances in EntryMean and EntryVariance
	Sum           float64 `json:"sum"`            // s, imb
	EntryMean     float64 `json:"entry_mean"`     // s, mean of imb_in over the ranks
	EntryVariance float64 `json:"entry_variance"` // s^2, its variance over the ranks
}

// count adds the numbers of instances. Numbers from another machine become possible ones.
func (i *Imbalances) count(b Imbalances) {
	for _, n := range [][2]*int{{&i.Sampled, &b.Sampled}, {&i.Known, &b.Known}, {&i.Entries, &b.Entries}} {
		*n[0] = min(max(*n[0], 0)+max(*n[1], 0), math.MaxInt32)
	}
}

// meanOf is the mean of n numbers; nil for none.
func meanOf(sum float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}
