package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
)

// waiting is a line of the queue, submitted a minute after day.
func waiting(id uint32, display string, uid uint32, account string) slurmid.Pending {
	p := slurmid.Pending{Cluster: "test", ID: display, JobID: id, UID: uid, Account: account, Partition: "main", QOS: "normal", Name: "md", Nodes: 1, CPUs: 4, Submit: day.Add(time.Minute), Reason: "Priority"}
	if head, _, is := strings.Cut(display, "_"); is {
		fmt.Sscan(head, &p.ArrayJobID)
	}
	if head, _, is := strings.Cut(display, "+"); is {
		fmt.Sscan(head, &p.HetJobID)
	}
	p.Start(nil)
	return p
}

// setPending replaces the queue of cluster test by what a look a minute ago found.
func setPending(t *testing.T, s *Store, lines ...slurmid.Pending) {
	t.Helper()
	now := time.Now()
	if err := s.SetPending(ctx, QueueLook{Cluster: "test", At: now.Add(-time.Minute), Until: now.Add(time.Minute)}, lines); err != nil {
		t.Fatal(err)
	}
}

// queued lists the ids of what waits, "unknown" where that is not known.
func queued(t *testing.T, s *Store, v Viewer, q listing.JobQuery, uids ...uint32) string {
	t.Helper()
	list, err := s.Pending(ctx, v, q, uids)
	if err != nil {
		t.Fatal(err)
	}
	if list == nil {
		return "unknown"
	}
	var all []string
	for i := range list.Jobs {
		all = append(all, list.Jobs[i].ID)
	}
	return strings.Join(all, " ")
}

// TestPending: each look replaces the lines of its cluster, and of no other. Viewers see their own, those of their accounts,
// or all. A filter that no job can meet which has not begun finds none.
func TestPending(t *testing.T) {
	s := open(t)
	if got := queued(t, s, root, listing.JobQuery{}); got != "unknown" {
		t.Errorf("before Slurm was asked: %s", got)
	}
	other := waiting(8, "8", bob.UID, "bio")
	other.Cluster, other.Submit = "other", day
	now := time.Now()
	if err := s.SetPending(ctx, QueueLook{Cluster: "other", At: now.Add(-2 * time.Minute), Until: now.Add(time.Minute), LeftOut: 3}, []slurmid.Pending{other}); err != nil {
		t.Fatal(err)
	}
	setPending(t, s, waiting(7, "7", alice.UID, "chem"), waiting(99, "99", alice.UID, "chem"))
	lines := []slurmid.Pending{waiting(7, "7", alice.UID, "chem"), waiting(8, "8_[3-60%4]", alice.UID, "chem"), waiting(9, "9+0", bob.UID, "bio"), waiting(10, "9+1", bob.UID, "bio"), waiting(11, "8_1", alice.UID, "chem")}
	lines[2].Partition, lines[2].Name, lines[2].CPUs = "big,main", "MD <b>", 64
	setPending(t, s, lines...)
	coordinator := Viewer{UID: 77, Accounts: []string{"bio"}}
	for _, c := range []struct {
		who  Viewer
		q    listing.JobQuery
		uids []uint32
		want string
	}{
		{root, listing.JobQuery{}, nil, "8 7 8_[3-60%4] 9+0 9+1 8_1"}, {alice, listing.JobQuery{}, nil, "7 8_[3-60%4] 8_1"}, {bob, listing.JobQuery{}, nil, "8 9+0 9+1"}, {coordinator, listing.JobQuery{}, nil, "8 9+0 9+1"},
		{Viewer{UID: 78}, listing.JobQuery{}, nil, ""}, {alice, listing.JobQuery{}, []uint32{bob.UID}, ""}, {root, listing.JobQuery{}, []uint32{bob.UID}, "8 9+0 9+1"},
		{root, listing.JobQuery{Cluster: "test", Account: "bio"}, nil, "9+0 9+1"}, {root, listing.JobQuery{Partition: "big"}, nil, "9+0"}, {root, listing.JobQuery{Partition: "bi"}, nil, ""}, {root, listing.JobQuery{Partition: "%"}, nil, ""},
		{root, listing.JobQuery{Name: "md <"}, nil, "9+0"}, {root, listing.JobQuery{LeastCores: 5}, nil, "9+0"}, {root, listing.JobQuery{MostCores: 63, Cluster: "test"}, nil, "7 8_[3-60%4] 9+1 8_1"},
		{root, listing.JobQuery{QOS: "long"}, nil, ""}, {root, listing.JobQuery{End: day.Add(time.Second)}, nil, "8"},
		{alice, listing.JobQuery{Jobs: "8"}, nil, "8_[3-60%4] 8_1"}, {alice, listing.JobQuery{Jobs: "8_4"}, nil, "8_[3-60%4]"}, {alice, listing.JobQuery{Jobs: "8_2"}, nil, ""}, {alice, listing.JobQuery{Jobs: "11"}, nil, "8_1"},
		{root, listing.JobQuery{Jobs: "9+1,7"}, nil, "7 9+1"}, {alice, listing.JobQuery{Jobs: "9"}, nil, ""}, {alice, listing.JobQuery{Account: "x') OR ('1' = '1"}, nil, ""},
		{root, listing.JobQuery{State: "RUNNING"}, nil, "unknown"}, {alice, listing.JobQuery{State: "RUNNING,PENDING", Jobs: "7"}, nil, "7"}, {root, listing.JobQuery{Program: "a"}, nil, "unknown"},
		{root, listing.JobQuery{Rule: "r"}, nil, "unknown"}, {root, listing.JobQuery{Offset: 1}, nil, "unknown"}, {root, listing.JobQuery{LeastElapsed: 1}, nil, "unknown"},
	} {
		if got := queued(t, s, c.who, c.q, c.uids...); got != c.want {
			t.Errorf("%+v, %+v of %v: %s, want %s", c.who, c.q, c.uids, got, c.want)
		}
	}
	list, err := s.Pending(ctx, alice, listing.JobQuery{}, nil)
	if err != nil || list.LeftOut != 3 || list.AsOf.UnixMicro() != now.Add(-2*time.Minute).UnixMicro() || list.More {
		t.Errorf("%v, %+v", err, list)
	}
	if list.Jobs[1] != lines[1] {
		t.Errorf("%+v came back as %+v", lines[1], list.Jobs[1])
	}
	if n := count(t, s, "attempts"); n != 0 {
		t.Errorf("%d attempts", n)
	}
	if _, err := s.Pending(ctx, alice, listing.JobQuery{Jobs: "x"}, nil); err == nil {
		t.Error("no error for what is no job")
	}
	if err := s.SetPending(ctx, QueueLook{Cluster: "test", At: now, Until: now.Add(-time.Second)}, lines); err != nil {
		t.Fatal(err)
	}
	if got := queued(t, s, root, listing.JobQuery{}); got != "8" {
		t.Errorf("when the look at one cluster is too old: %s", got)
	}
}

