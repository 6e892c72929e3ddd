package node

import (
	"strings"
	"testing"
)

// TestGPUNames: a UUID stands for a GPU where Slurm tells it, else Slurm's number.
func TestGPUNames(t *testing.T) {
	for _, c := range []struct{ numbers, ids, want string }{
		{"", "0", ""},
		{"0,2", "0,2", "0 2"},
		{"0,2", "", "0 2"},
		{"0,2", "GPU-a,GPU-b", "GPU-a GPU-b"},
		{"0,2", "GPU-a", "0 2"},
		{"3", "MIG-x", "MIG-x"},
		{strings.Repeat("1,", 99) + "1", "", strings.Repeat("1 ", 63) + "1"},
	} {
		if got := strings.Join(gpuNames(c.numbers, c.ids), " "); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.numbers, c.ids, got, c.want)
		}
	}
}
