package words

import (
	"slices"
	"strings"
	"testing"

	"jobeff/ingest/listing"
)

// TestOrdersHaveWords: what a list can be sorted by has words, and each order that a form offers is one.
func TestOrdersHaveWords(t *testing.T) {
	for _, by := range listing.Sorts {
		if c, _ := sortColumn(by); c == nil || orders[by].most == "" || orders[by].least == "" {
			t.Errorf("%s is no field by which jobeff sorts, or has no words", by)
		}
	}
	for by := range strings.FieldsSeq(jobOrders) {
		if !slices.Contains(listing.Sorts, strings.TrimPrefix(by, "-")) {
			t.Errorf("a page of jobs cannot be sorted by %s", by)
		}
	}
	for by := range strings.FieldsSeq(sumOrders + " " + workloadOrders) {
		if orders[strings.TrimPrefix(by, "-")].most == "" {
			t.Errorf("no words for %s", by)
		}
	}
	for by, want := range map[string]string{"-memory": "least memory first", "memory": "most memory first", "start": "newest first", "-start": "oldest first"} {
		if got := OrderWords(by); got != want {
			t.Errorf("%s: %s", by, got)
		}
	}
}
