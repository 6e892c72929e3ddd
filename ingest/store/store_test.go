package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/test/pgtest"
)

var (
	ctx   = context.Background()
	root  = Viewer{All: true}
	alice = Viewer{UID: 1001}
	bob   = Viewer{UID: 1002}
	day   = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
)

func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, newDatabase(t))
}

// newDatabase is an empty database of the engine under test.
func newDatabase(t testing.TB) string {
	t.Helper()
	if server := os.Getenv(testServer); server != "" {
		return pgtest.At(server).DatabaseLike(t, migrated(t, server))
	}
	file, err := migratedFile()
	if err != nil {
		t.Fatal(err)
	}
	database := emptyDatabase(t)
	writeFile(t, database, file)
	return database
}

// writeFile writes a database's file, and makes its folder.
func writeFile(t testing.TB, database string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(database), 0o700), os.WriteFile(database, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// migratedFile is an SQLite database that is up to date, see migrated.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "jobeff-store")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := Open(filepath.Join(dir, "db"))
	if err != nil {
		return nil, err
	}
	s.Close()
	return os.ReadFile(filepath.Join(dir, "db"))
})

// emptyDatabase is a database without tables.
func emptyDatabase(t testing.TB) string {
	if server := os.Getenv(testServer); server != "" {
		return pgtest.At(server).Database(t)
	}
	return filepath.Join(t.TempDir(), "db", "jobeff.db")
}

var template sync.Once

// migrated names a PostgreSQL database that is up to date: copying it is faster than
// migrating a new one.
func migrated(t testing.TB, server string) string {
	template.Do(func() {
		err := pgtest.At(server).Exec("postgres", "CREATE DATABASE migrated")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(pgtest.At(server).URL("migrated"))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	})
	return "migrated"
}

// onlySQLite skips a test of a feature that PostgreSQL does not have.
func onlySQLite(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(testServer) != "" {
		t.Skip(why)
	}
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s.began = day.Add(-time.Hour) // the tests' jobs are of that day
	t.Cleanup(func() { s.Close() })
	return s
}

// nodeReport is a node's part of a job of two ranks per node: 14 s useful of 24.
func nodeReport(id uint32, node int, nonce string, start time.Duration) *job.NodeReport {
	begin := day.Add(start)
	name := fmt.Sprintf("n%d", node)
	return &job.NodeReport{
		Version: 1, Sequence: 1, Cluster: "test", JobID: id, Nonce: hex(nonce, node), UID: 1001, User: "alice", Account: "proj", Partition: "main",
		Node: name, NNodes: 1, OnlineCPUs: 2, Start: begin, End: begin.Add(20 * time.Second), Decision: "on", Prolog: true,
		Steps: []job.Step{{ID: "batch", Tasks: 1, Start: begin, End: begin.Add(20 * time.Second)}, {ID: "0", Tasks: 2, Start: begin}},
		Executions: []job.Execution{{
			Key: "k", KeyFrom: "pmix", Steps: []string{"0"}, Size: 2, Start: begin, End: begin.Add(12 * time.Second),
			Nodes: []job.NodeShare{{Node: name, Ranks: 2, Useful: 14 * time.Second, UsefulMax: 8 * time.Second, MPI: 10 * time.Second,
				ElapsedMax: 12 * time.Second, ElapsedSum: 24 * time.Second, RankIDs: fmt.Sprintf("%d-%d", 2*node-2, 2*node-1)}},
			Calls:    []job.Call{{Name: "MPI_Allreduce", Count: 10, Time: 10 * time.Second, Sent: 1 << 63, Received: 80, Largest: 8}},
			Sections: []job.Section{{Label: "halo", Ranks: 2, Count: 40, Elapsed: 9 * time.Second, ElapsedMax: 5 * time.Second, MPI: 9 * time.Second, Own: 9 * time.Second}},
			Endings:  map[string]int{"finalized": 2},
		}},
	}
}

// hex makes a nonce that differs between nodes, as a node makes it.
func hex(nonce string, node int) string { return fmt.Sprintf("%016x%016x", sum(nonce), node) }

func sum(s string) (n uint64) {
	for _, c := range s {
		n = n*31 + uint64(c)
	}
	return n
}

// ofNodes makes the reports of a job over several nodes.
func ofNodes(id uint32, nodes int, nonce string, start time.Duration) (all []*job.NodeReport) {
	for n := 1; n <= nodes; n++ {
		r := nodeReport(id, n, nonce, start)
		r.NNodes = nodes
		r.NodeList = fmt.Sprintf("n[1-%d]", nodes)
		r.Executions[0].Size = 2 * nodes
		all = append(all, r)
	}
	return all
}

