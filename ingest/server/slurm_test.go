package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/ingest/wire"
	"jobeff/test/trial"
)

// TestPoller: a script acts as sacct. It is away, comes back, and is asked soon after a report.
// It is also asked for a job that the look at the last minutes does not show.
func TestPoller(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	sacct := func(script string) {
		os.WriteFile(filepath.Join(dir, "new"), []byte("#!/bin/bash\n"+script), 0o755)
		os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "sacct"))
	}
	sacct("echo down >&2; exit 1")
	fakeCommand(t, "sacctmgr", "exit 0")
	log := &lockedBuffer{}
	p := NewPoller(db, zerolog.New(log), 50*time.Millisecond)
	run, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(run) })
	wait(t, "the failure in the log", func() bool { return strings.Contains(log.String(), "Slurm's accounting cannot be read") })
	r := report(7, alice)
	if _, err := keep(db, r); err != nil {
		t.Fatal(err)
	}
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
	sacct(fmt.Sprintf(`for a; do case $a in --delimiter=*) d=${a#*=};; --jobs=7) ask=1;; esac; done
[ "$ask" ] && echo "test${d}7${d}7${d}%d${d}alice${d}COMPLETED${d}0:0${d}%s${d}%s${d}%s${d}20${d}1${d}1${d}n1${d}p${d}q${d}m${d}${d}${d}${d}${d}${d}${d}n"
exit 0`, alice, stamp(r.Start), stamp(r.Start), stamp(r.End)))
	p.Kick()
	wait(t, "the job's state", func() bool {
		j, err := db.Job(ctx, store.Viewer{All: true}, slurmid.Ref{ID: 7}, 0)
		return err == nil && j.State == "COMPLETED"
	})
	wait(t, "the mark of what was read", func() bool {
		mark, err := db.Mark(ctx, markRead)
		return err == nil && time.Since(mark) < time.Minute
	})
	cancel()
	wg.Wait()
	if n := strings.Count(log.String(), "Slurm's accounting cannot be read"); n != 1 {
		t.Errorf("said %d times: %s", n, log)
	}
	if !strings.Contains(log.String(), "can be read again") {
		t.Errorf("log %s", log)
	}
}

// TestPollerOnManySteps: sacct has no end of what it says of one job's steps. All other jobs are
// read in the same look, and that one is not asked for again and again.
func TestPollerOnManySteps(t *testing.T) {
	const jobs, endless = 20, 7
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := report(1, alice)
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
	fakeCommand(t, "sacct", fmt.Sprintf(`for a; do case $a in --delimiter=*) d=${a#*=};; --jobs=*) jobs=${a#*=};; --json) exit 1;; esac; done
[ "$jobs" ] || exit 0
echo call >>%s/calls
for j in ${jobs//,/ }; do
	echo "test${d}$j${d}$j${d}%d${d}alice${d}COMPLETED${d}0:0${d}%s${d}%s${d}%s${d}20${d}1${d}1${d}n1${d}p${d}q${d}m${d}${d}${d}${d}${d}${d}${d}n"
	[ $j = %d ] && exec yes "test${d}$j.1${d}$j.1${d}${d}${d}COMPLETED${d}0:0${d}%s${d}%s${d}%s${d}20${d}1${d}1${d}n1${d}${d}${d}${d}${d}00:01${d}1${d}mem=1${d}${d}${d}step"
done
exit 0`, dir, alice, stamp(r.Start), stamp(r.Start), stamp(r.End), endless, stamp(r.Start), stamp(r.Start), stamp(r.End)))
	for id := range uint32(jobs) {
		if _, err := keep(db, report(1+id, alice)); err != nil {
			t.Fatal(err)
		}
	}
	log := &lockedBuffer{}
	p := NewPoller(db, zerolog.New(log), time.Hour)
	if _, err := p.look(ctx); err != nil {
		t.Fatal(err)
	}
	for id := range uint32(jobs) {
		j, err := db.Job(ctx, store.Viewer{All: true}, slurmid.Ref{ID: 1 + id}, 0)
		if err != nil || (j.State == "COMPLETED") != (1+id != endless) {
			t.Errorf("job %d: %v, %+v", 1+id, err, j)
		}
	}
	calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
	if n := bytes.Count(calls, []byte("\n")); n > 40 || strings.Count(log.String(), "stays unknown") != 1 {
		t.Errorf("%d calls: %s", n, log)
	}
}

