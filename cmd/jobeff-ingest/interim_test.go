package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/ingest/node"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// running is a process of a world of its own that began a minute ago.
func running(tb testing.TB, pid int) record.Slot {
	now, ok := record.Now(record.ClockMonotonic)
	if !ok {
		tb.Fatal("no clock")
	}
	const minute = 60e9
	s := rank(0, "n1", 1, 0)
	s.State, s.Ending, s.FiniEnter, s.FinishedAt = record.StateRunning, record.EndingNone, 0, record.Pair{}
	s.Size, s.PID, s.World, s.Clock = 1, pid, fmt.Sprint("world ", pid), record.ClockMonotonic
	s.ClaimedAt = record.Pair{Ticks: now.Mono - minute, Mono: now.Mono - minute, Real: now.Real - minute}
	s.InitLeft, s.Last = s.ClaimedAt.Ticks+1e6, now.Mono-1e9
	return s
}

// runsHere makes the run directory of a job that runs.
func runsHere(t *testing.T, notes string, id int, slots ...record.Slot) {
	t.Helper()
	head := record.Head{UID: 1000}
	boot, err := node.BootID()
	if err != nil {
		t.Fatal(err)
	}
	hex.Decode(head.BootID[:], []byte(boot))
	dir := filepath.Join(notes, fmt.Sprint(id))
	text := fmt.Sprintf("version 1\nrun %032x\nnonce %032x\nboot_id %s\njob_id %d\nuid 1000\ncluster test\nnode n1\nnnodes 1\nprolog 1\n", id, 0, boot, id)
	for name, text := range map[string]string{"job": text, "decision": "on\n", "record/ranks": string(recordtest.File(head, slots...))} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInterimOfEachJob: a user's record makes the fold of their job run out of memory. The other jobs still get
// their interim reports, and jobeff-ingest does not fail.
func TestInterimOfEachJob(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a fold of a job that runs begins as root")
	}
	notes, spool, config := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "jobeff.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[report]\nspool = %q\ninterim = \"1s\"\n", spool), 0o600); err != nil {
		t.Fatal(err)
	}
	var many []record.Slot
	for i := range 1500 {
		s := running(t, 1000+i)
		for n := range 448 {
			s.Funcs = append(s.Funcs, record.Func{Number: n, Count: 1, Ticks: 1})
		}
		many = append(many, s)
	}
	runsHere(t, notes, 1, many...)
	for id := 2; id < 5; id++ {
		runsHere(t, notes, id, running(t, id))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("/bin/sh", "-c", `ulimit -d "$0"; exec "$@"`, "150000", self, "interim", "--config", config, "--run-dir", notes).CombinedOutput()
	reports, _ := filepath.Glob(filepath.Join(node.OutboxDir(spool), "1000.test-*.interim.json.zst"))
	if err != nil || len(reports) != 3 || !strings.Contains(string(out), "job 1 has no interim report") {
		t.Errorf("%v, %q, %.500s", err, reports, out)
	}
}
