package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
)

// roomsOfMain is what Slurm may say of partition main: a QOS of it has an hour.
func roomsOfMain(kinds ...job.NodeKind) *slurm.Rooms {
	return &slurm.Rooms{Partitions: map[string]slurm.Partition{"main": {Limits: slurm.Limits{Time: 24 * time.Hour}, Kinds: kinds}},
		QOS: map[string]slurm.QOS{"normal": {Limits: slurm.Limits{Time: time.Hour}}}}
}

// TestRoom: whoever reads or judges a job or its workload gets what Slurm gives its partition and QOS. Jobs of another
// cluster, and all where Slurm has not told for a day, have a node like their own.
func TestRoom(t *testing.T) {
	s := open(t)
	own := &job.Hardware{Model: "x", Sockets: 1, Cores: 16, ThreadsPerCore: 1, MaxMHz: 3000, MemoryMiB: 64 << 10}
	on := func(cluster string) func(id uint32) *job.NodeReport {
		return func(id uint32) *job.NodeReport {
			r := runReport(id, int(id), 2, named("melt"))
			r.Cluster, r.Partition, r.Executions[0].Nodes[0].Hardware = cluster, "main", own
			return r
		}
	}
	addConfirmed(t, s, on("test")(1), on("other")(2))
	line, bare := sacct(3, "3", "COMPLETED", 0, 3*time.Hour, 4*time.Hour), sacct(4, "4", "COMPLETED", 0, 4*time.Hour, 5*time.Hour)
	line.Partition, bare.Name, bare.WithSteps = "gone", "fit", true
	add(t, s, on("test")(3))
	if _, err := s.AddSlurm(ctx, []slurm.Job{line, bare}); err != nil {
		t.Fatal(err)
	}
	merged(t, s)
	like := &job.Room{CPUs: 16, Memory: 64 << 30}
	kinds := []job.NodeKind{{Nodes: 3, CPUs: 64, Memory: 256 << 30}, {Nodes: 1, CPUs: 32, Memory: 1 << 40}}
	main := &job.Room{Nodes: 4, CPUs: 64, Memory: 1 << 40, Time: 24 * time.Hour, Kinds: kinds}
	hour := *main
	hour.Time = time.Hour
	want := func(when string, of map[string]*job.Room, named *job.Room) {
		t.Helper()
		for id, room := range of {
			j := aJob(t, s, root, id, 0)
			if d := cmp.Diff(room, j.Room); d != "" {
				t.Errorf("%s, job %s: %s", when, id, d)
			}
			if w, err := s.WorkloadOf(ctx, root, j); err != nil || w != nil && j.Cluster == "other" && cmp.Diff(room, w.Room) != "" {
				t.Errorf("%s, the workload of job %s: %v, %+v", when, id, err, w.Room)
			}
		}
		w, err := s.NamedJobs(ctx, root, "fit", nil)
		if err != nil || cmp.Diff(named, w.Room) != "" {
			t.Errorf("%s, jobs of a name: %v, %+v", when, err, w)
		}
	}
	unknown := map[string]*job.Room{"1": like, "2": like, "3": like, "4": nil}
	want("before Slurm told", unknown, nil)
	set := func(at time.Time, kinds ...job.NodeKind) {
		t.Helper()
		if err := s.SetRooms(ctx, "test", at, roomsOfMain(kinds...)); err != nil {
			t.Fatal(err)
		}
	}
	set(time.Now(), kinds[1])
	set(time.Now(), kinds...)
	want("when Slurm told", map[string]*job.Room{"1": main, "2": like, "3": like, "4": &hour}, &hour)

	w, err := s.WorkloadOf(ctx, root, aJob(t, s, root, "1", 0))
	if err != nil || len(w.Runs) != 2 || cmp.Diff(like, w.Room) != "" { // job 3 is the newest, of a partition that is gone
		t.Errorf("%v, %+v", err, w)
	}
	list, err := s.Jobs(ctx, root, listing.JobQuery{Detail: true}, nil)
	if err != nil || len(list.Jobs) != 4 {
		t.Fatal(err, len(list.Jobs))
	}
	for i := range list.Jobs {
		if j := &list.Jobs[i]; j.DisplayID == "4" && cmp.Diff(&hour, j.Room) != "" || j.DisplayID == "2" && cmp.Diff(like, j.Room) != "" {
			t.Errorf("in a list, job %s: %+v", j.DisplayID, j.Room)
		}
	}
	judged := 0
	if err := s.JudgeBy(ctx, 7); err != nil {
		t.Fatal(err)
	}
	_, err = s.Judge(ctx, Judging{Rules: 7, Ask: func(found *listing.JobAndWorkload) []string {
		if judged++; found.DisplayID == "4" && cmp.Diff(&hour, found.Job.Room) != "" {
			t.Errorf("judged by %+v", found.Job.Room)
		}
		return nil
	}}, time.Now())
	if err != nil || judged == 0 {
		t.Errorf("%d judged, %v", judged, err)
	}
	set(time.Now().Add(-roomsTold-time.Minute), kinds...)
	want("a day later", unknown, nil)
}
