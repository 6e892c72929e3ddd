package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"jobeff/ingest/listing"
	"jobeff/test/pgtest"
)

// failovers are the faults of the leading server, each with the way in which it comes back. Nobody makes it the
// leader again by hand.
var failovers = []struct {
	what        string
	does, comes func(*pgtest.Member, testing.TB)
}{
	{"killed (all its processes, SIGKILL)", func(m *pgtest.Member, _ testing.TB) { m.Kill() }, (*pgtest.Member).Start},
	{"frozen (SIGSTOP of Patroni and PostgreSQL)", (*pgtest.Member).Freeze, (*pgtest.Member).Thaw},
	{"cut off from the network", (*pgtest.Member).Cut, (*pgtest.Member).Join},
	{"PostgreSQL alone killed", (*pgtest.Member).KillPostgres, nil},
}

// TestFailover: three PostgreSQL servers decide by Patroni who leads, while nodes report at the pace of a
// large site. Each fault happens to the one that leads. jobeffd and its reader find the next one by
// themselves, what waits is merged before the old one comes back, and nothing acknowledged is missing.
// JOBEFF_FAILOVER names the file for what was seen (make failover).
func TestFailover(t *testing.T) {
	to := os.Getenv("JOBEFF_FAILOVER")
	if to == "" {
		t.Skip("it takes ten minutes: make failover runs it")
	}
	self, err := os.Executable()
	must(t, err)
	servers := pgtest.StartPatroni(t)
	must(t, pgtest.Exec(servers.Settled(t).URL("postgres"), "CREATE DATABASE jobeff"))
	d := newDaemon(t)
	must(t, os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), []byte("[server]\nsacct_interval = \"0s\"\nreport_rate = 0\nread_rate = 0\nconnections = 0\n"), 0o644))
	reader := d.reader(t)
	d.program, d.db = servers.Inside(self), servers.URL("jobeff", "read-write")
	reader.program, reader.db = servers.Inside(self), servers.URL("jobeff", "any")
	everywhere := func(query string) { // a standby is a moment behind
		for _, m := range servers.Members {
			for late := time.Now().Add(10 * time.Minute); pgtest.Exec(m.URL("jobeff"), query) != nil; time.Sleep(100 * time.Millisecond) {
				if time.Now().After(late) {
					t.Fatalf("%s does not answer %s after ten minutes", m.Name, query)
				}
			}
		}
	}
	everywhere("SELECT 1")
	d.start(t)
	everywhere("SELECT * FROM marks")
	reader.start(t)

	load := &failoverLoad{daemon: d}
	stop := load.begin(t)
	people := reader.askOn(t)
	rows := "| the server that leads is | reports a second before | another leads, with a standby, after | longest without an acknowledgement | answers 503 meanwhile | the reader's longest without an answer |\n|---|---|---|---|---|---|\n"
	for _, f := range failovers {
		leads := servers.Settled(t)
		load.more(t, 5*paced) // the pace before
		before := load.pace()
		load.reset()
		people.reset()
		begin, after := time.Now(), "-"
		f.does(leads, t)
		if f.comes != nil {
			servers.Led(t, leads)
			after = fmt.Sprintf("%.1f s", time.Since(begin).Seconds())
			load.more(t, paced)
			load.merged(t, servers.Led(t, leads))
			f.comes(leads, t)
		}
		servers.Settled(t)
		load.more(t, paced)
		rows += fmt.Sprintf("| %s | %.0f | %s | %.1f s | %d | %.1f s |\n", f.what, before, after, load.gap().Seconds(), load.refused.Load(), people.gap().Seconds())
		t.Log(strings.TrimSpace(rows[strings.LastIndex(strings.TrimSpace(rows), "\n")+1:]))
	}
	taken := stop()
	leads := servers.Settled(t)
	load.merged(t, leads)
	must(t, d.stop(syscall.SIGTERM))
	// Each was sent until it was acknowledged, and counts once: as many rows are all of them.
	kept := rowsOf(t, leads.URL("jobeff"), "SELECT count(*) FROM reports")
	if kept != taken {
		t.Errorf("%d of %d acknowledged reports are there", kept, taken)
	}
	rows += fmt.Sprintf("\n%d reports acknowledged, %d of them in the database at the end.\nThe pace asked for is %d reports a second; the goal is %v without an acknowledgement at most.\n",
		taken, kept, paced, pgtest.PatroniTTL+15*time.Second)
	must(t, os.WriteFile(to, []byte(rows), 0o644))
}

