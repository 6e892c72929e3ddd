package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics answers GET /metrics for Prometheus, which has no munge credential. It shows
// figures of the whole site and nobody's job.
func (s *Server) Metrics() http.Handler {
	return promhttp.HandlerFor(s.counts.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// getMetrics answers the same on the usual addresses, to viewers who may see every job.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) {
	by, ok := s.viewer(w, r)
	if !ok {
		return
	}
	if !by.Viewer.All {
		s.fail(w, r, by, &refusal{Status: http.StatusForbidden, Reason: "not_operator", Message: "the metrics are for operators",
			Hint: "server.operators names them; server.metrics is for Prometheus"})
		return
	}
	s.Metrics().ServeHTTP(w, r)
}

func (s *Server) getHealth(w http.ResponseWriter, r *http.Request) {
	if e := s.door.Shown(r); e != nil {
		s.fail(w, r, viewer{}, e)
		return
	}
	if err := s.store.Ping(r.Context()); err != nil {
		s.fail(w, r, viewer{}, refuse(err))
		return
	}
	s.door.Answers(w, r)
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}