// TestPollerOnMadeUpJobs: as many jobs as a look asks for are made up, and came before a real one of which
// Slurm's database learned late. It is asked for all the same.
func TestPollerOnMadeUpJobs(t *testing.T) {
	const late = 9999
	db := openStore(t)
	came := func(r *job.NodeReport) {
		if _, err := db.AddReport(ctx, store.Sender{}, r, wire.Compress(textOf(r))); err != nil {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for id := range uint32(askAtOnce / 2) {
		all.Go(func() { came(report(1+id, alice)) })
	}
	all.Wait()
	r := report(late, alice)
	came(r)
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
	fakeCommand(t, "sacct", fmt.Sprintf(`for a; do case $a in --delimiter=*) d=${a#*=};; --jobs=*) jobs=${a#*=};; --json) exit 1;; esac; done
case ,$jobs, in *,%d,*) echo "test${d}%[1]d${d}%[1]d${d}%d${d}alice${d}COMPLETED${d}0:0${d}%s${d}%s${d}%s${d}20${d}1${d}1${d}n1${d}p${d}q${d}m${d}${d}${d}${d}${d}${d}${d}n";; esac`,
		late, alice, stamp(r.Start), stamp(r.Start), stamp(r.End)))
	p := NewPoller(db, zerolog.Nop(), time.Hour)
	for range 2 {
		if _, err := p.look(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if j, err := db.Job(ctx, store.Viewer{All: true}, slurmid.Ref{ID: late}, 0); err != nil || j.State != "COMPLETED" {
		t.Errorf("%v, %+v", err, j)
	}
	if p.skip != 0 {
		t.Errorf("%d are passed over next; the made-up ones come again", p.skip)
	}
}

// TestPollerOnManyJobs: sacct has no end of what it says of more than 20 minutes. They are read in
// pieces, and the mark moves.
func TestPollerOnManyJobs(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fakeCommand(t, "sacct", `for a; do case $a in --json) exit 1;; --starttime=*) from=${a#*=};; --endtime=*) to=${a#*=};; esac; done
[ $(($(date -ud "${to:-now}" +%s) - $(date -ud "$from" +%s))) -le 1201 ] || exec yes`)
	if err := db.SetMark(ctx, markRead, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := db.SetMark(ctx, markSwept, time.Now()); err != nil {
		t.Fatal(err)
	}
	p := NewPoller(db, zerolog.Nop(), time.Hour)
	begin := time.Now().Truncate(time.Microsecond) // as the database keeps it
	if _, err := p.look(ctx); err != nil {
		t.Error(err)
	}
	if read, err := db.Mark(ctx, markRead); err != nil || read.Before(begin) {
		t.Errorf("read up to %v, %v", read, err)
	}
}

// TestPollerOnADamagedReport: sacct tells of a job with a report that cannot be read. What it was read up
// to goes on, so that it is asked for what comes.
func TestPollerOnADamagedReport(t *testing.T) {
	db := openStore(t)
	r := report(1, alice)
	if _, err := db.AddReport(ctx, store.Sender{}, r, []byte("no report")); err != nil {
		t.Fatal(err)
	}
	stamp := func(t time.Time) string { return t.Add(time.Hour).UTC().Format("2006-01-02T15:04:05") } // it is of another attempt
	fakeCommand(t, "sacct", fmt.Sprintf(`for a; do case $a in --delimiter=*) d=${a#*=};; --json) exit 1;; esac; done
echo "test${d}1${d}1${d}%d${d}alice${d}COMPLETED${d}0:0${d}%s${d}%s${d}%s${d}20${d}1${d}1${d}n1${d}p${d}q${d}m${d}${d}${d}${d}${d}${d}${d}n"`, alice, stamp(r.Start), stamp(r.Start), stamp(r.End)))
	log := &lockedBuffer{}
	_, err := NewPoller(db, zerolog.New(log), time.Hour).look(ctx)
	mark, markErr := db.Mark(ctx, markRead)
	if err != nil || markErr != nil || mark.IsZero() || !strings.Contains(log.String(), "a report is damaged") {
		t.Errorf("%v, %v, read up to %v: %s", err, markErr, mark, log)
	}
}

func TestPollerWithoutSlurm(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	t.Setenv("PATH", t.TempDir())
	log := &lockedBuffer{}
	NewPoller(db, zerolog.New(log), time.Hour).Run(ctx) // returns by itself
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "Slurm is not installed here") {
		t.Errorf("log %s", log)
	}
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	trial.Until(t, what, 6000, 10*time.Millisecond, done)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestPollerCatchesUp: whatever happens to looks and clocks, a look begins before the time up to
// which sacct was read, and leaves no gap.
func TestPollerCatchesUp(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	script := `#!/bin/bash
for a; do case $a in --starttime=*) s=${a#*=};; --endtime=*) e=${a#*=};; --jobs=*) exit 0;; --json) json=1;; esac; done
[ "$json" ] || exit 1
echo "$s $e" >>` + dir + `/asked
[ -e ` + dir + `/down ] && [ "$(wc -l <` + dir + `/asked)" -gt 2 ] && exit 1
echo '{"jobs":[]}'`
	if err := os.WriteFile(filepath.Join(dir, "sacct"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(filepath.Join(dir, "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now().Truncate(time.Second)
	p := NewPoller(db, zerolog.Nop(), time.Hour)
	p.now = func() time.Time { return now }
	// asked looks once and returns the spans that sacct was asked for. They must follow each
	// other without a gap up to the present.
	asked := func(fails bool) (from time.Time, calls int) {
		t.Helper()
		os.Remove(filepath.Join(dir, "asked"))
		if _, err := p.look(ctx); (err != nil) != fails {
			t.Fatalf("look: %v", err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "asked"))
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		var last string
		for i, l := range lines {
			start, end, _ := strings.Cut(l, " ")
			if i > 0 && start != last {
				t.Errorf("a gap from %q to %s", last, start)
			}
			if i == 0 {
				from, _ = time.Parse("2006-01-02T15:04:05", start)
			}
			last = end
		}
		if last != "" && !fails {
			t.Errorf("ends at %s, not now", last)
		}
		return from, len(lines)
	}
	check := func(what string, wantFrom time.Time, wantCalls int) {
		t.Helper()
		if from, calls := asked(false); from.Sub(wantFrom).Abs() > 2*time.Second || calls != wantCalls {
			t.Errorf("%s: from %v in %d calls, want %v in %d", what, from, calls, wantFrom.UTC(), wantCalls)
		}
	}
	check("first look", db.Began().Add(-overlap), 1)
	now = now.Add(30 * time.Second)
	check("the next", now.Add(-30*time.Second-overlap), 1)
	now = now.Add(5 * time.Hour)
	check("after five hours away", now.Add(-5*time.Hour-overlap), 6)
	now = now.Add(5 * time.Hour)
	os.WriteFile(filepath.Join(dir, "down"), nil, 0o644)
	asked(true)
	os.Remove(filepath.Join(dir, "down"))
	check("Slurm went away after two hours of them", now.Add(-3*time.Hour-2*overlap), 4)
	now = now.Add(15 * time.Hour)
	check("a day after the first", now.Add(-sweepBack-overlap), 73)
	now = now.Add(30 * time.Second)
	check("after the sweep", now.Add(-30*time.Second-overlap), 1)
	now = now.Add(-time.Hour)
	check("the clock went back", now.Add(-sweepBack-overlap), 73)
	now = now.Add(30 * time.Second)
	check("after that", now.Add(-30*time.Second-overlap), 1)
}
