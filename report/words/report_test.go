package words

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/document"
	"jobeff/report/inert"
	"jobeff/report/text"
)

// TestForms shows one rich case to every kind of reader: a job whose ranks were killed, among the
// runs of its workload, with all that the rules say, the workload's curve, and a list. Its state
// is one whose core count is judged.
func TestForms(t *testing.T) {
	j, w := ranked(fixtures()["killed"]), workloads()["sections"]
	j.JobID, j.DisplayID, j.State = w.Runs[3].JobID, w.Runs[3].DisplayID, "COMPLETED"
	j.Executions[0].Sections = fixtures()["sections"].Executions[0].Sections
	study := workload.NewStudy(w, j, began, curve.Settings{})
	for view, opts := range views {
		t.Run(view, func(t *testing.T) {
			var out bytes.Buffer
			err := errors.Join(Job(&out, j, study, judged(t, j), opts), Workload(&out, study, opts),
				List(&out, listing.LinesOf(fixtureList()), ListOptions{Options: opts}))
			if err != nil {
				t.Fatal(err)
			}
			checkFits(t, out.String(), opts)
			golden(t, "forms-"+view+".txt", out.Bytes())
		})
	}
}

func TestJobViews(t *testing.T) {
	for name, j := range fixtures() {
		eachView(t, "job-"+name, func(w io.Writer, opts text.Options) error { return Job(w, ranked(j), nil, nil, opts) })
	}
}

func TestListViews(t *testing.T) {
	jobs := fixtureList()
	eachView(t, "list", func(w io.Writer, opts text.Options) error {
		return List(w, listing.LinesOf(jobs), ListOptions{Options: opts, More: true})
	})
	var bare bytes.Buffer
	if err := List(&bare, listing.LinesOf(jobs), ListOptions{NoHeader: true}); err != nil || strings.Count(bare.String(), "\n") != len(jobs) || strings.Contains(bare.String(), "JobID") {
		t.Errorf("without a header: %v\n%s", err, bare.String())
	}
	var parsable bytes.Buffer
	if err := List(&parsable, listing.LinesOf(jobs), ListOptions{Parsable2: true, Options: text.Options{Unicode: true}}); err != nil {
		t.Fatal(err)
	}
	golden(t, "list-parsable.txt", parsable.Bytes())
}

func TestParsableHasTheSameColumnsInEveryLine(t *testing.T) {
	var out bytes.Buffer
	if err := List(&out, listing.LinesOf(fixtureList()), ListOptions{Parsable2: true}); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if n := strings.Count(l, "|"); n != len(shown(listColumns+wideColumns))-1 {
			t.Errorf("%d separators in %q", n, l)
		}
	}
}

func TestEmptyListSaysWhatToDo(t *testing.T) {
	var out bytes.Buffer
	if err := List(&out, nil, ListOptions{}); err != nil || !strings.Contains(out.String(), "-S") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestJSONViews(t *testing.T) {
	for _, name := range []string{"bad", "five", "hostile", "no-mpi", "sections", "usage"} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := document.WriteJob(&out, fixtures()[name], nil, nil); err != nil {
				t.Fatal(err)
			}
			checkASCII(t, out.Bytes())
			golden(t, "job-"+name+".json", out.Bytes())
		})
	}
}

// TestJSONNames holds the names that programs rely on (doc/API.md), for a job and its executions.
func TestJSONNames(t *testing.T) {
	var out bytes.Buffer
	if err := document.WriteServed(&out, map[string]any{"jobs": []any{document.Listed(fixtures()["bad"], true), document.Listed(fixtures()["off"], true)}}); err != nil {
		t.Fatal(err)
	}
	var list struct{ Jobs []map[string]any }
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	check := func(what string, m map[string]any) {
		for _, name := range []string{
			"parallel_efficiency", "load_balance", "mpi_parallel_efficiency", "mpi_load_balance", "mpi_communication_efficiency", "load_balance_in", "load_balance_out", "communication_efficiency",
			"elapsed", "useful", "mpi_time", "ranks", "nodes", "coverage", "calls", "sections",
		} {
			if _, ok := m[name]; !ok {
				t.Errorf("%s has no %s", what, name)
			}
		}
		if _, ok := m["sections"].([]any); !ok {
			t.Errorf("%s: sections is no list", what)
		}
	}
	check("the job", list.Jobs[0])
	check("the job without data", list.Jobs[1])
	check("the execution", list.Jobs[0]["executions"].([]any)[0].(map[string]any))
	call := list.Jobs[0]["calls"].([]any)[0].(map[string]any)
	for _, name := range []string{"name", "count", "time", "bytes"} {
		if _, ok := call[name]; !ok {
			t.Errorf("a call has no %s", name)
		}
	}
}

