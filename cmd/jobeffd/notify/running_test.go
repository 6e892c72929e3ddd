package notify

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/policy"
	"jobeff/policy/notice"
	"jobeff/policy/rule"
)

// hungReports are four reports of a job of one node. They say that nothing has moved since a moment.
func hungReports(id, uid uint32, user string, since time.Time) (all []*job.NodeReport) {
	for i := range 4 {
		r := jobtest.Report(id, "n1", jobtest.Nonce)
		at := since.Add(time.Duration(i) * 10 * time.Minute)
		r.UID, r.User, r.Sequence, r.Start, r.End, r.AsOf = uid, user, 1+int(at.Sub(since)/time.Millisecond), since.Add(-time.Hour), at, at
		e := &r.Executions[0]
		e.Workload = "melt"
		e.Start, e.End, e.Calls, e.Endings = since.Add(-time.Hour), at, nil, map[string]int{job.EndingRunning: 2}
		e.Nodes[0].ElapsedMax, e.Nodes[0].ElapsedSum, e.Nodes[0].MPI = time.Hour, 2*time.Hour, 2*time.Hour-14*time.Second
		r.Progress = &hang.Progress{Moment: at, At: at, AtMS: int64(r.Sequence), Read: at, ReadMS: int64(r.Sequence), Mark: "m", Calls: []hang.OpenCalls{
			{Execution: "k", Size: 2, Function: "MPI_Recv", Ranks: "0-1", Count: 2, Since: since, Until: since, Some: []hang.RankNow{{Rank: 0, Node: "n1", PID: 4711}}}}}
		all = append(all, r)
	}
	return all
}

// judged adds reports, merges them, and asks the rules.
func judged(t *testing.T, db *store.Store, rules *rule.Rules, reports []*job.NodeReport) {
	t.Helper()
	for _, r := range reports {
		text, err := json.Marshal(r)
		must(t, err)
		r, err := wire.DecodeReport(text)
		must(t, err)
		_, err = db.AddReport(ctx, store.Sender{}, r, wire.Compress(text))
		must(t, err)
	}
	by := store.Judging{Rules: rules.Mark(), Grace: time.Hour, Ask: func(found *listing.JobAndWorkload) []string { return policy.Flags(rules.Judge(found.Job, nil)) }}
	must(t, db.JudgeBy(ctx, by.Rules))
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := db.Merge(ctx)
		must(t, err)
		if n, err := db.Unmerged(ctx); err == nil && n == 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%d wait to be merged, %v", n, err)
		}
	}
	_, err := db.Judge(ctx, by, time.Now())
	must(t, err)
}

// TestHungIsTold: the owner of a job that hangs gets one mail. If jobs of several users stopped together, only the operators get one.
func TestHungIsTold(t *testing.T) {
	now := time.Now().UTC()
	since := now.Truncate(10 * time.Minute).Add(-50 * time.Minute)
	for name, tt := range map[string]struct {
		edit func(*etc.Config)
		more []*job.NodeReport // of a second job
		mute bool              // alice has muted the workload
		want string            // recipients
		text string
	}{
		"muted":                {func(*etc.Config) {}, hungReports(8, 1002, "bob", since.Add(-30*time.Minute)), true, "[bob@example.org]", "Your job 8 runs"},
		"its owner":            {func(*etc.Config) {}, nil, false, "[alice@example.org]", "Your job 7 runs on 1 node"},
		"in shadow":            {func(c *etc.Config) { hungRule(c).Shadow = true }, nil, false, "[]", ""},
		"notices in shadow":    {func(c *etc.Config) { c.Notice.Shadow = true }, nil, false, "[hpc@example.org]", "user alice would get this mail"},
		"no notices":           {func(c *etc.Config) { c.Notice.Enabled = false }, nil, false, "[]", ""},
		"several users":        {func(*etc.Config) {}, hungReports(8, 1002, "bob", since.Add(10*time.Minute)), false, "[hpc@example.org]", "Nothing has moved in 2 jobs of 2 users"},
		"two jobs of a user":   {func(*etc.Config) {}, hungReports(8, 1001, "alice", since), false, "[alice@example.org alice@example.org]", "runs on 1 node"},
		"another, long before": {func(*etc.Config) {}, hungReports(8, 1002, "bob", since.Add(-30*time.Minute)), false, "[alice@example.org bob@example.org]", "nothing of it has moved since"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSMTP(t).start(t)
			cfg := config(s.port)
			cfg.Notice.QuietFrom, cfg.Notice.QuietTo = 0, 0
			cfg.Mail.Link = "https://jobeff.example.org"
			hungRule(cfg).Shadow = false
			tt.edit(cfg)
			rules, err := rule.Compile(cfg.Rules)
			must(t, err)
			path := filepath.Join(t.TempDir(), "db")
			db := site(t, path)
			db.FindHung(30 * time.Minute)
			judged(t, db, rules, append(hungReports(7, 1001, "alice", since), tt.more...))
			if tt.mute {
				mute(t, db, path, "7")
			}
			for range 3 { // and by a second daemon
				n := notifier(t, cfg, db, &clock{now})
				must(t, n.running(ctx, now))
				n.send(ctx)
			}
			all := s.arrived(t, strings.Count(tt.want, "@"))
			if got := fmt.Sprint(recipients(all)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			for _, l := range all {
				if flat := strings.Join(strings.Fields(l.text), " "); !strings.Contains(flat, tt.text) || !strings.Contains(l.html, strings.Fields(tt.text)[0]) {
					t.Errorf("no %q in\n%s", tt.text, l.text)
				}
				if link := fmt.Sprintf("https://jobeff.example.org/jobs/%d/wrong?rule=hung", map[bool]int{true: 8, false: 7}[tt.mute]); len(all) == 1 && strings.Contains(l.text, link) == strings.Contains(tt.want, "hpc") && name != "notices in shadow" {
					t.Errorf("its owner alone is led to %s:\n%s", link, l.text)
				}
			}
			_, err = db.NoticeOf(ctx, store.Viewer{UID: 1001}, "7", "hung")
			if log, e := db.Told(ctx, time.Time{}); e != nil || (err == nil) != strings.Contains(tt.want, "alice") || len(notice.SentOf(log, cfg.Notice.Shadow)) > 0 {
				t.Errorf("the log has %+v, %v, %v", log, err, e)
			}
		})
	}
}

