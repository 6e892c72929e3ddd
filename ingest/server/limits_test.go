package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/munge"
	"jobeff/ingest/node"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/policy/slow"
	"jobeff/test/mungetest"
)

// signed is a client on TCP.
func (s *testServer) signed(t *testing.T) *client.Client {
	c := client.NewClient(s.tcp, 30*time.Second, munge.Site{Socket: s.munge})
	t.Cleanup(c.Close)
	return c
}

// post posts a report with munge.
func (s *testServer) post(t *testing.T, r *job.NodeReport) response {
	return request{Addr: s.tcp, Munge: s.munge, Method: "POST", Path: "/v1/reports", Body: body(t, r)}.do()
}

// TestReportRate: a node that reports too fast is told to wait. It waits and loses nothing. Root
// on the socket has no bound.
func TestReportRate(t *testing.T) {
	const jobs = 12 // more than the burst
	s := start(t, func(o *Options) { o.ReportRate = 10 })
	// As many as the burst and the elapsed time allow, and no more.
	const posts = 60
	answers := make([]response, posts)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = s.post(t, report(uint32(1+i%jobs), alice)) })
	}
	all.Wait()
	may, taken := 10+10*time.Since(begin).Seconds(), 0
	for _, got := range answers {
		if got.Status == 200 {
			taken++
			continue
		}
		s.check(t, "too fast", got, 429, "too many requests")
		if got.Header.Get("Retry-After") != "1" {
			t.Errorf("%v", got.Header)
		}
	}
	if float64(taken) > may+1 {
		t.Errorf("%d of %d were taken, %.1f may be", taken, posts, may)
	}
	spool := t.TempDir()
	for id := range uint32(jobs) {
		if _, err := (node.Outbox{Spool: spool}).Write(report(1+id, alice)); err != nil {
			t.Fatal(err)
		}
	}
	res, err := (&client.Sender{Spool: spool, Client: s.signed(t)}).Send(ctx)
	if err != nil || res.Sent != jobs || res.Kept != 0 {
		t.Errorf("%v, %+v", err, res)
	}
	if n := s.rows(t); n != jobs {
		t.Errorf("%d rows", n)
	}
	for range 30 {
		s.check(t, "on the socket", request{Addr: s.unix, Method: "POST", Path: "/v1/reports", Body: body(t, report(1, alice))}.do(), 200, "false")
	}
}

// TestReadRate bounds one user's requests, and nobody else's.
func TestReadRate(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("requests as several users need root")
	}
	const burst, asked = 3, 100
	s := New(Options{Store: openStore(t), Log: zerolog.Nop(), ReadRate: burst})
	refused := func(uid int, method, path string) (n int) {
		via := through(t, s, uid)
		begin := time.Now()
		for range asked {
			if asks(s, via, method, path, []byte("{}")).Code == http.StatusTooManyRequests {
				n++
			}
		}
		if may := burst + burst*time.Since(begin).Seconds() + 1; float64(asked-n) > may && uid != 0 {
			t.Errorf("%s %s: %d answers, %.1f may be", method, path, asked-n, may)
		}
		return n
	}
	refused(61001, "GET", "/v1/jobs")
	refused(61002, "PUT", "/v1/workloads/melt/mute")
	refused(61003, "DELETE", "/v1/workloads/melt/mute")
	refused(61004, "POST", "/v1/reports")
	if n := refused(0, "GET", "/v1/jobs"); n > 0 {
		t.Errorf("root was refused %d times", n)
	}
	if got := asks(s, through(t, s, 61005), "GET", "/v1/jobs", nil); got.Code != http.StatusOK {
		t.Errorf("another user waits: %d %s", got.Code, got.Body)
	}
}

func onNodes(r *job.NodeReport, on, list string) *job.NodeReport {
	r.Node, r.NodeList = on, list
	for i := range r.Executions {
		r.Executions[i].Nodes[0].Node = on
	}
	return r
}

// known is what sacct says of a job that ended just now on nodes.
func known(id uint32, nodes string, n int) slurm.Job {
	end := time.Now().Truncate(time.Second).Add(time.Second) // not before the database began
	return slurm.Job{Cluster: "test", ID: fmt.Sprint(id), RawID: id, UID: alice, User: "alice", State: "COMPLETED", ExitCode: "0:0",
		Submit: end.Add(-time.Minute), Start: end.Add(-time.Minute), End: end, Elapsed: time.Minute, Nodes: n, NodeList: nodes}
}

