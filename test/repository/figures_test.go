package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// written is how a number with a fraction, or a share in percent, would be written without
// report/figure.
var written = regexp.MustCompile(`%[-+ #0]*(\*|[0-9]+)?(\.(\*|[0-9]+)?)?[feEgG][^a-z]|%d ?%%|strconv\.(Format|Append)Float`)

// notFigures are files that write numbers which nobody reads as a figure.
var notFigures = map[string]string{
	"cmd/jobeff/proposal.go":       "CSV for programs",
	"ingest/store/export.go":       "CSV for programs: every digit that the database has",
	"ingest/job/jobtest/growth.go": "what a failing test says",
	"report/block/svg.go":          "coordinates of a picture",
	"spank/body/decide.go":         "a setting as the site wrote it",
}

// TestFiguresAreWrittenInOnePlace: a number for people is written by report/figure, so that it
// reads the same wherever it stands.
func TestFiguresAreWrittenInOnePlace(t *testing.T) {
	t.Chdir("../..")
	excepted := map[string]bool{}
	for path, p := range readPackages(t) {
		dir := strings.TrimPrefix(strings.TrimPrefix(path, "jobeff"), "/")
		if dir == "report/figure" || within(path, []string{"jobeff/test"}) == 0 {
			continue
		}
		for _, name := range p.files {
			file := filepath.Join(dir, name)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found := written.FindAllString(string(text), -1)
			if notFigures[file] != "" && len(found) > 0 {
				excepted[file] = true
				continue
			}
			if found = slices.Compact(found); len(found) > 0 {
				t.Errorf("%s writes numbers by %q: let report/figure do it, or say in notFigures why not", file, found)
			}
		}
	}
	for file := range notFigures {
		if !excepted[file] {
			t.Errorf("%s writes no numbers: take it out of notFigures", file)
		}
	}
}
