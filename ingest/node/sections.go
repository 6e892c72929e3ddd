package node

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// sectionSlots are the slots of sections of a record, by the index of the process's slot.
type sectionSlots map[int][]*record.Sections

func (s sectionSlots) add(slot *record.Slot) {
	s[slot.Parent] = append(s[slot.Parent], slot.Sections)
}

// of are the slots of process p in their order, without those of an earlier process of the
// same slot. Slots after a gap are lost.
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

// signOfLife notes that a process was still alive at its last section.
func (s sectionSlots) signOfLife(p *process, now uint64) {
	if own := s.of(p); len(own) > 0 {
		p.lastSign = max(p.lastSign, p.when(own[0].Last, p.claimed, now))
	}
}

// sectionTime is time in a section, and how much of it is in MPI and in MPI's files.
type sectionTime struct{ all, mpi, io time.Duration }

func (t sectionTime) plus(b sectionTime) sectionTime {
	return sectionTime{job.AddTime(t.all, b.all), job.AddTime(t.mpi, b.mpi), job.AddTime(t.io, b.io)}
}

func (t sectionTime) minus(b sectionTime) sectionTime {
	return sectionTime{max(t.all-b.all, 0), max(t.mpi-b.mpi, 0), max(t.io-b.io, 0)}
}

// within returns t with MPI and file time cut so that both fit into its whole time.
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
	sampled    *record.Instances      // nil: not known
	threads    *record.SectionThreads // nil: not known
	instances  *job.Instances         // sampled, in the form of a report
	share      *job.ThreadShare       // likewise; nil: no rank used OpenMP
}

// rankSections are the sections of one rank.
type rankSections map[string]*rankSection

func (s rankSections) at(label string) *rankSection {
	if s[label] == nil {
		s[label] = &rankSection{}
	}
	return s[label]
}

// sectionsOf adds up the sections of one rank by label. Sections that it never left last until
// its region ends.
func sectionsOf(p *process, own []*record.Sections) rankSections {
	byLabel := rankSections{}
	var labels []string // by number
	for _, slot := range own {
		for i := range slot.Entries {
			e := &slot.Entries[i]
			label := sectionLabel(e.Label)
			labels = append(labels, label)
			if *e == (record.Section{Label: e.Label, Sampled: e.Sampled, Threads: e.Threads}) {
				continue // unused: no label was too many, or the entry was only claimed
			}
			r := byLabel.at(label)
			if r.count == 0 {
				r.sampled, r.threads = e.Sampled, e.Threads
			} else { // two labels that differ in unprintable characters
				r.sampled, r.threads = nil, nil
			}
			r.count = job.AddCount(r.count, e.Count)
			r.whole, r.own = r.whole.plus(p.sectionTime(e.Whole)), r.own.plus(p.sectionTime(e.Own))
		}
	}
	byLabel.addOpen(p, own[0].Open, labels)
	for _, r := range byLabel {
		r.own.all = min(r.own.all, r.whole.all)
		r.whole, r.own = r.whole.within(), r.own.within()
	}
	return byLabel
}

// addOpen adds the sections that were not left, the innermost first: time inside an inner
// section is not the outer one's own.
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

// openSection is the time of a section that was not left, including the call that the process
// died in, if any.
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

// mostSections bounds the rows in all Execution.Sections of a report.
const mostSections = 40_000

// addRank adds one rank's time in a label.
func addRank(sums job.SectionSums, label string, r *rankSection) {
	one := job.Section{Label: label, Ranks: 1, Count: r.count, Elapsed: r.whole.all, ElapsedMax: r.whole.all,
		Useful: r.whole.useful(), UsefulMax: r.whole.useful(), MPI: r.whole.mpi, IO: r.whole.io,
		Own: r.own.all, OwnUseful: r.own.useful(), OwnMPI: r.own.mpi, Instances: r.instances, Threads: r.share}
	if r.open {
		one.Open = 1
	}
	sums.At(label).Add(&one)
}

