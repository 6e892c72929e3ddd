package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/inert"
	"jobeff/report/view"
	"jobeff/report/words"
)

// viewOf is the view of a job without a queue or an array around it.
func viewOf(j *job.Job, study *workload.Study, verdicts []policy.Verdict, wide bool) *view.Job {
	return view.NewJob(&listing.JobAndWorkload{Job: j}, study, verdicts, wide)
}

func textOf(w io.Writer, j *job.Job, study *workload.Study, verdicts []policy.Verdict, opts Options) error {
	return TextOfJob(w, viewOf(j, study, verdicts, opts.Unicode), opts)
}

func explain(w io.Writer, j *job.Job, verdicts []policy.Verdict, opts Options) error {
	return TextOfVerdicts(w, viewOf(j, nil, verdicts, opts.Unicode), opts)
}

func pageOf(w io.Writer, j *job.Job, study *workload.Study, verdicts []policy.Verdict, links Links) error {
	return PageOfJob(w, viewOf(j, study, verdicts, true), links)
}

func jsonOf(w io.Writer, j *job.Job, study *workload.Study, verdicts []policy.Verdict) error {
	return view.Write(w, viewOf(j, study, verdicts, true))
}

func TestJobViews(t *testing.T) {
	for name, j := range fixtures() {
		eachView(t, "job-"+name, func(w io.Writer, opts Options) error { return textOf(w, ranked(j), nil, nil, opts) })
	}
}

func TestJSONViews(t *testing.T) {
	for _, name := range []string{"bad", "five", "hostile", "no-mpi", "sections", "usage"} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := jsonOf(&out, fixtures()[name], nil, nil); err != nil {
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
	if err := view.Write(&out, map[string]any{"jobs": []any{view.Listed(fixtures()["bad"], true), view.Listed(fixtures()["off"], true)}}); err != nil {
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

// TestGPUsOfJob: all of a job's text, its page and its document list GPUs that differ. Its first screen does not.
func TestGPUsOfJob(t *testing.T) {
	j := fixtures()["no-mpi"]
	j.GPUUse = new(job.GPUUse)
	j.GPUUse.Add(&job.NodeReport{Node: "g7", Start: j.Start, End: j.End, GPUs: []job.GPU{{UUID: "GPU-5eed"}, {UUID: "GPU-77", Life: 20, Busy: 20, Processes: 1}}})
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  bool
	}{
		"the text":     {func(w io.Writer) error { return textOf(w, j, nil, nil, Options{}) }, true},
		"the page":     {func(w io.Writer) error { return pageOf(w, j, nil, nil, Links{}) }, true},
		"the document": {func(w io.Writer) error { return jsonOf(w, j, nil, nil) }, true},
		"the screen":   {func(w io.Writer) error { return ScreenOfJob(w, viewOf(j, nil, nil, false), Options{}) }, false},
	} {
		var out bytes.Buffer
		if err := c.write(&out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "5eed"); got != c.want {
			t.Errorf("%s lists GPUs: %v\n%s", name, got, out.String())
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
	if err := textOf(&out, j, nil, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one [one]", "x0 [x0]", "x4 [x4]"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
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
			if err := textOf(&out, &j, nil, nil, opts); err != nil {
				t.Fatal(err)
			}
			checkFits(t, out.String(), opts)
		}
		_ = textOfList(&out, listing.LinesOf([]job.Job{j}), words.ListOptions{}, Options{})
		_ = jsonOf(&out, &j, nil, nil)
	})
}

func TestInertLeavesTheOriginal(t *testing.T) {
	j := fixtures()["hostile"]
	inert.Copy(j, true)
	if j.Name != nasty || j.Executions[0].Nodes[0].Node != nasty || j.Executions[0].Endings[nasty] != 4 {
		t.Error("Inert changed what it was given")
	}
}
