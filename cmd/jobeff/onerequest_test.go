package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"jobeff/report/view"
)

// typed matches the command to type for another run. In a terminal it goes on after a backslash.
var typed = regexp.MustCompile(`(?:sbatch|srun|mpirun|mpiexec)(?: [^ (),;]+)+? YOUR-(?:SCRIPT|PROGRAM)`)

// oneRequest compares the request in a job's document with its text, whole and in short.
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

// requestOfWorkload counts the workloads of ten jobs or more that have a request, and compares it with the line of its text.
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
		if text := strings.ReplaceAll(s.jobeff("workload", name), " \\\n    ", " "); !strings.HasSuffix(text, *d.Request.Line+"\n") {
			s.t.Errorf("workload %s: %s in its document, but its text ends otherwise:\n%s", name, *d.Request.Line, text)
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

// mailedJob matches the job that an item of a mail names.
var mailedJob = regexp.MustCompile(`(?:The one that lost most is|1 job[^:.]*:) ([\d_]+)`)

// mailed compares the lines in a mail to a user with the requests of the jobs that it names.
func (s *sums) mailed(where, mail string) {
	s.t.Helper()
	asked := map[string]bool{}
	for _, m := range mailedJob.FindAllStringSubmatch(mail, -1) {
		var d view.Job
		if err := json.Unmarshal([]byte(s.jobeff("--json", m[1])), &d); err != nil {
			s.t.Fatal(err)
		}
		if d.Request != nil && d.Request.Line != nil {
			asked[*d.Request.Line] = true
		}
	}
	for _, line := range typed.FindAllString(mail, -1) {
		if s.kinds[" mailed request"]++; !asked[line] {
			s.t.Errorf("%s: only the mail asks for %s, its jobs for %v", where, line, asked)
		}
	}
}

// inDigest matches a core count that a digest names, with its job.
var inDigest = regexp.MustCompile(`Instead of [\d,]+ cores?: ([\d,]+) cores? would have .*?jobeff ([\d_]+)`)

// digested compares the core counts that a digest names with the requests of its jobs.
func (s *sums) digested(where, text string) {
	s.t.Helper()
	for _, m := range inDigest.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
		var d view.Job
		if err := json.Unmarshal([]byte(s.jobeff("--json", m[2])), &d); err != nil {
			s.t.Fatal(err)
		}
		s.kinds[" cores in a digest"]++
		if r := d.Request; r == nil || r.Kind != "cores" || strings.ReplaceAll(m[1], ",", "") != strconv.Itoa(r.Tasks*r.CPUsPerTask) {
			s.t.Errorf("%s: %s; the request of that job is %+v", where, m[0], r)
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
