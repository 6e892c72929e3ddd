package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/ingest/wire"
)

// logsOfNode are the logs that belong to a report. The store does not look into their text.
func logsOfNode(r *job.NodeReport) *wire.NodeLogs {
	x := r.Executions[0]
	return &wire.NodeLogs{Cluster: r.Cluster, JobID: r.JobID, Nonce: r.Nonce, Node: r.Node, Key: x.Key, Size: x.Size, Ranks: 2, Start: x.Start, Text: []byte("logs of " + r.Node)}
}

func tryLogs(s *Store, l *wire.NodeLogs) (added bool, err error) {
	return s.AddLogs(ctx, l, l.Pack(l.Text, l.Entries), "")
}

func addLogs(t *testing.T, s *Store, l *wire.NodeLogs) (added bool) {
	t.Helper()
	added, err := tryLogs(s, l)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func nextLogs(t *testing.T, s *Store, now time.Time) (*WindowLogs, []LostLogs) {
	t.Helper()
	l, lost, err := merged(t, s).NextLogs(ctx, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return l, lost
}

// wantNone checks that no logs are to be replayed, and that none are lost.
func wantNone(t *testing.T, s *Store, now time.Time, what string) {
	t.Helper()
	if l, lost := nextLogs(t, s, now); l != nil || len(lost) > 0 {
		t.Fatalf("%s: %+v, lost %+v", what, l, lost)
	}
}

// addAll adds the reports of a job and then their logs.
func addAll(t *testing.T, s *Store, reports []*job.NodeReport) {
	t.Helper()
	add(t, s, reports...)
	for _, r := range reports {
		if !addLogs(t, s, logsOfNode(r)) {
			t.Fatalf("the logs of %s were there", r.Node)
		}
	}
}

// Logs are replayed when those of all nodes are there, and their reports. What the replay told is
// the job's, however often its reports are merged, and the same logs are not taken again.
func TestWindowLogs(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	now := time.Now()
	for i, r := range reports {
		if _, err := tryLogs(s, logsOfNode(r)); !errors.Is(err, ErrLogsEarly) {
			t.Fatalf("node %d, before its report: %v", i, err)
		}
		add(t, s, r)
		wantNone(t, s, now, "without logs of all nodes")
		if !addLogs(t, s, logsOfNode(r)) || addLogs(t, s, logsOfNode(r)) {
			t.Fatalf("node %d: added twice, or never", i)
		}
	}
	l, _ := nextLogs(t, s, now)
	if l == nil || len(l.Heads) != 2 || l.Execution == nil || l.Execution.Size != 4 || l.Execution.Metrics.Ranks != 4 {
		t.Fatalf("%+v", l)
	}
	for i, r := range reports {
		if got, err := s.Logs(ctx, l, &l.Heads[i]); err != nil || string(got.Text) != "logs of "+r.Node {
			t.Errorf("%+v, %v", got, err)
		}
	}
	wantNone(t, s, now.Add(logAgain/2), "claimed twice")
	told := &job.Windows{Logged: 8, Matched: 8, Share: 1, Serialisation: job.Estimate{Value: 0.5, Low: 0.4, High: 0.6}, Transfer: job.Estimate{Value: 1, Low: 1, High: 1}}
	if err := s.KeepWindows(ctx, l, &l.Heads[0], told); err != nil {
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
	for _, r := range reports {
		if addLogs(t, s, logsOfNode(r)) {
			t.Errorf("logs of %s are taken after their replay", r.Node)
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
	wantNone(t, s, now.Add(30*time.Minute), "before the grace time is over")
	if l, lost := nextLogs(t, s, now.Add(2*time.Hour)); l != nil || len(lost) != 1 || lost[0].Logs != 1 || lost[0].Job != 7 || count(t, s, "window_logs") != 0 {
		t.Errorf("%d are left of %+v, lost %+v", count(t, s, "window_logs"), l, lost)
	}
	if j := aJob(t, s, alice, "7", 0); j.Executions[0].Windows != nil {
		t.Errorf("%+v", j.Executions[0].Windows)
	}
}

// They are dropped in time even if there are always others to replay.
func TestWindowLogsOfLostNodesBesideOthers(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	add(t, s, reports...)
	addLogs(t, s, logsOfNode(reports[0]))
	if err := s.do(ctx, func(w *writer) error {
		return w.exec("UPDATE window_logs SET received_us = received_us - ?", 2*time.Hour.Microseconds())
	}); err != nil {
		t.Fatal(err)
	}
	addAll(t, s, ofNodes(8, 2, "a", 0))
	if l, lost := nextLogs(t, s, time.Now()); l != nil || len(lost) != 1 || lost[0].Job != 7 || count(t, s, "window_logs") != 2 {
		t.Errorf("%+v, lost %+v", l, lost)
	}
	if l, lost := nextLogs(t, s, time.Now()); l == nil || l.JobID() != 8 || len(lost) > 0 {
		t.Errorf("then %+v, lost %+v", l, lost)
	}
}

// A jobeffd that is killed in the replay tries again, but not for ever.
func TestWindowLogsTries(t *testing.T) {
	database := newDatabase(t)
	s := openAt(t, database)
	addAll(t, s, ofNodes(7, 2, "a", 0))
	now := time.Now()
	for try := range logTries {
		if l, _ := nextLogs(t, s, now); l == nil || len(l.Heads) != 2 {
			t.Fatalf("try %d: %+v", try+1, l)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, now = openAt(t, database), now.Add(2*logAgain)
	}
	if l, lost := nextLogs(t, s, now); l != nil || len(lost) != 1 || lost[0].Logs != 2 || count(t, s, "window_logs") != 0 {
		t.Errorf("tried once more: %+v, lost %+v", l, lost)
	}
}

// Logs that fit no execution of their report are dropped, and counted. One node's take nothing from
// the others'.
func TestWindowLogsThatDoNotFit(t *testing.T) {
	for name, change := range map[string]func(*wire.NodeLogs){
		"another world":    func(l *wire.NodeLogs) { l.Key = "another" },
		"another time":     func(l *wire.NodeLogs) { l.Start = l.Start.Add(time.Hour) },
		"another size":     func(l *wire.NodeLogs) { l.Size, l.Ranks = 2, 1 },
		"others' ranks":    func(l *wire.NodeLogs) { l.Ranks = 3 },
		"before its start": func(l *wire.NodeLogs) { l.Start = l.Start.Add(-time.Microsecond) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			reports := ofNodes(7, 2, "a", 0)
			add(t, s, reports...)
			for i, r := range reports {
				l := logsOfNode(r)
				if i == 1 || name == "another world" || name == "another size" {
					change(l)
				}
				addLogs(t, s, l)
			}
			gone := 0
			for range 3 {
				l, lost := nextLogs(t, s, time.Now())
				if l != nil {
					t.Errorf("%+v", l)
				}
				for _, these := range lost {
					gone += these.Logs
				}
			}
			left := count(t, s, "window_logs")
			if left+gone != 2 || left > 1 {
				t.Errorf("%d are left, %d are told to be lost", left, gone)
			}
		})
	}
}

// Logs of an execution that cannot be read are given up in the end, and keep no others from their
// replay.
func TestWindowLogsOfADamagedExecution(t *testing.T) {
	s := open(t)
	addAll(t, s, ofNodes(7, 2, "a", 0))
	addAll(t, s, ofNodes(8, 2, "a", 0))
	if err := merged(t, s).do(ctx, func(w *writer) error { return w.exec("UPDATE executions SET detail = ? WHERE job_id = 7", []byte("x")) }); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	failed := 0
	for range logTries + 1 {
		l, lost, err := s.NextLogs(ctx, now, time.Hour)
		if l != nil {
			t.Fatalf("%+v", l)
		}
		failed += bit(err != nil)
		if len(lost) > 0 && lost[0].Job == 7 {
			break
		}
		if other, _, err := s.NextLogs(ctx, now, time.Hour); err != nil || failed == 1 && (other == nil || other.JobID() != 8) {
			t.Errorf("after %d failures: %+v, %v", failed, other, err)
		} else if other != nil {
			if err := s.KeepWindows(ctx, other, &other.Heads[0], &job.Windows{}); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(2 * logAgain)
	}
	if n := count(t, s, "window_logs"); n != 0 || failed != logTries+1 {
		t.Errorf("%d logs are left after %d failures", n, failed)
	}
}

// attackers are the reports of an attempt of the same job id that Slurm does not know, made by root
// of other nodes, and logs of the victim's world.
func attackers(t *testing.T, s *Store, victim *job.NodeReport) (reports []*job.NodeReport) {
	reports = ofNodes(victim.JobID, 2, "evil", -30*time.Minute)
	for i, r := range reports {
		r.Node, r.NodeList, r.Executions[0].Key, r.Executions[0].Size = fmt.Sprint("evil", i), "evil[0-1]", victim.Executions[0].Key, 2
		r.Executions[0].Nodes[0] = job.NodeShare{Node: r.Node, Ranks: 1, RankIDs: fmt.Sprint(i), ElapsedSum: time.Second, ElapsedMax: time.Second, Useful: 1, UsefulMax: 1}
	}
	add(t, s, reports...)
	return reports
}

// logsOfRank are tiny logs of one rank of two.
func logsOfRank(r *job.NodeReport) *wire.NodeLogs {
	l := logsOfNode(r)
	l.Size, l.Ranks = 2, 1
	return l
}

// Where Slurm is asked, logs of an attempt of which it has not told wait on their nodes. What it
// tells lets in the job's own, and refuses those of other nodes for good.
func TestWindowLogsWaitForSlurm(t *testing.T) {
	s := open(t)
	s.WaitForSlurm(time.Hour)
	reports := ofNodes(7, 2, "a", 0)
	add(t, s, reports...)
	bad := attackers(t, s, reports[0])
	for _, r := range append(bad, reports...) {
		if _, err := tryLogs(s, logsOfRank(r)); !errors.Is(err, ErrLogsEarly) {
			t.Errorf("%s, before Slurm told: %v", r.Node, err)
		}
	}
	line := sacct(7, "7", "COMPLETED", 0, 0, 20*time.Second)
	line.NodeList, line.Nodes = "n[1-2]", 2
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	for _, r := range bad {
		if _, err := tryLogs(s, logsOfRank(r)); !errors.Is(err, ErrLogsEarly) {
			t.Errorf("%s, after Slurm told: %v", r.Node, err)
		}
	}
	for _, r := range reports {
		addLogs(t, s, logsOfNode(r))
	}
	if l, _ := nextLogs(t, s, time.Now()); l == nil || len(l.Heads) != 2 {
		t.Errorf("%+v", l)
	}
}

// Where Slurm is not asked, another attempt of the job may have logs of the same world. It claims
// and forgets only its own.
func TestWindowLogsOfAnotherAttempt(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 3, "a", 0)
	add(t, s, reports...)
	for _, r := range reports[:2] { // the third node's are on their way
		addLogs(t, s, logsOfNode(r))
	}
	bad := attackers(t, s, reports[0])
	for _, r := range bad {
		addLogs(t, s, logsOfRank(r))
	}
	now := time.Now()
	l, lost := nextLogs(t, s, now)
	if l == nil || len(l.Heads) != 2 || l.Heads[0].Node != "evil0" || len(lost) > 0 {
		t.Fatalf("%+v, %+v", l, lost)
	}
	if err := s.KeepWindows(ctx, l, &l.Heads[0], &job.Windows{}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "window_logs"); n != 2 {
		t.Fatalf("%d of the victim's 2 logs are left", n)
	}
	addLogs(t, s, logsOfNode(reports[2]))
	if l, _ := nextLogs(t, s, now); l == nil || len(l.Heads) != 3 || l.Heads[0].Node != "n1" {
		t.Errorf("the victim's: %+v", l)
	}
}

// A report that was set aside, as its job did not have the node, has no logs.
func TestWindowLogsOfAForeignNode(t *testing.T) {
	s := open(t)
	r := nodeReport(7, 9, "a", 0)
	r.Executions[0].Size = 4
	add(t, s, r)
	line := sacct(7, "7", "COMPLETED", 0, 0, 20*time.Second)
	line.NodeList = "n1"
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	if _, err := tryLogs(s, logsOfNode(r)); !errors.Is(err, ErrForeignNode) {
		t.Errorf("%v, want %v", err, ErrForeignNode)
	}
}

// The room for logs is divided: a user, an address and a node have a part of it, and who fills theirs
// leaves the rest to others.
func TestWindowLogsRooms(t *testing.T) {
	for _, c := range []struct {
		name, node, sender string
		uid                uint32
		rows               int
		bytes              int64
		want               error
	}{
		{"nothing", "n1", "", 1001, 0, 0, nil},
		{"this node's rows", "n1", "x", 1, int(roomOfNode.rows), 1, ErrLogsPart},
		{"one row less", "n1", "x", 1, int(roomOfNode.rows) - 1, 1, nil},
		{"this node's bytes", "n1", "x", 1, 1, roomOfNode.bytes, ErrLogsPart},
		{"this user's rows", "x", "x", 1001, int(roomOfUser.rows), 1, ErrLogsPart},
		{"this user's bytes", "x", "x", 1001, 1, roomOfUser.bytes, ErrLogsPart},
		{"this address's rows", "x", "10.0.0.1", 1, int(roomOfUser.rows), 1, ErrLogsPart},
		{"this address's bytes", "x", "10.0.0.1", 1, 1, roomOfUser.bytes, ErrLogsPart},
		{"another's part", "x", "x", 1, int(roomOfUser.rows), roomOfUser.bytes / roomOfUser.rows, nil},
		{"bytes of all", "x", "x", 1, 1, roomOfAll.bytes, ErrManyLogs},
		{"rows of all", "x", "x", 1, int(roomOfAll.rows), 1, ErrManyLogs},
	} {
		s := open(t)
		r := ofNodes(7, 2, "a", 0)[0]
		add(t, s, r)
		err := s.do(ctx, func(w *writer) error {
			return w.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				INSERT INTO window_logs (cluster, job_id, node, nonce, world, uid, sender, size, ranks, entries, start_us, received_us, bytes, body)
				SELECT 'c', i, ?, 'x', 'k', ?, ?, 2, 1, 0, 0, 0, CAST(? AS BIGINT), ? FROM n WHERE i <= ?`, c.rows, c.node, c.uid, c.sender, c.bytes, []byte{}, c.rows)
		})
		if err != nil {
			t.Fatal(err)
		}
		l := logsOfNode(r)
		added, err := s.AddLogs(ctx, l, []byte("0123456789"), "10.0.0.1")
		if !errors.Is(err, c.want) || added != (c.want == nil) {
			t.Errorf("%s: added %v, %v, want %v", c.name, added, err, c.want)
		}
		s.Close()
	}
}
