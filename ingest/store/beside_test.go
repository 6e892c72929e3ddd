package store

import (
	"fmt"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// TestRunsBeside: a job's page leads to the runs before and after it that the viewer may see, and to the workload that a
// coordinator sees a run of.
func TestRunsBeside(t *testing.T) {
	s := open(t)
	addConfirmed(t, s, runReport(1, 1, 1, nil), runReport(2, 2, 2, nil), runReport(3, 3, 4, nil), runReport(4, 2, 2, named("melt")))
	coordinator, other := Viewer{UID: 9, Accounts: []string{"proj"}}, Viewer{UID: 9, Accounts: []string{"chem"}}
	for _, c := range []struct {
		viewer Viewer
		id     string
		want   string
	}{{alice, "1", " 2"}, {alice, "2", "1 3"}, {alice, "3", "2 "}, {alice, "4", " "}, {coordinator, "2", "1 3"}, {root, "3", "2 "}, {other, "2", " "}} {
		found := &listing.JobAndWorkload{Job: aJob(t, s, root, c.id, 0)}
		if err := s.AddBeside(ctx, c.viewer, found); err != nil {
			t.Fatal(err)
		}
		id := func(r *job.Run) string {
			if r == nil {
				return ""
			}
			return r.DisplayID
		}
		if got := fmt.Sprint(id(found.Before), " ", id(found.After)); got != c.want {
			t.Errorf("uid %d, job %s: %q, want %q", c.viewer.UID, c.id, got, c.want)
		}
	}
	w, err := s.WorkloadOf(ctx, alice, aJob(t, s, alice, "2", 0))
	if err != nil {
		t.Fatal(err)
	}
	for uid, c := range map[string]struct {
		viewer Viewer
		name   string
		runs   int
	}{"coordinator, key": {coordinator, w.Key, 3}, "coordinator, name": {coordinator, w.Name, 0}, "coordinator, part of the key": {coordinator, w.Key[:10], 0}, "other": {other, w.Key, 0}, "owner": {alice, w.Key, 3}} {
		found, err := s.Workload(ctx, c.viewer, c.name, nil)
		if (err == nil) != (c.runs > 0) || err == nil && len(found.Runs) != c.runs {
			t.Errorf("%s: %v, %v", uid, found, err)
		}
	}
	if _, err := s.ClearMute(ctx, coordinator, w.Key, nil); err == nil {
		t.Error("a coordinator changes another's mute")
	}
}
