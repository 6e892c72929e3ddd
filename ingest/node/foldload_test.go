package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// loaded is rankSlot of 8 s useful and 2 s in MPI, with what the kernel counted: CPU time of the
// rank and of other threads, run-queue wait, busy threads, and the CPUs of the mask (a byte).
func loaded(rank, size int, own, other, queue float64, busy int, mask byte) record.Slot {
	s := rankSlot(rank, size, 8, 2)
	ns := func(seconds float64) uint64 { return uint64(seconds * 1e9) }
	s.Kernel = record.Kernel{At: at(20).Ticks, Process: ns(own + other), Thread: ns(own), TasksKnown: true, Queue: ns(queue),
		Tasks: 3, Busy: busy, GPU: record.GPUNone}
	s.Kernel.Mask[0] = mask
	if other > 0.5 {
		s.Kernel.Busiest, s.Kernel.BusiestTID, s.Kernel.BusiestName = ns(other), 7000+rank, "helper"
	}
	return s
}

func codesOf(e *job.Execution) (codes []string) {
	for _, w := range e.Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

// What is told of a rank's threads and CPUs follows from what the kernel counted alone.
func TestLoad(t *testing.T) {
	both := func(own, other, queue float64, busy int, mask byte) []record.Slot {
		return []record.Slot{loaded(0, 2, own, other, queue, busy, mask), loaded(1, 2, own, other, queue, busy, mask)}
	}
	change := func(slots []record.Slot, do func(*record.Slot)) []record.Slot {
		for i := range slots {
			do(&slots[i])
		}
		return slots
	}
	tests := []struct {
		name     string
		slots    []record.Slot
		threaded bool
		codes    []string
		text     string
	}{
		{"plain", both(9.9, 0.01, 0.05, 1, 3), false, nil, ""},
		{"idle progress thread", both(9.9, 0.4, 0.05, 1, 3), false, nil, ""},
		{"OpenMP that nobody asked for", both(9.9, 9, 0.05, 2, 15), true, []string{job.WarnThreadsCounted}, "all 2 ranks"},
		{"OpenMP as asked for", change(both(9.9, 9, 0.05, 2, 15), func(s *record.Slot) { s.Claims.OMPThreads = 2 }), true, nil, ""},
		{"asked for, but not there", change(both(9.9, 0.01, 0.05, 1, 15), func(s *record.Slot) { s.Claims.OMPThreads = 2 }), false, nil, ""},
		{"older library", change(both(0, 0, 0, 0, 0), func(s *record.Slot) { s.Kernel, s.Claims.CPUsPerTask = record.Kernel{}, 4 }), true, nil, ""},
		{"busy progress thread", change(both(9.9, 9.9, 0.05, 2, 15), func(s *record.Slot) { s.Kernel.BusiestOfMPI = true }), true, []string{job.WarnProgress}, "(helper)"},
		{"two ranks on one core", both(5, 0, 4.9, 1, 2), false, []string{job.WarnContention}, "2 busy threads of 2 ranks share CPU 1"},
		{"beside a hog", both(6, 0, 3.9, 1, 3), false, []string{job.WarnContention}, "in 39 % of their time"},
		{"sleeps", both(2, 0, 0.01, 0, 3), false, []string{job.WarnSlept}, "at least 60 %"},
		{"sleeps in MPI", both(8, 0, 0.01, 1, 3), false, nil, ""},
		{"not every thread was read", change(both(5, 0, 0, 0, 3), func(s *record.Slot) { s.Kernel.TasksKnown = false }), false, nil, ""},
		{"more CPU time than CPUs", both(9.9, 90, 0, 1, 3), false, nil, ""},
	}
	for _, tt := range tests {
		var m job.JobMerger
		m.Add(&job.NodeReport{Node: "n1", JobID: 1, Executions: foldSlots(t, testMachine(100), nil, tt.slots...).executions})
		e := &m.Job().Executions[0]
		if got := job.Threaded([]job.Execution{*e}); got != tt.threaded {
			t.Errorf("%s: threaded is %v", tt.name, got)
		}
		if got := codesOf(e); !slices.Equal(got, tt.codes) {
			t.Errorf("%s: warnings %v, want %v", tt.name, e.Warnings, tt.codes)
		}
		if tt.text != "" && !slices.ContainsFunc(e.Warnings, func(w job.Warning) bool { return strings.Contains(w.Text, tt.text) }) {
			t.Errorf("%s: %v does not say %q", tt.name, e.Warnings, tt.text)
		}
	}
}

// Of a killed rank, what stood at the last reading counts, over the time up to it.
func TestLoadOfAKilledRank(t *testing.T) {
	s := killed(0, 1, 1, 18)
	s.Kernel = record.Kernel{At: at(14).Ticks, Process: 6 * sec, Thread: 4 * sec, TasksKnown: true, Tasks: 2, Busy: 2}
	l := foldSlots(t, testMachine(30), nil, s).executions[0].Nodes[0].Load
	if l == nil || l.Span != 4*time.Second || l.Other != 2*time.Second || l.Threaded != 1 {
		t.Errorf("%+v", l)
	}
}

// A thread that calls MPI and ended is not one that computes for the rank: after its last reading
// it is taken to have been busy up to its last call.
func TestCallersAreNotOtherThreads(t *testing.T) {
	s := loaded(0, 1, 5, 5, 0, 2, 3)
	thread := record.Slot{Kind: record.KindThread, State: record.StateRunning, Parent: 0, PID: 100, TID: 7000, OpenCall: -1, Rank: 0, Size: 1,
		Clock: record.ClockMonotonic, ClaimedAt: at(11), InitEnter: at(11).Ticks, InitLeft: at(11).Ticks, Last: at(16).Ticks,
		Kernel: record.Kernel{At: at(12).Ticks, Thread: sec}}
	l := foldSlots(t, testMachine(100), nil, s, thread).executions[0].Nodes[0].Load
	if l == nil || l.Other != 0 || l.Threaded != 0 {
		t.Errorf("%+v", l)
	}
}
