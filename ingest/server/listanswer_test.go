package server

import (
	"encoding/json"
	"fmt"
	"testing"

	"jobeff/ingest/job"
)

// TestListEndsAfterSomeBytes: a list with the jobs' executions ends after so many bytes, and says
// where it goes on. Page by page all jobs come once.
func TestListEndsAfterSomeBytes(t *testing.T) {
	s := start(t)
	const jobs = 5
	for id := range uint32(jobs) {
		s.check(t, "a report", s.post(t, report(1+id, alice)), 200, "true")
	}
	s.merged(t)
	s.server.mostAnswer = 1
	seen := ""
	path := "/v1/jobs?detail=1&user=61001"
	for pages := 0; path != "" && pages < 2*jobs; pages++ {
		got := request{Addr: s.unix, Method: "GET", Path: path}.do()
		var list job.JobList
		if err := json.Unmarshal([]byte(got.Text), &list); err != nil || got.Status != 200 {
			t.Fatalf("%v: %d %s", err, got.Status, got.Text)
		}
		if len(list.Jobs) != 1 || len(list.Jobs[0].Executions) != 1 || list.More != (list.Next != "") {
			t.Fatalf("%d jobs, more %v, next %q", len(list.Jobs), list.More, list.Next)
		}
		seen += fmt.Sprint(list.Jobs[0].JobID, " ")
		path = list.Next
	}
	if seen != "5 4 3 2 1 " && len(seen) != 10 {
		t.Errorf("jobs %s", seen)
	}
	s.server.mostAnswer = mostAnswer
	s.check(t, "all", request{Addr: s.unix, Method: "GET", Path: "/v1/jobs?detail=1"}.do(), 200, "]}")
	s.check(t, "none", request{Addr: s.unix, Method: "GET", Path: "/v1/jobs?user=0"}.do(), 200, `{"jobs":[]}`)
}

// TestWorkloadsEndAfterSomeBytes: so does a list of workloads, which with their runs may be large.
func TestWorkloadsEndAfterSomeBytes(t *testing.T) {
	s := start(t)
	const workloads = 5
	for id := range uint32(workloads) {
		r := report(1+id, alice)
		r.Executions[0].Workload = fmt.Sprint("w", id)
		s.check(t, "a report", s.post(t, r), 200, "true")
		tell(t, s.store, known(1+id, "n1", 1))
	}
	s.merged(t)
	for _, most := range []int{1, mostAnswer} {
		s.server.mostAnswer = most
		seen, pages := map[string]bool{}, 0
		for path := "/v1/workloads?detail=1&limit=2&user=61001"; path != "" && pages < 2*workloads; pages++ {
			got := request{Addr: s.unix, Method: "GET", Path: path}.do()
			var list job.WorkloadList
			if err := json.Unmarshal([]byte(got.Text), &list); err != nil || got.Status != 200 {
				t.Fatalf("%v: %d %s", err, got.Status, got.Text)
			}
			if n := len(list.Workloads); n == 0 || most == 1 && n > 1 || list.More != (list.Next != "") {
				t.Fatalf("%d workloads, more %v, next %q", n, list.More, list.Next)
			}
			for _, w := range list.Workloads {
				if seen[w.Name] || len(w.Workload.Runs) != 1 {
					t.Errorf("%s: %+v", w.Name, w)
				}
				seen[w.Name] = true
			}
			path = list.Next
		}
		if len(seen) != workloads || most == 1 && pages != workloads || most > 1 && pages != 3 {
			t.Errorf("%d workloads in %d pages of %d bytes", len(seen), pages, most)
		}
	}
}
