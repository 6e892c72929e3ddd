package node

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// mostSections bounds the rows in all Execution.Sections of a report.
const mostSections = 40_000

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
	return sectionTime{job.AddTime(t.all, b.all), job.AddTime(t.mpi, b.mpi), job.AddTime(t.io, b.io)}
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
			r.count = job.AddCount(r.count, e.Count)
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
	if label == job.MainSection {
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
		*into = job.AddTime(*into, p.openTime())
	}
	return t.within()
}

// addRank adds what one rank has of a label.
func addRank(sums job.SectionSums, label string, r *rankSection) {
	one := job.Section{Label: label, Ranks: 1, Count: r.count, Elapsed: r.whole.all, ElapsedMax: r.whole.all,
		Useful: r.whole.useful(), UsefulMax: r.whole.useful(), MPI: r.whole.mpi, IO: r.whole.io,
		Own: r.own.all, OwnUseful: r.own.useful(), OwnMPI: r.own.mpi}
	if r.open {
		one.Open = 1
	}
	sums.At(label).Add(&one)
}

// listSections folds the sections of a world's ranks.
func (f *folder) listSections(e *job.Execution, w *world) {
	sums := job.SectionSums{}
	var warn job.Warnings
	for _, p := range w.procs {
		own := f.sections.of(p)
		if len(own) == 0 {
			continue
		}
		for label, r := range sectionsOf(p, own) {
			addRank(sums, label, r)
		}
		sectionDoubts(&warn, p, own[0])
	}
	if sums[record.OtherSections] != nil || len(sums) > job.MostLabels {
		warn.Note(job.WarnSectionsMany)
	}
	sums.Cut(job.MostLabels)
	if f.rows += len(sums); f.rows > mostSections {
		f.warn.Note(job.WarnSectionsCut)
	} else {
		e.Sections = sums.List()
	}
	e.Warnings = job.MergeWarnings(e.Warnings, warn.List())
}

// sectionDoubts are the warnings about the sections of one rank.
func sectionDoubts(warn *job.Warnings, p *process, first *record.Sections) {
	kept := uint64(0)
	for _, w := range first.Wrongs {
		kept = job.AddCount(kept, w.Count)
		warn.Add(job.Warning{Code: job.WarnSectionExit, Text: wrongExit(w), Count: countOf(w.Count)})
	}
	if first.Wrong > kept {
		warn.Add(job.Warning{Code: job.WarnSectionExit, Text: job.WarningText[job.WarnSectionExit], Count: countOf(first.Wrong - kept)})
	}
	if first.Deep > 0 {
		warn.Add(job.Warning{Code: job.WarnSectionsDeep, Text: job.WarningText[job.WarnSectionsDeep], Count: countOf(first.Deep)})
	}
	if first.Ignored > 0 {
		warn.Add(job.Warning{Code: job.WarnSectionsIgnored, Text: job.WarningText[job.WarnSectionsIgnored], Count: countOf(first.Ignored)})
	}
	if len(first.Open) > 0 && p.ending == job.EndingFinalized {
		warn.Note(job.WarnSectionsOpen)
	}
}

func wrongExit(w record.WrongExit) string {
	return fmt.Sprintf("a section was left that is not the innermost: %s was left, %s was open", w.Exited, cmp.Or(w.Open, job.MainSection))
}

// countOf bounds a count so that adding some thousands of them does not overflow.
func countOf(n uint64) int { return int(min(n, 1<<40)) }
