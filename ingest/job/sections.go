package job

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// MainSection is the section of the whole run, from MPI_Init to MPI_Finalize. It is not in
// Execution.Sections, since it follows from Execution.Nodes.
const MainSection = "MPI_MAIN"

// JobSections are the figures of all sections of executions: MPI_MAIN first, then at most MostLabels
// others, the one with the most time of all ranks first. None if no execution has a region.
func JobSections(executions []Execution) []SectionFigures {
	totals := SectionTotals{}
	for i := range executions {
		totals.AddOf(&executions[i])
	}
	all := totals.List()
	out := make([]SectionFigures, 0, len(all))
	for i := range all {
		out = append(out, all[i].figures())
	}
	return out
}

// SectionTotals are the sections of executions, by label.
type SectionTotals map[string]*SectionSum

// AddOf adds the sections of an execution.
func (t SectionTotals) AddOf(e *Execution) {
	at := func(label string) *SectionSum {
		if t[label] == nil {
			t[label] = &SectionSum{SectionFigures: SectionFigures{Label: label}}
		}
		return t[label]
	}
	if e.Folded != nil {
		for i := range e.Folded.Sections {
			at(e.Folded.Sections[i].Label).join(&e.Folded.Sections[i])
		}
		return
	}
	for j := range e.Sections {
		at(e.Sections[j].Label).add(e, &e.Sections[j])
	}
	if whole := mainSection(e); whole.Elapsed > 0 {
		at(whole.Label).add(e, &whole)
	}
}

// List sorts sections and keeps the first MostLabels and MPI_MAIN.
func (t SectionTotals) List() []SectionSum {
	var out []SectionSum
	for _, s := range t {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b SectionSum) int {
		return cmp.Or(boolOrder(a.Label == MainSection, b.Label == MainSection),
			cmp.Compare(b.ElapsedMean*float64(b.Ranks), a.ElapsedMean*float64(a.Ranks)), cmp.Compare(a.Label, b.Label))
	})
	return out[:min(len(out), MostLabels+1)]
}

// boolOrder sorts true first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// mainSection is the whole run of an execution, as a section.
func mainSection(e *Execution) Section {
	s := Section{Label: MainSection}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		s.Add(&Section{Ranks: n.Ranks, Count: uint64(n.Ranks), Elapsed: n.ElapsedSum, ElapsedMax: n.ElapsedMax,
			Useful: n.Useful, UsefulMax: n.UsefulMax, MPI: n.MPI, IO: n.IO, Own: n.ElapsedSum, OwnUseful: n.Useful, OwnMPI: n.MPI, Threads: n.mainThreads(), Instances: n.mainInstances()})
	}
	for i := range e.Sections {
		in := &e.Sections[i]
		s.Own = max(s.Own-in.Own, 0)
		s.OwnUseful = max(s.OwnUseful-in.OwnUseful, 0)
		s.OwnMPI = max(s.OwnMPI-in.OwnMPI, 0)
	}
	return s
}

// mainThreads is Threads in the form of a section's; nil: no rank used OpenMP.
func (n *NodeShare) mainThreads() *ThreadShare {
	if n.Threads == nil {
		return nil
	}
	t := *n.Threads
	t.Busiest = n.Ranks
	return &t
}

// mainInstances are those of MPI_MAIN; nil: not known.
func (n *NodeShare) mainInstances() *Instances {
	if n.Run == nil {
		return nil
	}
	return &Instances{Least: 1, Most: 1, Kept: []Instance{*n.Run}}
}

