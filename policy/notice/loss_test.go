package notice

import (
	"fmt"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
)

// TestLosses: what lost more than a fifth and has no saving is told, the largest first.
func TestLosses(t *testing.T) {
	heavy := func(key, id string, used, lost float64) listing.HeavyWorkload {
		j := aJob(world(1, 2, 0, alike(4, work(1800, 1800))...))
		j.DisplayID = id
		return listing.HeavyWorkload{Hours: listing.Hours{Jobs: 3, Used: used, Lost: lost}, Workload: &job.Workload{Key: key}, Job: j}
	}
	all := []listing.HeavyWorkload{heavy("a", "1", 100, 20), heavy("b", "2", 100, 21), heavy("c", "3", 100, 60), heavy("c", "4", 100, 50), heavy("d", "5", 9, 8), heavy("e", "6", 9, 7), heavy("f", "7", 9, 6), heavy("g", "8", 9, 5)}
	got := ""
	for _, l := range lossesOf(all, []Saving{{Key: "c", Job: "3"}}) {
		got += fmt.Sprintf("%s %g of %g, ", l.Job, l.Lost, l.Used)
		if l.Cause == "" || l.Jobs != 3 || l.Cores != 4 {
			t.Errorf("%+v", l)
		}
	}
	if got != "4 50 of 100, 2 21 of 100, 5 8 of 9, 6 7 of 9, 7 6 of 9, " {
		t.Error(got)
	}
}

// TestLossesInAMail: of a user's jobs without a line, those of a workload on one count are summed up. They
// are told beside something to try only, if they are a large part and nobody was told lately.
func TestLossesInAMail(t *testing.T) {
	bare := func(id uint32, key string, lost float64) Judged {
		j := flaggedJob(1, id, key, lost)
		j.request, j.Job.DisplayID = nil, fmt.Sprint(id)
		j.Job.Executions = aJob(world(1, 2, 0, alike(4, work(1800, 1800))...)).Executions
		j.Job.Metrics = job.JobMetrics(j.Job.Executions)
		return j
	}
	now := began.AddDate(0, 0, 1)
	sent := []Sent{{Cluster: "test", UID: 1, At: now.AddDate(0, 0, -20), Subjects: []string{"told"}}}
	jobs := []Judged{bare(2, "k2", 3), bare(3, "k2", 4), bare(4, "told", 9), bare(5, "little", 1)}
	if due, _ := Notices(jobs, sent, NoticeSettings{LeastShare: .05}, now); len(due) != 0 {
		t.Errorf("%+v", due)
	}
	due, _ := Notices(append(jobs, flaggedJob(1, 7, "k1", 40)), sent, NoticeSettings{LeastShare: .05}, now)
	if len(due) != 1 || len(due[0].Losses) != 1 || due[0].Losses[0].Key != "k2" || due[0].Losses[0].Lost != 7 || due[0].Losses[0].Job != "3" || due[0].Losses[0].Jobs != 2 || due[0].Losses[0].Cause != policy.CauseOf(jobs[0].Job).Text {
		t.Errorf("%+v", due)
	}
}
