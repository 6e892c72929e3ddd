package words

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/document"
	"jobeff/report/text"
)

func TestWorkloadViews(t *testing.T) {
	for name, w := range workloads() {
		study := workload.NewStudy(w, nil, began, curve.Settings{})
		eachView(t, "workload-"+name, func(w io.Writer, opts text.Options) error {
			err := Workload(w, study, opts)
			io.WriteString(w, "----\n")
			return errors.Join(err, WorkloadPlan(w, study, opts))
		})
	}
}

// TestWorkloadProgram: of several programs of one name that of the runs that are shown.
func TestWorkloadProgram(t *testing.T) {
	w := fixtureWorkload("mixed", fixtureRun(1, 2, 1, 50, 49), fixtureRun(2, 2, 1, 9, 8))
	w.Runs[1].Collectives, w.Runs[1].Executable, w.Executable = 5, "/opt/other", "/opt/other"
	j := &job.Job{Cluster: "test", JobID: 1, Attempt: 1, Executions: []job.Execution{{Size: 2}}}
	var out bytes.Buffer
	if err := Workload(&out, workload.NewStudy(w, j, began, curve.Settings{}), views["80"]); err != nil || !strings.Contains(out.String(), "Program    /usr/bin/lmp,") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestWorkloadsList(t *testing.T) {
	var studies []*workload.Study
	for _, name := range []string{"scales", "small", "weak", "one", "sections", "hostile", "none"} {
		studies = append(studies, workload.NewStudy(workloads()[name], nil, began, curve.Settings{}))
	}
	named := []listing.WorkloadSummary{{Name: "fit\n\x1b[31m", Runs: 70, FewestCores: 1, MostCores: 16, CoreHours: 2200, Newest: job.Run{User: "anna"}}}
	eachView(t, "workloads", func(w io.Writer, opts text.Options) error {
		return Workloads(w, studies, named, ListOptions{Options: opts, More: true})
	})
	var parsable, out bytes.Buffer
	if err := Workloads(&parsable, studies, named, ListOptions{Parsable2: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "workloads-parsable.txt", parsable.Bytes())
	if err := Workloads(&out, nil, nil, ListOptions{}); err != nil || out.Len() == 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestWorkloadJSON(t *testing.T) {
	for _, name := range []string{"small", "weak", "sections", "hostile", "none"} {
		var out bytes.Buffer
		study := workload.NewStudy(workloads()[name], nil, began, curve.Settings{})
		if err := document.WriteWorkload(&out, study); err != nil {
			t.Fatal(err)
		}
		checkASCII(t, out.Bytes())
		if name != "hostile" {
			golden(t, "workload-"+name+".json", out.Bytes())
		}
		out.Reset()
		if err := document.WritePlan(&out, study); err != nil || !json.Valid(out.Bytes()) {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}

// FuzzWorkload renders whatever a server could answer.
func FuzzWorkload(f *testing.F) {
	for _, w := range workloads() {
		b, err := json.Marshal(w)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	run := fixtureRun
	for _, w := range []*job.Workload{
		fixtureWorkload("far", run(1, 1, 1, 1e10, 1e10), run(2, 1<<30, 1, 1e-6, 1e-6), run(3, 2, 1<<40, 1e-6, 1e-6)),
		fixtureWorkload("farther", run(1, 1, -1, 1e308, 1e308), run(2, 1<<62, 1, 1e-308, 1e-308), run(3, -2, 0, -1, -1)),
		fixtureWorkload("alike", run(1, 1, 1, 1, 1), run(2, 2, 1, 1, .5), run(3, 4, 0, 1, .25), run(4, 1<<29, 0, 1, 1e-9)),
	} {
		w.Runs[0].Sections = []job.RunSection{{Label: "a", Own: 1e308}, {Label: "a", Own: -1e308}}
		w.Runs[1].Counters = &job.Counters{Instructions: 1<<64 - 1, Cycles: 1}
		b, err := json.Marshal(w)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var w job.Workload
		if json.Unmarshal(b, &w) != nil || len(w.Runs) > 50 {
			return
		}
		study := workload.NewStudy(&w, nil, began, curve.Settings{})
		for _, opts := range views {
			var out bytes.Buffer
			if err := Workload(&out, study, opts); err != nil {
				t.Fatal(err)
			}
			_ = Workloads(&out, []*workload.Study{study}, []listing.WorkloadSummary{{Name: w.Name}}, ListOptions{Options: opts})
			_ = WorkloadPlan(&out, study, opts)
			for _, r := range out.String() {
				if r != '\n' && r != 0x1b && (r < ' ' || r == 0x7f || r >= 0x80 && !opts.Unicode) || r == 0x1b && !opts.Color {
					t.Fatalf("character %U in the text", r)
				}
			}
			out.Reset()
			if err := document.WriteWorkload(&out, study); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNoneKnown: where no fewer cores are known to be better, it is said how well the newest run
// did, not that it is well.
func TestNoneKnown(t *testing.T) {
	for _, c := range []struct {
		runs        []job.Run
		brief, page string
		good        bool
	}{
		{[]job.Run{fixtureRun(1, 1, 1, 101, 100), fixtureRun(2, 2, 1, 51, 50), fixtureRun(3, 4, 1, 26, 25)}, "none known, PE 0.96",
			"No fewer cores are known to be better. Runs on 4 cores have a parallel efficiency of 0.96.", true},
		{[]job.Run{fixtureRun(1, 16, 1, 200, 80), fixtureRun(2, 64, 1, 50, 20)}, "none known, PE 0.40",
			"No fewer cores are known to be better. Runs on 64 cores have a parallel efficiency of 0.40.", false},
	} {
		s := workload.NewStudy(fixtureWorkload("w", c.runs...), nil, began, curve.Settings{})
		if got := briefAdvice(s); got != c.brief {
			t.Errorf("%q, want %q", got, c.brief)
		}
		if h := workloadHeadline(s); h.Text != c.page || h.Good != c.good || h.Bad == c.good {
			t.Errorf("%+v, want %q", h, c.page)
		}
	}
}
