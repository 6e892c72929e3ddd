package words

import "testing"

func TestSizeRange(t *testing.T) {
	for bins, want := range map[[2]int]string{{0, 0}: "0 B", {1, 1}: "1 B", {2, 2}: "2 to 3 B", {0, 3}: "0 to 7 B", {11, 11}: "1.0 KiB to 2.0 KiB",
		{11, 14}: "1.0 KiB to 16.0 KiB", {39, 39}: "256 GiB to 512 GiB", {62, 64}: "2.0 EiB and more"} {
		if got := sizeRange(bins[0], bins[1]); got != want {
			t.Errorf("sizeRange%v = %q, want %q", bins, got, want)
		}
	}
}
