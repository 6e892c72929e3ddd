package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"jobeff/report/view"
)

// typed is what is to be typed for another run; in a terminal it goes on after a backslash.
var typed = regexp.MustCompile(`(?:sbatch|srun|mpirun|mpiexec)(?: [^ (),;]+)+? YOUR-(?:SCRIPT|PROGRAM)`)

// oneRequest holds the request of a job's document against its text, whole and in short.
func (s *sums) oneRequest(id string) {
	s.t.Helper()
	var d view.Job
	if err := json.Unmarshal([]byte(s.jobeff("--json", id)), &d); err != nil {
		s.t.Fatal(err)
	}
	if d.Request == nil {
		s.t.Errorf("job %s has no request", id)
		return
	}
	for _, args := range [][]string{{id}, {"--full", id}} {
		text := strings.ReplaceAll(strings.Join(strings.Fields(s.jobeff(args...)), " "), ` \ `, " ")
		for _, line := range typed.FindAllString(text, -1) {
			if s.kinds[" request"]++; d.Request.Line == nil || line != *d.Request.Line {
				s.t.Errorf("jobeff %v asks for %s, its document for %+v", args, line, d.Request)
			}
		}
		if d.Request.Line == nil && d.Request.Why == "" {
			s.t.Errorf("job %s: no request, and no reason", id)
		}
	}
}

// requestOfWorkload counts the workloads of ten jobs or more that have a request, and holds it against the line for scripts.
func (s *sums) requestOfWorkload(name string) {
	s.t.Helper()
	var d struct {
		Runs    int           `json:"all_runs"`
		Request *view.Request `json:"request"`
	}
	if err := json.Unmarshal([]byte(s.jobeff("workload", "--json", name)), &d); err != nil {
		s.t.Fatal(err)
	}
	if d.Request != nil && d.Request.Line != nil {
		if line := strings.TrimSpace(s.jobeff("workload", name, "--format", "sbatch")); line != *d.Request.Line {
			s.t.Errorf("workload %s: %s for scripts, %s in its document", name, line, *d.Request.Line)
		}
	}
	if d.Runs >= 10 {
		s.many++
		if d.Request != nil && d.Request.Line != nil {
			s.asked++
		} else {
			s.t.Logf("workload %s: %+v", name, d.Request)
		}
	}
}

// silence fails where too few workloads of ten jobs have a request.
func silence(t *testing.T, asked, many int) {
	t.Helper()
	t.Logf("%d of %d workloads of ten runs or more have a request", asked, many)
	if many < 20 || float64(asked) < 0.8*float64(many) {
		t.Error("silence is no answer")
	}
}
