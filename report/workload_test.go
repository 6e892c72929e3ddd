package report

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
	"jobeff/report/text"
	"jobeff/report/view"
	"jobeff/report/words"
)

func TestWorkloadViews(t *testing.T) {
	for name, w := range workloads() {
		study := workload.NewStudy(w, nil, began, curve.Settings{})
		eachView(t, "workload-"+name, func(w io.Writer, opts text.Options) error {
			err := TextOfWorkload(w, view.NewWorkload(study, opts.Unicode), opts)
			io.WriteString(w, "----\n")
			return errors.Join(err, TextOfPlan(w, view.NewPlan(study, opts.Unicode), opts))
		})
	}
}

// TestWorkloadProgram: of several programs of one name that of the runs that are shown.
func TestWorkloadProgram(t *testing.T) {
	w := fixtureWorkload("mixed", fixtureRun(1, 2, 1, 50, 49), fixtureRun(2, 2, 1, 9, 8))
	w.Runs[1].Collectives, w.Runs[1].Executable, w.Executable = 5, "/opt/other", "/opt/other"
	j := &job.Job{Cluster: "test", JobID: 1, Attempt: 1, Executions: []job.Execution{{Size: 2}}}
	var out bytes.Buffer
	if err := TextOfWorkload(&out, view.NewWorkload(workload.NewStudy(w, j, began, curve.Settings{}), true), views["80"]); err != nil || !strings.Contains(out.String(), "Program    /usr/bin/lmp,") {
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
		return TextOfWorkloads(w, view.NewWorkloads(studies, named, true, opts.Unicode), ListForm{Options: opts})
	})
	var parsable, out bytes.Buffer
	if err := TextOfWorkloads(&parsable, view.NewWorkloads(studies, named, false, false), ListForm{Parsable2: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "workloads-parsable.txt", parsable.Bytes())
	if err := TextOfWorkloads(&out, view.NewWorkloads(nil, nil, false, false), ListForm{}); err != nil || out.Len() == 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestWorkloadJSON(t *testing.T) {
	for _, name := range []string{"small", "weak", "sections", "hostile", "none"} {
		var out bytes.Buffer
		study := workload.NewStudy(workloads()[name], nil, began, curve.Settings{})
		if err := view.Write(&out, view.NewWorkload(study, true)); err != nil {
			t.Fatal(err)
		}
		checkASCII(t, out.Bytes())
		if name != "hostile" {
			golden(t, "workload-"+name+".json", out.Bytes())
		}
		out.Reset()
		if err := view.Write(&out, view.NewPlan(study, true)); err != nil || !json.Valid(out.Bytes()) {
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
			if err := TextOfWorkload(&out, view.NewWorkload(study, opts.Unicode), opts); err != nil {
				t.Fatal(err)
			}
			_ = TextOfWorkloads(&out, view.NewWorkloads([]*workload.Study{study}, []listing.WorkloadSummary{{Name: w.Name}}, false, opts.Unicode), ListForm{Options: opts})
			_ = TextOfPlan(&out, view.NewPlan(study, opts.Unicode), opts)
			for _, r := range out.String() {
				if r != '\n' && r != 0x1b && (r < ' ' || r == 0x7f || r >= 0x80 && !opts.Unicode) || r == 0x1b && !opts.Color {
					t.Fatalf("character %U in the text", r)
				}
			}
			out.Reset()
			if err := view.Write(&out, view.NewWorkload(study, true)); err != nil {
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
		if got := view.NewWorkloads([]*workload.Study{s}, nil, false, true).Words.Table.Rows[0][5]; got != c.brief {
			t.Errorf("%q, want %q", got, c.brief)
		}
		if h := view.NewWorkload(s, true).Words.Headline; h.Text != c.page || h.Good != c.good || h.Bad == c.good {
			t.Errorf("%+v, want %q", h, c.page)
		}
	}
}

// TestForms shows one rich case to every kind of reader: a job whose ranks were killed, among the
// runs of its workload, with all that the rules say, the workload's curve, and a list. Its state
// is one whose core count is judged.
func TestForms(t *testing.T) {
	j, w := ranked(fixtures()["killed"]), workloads()["sections"]
	j.JobID, j.DisplayID, j.State = w.Runs[3].JobID, w.Runs[3].DisplayID, "COMPLETED"
	j.Executions[0].Sections = fixtures()["sections"].Executions[0].Sections
	study := workload.NewStudy(w, j, began, curve.Settings{})
	for reader, opts := range views {
		t.Run(reader, func(t *testing.T) {
			var out bytes.Buffer
			err := errors.Join(textOf(&out, j, study, judged(t, j), opts), TextOfWorkload(&out, view.NewWorkload(study, opts.Unicode), opts),
				textOfList(&out, listing.LinesOf(fixtureList()), words.ListOptions{}, opts))
			if err != nil {
				t.Fatal(err)
			}
			checkFits(t, out.String(), opts)
			golden(t, "forms-"+reader+".txt", out.Bytes())
		})
	}
}
