package node

import (
	"cmp"
	"slices"
	"time"
)

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
