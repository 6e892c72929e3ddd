package words

import (
	"fmt"
	"regexp"
	"testing"

	"jobeff/ingest/job"
)

// TestOneUnitOfSections: the times of a column are all in seconds or all in hours.
func TestOneUnitOfSections(t *testing.T) {
	v := func(s float64) *float64 { return &s }
	said := fmt.Sprint(instancesTable([]job.SectionFigures{{Label: "a", Ranks: 2, Imbalance: v(14_131), EntryImbalanceMean: v(4_010), EntryImbalanceVariance: v(250_000)}})[0].Rows)
	if regexp.MustCompile(`\d s\b`).MatchString(said) || !regexp.MustCompile(`\d\d:\d\d:\d\d`).MatchString(said) {
		t.Error(said)
	}
}
