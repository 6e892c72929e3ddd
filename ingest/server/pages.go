package server

import (
	"errors"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"jobeff/ingest/admit"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
)

// servePages routes the pages. Every listener serves them.
func (s *Server) servePages(p Pages) {
	s.pageMux = http.NewServeMux()
	route := func(path string, there bool, known []string, find func(*http.Request, viewer) ([]byte, *refusal)) {
		if there {
			s.pageMux.HandleFunc("GET "+path, s.page(p.Policy, known, find))
		}
	}
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
			return made(p.Wrong(by.Viewer, told))
		}))
		s.pageMux.HandleFunc("POST "+path, s.postWrong)
	}
	for path, more := range p.More {
		s.pageMux.HandleFunc("GET "+path, s.page(more.Policy, more.Known, func(r *http.Request, by viewer) ([]byte, *refusal) {
			return made(more.Make(r.Context(), by.Viewer, r.URL.Query()))
		}))
	}
	for path, list := range p.Lists {
		s.pageMux.HandleFunc("GET "+path, s.page(p.FormPolicy, list.Known, func(r *http.Request, by viewer) ([]byte, *refusal) { return s.listPage(r, by, list) }))
	}
	s.pageMux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if s.forPeople(r) {
			s.unknownPath(w, r)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// ofPrograms are the paths of programs, those of other versions among them.
var ofPrograms = regexp.MustCompile(`^/+v[0-9]+(/|$)|^/(metrics|healthz)$`)

// forPeople says that a request is a browser's: of a listener for pages, or for no path of programs.
func (s *Server) forPeople(r *http.Request) bool {
	return admit.PagesOnly(r.Context()) || s.refusals != nil && !ofPrograms.MatchString(r.URL.Path)
}

// listPage makes the page of a list. A form sends its empty fields, too.
func (s *Server) listPage(r *http.Request, by viewer, list List) ([]byte, *refusal) {
	v := r.URL.Query()
	maps.DeleteFunc(v, func(_ string, values []string) bool { return values[0] == "" })
	q, uids, e := s.selection(r.Context(), by, v)
	if e != nil {
		return nil, e
	}
	return made(list.Make(r.Context(), by.Viewer, q, uids))
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
		pageHeader(w, policy, "text/html; charset=utf-8")
		w.Write(html)
	}
}

// pageHeader says what a browser may do with a page.
func pageHeader(w http.ResponseWriter, policy, kind string) {
	for key, value := range map[string]string{
		"Content-Security-Policy": policy + "; frame-ancestors 'none'", "Content-Type": kind, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "private, no-store",
	} {
		w.Header().Set(key, value)
	}
}

// failPage answers a refusal as a page, and logs it.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, by viewer, e *refusal) {
	s.refused(w, r, by, e)
	home := "./" + strings.Repeat("../", max(strings.Count(r.URL.EscapedPath(), "/")-1, 0))
	html, err := []byte(e.Message), error(nil)
	pageHeader(w, "default-src 'none'", "text/plain; charset=utf-8")
	if s.refusals != nil {
		html, err = s.refusals(home, http.StatusText(e.Status), e.Message, e.Hint)
		pageHeader(w, s.policy, "text/html; charset=utf-8")
	}
	if err != nil {
		s.log.Error().Err(err).Msg("the page of a refusal")
	}
	w.WriteHeader(e.Status)
	w.Write(html) // #nosec G705 -- of a template, or text/plain with nosniff
}

// made turns a page's error into a refusal.
func made(html []byte, err error) ([]byte, *refusal) {
	var e *refusal
	switch {
	case err == nil:
		return html, nil
	case errors.As(err, &e):
		return nil, e
	case errors.Is(err, store.ErrNotFound):
		return nil, &refusal{Status: http.StatusNotFound, Message: "there is no such page for you"}
	}
	return nil, refuse(err)
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
	return made(p.Job(by.Viewer, found))
}

// comparePage compares a job with that before it in the path, or else with what p.Compare finds.
func (s *Server) comparePage(r *http.Request, by viewer, p Pages) ([]byte, *refusal) {
	after, e := s.findJob(r, by)
	if e != nil {
		return nil, e
	}
	var before *listing.JobAndWorkload
	if id := r.PathValue("before"); id != "" {
		if before, e = s.jobOf(r, by, id, 0); e != nil {
			return nil, e
		}
	}
	return made(p.Compare(by.Viewer, before, after, func(run *job.Run) (*listing.JobAndWorkload, error) {
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
	return made(p.Workload(by.Viewer, found))
}
