package main

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
)

// readUsers is the number of users of BenchmarkRead's jobs, and readSpan the time over which the jobs spread.
const (
	readUsers = 1000
	readSpan  = 365 * 24 * time.Hour
)

// readJobs is how many jobs BenchmarkRead's database has. JOBEFF_READ_JOBS=10000000 is
// the size of a large site after years.
func readJobs() int {
	if n, err := strconv.Atoi(os.Getenv("JOBEFF_READ_JOBS")); err == nil {
		return n
	}
	return 1_000_000
}

// BenchmarkRead measures how long a user waits for the program jobeff, with a jobeffd that has
// many jobs: for one job, and for the list of a user's month. First jobeffd has nothing else to
// do. Then 200 clients on the same CPUs report to it 500 times a second (43 millions a day), and
// then as fast as it takes their reports. On a site the clients are the nodes' own programs; here
// they get what jobeffd and jobeff leave of the CPUs (nice 19). JOBEFF_READ_DB names the database's
// file: it is kept, and used again if it is there.
func BenchmarkRead(b *testing.B) {
	d, people, begin := manyJobs(b)
	jobs, program := readJobs(), filepath.Join(d.dir, "jobeff")
	// Copied, as a package's files are: the kernel maps what the linker wrote in smaller parts,
	// which costs each start a millisecond or two.
	install := exec.Command("sh", "-c", `go build -trimpath -ldflags "-s -w" -o "$1.built" ../jobeff && cp "$1.built" "$1"`, "sh", program)
	if out, err := install.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.Run("months", func(b *testing.B) { benchMonths(b, d.db, begin) })
	d.start(b)
	people.start(b)
	month := func(i int) []string {
		from := begin.Add(time.Duration(i%11) * readSpan / 12)
		return []string{"-u", fmt.Sprint(2000 + i%readUsers), "-S", from.Format("2006-01-02"), "-E", from.Add(readSpan / 12).Format("2006-01-02"), "-P"}
	}
	cases := []struct {
		name  string
		args  func(i int) []string
		lines int // at least
	}{
		{"job", func(i int) []string { return []string{fmt.Sprint(1 + i*7919%jobs)} }, 5},
		{"month", month, 2},
		{"nothing", func(int) []string { return []string{"--version"} }, 1},
	}
	read := func(b *testing.B) {
		for _, c := range cases {
			b.Run(c.name, func(b *testing.B) {
				var waits []time.Duration
				for i := 0; b.Loop(); i++ {
					cmd := exec.Command(program, c.args(i)...)
					cmd.Env = append(os.Environ(), "JOBEFF_CONFIG="+filepath.Join(d.dir, "jobeff.toml"))
					t0 := time.Now()
					out, err := cmd.CombinedOutput()
					waits = append(waits, time.Since(t0))
					if err != nil || strings.Count(string(out), "\n") < c.lines {
						b.Fatalf("%v: %v: %s", cmd.Args, err, out)
					}
				}
				reportWaits(b, waits)
			})
		}
	}
	b.Run("alone", read)
	for _, load := range []struct {
		name  string
		limit rate.Limit
	}{{"busy", 500}, {"loaded", rate.Inf}} {
		b.Run(load.name, func(b *testing.B) {
			_, last := readable(b, d.db)
			stop := d.reportOn(b, last+1, load.limit)
			read(b)
			b.Logf("%s meanwhile", stop())
		})
	}
}

// manyJobs is a jobeffd, and one for people beside it, whose database has many jobs; begin is when the first
// began. Neither is started.
func manyJobs(b *testing.B) (d, people *daemon, begin time.Time) {
	d = newDaemon(b)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	d.program = []string{"nice", "-n", "10", self} // as in jobeffd.service, which jobeffd-read.service is not
	d.db = cmp.Or(os.Getenv("JOBEFF_READ_DB"), d.db)
	if _, err := os.Stat(d.db); err != nil {
		fillJobs(b, d.db, readJobs(), time.Now().Add(-readSpan).UTC())
	}
	conf := fmt.Sprintf("[server]\nsacct_interval = \"0s\"\nreport_rate = 0\nread_rate = 0\nconnections = 0\nsocket = %q\n[report]\nto = %q\n", d.socket, "unix:"+d.socket)
	if err := os.WriteFile(filepath.Join(d.dir, "jobeff.toml"), []byte(conf), 0o644); err != nil {
		b.Fatal(err)
	}
	begin, _ = readable(b, d.db)
	return d, d.reader(b), begin
}

// benchMonths measures how long the months of a year and its users take.
func benchMonths(b *testing.B, database string, begin time.Time) {
	db, err := store.Open(database)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for _, by := range []string{"month", "user"} {
		b.Run("by-"+by, func(b *testing.B) {
			var waits []time.Duration
			for b.Loop() {
				t0 := time.Now()
				all, err := db.Months(ctx, store.Viewer{All: true}, listing.MonthQuery{From: begin, By: []string{by}})
				waits = append(waits, time.Since(t0))
				if err != nil || len(all) < 12 {
					b.Fatal(all, err)
				}
			}
			reportWaits(b, waits)
		})
	}
}

