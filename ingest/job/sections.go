package job

import (
	"cmp"
	"slices"
)

// MainSection is the section of the whole run, from MPI_Init to MPI_Finalize. It is not in
// Execution.Sections, since it follows from Execution.Nodes.
const MainSection = "MPI_MAIN"

// SectionFigures are the figures of one section of a job (METRICS 3), s and fractions. If a
// section ran in several executions, it is weighted as the job is (METRICS 1): its elapsed
// times add up.
type SectionFigures struct {
	Label       string
	Count       uint64  // times entered, sum over ranks
	Ranks       int     // that entered it; the most of one execution
	Open        int     // ranks that ended inside it
	Elapsed     float64 // E: of its slowest rank, all instances
	ElapsedMean float64 // mean over the ranks that entered it
	Useful      float64 // sum over ranks
	MPITime     float64 // sum over ranks
	IOTime      float64 // in MPI_File_*, sum over ranks

	// Without the sections inside it, sums over ranks. Those of all sections add up to the
	// whole run.
	Own, OwnUseful, OwnMPI float64

	Efficiencies *Efficiencies // nil: it took no time
}

// Efficiencies are POP's for one section. Its region is that of the ranks that entered it.
type Efficiencies struct{ Parallel, LoadBalance, Communication float64 }

// sectionShare is a SectionFigures in the making.
type sectionShare struct {
	SectionFigures
	span, usefulMax float64 // sums over executions of ranks times E, and times max U
}

func (s *sectionShare) add(b *Section) {
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
	s.span += ranks * b.ElapsedMax.Seconds()
	s.usefulMax += ranks * b.UsefulMax.Seconds()
}

func (s *sectionShare) figures() SectionFigures {
	out := s.SectionFigures
	if s.span > 0 {
		out.Efficiencies = &Efficiencies{Parallel: s.Useful / s.span,
			LoadBalance: fraction(s.Useful, s.usefulMax), Communication: s.usefulMax / s.span}
	}
	return out
}

// JobSections are the figures of all sections of executions, at most mostLabels. MPI_MAIN comes
// first, then the section with the most time of all ranks. None if no execution has a region.
func JobSections(executions []Execution) []SectionFigures {
	byLabel := map[string]*sectionShare{}
	add := func(b *Section) {
		if byLabel[b.Label] == nil {
			byLabel[b.Label] = &sectionShare{SectionFigures: SectionFigures{Label: b.Label}}
		}
		byLabel[b.Label].add(b)
	}
	for i := range executions {
		e := &executions[i]
		for j := range e.Sections {
			add(&e.Sections[j])
		}
		if whole := mainSection(e); whole.Elapsed > 0 {
			add(&whole)
		}
	}
	out := make([]SectionFigures, 0, len(byLabel))
	for _, s := range byLabel {
		out = append(out, s.figures())
	}
	slices.SortFunc(out, func(a, b SectionFigures) int {
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
			Useful: n.Useful, UsefulMax: n.UsefulMax, MPI: n.MPI, IO: n.IO, Own: n.ElapsedSum, OwnUseful: n.Useful, OwnMPI: n.MPI})
	}
	for i := range e.Sections {
		in := &e.Sections[i]
		s.Own = max(s.Own-in.Own, 0)
		s.OwnUseful = max(s.OwnUseful-in.OwnUseful, 0)
		s.OwnMPI = max(s.OwnMPI-in.OwnMPI, 0)
	}
	return s
}

// CutSections bounds the labels of a whole execution, as listSections does for a node.
func CutSections(e *Execution) []Warning {
	if len(e.Sections) <= MostLabels {
		return nil
	}
	sums := SectionSums{}
	for i := range e.Sections {
		sums.At(e.Sections[i].Label).Add(&e.Sections[i])
	}
	sums.Cut(MostLabels)
	e.Sections = sums.List()
	return []Warning{{Code: WarnSectionsMany, Text: WarningText[WarnSectionsMany]}}
}
