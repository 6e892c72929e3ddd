// Package load tells tests how busy the machine is. Before it stands the kernel's load average;
// after it come tests whose figures other programs spoil.
package load

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// SkipIfBusy skips where threads took more than that share of the processors during the last minute.
// why says what a quiet machine is needed for.
func SkipIfBusy(t testing.TB, share float64, why string) {
	t.Helper()
	if now := Share(t); now > share {
		t.Skipf("the machine is busy, load %.1f on %d CPUs: %s", now*float64(runtime.NumCPU()), runtime.NumCPU(), why)
	}
}

// Share is the share of the processors that threads took during the last minute, above 1 where they
// wanted more than there are.
func Share(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		t.Fatal(err)
	}
	return load / float64(runtime.NumCPU())
}

// SkipIfFew skips where there are fewer CPUs than ranks that wait by asking again and again.
func SkipIfFew(t testing.TB, ranks int) {
	t.Helper()
	if cpus := runtime.NumCPU(); ranks > cpus {
		t.Skipf("%d ranks that wait by asking again and again would take minutes on %d CPUs", ranks, cpus)
	}
}
