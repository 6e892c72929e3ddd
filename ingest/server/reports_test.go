package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/munge"
	"jobeff/ingest/node"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
)

// TestBatch: each line gets the answer that it would get alone, also when it comes again.
func TestBatch(t *testing.T) {
	s := start(t)
	newer := report(3, alice)
	newer.Version = job.ReportVersion + 1
	batch := bytes.Join([][]byte{body(t, report(1, alice)), []byte("{"), body(t, report(2, alice)), body(t, newer),
		body(t, onNodes(report(4, alice), "n9", "n[1-2]")), body(t, report(1, alice)), nil}, []byte("\n"))
	for _, first := range []bool{true, false} {
		got := request{Addr: s.tcp, Munge: s.munge, Method: "POST", Path: "/v1/reports/batch", Body: batch}.do()
		var said struct{ Answers []wire.BatchAnswer }
		if err := json.Unmarshal([]byte(got.Text), &said); err != nil || got.Status != 200 {
			t.Fatalf("%d %s", got.Status, got.Text)
		}
		fresh, statuses := 0, []int{}
		for _, a := range said.Answers {
			statuses = append(statuses, a.Status)
			if a.New {
				fresh++
			}
			if (a.Detail == "") != (a.Status == 200) {
				t.Errorf("%+v", a)
			}
		}
		if d := cmp.Diff([]int{200, 400, 200, 503, 403, 200}, statuses); d != "" {
			t.Error(d)
		}
		if first && fresh != 2 || !first && fresh != 0 {
			t.Errorf("%d of %+v are new", fresh, said.Answers)
		}
	}
	if n := s.rows(t); n != 2 {
		t.Errorf("%d rows", n)
	}
	if n := s.reported.Load(); n != 1 {
		t.Errorf("%d batches were said to be new", n)
	}
}

// TestBatchBounds: the bounds of a report hold for a batch, too.
func TestBatchBounds(t *testing.T) {
	s := start(t, func(o *Options) { o.ReportRate = 10 })
	post := request{Addr: s.tcp, Munge: s.munge, Method: "POST", Path: "/v1/reports/batch"}
	post.Body = bytes.Repeat([]byte("\n"), wire.MaxBatchLines)
	s.check(t, "lines", post.do(), 413, "larger than")
	post.Body = bytes.Repeat([]byte("x"), wire.MaxBatchBytes+1)
	s.check(t, "bytes", post.do(), 413, "larger than")
	post.Body = body(t, report(1, alice))
	s.check(t, "no credential", request{Addr: s.tcp, Method: "POST", Path: post.Path, Body: post.Body}.do(), 401, "no munge credential")
	socket := post
	socket.Addr, socket.Munge = s.unix, ""
	s.check(t, "a user", socket.as(t, alice), 403, "may not report")

	// A hundred reports are more than a second's worth: all of that is used up.
	var lines [][]byte
	for id := range uint32(100) {
		lines = append(lines, body(t, report(1+id, alice)))
	}
	post.Body = bytes.Join(lines, []byte("\n"))
	begin := time.Now()
	s.check(t, "many", post.do(), 200, `"new":true`)
	if got := post.do(); time.Since(begin) < time.Second {
		s.check(t, "too fast", got, 429, "too many requests")
	}
	spool := t.TempDir()
	for id := range uint32(300) {
		r := report(200+id, alice)
		r.Executions = nil
		if _, err := (node.Outbox{Spool: spool}).Write(r); err != nil {
			t.Fatal(err)
		}
	}
	res, err := (&client.Sender{Spool: spool, Client: s.signed(t)}).Send(ctx)
	if err != nil || res.Sent != 300 || res.Kept != 0 {
		t.Errorf("%v, %+v", err, res)
	}
	if n := s.rows(t); n != 400 {
		t.Errorf("%d rows", n)
	}
	if !strings.Contains(s.log.String(), fmt.Sprintf(`"job":%d`, 499)) {
		t.Error("not every report is logged")
	}
}

