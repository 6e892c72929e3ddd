package jobtest

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// WantLinear checks that large, which is four times the work of small, does not grow with
// its square: it takes about 4 times the CPU time where work is linear, 16 times where each
// part is held against all others. Work that others' use of the caches slowed down is tried
// again.
func WantLinear(t *testing.T, small, large func()) {
	t.Helper()
	var growth float64
	for range 3 {
		if growth = float64(cpuTime(large)) / float64(cpuTime(small)); growth < 10 {
			return
		}
	}
	t.Errorf("four times the work took %.1f times as long", growth)
}

// cpuTime is how long work computes in its own thread; what others do meanwhile is not in it.
func cpuTime(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	work()
	return threadTime() - before
}

func threadTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
