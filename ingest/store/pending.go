package store

import (
	"sync"
	"time"
)

// pending counts work under way, for those who wait for it a moment.
type pending struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when nothing is under way; set while something is
}

// begin says that something is under way. Call end once, when it is done.
func (p *pending) begin() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n++; p.n == 1 {
		p.none = make(chan struct{})
	}
	return p.end
}

func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 {
		close(p.none)
	}
}

// wait waits until nothing is under way, but at most so long.
func (p *pending) wait(atMost time.Duration) {
	p.mu.Lock()
	n, none := p.n, p.none
	p.mu.Unlock()
	if n == 0 {
		return
	}
	select {
	case <-none:
	case <-time.After(atMost):
	}
}
