package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/view"
)

// arrayTasks are tasks of an array: of two programs, of which one task failed, two ran out of what they were given, and one
// runs.
func arrayTasks() (all []job.Job) {
	for n := range uint32(12) {
		j := *fixtures()["good"]
		j.JobID, j.ArrayJobID, j.ArrayTaskID, j.DisplayID, j.Name, j.Program = 900+n, 900, &n, fmt.Sprint("900_", n), "sweep", "/opt/solve"
		m := *j.Metrics
		m.Parallel -= 0.02 * float64(n)
		j.Metrics = &m
		j.Elapsed += time.Duration(n*n) * time.Second
		j.Usage = &job.Usage{TotalCPU: 3 * j.Elapsed, Memory: int64(n+1) << 28, Allocated: 8 << 30}
		switch n {
		case 3, 6, 9:
			j.Program, j.Elapsed = "/opt/prepare", j.Elapsed/10
		case 4:
			j.State = "FAILED"
		case 7:
			j.State = "OUT_OF_MEMORY"
		case 8:
			j.State = "TIMEOUT"
		case 11:
			j.State, j.End, j.AsOf, j.Program = "RUNNING", time.Time{}, began.Add(time.Minute), ""
		}
		keep(&j)
		j.Executions, j.Steps = nil, nil
		all = append(all, j)
	}
	return all
}

// arrayLine is the line of arrayTasks.
func arrayLine() listing.Line { return listing.Line{Jobs: arrayTasks(), Sum: listing.Hours{Jobs: 12}} }

func viewOfArray(tasks []job.Job, more, wide bool) *view.Array {
	return view.NewArray(&listing.JobAndWorkload{Job: &tasks[0], Tasks: tasks, MoreTasks: more}, wide)
}

func arrayHTML(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := PageOfArray(&b, viewOfArray(arrayTasks(), true, true), siteLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArrayViews(t *testing.T) {
	eachView(t, "array", func(w io.Writer, opts Options) error {
		return TextOfArray(w, viewOfArray(arrayTasks(), false, opts.Unicode), opts)
	})
	shown := arrayHTML(t)
	checkPage(t, shown)
	golden(t, "array.html", shown)
	hostile := arrayTasks()
	for i := range hostile {
		hostile[i].Name, hostile[i].Program, hostile[i].State, hostile[i].User = fixtures()["hostile"].Name, fixtures()["hostile"].Name, fixtures()["hostile"].State, fixtures()["hostile"].User
	}
	eachView(t, "array-hostile", func(w io.Writer, opts Options) error {
		return TextOfArray(w, viewOfArray(hostile, false, opts.Unicode), opts)
	})
	var out bytes.Buffer
	if err := PageOfArray(&out, viewOfArray(hostile, false, true), Links{}); err != nil || strings.Contains(out.String(), "<script") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestArrayScreen: an array of many programs fits, too, and says what it leaves out.
func TestArrayScreen(t *testing.T) {
	for name, c := range map[string]struct {
		tasks []job.Job
		want  string
	}{"array": {arrayTasks(), ""}, "many": {manyPrograms(), "jobeff --full 900: "}} {
		for look, opts := range views {
			var out bytes.Buffer
			if err := ScreenOfArray(&out, viewOfArray(c.tasks, true, opts.Unicode), opts); err != nil {
				t.Fatal(err)
			}
			checkFits(t, out.String(), opts)
			if n := strings.Count(out.String(), "\n"); n > 40 || !strings.Contains(out.String(), c.want) {
				t.Errorf("%s-%s: %d lines, %q:\n%s", name, look, n, c.want, out.String())
			}
			if look == "80" {
				golden(t, "firstof-"+name+".txt", out.Bytes())
			}
		}
	}
}

// manyPrograms is an array each of whose tasks ran a program of its own, with hostile names.
func manyPrograms() []job.Job {
	all := arrayTasks()
	for i := range all {
		all[i].Program, all[i].Name, all[i].User = nasty+fmt.Sprint("-", i), nasty, nasty
	}
	return all
}
