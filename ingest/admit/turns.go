package admit

import (
	"context"
	"sync"
)

// mostAtOnce is how many questions of one user are answered at once; their others wait. The
// database has a few connections for questions, and large lists take seconds each.
const mostAtOnce = 2

// mostDecodes is how many credentials from one address munge is asked about at once. munged
// answers two at a time, all others wait.
const mostDecodes = 8

// turns lets nobody keep the others waiting.
type turns struct {
	atOnce int // of a part
	mu     sync.Mutex
	of     map[string]*turn // by share
}

type turn struct {
	taken chan struct{}
	users int // those that hold it or wait for it
}

func newTurns(atOnce int) *turns { return &turns{atOnce: atOnce, of: map[string]*turn{}} }

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
		own = &turn{taken: make(chan struct{}, t.atOnce*s.times)}
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
