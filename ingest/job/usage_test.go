package job

import (
	"testing"
	"time"
)

// Only sacct's times, whole seconds, tell a suspension. A node's end some ms later is none.
func TestSuspended(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		end, elapsed, want time.Duration
	}{
		{10 * time.Second, 7 * time.Second, 3 * time.Second},
		{7 * time.Second, 7 * time.Second, 0},
		{7400 * time.Millisecond, 7 * time.Second, 0},
		{6 * time.Second, 7 * time.Second, 0},
	} {
		j := Job{Submit: start, Start: start, End: start.Add(c.end), Elapsed: c.elapsed}
		if got := j.Suspended(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