// TestForeignNode: a node that was not part of a job cannot report it. Until Slurm tells of the
// job, nobody knows; reports that came before are judged afterwards.
func TestForeignNode(t *testing.T) {
	s := start(t)
	s.check(t, "not in its own list", s.post(t, onNodes(report(1, alice), "n9", "n[1-2]")), 403, "not among the job's nodes")
	if _, err := s.store.AddSlurm(ctx, []slurm.Job{known(2, "n[1-2]", 2)}); err != nil {
		t.Fatal(err)
	}
	s.check(t, "a foreign node", s.post(t, onNodes(report(2, alice), "n9", "n9")), 403, "Slurm says that the job did not have this node")
	s.check(t, "a node of the job", s.post(t, onNodes(report(2, alice), "n2", "n[1-2]")), 200, `{"new":true}`)

	told := []slurm.Job{known(3, "n1", 1)} // of the same second
	forged, real := onNodes(report(3, alice), "n9", ""), onNodes(report(3, alice), "n1", "n1")
	forged.Nonce = strings.Repeat("e", 32)
	s.check(t, "before Slurm told", s.post(t, forged), 200, `{"new":true}`)
	s.check(t, "the job's node", s.post(t, real), 200, `{"new":true}`)
	if _, err := s.store.AddSlurm(ctx, told); err != nil {
		t.Fatal(err)
	}
	s.merged(t)
	j, err := s.store.Job(ctx, store.Viewer{All: true}, slurmid.Ref{ID: 3}, 0)
	if err != nil || j.Reports != 1 || len(j.Executions) != 1 || len(j.Executions[0].Nodes) != 1 || j.Executions[0].Nodes[0].Node != "n1" {
		t.Fatalf("%v, %+v", err, j)
	}
	if len(j.Warnings) != 1 || j.Warnings[0].Code != doubt.WarnForeignNode {
		t.Errorf("%+v", j.Warnings)
	}
	s.check(t, "the forged one again", s.post(t, forged), 200, `{"new":false}`)
	if _, err := s.store.AddSlurm(ctx, told); err != nil {
		t.Fatal(err)
	}
	if j, err := s.store.Job(ctx, store.Viewer{All: true}, slurmid.Ref{ID: 3}, 0); err != nil || j.Reports != 1 {
		t.Errorf("%v, %+v", err, j)
	}
}

// TestStrictNode: a report must come from an address of the node that it names. If the resolver
// is away, the report is not refused for good, and the resolver is asked again.
func TestStrictNode(t *testing.T) {
	away := true
	s := start(t, func(o *Options) {
		o.StrictNode = true
		o.lookup = func(_ context.Context, name string) ([]string, error) {
			switch {
			case name == "none":
				return nil, &net.DNSError{IsNotFound: true}
			case name == "slow" && away:
				return nil, &net.DNSError{IsTimeout: true}
			case name == "other":
				return []string{"192.0.2.1"}, nil
			}
			return []string{"192.0.2.2", "127.0.0.1"}, nil
		}
	})
	from := func(on string) response { return s.post(t, onNodes(report(1, alice), on, "")) }
	s.check(t, "this machine", from("this"), 200, `{"new":true}`)
	s.check(t, "another machine", from("other"), 401, "a node that has another address")
	s.check(t, "no machine", from("none"), 401, "a node that has another address")
	s.check(t, "no resolver", from("slow"), 503, "cannot ask for the node's address now")
	away = false
	s.check(t, "the resolver again", from("slow"), 200, "new")
}

