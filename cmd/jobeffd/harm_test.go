package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/cmd/jobeffd/notify"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
	"jobeff/ingest/server"
	"jobeff/ingest/store"
	"jobeff/policy/harm"
	"jobeff/policy/notice"
	"jobeff/report/mail"
	"jobeff/report/view"
)

// TestAlarm: measured jobs crash more often than the others. jobeffd says so to nodes, Prometheus and
// operators, once, until an operator has looked; then it compares anew.
func TestAlarm(t *testing.T) {
	c := newMadeCluster(t, "")
	c.cfg.Measure.Share, c.cfg.Digest.To = .5, []string{"hpc@example.org"}
	c.cfg.Measure.ExcludePartitions = []string{"gpu"}
	now := situationsNow
	clock := func() time.Time { return now }
	mails, err := notify.New(c.cfg, c.db, zerolog.Nop(), clock)
	must(t, err)
	must(t, c.db.SetMark(ctx, "digest", now))
	srv := server.New(server.Options{Store: c.db, Log: zerolog.Nop()})
	var w *watcher
	restart := func() {
		w = &watcher{db: c.db, srv: srv, mails: mails, measure: c.cfg.Measure, log: zerolog.Nop(), now: clock}
	}
	metrics := func() string {
		answer := httptest.NewRecorder()
		srv.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return answer.Body.String()
	}
	socket, run, done := filepath.Join(c.dir, "nodes"), t.Context(), make(chan error)
	l, err := server.ListenUnix(socket)
	must(t, err)
	run, stop := context.WithCancel(run)
	go func() { done <- srv.Serve(run, l) }()
	defer func() { stop(); <-done }()
	spool, reports := t.TempDir(), uint32(1_000_000)
	// heard sends a report and returns what the node knows then.
	heard := func() bool {
		t.Helper()
		reports++
		_, err := node.Outbox{Spool: spool}.Write(jobtest.Report(reports, "n1", fmt.Sprintf("%032x", reports)))
		must(t, err)
		sender := client.Sender{Spool: spool, Client: client.NewClient("unix:"+socket, time.Minute, nil)}
		if sent, err := sender.Send(ctx); err != nil || sent.Sent != 1 {
			t.Fatalf("%+v, %v", sent, err)
		}
		return node.Alarm(spool)
	}
	id := uint32(0)
	// end has n jobs of 20 users end in an hour; crash says which crash.
	end := func(n int, crash func(measured bool, partition string) bool) {
		var jobs []*job.Job
		for i := range n {
			id++
			j := &job.Job{Cluster: "test", JobID: id, Attempt: 1, UID: 5000 + id%20, Partition: "main", Nodes: 1, CPUs: 4, State: "COMPLETED", ExitCode: "0:0",
				Submit: now, Start: now, End: now.Add(time.Duration(i) * time.Hour / time.Duration(n)), Elapsed: time.Second}
			if id%3 == 0 {
				j.Partition = "gpu"
			}
			if crash(c.cfg.Measure.Draws(id), j.Partition) {
				j.State, j.ExitCode = "FAILED", "0:11"
			}
			jobs = append(jobs, j)
		}
		must(t, c.db.AddJobs(ctx, jobs))
		now = now.Add(2 * time.Hour)
	}
	up := func(want int, why string) []harm.Alarm {
		t.Helper()
		must(t, w.look(ctx))
		all, err := c.db.AlarmsUp(ctx)
		must(t, err)
		if len(all) != want || strings.Contains(metrics(), `jobeff_alarm{kind="crashed"} 1`) != (want > 0) {
			t.Fatalf("%s: %+v", why, all)
		}
		return all
	}

	must(t, node.KeepAlarm(spool, true))
	if !heard() {
		t.Error("jobeffd just started, and knows of no alarm; the node must go on as before")
	}
	restart()
	up(0, "no jobs")
	cannot := func(want string) {
		t.Helper()
		is, err := client.NewClient("unix:"+socket, time.Minute, nil).Healthy(ctx)
		if err != nil || is.CannotTell != want {
			t.Errorf("%+v, %v", is, err)
		}
		from := situationsNow.Truncate(24 * time.Hour)
		both, err := c.db.TwoWeeks(ctx, store.Viewer{All: true}, from, from.AddDate(0, 0, 7), nil)
		must(t, err)
		templates, err := mail.Load("")
		must(t, err)
		letter, err := templates.Digest(view.NewDigest(notice.NewDigest(both), view.Site{Zone: time.UTC}))
		must(t, err)
		for _, text := range []string{letter.Text, letter.HTML} {
			if strings.Contains(flat(text), "cannot tell, because") != (want != "") {
				t.Errorf("%q: the digest says %q", want, text)
			}
		}
	}
	cannot(harm.FewUsers)
	if heard() {
		t.Error("the node goes on as if there were an alarm")
	}
	alike := func(bool, string) bool { return id%199 == 0 }
	end(2000, alike)
	up(0, "measured or not, they crash alike")
	cannot("")
	end(500, func(measured bool, partition string) bool { return measured && partition == "gpu" })
	up(0, "no job of that partition is measured")
	end(2000, func(measured bool, _ string) bool { return measured && id%17 == 0 })
	a := up(1, "measured ones crash")[0]
	if a.Measured+a.Others < 500 || a.MeasuredBad < 15 || a.OthersBad > a.MeasuredBad || len(a.Jobs) != 5 {
		t.Errorf("%+v", a)
	}
	if !heard() {
		t.Error("the node does not know of the alarm")
	}
	up(1, "it is said once")
	restart()
	up(1, "also after a restart")
	mails.Tick(ctx)
	got := c.takeMails()
	said := fmt.Sprintf("%d of %d measured jobs crashed", a.MeasuredBad, a.Measured)
	bare := func(s string) string { return strings.ReplaceAll(s, ",", "") }
	if len(got) != 1 || !strings.HasPrefix(got[0], "To: <hpc@example.org>\njobeff: ALARM: measured jobs end worse than others") ||
		!strings.Contains(bare(got[0]), said) || !strings.Contains(got[0], "That jobeff is the cause is not proven.") || !strings.Contains(got[0], "jobeff admin alarm --go-on") {
		t.Errorf("%d mails: %q", len(got), got)
	}
	digest := func(accounts ...string) string {
		from := situationsNow.Truncate(24 * time.Hour)
		both, err := c.db.TwoWeeks(ctx, store.Viewer{All: true}, from, from.AddDate(0, 0, 7), accounts)
		must(t, err)
		templates, err := mail.Load("")
		must(t, err)
		letter, err := templates.Digest(view.NewDigest(notice.NewDigest(both), view.Site{Zone: time.UTC}))
		must(t, err)
		return letter.Subject + strings.SplitN(letter.Text, "\n\n", 3)[1]
	}
	if first := digest(); !strings.HasPrefix(first, "ALARM: jobeff: ") || !strings.Contains(first, "lostALARM: From ") || !strings.Contains(bare(flat(first)), said) {
		t.Errorf("the digest begins with %q", first)
	}
	if first := digest("chem"); strings.Contains(first, "ALARM") {
		t.Errorf("an account's digest begins with %q", first)
	}

	// idle returns what a node with nothing to send knows after its timer.
	idle := func(goesOn bool) (knows bool) {
		t.Helper()
		_, err := (&client.Sender{Spool: spool, GoesOn: goesOn, Client: client.NewClient("unix:"+socket, time.Minute, nil)}).Send(ctx)
		must(t, err)
		return node.Alarm(spool)
	}
	if !idle(false) {
		t.Error("an idle node forgets an alarm that is up")
	}
	if idle(true) {
		t.Error("a node that measures on notes an alarm, and would ask about it")
	}
	if idle(false) {
		t.Error("a node that knows of no alarm asks for one")
	}
	must(t, node.KeepAlarm(spool, true))
	must(t, c.db.ClearAlarms(ctx, now))
	must(t, w.tell(ctx)) // seconds later, and a minute before all jobs are compared again
	if idle(false) {
		t.Error("a node without reports does not hear that the alarm has ended")
	}
	up(0, "it is cleared")
	if heard() {
		t.Error("the node does not know that it is cleared")
	}
	end(2000, alike)
	up(0, "nothing old counts")
	end(2000, func(measured bool, _ string) bool { return measured && id%17 == 0 })
	up(1, "it happens again")
	c.cfg.Measure.Share = .25
	must(t, c.db.ClearAlarms(ctx, now))
	restart()
	up(0, "the share is another")
	c.cfg.Measure.Share = 1
	restart()
	up(0, "there is nothing to compare with")
	cannot(harm.AllMeasured)
	c.cfg.Measure.Share = .25
	restart()
	up(0, "the share is again another")
	must(t, c.db.SetMark(ctx, store.MarkCompared, now.AddDate(10, 0, 0)))
	up(0, "the clock was wrong when the comparison began")
	begun := w.since
	end(2000, func(measured bool, _ string) bool { return measured && id%17 == 0 })
	up(1, "what ended since then counts all the same")
	if !w.since.Equal(begun) {
		t.Errorf("the comparison began again, at %s and at %s", begun, w.since)
	}
}
