package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
)

// TestAlike: the jobs that a line stands on are those of the workload, or of the user's jobs of one name
// without a record, and only those that the viewer may see.
func TestAlike(t *testing.T) {
	s := open(t)
	var lines []slurm.Job
	bare := func(id uint32, uid uint32, name string, state string) {
		j := sacct(id, fmt.Sprint(id), state, 0, time.Duration(id)*time.Hour, time.Duration(id)*time.Hour+10*time.Minute)
		j.UID, j.Name, j.TimeLimit = uid, name, time.Hour
		j.WithSteps, j.Usage = true, &job.Usage{TotalCPU: 9 * time.Minute, Memory: 1 << 30, Allocated: 4 << 30}
		lines = append(lines, j)
	}
	bare(1, alice.UID, "fit", "COMPLETED")
	bare(2, alice.UID, "fit", "FAILED")
	bare(3, alice.UID, "other", "COMPLETED")
	bare(4, alice.UID+1, "fit", "COMPLETED")
	bare(5, alice.UID, "fit", "COMPLETED")
	addConfirmed(t, s, runReport(50, 5, 2, named("melt")))
	if _, err := s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	ids := func(all []job.Ran) (ids []string) {
		for _, r := range all {
			ids = append(ids, r.ID)
		}
		return ids
	}
	for id, want := range map[uint32][]string{5: {"1", "2", "5"}, 3: {"3"}, 50: {"50"}} {
		j, err := s.Job(ctx, root, slurmid.Ref{ID: id}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddAlike(ctx, root, j); err != nil || !slices.Equal(ids(j.Alike), want) {
			t.Errorf("job %d: %v, %v, want %v", id, ids(j.Alike), err, want)
		}
	}
	w, err := s.NamedJobs(ctx, alice, "fit", nil)
	if err != nil || !slices.Equal(ids(w.Jobs), []string{"1", "2", "5"}) {
		t.Fatalf("%+v, %v", w, err)
	}
	if r := w.Jobs[2]; r.Limit != 3600 || r.CPUTime != 540 || r.Memory != 4<<30 || r.Elapsed != 600 || r.NodeNeeded != 0 || r.State != "COMPLETED" {
		t.Errorf("%+v", r)
	}
	for _, v := range []Viewer{alice, root, {UID: alice.UID + 7, Accounts: []string{"proj"}}, {UID: alice.UID + 7, Accounts: []string{"other"}}} {
		var told []string
		list := func(q listing.WorkloadQuery) (next string, err error) {
			q.Named = true
			return s.EachWorkload(ctx, v, q, nil, func(one *listing.WorkloadSummary) error {
				told = append(told, fmt.Sprintf("%s %d %d x %d %.2f", one.Name, one.Newest.UID, one.Runs, one.MostCores, one.CoreHours))
				return nil
			})
		}
		next, err := list(listing.WorkloadQuery{Limit: 2})
		want := []string{fmt.Sprintf("fit %d 3 x 4 2.00", alice.UID), fmt.Sprintf("fit %d 1 x 4 0.67", alice.UID+1)}
		switch {
		case v.UID == alice.UID:
			want[1] = fmt.Sprintf("other %d 1 x 4 0.67", alice.UID)
		case slices.Contains(v.Accounts, "other"):
			want = nil
		}
		if err != nil || (next != "") != (v.All || slices.Contains(v.Accounts, "proj")) || !slices.Equal(told, want) {
			t.Errorf("%v, next %q, %v, want %v", told, next, err, want)
		}
		told = nil
		if _, err := list(listing.WorkloadQuery{}); err != nil {
			t.Error(err)
		}
		whole := told
		told = nil
		for pages, after := 0, ""; pages == 0 || after != ""; pages++ {
			if after, err = list(listing.WorkloadQuery{Limit: 1, After: after}); err != nil || pages > len(whole) {
				t.Fatal(after, err)
			}
		}
		if !slices.Equal(told, whole) {
			t.Errorf("page by page %v, at once %v", told, whole)
		}
	}
	var several *AmbiguousError
	if _, err := s.NamedJobs(ctx, root, "fit", nil); !errors.As(err, &several) || len(several.Some) != 2 {
		t.Errorf("of two users: %v", err)
	}
	if w, err := s.NamedJobs(ctx, root, "other", nil); err != nil || w.UID != alice.UID {
		t.Errorf("somebody's: %+v, %v", w, err)
	}
	stranger, uid := Viewer{UID: alice.UID + 7}, alice.UID
	if _, err := s.NamedJobs(ctx, stranger, "fit", &uid); err != ErrNoWorkload {
		t.Errorf("a stranger sees them: %v", err)
	}
}
