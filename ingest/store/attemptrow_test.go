package store

import (
	"errors"
	"fmt"
	"testing"

	"jobeff/ingest/job"
)

// TestRules writes an attempt's columns by every rule, in a new row and over an old one.
func TestRules(t *testing.T) {
	t.Parallel()
	s := open(t)
	task := func(n uint32) *uint32 { return &n }
	steps := []struct {
		by    sourceSet
		nodes int
		user  string
		task  *uint32
		want  string
	}{
		{from(opening, arrival), 3, "nobody's", task(9), "3  <nil>"}, // neither knows the user
		{from(merging), 2, "alice", nil, "3 alice <nil>"},
		{from(merging), 4, "bob", task(5), "4 alice 5"},
		{from(merging), 1, "bob", task(6), "4 alice 5"},
		{from(accounting), 2, "carol", nil, "4 carol <nil>"}, // Slurm knows best
		{from(accounting), 2, "", task(7), "4  7"},
		{from(arrival, merging), 1, "dora", nil, "1 dora 7"}, // the first source's rule
	}
	for i, step := range steps {
		r := &attemptRow{attemptKey: attemptKey{"test", 1, 1}, changed: day, steps: "[]", warnings: "[]",
			job: job.Job{UID: 7, Nodes: step.nodes, User: step.user, ArrayTaskID: step.task, Reports: 1}}
		if err := s.do(ctx, func(w *writer) error { return w.writeAttempt(r, step.by) }); err != nil {
			t.Fatal(err)
		}
		rows, err := readRows(s.read.QueryContext(ctx, "SELECT nodes, user_name, array_task_id, changed_us FROM attempts"))
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if got := fmt.Sprint(rows[0]["nodes"], " ", rows[0]["user_name"], " ", rows[0]["array_task_id"]); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		if rows[0]["changed_us"] != day.UnixMicro() {
			t.Errorf("step %d: changed %v", i, rows[0]["changed_us"])
		}
	}
}

// TestFailsAlone: of work that is committed together, only the piece that fails is undone,
// with all that it wrote.
func TestFailsAlone(t *testing.T) {
	t.Parallel()
	s := open(t)
	bad := errors.New("a fault")
	add := func(id uint32, err error) *op {
		return &op{do: func(w *writer) error {
			return errors.Join(w.writeAttempt(&attemptRow{attemptKey: attemptKey{"test", id, 1}, changed: day}, from(opening)), err)
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
	if n := count(t, s, "attempts"); n != 2 {
		t.Errorf("%d attempts, want those of the two that did not fail", n)
	}
}