// mute mutes the workload of a job, which need not have ended.
func mute(t *testing.T, db *store.Store, path, id string) {
	t.Helper()
	list, err := db.Jobs(ctx, store.Viewer{All: true}, listing.JobQuery{Jobs: id, Detail: true}, nil)
	must(t, err)
	j := &list.Jobs[0]
	raw, err := sql.Open("sqlite3", path)
	must(t, err)
	defer raw.Close()
	_, err = raw.Exec("INSERT INTO mutes VALUES (?, ?, ?, 0, ?, '')", j.Cluster, j.UID, job.WorkloadOf(j), time.Now().Add(time.Hour).UnixMicro())
	must(t, err)
}

func hungRule(c *etc.Config) *etc.Rule {
	return &c.Rules[slices.IndexFunc(c.Rules, func(r etc.Rule) bool { return r.Name == "hung" })]
}

// TestHungIsTooNew: jobeffd waits for half of the interval that the nodes report, since reports of other users' jobs may be on
// their way. Its own interval counts only for older nodes: with it, jobeffd might wait for longer than figures stay new.
func TestHungIsTooNew(t *testing.T) {
	for _, tt := range []struct{ own, nodes, early, late time.Duration }{
		{10 * time.Minute, 0, 4 * time.Minute, 6 * time.Minute},
		{time.Hour, 10 * time.Minute, 4 * time.Minute, 6 * time.Minute},
		{10 * time.Minute, 2 * time.Minute, 50 * time.Second, 70 * time.Second},
		{0, 30 * time.Minute, 14 * time.Minute, 16 * time.Minute},
	} {
		t.Run(fmt.Sprint(tt.own, " here, ", tt.nodes, " on nodes"), func(t *testing.T) { tooNew(t, tt.own, tt.nodes, tt.early, tt.late) })
	}
}

func tooNew(t *testing.T, own, nodes, early, late time.Duration) {
	s := newSMTP(t).start(t)
	cfg := config(s.port)
	cfg.Report.Interim = etc.Duration(own)
	hungRule(cfg).Shadow = false
	rules, err := rule.Compile(cfg.Rules)
	must(t, err)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	db.FindHung(30 * time.Minute)
	now := time.Now().UTC().Add(-time.Hour / 2)
	reports := hungReports(7, 1001, "alice", now.Add(-30*time.Minute))
	for _, r := range reports {
		r.Progress.Every = nodes
	}
	judged(t, db, rules, reports)
	n := notifier(t, cfg, db, &clock{now})
	must(t, n.running(ctx, now.Add(early)))
	if keys, err := db.DueMails(ctx, now.Add(24*time.Hour), false, 10); err != nil || len(keys) > 0 {
		t.Errorf("after %v: %v, %v", early, keys, err)
	}
	must(t, n.running(ctx, now.Add(late)))
	if keys, err := db.DueMails(ctx, now.Add(24*time.Hour), false, 10); err != nil || len(keys) != 1 || !strings.HasPrefix(keys[0], "running:test:7:1:hung") {
		t.Errorf("after %v: %v, %v", late, keys, err)
	}
}
