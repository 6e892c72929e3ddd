package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// logsOfNode are the logs that belong to a report. The store does not look into their text.
func logsOfNode(r *job.NodeReport) *job.NodeLogs {
	x := r.Executions[0]
	return &job.NodeLogs{Cluster: r.Cluster, JobID: r.JobID, Nonce: r.Nonce, Node: r.Node, Key: x.Key, Size: x.Size, Ranks: 2, Start: x.Start, Text: []byte("logs of " + r.Node)}
}

func addLogs(t *testing.T, s *Store, l *job.NodeLogs) (added bool) {
	t.Helper()
	head, err := l.Head()
	if err == nil {
		added, err = s.AddLogs(ctx, l, job.Compress(append(head, l.Text...)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func nextLogs(t *testing.T, s *Store, now time.Time) *WindowLogs {
	t.Helper()
	l, err := merged(t, s).NextLogs(ctx, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Logs are replayed when those of all nodes are there, and their reports. What the replay told is
// the job's, however often its reports are merged.
func TestWindowLogs(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	now := time.Now()
	for i, r := range reports {
		if !addLogs(t, s, logsOfNode(r)) || addLogs(t, s, logsOfNode(r)) {
			t.Fatalf("node %d: added twice, or never", i)
		}
		if l := nextLogs(t, s, now); l != nil {
			t.Fatalf("to be replayed without %d reports: %+v", 2-i, l)
		}
		add(t, s, r)
	}
	l := nextLogs(t, s, now)
	if l == nil || len(l.Logs) != 2 || l.Execution == nil || l.Execution.Size != 4 || l.Execution.Metrics.Ranks != 4 {
		t.Fatalf("%+v", l)
	}
	if again := nextLogs(t, s, now.Add(logAgain/2)); again != nil {
		t.Errorf("claimed twice: %+v", again)
	}
	told := &job.Windows{Logged: 8, Matched: 8, Share: 1, Serialisation: job.Estimate{Value: 0.5, Low: 0.4, High: 0.6}, Transfer: job.Estimate{Value: 1, Low: 1, High: 1}}
	if err := s.KeepWindows(ctx, l, l.Logs[0], told); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if w := job.JobWindows(aJob(t, s, alice, "7", 0).Executions); !w.Determined() || w.Serialisation != told.Serialisation {
			t.Fatalf("%+v", w)
		}
		if _, err := s.Merge(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, s, "window_logs"); n != 0 {
		t.Errorf("%d logs are left", n)
	}
	if j := aJob(t, s, alice, "7", 0); j.Reports != 2 || j.Metrics.Ranks != 4 || j.Metrics.Coverage != 1 {
		t.Errorf("%+v", j.Metrics)
	}
}

// Logs of a node that was lost, or whose logs come too late, are dropped in the end.
func TestWindowLogsOfLostNodes(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	add(t, s, reports...)
	now := time.Now()
	addLogs(t, s, logsOfNode(reports[0]))
	if l := nextLogs(t, s, now.Add(30*time.Minute)); l != nil || count(t, s, "window_logs") != 1 {
		t.Fatalf("dropped before the grace time is over: %+v", l)
	}
	if l := nextLogs(t, s, now.Add(2*time.Hour)); l != nil || count(t, s, "window_logs") != 0 {
		t.Errorf("%d are left of %+v", count(t, s, "window_logs"), l)
	}
	if j := aJob(t, s, alice, "7", 0); j.Executions[0].Windows != nil {
		t.Errorf("%+v", j.Executions[0].Windows)
	}
}

// A jobeffd that is killed in the replay tries again, but not for ever.
func TestWindowLogsTries(t *testing.T) {
	database := newDatabase(t)
	s := openAt(t, database)
	reports := ofNodes(7, 2, "a", 0)
	add(t, s, reports...)
	for _, r := range reports {
		addLogs(t, s, logsOfNode(r))
	}
	now := time.Now()
	for try := range logTries {
		if l := nextLogs(t, s, now); l == nil || len(l.Logs) != 2 {
			t.Fatalf("try %d: %+v", try+1, l)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, now = openAt(t, database), now.Add(2*logAgain)
	}
	if l := nextLogs(t, s, now); l != nil || count(t, s, "window_logs") != 0 {
		t.Errorf("tried once more: %+v", l)
	}
}

// Logs that fit no execution, and those of a trimmed job, are dropped without a word in the job.
func TestWindowLogsOfNothing(t *testing.T) {
	s := open(t)
	for id, change := range map[uint32]func(*job.NodeLogs){
		7: func(l *job.NodeLogs) { l.Key = "another" },
		8: func(l *job.NodeLogs) { l.Start = l.Start.Add(time.Hour) },
		9: func(l *job.NodeLogs) { l.Size, l.Ranks = 2, 1 },
	} {
		reports := ofNodes(id, 2, "a", 0)
		add(t, s, reports...)
		for _, r := range reports {
			l := logsOfNode(r)
			change(l)
			addLogs(t, s, l)
		}
	}
	for range 3 {
		if l := nextLogs(t, s, time.Now()); l != nil {
			t.Errorf("%+v", l)
		}
	}
	if n := count(t, s, "window_logs"); n != 0 {
		t.Errorf("%d logs are left", n)
	}
}

// A site's logs have bounds.
func TestWindowLogsAreBounded(t *testing.T) {
	s := open(t)
	err := s.do(ctx, func(w *writer) error {
		return w.exec("INSERT INTO window_logs (cluster, job_id, node, nonce, world, size, ranks, received_us, bytes, body) VALUES ('c', 1, 'n', 'x', 'k', 2, 1, ?, ?, ?)",
			time.Now().UnixMicro(), mostLogBytes, []byte{})
	})
	if err != nil {
		t.Fatal(err)
	}
	l := logsOfNode(ofNodes(7, 2, "a", 0)[0])
	if _, err := s.AddLogs(ctx, l, []byte(strings.Repeat("x", 10))); !errors.Is(err, ErrManyLogs) {
		t.Errorf("%v, want %v", err, ErrManyLogs)
	}
}
