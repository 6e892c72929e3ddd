package jobtest

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// WantLinear checks that the work does not grow with its square. large is four times small: it
// takes about 4 times the CPU time if the work is linear, and 16 times if every part is compared
// with all others. It tries again, since other programs' use of the caches slows work down.
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

// cpuTime is how long work computes in its own thread; other threads do not count.
func cpuTime(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	work()
	return threadTime() - before
}

// threadTime is exact to the nanosecond. getrusage's time grows with the kernel's tick.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
