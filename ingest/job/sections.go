package job

import (
	"cmp"
	"slices"
)

// MainSection is the section of the whole run, from MPI_Init to MPI_Finalize. It is not in
// Execution.Sections, since it follows from Execution.Nodes.
const MainSection = "MPI_MAIN"

// JobSections are the figures of all sections of executions, at most mostLabels. MPI_MAIN comes
// first, then the section with the most time of all ranks. None if no execution has a region.
func JobSections(executions []Execution) []SectionFigures {
	byLabel := map[string]*SectionSum{}
	for i := range executions {
		addSections(byLabel, &executions[i])
	}
	all := listSections(byLabel)
	out := make([]SectionFigures, 0, len(all))
	for i := range all {
		out = append(out, all[i].figures())
	}
	return out
}

// addSections adds the sections of an execution.
func addSections(byLabel map[string]*SectionSum, e *Execution) {
	at := func(label string) *SectionSum {
		if byLabel[label] == nil {
			byLabel[label] = &SectionSum{SectionFigures: SectionFigures{Label: label}}
		}
		return byLabel[label]
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

// listSections sorts sections and keeps the first MostLabels and MPI_MAIN.
func listSections(byLabel map[string]*SectionSum) []SectionSum {
	var out []SectionSum
	for _, s := range byLabel {
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

// mainThreads are Threads as those of a section; nil: no rank used OpenMP.
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
		out.Efficiencies = &Efficiencies{Parallel: s.Useful / s.Span,
			LoadBalance: fraction(s.Useful, s.UsefulMax), Communication: s.UsefulMax / s.Span}
	}
	if h := s.Threads; s.Threaded && !s.ThreadsUnknown && h.Span > 0 {
		h.ParallelEfficiency = h.Useful / h.Span
		if out.BusiestThread = s.Busiest == h.Span; out.BusiestThread {
			h.CommunicationEfficiency = s.ThreadUsefulMax / h.Span
			h.Complete()
		}
		out.Hybrid = &h
	}
	m := &s.Imbalances
	out.Instances, out.Imbalance = m.Sampled, meanOf(m.Sum, m.Known)
	out.EntryImbalanceMean, out.EntryImbalanceVariance = meanOf(m.EntryMean, m.Entries), meanOf(m.EntryVariance, m.Entries)
	return out
}

// Metrics are the figures of ranks and threads of a section that took time.
func (s *SectionFigures) Metrics() *Metrics {
	e := s.Efficiencies
	return &Metrics{ParallelEfficiency: e.Parallel, LoadBalance: e.LoadBalance, CommunicationEfficiency: e.Communication, Hybrid: s.Hybrid}
}

// join adds what other executions came to.
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
