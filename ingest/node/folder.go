package node

import (
	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// folder is the state of one fold: of the record of one node.
type folder struct {
	machine    Machine
	facts      *attemptFacts // nil: made by hand
	sameBoot   bool
	clocks     *clocks
	now        uint64 // ns of CLOCK_MONOTONIC; not known: the highest number
	warn       job.Warnings
	claims     map[string][]uint64 // by step: when processes claimed their slots, ascending
	lives      map[[2]int][]uint64 // by pid and parent's pid: likewise
	calls      int                 // rows of calls so far
	sections   sectionSlots
	openmp     openMPSlots
	windowLogs windowSlots
	crossing   *crossing // nil: none
	rows       int       // rows of sections so far
	instances  int       // sampled instances so far
	foldAt     int       // executions at which they are folded again
}

func lifeOf(s *record.Slot) [2]int { return [2]int{s.PID, s.PPID} }
