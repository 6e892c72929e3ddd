package notice

import (
	"testing"
	"time"

	"jobeff/ingest/job"
)

var lowAndIdle = []string{"low-efficiency", "idle-ranks"}

func TestTallies(t *testing.T) {
	b := NewBacktest(shipped(lowAndIdle...), NoticeSettings{})
	slow := func(uid uint32) *job.Job {
		return with(aJob(world(1, 2, 0, alike(4, work(1800, 1800))...)), func(j *job.Job) { j.UID = uid })
	}
	for _, j := range []*job.Job{slow(1), slow(1), slow(2), aJob(), aJob(world(1, 2, 0, alike(4, work(3600, 0))...))} {
		b.Add(judgedBy(t, j, lowAndIdle...))
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

// TestMailsOfTheBacktest: a user whose job is flagged on every day of eight weeks gets a
// mail in the first week and one after the cool-down.
func TestMailsOfTheBacktest(t *testing.T) {
	mails := func(s NoticeSettings) (int, map[string]int) {
		b := NewBacktest(shipped(lowAndIdle...), s)
		for day := range 56 {
			j := aJob(world(1, 2, 10, alike(4, work(1750, 1750))...))
			j.Cluster, j.JobID, j.UID, j.State = "test", uint32(day+1), 1000, "COMPLETED"
			j.Executions[0].BuildID, j.Executions[0].ArgsHash = "abcd", "ef"
			j.End = j.End.AddDate(0, 0, day)
			b.Add(judgedBy(t, j, lowAndIdle...))
		}
		return b.Mails()
	}
	total, byRule := mails(NoticeSettings{WithoutLine: true})
	if total != 3 && total != 2 || byRule["low-efficiency"] != total || len(byRule) != 1 {
		t.Errorf("%d mails, %v", total, byRule)
	}
	if often, _ := mails(NoticeSettings{CoolDown: time.Hour, WithoutLine: true}); often < 8 || often > 9 {
		t.Errorf("%d mails without a cool-down", often)
	}
	if none, _ := mails(NoticeSettings{}); none != 0 {
		t.Errorf("%d mails without a line to try", none)
	}
	if none, _ := mails(NoticeSettings{WithoutLine: true, LeastCoreHours: 1}); none != 0 {
		t.Errorf("%d mails that are sure to save nothing", none)
	}
}
