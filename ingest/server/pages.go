package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy/curve"
	"jobeff/policy/notice"
	"jobeff/policy/workload"
	views "jobeff/report"
	"jobeff/report/mail"
	"jobeff/report/view"
	"jobeff/report/words"
)

// pageMaker makes a page for a viewer, who may see all that is on it. If its error is a *refusal, the
// viewer gets that.
type pageMaker func(*http.Request, viewer) ([]byte, error)

// servePages routes the pages. Every listener serves them.
func (s *Server) servePages() {
	const wrong = "/jobs/{id}/wrong"
	s.pageMux = http.NewServeMux()
	for path, p := range map[string]struct {
		policy string   // its Content-Security-Policy
		known  []string // its parameters; + at the end: may be repeated
		make   pageMaker
	}{
		"/jobs/{id}":                  {views.FormPolicy, []string{"attempt"}, s.jobPage},
		"/jobs/{id}/compare":          {views.FormPolicy, nil, s.comparePage},
		"/jobs/{before}/compare/{id}": {views.FormPolicy, nil, s.comparePage},
		"/workloads/{name}":           {views.FormPolicy, []string{"user", "cluster"}, s.workloadPage},
		"/digest":                     {mail.ContentSecurityPolicy, []string{"week", "cluster", "account" + repeated}, s.digestPage},
		"/status":                     {views.FormPolicy, nil, s.statusPage},
		wrong:                         {views.FormPolicy, []string{"rule"}, s.wrongPage},
	} {
		s.pageMux.HandleFunc("GET "+path, s.page(p.policy, p.known, p.make))
	}
	for path, l := range s.lists() {
		s.pageMux.HandleFunc("GET "+path, s.page(views.FormPolicy, l.known, s.listPage(l)))
	}
	s.pageMux.HandleFunc("POST "+wrong, s.postWrong)
	s.pageMux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if forPeople(r) {
			s.unknownPath(w, r)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// ofPrograms matches the paths for programs, also those of other versions.
var ofPrograms = regexp.MustCompile(`^/+v[0-9]+(/|$)|^/(metrics|healthz)$`)

// forPeople says that a request is a browser's: for no path of programs.
func forPeople(r *http.Request) bool { return !ofPrograms.MatchString(r.URL.Path) }

// upFrom leads from the address that was asked for to the first page: "../" for each folder.
func upFrom(r *http.Request) string {
	return strings.Repeat("../", max(strings.Count(r.URL.EscapedPath(), "/")-1, 0))
}

// page makes a handler of one kind of page.
func (s *Server) page(policy string, known []string, make pageMaker) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, e := seen(s.door.Page(r))
		if e == nil {
			by, e = s.admitted(r, by, known)
		}
		var html []byte
		if e == nil {
			html, e = made(make(r, by))
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

// failPage answers a refusal as a page, and logs it. If it is known what the viewer may see, the page has a menu.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, by viewer, e *refusal) {
	s.refused(w, r, by, e)
	links, policy := views.Links{Home: "./" + upFrom(r)}, views.ContentSecurityPolicy
	if by.known {
		links, policy = menu(r, by.Viewer, ""), views.FormPolicy
	}
	html, err := written(func(w io.Writer) error {
		return views.PageOfRefusal(w, words.OfRefusal(http.StatusText(e.Status), e.Message, e.Hint), links)
	})
	if err != nil {
		s.log.Error().Err(err).Msg("the page of a refusal")
	}
	pageHeader(w, policy, "text/html; charset=utf-8")
	w.WriteHeader(e.Status)
	w.Write(html)
}

// made turns a page's error into a refusal.
func made(html []byte, err error) ([]byte, *refusal) {
	switch {
	case err == nil:
		return html, nil
	case errors.Is(err, store.ErrNotFound):
		return nil, &refusal{Status: http.StatusNotFound, Message: "there is no such page for you"}
	}
	return nil, refuse(err)
}

// written writes a page into memory first: a page that fails is never sent by half.
func written(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b)
	return b.Bytes(), err
}

func (s *Server) jobPage(r *http.Request, by viewer) ([]byte, error) {
	found, e := s.findJob(r, by)
	if e != nil {
		return nil, e
	}
	if !found.Step {
		if err := s.store.AddBeside(r.Context(), by.Viewer, found); err != nil {
			return nil, refuse(err)
		}
	}
	links := menu(r, by.Viewer, "")
	if found.Tasks != nil {
		return written(func(w io.Writer) error { return views.PageOfArray(w, view.NewArray(found, true), links) })
	}
	study, verdicts := s.rules.JudgeFound(found, time.Now())
	return written(func(w io.Writer) error { return views.PageOfJob(w, view.NewJob(found, study, verdicts, true), links) })
}

func (s *Server) workloadPage(r *http.Request, by viewer) ([]byte, error) {
	found, e := s.findWorkload(r, by)
	if e != nil {
		return nil, e
	}
	study := workload.NewStudy(found.Workload, found.Job(), time.Now(), curve.Settings{})
	if study == nil { // of its jobs there is nothing to draw
		return nil, noWorkload(r.PathValue("name"), store.ErrNoWorkload)
	}
	return written(func(w io.Writer) error {
		return views.PageOfWorkload(w, view.NewWorkload(study, true), menu(r, by.Viewer, ""))
	})
}

// digestPage writes a week's digest as it is mailed: /digest?week=2026-W46&account=chem. Coordinators get that of
// their accounts.
func (s *Server) digestPage(r *http.Request, by viewer) ([]byte, error) {
	by, e := s.of(r, by)
	if e != nil {
		return nil, e
	}
	q := r.URL.Query()
	from, to, err := s.weeks.Asked(q.Get("week"), time.Now())
	if err != nil {
		return nil, store.ErrNotFound
	}
	both, err := s.store.TwoWeeks(r.Context(), by.Viewer, from, to, q["account"])
	if err != nil {
		return nil, err
	}
	letter, err := s.letters.Digest(s.digest(both))
	return []byte(letter.HTML), err
}

// digest makes the view of a digest.
func (s *Server) digest(both *listing.TwoWeeks) *view.Digest {
	return view.NewDigest(notice.NewDigest(both), view.Site{Zone: s.weeks.Zone, Help: s.help, Link: s.link})
}
