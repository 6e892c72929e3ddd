// Package load tells tests how busy the machine is. Before it stands the kernel's load average;
// after it come tests whose figures other programs spoil.
package load

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// Average is how many threads ran or waited for a processor during the last minute.
func Average(t testing.TB) (load float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		t.Fatal(err)
	}
	return load
}

// SkipIfBusy skips where threads take that share of the processors, or more. why says what a quiet
// machine is needed for.
func SkipIfBusy(t testing.TB, share float64, why string) {
	t.Helper()
	if load := Average(t); load > share*float64(runtime.NumCPU()) {
		t.Skipf("the machine is busy, load %.1f on %d CPUs: %s", load, runtime.NumCPU(), why)
	}
}
