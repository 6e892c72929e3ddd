package notice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// flaggedJob is one of a user's jobs that lost core-hours and was flagged.
func flaggedJob(uid, id uint32, key string, lost float64) Judged {
	core := job.CoreTime(lost * job.CoreHour)
	return Judged{
		Job:      &job.Job{Cluster: "test", JobID: id, Attempt: 1, UID: uid, User: fmt.Sprint("user", uid), State: "COMPLETED", CPUs: 10, Elapsed: time.Hour, End: began.Add(time.Duration(id) * time.Minute)},
		Workload: key, Name: "lmp-" + key, Program: "lmp",
		Verdicts: []policy.Verdict{{Rule: "a", Outcome: policy.Passed}, {Rule: "b", Condition: "unused_nodes > 0", Outcome: policy.Flagged, Confidence: policy.Sure, Hours: policy.CoreHours{Lost: &core}}},
		request:  &policy.Request{Kind: policy.AskNodes, Nodes: 1, Saved: &curve.Estimate{Value: lost / 2, Low: lost / 4, High: lost}},
	}
}

func TestNotices(t *testing.T) {
	now := began.Add(24 * time.Hour)
	change := func(j Judged, f func(*policy.Verdict)) Judged {
		j.Verdicts = append([]policy.Verdict(nil), j.Verdicts...)
		f(&j.Verdicts[1])
		return j
	}
	sentAgo := func(days int, subjects ...string) []Sent {
		return []Sent{{Cluster: "test", UID: 1, At: now.AddDate(0, 0, -days), Subjects: subjects}}
	}
	one := flaggedJob(1, 7, "k1", 5)
	for _, c := range []struct {
		name string
		jobs []Judged
		sent []Sent
		want string // "uid: subject jobs lost job saved, …; …"
		held string // a reason
	}{
		{"one", []Judged{one}, nil, "1: k1 1 5 7 2.5", ""},
		{"passed", []Judged{change(one, func(v *policy.Verdict) { v.Outcome = policy.Passed })}, nil, "", ""},
		{"in shadow", []Judged{change(one, func(v *policy.Verdict) { v.Shadow = true })}, nil, "", "in shadow"},
		{"in doubt", []Judged{change(one, func(v *policy.Verdict) { v.Confidence = policy.Doubtful; v.Doubts = []string{"coverage is 0.9"} })}, nil, "", "not sure: coverage is 0.9"},
		{"muted", []Judged{change(one, func(v *policy.Verdict) { v.Muted = &now })}, nil, "", "muted the workload until 2026-11-21"},
		{"two users", []Judged{flaggedJob(2, 8, "k1", 1), one}, nil, "1: k1 1 5 7 2.5; 2: k1 1 1 8 0.5", ""},
		{"one workload, the worst job tells", []Judged{flaggedJob(1, 3, "k1", 1), one, flaggedJob(1, 9, "k1", 2)}, nil, "1: k1 3 8 7 2.5", ""},
		{"two workloads, the worst first", []Judged{flaggedJob(1, 3, "k2", 1), one}, nil, "1: k1 1 5 7 2.5, k2 1 1 3 0.5", ""},
		{"no workload known", []Judged{flaggedJob(1, 3, "", 1), flaggedJob(1, 4, "", 2)}, nil, "1: test:1:lmp 2 3 4 1", ""},
		{"told of others last week", []Judged{one}, sentAgo(7, "k2"), "1: k1 1 5 7 2.5", ""},
		{"told of others this week", []Judged{one}, sentAgo(6, "k2"), "", "sent a notice on 2026-11-15"},
		{"told of it in the cool-down", []Judged{one, flaggedJob(1, 3, "k2", 1)}, sentAgo(27, "k1"), "1: k2 1 1 3 0.5", "told of this workload on 2026-10-25"},
		{"told of it before the cool-down", []Judged{one}, sentAgo(28, "k1"), "1: k1 1 5 7 2.5", ""},
		{"another user was told", []Judged{flaggedJob(2, 8, "k1", 1)}, sentAgo(1, "k1"), "2: k1 1 1 8 0.5", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			due, held := Notices(c.jobs, c.sent, NoticeSettings{}, now)
			var users []string
			for _, n := range due {
				var items []string
				for _, i := range n.Items {
					items = append(items, fmt.Sprintf("%s %d %g %d %g", i.Subject, i.Jobs, i.Lost, i.Job.JobID, i.Saving.Value))
				}
				users = append(users, fmt.Sprintf("%d: %s", n.UID, strings.Join(items, ", ")))
				if n.Reason == "" || n.User != fmt.Sprint("user", n.UID) {
					t.Errorf("%+v", n)
				}
				again, _ := Notices(c.jobs, append(c.sent, n.Sent(now)), NoticeSettings{}, now.Add(time.Hour))
				for _, a := range again {
					if a.UID == n.UID {
						t.Errorf("told twice: %+v", a)
					}
				}
			}
			if got := strings.Join(users, "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			reasons := ""
			for _, h := range held {
				reasons += h.Reason + "\n"
			}
			if !strings.Contains(reasons, c.held) || (c.held == "") != (reasons == "") {
				t.Errorf("held %q, want %q", reasons, c.held)
			}
		})
	}
}

