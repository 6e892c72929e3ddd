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
