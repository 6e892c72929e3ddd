package ingest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"jobeff/preload/record"
)

const (
	// mostLabels bounds Execution.Sections: what one rank can have, and (other sections).
	// Labels may hold a rank's number.
	mostLabels = 10_001
	// mostSections bounds the rows in all Execution.Sections of a report.
	mostSections = 40_000
)

// sectionSlots are the slots of sections of a record, by the index of the process's slot.
type sectionSlots map[int][]*record.Sections

func (s sectionSlots) add(slot *record.Slot) {
	s[slot.Parent] = append(s[slot.Parent], slot.Sections)
}

// of are the slots of process p in their order, those of an earlier process of the same
// slot left out. What follows a gap is lost with it.
func (s sectionSlots) of(p *process) []*record.Sections {
	var own []*record.Sections
	for _, slot := range s[p.slot.Index] {
		if slot.Init == p.slot.InitEnter && slot.PID == p.slot.PID {
			own = append(own, slot)
		}
	}
	slices.SortStableFunc(own, func(a, b *record.Sections) int { return cmp.Compare(a.Order, b.Order) })
	for i := range own {
		if own[i].Order != i {
			return own[:i]
		}
	}
	return own
}

// signOfLife notes that a process that died computing was alive at its last section.
func (s sectionSlots) signOfLife(p *process, now uint64) {
	if own := s.of(p); len(own) > 0 {
		p.lastSign = max(p.lastSign, p.when(own[0].Last, p.claimed, now))
	}
}

// sectionTime is time in a section and what of it is in MPI and in MPI's files.
type sectionTime struct{ all, mpi, io time.Duration }

func (t sectionTime) plus(b sectionTime) sectionTime {
	return sectionTime{addTime(t.all, b.all), addTime(t.mpi, b.mpi), addTime(t.io, b.io)}
}

func (t sectionTime) minus(b sectionTime) sectionTime {
	return sectionTime{max(t.all-b.all, 0), max(t.mpi-b.mpi, 0), max(t.io-b.io, 0)}
}

// within is t with parts that do not exceed the whole.
func (t sectionTime) within() sectionTime {
	mpi := min(t.mpi, t.all)
	return sectionTime{t.all, mpi, min(t.io, t.all-mpi)}
}

func (t sectionTime) useful() time.Duration { return t.all - t.mpi - t.io }

// rankSection is one label of one rank.
type rankSection struct {
	count      uint64
	whole, own sectionTime
	open       bool
}

// rankSections are the sections of one rank.
type rankSections map[string]*rankSection

func (s rankSections) at(label string) *rankSection {
	if s[label] == nil {
		s[label] = &rankSection{}
	}
	return s[label]
}

// sectionsOf adds up the sections of one rank by label. Those that it never left last to
// the end of its region.
func sectionsOf(p *process, own []*record.Sections) rankSections {
	byLabel := rankSections{}
	var labels []string // by number
	for _, slot := range own {
		for i := range slot.Entries {
			e := &slot.Entries[i]
			label := sectionLabel(e.Label)
			labels = append(labels, label)
			if *e == (record.Section{Label: e.Label}) {
				continue // nothing was too much, or it was only claimed
			}
			r := byLabel.at(label)
			r.count = addCount(r.count, e.Count)
			r.whole, r.own = r.whole.plus(p.sectionTime(e.Whole)), r.own.plus(p.sectionTime(e.Own))
		}
	}
	byLabel.addOpen(p, own[0].Open, labels)
	for _, r := range byLabel {
		r.whole, r.own = r.whole.within(), r.own.within()
	}
	return byLabel
}

// addOpen adds the sections that were not left, the innermost first: what is inside one
// is not its own.
func (s rankSections) addOpen(p *process, open []record.OpenSection, labels []string) {
	inside := sectionTime{}
	for i, o := range slices.Backward(open) {
		if o.Number >= len(labels) {
			p.odd = true
			continue
		}
		whole := p.openSection(&o)
		r := s.at(labels[o.Number])
		r.open = true
		r.own = r.own.plus(whole.minus(p.sectionTime(o.Inner)).minus(inside))
		if !slices.ContainsFunc(open[:i], func(outer record.OpenSection) bool { return outer.Number == o.Number }) {
			r.whole = r.whole.plus(whole)
		}
		inside = whole
	}
}

// sectionLabel keeps the program's own MPI_MAIN apart from the whole run.
func sectionLabel(label string) string {
	if label == MainSection {
		return label + " (by the program)"
	}
	return label
}

func (p *process) sectionTime(t record.SectionTicks) sectionTime {
	return sectionTime{p.bound(p.line.of(t.All)), p.bound(p.line.of(t.MPI)), p.bound(p.line.of(t.IO))}
}

// openSection is the time of a section that was not left. The call that the process died
// in, if any, is in it.
func (p *process) openSection(o *record.OpenSection) sectionTime {
	since := p.when(o.In.All, p.start, p.end)
	t := p.sectionTime(record.SectionTicks{
		MPI: p.slot.MPITicks - min(o.In.MPI, p.slot.MPITicks),
		IO:  p.slot.IOTicks - min(o.In.IO, p.slot.IOTicks),
	})
	t.all = time.Duration(p.end - since)
	if p.slot.OpenCall >= 0 && p.slot.FiniEnter == 0 {
		into := &t.mpi
		if record.FuncClass(p.slot.OpenCall) == record.ClassIO {
			into = &t.io
		}
		*into = addTime(*into, p.openTime())
	}
	return t.within()
}

