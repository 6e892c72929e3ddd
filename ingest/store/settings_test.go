package store

import (
	"errors"
	"fmt"
	"testing"
)

// TestSettings writes a run's columns by every rule, in a new row and over an old one.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := open(t)
	k := runKey{"test", 1, 1}
	steps := []struct {
		settings []setting
		want     string
	}{
		{[]setting{{"uid", 7, replaces}, {"changed_us", 1, replaces}, {"nodes", int64(2), larger}, {"nodes", int64(3), larger}, {"user_name", "", replaces},
			{"user_name", "alice", empty}, {"het_offset", int64(0), missing}, {"het_offset", int64(4), missing}, {"array_task_id", int64(5), replaces}, {"array_task_id", nil, given}},
			"3 alice 0 5 1"},
		{[]setting{{"nodes", int64(2), larger}, {"user_name", "bob", empty}, {"het_offset", int64(9), missing}, {"array_task_id", nil, given}, {"changed_us", 2, replaces}}, "3 alice 0 5 2"},
		{[]setting{{"nodes", int64(1), replaces}, {"nodes", int64(4), larger}, {"user_name", "", replaces}, {"array_task_id", int64(6), given}}, "4  0 6 2"},
		{[]setting{{"user_name", "carol", empty}}, "4 carol 0 6 2"},
	}
	for i, step := range steps {
		err := s.do(ctx, func(w *writer) error {
			if i == 0 {
				return w.insertRun(k, step.settings)
			}
			return w.updateRun(k, step.settings)
		})
		if err != nil {
			t.Fatal(err)
		}
		var nodes, offset, task, changed int
		var user string
		err = s.read.QueryRowContext(ctx, "SELECT nodes, user_name, het_offset, array_task_id, changed_us FROM runs").Scan(&nodes, &user, &offset, &task, &changed)
		if got := fmt.Sprint(nodes, " ", user, " ", offset, " ", task, " ", changed); err != nil || got != step.want {
			t.Errorf("step %d: %q, %v, want %q", i, got, err, step.want)
		}
	}
}

// TestFailsAlone: of pieces of work that are committed together the one that fails is
// undone, whatever it did before, and the others stay.
func TestFailsAlone(t *testing.T) {
	t.Parallel()
	s := open(t)
	bad := errors.New("a fault")
	add := func(job uint32, err error) *op {
		return &op{do: func(w *writer) error {
			return errors.Join(w.newRun(runKey{"test", job, 1}, 7, 0, ""), err)
		}, result: make(chan error, 1)}
	}
	batch := []*op{add(1, nil), add(2, bad), add(3, nil)}
	first := make(chan struct{}) // holds the lane until the batch is whole
	go s.do(ctx, func(*writer) error { <-first; return nil })
	for _, o := range batch {
		s.lanes[0].ops <- o
	}
	close(first)
	for i, o := range batch {
		if err := <-o.result; (i == 1) != errors.Is(err, bad) || i != 1 && err != nil {
			t.Errorf("piece %d: %v", i, err)
		}
	}
	if n := count(t, s, "runs"); n != 2 {
		t.Errorf("%d runs, want those of the two that did not fail", n)
	}
}
