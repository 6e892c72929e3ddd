package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/etc"
	"jobeff/ingest/server"
	"jobeff/ingest/store"
)

// What BenchmarkSite opens: pages of jobs at random, of those with most to read, and the
// digest, so many times.
const (
	siteRandom  = 500
	siteHeavy   = 50
	siteDigests = 10
)

// BenchmarkSite measures how long a browser waits for pages of the made-up site of 300,000
// jobs that jobeff admin demo-data makes, and the CPU time of both. JOBEFF_SITE names such
// a database if there is one already: a file, or the URL of a PostgreSQL.
func BenchmarkSite(b *testing.B) {
	database := os.Getenv("JOBEFF_SITE")
	if database == "" {
		database = filepath.Join(b.TempDir(), "site.db")
		begin := time.Now()
		if cmd, stderr := adminProcess("demo-data", database); cmd.Run() != nil {
			b.Fatal(stderr)
		}
		took := time.Since(begin)
		b.Run("demo-data", func(b *testing.B) {
			b.ReportMetric(took.Seconds(), "s")
			b.ReportMetric(0, "ns/op")
		})
	}
	db, err := store.Open(database)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	browser, _ := browse(b, db)
	all := sitePaths(b, database, "SELECT job_id FROM attempts ORDER BY job_id")
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	for _, c := range []struct {
		name  string
		paths []string
	}{
		{"random", all[:min(siteRandom, len(all))]},
		{"largest-workloads", sitePaths(b, database, "SELECT max(job_id) FROM workload_runs GROUP BY workload_key ORDER BY count(*) DESC LIMIT ?", siteHeavy)},
		{"largest-jobs", sitePaths(b, database, "SELECT job_id FROM executions ORDER BY length(detail) DESC LIMIT ?", siteHeavy)},
		{"digest", slices.Repeat([]string{"/digest"}, siteDigests)},
		{"list", slices.Repeat([]string{"/jobs", "/jobs?sort=-pe&rule=low-efficiency", "/jobs?program=lmp&name=me"}, siteDigests)},
		{"list-of-92-days", slices.Repeat([]string{"/jobs?start=" + time.Now().AddDate(0, 0, 1-92).Format(time.DateOnly)}, siteDigests)},
		{"sums", slices.Repeat([]string{"/months", "/users", "/accounts"}, siteDigests)},
		{"programs", slices.Repeat([]string{"/programs"}, siteDigests)},
		{"workloads", slices.Repeat([]string{"/workloads"}, siteDigests)},
		{"notices", slices.Repeat([]string{"/notices"}, siteDigests)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var waits []time.Duration
			before := cpuTime(b)
			for b.Loop() {
				for _, path := range c.paths {
					t0 := time.Now()
					text, err := opened(browser, path)
					waits = append(waits, time.Since(t0))
					if err != nil {
						b.Fatalf("%s: %v: %s", path, err, text)
					}
				}
			}
			b.ReportMetric((cpuTime(b)-before).Seconds()*1e3/float64(len(waits)), "cpu-ms/page")
			reportWaits(b, waits)
		})
	}
}

// sitePaths are the pages of the jobs that a query finds.
func sitePaths(b *testing.B, database, query string, args ...any) (paths []string) {
	if store.IsPostgres(database) {
		query = strings.ReplaceAll(query, "?", "$1")
	}
	db := openSQL(b, database)
	defer db.Close()
	rows, err := db.Query(query, args...)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			b.Fatal(err)
		}
		paths = append(paths, fmt.Sprintf("/jobs/%d", id))
	}
	return paths
}

// browse serves a database's pages on a socket, and returns a client that looks at them.
func browse(b testing.TB, db *store.Store) (browser *http.Client, socket string) {
	o := server.Options{Store: db, Log: zerolog.Nop()}
	if err := show(&o, etc.Default()); err != nil {
		b.Fatal(err)
	}
	l, err := server.ListenUnix(filepath.Join(b.TempDir(), "sock"))
	if err != nil {
		b.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- server.New(o).Serve(run, l) }()
	b.Cleanup(func() { stop(); <-done })
	socket = l.Addr().String()
	return browserOf(socket), socket
}

// browserOf returns a client that looks at the pages on a socket.
func browserOf(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// opened reads a page to its last byte.
func opened(browser *http.Client, path string) ([]byte, error) {
	resp, err := browser.Get("http://jobeffd" + path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return text, err
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	cpu, _ := spent()
	return cpu
}

// reportWaits reports the middle, the slowest hundredth and the slowest.
func reportWaits(b *testing.B, waits []time.Duration) {
	slices.Sort(waits)
	b.ReportMetric(waits[len(waits)/2].Seconds()*1e3, "p50-ms")
	b.ReportMetric(waits[len(waits)*99/100].Seconds()*1e3, "p99-ms")
	b.ReportMetric(waits[len(waits)-1].Seconds()*1e3, "max-ms")
	b.ReportMetric(0, "ns/op")
}