// Readers of BenchmarkLoadBesidePeople: so many, each of which looks at something, rests, and looks again.
const (
	besideReaders = 200
	besideRests   = 10 * time.Second
	besideFor     = 30 * time.Second
	besideReports = 5000 // a second
)

// BenchmarkLoadBesidePeople lets 200 people look at lists, months and pages beside 5,000 reports a second, and
// without these: what each of them waits for, and how long reports do. All of them share the CPUs.
func BenchmarkLoadBesidePeople(b *testing.B) {
	d, people, begin := manyJobs(b)
	d.start(b)
	people.start(b)
	db, err := store.OpenBeside(d.db)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	browser := browserOf(people.socket)
	open := func(path string) error {
		text, err := opened(browser, path)
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", path, err, text)
		}
		return err
	}
	kinds := []string{"list", "months", "page"}
	look := map[string]func(i int) error{
		"list": func(i int) error {
			from := begin.Add(time.Duration(i%11) * readSpan / 12)
			return open(fmt.Sprintf("/v1/jobs?user=%d&start=%s&end=%s", 2000+i%readUsers, from.Format(time.RFC3339), from.Add(readSpan/12).Format(time.RFC3339)))
		},
		"months": func(i int) error {
			_, err := db.Months(ctx, store.Viewer{All: true}, listing.MonthQuery{From: begin, By: []string{"month", "user"}[i%2 : i%2+1]})
			return err
		},
		"page": func(i int) error { return open(fmt.Sprint("/jobs/", 1+i*7919%readJobs())) },
	}
	for _, limit := range []rate.Limit{0, besideReports} {
		b.Run(fmt.Sprintf("%g-reports", limit), func(b *testing.B) {
			if limit > 0 {
				_, last := readable(b, d.db)
				stop := d.reportOn(b, last+1, limit)
				defer func() { b.Log(stop()) }()
			}
			var mu sync.Mutex
			waits := map[string][]time.Duration{}
			var readers errgroup.Group
			begin := time.Now()
			for r := range besideReaders {
				readers.Go(func() error {
					time.Sleep(besideRests * time.Duration(r) / besideReaders)
					for i := r; time.Since(begin) < besideFor; i += besideReaders {
						kind := kinds[i%len(kinds)]
						t0 := time.Now()
						if err := look[kind](i); err != nil {
							return err
						}
						took := time.Since(t0)
						mu.Lock()
						waits[kind] = append(waits[kind], took)
						mu.Unlock()
						time.Sleep(besideRests)
					}
					return nil
				})
			}
			if err := readers.Wait(); err != nil {
				b.Fatal(err)
			}
			for _, kind := range kinds {
				all := waits[kind]
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2].Seconds()*1e3, kind+"-p50-ms")
				b.ReportMetric(all[len(all)*99/100].Seconds()*1e3, kind+"-p99-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// reportOn lets 200 clients report of jobs from first on, limit a second together, until it
// is told to stop; stop says how many reports a second were taken, and how long they waited. They are
// a process of its own.
func (d *daemon) reportOn(b *testing.B, first int, limit rate.Limit) (stop func() string) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("nice", "-n", "19", self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("JOBEFFD_TEST_LOAD=%s %d %g", d.socket, first, limit))
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	var ready string
	if _, err := fmt.Fscan(stdout, &ready); err != nil {
		b.Fatal("the clients: ", err)
	}
	return func() string {
		stdin.Close()
		said, err := io.ReadAll(stdout)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			b.Error("the clients: ", err)
		}
		return strings.TrimSpace(string(said))
	}
}

// reportClients is the process of reportOn: it reports as said, "SOCKET FIRST LIMIT", until
// its standard input ends; it writes "ready" when it begins, and at the end what stop returns.
func reportClients(said string) error {
	var d daemon
	var first int
	var limit rate.Limit
	if _, err := fmt.Sscan(said, &d.socket, &first, &limit); err != nil {
		return err
	}
	debug.SetGCPercent(loadGarbage)
	pace := rate.NewLimiter(limit, 1)
	next, _ := loadReports(loadJobs(), first)
	fmt.Println("ready")
	var mu sync.Mutex
	var waits []time.Duration
	var over atomic.Bool
	var clients errgroup.Group
	begin := time.Now()
	for range loadClients {
		clients.Go(func() error {
			c := &loadClient{socket: d.socket}
			defer c.Close()
			var own []time.Duration
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, own...)
			}()
			for body := next(); !over.Load(); body = next() {
				if body == nil {
					return errors.New("no report left: JOBEFF_LOAD_JOBS asks for more")
				}
				if err := pace.Wait(ctx); err != nil {
					return err
				}
				t0 := time.Now()
				if err := c.PostReport(ctx, body); err != nil {
					return err
				}
				own = append(own, time.Since(t0))
			}
			return nil
		})
	}
	io.Copy(io.Discard, os.Stdin)
	over.Store(true)
	err := clients.Wait()
	took := time.Since(begin)
	slices.Sort(waits)
	fmt.Printf("%.0f reports a second, p50 %.1f and p99 %.1f ms\n", float64(len(waits))/took.Seconds(),
		waits[len(waits)/2].Seconds()*1e3, waits[len(waits)*99/100].Seconds()*1e3)
	return err
}

