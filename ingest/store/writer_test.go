package store

import (
	"testing"
	"time"
)

// sizes is a committer that tells how much it got at once.
type sizes chan int

func (s sizes) commit(batch []*op) { s <- len(batch) }

func (s sizes) close() {}

// TestLaneWaits: a commit waits for reports on their way and includes them. For one that does
// not come, it waits no longer than it should.
func TestLaneWaits(t *testing.T) {
	taken := make(sizes, 8)
	l := &lane{taken, make(chan *op, 8)}
	quit := make(chan struct{})
	defer close(quit)
	var coming pending
	go l.run(quit, &coming, time.Hour)

	l.ops <- &op{}
	if n := <-taken; n != 1 {
		t.Errorf("%d at once with nothing on its way", n)
	}
	one, two := coming.begin(), coming.begin()
	l.ops <- &op{}
	l.ops <- &op{}
	one()
	l.ops <- &op{}
	select {
	case n := <-taken:
		t.Errorf("%d were taken while one was on its way", n)
	case <-time.After(20 * time.Millisecond):
	}
	two()
	if n := <-taken; n != 3 {
		t.Errorf("%d at once, want 3", n)
	}

	hasty := &lane{taken, make(chan *op, 8)}
	go hasty.run(quit, &coming, time.Millisecond)
	defer coming.begin()()
	hasty.ops <- &op{}
	if n := <-taken; n != 1 {
		t.Errorf("%d at once, want 1", n)
	}
}
