package admit

import (
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostSources is how many parts are remembered. One that is forgotten starts from zero.
const mostSources = 100_000

// rates bounds the requests of each part: a node's reports, a user's questions.
type rates struct {
	limit rate.Limit // per second
	mu    sync.Mutex
	of    map[string]*rate.Limiter
}

// newRates allows each part so many requests per second, and as many at once. 0 is no bound.
func newRates(perSecond int) *rates {
	return &rates{limit: rate.Limit(perSecond), of: map[string]*rate.Limiter{}}
}

// take counts n requests. It refuses them while fewer than least are allowed at once, else it takes
// all of them: who takes more than there is waits longer afterwards.
func (r *rates) take(p part, now time.Time, n, least int) *Refusal {
	if r.limit == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*rate.Limiter
	var wait float64 // seconds
	for _, s := range p.shares() {
		l := r.limiter(s, now)
		wait = max(wait, (float64(least)-l.TokensAt(now))/float64(l.Limit()))
		all = append(all, l)
	}
	if wait > 0 {
		return &Refusal{Status: http.StatusTooManyRequests, Reason: "rate", Message: "too many requests come from here",
			Hint:  "wait a second, or have the site raise server.report_rate or server.read_rate",
			Retry: time.Duration(math.Ceil(wait)) * time.Second}
	}
	for _, l := range all {
		for left := n; left > 0; left -= l.Burst() {
			l.ReserveN(now, min(left, l.Burst()))
		}
	}
	return nil
}

// limiter is that of a share.
func (r *rates) limiter(s share, now time.Time) *rate.Limiter {
	l := r.of[s.name]
	if l == nil {
		if len(r.of) >= mostSources {
			r.forget(now)
		}
		limit := r.limit * rate.Limit(s.times)
		l = rate.NewLimiter(limit, int(limit))
		r.of[s.name] = l
	}
	return l
}

// forget drops shares that have been quiet for a second. If more than half remain, it drops
// all, so that the next new one does not search them again.
func (r *rates) forget(now time.Time) {
	for name, l := range r.of {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(r.of, name)
		}
	}
	if together, is := r.of[strangers]; len(r.of) > mostSources/2 {
		clear(r.of)
		if is { // they are who may have made up so many
			r.of[strangers] = together
		}
	}
}