// addReport adds a report as the server would.
func addReport(s *Store, r *job.NodeReport) (added bool, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	return s.AddReport(ctx, Sender{}, r, wire.Compress(text))
}

func add(t testing.TB, s *Store, reports ...*job.NodeReport) {
	t.Helper()
	for _, r := range reports {
		if _, err := addReport(s, r); err != nil {
			t.Fatal(err)
		}
	}
}

// merged merges whatever came, as if all of it had come a while ago.
func merged(t testing.TB, s *Store) *Store {
	t.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = s.mergeAt(ctx, time.Now().Add(quiet+time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// settled asks rules that flag nothing about all that has ended, so that it is known what was lost. sacct has told of all steps.
func settled(t testing.TB, s *Store) *Store {
	t.Helper()
	by := Judging{Rules: 1 << 60, Ask: func(*listing.JobAndWorkload) []string { return nil }}
	err := s.do(ctx, func(w *writer) error {
		return w.exec("UPDATE attempts SET usage_read = 1 WHERE slurm_end_us IS NOT NULL")
	})
	for n := 1; n > 0 && err == nil; {
		if err = s.JudgeBy(ctx, by.Rules); err == nil {
			n, err = s.Judge(ctx, by, time.Now())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func aJob(t testing.TB, s *Store, v Viewer, id string, attempt int) *job.Job {
	t.Helper()
	merged(t, s)
	ref, err := slurmid.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Job(ctx, v, ref, attempt)
	if err != nil {
		t.Fatalf("job %s: %v", id, err)
	}
	return j
}

func count(t testing.TB, s *Store, table string) (n int) {
	t.Helper()
	if err := s.read.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestReportComesBack(t *testing.T) {
	s := open(t)
	r := nodeReport(7, 1, "a", 0)
	if added, err := addReport(s, r); err != nil || !added {
		t.Fatal(added, err)
	}
	for range 3 {
		if added, err := addReport(s, r); err != nil || added {
			t.Fatal("again:", added, err)
		}
	}
	j := aJob(t, s, alice, "7", 0)
	if j.DisplayID != "7" || j.Attempt != 1 || j.UID != 1001 || j.Account != "proj" || j.Reports != 1 || j.Nodes != 1 || j.State != "" || j.NoData != (doubt.Warning{}) {
		t.Errorf("got %+v", j)
	}
	if !j.Start.Equal(day) || j.Elapsed != 20*time.Second || len(j.Steps) != 2 || len(j.Executions) != 1 {
		t.Errorf("got %+v", j)
	}
	m := j.Metrics
	if m == nil || m.Parallel != 14.0/24 || math.Abs(m.LoadBalance-7.0/8) > 1e-15 || m.Ranks != 2 || m.Coverage != 1 {
		t.Fatalf("metrics %+v", m)
	}
	if d := cmp.Diff(m, j.Executions[0].Metrics, cmpopts.EquateApprox(1e-15, 0)); d != "" { // a job's load balance is computed from the two others
		t.Error(d)
	}
	if n := j.Executions[0].Calls[0].Sent; n != 1<<63 {
		t.Errorf("sent %d", n)
	}
	if d := cmp.Diff(r.Executions[0].Sections, j.Executions[0].Sections); d != "" {
		t.Error(d)
	}
	for table, want := range map[string]int{"attempts": 1, "reports": 1, "executions": 1} {
		if n := count(t, s, table); n != want {
			t.Errorf("%d %s", n, table)
		}
	}
}

// TestWrongAddress: an address of another kind of database makes no file, and no message
// shows its password.
func TestWrongAddress(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, database := range []string{"mysql://u:secret@h/x", "postgresql:/u:secret@h/x", "POSTGRES://h/x", "sqlite:/x"} {
		if _, err := Open(database); err == nil || !strings.Contains(err.Error(), "write a path") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", database, err)
		}
	}
	if files, _ := os.ReadDir("."); len(files) > 0 {
		t.Errorf("made %v", files)
	}
}

// addConfirmed adds reports of jobs of one node each, and what sacct says of these jobs.
func addConfirmed(t testing.TB, s *Store, reports ...*job.NodeReport) {
	t.Helper()
	add(t, s, reports...)
	var lines []slurm.Job
	for _, r := range reports {
		lines = append(lines, slurm.Job{Cluster: r.Cluster, ID: fmt.Sprint(r.JobID), RawID: r.JobID, UID: r.UID, User: r.User, Account: r.Account,
			Partition: r.Partition, Submit: r.Start, Start: r.Start, End: r.End, Elapsed: r.End.Sub(r.Start), Nodes: 1, NodeList: r.Node})
	}
	if _, err := s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	merged(t, s)
}
