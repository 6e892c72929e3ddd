package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

var update = flag.Bool("update", false, "write the goldens anew")

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "interim" { // a test runs this program, which runs itself
		main()
	}
	flag.Parse()
	time.Local = time.UTC
	os.Exit(m.Run())
}

// rank is one rank of the first vector of METRICS 1, of a boot long ago.
func rank(number int, host string, useful, mpi uint64) record.Slot {
	const second, base = 1_000_000_000, 1000
	at := func(s uint64) record.Pair {
		return record.Pair{Ticks: 3 * (base + s) * second, Mono: (base + s) * second, Real: (1_700_000_000 + s) * second}
	}
	sum := record.Func{Count: 10, Ticks: 3 * mpi * second, Sent: 80, Received: 80, Largest: 8}
	row := sum
	for row.Number = 0; record.FuncName(row.Number) != "MPI_Allreduce"; {
		row.Number++
	}
	sum.Number = int(record.ClassColl)
	return record.Slot{
		Kind: record.KindProcess, State: record.StateFinalized, Ending: record.EndingFinalize, OpenCall: -1,
		PID: 100 + number, Rank: number, Size: 2, Threads: 1, WorldFrom: record.WorldPMIX, World: "job", Host: host,
		Exe: "/bin/app", Family: "Open MPI", MPIVersion: "Open MPI v4.1.4", CPUs: 1,
		Claims: record.Claims{Step: -1, ProcID: -1, NTasks: -1, NodeID: -1, CPUsPerTask: -1, OMPThreads: -1},
		Clock:  record.ClockTSC, ClaimedAt: at(9), FinishedAt: at(30), InitLeft: at(10).Ticks, FiniEnter: at(10 + useful + mpi).Ticks,
		Calls: 10, MPITicks: 3 * mpi * second, Classes: []record.Func{sum}, Funcs: []record.Func{row},
	}
}

func writeRecord(t *testing.T, slots ...record.Slot) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rec")
	if err := os.WriteFile(path, recordtest.File(record.Head{ByHand: true}, slots...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrint(t *testing.T) {
	both := writeRecord(t, rank(0, "n1", 8, 4), rank(1, "n1", 6, 6))
	first, second := writeRecord(t, rank(0, "n1", 8, 4)), writeRecord(t, rank(1, "n2", 6, 6))
	tests := []struct {
		golden string
		args   []string
	}{
		{"first.txt", []string{"--print", both}},
		{"one-file.txt", []string{"--print", "--full", both}},
		{"one-file.json", []string{"--print", both, "--json"}},
		{"two-hosts.txt", []string{"--print", "--full", first, second}},
		{"one-of-two-hosts.txt", []string{"--print", "--full", first}},
		{"no-mpi.txt", []string{"--print", "--full", writeRecord(t)}},
	}
	for _, tt := range tests {
		var stdout, stderr bytes.Buffer
		noEnv := func(string) string { return "" }
		if code := run(tt.args, noEnv, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %s", tt.golden, code, &stderr)
		}
		compare(t, filepath.Join("testdata", tt.golden), stdout.Bytes())
	}
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s: %s", golden, d)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, bytes.Repeat([]byte("x"), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		want string
	}{
		{[]string{}, "give --print"},
		{[]string{"--print"}, "give --print"},
		{[]string{"--print", filepath.Dir(text) + "/none"}, "no program made it. Was LD_PRELOAD the full path"},
		{[]string{"--print", "/nonexistent/rec"}, "there is no folder /nonexistent, so no program could make it"},
		{[]string{"--print", text}, "not a jobeff record"},
		{[]string{"--wrong"}, "--wrong"},
	}
	for _, tt := range tests {
		var stdout, stderr bytes.Buffer
		code := run(tt.args, os.Getenv, &stdout, &stderr)
		if code == 0 || stdout.Len() > 0 || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%q: exit %d, %s", tt.args, code, &stderr)
		}
	}
}
