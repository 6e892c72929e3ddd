package node

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"
	"time"

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

// slurmstepd waits for one task to end and sleeps 100 ms, so that one message can tell of
// several tasks. Then it takes the other tasks that have ended, some milliseconds each. So it
// notes the first exit at once and the others late. Killed ranks are mostly killed together:
// tasks that were taken after a sleep count as gone when the sleep began. That is too early
// by at most the sleep.
const (
	stepdSleep    = 90 * time.Millisecond
	stepdSleepMax = 160 * time.Millisecond // with the first exit's own work, on a busy node
)

// settleExits fills in exitEvent.late.
func settleExits(exits map[int][]exitEvent) {
	bySteps := map[string][]*exitEvent{}
	for _, ofPID := range exits {
		for i := range ofPID {
			bySteps[ofPID[i].step] = append(bySteps[ofPID[i].step], &ofPID[i])
		}
	}
	for _, step := range bySteps {
		slices.SortFunc(step, func(a, b *exitEvent) int { return cmp.Compare(a.mono, b.mono) })
		settleStep(step)
	}
}

// settleStep sets late for the exits of one step, in the order of their notes. If a sleep
// follows an exit, slurmstepd had waited for that one and noted it at once.
func settleStep(exits []*exitEvent) {
	sleptAfter := func(i int) bool {
		if i < 0 || i+1 >= len(exits) {
			return false
		}
		gap := time.Duration(exits[i+1].mono - exits[i].mono)
		return gap >= stepdSleep && gap <= stepdSleepMax
	}
	var slept uint64 // when the sleep before the present exits began
	for i, e := range exits {
		switch {
		case sleptAfter(i - 1):
			slept = exits[i-1].mono
		case i > 0 && time.Duration(e.mono-exits[i-1].mono) > stepdSleepMax:
			slept = 0
		}
		if slept != 0 && !sleptAfter(i) {
			e.late = e.mono - slept
		}
	}
}
