package client

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

// light is a report of a job that never called MPI.
func light(id uint32) *job.NodeReport {
	r := jobtest.Report(id, "n1", fmt.Sprintf("%032x", id))
	r.Executions = nil
	return r
}

func fillLight(t *testing.T, spool string, jobs uint32) {
	t.Helper()
	for id := range jobs {
		if _, err := (node.Outbox{Spool: spool}).Write(light(1 + id)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBatch: light reports are one file and one request, what a crash left in it is in
// nobody's way, and one more is begun when it is full.
func TestBatch(t *testing.T) {
	spool := t.TempDir()
	fillLight(t, spool, 100)
	if d := cmp.Diff([]string{node.OpenBatch}, names(t, node.OutboxDir(spool))); d != "" {
		t.Error(d)
	}
	f, err := os.OpenFile(filepath.Join(node.OutboxDir(spool), node.OpenBatch), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("\n\x00\x00\x00\n{\"version\":1,\"job_")
	f.Close()
	if _, err := (node.Outbox{Spool: spool}).Write(light(101)); err != nil {
		t.Fatal(err)
	}
	if state, err := node.ReadOutbox(spool); err != nil || state.Waiting != 101 {
		t.Errorf("%+v, %v", state, err)
	}
	fill(t, spool, 201, 202)
	server := &fakeServer{answer: func(uint32) (int, string) { return 200, taken }}
	if res := send(t, server, spool); res.Sent != 103 || res.Refused != 0 || res.Kept != 0 || len(server.got) != 103 || server.posts != 3 {
		t.Errorf("%+v, %d reports in %d posts", res, len(server.got), server.posts)
	}
	if n := names(t, node.OutboxDir(spool)); len(n) != 0 {
		t.Errorf("%q is left", n)
	}

	long := light(1)
	long.Warnings = slices.Repeat([]doubt.Warning{{Code: "x", Args: doubt.Arguments{Name: strings.Repeat("x", 100)}}}, node.MostBatchLine/100)
	if path, err := (node.Outbox{Spool: spool}).Write(long); err != nil || filepath.Base(path) != refused(1) {
		t.Errorf("a long report is in %s, %v", path, err)
	}
	const many = 3 * node.FullBatch / 400 // reports of more than 400 bytes
	fillLight(t, spool, many)
	if n := names(t, node.OutboxDir(spool)); len(n) < 4 {
		t.Errorf("%d reports are in %q", many, n)
	}
	server = &fakeServer{answer: server.answer}
	if res := send(t, server, spool); res.Sent != many+1 || res.Kept != 0 || server.posts > 20 {
		t.Errorf("%+v in %d posts", res, server.posts)
	}
}

// TestBatchAnswers: each report of a batch has its own answer; what has none that is for good stays.
func TestBatchAnswers(t *testing.T) {
	spool := t.TempDir()
	fillLight(t, spool, 9)
	away, line := true, strings.TrimSuffix(refused(5), node.PackedExt)+node.ReportExt
	f := &fakeServer{answer: func(id uint32) (int, string) {
		switch {
		case id == 5:
			return 400, `{"type":"urn:jobeff:x","detail":"bad","hint":"h"}`
		case id == 7 && away:
			return 503, `{"type":"urn:jobeff:x","detail":"later"}`
		}
		return 200, taken
	}}
	res := send(t, f, spool)
	if res.Sent != 7 || res.Refused != 1 || res.Kept != 1 || len(res.Problems) != 2 {
		t.Errorf("%+v", res)
	}
	if d := cmp.Diff([]string{line, line + ".reason"}, names(t, node.RefusedDir(spool))); d != "" {
		t.Error(d)
	}
	text, err := os.ReadFile(filepath.Join(node.RefusedDir(spool), line))
	if r, bad := wire.DecodeReport(text); err != nil || bad != nil || r.JobID != 5 {
		t.Errorf("%v, %v: %s", err, bad, text)
	}
	away = false
	if res := send(t, f, spool); res.Sent != 1 || res.Refused != 0 || res.Kept != 0 {
		t.Errorf("again: %+v", res)
	}
	if n := names(t, node.OutboxDir(spool)); len(n) != 0 {
		t.Errorf("%q is left", n)
	}
}

// TestBatchPoison: reports in which the server fails for ever, one of each batch, keep nothing
// else: the others are sent once, also those that come later, and these are seen to wait.
func TestBatchPoison(t *testing.T) {
	const batches, each = 2 * givesUp, 10
	spool := t.TempDir()
	f := &fakeServer{answer: func(id uint32) (int, string) {
		if id%each == 0 {
			return 500, `{"type":"urn:jobeff:x","detail":"bug"}`
		}
		return 200, taken
	}}
	sender := &Sender{Spool: spool, Client: NewClient(f.start(t), 10*time.Second, nil)}
	for batch := range uint32(batches) {
		for i := range uint32(each) {
			if _, err := (node.Outbox{Spool: spool}).Write(light(batch*each + 1 + i)); err != nil {
				t.Fatal(err)
			}
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(node.OutboxDir(spool), node.OpenBatch), old, old); err != nil {
			t.Fatal(err)
		}
		if res, err := sender.Send(context.Background()); err != nil || res.Sent != each-1 || res.Kept != 1+int(batch) || res.Refused != 0 {
			t.Fatalf("batch %d: %v, %+v", batch, err, res)
		}
	}
	if state, err := node.ReadOutbox(spool); err != nil || state.Waiting != batches || state.Oldest < time.Hour {
		t.Errorf("%+v, %v", state, err)
	}
	times := map[uint32]int{}
	for _, id := range f.got {
		times[id]++
	}
	for id, n := range times {
		if id%each != 0 && n != 1 || id%each == 0 && n < 1 {
			t.Errorf("job %d was sent %d times", id, n)
		}
	}
	f.answer = func(uint32) (int, string) { return 200, taken }
	if res, err := sender.Send(context.Background()); err != nil || res.Sent != batches || res.Kept != 0 {
		t.Errorf("mended: %v, %+v", err, res)
	}
}

// TestBatchRefused: where the whole request is refused for good the batch is set aside.
func TestBatchRefused(t *testing.T) {
	spool := t.TempDir()
	fillLight(t, spool, 9)
	closed, err := node.TakeBatch(node.OutboxDir(spool))
	if err != nil {
		t.Fatal(err)
	}
	res := SendResult{}
	s := &Sender{Spool: spool}
	s.settle(closed, 9, &ServerError{Status: 403, Message: "no"}, &res)
	if d := cmp.Diff([]string{closed, closed + ".reason"}, names(t, node.RefusedDir(spool))); res.Refused != 9 || d != "" {
		t.Errorf("%+v, %s", res, d)
	}
	if state, err := node.ReadOutbox(spool); err != nil || state.Refused != 9 || state.Waiting != 0 {
		t.Errorf("%+v, %v", state, err)
	}
}

// TestBatchSideBySide: reports are added while batches are taken and sent, and none is lost
// or cut.
func TestBatchSideBySide(t *testing.T) {
	const writers, each = 8, 200
	spool := t.TempDir()
	f := &fakeServer{answer: func(id uint32) (int, string) {
		if id == 0 {
			return 400, `{"type":"urn:jobeff:x","detail":"cut"}`
		}
		return 200, taken
	}}
	sender := &Sender{Spool: spool, Client: NewClient(f.start(t), 10*time.Second, nil)}
	var all sync.WaitGroup
	for w := range uint32(writers) {
		all.Go(func() {
			for i := range uint32(each) {
				if _, err := (node.Outbox{Spool: spool}).Write(light(1 + w*each + i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { all.Wait(); close(written) }()
	for last := false; !last; {
		select {
		case <-written:
			last = true
		default:
		}
		if res, err := sender.Send(context.Background()); err != nil || res.Refused > 0 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	slices.Sort(f.got)
	if len(f.got) != writers*each || len(slices.Compact(f.got)) != writers*each {
		t.Errorf("%d reports", len(f.got))
	}
	t.Logf("%d posts", f.posts)
}
