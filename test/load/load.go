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
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		t.Fatal(err)
	}
	if load > share*float64(runtime.NumCPU()) {
		t.Skipf("the machine is busy, load %.1f on %d CPUs: %s", load, runtime.NumCPU(), why)
	}
}
