package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"weak"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/test/pgtest"
	"jobeff/test/trial"
)

func TestOpenTwice(t *testing.T) {
	onlySQLite(t, "it is about a file")
	s := open(t)
	_, path, _ := databaseFile(s)
	link, hard := path+".link", path+".hard"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "another jobeffd uses "+name) {
			t.Errorf("second open: %v", err)
		}
	}
	if err := os.Link(path, hard); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(string) (*Store, error){Open, OpenBeside} {
		if _, err := open(hard); err == nil || !strings.Contains(err.Error(), hard+" has 2 names") {
			t.Errorf("a second name: %v", err)
		}
	}
	if err := os.Remove(hard); err != nil {
		t.Fatal(err)
	}
	add(t, s, nodeReport(7, 1, "a", 0))
	s.Close()
	again := openAt(t, path)
	if j := aJob(t, again, alice, "7", 0); j.Reports != 1 {
		t.Errorf("after reopening: %+v", j)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("database has mode %v", info.Mode())
	}
}

// TestMoved: the database's file is moved, and another takes its place. No report is accepted, and
// no file is made, until it is back.
func TestMoved(t *testing.T) {
	onlySQLite(t, "it is about a file")
	s := open(t)
	path := s.engine.name()
	add(t, s, nodeReport(7, 1, "a", 0))
	refused := func(when string) {
		t.Helper()
		if _, err := addReport(s, nodeReport(8, 1, "a", 0)); !errors.Is(err, ErrMoved) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", when, err)
		}
		if err := s.There(); !errors.Is(err, ErrMoved) {
			t.Errorf("%s: there: %v", when, err)
		}
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	refused("moved")
	if db, err := s.engine.openRead(); err != nil || db.Ping() == nil {
		t.Errorf("a reader finds a file: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty file was made")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("replaced")
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	add(t, s, nodeReport(8, 1, "a", 0))
	if n := count(t, s, "reports"); n != 2 || s.There() != nil {
		t.Errorf("%d reports, %v", n, s.There())
	}
}

func databaseFile(s *Store) (seq int, path, name string) {
	s.read.QueryRow("SELECT seq, file, name FROM pragma_database_list WHERE name = 'main'").Scan(&seq, &path, &name)
	return seq, path, name
}

// TestOpenGarbage: a file that is not jobeff's database stays unchanged, and no file appears
// beside it.
func TestOpenGarbage(t *testing.T) {
	onlySQLite(t, "it is about a file")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"text": strings.Repeat("this is no database", 1000), "short": "x"} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(in("folder"), 0o700), syscall.Mkfifo(in("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	other, err := connect(in("other"), "")
	if err == nil {
		_, err = other.Exec("CREATE TABLE runs (distance INTEGER)")
	}
	if err := errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("text", in("link")); err != nil {
		t.Fatal(err)
	}
	listing := func() string {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(files)
	}
	before := listing()
	for name, want := range map[string]string{"text": "is not a database of SQLite's", "short": "is not a database of SQLite's", "link": "is not a database of SQLite's",
		"folder": "is not a database of SQLite's", "fifo": "is not a database of SQLite's", "other": "is another program's database"} {
		for what, open := range map[string]func() error{
			"open":    func() error { _, err := Open(in(name)); return err },
			"migrate": func() error { _, _, err := Migrate(in(name)); return err },
		} {
			if err := open(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--database") {
				t.Errorf("%s: %s: %v", what, name, err)
			}
		}
	}
	if after := listing(); after != before {
		t.Errorf("%s\nbefore:\n%s", after, before)
	}
	if err := os.WriteFile(in("empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	openAt(t, in("empty"))
}

// TestGivenUp: a report whose sender went while it waited for the writer takes no memory, and is not
// written.
func TestGivenUp(t *testing.T) {
	s := open(t)
	add(t, s, nodeReport(7, 1, "a", 0))
	began, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.doJob(ctx, jobKey{"test", 7}, func(*writer) error {
			close(began)
			<-release
			return nil
		})
	}()
	<-began
	gone, leave := context.WithCancel(ctx)
	leave()
	var waiting weak.Pointer[job.NodeReport]
	for len(s.lanes[7%len(s.lanes)].ops) == 0 { // a gone sender's report may not even be queued
		r := nodeReport(7, 2, "b", 0)
		waiting = weak.Make(r)
		if _, err := s.AddReport(gone, Sender{}, r, nil); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
	}
	runtime.GC()
	if waiting.Value() != nil {
		t.Error("the queue holds the report")
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	add(t, s, nodeReport(7, 1, "c", 0))
	if n := count(t, s, "reports"); n != 2 {
		t.Errorf("%d reports", n)
	}
}

// TestLocked: another process holds the database. A write waits and is refused with
// ErrUnavailable; readers go on. Later the same write is accepted once.
func TestLocked(t *testing.T) {
	onlySQLite(t, "it is about a file")
	if testing.Short() {
		t.Skip("it waits until the database gives up")
	}
	s := open(t)
	add(t, s, nodeReport(6, 1, "a", 0))
	_, path, _ := databaseFile(merged(t, s))
	other, _ := connect(path, "_txlock=immediate")
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	added, err := addReport(s, nodeReport(7, 1, "a", 0))
	if !errors.Is(err, ErrUnavailable) || added {
		t.Errorf("while locked: %v, %v", added, err)
	}
	if took := time.Since(begin); took < busyTimeout-time.Second {
		t.Errorf("waited %v", took)
	}
	if j, err := s.Job(ctx, alice, slurmid.Ref{ID: 6}, 0); err != nil || j.Metrics == nil {
		t.Errorf("reading while locked: %+v, %v", j, err)
	}
	tx.Rollback()
	add(t, s, nodeReport(7, 1, "a", 0))
	if n := count(t, s, "reports"); n != 2 {
		t.Errorf("%d reports", n)
	}
}

// TestDiskFull fills a small file system. All that was confirmed is there. What was refused is
// accepted once there is room.
func TestDiskFull(t *testing.T) {
	onlySQLite(t, "it is about a file")
	trial.MayMount(t)
	dir := t.TempDir()
	if err := syscall.Mount("jobeff-test", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := openAt(t, filepath.Join(dir, "jobeff.db"))
	kept, refused := 0, 0
	for i := uint32(1); i <= 2000 && refused < 3; i++ {
		_, err := addReport(s, nodeReport(i, 1, "a", 0))
		switch {
		case err == nil:
			kept++
		case errors.Is(err, ErrUnavailable):
			refused++
		default:
			t.Fatal(err)
		}
	}
	if kept == 0 || refused != 3 {
		t.Fatalf("%d kept, %d refused", kept, refused)
	}
	if n := count(t, s, "attempts"); n != kept {
		t.Errorf("%d rows of %d kept", n, kept)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=20m"); err != nil {
		t.Fatal(err)
	}
	for i := uint32(1); i <= uint32(kept+5); i++ {
		add(t, s, nodeReport(i, 1, "a", 0))
	}
	if n := count(t, s, "reports"); n != kept+5 {
		t.Errorf("%d rows, want %d", n, kept+5)
	}
}

// TestMadeUpJobsLeaveRoom: root of a node makes up job ids without end. That leaves room on the
// disk for the jobs of which Slurm tells.
func TestMadeUpJobsLeaveRoom(t *testing.T) {
	onlySQLite(t, "it is about a file")
	trial.MayMount(t)
	dir := t.TempDir()
	if err := syscall.Mount("jobeff-test", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := openAt(t, filepath.Join(dir, "jobeff.db"))
	s.WaitForSlurm(time.Hour)
	var err error
	for id := uint32(1000); err == nil && id < 4000; id++ {
		_, err = s.AddReport(ctx, Sender{Part: "n9"}, nodeReport(id, 9, "fake", 0), bytes.Repeat([]byte{1}, 100<<10))
	}
	if !errors.Is(err, ErrManyWaiting) {
		t.Fatalf("the disk is filled: %v", err)
	}
	const real = 20
	for id := uint32(1); id <= real; id++ {
		if _, err := addReport(s, nodeReport(id, 1, "a", 0)); !errors.Is(err, ErrManyWaiting) {
			t.Errorf("before Slurm tells of it: %v", err)
		}
		addLines(t, s, sacct(id, fmt.Sprint(id), "COMPLETED", -time.Minute, 0, 21*time.Second))
		add(t, s, nodeReport(id, 1, "a", 0))
	}
	var there int
	if err := s.read.QueryRow("SELECT count(*) FROM reports WHERE job_id <= ?", real).Scan(&there); err != nil || there != real {
		t.Errorf("%d reports of jobs of which Slurm told, %v", there, err)
	}
}

// TestBatch: work that fails harms no other work of the batch.
func TestBatch(t *testing.T) {
	s := open(t)
	bad := errors.New("poison")
	var wg sync.WaitGroup
	for i := range uint32(60) {
		wg.Go(func() {
			if i%3 == 0 {
				err := s.do(ctx, func(w *writer) error {
					if err := w.exec("INSERT INTO clusters (cluster) VALUES (?)", fmt.Sprint("bad", i)); err != nil {
						return err
					}
					return bad
				})
				if !errors.Is(err, bad) {
					t.Errorf("poison: %v", err)
				}
				return
			}
			if _, err := addReport(s, nodeReport(100+i, 1, "a", 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r, c := count(t, s, "reports"), count(t, s, "clusters"); r != 40 || c != 1 {
		t.Errorf("%d reports, %d clusters", r, c)
	}
}

// TestCopyMidLoad copies the database's files under load, as a power loss would leave them.
// The copy opens and holds every report that was confirmed before.
func TestCopyMidLoad(t *testing.T) {
	onlySQLite(t, "it is about a file")
	s := open(t)
	_, path, _ := databaseFile(s)
	var mu sync.Mutex
	acked := 0
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for worker := range uint32(4) {
		wg.Go(func() {
			for i := uint32(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := addReport(s, nodeReport(1+worker*100_000+i, 1, "a", 0)); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acked++
				mu.Unlock()
			}
		})
	}
	for range 3 {
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		before := acked
		mu.Unlock()
		copied := filepath.Join(t.TempDir(), "copy.db")
		copyAtOnce(t, path, copied)
		c, err := Open(copied)
		if err != nil {
			t.Fatal(err)
		}
		if n := count(t, c, "reports"); n < before || count(t, c, "attempts") != n {
			t.Errorf("%d of %d acknowledged reports, %d attempts", n, before, count(t, c, "attempts"))
		}
		c.Close()
	}
	close(stop)
	wg.Wait()
}

// copyAtOnce copies a database as it was at one instant. It starts again if a checkpoint
// wrote to the file meanwhile, or the log began anew.
func copyAtOnce(t *testing.T, from, to string) {
	t.Helper()
	state := func() string {
		info, err := os.Stat(from)
		log, logErr := os.ReadFile(from + "-wal")
		if err := errors.Join(err, logErr); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%v %d %x", info.ModTime(), info.Size(), log[:min(32, len(log))]) // its header has salts
	}
	for range 100 {
		before := state()
		for _, suffix := range []string{"", "-wal"} {
			copyFile(t, from+suffix, to+suffix)
		}
		if state() == before {
			return
		}
	}
	t.Fatal("the database's file does not stand still")
}

func copyFile(t *testing.T, from, to string) {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t)
	s.Close()
	if _, err := addReport(s, nodeReport(7, 1, "a", 0)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestUnavailable(t *testing.T) {
	if err := unavailable(sql.ErrNoRows); errors.Is(err, ErrUnavailable) || !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("got %v", err)
	}
	if unavailable(nil) != nil {
		t.Error("nil is an error")
	}
}

func BenchmarkAddReport(b *testing.B) { addReports(b, open(b)) }

// BenchmarkAddReportPostgres has two daemons on one durable PostgreSQL.
func BenchmarkAddReportPostgres(b *testing.B) {
	database := pgtest.Start(b).Database(b)
	addReports(b, openAt(b, database), openAt(b, database))
}

// addReports adds reports of one-node jobs to the daemons of a database in turn.
func addReports(b *testing.B, daemons ...*Store) {
	var id atomic.Uint32
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := id.Add(1)
			if _, err := addReport(daemons[int(n/8)%len(daemons)], nodeReport(n, 1, "a", 0)); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reports/s")
}
