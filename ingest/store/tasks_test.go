package store

import (
	"slices"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
)

// TestTasks: an array's id finds its tasks by their number, each with the program that took most core time,
// and only for those who may see them.
func TestTasks(t *testing.T) {
	s := open(t)
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	var all []*job.Job
	for i := range uint32(3) {
		task := 3 - i
		j := &job.Job{Cluster: "c", JobID: 50 + i, Attempt: 1, ArrayJobID: 50, ArrayTaskID: &task, UID: alice.UID, Account: "chem", State: "COMPLETED", Submit: start, Start: start, End: start.Add(time.Minute),
			Elapsed: time.Minute, Nodes: 1, Reports: 1, CPUs: 2, Decision: "on"}
		if task != 2 {
			j.Executions = []job.Execution{{Key: "a", Executable: "/a", Size: 2, Metrics: &job.Metrics{Ranks: 2, Elapsed: 10}}, {Key: "b", Executable: "/b", Size: 4, Metrics: &job.Metrics{Ranks: 4, Elapsed: 8}}}
		}
		all = append(all, j)
	}
	if err := s.AddJobs(ctx, all); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		who   Viewer
		id    string
		tasks int
	}{{alice, "50", 3}, {Viewer{All: true}, "50", 3}, {Viewer{UID: 77, Accounts: []string{"chem"}}, "50", 3}, {bob, "50", 0}, {alice, "50_1", 0}, {alice, "51", 0}, {alice, "50.0", 0}} {
		ref, err := slurmid.Parse(c.id)
		if err != nil {
			t.Fatal(err)
		}
		found := &listing.JobAndWorkload{Job: all[0]}
		if err := s.AddTasks(ctx, c.who, ref, found); err != nil || len(found.Tasks) != c.tasks || found.MoreTasks {
			t.Errorf("%+v: %v, %d tasks", c, err, len(found.Tasks))
			continue
		}
		for i, want := range []string{"/b", "", "/b"}[:c.tasks] {
			if got := found.Tasks[i]; *got.ArrayTaskID != uint32(i+1) || got.Program != want || got.Executions != nil {
				t.Errorf("%+v: task %d of %q, want %q", c, *got.ArrayTaskID, got.Program, want)
			}
		}
	}
	list, err := s.Jobs(ctx, alice, listing.JobQuery{Stored: true}, nil)
	if err != nil || !slices.ContainsFunc(list.Jobs, func(j job.Job) bool { return j.Program == "/b" }) {
		t.Errorf("%v, %+v", err, list)
	}
}