// TestEveryWarningIsShown puts a warning in each place that has room for one.
func TestEveryWarningIsShown(t *testing.T) {
	j := fixtures()["five"]
	j.Warnings = []doubt.Warning{{Code: "one"}}
	for i := range j.Executions {
		j.Executions[i].Warnings = []doubt.Warning{{Code: fmt.Sprintf("x%d", i)}}
	}
	j.Metrics = nil // also where there are no figures
	var out bytes.Buffer
	if err := Job(&out, j, nil, nil, text.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one [one]", "x0 [x0]", "x4 [x4]"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestChecks(t *testing.T) {
	eachView(t, "checks", func(w io.Writer, opts text.Options) error {
		return Checks(w, []Check{
			{OK, "config", "/etc/jobeff/jobeff.toml", ""},
			{Warn, "switch", "/etc/jobeff/off is there", "rm /etc/jobeff/off"},
			{Fail, "library", nasty, "install it"},
		}, opts)
	})
}

func TestMutesViews(t *testing.T) {
	long := strings.Repeat("because it is so, ", 9)
	list := &listing.WorkloadList{More: true}
	for _, name := range []string{"lmp-3fa2c1", nasty} {
		list.Workloads = append(list.Workloads, listing.WorkloadSummary{Name: name, Newest: job.Run{User: "anna"}, Mute: &job.Mute{Until: began, Reason: long + name}})
	}
	eachView(t, "mutes", func(w io.Writer, opts text.Options) error { return Mutes(w, list, opts) })
}

func TestInertLeavesTheOriginal(t *testing.T) {
	j := fixtures()["hostile"]
	inert.Copy(j, true)
	if j.Name != nasty || j.Executions[0].Nodes[0].Node != nasty || j.Executions[0].Endings[nasty] != 4 {
		t.Error("Inert changed what it was given")
	}
}

// FuzzJob renders whatever a server could answer.
func FuzzJob(f *testing.F) {
	for _, j := range fixtures() {
		b, err := json.Marshal(j)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var j job.Job
		if json.Unmarshal(b, &j) != nil {
			return
		}
		var out bytes.Buffer
		for _, opts := range views {
			out.Reset()
			if err := Job(&out, &j, nil, nil, opts); err != nil {
				t.Fatal(err)
			}
			checkFits(t, out.String(), opts)
		}
		_ = List(&out, listing.LinesOf([]job.Job{j}), ListOptions{})
		_ = document.WriteJob(&out, &j, nil, nil)
	})
}

func TestColumns(t *testing.T) {
	names := map[string]bool{}
	for _, c := range columns {
		if c.Doc == "" || names[strings.ToLower(c.Name)] || otherNames[strings.ToLower(c.Name)] != "" {
			t.Errorf("field %s: no text, or its name is taken", c.Name)
		}
		names[strings.ToLower(c.Name)] = true
	}
	for other, name := range otherNames {
		if !names[name] {
			t.Errorf("%s stands for %s, which is no field", other, name)
		}
	}
	shown(listColumns + wideColumns)
	for _, bad := range []string{"", "jobid,", "nosuch", "pe%", "pe%0", "pe%x", "pe%1001", "pe%-1001", "pe%20%3", "\x1b"} {
		if _, err := ParseColumns(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	var out bytes.Buffer
	if err := Columns(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "columns.txt", out.Bytes())
}

// TestEveryColumn shows each field of jobs of every kind, of hostile ones too.
func TestEveryColumn(t *testing.T) {
	jobs := append(fixtureList(), *fixtures()["usage"])
	var all []string
	for _, c := range columns {
		all = append(all, c.Name)
	}
	for name, opts := range map[string]ListOptions{
		"columns-wide":     {Columns: shown(strings.Join(all, ",")), Options: text.Options{Unicode: true}},
		"columns-asked":    {Columns: shown("jobid%6,jobname%-8,state%4,PE,Cover%8"), Options: text.Options{}},
		"columns-parsable": {Columns: shown(strings.Join(all, ",")), Parsable2: true, NoHeader: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := List(&out, listing.LinesOf(jobs), opts); err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(out.Bytes()) || strings.ContainsAny(out.String(), "\x1b\r\u202e\u200b\u009b") {
				t.Error("a hostile character")
			}
			golden(t, name+".txt", out.Bytes())
		})
	}
}
