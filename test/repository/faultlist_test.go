package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	faultRow  = regexp.MustCompile(`(?m)^\| (\d+)(?:-(\d+))? \| ([^|]+) \| ([^|]+) \|$`)
	anyFault  = regexp.MustCompile(`(?m)^\| \d+(-\d+)? \|`)
	namedTest = regexp.MustCompile(`^([a-z/-]+) ((?:Test|Fuzz)\w+)$`)
)

// TestFaultsHaveTests: every fault stands in FAULTS.md once, and the tests that it names
// exist.
func TestFaultsHaveTests(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("test/FAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	seen, highest := map[int]int{}, 0
	rows := faultRow.FindAllStringSubmatch(string(text), -1)
	if n := len(anyFault.FindAll(text, -1)); n == 0 || n != len(rows) {
		t.Errorf("%d rows begin with a number, of which %d can be read", n, len(rows))
	}
	for _, row := range rows {
		first, _ := strconv.Atoi(row[1])
		last := first
		if row[2] != "" {
			last, _ = strconv.Atoi(row[2])
		}
		for n := first; n <= last; n++ {
			seen[n]++
			highest = max(highest, n)
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
	for n := 1; n <= highest; n++ {
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