// readable is when the first of the jobs began, and the last one's number.
func readable(b *testing.B, path string) (begin time.Time, last int) {
	db := openSQL(b, path)
	defer db.Close()
	var first int64
	if err := db.QueryRow("SELECT (SELECT start_us FROM attempts WHERE cluster = 'test' AND job_id = 2), (SELECT max(job_id) FROM attempts WHERE cluster = 'test')").Scan(&first, &last); err != nil {
		b.Fatal(err)
	}
	return time.UnixMicro(first).UTC(), last
}

// fillJobs makes a database that holds one job, as it came from its node, many times.
func fillJobs(b *testing.B, path string, jobs int, begin time.Time) {
	s, err := store.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	r := report(1)
	x := &r.Executions[0]
	x.Executable, x.BuildID, x.ArgsHash, x.InputHash = "/apps/bin/model", "b1d0", strings.Repeat("a1", 16), strings.Repeat("c1", 16)
	text, _ := json.Marshal(r)
	if _, err := s.AddReport(ctx, store.Sender{}, r, wire.Compress(text)); err != nil {
		b.Fatal(err)
	}
	s.Close()
	db, err := sql.Open("sqlite3", path+"?_synchronous=OFF&_cache_size=-200000")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TEMP TABLE keys (uid INTEGER PRIMARY KEY, key TEXT)"); err != nil {
		b.Fatal(err)
	}
	for uid := 2000; uid < 2000+readUsers; uid++ {
		if _, err := db.Exec("INSERT INTO keys VALUES (?, ?)", uid, job.WorkloadKey(r.Cluster, uint32(uid), x)); err != nil {
			b.Fatal(err)
		}
	}
	step := readSpan.Microseconds() / int64(jobs)
	start := fmt.Sprintf("%d + n * %d", begin.UnixMicro(), step)
	uid := fmt.Sprintf("2000 + n * 31 %% %d", readUsers)
	own := map[string]string{"job_id": "n", "uid": uid, "start_us": start,
		// one in 20 is a run of the workload that its job's page shows
		"workload_key": "CASE WHEN n / " + fmt.Sprint(readUsers) + " % 20 = 0 THEN (SELECT key FROM keys k WHERE k.uid = " + uid + ") ELSE 'other' || n % 100000 END",
		"state":        "'COMPLETED'", "alloc_cpus": "1", "account": "'of' || (n * 31 % " + fmt.Sprint(readUsers) + " / 20)", "partition_name": "'part' || n % 4",
		"slurm_submit_us": start, "slurm_start_us": start, "slurm_end_us": start + " + 20000000", "slurm_elapsed_s": "20",
		"node_start_us": start, "node_end_us": start + " + 20000000"}
	restore := dropIndexes(b, db) // to sort once takes half as long as to insert in no order
	for _, table := range []string{"attempts", "reports", "executions", "workload_runs"} {
		repeatRow(b, db, table, jobs, own)
	}
	restore()
	if _, err := db.Exec("UPDATE attempts SET uid = 2000 WHERE job_id = 1"); err != nil {
		b.Fatal(err)
	}
}

// dropIndexes drops the indexes that are no constraints; restore makes them again.
func dropIndexes(b *testing.B, db *sql.DB) (restore func()) {
	rows, err := db.Query("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	do := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			b.Fatal(err)
		}
	}
	var drops, creates []string
	for rows.Next() {
		var name, create string
		if err := rows.Scan(&name, &create); err != nil {
			b.Fatal(err)
		}
		drops, creates = append(drops, "DROP INDEX "+name), append(creates, create)
	}
	rows.Close() // there is one connection
	for _, d := range drops {
		do(d)
	}
	return func() {
		for _, c := range creates {
			do(c)
		}
	}
}

// repeatRow writes job 1's rows of a table again for jobs 2 to jobs; own are the columns
// that differ, with n for the job's number.
func repeatRow(b *testing.B, db *sql.DB, table string, jobs int, own map[string]string) {
	rows, err := db.Query("SELECT name FROM pragma_table_info(?)", table) // leaves out computed columns
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var names, values []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			b.Fatal(err)
		}
		names, values = append(names, name), append(values, cmp.Or(own[name], name))
	}
	rows.Close() // there is one connection
	_, err = db.Exec(fmt.Sprintf(`WITH RECURSIVE many(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM many WHERE n < %d)
		INSERT INTO %s (%s) SELECT %s FROM many, %s WHERE job_id = 1`, jobs, table, strings.Join(names, ", "), strings.Join(values, ", "), table))
	if err != nil {
		b.Fatal(err)
	}
}
