package jobeff

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// lastFault is the highest number of FAULTS.md.
const lastFault = 114

var (
	faultRow  = regexp.MustCompile(`(?m)^\| (\d+)(?:-(\d+))? \| ([^|]+) \| ([^|]+) \|$`)
	namedTest = regexp.MustCompile(`^([a-z/-]+) ((?:Test|Fuzz)\w+)$`)
)

// TestFaultsHaveTests: every fault stands in FAULTS.md once, and the tests that it names
// exist.
func TestFaultsHaveTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("test/FAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for _, row := range faultRow.FindAllStringSubmatch(string(text), -1) {
		first, _ := strconv.Atoi(row[1])
		last := first
		if row[2] != "" {
			last, _ = strconv.Atoi(row[2])
		}
		for n := first; n <= last; n++ {
			seen[n]++
		}
		if why, none := strings.CutPrefix(row[4], "none: "); none && why != "" {
			t.Logf("fault %s, %s, has no test: %s", row[1], row[3], why)
			continue
		}
		for name := range strings.SplitSeq(row[4], ", ") {
			if m := namedTest.FindStringSubmatch(name); m == nil || !hasTest(t, m[1], m[2]) {
				t.Errorf("fault %s: there is no test %q", row[1], name)
			}
		}
	}
	for n := 1; n <= lastFault; n++ {
		if seen[n] != 1 {
			t.Errorf("fault %d stands there %d times", n, seen[n])
		}
	}
}

// hasTest looks for a test's function in a folder's files.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
