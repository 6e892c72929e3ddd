package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/wire"
)

func aNodesLogs() wire.NodeLogs {
	return wire.NodeLogs{Cluster: "c", JobID: 1, Nonce: jobtest.Nonce, Node: "n1", Key: "pmix:1", Size: 4, Ranks: 2, Entries: 5,
		Start: time.Date(2026, 11, 20, 8, 0, 0, 1, time.UTC), ClockError: time.Millisecond, Text: []byte("a\nb")}
}

func TestDecodeLogs(t *testing.T) {
	want := aNodesLogs()
	want.Version = 1
	got, err := wire.DecodeLogs(want.Pack(want.Text, want.Entries))
	if d := cmp.Diff(&want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

// What names no job on a node, or cannot be of several nodes, is refused.
func TestDecodeLogsRefuses(t *testing.T) {
	for name, change := range map[string]func(*wire.NodeLogs){
		"no job":        func(l *wire.NodeLogs) { l.JobID = 0 },
		"no nonce":      func(l *wire.NodeLogs) { l.Nonce = "x" },
		"a path":        func(l *wire.NodeLogs) { l.Node = "../n1" },
		"no cluster":    func(l *wire.NodeLogs) { l.Cluster = "" },
		"no key":        func(l *wire.NodeLogs) { l.Key = "" },
		"a long key":    func(l *wire.NodeLogs) { l.Key = strings.Repeat("k", 1<<15) },
		"no ranks":      func(l *wire.NodeLogs) { l.Ranks = 0 },
		"all ranks":     func(l *wire.NodeLogs) { l.Ranks = l.Size },
		"a wrong clock": func(l *wire.NodeLogs) { l.ClockError = -1 },
		"fewer than 0":  func(l *wire.NodeLogs) { l.Entries = -1 },
		"a long text":   func(l *wire.NodeLogs) { l.Text = make([]byte, wire.MaxLogsText) },
	} {
		l := aNodesLogs()
		change(&l)
		if _, err := wire.DecodeLogs(l.Pack(l.Text, l.Entries)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := wire.DecodeLogs(wire.Compress([]byte(`{"version":2}` + "\n"))); !errors.Is(err, wire.ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
	for _, text := range []string{"", "{}", "x\n", "{}\n"} {
		if _, err := wire.DecodeLogs(wire.Compress([]byte(text))); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := wire.DecodeLogs([]byte("{}\n")); err == nil || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("what is not compressed: %v", err)
	}
}

// typicalReport is 6 KB of JSON: two executions of 64 ranks on this node, with calls and
// sections.
func typicalReport() *job.NodeReport {
	r := jobtest.Report(7, "n1", jobtest.Nonce)
	x := &r.Executions[0]
	x.Executable, x.MPI, x.Size = "/home/user/software/model/bin/model.exe", "Open MPI", 256
	x.Nodes[0].Ranks, x.Nodes[0].RankIDs = 64, "64-127"
	x.Nodes[0].UsefulShare, x.Nodes[0].MPIShare = make([]byte, 64), make([]byte, 64)
	for i := range 12 {
		x.Calls = append(x.Calls, job.Call{Name: fmt.Sprintf("MPI_Call_%d", i), Count: uint64(1000 * i), Time: time.Duration(i) * 1234567890,
			Sent: 1 << (2 * i), Received: 1 << (2 * i), Largest: 1 << i})
	}
	for i := range 4 {
		x.Sections = append(x.Sections, job.Section{Label: fmt.Sprint("section ", i), Ranks: 64, Count: 640,
			Elapsed: time.Second, ElapsedMax: time.Second, Useful: time.Second, UsefulMax: time.Second})
	}
	second := *x
	second.Key = "k2"
	r.Executions = append(r.Executions, second)
	return r
}

// BenchmarkTakeReport is what jobeffd does with a report before the database gets it.
func BenchmarkTakeReport(b *testing.B) {
	r := typicalReport()
	text, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	packed, into := wire.Compress(text), []byte(nil)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"decode", func() error { return wire.UnmarshalReport(text, new(job.NodeReport)) }},
		{"validate", func() error { return wire.Validate(r) }},
		{"encode", func() error { _, err := json.Marshal(r); return err }},
		{"compress", func() error { wire.Compress(text); return nil }},
		{"decompress", func() (err error) { into, err = wire.DecompressReport(into, packed); return err }},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := step.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPacked: what was packed can be read. A damaged report is an error, and so is one that
// decompresses to too much. A report does not hold the text's memory.
func TestPacked(t *testing.T) {
	want := typicalReport()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	into, packed := make([]byte, 0, 64<<10), wire.Compress(text)
	if wire.Encoding(packed) != "zstd" || wire.Encoding(text) != "" {
		t.Errorf("the encoding is %q", wire.Encoding(packed))
	}
	got, err := wire.DecompressReport(into, packed)
	if err != nil || !bytes.Equal(got, text) || &got[0] != &into[:1][0] {
		t.Fatal(err)
	}
	r, err := wire.DecodeReport(got)
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	if own, err := wire.Decompress(packed); err != nil || !bytes.Equal(own, text) {
		t.Error(err)
	}
	for i := range packed {
		if got, err := wire.DecompressReport(nil, packed[:i]); err == nil && len(got) > 0 {
			t.Errorf("its first %d bytes are taken", i)
		}
	}
	if _, err := wire.DecompressReport(nil, wire.Compress(make([]byte, wire.MaxReportBytes+1))); !errors.Is(err, wire.ErrTooLarge) {
		t.Error(err)
	}
}
