package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/test/trial"
)

// TestDamagedDatabase: pages of the database are overwritten. jobeffd notices when a statement meets one, says
// so, and takes no report. Its nodes keep theirs. What the admin's guide says brings back all jobs of whole pages,
// and then the nodes' reports.
func TestDamagedDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the daemon")
	}
	d := newDaemon(t)
	d.start(t)
	const jobs = 200
	for id := range uint32(jobs) {
		must(t, d.client().PostReport(ctx, mustJSON(t, report(1+id))))
	}
	all := listed(t, d)
	until(t, "a look at the sound database", func() bool { return mark(t, d.db) > 0 })
	d.stop(syscall.SIGTERM)
	rows := damagePages(t, d.db, "attempts", 2)
	d.start(t)
	healthy := func() (reason string) {
		if _, err := d.client().Healthy(ctx); err != nil {
			reason = err.Error()
		}
		return reason
	}
	if said := healthy(); said != "" {
		t.Fatalf("before anybody met the damage: %s", said)
	}
	_, err := d.client().Jobs(ctx, listing.JobQuery{Limit: 1000})
	if err == nil || !strings.Contains(err.Error(), "A damaged database") {
		t.Errorf("a list that meets the damage: %v", err)
	}
	until(t, "the end of health", func() bool { return strings.Contains(healthy(), "jobeffd's database is damaged") })
	spool := t.TempDir()
	_, err = node.Outbox{Spool: spool}.Write(report(jobs + 1))
	must(t, err)
	if res := d.send(t, spool); res.Kept != 1 || res.Sent+res.Refused != 0 {
		t.Errorf("the damaged database takes reports: %+v", res)
	}
	d.stop(syscall.SIGTERM)

	d.start(t) // it is found again by itself
	until(t, "the end of health, after a restart", func() bool { return healthy() != "" })
	d.stop(syscall.SIGTERM)

	rescue(t, d)
	d.start(t)
	until(t, "a look at the mended database", func() bool { return mark(t, d.db) > 0 })
	if res := d.send(t, spool); res.Sent != 1 || res.Kept != 0 {
		t.Errorf("the mended database: %+v", res)
	}
	now := listed(t, d)
	lost := slices.DeleteFunc(slices.Clone(all), func(id uint32) bool { return slices.Contains(now, id) })
	if len(lost) == 0 || len(lost) != rows || len(now) != jobs-len(lost)+1 || !slices.Contains(now, jobs+1) {
		t.Errorf("%d jobs, %d of %d lost", len(now), len(lost), jobs)
	}
	if said := healthy(); said != "" {
		t.Error(said)
	}
}

// until waits for what the daemon does within seconds.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	trial.Until(t, what, 1000, 100*time.Millisecond, is)
}

// mark is when the database was found whole, us.
func mark(t *testing.T, path string) (us int64) {
	t.Helper()
	db := openSQL(t, path)
	defer db.Close()
	_ = db.QueryRow("SELECT time_us FROM marks WHERE name = 'checked'").Scan(&us)
	return us
}

// damagePages overwrites leaves of a table. It returns how many rows were there.
func damagePages(t *testing.T, path, table string, n int) (rows int) {
	t.Helper()
	leaves := fmt.Sprintf("SELECT pageno, ncell FROM dbstat WHERE name = '%s' AND pagetype = 'leaf' ORDER BY pageno LIMIT %d OFFSET 3", table, n)
	out, err := exec.Command("sqlite3", path, leaves).Output()
	must(t, err)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	for line := range strings.Lines(string(out)) {
		var page, cells int64
		_, err := fmt.Sscanf(line, "%d|%d", &page, &cells)
		must(t, err)
		_, err = f.WriteAt(bytes.Repeat([]byte("jobeff! "), 512), (page-1)*4096)
		must(t, err)
		rows += int(cells)
	}
	return rows
}

// rescue does what ADMIN says, with this test's paths and programs.
func rescue(t *testing.T, d *daemon) {
	t.Helper()
	guide, err := os.ReadFile("../../doc/ADMIN.md")
	must(t, err)
	_, block, found := strings.Cut(string(guide), "**A damaged database.**")
	_, block, _ = strings.Cut(block, "systemctl stop jobeffd.socket jobeffd-read.socket\n")
	lines, _, ended := strings.Cut(block, "    systemctl start")
	if !found || !ended || strings.Count(lines, "\n") != 2 {
		t.Fatalf("the guide's lines: %q", lines)
	}
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "jobeff"), []byte("#!/bin/sh\nshift\nexec "+self(t)+" admin \"$@\" --database "+d.db+"\n"), 0o755))
	script := strings.NewReplacer("/var/lib/jobeff/jobeff.db", d.db, "/var/lib/jobeff", d.dir).Replace(lines)
	cmd := exec.Command("sh", "-ec", script)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "JOBEFFD_TEST=1", "JOBEFF_CONFIG=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}
