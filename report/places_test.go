package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/report/page"
	"jobeff/report/text"
	"jobeff/report/view"
	"jobeff/report/wordstest"
)

var placedJob = wordstest.Placed

func TestAllPlaces(t *testing.T) {
	var all, one bytes.Buffer
	for b, function := range map[*bytes.Buffer]string{&all: "", &one: "mpi_wait"} {
		if err := TextOfPlaces(b, view.NewPlaces(placedJob(), function, false), text.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"solver.f90:212 in exchange_halo, called from solver.f90:20 in step", "about 900 calls", `\x1b[2Jx.so`, "31.0 s on 4 ranks of 4, 1.0 s to 20.0 s each"} {
		if !strings.Contains(strings.Join(strings.Fields(all.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, all.String())
		}
	}
	if got := one.String(); strings.Contains(got, "MPI_Allreduce") || !strings.Contains(got, "MPI_Wait") || strings.Contains(got, "\x1b") {
		t.Errorf("places of MPI_Wait:\n%s", got)
	}
	w := serialised()
	for function, want := range map[string]string{"": "212 88 40 9", "mpi_wait": "", "mpi_send": "212 88 9"} { // that of MPI_Wait has no line
		var out bytes.Buffer
		j := placedJob()
		j.Executions[0].Windows = &w
		if err := TextOfPlaces(&out, view.NewPlaces(j, function, false), text.Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		_, waits, _ := strings.Cut(out.String(), "make other ranks late")
		var lines []string
		for _, m := range regexp.MustCompile(`f90:(\d+)`).FindAllStringSubmatch(waits, -1) {
			lines = append(lines, m[1])
		}
		if function == "mpi_wait" != (strings.Count(waits, "of these waits") == 1) || !strings.Contains(waits, "MPI_Isend") != (function == "mpi_send") {
			t.Errorf("waits of %q:\n%s", function, waits)
		}
		if got := strings.Join(lines, " "); got != want {
			t.Errorf("waits of %q at lines %s, want %s:\n%s", function, got, want, out.String())
		}
		out.Reset()
		if err := view.Write(&out, view.NewPlaces(j, function, true)); err != nil || strings.Contains(out.String(), `"exchange_halo"`) != (want != "") {
			t.Errorf("%v, of %q: %s", err, function, out.String())
		}
	}
	var none bytes.Buffer
	if err := TextOfPlaces(&none, view.NewPlaces(&job.Job{DisplayID: "5"}, "", false), text.Options{}); err != nil || !strings.Contains(none.String(), "no places are known of job 5") {
		t.Errorf("%v, %q", err, none.String())
	}
}

// jobeffd's page and document have what travels: neither names nor callers, which nobody has checked.
func TestPlacesThatNobodyLookedAt(t *testing.T) {
	j := placedJob()
	p := j.Executions[0].Places
	p.Looked = false
	p.List[0].Frames = []job.Frame{{Offset: 0x10}, {Offset: 0x20}}
	var json, html bytes.Buffer
	if err := view.Write(&json, view.NewPlaces(j, "", true)); err != nil {
		t.Fatal(err)
	}
	if got := json.String(); strings.Contains(got, "callers") || !strings.Contains(got, `"offset": 16`) || !strings.Contains(got, `"places_share": 0.7`) {
		t.Errorf("%s", got)
	}
	var one bytes.Buffer
	if err := view.Write(&one, view.NewPlaces(j, "mpi_wait", true)); err != nil || strings.Contains(one.String(), "Allreduce") || !strings.Contains(one.String(), "MPI_Wait") {
		t.Errorf("of one function: %v, %s", err, one.String())
	}
	j.Metrics = &job.Metrics{Elapsed: 100, Ranks: 4}
	if err := pageOf(&html, j, nil, nil, page.Links{}); err != nil {
		t.Fatal(err)
	}
	if got := html.String(); !strings.Contains(got, "solver&#43;0x10") || strings.Contains(got, "0x20") || strings.Contains(got, "\x1b") {
		t.Errorf("the page has %v", got[max(strings.Index(got, "Where in"), 0):])
	}
}
