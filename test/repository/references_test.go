package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cited are the documents whose sections comments name, as in "METRICS 4".
var cited = map[string]string{"METRICS": "doc/METRICS.md", "FLOW": "doc/FLOW.md"}

var (
	// A citation may go over the end of a comment's line.
	citation = regexp.MustCompile(`\b(METRICS|FLOW)(?:\s|//|--|[#*§])+(\d+)`)
	// elsewhere are documents that are not in the repository.
	elsewhere = regexp.MustCompile(`\b(DESIGN|FACTS|STYLE)\b(\.md)?( §?\d+|\.md)|\bseeds/`)
	heading   = regexp.MustCompile(`(?m)^## (\d+)\. `)
)

// commented are the kinds of files that have comments, or are read by people.
var commented = []string{".go", ".c", ".h", ".def", ".sh", ".sql", ".toml", ".md"}

// texts calls do with each text file of the repository that people wrote.
func texts(t *testing.T, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !slices.Contains(commented, filepath.Ext(path)) || path == "test/repository/references_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		do(filepath.ToSlash(path), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCitations: every section that a comment cites is there, and none lies outside the
// repository.
func TestCitations(t *testing.T) {
	t.Chdir("../..")
	sections := map[string]bool{}
	for name, path := range cited {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
			sections[name+" "+m[1]] = true
		}
	}
	found := 0
	texts(t, func(path, text string) {
		for _, m := range citation.FindAllStringSubmatch(text, -1) {
			if found++; !sections[m[1]+" "+m[2]] {
				t.Errorf("%s cites %s %s; %s has no section of that number", path, m[1], m[2], cited[m[1]])
			}
		}
		for _, m := range elsewhere.FindAllString(text, -1) {
			t.Errorf("%s cites %q, which is not in the repository", path, m)
		}
	})
	if found < 30 {
		t.Errorf("only %d citations found: the pattern is out of date", found)
	}
}
