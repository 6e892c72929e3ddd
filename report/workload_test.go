package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/view"
	"jobeff/report/words"
)

// fixtureRun is a run on n cores that took t seconds, each of its ranks useful for u.
func fixtureRun(id uint32, n, nodes int, t, u float64) job.Run {
	return job.Run{Cluster: "test", JobID: id, Attempt: 1, DisplayID: fmt.Sprint(id), UID: 1000, User: "anna",
		Start: began.Add(time.Duration(id) * time.Hour), Ranks: n, Threads: 1, Nodes: nodes, Ended: true, Coverage: 1,
		Elapsed: t, Useful: u * float64(n), Conditions: &job.Conditions{UsefulMax: u}, MPITime: (t - u) * float64(n), Collectives: 1000, Executable: "/usr/bin/lmp"}
}

// fixtureWorkload is one of such runs.
func fixtureWorkload(name string, runs ...job.Run) *job.Workload {
	return &job.Workload{Key: "3fa2c1aabbccddeeff00", Name: name, Cluster: "test", UID: 1000, User: "anna", Executable: "/usr/bin/lmp", Runs: runs}
}

// workloads are those that every view is looked at with.
func workloads() map[string]*job.Workload {
	run := fixtureRun
	scales := fixtureWorkload("lmp-3fa2c1", run(1, 16, 1, 1000, 960), run(2, 32, 1, 515, 483), run(3, 64, 2, 275, 245), run(4, 64, 2, 281, 246),
		run(5, 128, 4, 162, 126), run(6, 256, 8, 115, 67), run(7, 256, 8, 118, 66), run(8, 512, 16, 184, 36), run(9, 512, 16, 186, 37))
	scales.Mute = &job.Mute{Since: began, Until: began.Add(240 * time.Hour), Reason: "a benchmark"}
	small := fixtureWorkload("lmp-small", run(0, 2, 1, 71, 55), run(1, 1, 1, 101, 100), run(2, 2, 1, 70, 55), run(3, 4, 2, 130, 28), run(4, 4, 2, 133, 28))
	weak := fixtureWorkload("hpcg", run(1, 1, 1, 100, 99), run(2, 2, 1, 103, 99), run(3, 4, 1, 108, 98), run(4, 4, 1, 107, 99))
	one := fixtureWorkload("lmp-aa0011", run(1, 8, 1, 100, 80), run(2, 8, 1, 109, 81), run(3, 16, 1, 60, 30))
	one.Runs[2].Ended = false
	sections := fixtureWorkload("convolution", run(1, 4, 1, 100, 95), run(2, 8, 1, 60, 47), run(3, 16, 1, 45, 24), run(4, 32, 1, 43, 12), run(5, 8, 1, 180, 140))
	for i, halo := range []float64{5, 12, 20, 30, 10} {
		r := &sections.Runs[i]
		r.Sections = []job.RunSection{{Label: "HALO", Own: halo}, {Label: "CONVOLVE", Own: r.Elapsed - halo - 1}}
		r.Counters = &job.Counters{Ranks: r.Ranks, Instructions: uint64(1e12 + 1e10*float64(r.Ranks)), Cycles: uint64(2e9 * r.Useful), Useful: sec(r.Useful)}
	}
	sections.Runs[4].Start, sections.InputNote = began, "no argument names a file" // another one, long ago
	hostile := fixtureWorkload(nasty, run(1, 1, 1, 101, 100), run(2, 2, 1, 70, 55), run(3, 4, 2, 90, 28), run(4, 4, 2, 10, 1))
	hostile.User, hostile.Executable, hostile.InputNote, hostile.Mute = nasty, nasty, nasty, &job.Mute{Until: began.Add(time.Hour), Reason: nasty}
	for i := range hostile.Runs {
		r := &hostile.Runs[i]
		r.Useful = 100 * (1 + float64(i)/10)
		r.DisplayID, r.Executable, r.Sections = nasty, nasty, []job.RunSection{{Label: nasty, Own: 10}}
	}
	return map[string]*job.Workload{"scales": scales, "small": small, "weak": weak, "one": one, "sections": sections, "hostile": hostile, "none": fixtureWorkload("empty")}
}

