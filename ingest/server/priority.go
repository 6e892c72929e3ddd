package server

import (
	"runtime"
	"syscall"

	"golang.org/x/sync/semaphore"
)

// usualNice is that of a process that nobody made nice.
const usualNice = 0

// ownNice is the nice value of the calling thread.
func ownNice() int {
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return usualNice
	}
	return 20 - raw // Linux answers from 40 to 1
}

// prompt gives answers that somebody waits for the usual priority where the process has a
// lower one and may raise it: jobeffd.service has Nice= and LimitNICE=. On a thread like those
// that take reports, a job's page of 3 ms of work has its turn after all of them, several times:
// while 200 nodes report as fast as they can, the slowest hundredth took 40 to 50 ms instead of
// about 25. However often users ask, one core remains for reports, where there are two.
type prompt struct {
	nice  int // the process's
	cores *semaphore.Weighted
}

func newPrompt(cores int) prompt {
	return prompt{ownNice(), semaphore.NewWeighted(int64(max(cores-1, 1)))}
}

// begin has the calling goroutine go on at the usual priority, where it may, until end is
// called.
func (p *prompt) begin() (end func()) {
	if p.nice <= usualNice || !p.cores.TryAcquire(1) {
		return func() {}
	}
	runtime.LockOSThread()
	raised := syscall.Setpriority(syscall.PRIO_PROCESS, 0, usualNice) == nil // of this thread alone
	return func() {
		if raised {
			syscall.Setpriority(syscall.PRIO_PROCESS, 0, p.nice)
		}
		runtime.UnlockOSThread()
		p.cores.Release(1)
	}
}
