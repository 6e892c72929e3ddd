package words

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"jobeff/ingest/listing"
	"jobeff/report/page"
	"jobeff/report/text"
)

func arrayHTML(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ArrayHTML(&b, arrayTasks(), true, siteLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArrayViews(t *testing.T) {
	eachView(t, "array", func(w io.Writer, opts text.Options) error { return Array(w, arrayTasks(), false, opts) })
	shown := arrayHTML(t)
	checkPage(t, shown)
	golden(t, "array.html", shown)
	hostile := arrayTasks()
	for i := range hostile {
		hostile[i].Name, hostile[i].Program, hostile[i].State, hostile[i].User = fixtures()["hostile"].Name, fixtures()["hostile"].Name, fixtures()["hostile"].State, fixtures()["hostile"].User
	}
	eachView(t, "array-hostile", func(w io.Writer, opts text.Options) error { return Array(w, hostile, false, opts) })
	var out bytes.Buffer
	if err := ArrayHTML(&out, hostile, false, page.Links{}); err != nil || strings.Contains(out.String(), "<script") {
		t.Errorf("%v: %s", err, out.String())
	}
}

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
