package store

import (
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"jobeff/test/pgtest"
)

// BenchmarkRetain measures what nodes that report wait for while old jobs are dropped: by jobeffd itself
// each day, and by `jobeff admin prune`, which is another process. Of 1,000,000 jobs
// (JOBEFF_RETAIN_JOBS) a fiftieth is pruned, and a fiftieth loses the figures of its ranks. JOBEFF_RETAIN_DB
// names SQLite's file, which is then kept, and used again where it is there.
func BenchmarkRetain(b *testing.B) {
	jobs := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("JOBEFF_RETAIN_JOBS")); err == nil {
		jobs = n
	}
	b.Run("sqlite", func(b *testing.B) { retainLoad(b, cmp.Or(os.Getenv("JOBEFF_RETAIN_DB"), newDatabase(b)), jobs) })
	b.Run("postgres", func(b *testing.B) { retainLoad(b, pgtest.Start(b).Database(b), jobs) })
}

func retainLoad(b *testing.B, database string, jobs int) {
	const days, paced, clients = 100, 500, 64
	s := openAt(b, database)
	m := &simulated{s: s, rng: rand.New(rand.NewPCG(1, 2))}
	if count(b, s, "attempts") == 0 {
		m.day(b, 0, jobs/days, Retention{})
		repeatDay(b, database, jobs/days, days)
	}
	m.next = uint32(time.Now().Unix()) // above all others
	for _, who := range []string{"jobeffd", "admin"} {
		b.Run(who, func(b *testing.B) {
			for range b.N {
				by := s
				if who == "admin" {
					var err error
					if by, err = OpenBeside(database); err != nil {
						b.Fatal(err)
					}
					defer by.Close()
				}
				var held, waits durations
				for _, l := range by.lanes {
					l.committer = &timed{committer: l.committer, took: &held}
				}
				pace := rate.NewLimiter(paced, 1)
				var over atomic.Bool
				var refused atomic.Int64
				var wg sync.WaitGroup
				var mu sync.Mutex
				for range clients {
					wg.Go(func() {
						for !over.Load() && pace.Wait(ctx) == nil {
							mu.Lock()
							reports, _ := m.job(days * oneDay)
							mu.Unlock()
							for _, r := range reports {
								t0 := time.Now()
								if _, err := addReport(s, r); err != nil {
									refused.Add(1)
								}
								waits.add(time.Since(t0))
							}
						}
					})
				}
				var first int64
				if err := s.read.QueryRow("SELECT min(start_us) FROM attempts").Scan(&first); err != nil {
					b.Fatal(err)
				}
				old := m.now(days).Sub(time.UnixMicro(first)) - days/50*oneDay
				keep := Retention{Ranks: old - days/50*oneDay, Jobs: old}
				time.Sleep(3 * time.Second)
				alone := waits.all()
				begin := time.Now()
				done, err := by.Retain(ctx, keep, m.now(days), nil)
				took := time.Since(begin)
				over.Store(true)
				wg.Wait()
				if err != nil {
					b.Error(err)
				}
				b.Logf("%+v; without it reports waited %s", done, alone)
				b.ReportMetric(took.Seconds(), "s-whole")
				b.ReportMetric(float64(done.Pruned+done.Trimmed)/took.Seconds(), "jobs/s")
				h, w := held.all(), waits.all()
				b.ReportMetric(h.at(1), "ms-longest-transaction")
				b.ReportMetric(w.at(.5), "ms-p50-wait")
				b.ReportMetric(w.at(.99), "ms-p99-wait")
				b.ReportMetric(w.at(1), "ms-longest-wait")
				b.ReportMetric(float64(refused.Load()), "refused")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// repeatDay writes the jobs of the first day again for each further day, with SQL.
func repeatDay(b *testing.B, database string, jobs, days int) {
	driver := "sqlite3"
	if IsPostgres(database) {
		driver = "pgx"
	}
	db, err := sql.Open(driver, database)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if driver == "sqlite3" {
		db.Exec("PRAGMA synchronous = OFF")
		db.Exec("PRAGMA cache_size = -200000")
	}
	own := map[string]string{"job_id": fmt.Sprintf("job_id + n * %d", jobs)}
	for _, column := range []string{"slurm_submit_us", "slurm_start_us", "slurm_end_us", "node_start_us", "node_end_us", "start_us"} {
		own[column] = fmt.Sprintf("%s + n * %d", column, oneDay.Microseconds())
	}
	for _, table := range append(slices.Clone(tablesOfAttempt), "attempts") {
		rows, err := db.Query("SELECT * FROM " + table + " WHERE job_id = -1")
		if err != nil {
			b.Fatal(err)
		}
		columns, _ := rows.Columns()
		rows.Close()
		if table == "attempts" {
			columns = slices.DeleteFunc(columns, func(c string) bool { return computed["attempts."+c] })
		}
		var values []string
		for _, c := range columns {
			values = append(values, cmp.Or(own[c], c))
		}
		_, err = db.Exec(fmt.Sprintf("WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < %d) INSERT INTO %s (%s) SELECT %s FROM many, %s WHERE job_id <= %d",
			days-1, table, strings.Join(columns, ", "), strings.Join(values, ", "), table, jobs))
		if err != nil {
			b.Fatal(err)
		}
	}
	if driver == "pgx" {
		if _, err := db.Exec("VACUUM ANALYZE"); err != nil {
			b.Fatal(err)
		}
	}
}

// timed measures how long each commit of a lane takes, and makes it longer.
type timed struct {
	committer
	longer time.Duration
	took   *durations
	most   int // pieces of work in one
}

func (t *timed) commit(batch []*op) {
	t0 := time.Now()
	t.most = max(t.most, len(batch))
	time.Sleep(t.longer)
	t.committer.commit(batch)
	t.took.add(time.Since(t0))
}

// durations are measured by several goroutines.
type durations struct {
	mu  sync.Mutex
	got sorted
}

type sorted []time.Duration

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, took)
}

func (d *durations) all() sorted {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.got))
}

// at is the duration below which a share of them lies, in milliseconds.
func (s sorted) at(share float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return s[int(share*float64(len(s)-1))].Seconds() * 1e3
}

func (s sorted) String() string {
	return fmt.Sprintf("p50 %.1f, p99 %.1f, longest %.1f ms", s.at(.5), s.at(.99), s.at(1))
}
