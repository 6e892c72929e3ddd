package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
)

const carol = 61003

// ofProgram is a report of a job of alice's whose execution ran a program.
func ofProgram(id uint32, node, list, program string) *job.NodeReport {
	r := onNodes(report(id, alice), node, list)
	r.Nonce = nonce()
	r.Executions[0].Executable = program
	return r
}

// fakes are what root of n9 may say of a job that ran on n1.
var fakes = []struct {
	name   string
	change func(*job.NodeReport)
}{
	{"after the job's end", func(r *job.NodeReport) { moved(r, 10*time.Minute) }},
	{"soon after the job's end", func(r *job.NodeReport) { moved(r, 90*time.Second) }},
	{"tomorrow", func(r *job.NodeReport) { moved(r, 24*time.Hour) }},
	{"yesterday", func(r *job.NodeReport) { moved(r, -24*time.Hour) }},
	{"another user's", func(r *job.NodeReport) { r.UID = carol }},
	{"another user's, tomorrow", func(r *job.NodeReport) { r.UID = carol; moved(r, 24*time.Hour) }},
	{"at the same time", func(*job.NodeReport) {}},
	{"without a list of nodes", func(r *job.NodeReport) { r.NodeList = "" }},
	{"for ever", func(r *job.NodeReport) { r.Start, r.End = time.Unix(0, 0), time.Now().Add(10000*time.Hour) }},
	{"of a great many nodes, of another array, by another SLUID", func(r *job.NodeReport) {
		task := uint32(7)
		r.NNodes, r.ArrayJobID, r.ArrayTaskID, r.HetJobID, r.SLUID = 1e6, 4_000_000, &task, 4_000_000, "s1"
	}},
}

func moved(r *job.NodeReport, by time.Duration) {
	r.Start, r.End = r.Start.Add(by), r.End.Add(by)
}

// TestFakeReports: root of one node reports another user's job that did not run there, before or
// after the real report and Slurm's word. The owner sees the run, and nobody sees the fake.
func TestFakeReports(t *testing.T) {
	s := start(t)
	for i, f := range fakes {
		for n, order := range []string{"real line fake", "line real fake", "line fake real", "fake line real", "fake real line", "real fake line"} {
			id := uint32(1000 + 10*i + n)
			what := f.name + ", " + order
			fake := ofProgram(id, "n9", "n9", "/fake")
			f.change(fake)
			for event := range strings.FieldsSeq(order) {
				switch event {
				case "real":
					s.check(t, what, s.post(t, ofProgram(id, "n1", "n1", "/real")), 200, `{"new":true}`)
				case "fake":
					s.post(t, fake) // 200, or 403 where Slurm's word makes it impossible
				case "line":
					tell(t, s.store, known(id, "n1", 1))
				}
			}
			s.slurmWasAsked(t)
			s.wantReal(t, what, id)
		}
	}
}

// wantReal checks what the owner, the other user and an operator see of a job.
func (s *testServer) wantReal(t *testing.T, what string, id uint32) {
	t.Helper()
	for _, uid := range []int{alice, bob} {
		got := request{Addr: s.unix, Method: "GET", Path: fmt.Sprintf("/v1/jobs/%d", id)}.as(t, uid)
		s.check(t, what, got, 200, `"/real"`)
		for _, part := range []string{`"state":"COMPLETED"`, `"nodes_reported":1`, `"nodes":1,`, fmt.Sprintf(`"id":"%d"`, id)} {
			if !strings.Contains(got.Text, part) {
				t.Errorf("%s, to %d: %s is not in %s", what, uid, part, got.Text)
			}
		}
		list := request{Addr: s.unix, Method: "GET", Path: fmt.Sprintf("/v1/jobs?detail=1&job=%d", id)}.as(t, uid)
		if all := got.Text + list.Text; strings.Contains(all, "/fake") || strings.Count(list.Text, `"/real"`) != 1 {
			t.Errorf("%s: %d is shown %s", what, uid, all)
		}
	}
	s.check(t, what, request{Addr: s.unix, Method: "GET", Path: fmt.Sprintf("/v1/jobs/%d", id)}.as(t, carol), 404, "not found")
}

// tell adds what sacct says.
func tell(t *testing.T, db *store.Store, lines ...slurm.Job) {
	t.Helper()
	if _, err := db.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
}

