package record

/*
#include "names.h"
*/
import "C"

import "unsafe"

// KindSections is a slot of sections: Slot.Sections is all that it says.
const KindSections Kind = C.JE_KIND_SECTIONS

// OtherSections is the label of what found no room of its own.
const OtherSections = C.JE_SECTION_OTHERS

// SectionsPerSlot is how many sections a slot holds; entry n of a process stands in its
// slot of order n / SectionsPerSlot.
const SectionsPerSlot = C.JE_SECTIONS_PER_SLOT

// Sections is one slot of the sections of a process.
type Sections struct {
	PID     int
	Init    uint64 // InitEnter of the process that they are of
	Order   int    // 0: the process's first slot of them
	Entries []Section

	// The rest is in the first slot only.
	Open    []OpenSection // the outermost first
	Wrong   uint64        // exits that did not fit
	Wrongs  []WrongExit   // the first different ones
	Deep    uint64        // entered deeper than Open has room, not counted
	Last    uint64        // when one was last entered or left, ticks
	Ignored uint64        // enters and exits by other threads or inside of MPI
}

// Section sums up the instances of one label that one process has left. All ticks are of
// the process's clock.
type Section struct {
	Label string
	Count uint64       // times entered
	Whole SectionTicks // outermost instances, from enter to exit
	Own   SectionTicks // all instances, less what is in sections within them
}

// SectionTicks are ticks, and what of them is in MPI and in MPI's files.
type SectionTicks struct{ All, MPI, IO uint64 }

// OpenSection is an instance that was not left.
type OpenSection struct {
	Number int          // of the entry, over all slots of the process
	In     SectionTicks // when; the process's MPITicks and IOTicks then
	Inner  SectionTicks // of sections within it that were left
}

// WrongExit is an exit that did not fit.
type WrongExit struct {
	Open   string // the innermost section then, "" MPI_MAIN
	Exited string
	Count  uint64
}

// decodeSections makes a Slot of the bytes of a slot of sections.
func (s *slotBuffer) decodeSections(index, slots int) *Slot {
	c, k := (*C.struct_je_sections)(unsafe.Pointer(&s.c)), &checker{}
	sections := &Sections{
		PID: k.within(int64(c.pid), 0, mostInt32, 0), Init: k.ticks(c.init_ticks),
		Order:   k.within(int64(c.order), 0, C.JE_SECTIONS_SLOTS-1, 0),
		Wrong:   k.most(c.wrong, mostCount),
		Deep:    k.most(c.deep, mostCount),
		Ignored: k.most(c.ignored, mostCount),
		Last:    k.ticks(c.last_ticks),
	}
	for i := range k.within(int64(c.used), 0, SectionsPerSlot, 0) {
		sections.Entries = append(sections.Entries, k.section(&c.entries[i]))
	}
	for i := range k.within(int64(c.depth), 0, C.JE_SECTION_DEPTH, 0) {
		o := &c.open[i]
		sections.Open = append(sections.Open, OpenSection{
			Number: k.within(int64(o.section), 0, C.JE_SECTION_LABELS, 0),
			In:     k.sectionTicks(o.in_ticks, o.in_mpi_ticks, o.in_io_ticks),
			Inner:  k.sectionTicks(o.inner_ticks, o.inner_mpi_ticks, o.inner_io_ticks),
		})
	}
	for i := range c.wrongs {
		if w := &c.wrongs[i]; w.count != 0 {
			sections.Wrongs = append(sections.Wrongs,
				WrongExit{Open: text(w.open[:]), Exited: text(w.exited[:]), Count: k.most(w.count, mostCount)})
		}
	}
	return &Slot{
		Index: index, Kind: KindSections, Torn: s.torn(), Parent: k.within(int64(c.parent), 0, int64(slots), 0),
		State: StateRunning, OpenCall: -1, Rank: -1, Size: -1, Sections: sections, Odd: k.odd,
	}
}

func (k *checker) section(e *C.struct_je_section) Section {
	return Section{
		Label: text(e.label[:]), Count: k.most(e.count, mostCount),
		Whole: k.sectionTicks(e.ticks, e.mpi_ticks, e.io_ticks),
		Own:   k.sectionTicks(e.own_ticks, e.own_mpi_ticks, e.own_io_ticks),
	}
}

func (k *checker) sectionTicks(all, mpi, io C.uint64_t) SectionTicks {
	return SectionTicks{k.ticks(all), k.ticks(mpi), k.ticks(io)}
}
