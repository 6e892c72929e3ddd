package notice

import (
	"fmt"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
)

func TestAllClear(t *testing.T) {
	t.Parallel()
	aJob := func(hour int, o policy.Outcome) Judged {
		return Judged{Job: &job.Job{Cluster: "c", UID: 1, End: monday.Add(time.Duration(hour) * time.Hour)}, Workload: "w", Verdicts: []policy.Verdict{{Rule: "r", Outcome: o}}}
	}
	told := []listing.Told{{Cluster: "c", UID: 1, At: monday, Subject: "w", Workload: "w", Rule: "r"}}
	for _, c := range []struct {
		name string
		jobs []Judged
		want bool
	}{
		{"three pass", []Judged{aJob(-5, policy.Flagged), aJob(1, policy.Passed), aJob(2, policy.Passed), aJob(3, policy.Passed)}, true},
		{"two pass", []Judged{aJob(1, policy.Passed), aJob(2, policy.Passed)}, false},
		{"one was flagged amid", []Judged{aJob(1, policy.Passed), aJob(2, policy.Flagged), aJob(3, policy.Passed), aJob(4, policy.Passed)}, false},
		{"flagged before", []Judged{aJob(1, policy.Flagged), aJob(2, policy.Passed), aJob(3, policy.Passed), aJob(4, policy.Passed)}, true},
		{"cannot tell", []Judged{aJob(1, policy.CannotTell), aJob(2, policy.CannotTell), aJob(3, policy.CannotTell), aJob(4, policy.Passed)}, false},
		{"before it was told", []Judged{aJob(-3, policy.Passed), aJob(-2, policy.Passed), aJob(-1, policy.Passed)}, false},
	} {
		if got := AllClear(c.jobs, told, false, monday.AddDate(0, 0, 7)); (len(got) == 1) != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	good := []Judged{aJob(1, policy.Passed), aJob(2, policy.Passed), aJob(3, policy.Passed)}
	if got := AllClear(good, told, true, monday); got != nil {
		t.Errorf("in shadow: %+v", got)
	}
	told[0].Cleared = monday
	if got := AllClear(good, told, false, monday); got != nil {
		t.Errorf("twice: %+v", got)
	}
}

func TestSentOf(t *testing.T) {
	t.Parallel()
	log := []listing.Told{{UID: 1, At: monday, Subject: "a"}, {UID: 1, At: monday, Subject: "b"}, {UID: 2, At: monday, Subject: "c", Shadow: true}, {UID: 2, At: monday, Subject: "d", Muted: true},
		{UID: 3, At: monday, Subject: "running:1:1:hung", Running: true}}
	if got := fmt.Sprint(SentOf(log, false)); got != fmt.Sprint([]Sent{{UID: 1, At: monday, Subjects: []string{"a", "b"}}}) {
		t.Error(got)
	}
	if got := SentOf(log, true); len(got) != 1 || got[0].UID != 2 {
		t.Error(got)
	}
}
