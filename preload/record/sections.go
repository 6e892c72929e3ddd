package record

/*
#include "names.h"
*/
import "C"

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

// SectionThreads are what the OpenMP threads of a process did in a section that was left, ticks:
// sums over all threads, but the first three of its main thread. They are of the instances of
// Section.Whole. Whole tells that nothing is missing.
type SectionThreads struct {
	Region, RegionMPI, RegionIO         uint64 // in parallel regions, and in MPI and its files there
	Team                                uint64 // each region times its threads
	Useful, MPI, IO, Scheduling, Locked uint64
	UsefulMain, UsefulMost              uint64 // of the main thread, and of the busiest other one
	Busiest                             bool   // these two are known
	Whole                               bool
}

// Instances are those of a label that one process kept. It kept those that IsKept tells of.
type Instances struct {
	K    int
	Kept []Instance // in no order
}

// Instance is one time that a process was in a section, ticks.
type Instance struct{ Number, In, Out uint64 }

// MostInstances is how many a process keeps of a label.
const MostInstances = C.JE_INSTANCES

// IsKept tells whether an instance is kept at k.
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
