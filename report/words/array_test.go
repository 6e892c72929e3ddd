package words

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"jobeff/ingest/job"
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

// TestFoldedList: an array is a line, with what all its tasks have; of a very large one as far as it is known.
func TestFoldedList(t *testing.T) {
	lines := append(listing.LinesOf(fixtureList()), arrayLine())
	eachView(t, "list-array", func(w io.Writer, opts text.Options) error {
		return List(w, lines, ListOptions{Options: opts, Title: "Your jobs, the last 7 days; most core-hours lost first", Sort: "lost", Most: 8, Rest: "jobeff -S -7days"})
	})
	for options, want := range map[*ListOptions]int{{}: 11, {Parsable2: true}: 11, {Most: 3}: 3, {Most: 3, Skip: 9}: 2, {Skip: 50, Most: 2}: 0, {Sort: "-pe"}: 11} {
		options.NoHeader = true
		var out bytes.Buffer
		if err := List(&out, lines, *options); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(out.String(), "\n")
		if left := max(0, 11-want-options.Skip); options.Most > 0 && left > 0 { // says that there are more
			lines--
		}
		if lines != want {
			t.Errorf("%+v: %d lines, want %d\n%s", options, lines, want, out.String())
		}
	}
	large := arrayLine()
	for i := range large.Jobs {
		large.Jobs[i].CPUs, large.Jobs[i].Flags = 49, [][]string{nil, {}, {"low"}, {"low", "idle"}}[i%4]
	}
	large.Sum = listing.Hours{Jobs: 5012, Used: 1234, Judged: 1000, Lost: 321}
	var out bytes.Buffer
	all := listing.Selected{Lines: 7, Sum: listing.Hours{Jobs: 6000, Used: 2000, Judged: 1500, Lost: 500}, Unjudged: 1200}
	if err := List(&out, []listing.Line{large}, ListOptions{Columns: shown("jobid,state,corehours,lost,mpitime,cores,flags"), All: &all}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"900    8 CD, 1 F, 5,003 more   1,234   321        -     49  6 low, 3 idle", "and 6 more: raise --limit", "Total of 6,000 jobs: 2,000 core-hours used; 500 lost of 1,500",
		"the present rules have not judged 1,200 yet"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset() // without flags nobody asks who judged
	if err := List(&out, []listing.Line{large}, ListOptions{Columns: shown("jobid,lost"), All: &all}); err != nil || strings.Contains(out.String(), "judged 1,200") {
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

// TestNeverCut: a list cuts names, and no job's id, whatever width is asked for.
func TestNeverCut(t *testing.T) {
	j := *fixtures()["good"]
	j.DisplayID, j.Name, j.User = "1234567890_1234567", strings.Repeat("n", 200), strings.Repeat("u", 200)
	for _, opts := range []ListOptions{{}, {Columns: shown("jobid%3,jobname%5")}, {Columns: shown("jobid%-3")}} {
		var out bytes.Buffer
		if err := List(&out, listing.LinesOf([]job.Job{j}), opts); err != nil || !strings.Contains(out.String(), j.DisplayID) {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}

// TestListColours: what is bad is red, the heads are not, and without colours there are none.
func TestListColours(t *testing.T) {
	var out bytes.Buffer
	if err := List(&out, listing.LinesOf(fixtureList()), ListOptions{Options: text.Options{Color: true}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[31mTIMEOUT", "\x1b[31m 0.62"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "4711 ") && strings.Contains(line, "\x1b") {
			t.Errorf("a good job is red: %q", line)
		}
	}
}
