package server

import (
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostSources is how many sources of requests are remembered. One that is forgotten starts
// from zero.
const mostSources = 100_000

// rates bounds the requests of each source: a node's reports, a user's questions. The
// zero value bounds nothing.
type rates struct {
	limit rate.Limit // per second
	mu    sync.Mutex
	of    map[string]*rate.Limiter
}

// newRates allows each source so many requests per second, and as many at once. 0 is no bound.
func newRates(perSecond int) *rates {
	r := &rates{limit: rate.Limit(perSecond), of: map[string]*rate.Limiter{}}
	if perSecond == 0 {
		r.limit = rate.Inf
	}
	return r
}

// take counts n requests of a source, and refuses them if it has to wait. n is capped at what
// may come at once.
func (r *rates) take(source string, now time.Time, n int) *refusal {
	if r.limit == rate.Inf {
		return nil
	}
	r.mu.Lock()
	l := r.of[source]
	if l == nil {
		if len(r.of) >= mostSources {
			r.forget(now)
		}
		l = rate.NewLimiter(r.limit, int(math.Ceil(float64(r.limit))))
		r.of[source] = l
	}
	r.mu.Unlock()
	if l.AllowN(now, min(n, l.Burst())) {
		return nil
	}
	return &refusal{status: http.StatusTooManyRequests, reason: "rate", message: "too many requests come from here",
		hint:  "wait a second, or have the site raise server.report_rate or server.read_rate",
		retry: time.Second} // after which a second's worth may come
}

// forget drops sources that have been quiet for a second. If more than half remain, it drops
// all, so that the next new source does not search them again.
func (r *rates) forget(now time.Time) {
	for source, l := range r.of {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(r.of, source)
		}
	}
	if len(r.of) > mostSources/2 {
		clear(r.of)
	}
}
