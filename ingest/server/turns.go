package server

import (
	"context"
	"sync"
)

// mostAtOnce is how many questions of one user are answered at once; their others wait. The
// database has a few connections for questions, and large lists take seconds each.
const mostAtOnce = 2

// turns lets nobody keep the others from asking.
type turns struct {
	mu sync.Mutex
	of map[uint32]*turn // by uid
}

type turn struct {
	taken chan struct{}
	users int // questions that hold it or wait for it
}

// take waits for a turn of a user; release ends it.
func (t *turns) take(ctx context.Context, uid uint32) (release func(), err error) {
	own := t.enter(uid)
	select {
	case own.taken <- struct{}{}:
		return func() {
			<-own.taken
			t.leave(uid, own)
		}, nil
	case <-ctx.Done():
		t.leave(uid, own)
		return nil, ctx.Err()
	}
}

func (t *turns) enter(uid uint32) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[uid]
	if own == nil {
		own = &turn{taken: make(chan struct{}, mostAtOnce)}
		t.of[uid] = own
	}
	own.users++
	return own
}

func (t *turns) leave(uid uint32, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.of, uid)
	}
}

// atEnd is what ServeHTTP does when a request is answered.
type atEnd struct{ do func() }

type atEndKey struct{}
