package client

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
)

// TestQuota fills an outbox: old reports stay, later ones are cut to their short form and
// then not kept, and all of it is said; when it has been sent everything fits again.
func TestQuota(t *testing.T) {
	spool := t.TempDir()
	box := node.Outbox{Spool: spool, Most: 64 << 10}
	full := map[string]int{} // file by size
	for i := range uint32(2000) {
		r := jobtest.Report(1+i, "n1", fmt.Sprintf("%032x", 1+i))
		r.Executions[0].Executable = strings.Repeat("x", 3000)
		path, err := box.Write(r)
		switch {
		case errors.Is(err, node.ErrOutboxFull):
			full["lost"]++
		case err != nil:
			t.Fatal(err)
		default:
			full[kindOf(t, path)]++
		}
	}
	if full["whole"] < 10 || full["cut"] < 5 || full["whole"]+full["cut"]+full["lost"] != 2000 {
		t.Fatalf("%v", full)
	}
	if used := node.BytesIn(node.OutboxDir(spool)); used < box.Most || used > box.Most+box.Most/8 {
		t.Errorf("%d bytes", used)
	}
	state, err := node.ReadOutbox(spool)
	if err != nil || state.Waiting != full["whole"]+full["cut"] || state.Cut != full["cut"] || state.Lost != full["lost"] {
		t.Errorf("%+v, %v; %v", state, err, full)
	}
	if back, ok := job.ParseOutboxState(state.String()); !ok || back != (job.OutboxState{Waiting: state.Waiting, Oldest: state.Oldest.Truncate(time.Second), Refused: state.Refused, Cut: state.Cut, Lost: state.Lost}) {
		t.Errorf("%s: %+v, %v", state, back, ok)
	}
	told := ""
	f := &fakeServer{answer: func(uint32) (int, string) { return 200, "{}" }, look: func(h http.Header) { told = h.Get(job.OutboxHeader) }}
	send(t, f, spool)
	heard, ok := job.ParseOutboxState(told)
	heard.Oldest = state.Oldest // it grew older meanwhile
	if !ok || heard != state {
		t.Errorf("told %q, want %q", told, state)
	}
	if path, err := box.Write(jobtest.Report(3000, "n1", fmt.Sprintf("%032x", 3000))); err != nil || kindOf(t, path) != "whole" {
		t.Errorf("afterwards: %v", err)
	}
}

// kindOf tells a whole report from one that was cut, by what a server would read.
func kindOf(t *testing.T, path string) string {
	t.Helper()
	r, err := job.DecodeReport(jobtest.PackedText(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Executions) > 0 {
		return "whole"
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Code != job.WarnOutboxFull {
		t.Errorf("%s: %+v", filepath.Base(path), r.Warnings)
	}
	return "cut"
}

// TestSendBusy: a server that asks to wait a moment is waited for.
func TestSendBusy(t *testing.T) {
	spool := t.TempDir()
	fill(t, spool, 1, 2, 3, 4)
	n := 0
	f := &fakeServer{retry: "1", answer: func(uint32) (int, string) {
		if n++; n%4 == 3 {
			return 429, `{"error":"busy"}`
		}
		return 200, "{}"
	}}
	if res := send(t, f, spool); res.Sent != 4 || res.Kept != 0 || n != 5 {
		t.Errorf("%+v, %d requests", res, n)
	}
}

// TestManyFiles: what a report costs does not grow faster than the number of files in its
// spool that are no reports.
func TestManyFiles(t *testing.T) {
	few, many := spoolOfFiles(t, 400), spoolOfFiles(t, 1600)
	report := func(spool string) func() {
		return func() {
			if _, err := (node.Outbox{Spool: spool, Most: 1 << 20}).Write(jobtest.Report(1, "n1", strings.Repeat("a", 32))); err != nil {
				t.Fatal(err)
			}
			f := &fakeServer{answer: func(uint32) (int, string) { return 200, "{}" }}
			if res := send(t, f, spool); res.Sent != 1 {
				t.Errorf("%+v", res)
			}
		}
	}
	jobtest.WantLinear(t, report(few), report(many))
}

// spoolOfFiles is one with so many of them that are no reports in each of its folders.
func spoolOfFiles(t *testing.T, files int) (spool string) {
	t.Helper()
	spool = t.TempDir()
	for _, dir := range []string{node.OutboxDir(spool), node.RefusedDir(spool)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("x", i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return spool
}

func TestParseOutboxState(t *testing.T) {
	for _, text := range []string{"", "waiting=1", "waiting=-1 oldest=0 refused=0 cut=0 lost=0", "waiting=1 oldest=99999999999 refused=0 cut=0 lost=0"} {
		if s, ok := job.ParseOutboxState(text); ok {
			t.Errorf("%q: %+v", text, s)
		}
	}
}
