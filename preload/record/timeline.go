package record

/*
#include "record.h"
*/
import "C"

// Timeline is how a process's region was spent over time: its sums at edges, the multiples of
// 2^Shift/64 s of CLOCK_REALTIME. Edge i is number First + i of them since 1970. A nil Timeline has
// none.
type Timeline struct {
	Shift int
	First int64
	Edges []Edge
}

// Edge is one moment, ticks.
type Edge struct {
	At      uint64 // when the clock showed it
	MPI, IO uint64 // Slot.MPITicks and Slot.IOTicks up to then
	OpenMP  uint64 // useful time of all OpenMP threads up to Late after it; 0: there were none
	Late    uint64
}

// mostShift is beyond what any job can reach: 2^36 s are 2000 years.
const mostShift = 36

// A record's shift counts from 1 s and begins at 1/64 s, and Timeline.Shift counts from there. If C
// begins elsewhere, this does not compile.
var _ = [1]struct{}{}[C.JE_EDGE_SHIFT+6]

// decodeTimeline leaves out one that its owner was changing when it died.
func (s *slotBuffer) decodeTimeline(k *checker) *Timeline {
	c := &s.c.timeline
	if c.changes&1 == 1 || c.shift == 0 && c.first == 0 {
		return nil
	}
	t := &Timeline{Shift: k.within(int64(c.shift), C.JE_EDGE_SHIFT, mostShift, mostShift) - C.JE_EDGE_SHIFT, First: int64(k.most(C.uint64_t(c.first), mostTicks))}
	var last Edge
	for i := range k.within(int64(c.used), 0, C.JE_EDGES, 0) {
		e := &c.edges[i]
		edge := Edge{At: k.ticks(e.ticks), MPI: k.ticks(e.mpi_ticks), IO: k.ticks(e.io_ticks), OpenMP: uint64(e.openmp_ticks), Late: uint64(e.late_ticks)}
		if edge.At <= last.At || edge.MPI < last.MPI || edge.IO < last.IO {
			return nil
		}
		t.Edges, last = append(t.Edges, edge), edge
	}
	return t
}