// listSections folds the sections of a world's ranks.
func (f *folder) listSections(e *job.Execution, w *world) {
	sums := job.SectionSums{}
	var warn doubt.Warnings
	for _, p := range w.procs {
		own := f.sections.of(p)
		if len(own) == 0 {
			continue
		}
		for label, r := range sectionsOf(p, own) {
			r.instances, r.share = w.instances(p, r.count, r.sampled), p.sectionThreads(r)
			addRank(sums, label, r)
		}
		sectionDoubts(&warn, p, own[0])
	}
	if sums[record.OtherSections] != nil || len(sums) > job.MostLabels {
		warn.Note(doubt.WarnSectionsMany)
	}
	sums.Cut(job.MostLabels)
	if f.rows += len(sums); f.rows > mostSections {
		f.warn.Note(doubt.WarnSectionsCut)
	} else {
		e.Sections = sums.List()
		f.boundInstances(e.Sections)
	}
	e.Warnings = doubt.MergeWarnings(e.Warnings, warn.List())
}

// sectionDoubts are the warnings about the sections of one rank.
func sectionDoubts(warn *doubt.Warnings, p *process, first *record.Sections) {
	kept := uint64(0)
	for _, w := range first.Wrongs {
		kept = job.AddCount(kept, w.Count)
		warn.Add(doubt.Warning{Code: doubt.WarnSectionExit, Args: doubt.Arguments{Name: w.Exited, Other: cmp.Or(w.Open, job.MainSection)}, Count: countOf(w.Count)})
	}
	if first.Wrong > kept {
		warn.Add(doubt.Warning{Code: doubt.WarnSectionExit, Count: countOf(first.Wrong - kept)})
	}
	if first.Deep > 0 {
		warn.Add(doubt.Warning{Code: doubt.WarnSectionsDeep, Count: countOf(first.Deep)})
	}
	if first.Ignored > 0 {
		warn.Add(doubt.Warning{Code: doubt.WarnSectionsIgnored, Count: countOf(first.Ignored)})
	}
	if len(first.Open) > 0 && p.ending == job.EndingFinalized {
		warn.Note(doubt.WarnSectionsOpen)
	}
}

// countOf bounds a count, so that thousands of them can be added without overflow.
func countOf(n uint64) int { return int(min(n, 1<<40)) }

// mostInstances bounds the sampled instances in a report: half a MiB of JSON.
const mostInstances = 5_000

// instances returns those of a label that one rank kept; nil if none are known. All ranks with the
// same clock are converted by one timeline, so that their moments differ only by what the clock showed.
func (w *world) instances(p *process, count uint64, kept *record.Instances) *job.Instances {
	if kept == nil {
		return nil
	}
	line := p.line
	first := w.procs[0]
	if first.slot.Clock == p.slot.Clock {
		line = first.line
	}
	moment := func(ticks uint64) int64 {
		mono := min(max(line.mono(ticks), p.start), p.end)
		return max(int64(first.line.at.Real)+int64(mono)-int64(first.line.at.Mono), 0)
	}
	out := &job.Instances{Least: count, Most: count}
	for _, one := range kept.Kept {
		out.Kept = append(out.Kept, job.Instance{Number: one.Number, In: moment(one.In), Out: moment(one.Out)})
	}
	slices.SortFunc(out.Kept, func(a, b job.Instance) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// run is the instance of MPI_MAIN of a node's ranks; nil if one did not come to its end, or the
// world has one rank.
func (w *world) run(procs []*process) *job.Instance {
	var sum job.Section
	for _, p := range procs {
		if p.ending != job.EndingFinalized || w.size < 2 {
			return nil
		}
		whole := record.Instance{Number: 1, In: p.slot.InitLeft, Out: p.slot.FiniEnter}
		sum.Add(&job.Section{Ranks: 1, Instances: w.instances(p, 1, &record.Instances{Kept: []record.Instance{whole}})})
	}
	return &sum.Instances.Kept[0]
}

// boundInstances leaves out the instances of the later sections of a report that has too many.
func (f *folder) boundInstances(sections []job.Section) {
	for i := range sections {
		s := &sections[i]
		if s.Instances == nil {
			continue
		}
		if len(s.Instances.Kept) == 0 || f.instances+len(s.Instances.Kept) > mostInstances {
			s.Instances = nil
			continue
		}
		f.instances += len(s.Instances.Kept)
	}
}
