package job_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

func aNodesLogs() job.NodeLogs {
	return job.NodeLogs{Cluster: "c", JobID: 1, Nonce: jobtest.Nonce, Node: "n1", Key: "pmix:1", Size: 4, Ranks: 2, Entries: 5,
		Start: time.Date(2026, 11, 20, 8, 0, 0, 1, time.UTC), ClockError: time.Millisecond, Text: []byte("a\nb")}
}

func TestDecodeLogs(t *testing.T) {
	want := aNodesLogs()
	want.Version = 1
	got, err := job.DecodeLogs(want.Pack(want.Text, want.Entries))
	if d := cmp.Diff(&want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

// What names no job on a node, or cannot be of several nodes, is refused.
func TestDecodeLogsRefuses(t *testing.T) {
	for name, change := range map[string]func(*job.NodeLogs){
		"no job":        func(l *job.NodeLogs) { l.JobID = 0 },
		"no nonce":      func(l *job.NodeLogs) { l.Nonce = "x" },
		"a path":        func(l *job.NodeLogs) { l.Node = "../n1" },
		"no cluster":    func(l *job.NodeLogs) { l.Cluster = "" },
		"no key":        func(l *job.NodeLogs) { l.Key = "" },
		"a long key":    func(l *job.NodeLogs) { l.Key = strings.Repeat("k", 1<<15) },
		"no ranks":      func(l *job.NodeLogs) { l.Ranks = 0 },
		"all ranks":     func(l *job.NodeLogs) { l.Ranks = l.Size },
		"a wrong clock": func(l *job.NodeLogs) { l.ClockError = -1 },
		"fewer than 0":  func(l *job.NodeLogs) { l.Entries = -1 },
		"a long text":   func(l *job.NodeLogs) { l.Text = make([]byte, job.MaxLogsText) },
	} {
		l := aNodesLogs()
		change(&l)
		if _, err := job.DecodeLogs(l.Pack(l.Text, l.Entries)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := job.DecodeLogs(job.Compress([]byte(`{"version":2}` + "\n"))); !errors.Is(err, job.ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
	for _, text := range []string{"", "{}", "x\n", "{}\n"} {
		if _, err := job.DecodeLogs(job.Compress([]byte(text))); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := job.DecodeLogs([]byte("{}\n")); err == nil || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("what is not compressed: %v", err)
	}
}
