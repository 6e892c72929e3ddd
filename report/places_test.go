package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/view"
)

// placedJob has places of a program whose lines were found, and of a library whose lines were not.
func placedJob() *job.Job {
	return &job.Job{DisplayID: "123", Executions: []job.Execution{{
		Executable: "/home/a/solver", Nodes: []job.NodeShare{{Ranks: 4}},
		Classes: []job.Call{{Name: "collective", Time: 100 * time.Second}, {Name: "file", Time: time.Hour}},
		Places: &job.Places{
			Looked:  true,
			Modules: []job.Module{{Path: "/home/a/solver", BuildID: "ab"}, {Path: "/lib/\x1b[2Jx.so", BuildID: "cd"}},
			List: []job.Place{
				{Function: "MPI_Allreduce", Calls: 4, Time: 31 * time.Second, Ranks: 4, Most: 20 * time.Second, Least: time.Second,
					Frames: []job.Frame{{Symbol: "exchange_halo", File: "/src/solver.f90", Line: 212}, {Symbol: "step", File: "/src/solver.f90", Line: 20}}},
				{Function: "MPI_Wait", Calls: 900, Time: 30 * time.Second, Samples: 100, Sampled: 30 * time.Second, Ranks: 3, Most: 20 * time.Second, Least: time.Second,
					Frames: []job.Frame{{Module: 1, Offset: 0x1234, Why: "rebuilt since: its file has another build-id"}}},
				{Function: "MPI_Allreduce", Calls: 4, Time: 9 * time.Second, Ranks: 4, Most: 5 * time.Second, Least: time.Second,
					Frames: []job.Frame{{Symbol: "exchange_halo", File: "/src/solver.f90", Line: 212}}},
				{Function: "MPI_Send", Calls: 1, Time: time.Second, Ranks: 1, Most: time.Second, Least: time.Second},
			},
		},
	}}}
}

