package main

import (
	"cmp"
	"database/sql"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/store"
)

var growth = flag.String("growth", "10000,100000", "how many jobs the sites of BenchmarkGrowth have, each ten times as many as the one before")

// How BenchmarkGrowth makes a larger site of a small one: copies of its jobs, of other workloads, an hour apart.
const (
	copyIDs   = 100_000 // the ids of a copy's jobs begin so much later
	copyUsers = 32      // so many copies have users of their own
	copyHours = 6 * 24
)

// BenchmarkGrowth measures jobeffd's CPU time for what people ask, on larger and larger made-up sites of a year. It also finds
// the power of the number of jobs with which that time grows. JOBEFF_GROWTH_DB names the database: a file, or the URL of an
// empty PostgreSQL. PostgreSQL's own CPU time is not counted, so with it the time that passes is measured.
func BenchmarkGrowth(b *testing.B) {
	database := cmp.Or(os.Getenv("JOBEFF_GROWTH_DB"), filepath.Join(b.TempDir(), "site.db"))
	var sizes []int
	for text := range strings.SplitSeq(*growth, ",") {
		n, err := strconv.Atoi(text)
		must(b, err)
		sizes = append(sizes, n)
	}
	begin := time.Now()
	if cmd, stderr := adminProcess("demo-data", "--jobs", fmt.Sprint(sizes[0]), database); cmd.Run() != nil {
		b.Fatal(stderr)
	}
	var made []string
	costs := map[string][]float64{}
	for i, size := range sizes {
		if i > 0 {
			begin = time.Now()
			growSite(b, database, size/sizes[0])
		}
		made = append(made, fmt.Sprintf("%8.0f s", time.Since(begin).Seconds()))
		for _, c := range growthCosts(b, database) {
			costs[c.name] = append(costs[c.name], c.ms)
		}
	}
	b.ReportMetric(0, "ns/op")
	var head []string
	for _, size := range sizes {
		head = append(head, fmt.Sprintf("%10d", size))
	}
	fmt.Printf("%-44s%s  power\n", "ms of CPU time, of so many jobs", strings.Join(head, ""))
	fmt.Printf("%-44s%s\n", "made in", strings.Join(made, ""))
	for _, name := range growthNames {
		var row []string
		all := costs[name]
		for _, ms := range all {
			row = append(row, fmt.Sprintf("%10.1f", ms))
		}
		power := "-"
		if n := len(all); n > 1 && all[n-1] > 0 && all[n-2] > 0 {
			power = fmt.Sprintf("%.2f", math.Log10(all[n-1]/all[n-2]))
		}
		fmt.Printf("%-44s%s  %s\n", name, strings.Join(row, ""), power)
	}
}

// copied are the tables of jobs of which growSite makes copies; the sums follow from them.
var copied = []string{"attempts", "executions", "workload_runs"}

// growSite adds copies of a site's first jobs until there are so many.
func growSite(b *testing.B, database string, times int) {
	db := openSQL(b, database)
	defer db.Close()
	db.SetMaxOpenConns(1)
	onPostgres := store.IsPostgres(database)
	if !onPostgres {
		for _, text := range []string{"journal_mode = WAL", "synchronous = OFF", "cache_size = -2000000"} {
			_, err := db.Exec("PRAGMA " + text)
			must(b, err)
		}
	}
	var first, have int
	must(b, db.QueryRow("SELECT min(job_id) FROM attempts").Scan(&first))
	must(b, db.QueryRow("SELECT count(DISTINCT (job_id - "+fmt.Sprint(first)+") / "+fmt.Sprint(copyIDs)+") FROM attempts").Scan(&have))
	for n := have; n < times; n++ {
		tx, err := db.Begin()
		must(b, err)
		for _, table := range copied {
			_, err = tx.Exec(copyOf(b, tx, table, onPostgres, n, first+copyIDs))
			must(b, err)
		}
		must(b, tx.Commit())
	}
	for _, text := range map[bool][]string{true: {"ANALYZE"}, false: {"ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"}}[onPostgres] {
		_, err := db.Exec(text)
		must(b, err)
	}
}

