package node

import (
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitEvent is a task's exit as root saw it.
type exitEvent struct {
	step   string
	mono   uint64 // ns, when slurmstepd noted it
	status int    // wait status
	late   uint64 // ns, how late the note was, see settleExits
}

// gone is when the task ended.
func (e exitEvent) gone() uint64 { return e.mono - e.late }

// attemptFacts are what root noted of a job's processes on a node; nil for a record made by
// hand.
type attemptFacts struct {
	node  string
	end   uint64 // of the job on this node, ns of CLOCK_MONOTONIC
	exits map[int][]exitEvent
	steps map[string]uint64 // end of each step, 0: not seen

	workloads map[string]string // --jobeff-workload of the steps that had one
}

// exitOf is the first exit of pid at or after the moment mono.
func (r *attemptFacts) exitOf(pid int, mono uint64) (exitEvent, bool) {
	if r == nil {
		return exitEvent{}, false
	}
	for _, e := range r.exits[pid] {
		if e.mono >= mono {
			return e, true
		}
	}
	return exitEvent{}, false
}

// StatusText is a wait status for people: "exit 3", "signal 9 (SIGKILL)".
func StatusText(status int) string {
	w := syscall.WaitStatus(status)
	if w.Signaled() {
		name := unix.SignalName(w.Signal())
		if name == "" {
			return fmt.Sprintf("signal %d", int(w.Signal()))
		}
		return fmt.Sprintf("signal %d (%s)", int(w.Signal()), name)
	}
	return fmt.Sprintf("exit %d", w.ExitStatus())
}

// sortExits sorts each pid's exits by time.
func sortExits(exits map[int][]exitEvent) {
	for _, list := range exits {
		slices.SortStableFunc(list, func(a, b exitEvent) int {
			if a.mono < b.mono {
				return -1
			}
			return int(min(a.mono-b.mono, 1))
		})
	}
}