// TestPackedLine: a line of a batch that is packed by itself is refused. There is room for the text of
// the batch, and 4,096 such lines may unpack to 32 MiB each.
func TestPackedLine(t *testing.T) {
	s := start(t)
	line := []byte("\n")
	for id := uint32(1); bytes.Contains(line, []byte("\n")); id++ { // else it is no line
		line = wire.Compress(slices.Concat(body(t, report(id, alice)), bytes.Repeat([]byte(" "), 100<<10)))
	}
	packed := map[string]string{"Content-Encoding": "zstd"}
	got := request{Addr: s.tcp, Munge: s.munge, Method: "POST", Path: "/v1/reports/batch", Body: line, Header: packed}.do()
	s.check(t, "alone, it is a packed batch", got, 200, `"new":true`)
	line = slices.Concat([]byte("{}\n"), line)
	got = request{Addr: s.tcp, Munge: s.munge, Method: "POST", Path: "/v1/reports/batch", Body: line}.do()
	s.check(t, "as a line", got, 200, "packed by itself")
}

// FuzzBatch: the server finds the reports that the node sends of a batch, whatever a crash left in
// it. Answers are in the order of lines, so one line more would ack another's report.
func FuzzBatch(f *testing.F) {
	f.Add([]byte("{\"job\":{\"id\":1}}\n{\"job\":{\"id\":2}}\n"))
	f.Add([]byte("\n{}\n{\"a\":\n\n{}{}\n \n[1]\r\nnull"))
	f.Add(wire.Compress([]byte("{}\n")))
	f.Add([]byte("\x1f\x8b{}"))
	s := &Server{decoding: semaphore.NewWeighted(1)}
	f.Fuzz(func(t *testing.T, text []byte) {
		if lines, e := s.linesOf(t.Context(), text); e == nil && len(lines) > wire.MaxBatchLines {
			t.Errorf("%d lines were taken", len(lines))
		}
		sent := node.BatchLines(text)
		if len(sent) == 0 || len(sent) > wire.MaxBatchLines {
			return
		}
		found, e := s.linesOf(t.Context(), wire.Compress(bytes.Join(sent, []byte("\n"))))
		if e != nil {
			t.Fatal(e.Message)
		}
		if d := cmp.Diff(sent, found); d != "" {
			t.Errorf("sent (-) and found (+):\n%s", d)
		}
	})
}

const carol = 61003

// ofProgram is a report of a job of alice's whose execution ran a program.
func ofProgram(id uint32, on, list, program string) *job.NodeReport {
	r := onNodes(report(id, alice), on, list)
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

// TestSlowReport: root of one node says that its largest report comes, or a few bytes that unpack to
// that, and sends no more of it. Reports of other nodes are taken, but no second one of its own.
func TestSlowReport(t *testing.T) {
	s := start(t)
	packed := wire.Compress(bytes.Repeat([]byte(" "), wire.MaxReportBytes))
	for name, c := range map[string]struct {
		length int
		begin  []byte
	}{
		"as it is": {wire.MaxReportBytes, []byte(strings.Repeat(" ", 100))},
		"packed":   {300 << 10, packed[:100]}, // net/http waits for a shorter rest before it answers,
	} {
		both := make(chan string)
		for range 2 {
			conn := s.beginReport(t, c.length, c.begin)
			defer conn.Close()
			go func() {
				answer := make([]byte, len("HTTP/1.1 429"))
				io.ReadFull(conn, answer)
				both <- string(answer)
			}()
		}
		if got := <-both; got != "HTTP/1.1 429" {
			t.Errorf("%s: one of two is told %q", name, got)
		}
		s.check(t, name+": of another node", s.post(t, report(7, alice)), 200, `{"new":`)
	}
}

// beginReport sends the beginning of a report from an address of its own.
func (s *testServer) beginReport(t *testing.T, length int, begin []byte) net.Conn {
	t.Helper()
	cred, err := munge.Encode(s.munge, wire.AuthPayload("POST", "/v1/reports", begin, nonce()), 0)
	if err != nil {
		t.Fatal(err)
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := from.Dial("tcp", strings.TrimPrefix(s.tcp, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Munge %s\r\nContent-Length: %d\r\n\r\n%s", cred, length, begin)
	return conn
}
