package node

import (
	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// folder folds the record of one node.
type folder struct {
	machine  Machine
	facts    *runFacts // nil by hand
	sameBoot bool
	clocks   *clocks
	now      uint64 // ns of CLOCK_MONOTONIC, as high as can be where not known
	warn     job.Warnings
	claims   map[string][]uint64 // by step: when processes claimed their slots, ascending
	lives    map[[2]int][]uint64 // by pid and parent's pid: likewise
	calls    int                 // rows so far
	sections sectionSlots
	rows     int // of sections so far
}

func lifeOf(s *record.Slot) [2]int { return [2]int{s.PID, s.PPID} }