// copyOf is the statement that makes the n-th copy of the rows of jobs below an id.
func copyOf(b *testing.B, tx *sql.Tx, table string, onPostgres bool, n, below int) string {
	query := "SELECT name FROM pragma_table_xinfo('" + table + "') WHERE hidden = 0"
	if onPostgres {
		query = "SELECT column_name FROM information_schema.columns WHERE table_name = '" + table + "' AND is_generated = 'NEVER'"
	}
	rows, err := tx.Query(query)
	must(b, err)
	defer rows.Close()
	var columns, values []string
	for rows.Next() {
		var name string
		must(b, rows.Scan(&name))
		value := name
		switch name {
		case "job_id":
			value = fmt.Sprintf("job_id + %d", n*copyIDs)
		case "array_job_id", "het_job_id":
			value = fmt.Sprintf("CASE WHEN %s > 0 THEN %[1]s + %d ELSE 0 END", name, n*copyIDs)
		case "uid":
			value = fmt.Sprintf("uid + %d", n%copyUsers*1000)
		case "user_name":
			value = fmt.Sprintf("user_name || '%d'", n%copyUsers)
		case "workload_key":
			value = fmt.Sprintf("substr(workload_key, 1, 14) || '%06x'", n)
		case "workload_name":
			value = fmt.Sprintf("workload_name || '-%d'", n)
		case "lineage":
			value = fmt.Sprintf("CASE WHEN lineage = '' THEN '' ELSE lineage || '%06x' END", n)
		case "start_us", "end_us", "slurm_submit_us", "eligible_us", "slurm_start_us", "slurm_end_us", "node_start_us", "node_end_us", "changed_us":
			value = fmt.Sprintf("%s - %d", name, (time.Duration(n*37%copyHours) * time.Hour).Microseconds())
		}
		columns, values = append(columns, name), append(values, value)
	}
	must(b, rows.Err())
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %[1]s WHERE job_id < %[4]d", table, strings.Join(columns, ", "), strings.Join(values, ", "), below)
}

// growthCost is what one kind of request took.
type growthCost struct {
	name string
	ms   float64
}

// growthNames are the requests, in the order of the table.
var growthNames []string

// growthCosts measures each kind of request: the middle of several, after one that is not counted.
func growthCosts(b *testing.B, database string) (all []growthCost) {
	db, err := store.Open(database)
	must(b, err)
	defer db.Close()
	browser, _ := browse(b, db)
	onPostgres := store.IsPostgres(database)
	jobs := sitePaths(b, database, "SELECT job_id FROM attempts WHERE array_job_id = 0 ORDER BY job_id LIMIT ?", 12)
	now := time.Now()
	day := func(ago int) string { return now.AddDate(0, 0, -ago).Format(time.DateOnly) }
	list := func(from, to int, more string) func(int) string {
		return func(n int) string {
			path := "/v1/jobs?stored=1&limit=100&start=" + day(from+n) + "T00:00:00Z" + more
			if to > 0 {
				path += "&end=" + day(to+n) + "T00:00:00Z"
			}
			return path
		}
	}
	growthNames = nil
	for _, c := range []struct {
		name string
		path func(n int) string
	}{
		{"list of 7 days", list(7, 0, "")},
		{"list of 7 days, half a year ago", list(187, 180, "")},
		{"list of a day, half a year ago", list(181, 180, "")},
		{"list of 91 days", list(91, 0, "")},
		{"list of 360 days", list(350, 0, "")},
		{"list of 360 days, one account", list(350, 0, "&account=physics")},
		{"list of 360 days, failed", list(350, 0, "&state=FAILED")},
		{"list of 360 days, a name that none has", list(350, 0, "&name=nosuch")},
		{"list of 360 days, a program", list(350, 0, "&program=lmp")},
		{"list of 360 days, by a rule", list(350, 0, "&rule=low-efficiency")},
		{"list of 7 days, most lost first", list(7, 0, "&sort=lost")},
		{"list of 91 days, most lost first", list(91, 0, "&sort=lost")},
		{"list of 360 days, most lost first", list(350, 0, "&sort=lost")},
		{"page of a job", func(n int) string { return jobs[n] }},
		{"document of a job", func(n int) string { return "/v1" + jobs[n] }},
		{"digest of a week", func(n int) string {
			return "/v1/digest?from=" + day(14+n) + "T00:00:00Z&to=" + day(7+n) + "T00:00:00Z"
		}},
		{"months", func(int) string { return "/months" }},
		{"users", func(int) string { return "/users" }},
		{"accounts", func(int) string { return "/accounts" }},
		{"programs", func(int) string { return "/programs" }},
		{"workloads", func(int) string { return "/workloads" }},
	} {
		growthNames = append(growthNames, c.name)
		var took []float64
		for n := range 6 {
			before, t0 := cpuTime(b), time.Now()
			_, err := opened(browser, c.path(n))
			ms := (cpuTime(b) - before).Seconds() * 1e3
			if onPostgres {
				ms = time.Since(t0).Seconds() * 1e3
			}
			if err != nil && !strings.Contains(err.Error(), fmt.Sprint(http.StatusServiceUnavailable)) {
				b.Fatalf("%s: %v", c.path(n), err)
			}
			if n > 0 {
				took = append(took, ms)
			}
			if err != nil || ms > 3000 { // it takes too long to ask again
				took = append(took, ms)
				break
			}
		}
		slices.Sort(took)
		all = append(all, growthCost{c.name, took[len(took)/2]})
	}
	return all
}