// slurmWasAsked notes what the poller notes: sacct was read after all that came so far.
func (s *testServer) slurmWasAsked(t *testing.T) {
	t.Helper()
	if err := s.store.SetMark(ctx, markRead, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	s.merged(t)
}

// TestUnconfirmed: an attempt of which Slurm has not told is kept from people for a while. Then
// it is shown, marked, and counts in no curve and no digest. With Slurm's word it is a job like
// any other.
func TestUnconfirmed(t *testing.T) {
	s := start(t)
	s.store.WaitForSlurm(time.Hour)
	r := ofProgram(7, "n1", "n1", "/real")
	r.Executions[0].Workload = "melt"
	s.check(t, "posted", s.post(t, r), 200, `{"new":true}`)
	ask := func(path string) response { return request{Addr: s.unix, Method: "GET", Path: path}.do() }
	day := time.Now().UTC().Truncate(24 * time.Hour)
	digest := fmt.Sprintf("/v1/digest?from=%s&to=%s", day.AddDate(0, 0, -2).Format(time.RFC3339), day.AddDate(0, 0, 2).Format(time.RFC3339))
	s.check(t, "at first", ask("/v1/jobs/7"), 404, "not found")
	s.check(t, "in a list", ask("/v1/jobs?job=7"), 200, `"jobs":[]`)
	s.store.WaitForSlurm(0)
	s.check(t, "later", ask("/v1/jobs/7"), 200, `"unconfirmed":true`)
	s.check(t, "its workload", ask("/v1/workloads/melt"), 404, "not found")
	if got := ask(digest); got.Status != 200 || strings.Contains(got.Text, "/real") || !strings.Contains(got.Text, `"jobs":0`) {
		t.Errorf("the digest: %d %s", got.Status, got.Text)
	}
	s.store.WaitForSlurm(time.Hour)
	tell(t, s.store, known(7, "n1", 1))
	s.merged(t)
	if got := ask("/v1/jobs/7"); got.Status != 200 || strings.Contains(got.Text, "unconfirmed") {
		t.Errorf("confirmed: %d %s", got.Status, got.Text)
	}
	s.check(t, "its workload", ask("/v1/workloads/melt"), 200, `"name":"melt"`)
	s.post(t, ofProgram(7, "n9", "n9", "/fake"))
	late := ofProgram(7, "n9", "n9", "/fake")
	moved(late, time.Hour)
	s.check(t, "a fake", s.post(t, late), 200, `{"new":true}`)
	s.check(t, "counted", ask("/metrics"), 200, `jobeff_reports_settled_total{fits="false"} 1`)
	s.check(t, "counted", ask("/metrics"), 200, `jobeff_reports_settled_total{fits="true"} 1`)
	if !strings.Contains(s.log.String(), `"unfit":1`) {
		t.Errorf("log %s", s.log)
	}
}

// TestWaitingIsBounded: root of a node reports a job again and again, each time of another hour, before
// Slurm tells of it, or where Slurm is never asked. The job's own report is taken all the same.
func TestWaitingIsBounded(t *testing.T) {
	s := start(t)
	var taken []*job.NodeReport
	kept := 0
	for i := range 150 {
		fake := ofProgram(7, "n9", "n9", "/fake")
		moved(fake, -time.Duration(i+1)*time.Hour)
		switch got := s.post(t, fake); got.Status {
		case 200:
			taken = append(taken, fake)
		case 503:
			kept++
			s.check(t, "a fake", got, 503, "wait until Slurm tells of it")
		default:
			t.Fatalf("%d %s", got.Status, got.Text)
		}
	}
	if len(taken) != 100 || kept != 50 {
		t.Errorf("%d were taken, %d kept on their node", len(taken), kept)
	}
	real := ofProgram(7, "n1", "n1", "/real")
	s.check(t, "the real one", s.post(t, real), 200, `{"new":true}`)
	tell(t, s.store, known(7, "n1", 1))
	s.slurmWasAsked(t)
	s.wantReal(t, "after all", 7)
	tell(t, s.store, known(7, "n[1-2]", 1)) // so that all are matched again
	for _, fake := range taken {
		s.check(t, "a fake again", s.post(t, fake), 200, `{"new":false}`)
	}
}