// TestPendingThatBegan: what sacct has told of since does not wait. A job that was requeued waits, and so do the
// other tasks of an array.
func TestPendingThatBegan(t *testing.T) {
	s := open(t)
	line := func(id uint32, display string, start time.Duration) slurm.Job {
		return sacct(id, display, "RUNNING", 0, start, 0)
	}
	task := func(id, n uint32, start time.Time) slurm.Job {
		l := line(id, fmt.Sprint("8_", n), 0)
		l.ArrayJobID, l.ArrayTaskID, l.Start = 8, &n, start
		return l
	}
	now := time.Now().Truncate(time.Second)
	old := waiting(6, "6", alice.UID, "chem") // it ran before, and was requeued
	old.Submit = day.Add(2 * time.Hour)
	setPending(t, s, old, waiting(7, "7", alice.UID, "chem"), waiting(8, "8_[3-60%4]", alice.UID, "chem"), waiting(12, "12_[5]", alice.UID, "chem"))
	lines := []slurm.Job{line(6, "6", time.Hour), line(7, "7", time.Hour), task(20, 3, now.Add(-time.Second)), task(21, 5, now), task(22, 60, day.Add(time.Hour)), task(23, 2, now)}
	if _, err := s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	last := line(30, "12_5", 0)
	n := uint32(5)
	last.ArrayJobID, last.ArrayTaskID, last.Start = 12, &n, now
	if _, err := s.AddSlurm(ctx, []slurm.Job{last}); err != nil {
		t.Fatal(err)
	}
	if got, want := queued(t, s, alice, listing.JobQuery{}), "8_[4,6-60%4] 6"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := queued(t, s, alice, listing.JobQuery{Jobs: "8_5"}); got != "" {
		t.Errorf("task 5 waits, though it has begun: %s", got)
	}
	if j := aJob(t, s, alice, "7", 0); j.State != "RUNNING" {
		t.Errorf("%+v", j)
	}
}

// TestManyPending: a list is bounded and says so, and a look writes only what changed, however much that is.
func TestManyPending(t *testing.T) {
	s := open(t)
	var lines []slurmid.Pending
	for id := range uint32(2*pendingAtOnce + 10) {
		lines = append(lines, waiting(1+id, fmt.Sprint(1+id), alice.UID, "chem"))
	}
	setPending(t, s, lines...)
	list, err := s.Pending(ctx, root, listing.JobQuery{}, nil)
	if err != nil || len(list.Jobs) != mostPendingListed || !list.More || list.Jobs[0].JobID != 1 {
		t.Fatal(err, len(list.Jobs), list.More)
	}
	for i := range lines {
		lines[i].ID, lines[i].ArrayJobID = fmt.Sprint("1_", 1+i), 1
	}
	setPending(t, s, lines...)
	if got := queued(t, s, alice, listing.JobQuery{Jobs: "1_2001"}); got != "1_2001" {
		t.Errorf("one of many tasks: %s", got)
	}
	lines[5].Reason = "Resources"
	changes, err := s.pendingChanges(ctx, "test", lines[1:])
	if err != nil || len(changes) != 3 || changes[0].args[1] != uint32(1) || changes[1].args[1] != uint32(1) || changes[2].args[1] != uint32(6) { // of line 1 also that its array may have ended
		t.Errorf("%v, changes %v", err, changes)
	}
	setPending(t, s)
	if n := count(t, s, "pending"); n != 0 || queued(t, s, root, listing.JobQuery{}) != "" {
		t.Errorf("%d lines are left of an empty queue", n)
	}
	if _, err := s.Jobs(ctx, root, listing.JobQuery{State: "PENDING"}, nil); err != nil || slices.Contains(tablesOfAttempt, "pending") {
		t.Error(err)
	}
}
