package server

import (
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostSources bounds how many sources of requests are remembered; who is forgotten begins
// anew.
const mostSources = 100_000

// rates bounds the requests of each source: a node's reports, a user's questions. The
// zero value bounds nothing.
type rates struct {
	limit rate.Limit // per second
	mu    sync.Mutex
	of    map[string]*rate.Limiter
}

// newRates allows perSecond of each source and a second's worth at once; 0: any number.
func newRates(perSecond int) *rates {
	r := &rates{limit: rate.Limit(perSecond), of: map[string]*rate.Limiter{}}
	if perSecond == 0 {
		r.limit = rate.Inf
	}
	return r
}

// take counts n requests, and refuses them where their source has to wait. More than may
// ever come at once are as many as that.
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

// forget drops whoever was quiet for long enough to have everything allowed again, and all,
// if these are few: else the next new source would have it look through them once more.
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