// TestPatroniSettings: doc/ADMIN.md recommends what TestFailover uses.
func TestPatroniSettings(t *testing.T) {
	text, err := os.ReadFile("../../doc/ADMIN.md")
	must(t, err)
	if want := "    " + strings.ReplaceAll(pgtest.PatroniSettings, "\n", "\n    ") + "\n"; !strings.Contains(string(text), want) {
		t.Errorf("doc/ADMIN.md lacks\n%s", want)
	}
}

// moments remembers the longest time between two good answers.
type moments struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

func (m *moments) note() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.longest, m.last = max(m.longest, now.Sub(m.last)), now
}

func (m *moments) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.longest, m.last = 0, time.Now()
}

func (m *moments) gap() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.longest, time.Since(m.last))
}

// failoverLoad is many nodes that report, each until its report is acknowledged.
type failoverLoad struct {
	moments
	daemon         *daemon
	taken, refused atomic.Int64
	mark           time.Time // when more was called last
	marked         int64
}

// begin lets them report until stop, which returns how many reports were acknowledged.
func (l *failoverLoad) begin(t *testing.T) (stop func() int) {
	const round = 1000 // jobs that are made up at once
	var over atomic.Bool
	var mu sync.Mutex
	var next func() []byte
	first := 1 - round
	report := func() []byte {
		mu.Lock()
		defer mu.Unlock()
		if next != nil {
			if body := next(); body != nil {
				return body
			}
		}
		first += round
		next, _ = loadReports(round, first)
		return next()
	}
	pace := rate.NewLimiter(paced, paced/10)
	l.reset()
	var wg sync.WaitGroup
	for range loadClients {
		wg.Go(func() {
			c := &loadClient{socket: l.daemon.socket}
			defer c.Close()
			for !over.Load() {
				must(t, pace.Wait(ctx))
				for body := report(); ; time.Sleep(100 * time.Millisecond) {
					err := c.PostReport(ctx, body)
					if err == nil {
						l.taken.Add(1)
						l.note()
						break
					}
					c.Close()
					if l.refused.Add(1); !strings.HasPrefix(err.Error(), "503 ") {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	return func() int {
		over.Store(true)
		wg.Wait()
		return int(l.taken.Load())
	}
}

func (l *failoverLoad) reset() {
	l.moments.reset()
	l.refused.Store(0)
}

// more waits until so many more reports are acknowledged.
func (l *failoverLoad) more(t *testing.T, n int64) {
	t.Helper()
	l.mark, l.marked = time.Now(), l.taken.Load()
	for late := time.Now().Add(10 * time.Minute); l.taken.Load() < l.marked+n; time.Sleep(10 * time.Millisecond) {
		if t.Failed() || time.Now().After(late) {
			t.Fatalf("%d of %d reports were acknowledged in ten minutes", l.taken.Load()-l.marked, n)
		}
	}
}

// pace returns the reports acknowledged per second since the last call of more.
func (l *failoverLoad) pace() float64 {
	return float64(l.taken.Load()-l.marked) / time.Since(l.mark).Seconds()
}

// merged waits until all that was acknowledged before is in its job's figures, but for jobs that miss
// reports.
func (l *failoverLoad) merged(t *testing.T, at *pgtest.Member) {
	t.Helper()
	db := openSQL(t, at.URL("jobeff"))
	defer db.Close()
	now := time.Now()
	for n := 1; n > 0; time.Sleep(100 * time.Millisecond) {
		if err := db.QueryRow("SELECT count(*) FROM attempts WHERE unmerged > 0 AND changed_us < $1", now.UnixMicro()).Scan(&n); err != nil || time.Since(now) > 10*time.Minute {
			t.Fatalf("%d attempts are not merged, %v", n, err)
		}
	}
}

// askOn asks the reader for jobs until the test ends.
func (d *daemon) askOn(t *testing.T) *moments {
	m := new(moments)
	m.reset()
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		c := d.client()
		defer c.Close()
		for {
			if _, err := c.Jobs(ctx, listing.JobQuery{Limit: 1}); err == nil {
				m.note()
			}
			select {
			case <-over:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { close(over); wg.Wait() })
	return m
}
