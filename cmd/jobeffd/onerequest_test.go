package main

import (
	"fmt"
	"net/http"
	"net/url"

	"jobeff/report/view"
)

// askedFor fails unless a page asks for what its JSON asks for, and for nothing else. It returns that request; "" if there is none.
func (s *hoursSite) askedFor(path string, r *view.Request) string {
	s.Helper()
	status, _, text := s.ask(s.T, "GET "+path, "")
	if status != http.StatusOK || r == nil {
		s.Fatalf("%s: %d, request %v", path, status, r)
	}
	var line string
	if r.Line != nil {
		line = *r.Line
	}
	if line == "" && r.Why == "" {
		s.Errorf("%s: no request, and no reason", path)
	}
	found := false
	for _, asked := range request.FindAllString(textOf(string(text)), -1) {
		if found = true; asked != line {
			s.Errorf("%s asks for %s, its JSON for %q", path, asked, line)
		}
	}
	if line != "" && !found {
		s.Errorf("%s asks for nothing, its JSON for %s", path, line)
	}
	return line
}

// requests: the page of each job and of each workload asks for what its JSON asks for.
func (s *hoursSite) requests() {
	s.Helper()
	asked := 0
	for _, page := range s.pages {
		if s.askedFor(fmt.Sprintf("/jobs/%s?attempt=%d", page.ID, page.Attempt), page.Request) != "" {
			asked++
		}
	}
	if asked < len(s.pages)/2 {
		s.Errorf("only %d of %d jobs have a request", asked, len(s.pages))
	}
	var all struct{ Workloads []struct{ Key string } }
	s.get("/v1/workloads?stored=1&limit=1000", &all)
	for _, w := range all.Workloads {
		var document view.Workload
		at := url.PathEscape(w.Key)
		s.get("/v1/workloads/"+at, &document)
		s.askedFor("/workloads/"+at, document.Request)
	}
	if len(all.Workloads) < 20 {
		s.Errorf("%d workloads", len(all.Workloads))
	}
	s.Logf("%d of %d jobs have a request; %d workloads", asked, len(s.pages), len(all.Workloads))
}
