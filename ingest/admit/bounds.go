package admit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"jobeff/ingest/wire"
)

// part names whom a use of jobeffd is charged to.
type part struct {
	class   class
	name    string // "": no bound
	network string // from which a user asks, by TCP
}

// class says how well jobeffd knows whoever asks. The less it knows, the earlier it cuts the connection.
type class int

const (
	nobody   class = iota // no credential was shown: an address
	stranger              // root of some node, at an address that the resolver has not named yet
	known                 // a user, a node, a proxy
	classes
)

// All strangers together have no more than strangersTogether parts. The users of one network have no
// more than usersTogether: a login node has many users, but root of a node can make credentials for
// any user.
const (
	strangers         = "strangers"
	strangersTogether = 2
	usersTogether     = 16
)

// ofProxy is the part of the pages' proxy: its connections carry the requests of many users.
var ofProxy = part{class: known, name: "the pages' proxy"}

// ofUser is a user's part. On TCP, where there are several clusters, a uid is one of its cluster.
func ofUser(uid uint32, cluster string) part {
	if cluster != "" {
		return part{class: known, name: fmt.Sprintf("uid %d of %s", uid, cluster)}
	}
	return part{class: known, name: fmt.Sprintf("uid %d", uid)}
}

// share is one of the budgets that a part is charged to.
type share struct {
	name  string
	times int  // it may use as much as this many parts
	users bool // all users of a network share it
}

// shares are all that a part is charged to: its own share, and the one that all strangers, or all
// users of a network, have together.
func (p part) shares() []share {
	switch {
	case p.name == "":
		return nil
	case p.class == stranger:
		return []share{{name: p.name, times: 1}, {name: strangers, times: strangersTogether}}
	case p.network != "":
		return []share{{name: p.name, times: 1}, {name: "users at " + p.network, times: usersTogether, users: true}}
	}
	return []share{{name: p.name, times: 1}}
}

// mostSources bounds how many shares are remembered. A forgotten one starts with all that it may use.
const mostSources = 100_000

// rates bounds the requests of each part: a node's reports, a user's questions.
type rates struct {
	limit rate.Limit // per second
	mu    sync.Mutex
	of    map[string]*rate.Limiter
}

// newRates allows each part perSecond requests per second, and as many at once. 0 is no bound.
func newRates(perSecond int) *rates {
	return &rates{limit: rate.Limit(perSecond), of: map[string]*rate.Limiter{}}
}

// take charges n requests to a part. It refuses them while fewer than least are allowed now.
// Otherwise it charges all n, and a part that overdrew waits longer afterwards.
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

// limiter returns the limiter of a share, and makes it if there is none.
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
		if is { // strangers may have made up so many
			r.of[strangers] = together
		}
	}
}

// texts bounds the reports that are read, unpacked and kept at once, by the bytes of their text: a few
// packed bytes may unpack to a large text. Each part has only a share of the bytes. So no node keeps
// out the others with reports that it sends slowly, or that take long to read.
type texts struct {
	all *semaphore.Weighted // bytes
	mu  sync.Mutex
	of  map[string]int64 // by share
	sum int64
}

const (
	aroundText = 64 << 10                         // what a report takes besides its text, bytes
	mostOfOne  = aroundText + wire.MaxReportBytes // of one part, bytes: the largest report
	mostOfAll  = 4 * mostOfOne
)

func newTexts() *texts {
	return &texts{all: semaphore.NewWeighted(mostOfAll), of: map[string]int64{}}
}

// take waits until there is room for a text of so many bytes; release gives it back. A part that has
// used up its share is refused at once.
func (t *texts) take(ctx context.Context, p part, size int64) (release func(), e *Refusal) {
	size += aroundText
	busy := &Refusal{Status: http.StatusTooManyRequests, Reason: "memory", Message: "jobeffd reads too many reports at once", Hint: "try again"}
	if !t.charge(p, size) {
		busy.Retry = time.Second
		return nil, busy
	}
	if err := t.all.Acquire(ctx, size); err != nil {
		t.charge(p, -size)
		busy.Retry = 10 * time.Second
		return nil, busy
	}
	return func() {
		t.all.Release(size)
		t.charge(p, -size)
	}, nil
}

// taken is how many bytes are taken or waited for.
func (t *texts) taken() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return float64(t.sum)
}

// charge adds bytes to a part, unless one of its shares would become too large.
func (t *texts) charge(p part, size int64) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range p.shares() {
		if t.of[s.name]+size > mostOfOne*int64(s.times) {
			return false
		}
	}
	t.sum += size
	for _, s := range p.shares() {
		if t.of[s.name] += size; t.of[s.name] == 0 {
			delete(t.of, s.name)
		}
	}
	return true
}

// mostAtOnce is how many questions of one user are answered at once; the others wait. The database
// has a few connections for questions, and large lists take seconds each.
const mostAtOnce = 2

// usersAtOnce bounds the questions of all users of one network: three of the database's four
// connections. An answer that is being written to a slow client no longer counts here. It still
// counts against the user's mostAtOnce, and against usersTogether for the network.
const usersAtOnce = 3

// mostDecodes bounds the credentials from one address about which munge is asked at once. munged
// answers two at a time, all others wait.
const mostDecodes = 8

// turns bounds how much a part does at once, so that nobody keeps the others waiting.
type turns struct {
	atOnce int // of a part
	users  int // of all users of a network; 0: as many as their parts have
	mu     sync.Mutex
	of     map[string]*turn // by share
}

type turn struct {
	taken chan struct{}
	users int // those that hold it or wait for it
}

func newTurns(atOnce, users int) *turns {
	return &turns{atOnce: atOnce, users: users, of: map[string]*turn{}}
}

// take waits for a turn of a part; release ends it.
func (t *turns) take(ctx context.Context, p part) (release func(), err error) {
	var ends []func()
	release = func() {
		for _, end := range ends {
			end()
		}
	}
	for _, s := range p.shares() {
		own := t.enter(s)
		select {
		case own.taken <- struct{}{}:
			ends = append(ends, func() {
				<-own.taken
				t.leave(s, own)
			})
		case <-ctx.Done():
			t.leave(s, own)
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}

func (t *turns) enter(s share) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[s.name]
	if own == nil {
		most := t.atOnce * s.times
		if s.users {
			most = cmp.Or(t.users, most)
		}
		own = &turn{taken: make(chan struct{}, most)}
		t.of[s.name] = own
	}
	own.users++
	return own
}

func (t *turns) leave(s share, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.of, s.name)
	}
}
