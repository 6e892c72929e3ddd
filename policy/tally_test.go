package policy

import (
	"testing"

	"jobeff/ingest/job"
)

func TestTallies(t *testing.T) {
	b := NewBacktest(shippedRules(t))
	slow := func(uid uint32) *job.Job {
		return with(aJob(world(1, 2, 0, alike(4, work{1800, 1800})...)), func(j *job.Job) { j.UID = uid })
	}
	for _, j := range []*job.Job{slow(1), slow(1), slow(2), aJob(), aJob(world(1, 2, 0, alike(4, work{3600, 0})...))} {
		b.Add(j, nil)
	}
	got := b.Tallies()[0]
	if b.Jobs != 5 || b.Users() != 3 || got.Flagged != 3 || got.Users() != 2 || got.LostHours != 6 || got.CannotTell != 1 || got.Passed != 1 {
		t.Errorf("got %+v of %d jobs", got, b.Jobs)
	}
	for _, one := range b.Tallies() {
		if one.Flagged+one.Passed+one.CannotTell+one.NotAsked != b.Jobs {
			t.Errorf("%+v: the outcomes are not all jobs", one)
		}
	}
}