// add adds a section of an execution.
func (s *SectionSum) add(e *Execution, b *Section) {
	ranks := float64(b.Ranks)
	s.Count = AddCount(s.Count, b.Count)
	s.Ranks = max(s.Ranks, b.Ranks)
	s.Open += b.Open
	s.Elapsed += b.ElapsedMax.Seconds()
	s.ElapsedMean += b.Elapsed.Seconds() / max(ranks, 1)
	s.Useful += b.Useful.Seconds()
	s.MPITime += b.MPI.Seconds()
	s.IOTime += b.IO.Seconds()
	s.Own += b.Own.Seconds()
	s.OwnUseful += b.OwnUseful.Seconds()
	s.OwnMPI += b.OwnMPI.Seconds()
	s.Span += ranks * b.ElapsedMax.Seconds()
	s.UsefulMax += ranks * b.UsefulMax.Seconds()
	s.addImbalances(b.imbalancesIn(e))
	s.addThreads(b)
}

func (s *SectionSum) addImbalances(b Imbalances) {
	s.Imbalances.count(b)
	s.Imbalances.Sum += b.Sum
	s.Imbalances.EntryMean += b.EntryMean
	s.Imbalances.EntryVariance += b.EntryVariance
}

func (s *SectionSum) addThreads(b *Section) {
	t, h := b.threads(), &s.Threads
	s.Threaded = s.Threaded || b.Threads != nil
	s.ThreadsUnknown = s.ThreadsUnknown || t.Why != ""
	h.Threads = max(h.Threads, t.Threads)
	span := float64(t.Threads) * b.ElapsedMax.Seconds()
	h.Span += span
	if t.Busiest == b.Ranks {
		s.Busiest += span
		s.ThreadUsefulMax += float64(t.Threads) * t.UsefulMax.Seconds()
	}
	for i, sum := range []*float64{&h.Useful, &h.MPITime, &h.IOTime, &h.Imbalance, &h.Scheduling, &h.Serial} {
		*sum += t.times()[i].Seconds()
	}
}

func (s *SectionSum) figures() SectionFigures {
	out := s.SectionFigures
	if s.Span > 0 {
		mpi := Efficiencies{Parallel: s.Useful / s.Span, LoadBalance: fraction(s.Useful, s.UsefulMax), Communication: s.UsefulMax / s.Span}
		out.Metrics = &Metrics{Efficiencies: mpi, MPI: mpi}
	}
	if h := s.Threads; out.Metrics != nil && s.Threaded && !s.ThreadsUnknown && h.Span > 0 {
		out.Metrics.Hybrid, out.Metrics.Efficiencies = &h, Efficiencies{Parallel: h.Useful / h.Span}
		if out.BusiestThread = s.Busiest == h.Span; out.BusiestThread {
			out.Metrics.Communication = s.ThreadUsefulMax / h.Span
			out.Metrics.Balanced()
		}
	}
	m := &s.Imbalances
	out.Instances, out.Imbalance = m.Sampled, meanOf(m.Sum, m.Known)
	out.EntryImbalanceMean, out.EntryImbalanceVariance = meanOf(m.EntryMean, m.Entries), meanOf(m.EntryVariance, m.Entries)
	return out
}

// join adds the sums of other executions.
func (s *SectionSum) join(b *SectionSum) {
	s.Count = AddCount(s.Count, b.Count)
	s.Ranks = max(s.Ranks, b.Ranks)
	s.Open += b.Open
	for _, sum := range s.floats(b) {
		*sum[0] += *sum[1]
	}
	s.Imbalances.count(b.Imbalances)
	s.Threaded, s.ThreadsUnknown = s.Threaded || b.Threaded, s.ThreadsUnknown || b.ThreadsUnknown
	s.Threads.Threads = max(s.Threads.Threads, b.Threads.Threads)
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

	// Metrics are its efficiencies and Hybrid only, of the ranks that entered it; nil: it took no time.
	Metrics       *Metrics `json:"-"`
	BusiestThread bool     `json:"-"` // false: with Hybrid, load balance and communication efficiency of all threads are not known

	// Of sampled instances, nil if not known (METRICS 3), s and s^2.
	Instances              int      `json:"-"` // how many were sampled
	Imbalance              *float64 `json:"-"` // mean
	EntryImbalanceMean     *float64 `json:"-"` // mean over instances and ranks
	EntryImbalanceVariance *float64 `json:"-"` // of the ranks of an instance, mean over instances
}

