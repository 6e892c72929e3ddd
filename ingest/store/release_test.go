package store

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/wire"
	"jobeff/policy/harm"
	"jobeff/policy/overhead"
	"jobeff/test/pgtest"
)

// A release's fixture is a folder of testdata named as its version. It has a database and an export of each engine, and
// fixtureReports: what nodes sent, a line of JSON each.
const fixtureReports = "reports.zst"

// fixtureDatabase and fixtureExport are of the engine under test: SQLite's file or PostgreSQL's dump, and what
// `jobeff admin export --json` made of it.
func fixtureDatabase() string { return engineName() + ".zst" }
func fixtureExport() string   { return engineName() + ".export.zst" }

func engineName() string {
	if os.Getenv(testServer) != "" {
		return "postgres"
	}
	return "sqlite"
}

// makeRelease names the release whose fixture TestMakeRelease makes of this tree.
const makeRelease = "JOBEFF_MAKE_RELEASE"

// releases are the versions from 0.1.0 on whose fixtures are there.
func releases(t *testing.T) (versions []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/*/" + fixtureReports)
	if err != nil || len(all) == 0 {
		t.Fatalf("no releases, %v", err)
	}
	for _, path := range all {
		versions = append(versions, filepath.Base(filepath.Dir(path)))
	}
	return versions
}

func fixture(t *testing.T, version, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", version, name))
	if err != nil {
		t.Fatal(err)
	}
	text, err := wire.Decompress(packed)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ofRelease is the database of a release on the engine under test.
func ofRelease(t *testing.T, version string) (database string) {
	t.Helper()
	database = emptyDatabase(t)
	content := fixture(t, version, fixtureDatabase())
	if os.Getenv(testServer) == "" {
		writeFile(t, database, content)
	} else if err := pgtest.Exec(database, string(content)); err != nil {
		t.Fatal(err)
	}
	return database
}

// TestReleaseMigrates: a database of each release is brought up to date. Each value of each row is there, its tables are those of
// a new database, and it goes on.
func TestReleaseMigrates(t *testing.T) {
	for _, version := range releases(t) {
		t.Run(version, func(t *testing.T) {
			database := ofRelease(t, version)
			e, err := openBeside(database)
			if err != nil {
				t.Fatal(err)
			}
			from, err := schemaOf(e.writeDB())
			before := content(t, e.writeDB())
			if err := errors.Join(err, e.close()); err != nil {
				t.Fatal(err)
			}
			for table, rows := range before {
				if len(rows) == 0 {
					t.Errorf("the fixture has nothing in %s", table)
				}
			}
			if was, to, err := Migrate(database); err != nil || was != from || to != schemaVersion {
				t.Fatalf("from %d to %d: %v", was, to, err)
			}
			s := openAt(t, database)
			after := content(t, s.read.DB)
			for table, rows := range before {
				var kept []row
				for _, r := range after[table] {
					r = maps.Clone(r)
					if len(rows) > 0 {
						maps.DeleteFunc(r, func(c string, _ any) bool { _, old := rows[0][c]; return !old })
					}
					kept = append(kept, r)
				}
				if d := cmp.Diff(rows, inOrder(kept)); d != "" {
					t.Errorf("%s: %s", table, d)
				}
			}
			if d := cmp.Diff(tablesOf(t, open(t)), tablesOf(t, s)); d != "" {
				t.Errorf("a step of migrations that a release has was changed: %s", d)
			}
			wantSums(t, s, "the migration")
			if j := aJob(t, settled(t, s), root, "8", 0); j.Metrics == nil || j.Flags == nil {
				t.Errorf("judged: %+v", j)
			}
			add(t, s, nodeReport(100, 1, "z", 50*oneDay))
			wantSums(t, merged(t, s), "a report")
		})
	}
}

// TestReleaseExports: what a release exported comes in, and is what the release's database has.
func TestReleaseExports(t *testing.T) {
	for _, version := range releases(t) {
		t.Run(version, func(t *testing.T) {
			s := open(t)
			if _, err := s.Import(ctx, bytes.NewReader(fixture(t, version, fixtureExport())), nil); err != nil {
				t.Fatal(err)
			}
			database := ofRelease(t, version)
			if _, _, err := Migrate(database); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(exported(t, openAt(t, database)), exported(t, s)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReleaseReports: what a release's nodes send is taken, and tells what it told the release.
func TestReleaseReports(t *testing.T) {
	for _, version := range releases(t) {
		t.Run(version, func(t *testing.T) {
			s, n := open(t), 0
			old := openAt(t, ofRelease(t, version))
			for lines := bufio.NewScanner(bytes.NewReader(fixture(t, version, fixtureReports))); lines.Scan(); n++ {
				r, err := wire.DecodeReport(lines.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				if added, err := s.AddReport(ctx, Sender{}, r, wire.Compress(lines.Bytes())); !added || err != nil {
					t.Errorf("job %d: %t, %v", r.JobID, added, err)
				}
			}
			if n < 5 {
				t.Errorf("%d reports", n)
			}
			for _, id := range []string{"8", "9", "10"} {
				if d := cmp.Diff(aJob(t, old, root, id, 0).Metrics, aJob(t, s, root, id, 0).Metrics); d != "" {
					t.Errorf("job %s: %s", id, d)
				}
			}
		})
	}
}

// TestMakeRelease makes the fixture of the release that $JOBEFF_MAKE_RELEASE names, from this tree. Each engine adds its part.
func TestMakeRelease(t *testing.T) {
	version := os.Getenv(makeRelease)
	if version == "" {
		t.Skip("it makes the fixture of a release")
	}
	database := newDatabase(t)
	s := openAt(t, database)
	reports := fillRelease(t, s)
	write := func(name string, text []byte) {
		t.Helper()
		path := filepath.Join("testdata", version, name)
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("%s is there: a release's fixture never changes", path)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, wire.Compress(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(fixtureExport(), []byte(exported(t, s)))
	if os.Getenv(testServer) != "" {
		dump, err := exec.Command("pg_dump", "--no-owner", "--no-privileges", "--column-inserts", "--rows-per-insert=100", database).Output()
		if err != nil {
			t.Fatal(err)
		}
		write(fixtureDatabase(), regexp.MustCompile(`(?m)^(--|\\|SET transaction_timeout).*\n`).ReplaceAll(dump, nil)) // what only psql or a newer server knows
		return
	}
	s.Close()
	file, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	write(fixtureDatabase(), file)
	var lines bytes.Buffer
	for _, r := range reports {
		if err := json.NewEncoder(&lines).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	write(fixtureReports, lines.Bytes())
}

// fillRelease puts something into every table: jobs with and without figures, dropped and trimmed ones, of several
// nodes, that run and that wait.
func fillRelease(t *testing.T, s *Store) (reports []*job.NodeReport) {
	t.Helper()
	filled := filledReport()
	filled.JobID, filled.Nonce = 10, hex("filled", 1)
	running := nodeReport(11, 1, "running", oneDay)
	running.Sequence, running.AsOf = 7, running.End
	timed := timedReports(13, 0, time.Hour/2)[0]
	ended := []*job.NodeReport{runReport(8, 1, 4, nil), runReport(9, 2, 8, named("=w")), filled, nodeReport(12, 1, "long ago", -90*oneDay)}
	reports = slices.Concat(ofNodes(7, 2, "a", 0), []*job.NodeReport{running}, ended)
	add(t, s, reports...)
	addConfirmed(t, s, ended...)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	several := sacct(7, "7", "COMPLETED", 0, 0, 20*time.Second)
	several.Nodes, several.NodeList = 2, "n[1-2]"
	add(t, s, timed)
	_, err := s.AddSlurm(ctx, []slurm.Job{several, timedLine(13, "COMPLETED", 0, 1), sacct(50, "50", "FAILED", 0, 0, time.Second)})
	do(err)
	_, err = s.Retain(ctx, Retention{Jobs: 30 * oneDay}, day.Add(oneDay), nil)
	do(err)
	for _, r := range reports[:2] {
		addLogs(t, s, logsOfNode(r))
	}
	l, _ := nextLogs(t, s, time.Now().Add(time.Hour))
	do(s.KeepWindows(ctx, l, &l.Heads[0], &job.Windows{Logged: 8, Matched: 8, Share: 1, Serialisation: job.Estimate{Value: 0.5, Low: 0.4, High: 0.6}}))
	merged(t, s)
	addLogs(t, s, logsOfNode(running))
	_, err = s.DecideMail(ctx, mailOf("notice:1"))
	do(err)
	_, err = s.SetMute(ctx, alice, "=w", nil, job.Mute{Until: day.Add(oneDay), Reason: "known"})
	do(err)
	_, err = s.AddOverheads(ctx, []overhead.Curve{anOverhead("Open MPI v4.1.4", overhead.Send, 1, 1)})
	do(err)
	s.HeardOutbox("test", "n1", wire.OutboxState{Waiting: 2, Oldest: time.Hour}, day)
	do(s.keepHeard(ctx, day.Add(oneDay)))
	do(s.SetGrants(ctx, "", []Grant{{1, "chem"}}))
	do(s.SetRooms(ctx, "test", day, roomsOfMain(job.NodeKind{Nodes: 1, CPUs: 32, Memory: 1 << 40})))
	setPending(t, s, waiting(60, "60", 1001, "chem"))
	do(s.KeepAlarm(ctx, &harm.Alarm{Kind: harm.AlarmCrashed, From: day, At: day.Add(time.Hour), Measured: 5, MeasuredBad: 2, Others: 4, Jobs: []uint32{7}}))
	do(s.KeepComparison(ctx, &harm.Comparison{Users: 14, Measured: 780, Others: 770, OneIn: 20}))
	do(s.JudgeBy(ctx, 5))
	for judged(t, s, rulesOf(5), oneDay) > 0 {
	}
	do(s.KeepSlowNodes(ctx, &listing.SlowNodes{At: day, Observed: 1}))
	return append(reports, timed)
}

func exported(t *testing.T, s *Store) string {
	t.Helper()
	var out strings.Builder
	if err := s.Export(ctx, &out, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// content is all rows of all tables of a database, sorted.
func content(t *testing.T, db *sql.DB) map[string][]row {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if os.Getenv(testServer) != "" {
		query = "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"
	}
	tables, err := readRows(db.Query(query))
	if err != nil || len(tables) < 10 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	all := map[string][]row{}
	for _, table := range tables {
		name := fmt.Sprint(table["name"])
		if name == "goose_db_version" {
			continue
		}
		rows, err := readRows(db.Query("SELECT * FROM " + name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = inOrder(rows)
	}
	return all
}

func inOrder(rows []row) []row {
	return slices.SortedFunc(slices.Values(rows), func(a, b row) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// tablesOf are the tables, views, indexes and triggers of a database, as the engine has their text.
func tablesOf(t *testing.T, s *Store) (all []string) {
	t.Helper()
	queries := []string{"SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'goose%' ORDER BY name"}
	if os.Getenv(testServer) != "" {
		queries = []string{postgresColumns + " ORDER BY 1", "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
			"SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
			"SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1", "SELECT pg_get_viewdef('counted'::regclass)"}
	}
	return linesOf(t, s, queries...)
}
