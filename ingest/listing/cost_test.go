package listing

import (
	"os"
	"strings"
	"testing"
)

// TestCostsAreThoseOfTheDocument: estimates use the figures that doc/COSTS.md has.
func TestCostsAreThoseOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../doc/COSTS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| ns that an MPI call takes longer, clock included: median | 28.9 | 33.2 |",
		"| … the dearest | 42.8 | 57.2 |",
		"| CPU time of jobeff's part of a prolog, and of an epilog | 4.6 and 5.0 ms |",
		"A record takes 4 KiB, and 32 KiB more for each rank",
	} {
		if !strings.Contains(string(text), row) {
			t.Errorf("doc/COSTS.md lacks %q: bring the constants of cost.go up to date", row)
		}
	}
	if CallSeconds != 33.2e-9 || DearestSeconds != 57.2e-9 || NodeSeconds != (4.6+5.0)/1000 || RecordBytes(0) != 4<<10 || RecordBytes(3) != 100<<10 {
		t.Error("the constants are not those of doc/COSTS.md")
	}
}
