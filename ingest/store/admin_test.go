package store

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/ingest/wire"
	"jobeff/policy"
)

// TestExportImport imports an export into an empty database and into one with jobs of its
// own. A second import adds nothing. A cut or foreign file is refused with the reason.
func TestExportImport(t *testing.T) {
	s := open(t)
	add(t, s, ofNodes(7, 3, "a", 0)...)
	addConfirmed(t, s, runReport(8, 1, 4, nil), runReport(9, 2, 8, named("=w")), nodeReport(7, 1, "b", oneDay))
	if _, err := s.AddSlurm(ctx, []slurm.Job{sacct(8, "8", "FAILED", 0, 3600*1e9, 3620*1e9), sacct(50, "50", "COMPLETED", 0, 0, 1e9)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retain(ctx, Retention{Jobs: oneDay}, day.Add(oneDay+5400*1e9), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DecideMail(ctx, mailOf("notice:1")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Export(ctx, &out, nil); err != nil {
		t.Fatal(err)
	}
	attempts := count(t, s, "attempts")
	if attempts < 2 || count(t, s, "rollup_months") < 1 {
		t.Fatalf("%d attempts: the test is empty", attempts)
	}
	to := open(t)
	want := Imported{Attempts: attempts, Months: count(t, s, "rollup_months") + count(t, s, "month_sums WHERE part < 0"), Mails: 1, Notices: 1}
	for range 2 {
		got, err := to.Import(ctx, bytes.NewReader(out.Bytes()), nil)
		if err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		want = Imported{Known: want.Attempts + want.Months + 2}
	}
	if d := cmp.Diff(monthsOf(t, s), monthsOf(t, to)); d != "" || len(monthsOf(t, s)) == 0 {
		t.Error("the sums of months: ", d)
	}
	var again bytes.Buffer
	if err := to.Export(ctx, &again, nil); err != nil || again.String() != out.String() {
		t.Errorf("%v: %s", err, cmp.Diff(out.String(), again.String()))
	}
	for _, id := range []string{"9"} {
		if d := cmp.Diff(aJob(t, s, root, id, 0), aJob(t, to, root, id, 0), cmpopts.EquateEmpty()); d != "" {
			t.Error(id, d)
		}
	}
	busy := open(t)
	other := nodeReport(9, 1, "z", 100*oneDay)
	other.UID = 1002
	add(t, busy, other)
	if got, err := busy.Import(ctx, bytes.NewReader(out.Bytes()), nil); err != nil || got.Attempts != attempts || got.Renumbered != 1 {
		t.Errorf("into another: %+v, %v", got, err)
	}
	if j := aJob(t, busy, bob, "9", 0); j.Reports != 1 || aJob(t, busy, alice, "9", 0).Reports != 1 {
		t.Errorf("got %+v", j)
	}
	head := fmt.Sprintf(`{"jobeff_export":1,"schema":%d}`, schemaVersion)
	for text, want := range map[string]string{
		"":                         "line 1: EOF: it was not made by",
		"{}":                       "line 1: this is no export",
		`{"jobeff_export":9}`:      "comes from another version of jobeff",
		out.String()[:out.Len()/2]: "cut short",
		head + `{"attempt":{"cluster":"c","job_id":1,"attempt":1,"uid":0,"x=1;--":1}}`: `table attempts has no column "x=1;--"`,
		head + `{"attempt":{"cluster":"c"}}`:                                           "it names no job",
		head + `{}`:                                                                    "nothing that is known",
	} {
		if _, err := open(t).Import(ctx, strings.NewReader(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

// TestCSV: a spreadsheet that opens the table runs no formula of it.
func TestCSV(t *testing.T) {
	s := open(t)
	r := nodeReport(7, 1, "a", 0)
	r.Account, r.User = "=1+1", "@x"
	add(t, s, r, runReport(8, 1, 4, named("-w")))
	merged(t, s)
	var out bytes.Buffer
	if err := s.ExportCSV(ctx, &out, false, nil); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][0] != "cluster" || rows[1][1] != "7" || rows[1][8] != "'@x" || rows[1][9] != "'=1+1" {
		t.Errorf("%v: %q", err, rows)
	}
	if _, err := s.Retain(ctx, Retention{Jobs: oneDay}, day.Add(10*oneDay), nil); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := s.ExportCSV(ctx, &out, true, nil); err != nil || !strings.Contains(out.String(), "test,202611,1001,'=1+1,,'@x,,1,0,1,0,0,24,14,10\n") {
		t.Errorf("%v: %s", err, &out)
	}
	for in, want := range map[string]string{"": "", "a=b": "a=b", "=a": "'=a", "+a": "'+a", "-a": "'-a", "@a": "'@a", "\ta": "'\ta", "\ra": "'\ra"} {
		if got := noFormula(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestBackup: a backup is made while reports come, and restored to a new and an old place.
func TestBackup(t *testing.T) {
	onlySQLite(t, "pg_dump does it")
	database := newDatabase(t)
	s := openAt(t, database)
	for i := range uint32(50) {
		add(t, s, nodeReport(100+i, 1, "a", 0))
	}
	stop := make(chan struct{})
	done := make(chan int)
	go func() {
		n := 0
		for i := uint32(1000); ; i++ {
			select {
			case <-stop:
				done <- n
				return
			default:
				if _, err := addReport(s, nodeReport(i, 1, "a", 0)); err != nil {
					t.Error(err)
				}
				n++
			}
		}
	}()
	dir := t.TempDir()
	file := filepath.Join(dir, "backup.db")
	if err := Backup(ctx, database, file); err != nil {
		t.Fatal(err)
	}
	close(stop)
	n := <-done
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := Backup(ctx, database, file); err == nil || !strings.Contains(err.Error(), "exists: name a new file") {
		t.Errorf("over a file: %v", err)
	}
	if err := Restore(ctx, file, database, false); err == nil || !strings.Contains(err.Error(), "another jobeffd uses") {
		t.Errorf("while it attempts: %v", err)
	}
	s.Close()
	var has *hasJobsError
	if err := Restore(ctx, file, database, false); !errors.As(err, &has) || has.Jobs != int64(50+n) {
		t.Errorf("over jobs: %v", err)
	}
	for _, to := range []string{filepath.Join(dir, "new", "jobeff.db"), database} {
		if err := Restore(ctx, file, to, to == database); err != nil {
			t.Fatal(err)
		}
		r := openAt(t, to)
		if got := count(t, r, "attempts"); got < 50 || got > 50+n || count(t, r, "reports") != got {
			t.Errorf("%s: %d attempts of %d", to, got, 50+n)
		}
		add(t, r, nodeReport(7, 1, "a", 0))
		r.Close()
	}
	old := openAt(t, database+".old")
	if got := count(t, old, "attempts"); got != 50+n {
		t.Errorf("what was replaced holds %d attempts of %d", got, 50+n)
	}
}

func TestRestoreRefuses(t *testing.T) {
	onlySQLite(t, "pg_restore does it")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	s := openAt(t, in("a.db"))
	add(t, s, nodeReport(7, 1, "a", 0))
	if err := Backup(ctx, in("a.db"), in("good")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	good, _ := os.ReadFile(in("good"))
	os.WriteFile(in("cut"), good[:len(good)/2], 0o600)
	os.WriteFile(in("text"), []byte(strings.Repeat("no database ", 1000)), 0o600)
	os.WriteFile(in("broken"), append(bytes.Clone(good[:8192]), bytes.Repeat([]byte{0xff}, len(good)-8192)...), 0o600)
	for name, want := range map[string]string{"cut": "", "text": "not a database", "broken": "", "none": "no such file"} {
		err := Restore(ctx, in(name), in("b.db"), true)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(in("b.db")); err == nil {
			t.Errorf("%s: something was restored", name)
		}
	}
	os.WriteFile(in("c.db"), []byte(strings.Repeat("no database ", 1000)), 0o600)
	if err := Restore(ctx, in("good"), in("c.db"), false); err == nil || !strings.Contains(err.Error(), "with --replace") {
		t.Errorf("over garbage: %v", err)
	}
	if err := Restore(ctx, in("good"), in("c.db"), true); err != nil {
		t.Error(err)
	}
	aJob(t, openAt(t, in("c.db")), alice, "7", 0)
	for _, err := range []error{Backup(ctx, "postgres://x/y", in("pg")), Restore(ctx, in("good"), "postgres://x/y", true)} {
		if err == nil || !strings.Contains(err.Error(), "pg_dump") {
			t.Errorf("PostgreSQL: %v", err)
		}
	}
}

// TestBeside: another process prunes and imports while the daemon has the database.
func TestBeside(t *testing.T) {
	database := newDatabase(t)
	s := openAt(t, database)
	add(t, s, nodeReport(7, 1, "a", 0))
	b, err := OpenBeside(database)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	merged(t, s)
	if got, err := b.Retain(ctx, Retention{Jobs: oneDay}, day.Add(9*oneDay), nil); err != nil || got.Pruned != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	add(t, s, nodeReport(8, 1, "a", 9*oneDay))
	if n := count(t, b, "attempts"); n != 1 {
		t.Errorf("%d attempts", n)
	}
	err = s.do(ctx, func(w *writer) error {
		return w.exec("INSERT INTO marks (name, time_us) VALUES ('schema', 1)")
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBeside(database); !errors.Is(err, errOlderSchema) {
		t.Errorf("another schema: %v", err)
	}
	if os.Getenv(testServer) == "" {
		if _, err := OpenBeside(filepath.Join(t.TempDir(), "none.db")); err == nil || !strings.Contains(err.Error(), "--database") {
			t.Errorf("no database: %v", err)
		}
	}
}

// TestNewFile: a file gets its name when it is complete.
func TestNewFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x")
	full := errors.New("no space left")
	if err := NewFile(file, func(f *os.File) error { f.WriteString("half"); return full }); err != full {
		t.Error(err)
	}
	if all, _ := filepath.Glob(file + "*"); len(all) != 0 {
		t.Errorf("left behind: %v", all)
	}
	if err := os.WriteFile(file+".part", []byte("of one that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewFile(file, func(f *os.File) error { _, err := f.WriteString("whole"); return err }); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); string(text) != "whole" {
		t.Errorf("%q, %v", text, err)
	}
	never := func(*os.File) error { t.Error("it writes"); return nil }
	for name, want := range map[string]string{file: "exists: name a new file", "": "name a new file", file + "/y": "in a folder that is there"} {
		if err := NewFile(name, never); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestImportOfCommit: an export that commit 967a4cf4 made, of part of its made-up site and of some reports, comes
// in with all its figures; they stay the same when they are made anew from the reports.
func TestImportOfCommit(t *testing.T) {
	packed, err := os.ReadFile("testdata/967a4cf4.json.zst")
	if err != nil {
		t.Fatal(err)
	}
	text, err := wire.Decompress(packed)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	want := Imported{Attempts: 16, Months: 2, Mutes: 1, Mails: 1, Notices: 1, Overheads: 1}
	for range 2 {
		if got, err := s.Import(ctx, bytes.NewReader(text), nil); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		want = Imported{Known: 22}
	}
	if n, err := s.Unmerged(ctx); n != 0 || err != nil {
		t.Errorf("%d wait to be merged, %v", n, err)
	}
	compare := func(when string) {
		for _, one := range strings.Split(string(text), "\n")[1:17] {
			var l struct {
				Attempt struct {
					JobID   uint32 `json:"job_id"`
					Attempt int
					PE      *float64 `json:"parallel_efficiency"`
					Ranks   *int
				}
			}
			if err := json.Unmarshal([]byte(one), &l); err != nil {
				t.Fatal(err)
			}
			a := &l.Attempt
			j := aJob(t, s, root, fmt.Sprint(a.JobID), a.Attempt)
			if (j.Metrics != nil) != (a.PE != nil) || j.Metrics != nil && (j.Metrics.Parallel != *a.PE || j.Metrics.Ranks != *a.Ranks || len(j.Executions) == 0) {
				t.Errorf("%s: job %d, attempt %d: %+v, want %v", when, a.JobID, a.Attempt, j.Metrics, a.PE)
			}
		}
	}
	compare("imported")
	for table, n := range map[string]int{"reports": 8, "executions": 14, "workload_runs": 10, "windows": 1} {
		if got := count(t, s, table); got != n {
			t.Errorf("%d %s, want %d", got, table, n)
		}
	}
	for what, n := range map[string]int{
		"attempts WHERE used_us = 1000000 * alloc_cpus * slurm_elapsed_s": 10, "attempts WHERE used_us IS NOT NULL": 10,
		"attempts WHERE judged_by > 0 OR judged_us IS NOT NULL": 0, "month_sums WHERE part < 0 AND used_us = 80000000 AND judged_us = 80000000 AND lost_us = 66000000": 1,
	} {
		if got := count(t, s, what); got != n {
			t.Errorf("%d %s, want %d", got, what, n)
		}
	}
	if err := s.do(ctx, func(w *writer) error {
		return w.exec("UPDATE attempts SET unmerged = 1 WHERE trimmed = 0 AND job_id IN (SELECT job_id FROM reports)")
	}); err != nil {
		t.Fatal(err)
	}
	compare("made anew")
}

// TestBulkIsTheSame adds a job twice: from its report and sacct's line, and already merged.
// People see the same.
func TestBulkIsTheSame(t *testing.T) {
	t.Parallel()
	one, bulk := open(t), open(t)
	add(t, one, nodeReport(7, 1, "a", 0))
	want := aJob(t, one, root, "7", 0)
	want.Submit, want.State, want.CPUs, want.Name, want.QOS = day.Add(-time.Second), "COMPLETED", 2, "melt", "normal"
	want.Unconfirmed = false
	hours := policy.CoreHoursOf(want)
	want.Judged, want.Lost = hours.Judged(), hours.Lost
	if err := bulk.AddJobs(ctx, []*job.Job{want}); err != nil {
		t.Fatal(err)
	}
	got := aJob(t, bulk, root, "7", 0)
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(job.Job{}, "Covered")); d != "" {
		t.Error(d)
	}
	if err := bulk.AddJobs(ctx, []*job.Job{{Cluster: "test", JobID: 8, Attempt: 1}, want}); err == nil {
		t.Error("a run that is there already:", err)
	}
	if n := count(t, bulk, "attempts"); n != 1 {
		t.Errorf("%d runs: a failed batch left some", n)
	}
}