// TestSlowResolver: without strict_node no report waits for the resolver. It gets few questions
// at once. Reports from another host are counted when it answers.
func TestSlowResolver(t *testing.T) {
	const hostQuestions = 16 // those of package admit
	answer := make(chan struct{})
	var asked atomic.Int32
	s := start(t, func(o *Options) {
		o.lookup = func(context.Context, string) ([]string, error) {
			asked.Add(1)
			<-answer
			return []string{"192.0.2.1"}, nil
		}
	})
	post := func() {
		for i := range 2 * hostQuestions {
			s.check(t, "post", s.postFrom(t, fmt.Sprint("127.0.3.", 1+i), "/v1/reports", body(t, onNodes(report(1, alice), fmt.Sprint("n", i), ""))), 200, "new")
		}
	}
	metrics := request{Addr: s.unix, Method: "GET", Path: "/metrics"}
	want := func(n int) {
		t.Helper()
		line := fmt.Sprintf("jobeff_reports_other_host_total %d\n", n)
		wait(t, line, func() bool { return strings.Contains(metrics.do().Text, line) })
	}
	post()
	want(0)
	if n := asked.Load(); n > hostQuestions {
		t.Errorf("%d questions at once", n)
	}
	close(answer)
	want(hostQuestions)
	// The remaining nodes are asked for when they report again; the others are known.
	wait(t, "a question for each node", func() bool {
		if asked.Load() < 2*hostQuestions {
			post()
		}
		return asked.Load() >= 2*hostQuestions
	})
}