// SectionSum holds the sums from which SectionFigures are made. The sums of several jobs, or of
// folded executions, add up.
type SectionSum struct {
	SectionFigures
	Span      float64 `json:"span"`       // s, sum over executions of ranks times E
	UsefulMax float64 `json:"useful_max"` // s, sum over executions of ranks times max U

	Imbalances Imbalances `json:"imbalances,omitzero"`

	Threads         Hybrid  `json:"threads,omitzero"` // only the sums
	Threaded        bool    `json:"threaded,omitempty"`
	ThreadsUnknown  bool    `json:"threads_unknown,omitempty"`
	Busiest         float64 `json:"busiest,omitzero"`           // the part of Threads.Span for which ThreadUsefulMax is known
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

// clean bounds numbers from another machine, so that sums of them do not overflow.
func (s *SectionSum) clean() {
	for _, sum := range s.floats(s) {
		*sum[0] = possible(*sum[0])
	}
	s.Imbalances.count(Imbalances{})
}

// Imbalances are sums, over sampled instances, of what METRICS 3 defines for each instance.
type Imbalances struct {
	Sampled       int     `json:"sampled"`        // instances
	Known         int     `json:"known"`          // instances in Sum
	Entries       int     `json:"entries"`        // instances in EntryMean and EntryVariance
	Sum           float64 `json:"sum"`            // s, imb
	EntryMean     float64 `json:"entry_mean"`     // s, mean of imb_in over the ranks
	EntryVariance float64 `json:"entry_variance"` // s^2, its variance over the ranks
}

// count adds the numbers of instances. It bounds numbers from another machine.
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

// imbalancesIn adds up the instances of a section of e. It leaves out means that are smaller than
// ClockDoubt. It returns nothing if all ranks ended well but entered the section a different number of
// times: their instances do not belong together.
func (s *Section) imbalancesIn(e *Execution) Imbalances {
	if s.Instances == nil || len(s.Instances.Kept) == 0 || s.Instances.Least != s.Instances.Most && e.allFinalized() {
		return Imbalances{}
	}
	sum := Imbalances{Sampled: len(s.Instances.Kept)}
	ranks, n := float64(s.Ranks), float64(sum.Sampled)
	for _, i := range s.Instances.Kept {
		mean := i.Late.Seconds() / ranks
		sum.Sum += i.Early.Seconds() / ranks
		sum.EntryMean += mean
		sum.EntryVariance += max(i.Late2.seconds()/ranks-mean*mean, 0)
	}
	doubt, known := e.ClockDoubt()
	if known && sum.Sum/n >= doubt.Seconds() {
		sum.Known = sum.Sampled
	} else {
		sum.Sum = 0
	}
	if known && sum.EntryMean/n >= doubt.Seconds() {
		sum.Entries = sum.Sampled
	} else {
		sum.EntryMean, sum.EntryVariance = 0, 0
	}
	return sum
}

func (e *Execution) allFinalized() bool {
	ranks, _ := e.Ranks()
	return e.Endings[EndingFinalized] == ranks
}

// ClockDoubt bounds how far the clocks of an execution's nodes differ; false: that is not known. Nodes
// of one boot share a clock.
func (e *Execution) ClockDoubt() (time.Duration, bool) {
	known := true
	errors := map[string]time.Duration{}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		known = known && n.BootID != "" && n.ClockError > 0
		errors[n.BootID] = max(errors[n.BootID], n.ClockError)
	}
	if len(errors) <= 1 {
		return 0, len(e.Nodes) == 1 || len(errors) == 1 && e.Nodes[0].BootID != ""
	}
	var most, second time.Duration
	for _, d := range errors {
		most, second = max(most, d), max(second, min(most, d))
	}
	return AddTime(most, second), known
}
