package words

import (
	"testing"

	"jobeff/ingest/listing"
)

// TestSumsAreSorted: by each order, what is selected is summed up.
func TestSumsAreSorted(t *testing.T) {
	for by, want := range map[string]string{"lost": "c a b", "-lost": "a b c", "corehours": "b a c", "jobs": "a c b", "-jobs": "b c a", "name": "c b a", "-name": "a b c"} {
		rows := []listing.NamedHours{{Name: "a", Hours: listing.Hours{Jobs: 9, Used: 2}}, {Name: "b", Hours: listing.Hours{Jobs: 1, Used: 3}}, {Name: "c", Hours: listing.Hours{Jobs: 5, Used: 1, Lost: 1}}}
		sortHours(rows, by)
		if got := rows[0].Name + " " + rows[1].Name + " " + rows[2].Name; got != want {
			t.Errorf("%s: %s, want %s", by, got, want)
		}
	}
}