// sectionSums adds up ranks by label.
type sectionSums map[string]*Section

func (s sectionSums) at(label string) *Section {
	if s[label] == nil {
		s[label] = &Section{Label: label}
	}
	return s[label]
}

func (s sectionSums) addRank(label string, r *rankSection) {
	one := Section{Label: label, Ranks: 1, Count: r.count, Elapsed: r.whole.all, ElapsedMax: r.whole.all,
		Useful: r.whole.useful(), UsefulMax: r.whole.useful(), MPI: r.whole.mpi, IO: r.whole.io,
		Own: r.own.all, OwnUseful: r.own.useful(), OwnMPI: r.own.mpi}
	if r.open {
		one.Open = 1
	}
	s.at(label).add(&one)
}

// add adds b, of other ranks, to s.
func (s *Section) add(b *Section) {
	s.Ranks = min(s.Ranks, math.MaxInt-b.Ranks) + b.Ranks
	s.Count = addCount(s.Count, b.Count)
	s.Elapsed = addTime(s.Elapsed, b.Elapsed)
	s.ElapsedMax = max(s.ElapsedMax, b.ElapsedMax)
	s.Useful = addTime(s.Useful, b.Useful)
	s.UsefulMax = max(s.UsefulMax, b.UsefulMax)
	s.MPI = addTime(s.MPI, b.MPI)
	s.IO = addTime(s.IO, b.IO)
	s.Own = addTime(s.Own, b.Own)
	s.OwnUseful = addTime(s.OwnUseful, b.OwnUseful)
	s.OwnMPI = addTime(s.OwnMPI, b.OwnMPI)
	s.Open = min(s.Open, math.MaxInt-b.Open) + b.Open
}

// list is all of it, the longest first.
func (s sectionSums) list() []Section {
	var out []Section
	for _, one := range s {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Section) int {
		return cmp.Or(cmp.Compare(b.Elapsed, a.Elapsed), cmp.Compare(a.Label, b.Label))
	})
	return out
}

// cut puts the shortest of too many sections under OtherSections.
func (s sectionSums) cut(most int) {
	if len(s) <= most {
		return
	}
	others := Section{Label: record.OtherSections}
	for _, one := range s.list()[most-1:] {
		if one.Label != others.Label {
			others.addLabel(&one)
			delete(s, one.Label)
		}
	}
	s.at(others.Label).addLabel(&others)
}

// addLabel adds b, of the same ranks, to s: the extremes become bounds.
func (s *Section) addLabel(b *Section) {
	ranks, open := max(s.Ranks, b.Ranks), max(s.Open, b.Open)
	elapsed, useful := addTime(s.ElapsedMax, b.ElapsedMax), addTime(s.UsefulMax, b.UsefulMax)
	s.add(b)
	s.Ranks, s.Open, s.ElapsedMax, s.UsefulMax = ranks, open, elapsed, useful
}

// listSections folds the sections of a world's ranks.
func (f *folder) listSections(e *Execution, w *world) {
	sums := sectionSums{}
	var warn warnings
	for _, p := range w.procs {
		own := f.sections.of(p)
		if len(own) == 0 {
			continue
		}
		for label, r := range sectionsOf(p, own) {
			sums.addRank(label, r)
		}
		sectionDoubts(&warn, p, own[0])
	}
	if sums[record.OtherSections] != nil || len(sums) > mostLabels {
		warn.note(WarnSectionsMany)
	}
	sums.cut(mostLabels)
	if f.rows += len(sums); f.rows > mostSections {
		f.warn.note(WarnSectionsCut)
	} else {
		e.Sections = sums.list()
	}
	e.Warnings = mergeWarnings(e.Warnings, warn.list())
}

// sectionDoubts are the warnings about the sections of one rank.
func sectionDoubts(warn *warnings, p *process, first *record.Sections) {
	kept := uint64(0)
	for _, w := range first.Wrongs {
		kept = addCount(kept, w.Count)
		warn.add(Warning{Code: WarnSectionExit, Text: wrongExit(w), Count: countOf(w.Count)})
	}
	if first.Wrong > kept {
		warn.add(Warning{Code: WarnSectionExit, Text: warningText[WarnSectionExit], Count: countOf(first.Wrong - kept)})
	}
	if first.Deep > 0 {
		warn.add(Warning{Code: WarnSectionsDeep, Text: warningText[WarnSectionsDeep], Count: countOf(first.Deep)})
	}
	if first.Ignored > 0 {
		warn.add(Warning{Code: WarnSectionsIgnored, Text: warningText[WarnSectionsIgnored], Count: countOf(first.Ignored)})
	}
	if len(first.Open) > 0 && p.ending == EndingFinalized {
		warn.note(WarnSectionsOpen)
	}
}

func wrongExit(w record.WrongExit) string {
	return fmt.Sprintf("a section was left that is not the innermost: %s was left, %s was open", w.Exited, cmp.Or(w.Open, MainSection))
}

// countOf bounds a count so that adding some thousands of them does not overflow.
func countOf(n uint64) int { return int(min(n, 1<<40)) }