// TestAnswerLost: the connection breaks between COMMIT and answer. The node sends again, and
// there is one row.
func TestAnswerLost(t *testing.T) {
	var broken atomic.Int32
	s := start(t, func(o *Options) {
		o.Committed = func() {
			if broken.Add(1) <= 3 {
				panic(http.ErrAbortHandler)
			}
		}
	})
	spool := t.TempDir()
	for id := range uint32(10) {
		if _, err := (node.Outbox{Spool: spool}).Write(report(1+id, alice)); err != nil {
			t.Fatal(err)
		}
	}
	sent := 0
	for range 3 {
		res, err := (&client.Sender{Spool: spool, Client: s.signed(t)}).Send(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sent += res.Sent
	}
	if n := s.rows(t); n != 10 || sent != 10 || broken.Load() != 13 {
		t.Errorf("%d rows, %d sent, %d commits", n, sent, broken.Load())
	}
}

// TestMetrics reads what Prometheus reads.
func TestMetrics(t *testing.T) {
	s := start(t, func(o *Options) { o.Grace = time.Second })
	c := s.signed(t)
	c.TellOutbox(wire.OutboxState{Waiting: 7, Oldest: 90 * time.Second, Refused: 1, Cut: 2, Lost: 3})
	c.TellRunDir(node.RunDirState{Notes: 93, Records: 4, Full: 2, Held: 1 << 20})
	for range 2 {
		if err := c.PostReport(ctx, body(t, report(1, alice))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.store.Merge(ctx); err != nil { // writes what nodes said of their outboxes
		t.Fatal(err)
	}
	look := &listing.SlowNodes{At: time.Now().Add(-47 * time.Hour), Nodes: []slow.Slow{{Machine: slow.Machine{Cluster: "c", Node: "n\"1"}, Slower: 1.051}}}
	if err := s.store.KeepSlowNodes(ctx, look); err != nil {
		t.Fatal(err)
	}
	request{Addr: s.unix, Method: "POST", Path: "/v1/reports", Body: []byte("{")}.do()
	get := request{Addr: s.unix, Method: "GET", Path: "/metrics"}
	s.check(t, "a user", get.as(t, alice), 403, "for operators")
	s.check(t, "an operator", get.as(t, bob), 200, "jobeff_build_info{version=")
	got := get.do()
	for _, want := range []string{`jobeff_reports_received_total{new="false"} 1`, `jobeff_reports_received_total{new="true"} 1`,
		`jobeff_requests_refused_total{reason="400"} 1`, `jobeff_requests_refused_total{reason="not_operator"} 1`,
		"jobeff_reports_late_total 1", "jobeff_write_queue 0", "jobeff_jobs_to_merge 0", "jobeff_connections_refused_total 0", "jobeff_report_commit_seconds_count 2", "jobeff_outbox_oldest_seconds 90",
		`jobeff_outbox_reports{state="waiting"} 7`, `jobeff_outbox_reports{state="lost"} 3`, `jobeff_jobs_of_day{state="unknown"} 1`,
		"jobeff_run_dir_used_ratio 0.93", "jobeff_run_dir_full_records 2", "jobeff_run_dir_held_bytes 1.048576e+06",
		`jobeff_node_slower_ratio{cluster="c",node="n\"1"} 1.051`,
		"jobeff_jobs_of_day_measured 1", "jobeff_jobs_of_day_coverage 1", "process_resident_memory_bytes"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %s in\n%s", want, got.Text)
		}
	}
	look.At = time.Now().Add(-49 * time.Hour)
	if err := s.store.KeepSlowNodes(ctx, look); err != nil {
		t.Fatal(err)
	}
	if got := get.do(); strings.Contains(got.Text, "node_slower") {
		t.Errorf("an old look tells of now:\n%s", got.Text)
	}
}

// TestComplete: a job that lacks a node's report is complete after the grace time.
func TestComplete(t *testing.T) {
	for grace, want := range map[time.Duration]string{time.Hour: `"complete":false`, time.Second: `"complete":true`} {
		s := start(t, func(o *Options) { o.Grace = grace })
		r := report(1, alice)
		r.NNodes = 2
		s.check(t, "post", s.post(t, r), 200, "true")
		for _, path := range []string{"/v1/jobs/1?stored=1", "/v1/jobs?stored=1"} {
			s.check(t, path, request{Addr: s.unix, Method: "GET", Path: path}.do(), 200, want)
		}
	}
}

// TestSkewedClock: a credential from a machine with a wrong clock is refused. Once the clock is
// right, the report is accepted.
func TestSkewedClock(t *testing.T) {
	s := start(t)
	text := body(t, report(1, alice))
	for offset, want := range map[string]string{"-10m": "has expired", "+10m": "made in the future"} {
		skewed := mungetest.Skewed(t, s.munge, offset)
		got := request{Addr: s.tcp, Munge: skewed, Method: "POST", Path: "/v1/reports", Body: text}.do()
		s.check(t, offset, got, 401, want)
		mungetest.Restart(t, skewed, s.munge)
		s.check(t, "mended", request{Addr: s.tcp, Munge: skewed, Method: "POST", Path: "/v1/reports", Body: text}.do(), 200, "new")
	}
}

// TestReplayedLater: after a restart munge has forgotten the used credentials; the server has
// not.
func TestReplayedLater(t *testing.T) {
	s := start(t)
	text := body(t, report(1, alice))
	cred, err := munge.Encode(s.munge, wire.AuthPayload("POST", "/v1/reports", text, nonce()), 0)
	if err != nil {
		t.Fatal(err)
	}
	post := request{Addr: s.tcp, Method: "POST", Path: "/v1/reports", Body: text, Cred: cred}
	s.check(t, "first", post.do(), 200, `{"new":true}`)
	mungetest.Restart(t, s.munge, s.munge)
	s.check(t, "after munge's restart", post.do(), 401, "was used before")
	if n := s.rows(t); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestLongRead: a request may read the database only for a limited time. A viewer who asked for
// too much is told so. Reports are not concerned.
func TestLongRead(t *testing.T) {
	var left time.Duration
	s := start(t)
	s.server.pageMux.HandleFunc("GET /slow", s.server.page("", nil, func(r *http.Request, _ viewer) ([]byte, error) {
		end, _ := r.Context().Deadline()
		left = time.Until(end)
		return nil, context.DeadlineExceeded
	}))
	s.check(t, "slow", request{Addr: s.unix, Method: "GET", Path: "/slow"}.do(), 503, "jobeffd could not read this in time")
	if left <= 0 || left > longestRead {
		t.Errorf("%v are left", left)
	}
}

// TestReader: a reader takes no reports and counts none; it answers all other requests.
func TestReader(t *testing.T) {
	s := start(t, func(o *Options) { o.Reader = true })
	for _, path := range []string{"/v1/reports", "/v1/reports/batch"} {
		got := request{Addr: s.unix, Method: "POST", Path: path, Body: textOf(report(7, alice))}.do()
		s.check(t, path, got, 503, "this jobeffd answers people and takes no reports")
		if got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
	s.check(t, "list", request{Addr: s.unix, Method: "GET", Path: "/v1/jobs"}.do(), 200, `"jobs":[]`)
	text := request{Addr: s.unix, Method: "GET", Path: "/metrics"}.do()
	s.check(t, "metrics", text, 200, `jobeff_requests_refused_total{reason="reader"} 2`)
	if strings.Contains(text.Text, "reports_received") {
		t.Error("it counts reports")
	}
}
