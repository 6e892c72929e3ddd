package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
)

// wideRooms are a partition with more than any of these jobs had, in which a job of their QOS may run for a day.
var wideRooms = &slurm.Rooms{Partitions: map[string]slurm.Partition{"main": {Kinds: []job.NodeKind{{Nodes: 100, CPUs: 64, Memory: 256 << 30}, {Nodes: 4, CPUs: 64, Memory: 1 << 40}}}},
	QOS: map[string]slurm.QOS{"normal": {Limits: slurm.Limits{Time: 24 * time.Hour}}}}

// rooms: Slurm told what it gives jobs. Where that is more than they need, jobeff says the same as without it.
var rooms = []situation{
	{name: "past, in a partition with room", mails: 1, jobs: past256, rooms: wideRooms, says: []string{"mail: 128", "job: 128", "page: 128", "job: parallel efficiency 0.31"}},
	{name: "more cores are worth it, in a partition with room", mails: 0, jobs: to128, rooms: wideRooms, never: []string{triesFewer}},
}

// TestRoomGoesAlong: every answer, mail and digest about a job or its workload knows what Slurm gives it.
func TestRoomGoesAlong(t *testing.T) {
	c := newMadeCluster(t, "")
	jobs := makeJobs(t, past256, 1000, situationsNow)
	c.end(jobs)
	want := wideRooms.Of("main", "normal")
	is := func(where string, got *job.Room, want *job.Room) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", where, d)
		}
	}
	for _, room := range []*job.Room{{CPUs: coresPerNode, Memory: 256 << 30}, want} {
		if room == want {
			must(t, c.db.SetRooms(ctx, clusterName, time.Now(), wideRooms))
		}
		found, err := c.client.Job(ctx, jobs[len(jobs)-1].word.ID)
		must(t, err)
		is("the job", found.Job.Room, room)
		is("its workload", found.Workload.Room, room)
		w, err := c.client.Workload(ctx, found.Workload.Key, "", "")
		must(t, err)
		is("the workload", w.Room, room)
		both, err := c.client.Digest(ctx, client.DigestQuery{From: situationsNow.AddDate(0, 0, -7), To: situationsNow})
		must(t, err)
		if len(both.This.Heavy) == 0 {
			t.Fatal("the digest has no workload")
		}
		for _, h := range both.This.Heavy {
			is("the digest's job", h.Job.Room, room)
			is("the digest's workload", h.Workload.Room, room)
		}
	}
}
