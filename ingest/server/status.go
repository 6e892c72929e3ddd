package server

import (
	"context"
	"io"
	"net/http"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/policy/harm"
	views "jobeff/report"
	"jobeff/report/view"
)

// slowdownLifetime is how long run times are used again: they read the jobs of four weeks.
const slowdownLifetime = time.Hour

// runTimes are those of the default time of a cost.
func (s *Server) runTimes(ctx context.Context, now time.Time) (*harm.Slowdown, error) {
	c, err := s.cost(ctx, time.Time{}, now, "")
	if err != nil || c == nil {
		return nil, err
	}
	return &c.Times, nil
}

// status is what both the page and programs get.
func (s *Server) status(ctx context.Context) (*listing.Status, error) {
	is, err := s.store.Status(ctx, time.Now().UTC())
	if err == nil {
		is.Times, _ = s.slowdown.get() // without them it says so
	}
	return is, err
}

// getStatus answers how jobeff itself does: GET /v1/status.
func (s *Server) getStatus(w http.ResponseWriter, r *http.Request) {
	by, ok := s.operator(w, r, "the status of jobeff", nil)
	if !ok {
		return
	}
	is, err := s.status(r.Context())
	if err != nil {
		s.fail(w, r, by, refuse(err))
		return
	}
	answer(w, r, view.NewStatus(is, true))
}

// statusPage is the same for a browser.
func (s *Server) statusPage(r *http.Request, by viewer) ([]byte, error) {
	if !by.Operates() {
		return nil, store.ErrNotFound
	}
	is, err := s.status(r.Context())
	if err != nil {
		return nil, err
	}
	return written(func(w io.Writer) error {
		return views.PageOfStatus(w, view.NewStatus(is, true), menu(r, by.Viewer, "status"))
	})
}
