package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"jobeff/ingest/admit"
	"jobeff/ingest/job"
	"jobeff/ingest/store"
)

// Limits of the first page: how many jobs, of how many days.
const (
	listedDays = 30
	listedJobs = 200
)

// servePages routes the pages. Every listener serves them.
func (s *Server) servePages(p Pages) {
	s.pageMux = http.NewServeMux()
	route := func(path string, there bool, known []string, find func(*http.Request, viewer) ([]byte, *refusal)) {
		if there {
			s.pageMux.HandleFunc("GET "+path, s.page(p.Policy, known, find))
		}
	}
	route("/{$}", p.Jobs != nil, nil, func(r *http.Request, by viewer) ([]byte, *refusal) { return s.jobsPage(r, by, p) })
	route("/jobs/{id}", p.Job != nil, []string{"attempt"}, func(r *http.Request, by viewer) ([]byte, *refusal) { return s.jobPage(r, by, p) })
	comparePage := func(r *http.Request, by viewer) ([]byte, *refusal) { return s.comparePage(r, by, p) }
	route("/jobs/{id}/compare", p.Compare != nil, nil, comparePage)
	route("/jobs/{before}/compare/{id}", p.Compare != nil, nil, comparePage)
	route("/workloads/{name}", p.Workload != nil, []string{"user"}, func(r *http.Request, by viewer) ([]byte, *refusal) { return s.workloadPage(r, by, p) })
	if p.Wrong != nil {
		const path = "/jobs/{id}/wrong"
		s.pageMux.HandleFunc("GET "+path, s.page(p.FormPolicy, []string{"rule"}, func(r *http.Request, by viewer) ([]byte, *refusal) {
			told, e := s.findNotice(r, by)
			if e != nil {
				return nil, e
			}
			return made(p.Wrong(told))
		}))
		s.pageMux.HandleFunc("POST "+path, s.postWrong)
	}
	for path, more := range p.More {
		s.pageMux.HandleFunc("GET "+path, s.page(more.Policy, more.Known, func(r *http.Request, by viewer) ([]byte, *refusal) {
			html, err := more.Make(r.Context(), by.Viewer, r.URL.Query())
			if errors.Is(err, store.ErrNotFound) {
				return nil, &refusal{Status: http.StatusNotFound, Message: "there is no such page for you"}
			}
			return made(html, err)
		}))
	}
	s.pageMux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if admit.PagesOnly(r.Context()) {
			s.unknownPath(w, r)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// page makes a handler of find, which writes one kind of page for a viewer.
func (s *Server) page(policy string, known []string, find func(*http.Request, viewer) ([]byte, *refusal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, e := seen(s.door.Page(r))
		if e == nil {
			by, e = s.admitted(r, by, known)
		}
		var html []byte
		if e == nil {
			html, e = find(r, by)
		}
		if e != nil {
			s.failPage(w, r, by, e)
			return
		}
		by.note(s.log.Debug()).Str("path", clip(r.URL.Path)).Msg("page")
		pageHeader(w, policy+"; frame-ancestors 'none'", "text/html; charset=utf-8")
		w.Write(html)
	}
}

// pageHeader says what a browser may do with a page.
func pageHeader(w http.ResponseWriter, policy, kind string) {
	for key, value := range map[string]string{
		"Content-Security-Policy": policy, "Content-Type": kind, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "private, no-store",
	} {
		w.Header().Set(key, value)
	}
}

// failPage answers a refusal as plain text, and logs it.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, by viewer, e *refusal) {
	s.refused(w, r, by, e)
	pageHeader(w, "default-src 'none'; frame-ancestors 'none'", "text/plain; charset=utf-8")
	w.WriteHeader(e.Status)
	fmt.Fprintf(w, "%s\n", e.Message) // #nosec G705 -- text/plain, with nosniff
	if e.Hint != "" {
		fmt.Fprintf(w, "%s\n", e.Hint) // #nosec G705 -- likewise
	}
}

// made turns a page's error into a refusal.
func made(html []byte, err error) ([]byte, *refusal) {
	if err != nil {
		return nil, refuse(err)
	}
	return html, nil
}

func (s *Server) jobsPage(r *http.Request, by viewer, p Pages) ([]byte, *refusal) {
	q := job.JobQuery{Start: time.Now().AddDate(0, 0, -listedDays), Limit: listedJobs}
	list, err := s.store.Jobs(r.Context(), by.Viewer, q, []uint32{by.UID})
	if err != nil {
		return nil, refuse(err)
	}
	return made(p.Jobs(list))
}

func (s *Server) jobPage(r *http.Request, by viewer, p Pages) ([]byte, *refusal) {
	found, e := s.findJob(r, by)
	if e != nil {
		return nil, e
	}
	if !found.Step {
		if err := s.store.AddBeside(r.Context(), by.Viewer, found); err != nil {
			return nil, refuse(err)
		}
	}
	return made(p.Job(found))
}

// comparePage compares a job with that before it in the path, or else with what p.Compare finds.
func (s *Server) comparePage(r *http.Request, by viewer, p Pages) ([]byte, *refusal) {
	after, e := s.findJob(r, by)
	if e != nil {
		return nil, e
	}
	var before *job.JobAndWorkload
	if id := r.PathValue("before"); id != "" {
		if before, e = s.jobOf(r, by, id, 0); e != nil {
			return nil, e
		}
	}
	return made(p.Compare(before, after, func(run *job.Run) (*job.JobAndWorkload, error) {
		found, e := s.jobOf(r, by, run.DisplayID, run.Attempt)
		if e != nil {
			return nil, errors.New(e.Message)
		}
		return found, nil
	}))
}

func (s *Server) workloadPage(r *http.Request, by viewer, p Pages) ([]byte, *refusal) {
	name, uid, e := s.whichWorkload(r, by)
	if e != nil {
		return nil, e
	}
	found, err := s.store.Workload(r.Context(), by.Viewer, name, uid)
	if err != nil {
		return nil, noWorkload(name, err)
	}
	return made(p.Workload(found))
}
