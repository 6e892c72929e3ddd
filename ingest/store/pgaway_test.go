package store

import (
	"database/sql"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jobeff/test/pgtest"
	"jobeff/test/trial"
)

// untilTaken adds a report as a node does: again and again, until it is accepted.
func untilTaken(t *testing.T, s *Store, id uint32) {
	t.Helper()
	r := nodeReport(id, 1, "a", 0)
	for tries := 0; ; tries++ {
		_, err := addReport(s, r)
		if err == nil {
			return
		}
		if !errors.Is(err, ErrUnavailable) || tries > 1000 {
			t.Errorf("job %d, try %d: %v", id, tries, err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// load adds a job each for the numbers from first on, from four nodes at once, until all are
// accepted. ended counts them.
func load(t *testing.T, s *Store, first, jobs uint32, ended *atomic.Int32) (wait func()) {
	var wg sync.WaitGroup
	for w := range uint32(4) {
		wg.Go(func() {
			for id := first + w; id < first+jobs; id += 4 {
				untilTaken(t, s, id)
				ended.Add(1)
			}
		})
	}
	return wg.Wait
}

// nameOf is the database's name in its URL.
func nameOf(database string) string {
	path, _, _ := strings.Cut(database, "?")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// wantJobs checks that each accepted job is there, once.
func wantJobs(t *testing.T, s *Store, jobs int) {
	t.Helper()
	if n, r := count(t, s, "reports"), count(t, s, "attempts"); n != jobs || r != jobs {
		t.Errorf("%d reports, %d attempts of %d jobs", n, r, jobs)
	}
}

// TestStandbyPromoted: a server dies under load, and its standby is promoted. The daemon finds the
// new one by itself. Every confirmed report is there, and none of them twice. If the old one then
// comes back by mistake, it confirms nothing.
func TestStandbyPromoted(t *testing.T) {
	onlySQLite(t, "it starts servers of its own")
	t.Parallel()
	first := pgtest.Start(t)
	database := first.Database(t)
	name := nameOf(database)
	standby := first.Standby(t)
	both := pgtest.URL(name, first.Dir(), standby.Dir())
	s := openAt(t, both)
	const jobs = 400
	var ended atomic.Int32
	wait := load(t, s, 1, jobs, &ended)
	trial.Until(t, "the first reports", 10_000, 5*time.Millisecond, func() bool { return ended.Load() > jobs/4 })
	first.Kill()
	acked := ended.Load()
	if acked == jobs {
		t.Fatal("all jobs had ended before the kill")
	}
	if err := s.Ping(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("ping: %v", err)
	}
	if err := standby.Exec("postgres", "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	alone := openAt(t, standby.URL(name))
	if n := count(t, alone, "reports"); n < int(acked) {
		t.Errorf("the new server has %d reports of %d confirmed ones", n, acked)
	}
	wait()
	wantJobs(t, alone, jobs)
	wantJobs(t, s, jobs)

	first.Run(t)
	old, err := Open(first.URL(name))
	if err == nil {
		defer old.Close()
		_, err = addReport(old, nodeReport(jobs+1, 1, "a", 0))
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("the old server confirms a report: %v", err)
	}
}

// TestStandbyAway: nobody confirms what the standby does not have. That holds for a report that was
// refused before and is sent again, though the server has it, where somebody cancels the wait, and where
// the database's own setting waits for no standby.
func TestStandbyAway(t *testing.T) {
	onlySQLite(t, "it starts servers of its own")
	t.Parallel()
	first := pgtest.Start(t)
	database := first.Database(t)
	if err := first.Exec("postgres", "ALTER DATABASE "+nameOf(database)+" SET synchronous_commit = local"); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, database)
	standby := first.Standby(t)
	add(t, s, nodeReport(1, 1, "a", 0))
	standby.Stop()
	for _, when := range []string{"first", "sent again"} {
		if _, err := addReport(s, nodeReport(2, 1, "a", 0)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", when, err)
		}
	}
	var over atomic.Bool
	done := make(chan error)
	go func() {
		_, err := addReport(s, nodeReport(3, 1, "a", 0))
		over.Store(true)
		done <- err
	}()
	trial.Until(t, "the end of the cancelled wait", 10_000, 5*time.Millisecond, func() bool {
		if err := first.Exec("postgres", "SET synchronous_commit = local; SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"); err != nil {
			t.Fatal(err)
		}
		return over.Load()
	})
	if err := <-done; !errors.Is(err, ErrUnavailable) {
		t.Errorf("cancelled: %v", err)
	}
	standby.Run(t)
	for id := range uint32(3) {
		untilTaken(t, s, 1+id)
	}
	wantJobs(t, s, 3)
}

// TestServerStandsStill: a server stands still, and the kernel goes on answering for it. Nobody waits for
// it without end, so what merges and judges goes on where another server leads (make failover).
func TestServerStandsStill(t *testing.T) {
	onlySQLite(t, "it starts servers of its own")
	t.Parallel()
	first := pgtest.Start(t)
	database := first.Database(t)
	standby := first.Standby(t)
	e, err := openPostgres(pgtest.URL(nameOf(database), first.Dir(), standby.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	e.silence = busyTimeout
	s := &Store{engine: e, quit: make(chan struct{}), done: make(chan struct{})}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	add(t, s, nodeReport(1, 1, "a", 0))
	release, mine, err := s.engine.alone(ctx, markMerge) // as within Merge
	if !mine || err != nil {
		t.Fatal(mine, err)
	}
	if _, mine, err := s.engine.alone(ctx, markBegan); mine || err != nil { // no such row; its connection is kept
		t.Fatal(mine, err)
	}
	rows, err := s.read.QueryContext(ctx, "SELECT generate_series(1, 100000000)")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	first.Freeze(t)
	defer first.Thaw()
	ended := make(chan error, 3)
	go func() {
		for rows.Next() {
		}
		ended <- rows.Err()
	}()
	go func() { release(); ended <- ErrUnavailable }()
	go func() {
		_, _, err := s.engine.alone(ctx, markBegan)
		ended <- err
	}()
	for range 3 {
		select {
		case err := <-ended:
			if !errors.Is(unavailable(err), ErrUnavailable) {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("something waited two minutes for a server that stands still")
		}
	}
}

// TestCutInCommit: the connection breaks while a COMMIT is under way, again and again: before the
// server has it, and before its answer comes. What is confirmed is there, none of it twice, and no
// month counts a job twice.
func TestCutInCommit(t *testing.T) {
	onlySQLite(t, "it starts a server of its own")
	t.Parallel()
	server := pgtest.Start(t, pgtest.Quick...)
	database := server.Database(t)
	direct := openAt(t, database)
	proxy := cutting(t, server.Dir())
	s := openAt(t, pgtest.URL(nameOf(database), proxy.dir))
	const jobs = 200
	var ended atomic.Int32
	proxy.on.Store(true)
	load(t, s, 1, jobs, &ended)()
	wantJobs(t, merged(t, direct), jobs)
	for n := 0; n < jobs; {
		done, err := s.Retain(ctx, Retention{Jobs: oneDay}, day.Add(10*oneDay), nil)
		if err != nil && !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		if n = jobs - count(t, direct, "attempts"); done.Pruned == 0 && err == nil {
			break
		}
	}
	proxy.on.Store(false)
	if m := months(t, direct); len(m) != 1 || m[0].Jobs != jobs {
		t.Errorf("the months count %+v, want %d jobs", m, jobs)
	}
	if lost, unsent := proxy.answers.those.Load(), proxy.requests.those.Load(); lost < 10 || unsent < 10 {
		t.Errorf("cut %d before the answer, %d before the request", lost, unsent)
	}
}

// cutter is between a daemon and its server, and breaks connections in a COMMIT.
type cutter struct {
	dir, server       string
	on                atomic.Bool
	answers, requests every
}

// cutting starts a cutter before the server whose socket is in a directory.
func cutting(t *testing.T, server string) *cutter {
	dir, err := os.MkdirTemp("", "cut")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const name = ".s.PGSQL.5432"
	l, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{dir: dir, server: filepath.Join(server, name)}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(client)
		}
	}()
	return c
}

// pass connects a client to the server until one of them, or the cutter, ends it.
func (c *cutter) pass(client net.Conn) {
	server, err := net.Dial("unix", c.server)
	if err != nil {
		client.Close()
		return
	}
	both := func() { client.Close(); server.Close() }
	relay := func(to io.Writer, from io.Reader, broken func(string) bool) {
		defer both()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil || broken(string(buffer[:n])) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	go relay(client, server, func(said string) bool {
		return c.on.Load() && strings.Contains(said, "COMMIT\x00") && c.answers.now(5)
	})
	relay(server, client, func(string) bool { return c.on.Load() && c.requests.now(41) })
}

// every counts, and says of each n-th that it is one.
type every struct{ all, those atomic.Int32 }

func (e *every) now(n int32) bool {
	if e.all.Add(1)%n != 0 {
		return false
	}
	e.those.Add(1)
	return true
}

// TestFewConnections: the server has fewer connections than the daemon wants. Reports are refused
// for now at most, and all are there at the end.
func TestFewConnections(t *testing.T) {
	onlySQLite(t, "it starts a server of its own")
	t.Parallel()
	server := pgtest.Start(t, append([]string{"-c", "max_connections=6", "-c", "superuser_reserved_connections=1"}, pgtest.Quick...)...)
	if err := server.Exec("postgres", "CREATE ROLE few LOGIN CREATEDB"); err != nil {
		t.Fatal(err)
	}
	database := server.Database(t)
	if err := server.Exec("postgres", "ALTER DATABASE "+nameOf(database)+" OWNER TO few"); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, strings.Replace(database, "postgres@", "few@", 1))
	others := s.engine.(*pgEngine).pool(s.engine.(*pgEngine).cfg.Copy(), nil)
	defer others.Close()
	var held []*sql.Conn
	for { // all that are left
		c, err := others.Conn(ctx)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	const jobs = 100
	var ended atomic.Int32
	wait := load(t, s, 1, jobs, &ended)
	trial.Until(t, "a refusal", 10_000, 5*time.Millisecond, func() bool {
		err := each(readers, readers, func(int) error { return s.Ping(ctx) })
		if err != nil && !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		return err != nil
	})
	for _, c := range held {
		c.Close()
	}
	others.Close()
	wait()
	wantJobs(t, s, jobs)
}