// TestWhatIsWorthAMail: each reason that holds a notice back, and the bounds beside it.
func TestWhatIsWorthAMail(t *testing.T) {
	now := began.Add(24 * time.Hour)
	judged := func(f func(*Judged)) Judged { // 10 core-hours used, 5 lost, surely 1.25 saved
		j := flaggedJob(1, 7, "k1", 5)
		j.Verdicts = slices.Clone(j.Verdicts)
		if f != nil {
			f(&j)
		}
		return j
	}
	ended := func(state string) Judged { return judged(func(j *Judged) { j.Job.State = state }) }
	noLine := judged(func(j *Judged) { j.request = nil })
	for _, c := range []struct {
		name     string
		jobs     []Judged
		settings NoticeSettings
		held     string // "": it is sent
	}{
		{"enough core-hours", []Judged{judged(nil)}, NoticeSettings{LeastCoreHours: 1.25}, ""},
		{"too few", []Judged{judged(nil)}, NoticeSettings{LeastCoreHours: 1.26}, "surely saves only 1.25 core-hours, and notice.least_core_hours is 1.26"},
		{"two jobs have enough", []Judged{judged(nil), flaggedJob(1, 8, "k1", 5)}, NoticeSettings{LeastCoreHours: 2.5}, ""},
		{"two workloads have enough", []Judged{judged(nil), flaggedJob(1, 8, "k2", 5)}, NoticeSettings{LeastCoreHours: 2.5}, ""},
		{"not those of another user", []Judged{judged(nil), flaggedJob(2, 8, "k2", 5)}, NoticeSettings{LeastCoreHours: 2.5}, "least_core_hours"},
		{"enough of what was used", []Judged{judged(nil)}, NoticeSettings{LeastShare: 0.125}, ""},
		{"too small a part", []Judged{judged(nil)}, NoticeSettings{LeastShare: 0.126}, "only 1.25 of 10.0 core-hours used"},
		{"completed", []Judged{ended("COMPLETED")}, NoticeSettings{}, ""},
		{"Slurm's word is not there", []Judged{ended("")}, NoticeSettings{}, "Slurm has not told"},
		{"out of memory", []Judged{ended("OUT_OF_MEMORY")}, NoticeSettings{}, "ended as OUT_OF_MEMORY"},
		{"cancelled", []Judged{ended("CANCELLED by 1")}, NoticeSettings{}, "ended as CANCELLED"},
		{"time limit", []Judged{ended("TIMEOUT")}, NoticeSettings{}, "ended as TIMEOUT"},
		{"may save nothing", []Judged{judged(func(j *Judged) {
			j.request = &policy.Request{Kind: policy.AskNodes, Saved: &curve.Estimate{Value: 2, High: 9}}
		})}, NoticeSettings{}, "may save nothing"},
		{"ran once", []Judged{judged(func(j *Judged) {
			j.request = &policy.Request{Kind: policy.AskNodes, Once: true, Saved: &curve.Estimate{Value: 2, Low: 1, High: 3}}
		})}, NoticeSettings{}, "only once"},
		{"no line", []Judged{noLine}, NoticeSettings{}, "no line to try"},
		{"no line, and the site asks", []Judged{noLine}, NoticeSettings{WithoutLine: true}, ""},
		{"no line counts nothing", []Judged{noLine}, NoticeSettings{WithoutLine: true, LeastCoreHours: 0.1}, "surely saves only 0.00"},
		{"a rule of the site's own", []Judged{noLine}, NoticeSettings{LeastCoreHours: 100, LeastShare: 0.05, Asked: []string{"b"}}, ""},
		{"better since", append([]Judged{judged(nil)}, passing(4, "k1")...), NoticeSettings{}, "newest jobs pass"},
		{"twice better is a chance", append([]Judged{judged(nil)}, passing(2, "k1")...), NoticeSettings{}, ""},
	} {
		due, held := Notices(c.jobs, nil, c.settings, now)
		if c.held == "" && len(due) != 1 || c.held != "" && (len(due) != 0 || len(held) == 0 || !strings.Contains(held[0].Reason, c.held)) {
			t.Errorf("%s: %d notices, held %+v", c.name, len(due), held)
		}
	}
}