func TestWorkloadViews(t *testing.T) {
	for name, w := range workloads() {
		study := workload.NewStudy(w, nil, began, curve.Settings{})
		eachView(t, "workload-"+name, func(w io.Writer, opts Options) error {
			return TextOfWorkload(w, view.NewWorkload(study, opts.Unicode), opts)
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
	list := words.ListOptions{Sort: words.LastRun, More: true}
	eachView(t, "workloads", func(w io.Writer, opts Options) error {
		return TextOfWorkloads(w, view.NewWorkloads(studies, named, list, opts.Unicode), list, opts)
	})
	var parsable, out bytes.Buffer
	if err := TextOfWorkloads(&parsable, view.NewWorkloads(studies, named, list, false), words.ListOptions{Parsable2: true}, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "workloads-parsable.txt", parsable.Bytes())
	if err := TextOfWorkloads(&out, view.NewWorkloads(nil, nil, words.ListOptions{}, false), words.ListOptions{}, Options{}); err != nil || out.Len() == 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestWorkloadsSorted: the lines that a limit leaves are the first by the order that was asked for, named jobs among them.
func TestWorkloadsSorted(t *testing.T) {
	late, early := workloads()["scales"], workloads()["small"]
	late.Runs[len(late.Runs)-1].Start = began.AddDate(1, 0, 0)
	studies := []*workload.Study{workload.NewStudy(early, nil, began, curve.Settings{}), workload.NewStudy(late, nil, began, curve.Settings{})}
	named := []listing.WorkloadSummary{{Name: "fit", Runs: 7000, FewestCores: 1, MostCores: 1024, CoreHours: 2, Newest: job.Run{Start: began.AddDate(0, 6, 0)}}}
	for sort, want := range map[string]string{words.LastRun: "fit lmp-3fa2c1", "lost": "lmp-3fa2c1 lmp-small", "corehours": "lmp-3fa2c1 fit", "runs": "fit lmp-3fa2c1", "name": "fit lmp-3fa2c1"} {
		w := view.NewWorkloads(studies, named, words.ListOptions{Sort: sort, Most: 2}, false).Words
		var got []string
		for _, row := range w.Table.Rows {
			got = append(got, row[0])
		}
		if said := strings.Join(w.Under, "\n"); strings.Join(got, " ") != want || w.More == "" || !strings.Contains(said, "Order: "+words.WorkloadSorts[sort]+".") || !strings.Contains(said, "Total of 2 workloads") {
			t.Errorf("%s: %v, %q, %q", sort, got, w.More, said)
		}
	}
	var out bytes.Buffer
	if err := TextOfWorkloads(&out, view.NewWorkloads(nil, named, words.ListOptions{}, false), words.ListOptions{Parsable2: true, NoHeader: true}, Options{}); err != nil || out.String() != "fit||-|7000|1-1024|no record of a program|2.00|-\n" {
		t.Errorf("for programs: %q, %v", out.String(), err)
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
	}
}

// TestLostNotKnown: where the loss is known of no run, no list, text or document calls it 0.
func TestLostNotKnown(t *testing.T) {
	w := fixtureWorkload("threads", fixtureRun(1, 2, 1, 3600, 1800), fixtureRun(2, 2, 1, 3600, 1800))
	for i := range w.Runs {
		w.Runs[i].Threads = 2
		w.Runs[i].Conditions.Threaded = true
	}
	v := view.NewWorkload(workload.NewStudy(w, nil, began, curve.Settings{}), true)
	var out bytes.Buffer
	if err := TextOfWorkload(&out, v, views["80"]); err != nil || v.LostCoreHours != nil || !strings.Contains(out.String(), "Core-hours 8.00 used by all its runs; how many of them were lost is not known") {
		t.Errorf("%v, %v\n%s", err, v.LostCoreHours, out.String())
	}
	rows := view.NewWorkloads([]*workload.Study{workload.NewStudy(w, nil, began, curve.Settings{})}, nil, words.ListOptions{}, true).Words.Table.Rows
	page := words.OfWorkloadsPage(listing.JobQuery{}, []listing.WorkloadSummary{{Name: "threads", CoreHours: 8, Lost: -1}, {Name: "known", CoreHours: 8}}, false, false)
	if row := rows[0]; row[len(row)-1] != "-" || page.Table.Rows[0][6] != "-" || page.Table.Rows[1][6] != "0.00" {
		t.Errorf("%q, %q", row, page.Table.Rows)
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
		if err := PageOfProposal(io.Discard, words.OfProposal(study, policy.RequestOf(study), "")); err != nil {
			t.Fatal(err)
		}
		for _, opts := range views {
			var out bytes.Buffer
			if err := TextOfWorkload(&out, view.NewWorkload(study, opts.Unicode), opts); err != nil {
				t.Fatal(err)
			}
			_ = TextOfWorkloads(&out, view.NewWorkloads([]*workload.Study{study}, []listing.WorkloadSummary{{Name: w.Name}}, words.ListOptions{}, opts.Unicode), words.ListOptions{}, opts)
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
		if got := view.NewWorkloads([]*workload.Study{s}, nil, words.ListOptions{}, true).Words.Table.Rows[0][5]; got != c.brief {
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
