package client

import (
	"crypto/sha512"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/node"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
)

// TestQuota fills an outbox: old reports stay, of later ones a line says that they were dropped,
// and then nothing is kept. All of it is said; when it has been sent everything fits again.
func TestQuota(t *testing.T) {
	spool := t.TempDir()
	box := node.Outbox{Spool: spool, Most: 64 << 10}
	full := map[string]int{} // file by size
	for i := range uint32(2000) {
		r := jobtest.Report(1+i, "n1", fmt.Sprintf("%032x", 1+i))
		r.Executions[0].Executable = strings.Repeat("x", 3000)
		r.UID += i % 2
		full[write(t, box, r)]++
	}
	if full["whole"] < 10 || full["cut"] < 5 || full["whole"]+full["cut"]+full["lost"] != 2000 {
		t.Fatalf("%v", full)
	}
	if used := bytesIn(t, node.OutboxDir(spool)); used < box.Most || used > box.Most+box.Most/8 {
		t.Errorf("%d bytes", used)
	}
	state, err := node.ReadOutbox(spool)
	if err != nil || state.Waiting != full["whole"]+full["cut"] || state.Cut != full["cut"] || state.Lost != full["lost"] {
		t.Errorf("%+v, %v; %v", state, err, full)
	}
	if back, ok := wire.ParseOutboxState(state.String()); !ok || back != (wire.OutboxState{Waiting: state.Waiting, Oldest: state.Oldest.Truncate(time.Second), Refused: state.Refused, Cut: state.Cut, Lost: state.Lost}) {
		t.Errorf("%s: %+v, %v", state, back, ok)
	}
	told := ""
	f := &fakeServer{answer: func(uint32) (int, string) { return 200, taken }, look: func(h http.Header) { told = h.Get(wire.OutboxHeader) }}
	send(t, f, spool)
	heard, ok := wire.ParseOutboxState(told)
	heard.Oldest = state.Oldest // it grew older meanwhile
	if !ok || heard != state {
		t.Errorf("told %q, want %q", told, state)
	}
	if got := write(t, box, jobtest.Report(3000, "n1", fmt.Sprintf("%032x", 3000))); got != "whole" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestQuotaOfOneUser: one user's reports leave room for those of others.
func TestQuotaOfOneUser(t *testing.T) {
	box := node.Outbox{Spool: t.TempDir(), Most: 64 << 10}
	for i := range uint32(400) {
		r := jobtest.Report(1+i, "n1", fmt.Sprintf("%032x", 1+i))
		r.Executions[0].Executable = fmt.Sprintf("%x", sha512.Sum512([]byte{byte(i), byte(i >> 8)}))
		write(t, box, r)
	}
	other := jobtest.Report(1000, "n1", fmt.Sprintf("%032x", 1000))
	other.UID++
	if got := write(t, box, other); got != "whole" {
		t.Errorf("another user's report was %s", got)
	}
}

// write writes a report, and tells a whole one from one that was cut or lost, by what a server
// would read.
func write(t *testing.T, box node.Outbox, r *job.NodeReport) string {
	t.Helper()
	path, err := box.Write(r)
	switch {
	case errors.Is(err, node.ErrOutboxFull):
		return "lost"
	case err != nil:
		t.Fatal(err)
	case strings.HasSuffix(path, node.PackedExt):
		if r, err := wire.DecodeReport(jobtest.PackedText(t, path)); err != nil || len(r.Executions) != 1 {
			t.Errorf("%v: %+v", err, r)
		}
		return "whole"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := node.BatchLines(text)
	short, err := wire.DecodeReport(lines[len(lines)-1])
	if err != nil || short.JobID != r.JobID || jobtest.Codes(short.Warnings) != doubt.WarnOutboxFull {
		t.Errorf("%v: %+v", err, short)
	}
	return "cut"
}

// bytesIn is what the files of a folder take of a disk of blocks of 4 KiB.
func bytesIn(t *testing.T, dir string) (sum int64) {
	for _, name := range names(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum += (info.Size() + 4095) / 4096 * 4096
	}
	return sum
}

// TestRefusedIsBounded: refused reports take no room from others, the oldest go, and of users who
// have many, theirs.
func TestRefusedIsBounded(t *testing.T) {
	spool := t.TempDir()
	f := &fakeServer{answer: func(uint32) (int, string) { return 400, `{"type":"urn:jobeff:x","detail":"bad"}` }}
	sender := &Sender{Spool: spool, Client: NewClient(f.start(t), 10*time.Second, nil)}
	box := node.Outbox{Spool: spool, Most: 64 << 10}
	refuse := func(id, uid uint32) {
		r := jobtest.Report(id, "n1", fmt.Sprintf("%032x", id))
		r.UID = uid
		if got := write(t, box, r); got != "whole" {
			t.Errorf("job %d: %s", id, got)
		}
		if _, err := sender.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	refuse(1, 1001)
	for id := range uint32(200) {
		refuse(1000+id, 1002)
	}
	of := map[string]int{}
	for _, name := range names(t, node.RefusedDir(spool)) {
		if strings.HasSuffix(name, node.PackedExt) {
			of[name[:4]]++
		}
	}
	if want := map[string]int{"1001": 1, "1002": 20}; !maps.Equal(of, want) {
		t.Errorf("%v", of)
	}
	huge := filepath.Join(node.RefusedDir(spool), "1002.test-9-x.json.zst")
	if err := os.WriteFile(huge, make([]byte, 17<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(huge, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := node.PruneRefused(spool, time.Now()); err != nil {
		t.Fatal(err)
	}
	if state, err := node.ReadOutbox(spool); err != nil || state.Refused != 21 {
		t.Errorf("%+v, %v", state, err)
	}
	if err := node.PruneRefused(spool, time.Now().AddDate(0, 0, 31)); err != nil {
		t.Fatal(err)
	}
	if left := names(t, node.RefusedDir(spool)); len(left) > 0 {
		t.Errorf("after a month: %q", left)
	}
}

// TestSendBusy: a server that asks to wait a moment is waited for.
func TestSendBusy(t *testing.T) {
	spool := t.TempDir()
	fill(t, spool, 1, 2, 3, 4)
	n := 0
	f := &fakeServer{retry: "1", answer: func(uint32) (int, string) {
		if n++; n%4 == 3 {
			return 429, `{"type":"urn:jobeff:x","detail":"busy"}`
		}
		return 200, taken
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
			f := &fakeServer{answer: func(uint32) (int, string) { return 200, taken }}
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
		if s, ok := wire.ParseOutboxState(text); ok {
			t.Errorf("%q: %+v", text, s)
		}
	}
}
