package words

import (
	"strings"
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
	all := OfSums(&SumsPage{Of: "user", Counted: "job", Heading: "Users", Query: listing.JobQuery{Name: "CH", Sort: "lost", Limit: 9}, Rows: hostileHours()})
	if !strings.HasPrefix(all.Notes[0], "1 user. Total of 10 jobs: 100 core-hours used") || len(all.Table.Rows) != 1 {
		t.Errorf("%+v", all)
	}
}

func TestSizeRange(t *testing.T) {
	for bins, want := range map[[2]int]string{{0, 0}: "0 B", {1, 1}: "1 B", {2, 2}: "2 to 3 B", {0, 3}: "0 to 7 B", {11, 11}: "1.0 KiB to 2.0 KiB",
		{11, 14}: "1.0 KiB to 16.0 KiB", {39, 39}: "256 GiB to 512 GiB", {62, 64}: "2.0 EiB and more"} {
		if got := sizeRange(bins[0], bins[1]); got != want {
			t.Errorf("sizeRange%v = %q, want %q", bins, got, want)
		}
	}
}
