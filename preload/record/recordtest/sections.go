package recordtest

/*
#include "../record.h"
*/
import "C"

import (
	"unsafe"

	"jobeff/preload/record"
)

// sections are the bytes of a slot of sections.
func sections(s *record.Slot) []byte {
	from := s.Sections
	c := &C.struct_je_sections{
		magic: C.JE_SLOT_MAGIC, kind: C.JE_KIND_SECTIONS, bytes: C.JE_SLOT_BYTES, state: C.JE_STATE_RUNNING,
		parent: C.uint32_t(s.Parent), pid: C.int32_t(from.PID), order: C.uint32_t(from.Order),
		init_ticks: C.uint64_t(from.Init), used: C.uint32_t(len(from.Entries)), depth: C.uint32_t(len(from.Open)),
		wrong: C.uint64_t(from.Wrong), deep: C.uint64_t(from.Deep), ignored: C.uint64_t(from.Ignored), last_ticks: C.uint64_t(from.Last),
	}
	if s.Torn {
		c.seq = 1
	}
	for i, e := range from.Entries {
		to := &c.entries[i]
		copy(raw(&to.label), e.Label)
		to.count = C.uint64_t(e.Count)
		to.ticks, to.mpi_ticks, to.io_ticks = sectionTicks(e.Whole)
		to.own_ticks, to.own_mpi_ticks, to.own_io_ticks = sectionTicks(e.Own)
		if e.Sampled != nil {
			to.detail = detail(c, &e)
		}
	}
	for i, o := range from.Open {
		to := &c.open[i]
		to.section = C.uint32_t(o.Number)
		to.in_ticks, to.in_mpi_ticks, to.in_io_ticks = sectionTicks(o.In)
		to.inner_ticks, to.inner_mpi_ticks, to.inner_io_ticks = sectionTicks(o.Inner)
	}
	for i, w := range from.Wrongs {
		copy(raw(&c.wrongs[i].open), w.Open)
		copy(raw(&c.wrongs[i].exited), w.Exited)
		c.wrongs[i].count = C.uint64_t(w.Count)
	}
	return raw(c)
}

func sectionTicks(t record.SectionTicks) (all, mpi, io C.uint64_t) {
	return C.uint64_t(t.All), C.uint64_t(t.MPI), C.uint64_t(t.IO)
}

// detail writes the next detail at the end of a slot. It returns its number + 1.
func detail(c *C.struct_je_sections, of *record.Section) C.uint32_t {
	from := of.Sampled
	d := (*C.struct_je_section_detail)(unsafe.Pointer(&c.entries[C.je_detail_at(c.details)]))
	d.k, d.used = C.uint32_t(from.K), C.uint32_t(len(from.Kept))
	for i, one := range from.Kept {
		d.kept[i] = C.struct_je_instance{number: C.uint64_t(one.Number), in_ticks: C.uint64_t(one.In), out_ticks: C.uint64_t(one.Out)}
	}
	if t := of.Threads; t != nil {
		for i, part := range []uint64{t.Region, t.RegionMPI, t.RegionIO, t.Team, t.Useful, t.MPI, t.IO, t.Scheduling, t.Locked, t.UsefulMain, t.UsefulMost} {
			d.parts[i] = C.uint64_t(part)
		}
		if t.Busiest {
			d.busiest = 1
		}
		d.openmp = C.JE_SECTION_OPENMP_KNOWN
		if !t.Whole {
			d.openmp = C.JE_SECTION_OPENMP_INSIDE
		}
	}
	c.details++
	return c.details
}
