package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/test/pgtest"
)

// TestTwoDaemons: nodes report jobs to two daemons of one database at once, some to both, and
// sacct tells both of them. Each job is one attempt.
func TestTwoDaemons(t *testing.T) {
	if os.Getenv(testServer) == "" {
		t.Skip("a file has one daemon")
	}
	database := newDatabase(t)
	daemons := []*Store{openAt(t, database), openAt(t, database)}
	const jobs, nodes = 12, 10
	var wg sync.WaitGroup
	for j := range uint32(jobs) {
		for n, r := range ofNodes(100+j, nodes, "a", 0) {
			for d, s := range daemons {
				if (n+d)%3 == 0 && d == 1 {
					continue // to one of them only
				}
				wg.Go(func() {
					if _, err := addReport(s, r); err != nil {
						t.Error(err)
					}
				})
			}
		}
		for _, s := range daemons {
			wg.Go(func() {
				line := sacct(100+j, fmt.Sprint(100+j), "COMPLETED", -time.Minute, 0, 21*time.Second)
				line.NodeList, line.Nodes = fmt.Sprintf("n[1-%d]", nodes), nodes
				if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
					t.Error(err)
				}
				if _, err := s.Merge(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for n := 1; n > 0; {
		n = 0
		for _, s := range daemons {
			m, err := s.Merge(ctx)
			if err != nil {
				t.Fatal(err)
			}
			n += m
		}
	}
	if r, n := count(t, daemons[0], "attempts"), count(t, daemons[1], "reports"); r != jobs || n != jobs*nodes {
		t.Errorf("%d attempts, %d reports", r, n)
	}
	for j := range jobs {
		got := aJob(t, daemons[j%2], alice, fmt.Sprint(100+j), 0)
		if got.Reports != nodes || got.Metrics == nil || got.Metrics.Ranks != 2*nodes || got.State != "COMPLETED" {
			t.Errorf("job %d: %d reports, %+v", 100+j, got.Reports, got.Metrics)
		}
	}
}

// TestMergeOnce: of three daemons one merges each attempt, and if it dies with the lock, another one
// does.
func TestMergeOnce(t *testing.T) {
	if os.Getenv(testServer) == "" {
		t.Skip("a file has one daemon")
	}
	database := newDatabase(t)
	daemons := []*Store{openAt(t, database), openAt(t, database), openAt(t, database)}
	const attempts, nodes = 12, 20
	merge := func() int {
		var wg sync.WaitGroup
		var n atomic.Int32
		for _, s := range daemons {
			wg.Go(func() {
				some, err := s.Merge(ctx)
				if err != nil {
					t.Error(err)
				}
				n.Add(int32(some))
			})
		}
		wg.Wait()
		return int(n.Load())
	}
	for id := range uint32(attempts) {
		add(t, daemons[id%3], ofNodes(7+id, nodes, "a", 0)...)
	}
	if n := merge(); n != attempts {
		t.Errorf("%d attempts were merged %d times", attempts, n)
	}
	add(t, daemons[0], ofNodes(100, nodes, "a", 0)...)
	dying, end := context.WithCancel(ctx)
	if _, mine, err := daemons[0].engine.alone(dying, markMerge); !mine || err != nil {
		t.Fatal(mine, err)
	}
	if n := merge(); n != 0 {
		t.Errorf("%d merged though another daemon does", n)
	}
	end()
	for begin := time.Now(); time.Since(begin) < 4*busyTimeout; time.Sleep(10 * time.Millisecond) {
		if n := merge(); n == 1 {
			return
		}
	}
	t.Error("nobody merges after the daemon died")
}

// TestServerAway: the server is killed under load and comes back. Confirmed reports are there,
// refused ones are accepted again, and no daemon needs a restart.
func TestServerAway(t *testing.T) {
	onlySQLite(t, "it starts a server of its own")
	server := pgtest.Start(t)
	s := openAt(t, server.Database(t))
	for round := range 3 {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 40 {
					r := nodeReport(uint32(1+w*1000+round*100+i), 1, "a", 0)
					for tries := 0; ; tries++ {
						_, err := addReport(s, r)
						if err == nil {
							break
						}
						if !errors.Is(err, ErrUnavailable) || tries > 300 {
							t.Errorf("try %d: %v", tries, err)
							return
						}
						time.Sleep(50 * time.Millisecond)
					}
				}
			})
		}
		time.Sleep(30 * time.Millisecond)
		if round%2 == 0 {
			server.Kill()
		} else {
			server.Stop()
		}
		if err := s.Ping(ctx); !errors.Is(err, ErrUnavailable) {
			t.Errorf("ping: %v", err)
		}
		server.Run(t)
		wg.Wait()
	}
	if n, r := count(t, s, "reports"), count(t, s, "attempts"); n != 480 || r != 480 {
		t.Errorf("%d reports, %d attempts", n, r)
	}
}

// TestJobLocked: another session locks a job. A report for it waits and is refused with
// ErrUnavailable; reports for other jobs go on.
func TestJobLocked(t *testing.T) {
	if os.Getenv(testServer) == "" {
		t.Skip("SQLite locks the whole file: TestLocked")
	}
	s := open(t)
	add(t, s, nodeReport(7, 1, "a", 0))
	other, err := s.engine.openRead()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	k := jobKey{"test", 7}
	if _, err := tx.Exec("SELECT pg_advisory_xact_lock($1, $2)", k.lock(), 7); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var refused atomic.Bool
	wg.Go(func() {
		if _, err := addReport(s, nodeReport(7, 2, "a", 0)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("while locked: %v", err)
		}
		refused.Store(true)
	})
	for i := range uint32(7) {
		add(t, s, nodeReport(16+i, 1, "a", 0)) // other lanes
	}
	if refused.Load() {
		t.Error("others waited for it")
	}
	wg.Wait()
	tx.Rollback()
	add(t, s, nodeReport(7, 2, "a", 0))
	if n := count(t, s, "reports"); n != 9 {
		t.Errorf("%d reports", n)
	}
}

// TestHostileText: a zero byte or broken UTF-8 in text does no harm.
func TestHostileText(t *testing.T) {
	s := open(t)
	r := nodeReport(7, 1, "a", 0)
	r.User, r.Executions[0].Executable = "al\x00ice", "a\xff\x00.out"
	add(t, s, r)
	if list, err := s.Jobs(ctx, root, listing.JobQuery{Account: "x\x00\xff"}, nil); err != nil || len(list.Jobs) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	aJob(t, s, alice, "7", 0)
}

// TestOneJobPerTransaction: reports of several nodes, sacct's lines and merges run at once. No
// transaction touches two jobs, so an engine may spread jobs over shards.
func TestOneJobPerTransaction(t *testing.T) {
	if os.Getenv(testServer) == "" {
		t.Skip("SQLite has no shards")
	}
	s := open(t)
	trace := `CREATE TABLE trace (tx BIGINT, job BIGINT);
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO trace VALUES (txid_current(), COALESCE(NEW.job_id, OLD.job_id)); RETURN COALESCE(NEW, OLD); END $$;`
	for _, table := range append([]string{"attempts"}, tablesOfAttempt...) {
		trace += fmt.Sprintf("CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION note();", table)
	}
	if _, err := s.engine.writeDB().Exec(trace); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var lines []slurm.Job
	for j := range uint32(20) {
		for _, r := range ofNodes(100+j, 12, "a", 0) {
			wg.Go(func() { addReport(s, r) })
		}
		lines = append(lines, sacct(100+j, fmt.Sprint(100+j), "COMPLETED", 0, 0, 20*time.Second))
	}
	wg.Go(func() { s.AddSlurm(ctx, lines) })
	wg.Wait()
	if _, err := s.Merge(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Asked(ctx, "", []uint32{100, 101, 102}); err != nil {
		t.Error(err)
	}
	var jobs, most int
	err := s.read.QueryRow("SELECT count(*), COALESCE(max(n), 0) FROM (SELECT count(DISTINCT job) AS n FROM trace GROUP BY tx) t").Scan(&jobs, &most)
	if err != nil || jobs < 20 || most != 1 {
		t.Errorf("%d transactions, one of %d jobs, %v", jobs, most, err)
	}
}

// TestBatchOfJob: work on one job is committed together. A piece that fails harms no other,
// whether the piece itself fails or its SQL does.
func TestBatchOfJob(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for i := range 90 {
		wg.Go(func() {
			err := s.doJob(ctx, jobKey{"test", 7}, func(w *writer) error {
				if err := w.exec("INSERT INTO marks (name, time_us) VALUES (?, 1)", fmt.Sprint("m", i)); err != nil {
					return err
				}
				switch i % 3 {
				case 1:
					return errors.New("bad")
				case 2:
					return w.exec("INSERT INTO marks (name, time_us) VALUES ('x', NULL)")
				}
				return nil
			})
			if (err == nil) != (i%3 == 0) || errors.Is(err, ErrUnavailable) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := count(t, s, "marks"); n != 32 { // and when it began, and its schema
		t.Errorf("%d rows", n)
	}
}

// TestGathered: waiting reports of one job are written together. One that is refused, came
// twice or cannot be written harms no other.
func TestGathered(t *testing.T) {
	s := open(t)
	const nodes = 30
	line := sacct(7, "7", "COMPLETED", -time.Minute, 0, 21*time.Second)
	line.NodeList, line.Nodes = fmt.Sprintf("n[1-%d]", nodes), nodes
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	poison := []string{"CREATE TRIGGER poison BEFORE INSERT ON reports WHEN NEW.job_id = 7 AND NEW.node = 'n5' BEGIN SELECT RAISE(ABORT, 'poison'); END"}
	if os.Getenv(testServer) != "" {
		poison = []string{"CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poison'; END $$",
			"CREATE TRIGGER poison BEFORE INSERT ON reports FOR EACH ROW WHEN (NEW.job_id = 7 AND NEW.node = 'n5') EXECUTE FUNCTION poison()"}
	}
	for _, statement := range poison {
		if err := s.do(ctx, func(w *writer) error { return w.exec(statement) }); err != nil {
			t.Fatal(err)
		}
	}
	all := ofNodes(7, nodes+2, "a", 0) // two of them are not the job's
	for _, r := range all {
		r.NodeList = line.NodeList
	}
	all = append(all, all[0], all[1])
	added, refused := addAtOnce(t, s, all)
	var other int
	for _, err := range refused {
		if !errors.Is(err, ErrForeignNode) {
			other++
			if errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "n5") {
				t.Error(err)
			}
		}
	}
	if n := count(t, s, "reports"); added != nodes-1 || n != nodes || len(refused) != 3 || other != 1 {
		t.Errorf("%d added, %d rows with that of job 1000, refused: %v", added, n, refused)
	}
	if j := aJob(t, s, alice, "7", 0); j.Reports != nodes-1 {
		t.Errorf("%d reports", j.Reports)
	}

	added, refused = addAtOnce(t, s, ofNodes(8, nodes, "a", 0))
	if j := aJob(t, s, alice, "8", 0); added != nodes || len(refused) > 0 || j.Metrics == nil || j.Metrics.Nodes != nodes {
		t.Errorf("%d added, %v, %+v", added, refused, j.Metrics)
	}
}

// addAtOnce adds reports of a job that all wait until other work on the job ends.
func addAtOnce(t *testing.T, s *Store, all []*job.NodeReport) (added int, refused []error) {
	t.Helper()
	k := jobKey{all[0].Cluster, all[0].JobID}
	add(t, s, nodeReport(1000, 1, "a", 0)) // so that the cluster is known
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var once sync.Once
		if err := s.doJob(ctx, k, func(*writer) error { once.Do(func() { close(held) }); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	var mu sync.Mutex
	for _, r := range all {
		wg.Go(func() {
			is, err := addReport(s, r)
			mu.Lock()
			defer mu.Unlock()
			if is {
				added++
			}
			if err != nil {
				refused = append(refused, err)
			}
		})
	}
	for end := time.Now().Add(busyTimeout); s.Queue() < len(all) && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if n := s.Queue(); n != len(all) {
		t.Errorf("%d of %d wait together", n, len(all))
	}
	close(release)
	wg.Wait()
	return added, refused
}
