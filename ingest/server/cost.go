package server

import (
	"context"
	"net/http"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/report/view"
)

// costSpan is the time of a cost for which nobody asked.
const costSpan = 28 * 24 * time.Hour

// getCost answers what jobeff costs: GET /v1/cost?start=&end=&cluster=, of jobs that ended then. Without an end it is now; without a
// start it is four weeks before the end, or when the share of measured jobs was last changed, if it leaves some alone.
func (s *Server) getCost(w http.ResponseWriter, r *http.Request) {
	var from time.Time
	to := time.Now().UTC()
	by, ok := s.operator(w, r, "what jobeff costs", listing.Parameters{"start": &from, "end": &to})
	if !ok {
		return
	}
	c, err := s.cost(r.Context(), from, to, by.Of)
	switch {
	case err != nil:
		s.fail(w, r, by, refuse(err))
	case c == nil:
		s.fail(w, r, by, badQuery("end", r.URL.Query().Get("end"), "a time after start, and start a time that is over"))
	default:
		answer(w, r, view.NewCost(c, true))
	}
}

// cost is nil if nothing can have ended in the span. It is of one cluster; "": of all.
func (s *Server) cost(ctx context.Context, from, to time.Time, cluster string) (*listing.Cost, error) {
	if now := time.Now().UTC(); to.After(now) {
		to = now
	}
	if from.IsZero() {
		changed, err := s.store.Mark(ctx, store.MarkCompared)
		if err != nil {
			return nil, err
		}
		drawn := s.measure.Coin() > 0 && s.measure.Coin() < 1
		if from = to.Add(-costSpan); drawn && changed.After(from) && changed.Before(to) {
			from = changed
		}
	}
	if !to.After(from) {
		return nil, nil
	}
	c, err := s.store.Cost(ctx, from, to, cluster, s.measure)
	if err == nil && s.spent != nil {
		cpu, up := s.spent()
		c.Daemon = &listing.DaemonTime{CPU: cpu.Seconds(), Up: up.Seconds()}
	}
	return c, err
}
