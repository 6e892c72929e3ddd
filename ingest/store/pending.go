package store

import (
	"sync"
	"time"
)

// pending counts what is under way, for those who wait for it a moment.
type pending struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed: nothing is; set while something is
}

// begin says that something is under way, until end is called, once.
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

// wait waits until nothing is under way, but no longer than that.
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
