package ingest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const aRun = "0123456789abcdef0123456789abcdef"

// nodeReport is a small valid report: one execution of two ranks on a node.
func nodeReport(job uint32, node, run string) *NodeReport {
	begin := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return &NodeReport{
		Version: ReportVersion, Cluster: "test", JobID: job, Run: run, UID: 1001, GID: 1001, User: "alice", Account: "proj",
		Partition: "main", NodeList: node, NNodes: 1, Node: node, BootID: aRun, OnlineCPUs: 2,
		Start: begin, End: begin.Add(20 * time.Second), Decision: "on", Prolog: true,
		Steps: []Step{{ID: "batch", Tasks: 1, Start: begin, End: begin.Add(20 * time.Second), Exits: map[string]int{"0": 1}}},
		Executions: []Execution{{
			Key: "k", KeyFrom: "pmix", Steps: []string{"batch"}, Size: 2, Start: begin, End: begin.Add(12 * time.Second),
			Nodes: []NodeShare{{Node: node, Ranks: 2, Useful: 14 * time.Second, UsefulMax: 8 * time.Second, MPI: 10 * time.Second,
				ElapsedMax: 12 * time.Second, ElapsedSum: 24 * time.Second, RankIDs: "0-1"}},
			Calls:   []Call{{Name: "MPI_Allreduce", Count: 10, Time: 10 * time.Second, Sent: 80, Received: 80, Largest: 8}},
			Endings: map[string]int{"finalized": 2},
		}},
	}
}

// packedText is the JSON that a packed file holds.
func packedText(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := DecompressReport(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWriteOutbox(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	r := nodeReport(7, "n1", aRun)
	r.Cluster = "../e v"
	path, err := WriteOutbox(spool, r)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(spool, "outbox", "___e_v-7-"+aRun+".json.zst"); path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	if again, err := WriteOutbox(spool, r); err != nil || again != path {
		t.Errorf("again: %s, %v", again, err)
	}
	var got NodeReport
	if err := json.Unmarshal(packedText(t, path), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, &got); d != "" {
		t.Error(d)
	}
	entries, _ := os.ReadDir(OutboxDir(spool))
	if len(entries) != 1 {
		t.Errorf("%d files in the outbox", len(entries))
	}
	if info, _ := os.Stat(OutboxDir(spool)); info.Mode().Perm() != 0o700 {
		t.Errorf("outbox has mode %v", info.Mode())
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("report has mode %v", info.Mode())
	}
}

func TestWriteOutboxClosesAnOpenFolder(t *testing.T) {
	spool := t.TempDir()
	if err := os.Mkdir(OutboxDir(spool), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteOutbox(spool, nodeReport(7, "n1", aRun)); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(OutboxDir(spool)); info.Mode().Perm() != 0o700 {
		t.Errorf("outbox has mode %v", info.Mode())
	}
}

func TestWriteOutboxRefuses(t *testing.T) {
	for _, run := range []string{"", "../../etc/passwd", strings.ToUpper(aRun), aRun + "0"} {
		if _, err := WriteOutbox(t.TempDir(), nodeReport(7, "n1", run)); err == nil {
			t.Errorf("run %q accepted", run)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := WriteOutbox(file, nodeReport(7, "n1", aRun)); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a spool that is a file: %v", err)
	}
}

// BenchmarkWriteOutbox writes reports that measured something, and such that did not.
func BenchmarkWriteOutbox(b *testing.B) {
	for _, what := range []string{"measured", "idle"} {
		b.Run(what, func(b *testing.B) {
			spool := b.TempDir()
			for i := range b.N {
				r := nodeReport(1, "n1", fmt.Sprintf("%032x", i))
				if what == "idle" {
					r.Executions = nil
				}
				if _, err := WriteOutbox(spool, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