// TestManyRanks: numbers of ranks are written in one way.
func TestManyRanks(t *testing.T) {
	j := placedJob()
	j.Executions[0].Nodes[0].Ranks, j.Executions[0].Places.List[0].Ranks = 1024, 1024
	var b bytes.Buffer
	if err := TextOfPlaces(&b, view.NewPlaces(j, false), Options{Width: 200}); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "), "on 1,024 ranks of 1,024, ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestAllPlaces(t *testing.T) {
	var all bytes.Buffer
	if err := TextOfPlaces(&all, view.NewPlaces(placedJob(), false), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"solver.f90:212 in exchange_halo, called from solver.f90:20 in step", "about 900 calls", `\x1b[2Jx.so`, "31.0 s on 4 ranks of 4, 1.0 s to 20.0 s each"} {
		if !strings.Contains(strings.Join(strings.Fields(all.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, all.String())
		}
	}
	w := serialised()
	j := placedJob()
	j.Executions[0].Windows = &w
	var out bytes.Buffer
	if err := TextOfPlaces(&out, view.NewPlaces(j, false), Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	_, waits, _ := strings.Cut(out.String(), "make other ranks late")
	var lines []string
	for _, m := range regexp.MustCompile(`f90:(\d+)`).FindAllStringSubmatch(waits, -1) {
		lines = append(lines, m[1])
	}
	if got := strings.Join(lines, " "); got != "212 88 40 9" || strings.Count(waits, "of these waits") < 2 || !strings.Contains(waits, "MPI_Isend") {
		t.Errorf("waits at lines %s:\n%s", got, out.String())
	}
	out.Reset()
	if err := view.Write(&out, view.NewPlaces(j, true)); err != nil || !strings.Contains(out.String(), `"exchange_halo"`) {
		t.Errorf("%v: %s", err, out.String())
	}
	var none bytes.Buffer
	if err := TextOfPlaces(&none, view.NewPlaces(&job.Job{DisplayID: "5"}, false), Options{}); err != nil || !strings.Contains(none.String(), "no places are known of job 5") {
		t.Errorf("%v, %q", err, none.String())
	}
}

// TestPlacesOfOneExecution: of several sruns those of the one with the most core time are told, as those of one, and where the
// others' are; a step has its own.
func TestPlacesOfOneExecution(t *testing.T) {
	j := placedJob()
	for i, step := range []string{"0", "1", "1", "2"} {
		e := placedJob().Executions[0]
		e.Steps, e.Size, e.Nodes = []string{step}, 4, []job.NodeShare{{Ranks: 4, ElapsedMax: time.Duration(1+i%3) * time.Hour, ElapsedSum: time.Duration(4*(1+i%3)) * time.Hour}}
		e.Executable += step
		if j.Executions = append(j.Executions[:i], e); i == 3 {
			j.Executions[3].Classes, j.Executions[3].Places = []job.Call{{Name: "collective", Time: 50 * time.Second}}, nil // it was not kept
		}
	}
	text := func() string {
		var out bytes.Buffer
		if err := TextOfPlaces(&out, view.NewPlaces(j, false), Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	const among = "all of these are of one of the job's 4 executions, in step 1, with 29 % of their time in MPI; `jobeff where 123.0` has those of step 0"
	if got := text(); !strings.Contains(got, "called in solver1") || !strings.Contains(got, among) || strings.Contains(got, "123.1") || strings.Contains(got, "123.2") {
		t.Errorf("of the job: %s", got)
	}
	if notes := strings.Join(placesPart(j).Notes, " "); !strings.Contains(notes, among) {
		t.Errorf("its page: %s", notes)
	}
	j.DisplayID, j.Executions = "123.0", j.Executions[:1]
	if got := text(); !strings.Contains(got, "called in solver0") || strings.Contains(got, "executions") {
		t.Errorf("of a step: %s", got)
	}
	j.Executions[0].Places = nil
	if got := text(); !strings.Contains(got, "no places are known of job 123.0") || !strings.Contains(got, "or, of a job of more than 8 executions, others took more core time") {
		t.Errorf("of a step without: %s", got)
	}
}

// jobeffd's page and document have what travels: neither names nor callers, which nobody has checked.
func TestPlacesThatNobodyLookedAt(t *testing.T) {
	j := placedJob()
	p := j.Executions[0].Places
	p.Looked = false
	p.List[0].Frames = []job.Frame{{Offset: 0x10}, {Offset: 0x20}}
	var json, html bytes.Buffer
	if err := view.Write(&json, view.NewPlaces(j, true)); err != nil {
		t.Fatal(err)
	}
	if got := json.String(); strings.Contains(got, "callers") || !strings.Contains(got, `"offset": 16`) || !strings.Contains(got, `"places_share": 0.7`) {
		t.Errorf("%s", got)
	}
	j.Metrics = &job.Metrics{Elapsed: 100, Ranks: 4}
	if err := pageOf(&html, j, nil, nil, Links{}); err != nil {
		t.Fatal(err)
	}
	if got := html.String(); !strings.Contains(got, "solver&#43;0x10") || strings.Contains(got, "0x20") || strings.Contains(got, "\x1b") {
		t.Errorf("the page has %v", got[max(strings.Index(got, "Where in"), 0):])
	}
}

// placesPart is what a job's page says of its places.
func placesPart(j *job.Job) block.Part {
	j.Metrics = new(job.Metrics)
	return viewOf(j, nil, nil, true).Words().Places
}

func TestPlacesPart(t *testing.T) {
	part := placesPart(placedJob())
	want := []string{
		"MPI_Allreduce 40 % at solver.f90:212 in exchange_halo",
		`MPI_Wait 30 % (24 % to 36 %) at \x1b[2Jx.so+0x1234`,
		"MPI_Send 1 % at a place that is not known",
	}
	if strings.Join(part.Items, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", part.Items, want)
	}
	notes := strings.Join(part.Notes, "\n")
	if !strings.Contains(notes, "70 % of the time in MPI") || !strings.Contains(notes, "x.so: rebuilt since") {
		t.Errorf("notes %q", notes)
	}
	j := placedJob()
	j.Executions[0].Places.Looked = false
	if notes := strings.Join(placesPart(j).Notes, "\n"); !strings.Contains(notes, "`jobeff where 123` names") {
		t.Errorf("where nobody looked: %q", notes)
	}
}

// TestPlacesAgree: places and all of them together do not contradict each other where samples tell of more time than
// there was.
func TestPlacesAgree(t *testing.T) {
	j := placedJob()
	j.Executions[0].Places.List[1].Time, j.Executions[0].Places.List[1].Sampled = 90*time.Second, 90*time.Second
	part := placesPart(j)
	if said := strings.Join(part.Items, "\n"); !strings.Contains(said, "MPI_Wait 59 % (41 % to 77 %) at") || !strings.Contains(said, "MPI_Allreduce 40 % at") {
		t.Errorf("%s", said)
	}
	if said := strings.Join(part.Notes, "\n"); !strings.Contains(said, "all places together: 99 % of the time in MPI") {
		t.Errorf("%s", said)
	}
}
