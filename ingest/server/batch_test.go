package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
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
		var said struct{ Answers []job.BatchAnswer }
		if err := json.Unmarshal([]byte(got.Text), &said); err != nil || got.Status != 200 {
			t.Fatalf("%d %s", got.Status, got.Text)
		}
		fresh, statuses := 0, []int{}
		for _, a := range said.Answers {
			statuses = append(statuses, a.Status)
			if a.New {
				fresh++
			}
			if (a.Error == "") != (a.Status == 200) {
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
	post.Body = bytes.Repeat([]byte("\n"), job.MaxBatchLines)
	s.check(t, "lines", post.do(), 413, "larger than")
	post.Body = bytes.Repeat([]byte("x"), job.MaxBatchBytes+1)
	s.check(t, "bytes", post.do(), 413, "larger than")
	post.Body = body(t, report(1, alice))
	s.check(t, "no credential", request{Addr: s.tcp, Method: "POST", Path: post.Path, Body: post.Body}.do(), 401, "no munge credential")
	socket := post
	socket.Addr, socket.Munge = s.unix, ""
	s.check(t, "a user", socket.as(t, alice), 403, "may not report")

	// A hundred reports are more than a second's worth: all of that is used up.
	var lines [][]byte
	for job := range uint32(100) {
		lines = append(lines, body(t, report(1+job, alice)))
	}
	post.Body = bytes.Join(lines, []byte("\n"))
	begin := time.Now()
	s.check(t, "many", post.do(), 200, `"new":true`)
	if got := post.do(); time.Since(begin) < time.Second {
		s.check(t, "too fast", got, 429, "too many requests")
	}
	spool := t.TempDir()
	for job := range uint32(300) {
		r := report(200+job, alice)
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

// FuzzBatch: the server finds the reports that the node sends of a batch, whatever a crash left in
// it. Answers are in the order of lines, so one line more would ack another's report.
func FuzzBatch(f *testing.F) {
	f.Add([]byte("{\"job\":{\"id\":1}}\n{\"job\":{\"id\":2}}\n"))
	f.Add([]byte("\n{}\n{\"a\":\n\n{}{}\n \n[1]\r\nnull"))
	f.Add(job.Compress([]byte("{}\n")))
	f.Add([]byte("\x1f\x8b{}"))
	s := &Server{decoding: semaphore.NewWeighted(1)}
	f.Fuzz(func(t *testing.T, text []byte) {
		if lines, e := s.linesOf(t.Context(), text); e == nil && len(lines) > job.MaxBatchLines {
			t.Errorf("%d lines were taken", len(lines))
		}
		sent := node.BatchLines(text)
		if len(sent) == 0 || len(sent) > job.MaxBatchLines {
			return
		}
		found, e := s.linesOf(t.Context(), job.Compress(bytes.Join(sent, []byte("\n"))))
		if e != nil {
			t.Fatal(e.Message)
		}
		if d := cmp.Diff(sent, found); d != "" {
			t.Errorf("sent (-) and found (+):\n%s", d)
		}
	})
}