// passing are a workload's newer jobs, which the rules let pass.
func passing(n int, key string) (all []Judged) {
	for i := range n {
		j := flaggedJob(1, uint32(100+i), key, 0)
		j.Verdicts, j.request = []policy.Verdict{{Rule: "b", Outcome: policy.Passed}}, nil
		all = append(all, j)
	}
	return all
}

// TestFiveItems: of many workloads those that save most are told, and all of them count.
func TestFiveItems(t *testing.T) {
	var jobs []Judged
	for i := range 12 {
		jobs = append(jobs, flaggedJob(1, uint32(i+1), fmt.Sprint("k", i), float64(4+4*i)))
	}
	due, _ := Notices(jobs, nil, NoticeSettings{}, began.Add(24*time.Hour))
	n := due[0]
	if len(n.Items) != 5 || n.More != 7 || n.Items[0].Subject != "k11" || n.Items[4].Subject != "k7" || n.Sure != 78 || n.Used != 120 {
		t.Errorf("%d items and %d more, first %s, last %s, %g of %g", len(n.Items), n.More, n.Items[0].Subject, n.Items[4].Subject, n.Sure, n.Used)
	}
	if told := n.Sent(began).Subjects; len(told) != 5 {
		t.Errorf("%v count as told", told)
	}
}

// TestAdvisedCount: for half a year nobody is told to leave a core count that a notice advised, unless
// what it was about is other work.
func TestAdvisedCount(t *testing.T) {
	now, told := began.AddDate(0, 0, 200), began.AddDate(0, 0, 200-181)
	before, after := map[int]time.Time{128: told.AddDate(0, 0, -1)}, map[int]time.Time{128: told.AddDate(0, 0, 1)}
	for name, c := range map[string]struct {
		days         int // since the notice
		cores        int // of the job
		began, apart map[int]time.Time
		held         bool
	}{
		"advised": {181, 64, before, nil, true}, "long ago": {182, 64, before, nil, false}, "another count": {181, 32, before, nil, false},
		"on the old count": {181, 128, before, nil, false}, "other work": {181, 64, after, before, false}, "both": {181, 64, before, before, true}, "not known any more": {181, 64, after, after, true},
	} {
		j := flaggedJob(1, 7, "k1", 5)
		j.Job.End, j.cores, j.began, j.beganApart = now.Add(-time.Hour), c.cores, c.began, c.apart
		best := &workload.Recommendation{Saved: &curve.Estimate{Value: 2, Low: 1}, Share: &curve.Estimate{Value: .5, Low: .4}, Time: &curve.Estimate{}, Typical: &curve.Estimate{}}
		j.Verdicts[1].Recommended, j.request = best, &policy.Request{Kind: policy.AskCores, Best: best, Saved: best.Saved}
		log := []listing.Told{{Cluster: "test", UID: 1, At: now.AddDate(0, 0, -c.days), Subject: "k1", Cores: 128, Advised: 64}}
		due, held := Notices([]Judged{j}, SentOf(log, false), NoticeSettings{}, now)
		if (len(due) == 0) != c.held || c.held && !strings.Contains(held[0].Reason, "a notice advised 64 cores on 20") {
			t.Errorf("%s: %+v, %+v", name, due, held)
		}
	}
}
