package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// TestQuestionsOfOneUser: large lists of one user keep nobody else from asking.
func TestQuestionsOfOneUser(t *testing.T) {
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	s := start(t, func(o *Options) {
		o.Pages.Jobs = func(*job.JobList) ([]byte, error) { return []byte("list"), nil }
		o.Pages.Job = func(*job.JobAndWorkload) ([]byte, error) {
			entered <- struct{}{}
			<-leave
			return []byte("page"), nil
		}
	})
	s.check(t, "post", s.post(t, report(1, alice)), 200, "true")
	ask := func(path string) response { return request{Addr: s.unix, Method: "GET", Path: path}.as(t, alice) }
	var all sync.WaitGroup
	for range 3 * mostAtOnce {
		all.Go(func() { s.check(t, "a page", ask("/jobs/1"), 200, "page") })
	}
	for range mostAtOnce {
		<-entered
	}
	for s.server.turns.waiting(alice) < 3*mostAtOnce {
		time.Sleep(time.Millisecond)
	}
	if n := len(entered); n > 0 {
		t.Errorf("%d more questions of one user are answered at once", n)
	}
	s.check(t, "another user", request{Addr: s.unix, Method: "GET", Path: "/"}.as(t, bob), 200, "list")
	close(leave)
	all.Wait()
	s.check(t, "later", ask("/"), 200, "list")
	if n := s.server.turns.waiting(alice); n != 0 {
		t.Errorf("%d turns are not given back", n)
	}
}

// waiting is how many questions of a user hold a turn or wait for one.
func (t *turns) waiting(uid uint32) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.of[uid]; own != nil {
		return own.users
	}
	return 0
}

// TestTurnsEnd: who waits in vain takes no turn.
func TestTurnsEnd(t *testing.T) {
	m := &turns{of: map[uint32]*turn{}}
	for range mostAtOnce {
		if _, err := m.take(ctx, alice); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := m.take(gone, alice); err == nil || m.waiting(alice) != mostAtOnce {
		t.Errorf("%v, %d wait", err, m.waiting(alice))
	}
}

// TestNoncesOfOneUser: a user who asks faster than they may fills no memory with nonces.
func TestNoncesOfOneUser(t *testing.T) {
	s := start(t, func(o *Options) { o.ReadRate = 1 })
	answered := 0
	for i := range 20 {
		path := []string{"/healthz", "/v1/jobs"}[i%2]
		switch got := (request{Addr: s.tcp, Munge: s.munge, Method: "GET", Path: path}).as(t, alice); {
		case got.Status == 200:
			answered++
		case got.Status != 429 || !strings.Contains(got.Text, "too many requests"):
			t.Error(fmt.Sprint(path, got))
		}
	}
	if n := len(s.server.nonces.now); n != answered || answered == 20 {
		t.Errorf("%d nonces are remembered of %d answered requests", n, answered)
	}
}
