package record

/*
#include "names.h"
*/
import "C"

import "unsafe"

// OtherSections is the label of all sections that found no room of their own.
const OtherSections = C.JE_SECTION_OTHERS

// SectionsPerSlot is how many sections a slot holds. Entry n of a process is in its slot of
// order n / SectionsPerSlot.
const SectionsPerSlot = C.JE_SECTIONS_PER_SLOT

// Sections is one slot of the sections of a process.
type Sections struct {
	PID     int
	Init    uint64 // InitEnter of their process
	Order   int    // 0: the process's first slot of sections
	Entries []Section

	// The rest is in the first slot only.
	Open    []OpenSection // the outermost first
	Wrong   uint64        // exits that did not fit
	Wrongs  []WrongExit   // the first different ones
	Deep    uint64        // enters that found no room in Open; not counted
	Last    uint64        // when a section was last entered or left, ticks
	Ignored uint64        // enters and exits by other threads, or inside MPI
}

// Section sums up the instances of one label that one process entered and left. All ticks are
// of the process's clock.
type Section struct {
	Label string
	Count uint64       // times entered
	Whole SectionTicks // outermost instances, from enter to exit
	Own   SectionTicks // all instances, less what is in sections within them

	Sampled *Instances      // nil: none were kept
	Threads *SectionThreads // nil: not known
}

// SectionThreads is what the OpenMP threads of a process did in the instances of Section.Whole,
// in ticks. The first three are of the main thread. The others are sums over all threads, unless
// one thread is named. Whole says that nothing is missing.
type SectionThreads struct {
	Region, RegionMPI, RegionIO         uint64 // in parallel regions, and in MPI and its files there
	Team                                uint64 // each region times its threads
	Useful, MPI, IO, Scheduling, Locked uint64
	UsefulMain, UsefulMost              uint64 // of the main thread, and of the busiest other one
	Busiest                             bool   // these two are known
	Whole                               bool
}

// Instances are the instances of a label that one process kept: those for which IsKept is true
// at K.
type Instances struct {
	K    int
	Kept []Instance // in no order
}

// Instance is one time that a process was in a section, ticks.
type Instance struct{ Number, In, Out uint64 }

// MostInstances is how many a process keeps of a label.
const MostInstances = C.JE_INSTANCES

// IsKept reports whether an instance is kept at k.
func IsKept(number uint64, k int) bool { return C.je_is_kept(C.uint64_t(number), C.uint32_t(k)) != 0 }

// SectionTicks are ticks, and how many of them are in MPI and in MPI's files.
type SectionTicks struct{ All, MPI, IO uint64 }

// OpenSection is an instance that was not left.
type OpenSection struct {
	Number int          // of the entry, over all slots of the process
	In     SectionTicks // when it was entered, and the process's MPITicks and IOTicks then
	Inner  SectionTicks // of the sections within it that were left
}

// WrongExit is an exit that did not fit.
type WrongExit struct {
	Open   string // the innermost section then, "" MPI_MAIN
	Exited string
	Count  uint64
}

// decodeSections makes a Slot of a slot of sections.
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
		section := k.section(&c.entries[i])
		if d := k.detail(c, i); d != nil {
			section.Sampled, section.Threads = k.sampled(d), k.sectionThreads(d)
		}
		sections.Entries = append(sections.Entries, section)
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

// detail is the detail of entry i of a slot; nil: it has none.
func (k *checker) detail(c *C.struct_je_sections, i int) *C.struct_je_section_detail {
	details := k.within(int64(c.details), 0, C.JE_DETAILS, 0)
	number := k.within(int64(c.entries[i].detail), 0, int64(details), 0)
	if number == 0 || C.je_detail_at(C.uint32_t(number-1)) < c.used {
		return nil
	}
	return (*C.struct_je_section_detail)(unsafe.Pointer(&c.entries[C.je_detail_at(C.uint32_t(number-1))]))
}

func (k *checker) sectionThreads(d *C.struct_je_section_detail) *SectionThreads {
	known := k.within(int64(d.openmp), 0, C.JE_SECTION_OPENMP_INSIDE, C.JE_SECTION_OPENMP_INSIDE)
	if known == 0 {
		return nil
	}
	part := func(i int) uint64 { return k.ticks(d.parts[i]) }
	return &SectionThreads{
		Region: part(C.JE_PART_REGION), RegionMPI: part(C.JE_PART_REGION_MPI), RegionIO: part(C.JE_PART_REGION_IO), Team: part(C.JE_PART_TEAM),
		Useful: part(C.JE_PART_USEFUL), MPI: part(C.JE_PART_MPI), IO: part(C.JE_PART_IO), Scheduling: part(C.JE_PART_SCHEDULING),
		Locked: part(C.JE_PART_LOCKED), UsefulMain: part(C.JE_PART_USEFUL_MAIN), UsefulMost: part(C.JE_PART_USEFUL_MOST),
		Busiest: d.busiest == 1, Whole: known == C.JE_SECTION_OPENMP_KNOWN,
	}
}

// sampled are the instances of a detail, each once.
func (k *checker) sampled(d *C.struct_je_section_detail) *Instances {
	out, seen := &Instances{K: k.within(int64(d.k), 0, 63, 63)}, map[uint64]bool{}
	for j := range k.within(int64(d.used), 0, MostInstances, 0) {
		one := Instance{uint64(d.kept[j].number), k.ticks(d.kept[j].in_ticks), k.ticks(d.kept[j].out_ticks)}
		if !IsKept(one.Number, out.K) || seen[one.Number] || one.Out < one.In {
			k.odd = true
			continue
		}
		seen[one.Number] = true
		out.Kept = append(out.Kept, one)
	}
	return out
}
