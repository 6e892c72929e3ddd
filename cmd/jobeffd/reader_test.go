package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/ingest/store"
)

// reader is a jobeffd --read of this one's database. It is not started yet.
func (d *daemon) reader(t testing.TB) *daemon {
	t.Helper()
	path := filepath.Join(d.dir, "jobeff.toml")
	conf, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conf.Close()
	r := &daemon{program: []string{"/proc/self/exe"}, log: discard{}, dir: d.dir, db: d.db, socket: filepath.Join(d.dir, "people"), args: []string{"--read"}}
	if _, err := fmt.Fprintf(conf, "[client]\nto = %q\n", "unix:"+r.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stop(syscall.SIGKILL) })
	return r
}

// both starts a jobeffd and its reader.
func both(t testing.TB) (d, reader *daemon) {
	t.Helper()
	d = newDaemon(t)
	reader = d.reader(t)
	d.start(t)
	reader.start(t)
	return d, reader
}

// TestReaderKilled: the reader is killed again and again while jobs end. Every job has its row
// at the end, and the writer took each report at its first try.
func TestReaderKilled(t *testing.T) {
	d, reader := both(t)
	const jobs, clients = 200, 4
	var wg sync.WaitGroup
	var ended atomic.Int32
	for first := range clients {
		spool := t.TempDir()
		wg.Go(func() {
			for id := first; id < jobs; id += clients {
				if _, err := (node.Outbox{Spool: spool}).Write(report(uint32(1000 + id))); err != nil {
					t.Error(err)
				}
				if res := d.send(t, spool); res.Kept != 0 || res.Refused != 0 {
					t.Errorf("%+v", res)
				}
				time.Sleep(20 * time.Millisecond) // so that they end over some kills
				ended.Add(1)
			}
		})
	}
	kills := 0
	for ; ended.Load() < jobs && !t.Failed(); kills++ {
		reader.stop(syscall.SIGKILL)
		reader.start(t)
		if _, err := reader.client().Jobs(ctx, listing.JobQuery{}); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	list, err := reader.client().Jobs(ctx, listing.JobQuery{Limit: 2 * jobs})
	if err != nil || len(list.Jobs) != jobs {
		t.Errorf("%v: %+v, want %d jobs", err, list, jobs)
	}
	if kills < 2 {
		t.Errorf("only %d kills", kills)
	}
}

// TestWriterAway: people are answered while the writer stands still and after it was killed,
// and a new writer finds the database free.
func TestWriterAway(t *testing.T) {
	d, reader := both(t)
	body := mustJSON(t, report(7))
	if err := d.client().PostReport(ctx, body); err != nil {
		t.Fatal(err)
	}
	ask := func(when string) {
		t.Helper()
		if list, err := reader.client().Jobs(ctx, listing.JobQuery{}); err != nil || len(list.Jobs) != 1 {
			t.Errorf("%s: %v, %+v", when, err, list)
		}
	}
	stop(t, d.cmd.Process)
	ask("stopped")
	d.cmd.Process.Signal(syscall.SIGCONT)
	for range 5 {
		d.stop(syscall.SIGKILL)
		ask("killed")
		d.start(t)
		ask("started again")
	}
}

// TestReaderStopped: a reader that stands still keeps nobody from reporting.
func TestReaderStopped(t *testing.T) {
	d, reader := both(t)
	stop(t, reader.cmd.Process)
	if err := d.client().PostReport(ctx, mustJSON(t, report(7))); err != nil {
		t.Error(err)
	}
	if list, err := d.client().Jobs(ctx, listing.JobQuery{}); err != nil || len(list.Jobs) != 1 {
		t.Errorf("%v, %+v", err, list)
	}
}

// TestDatabaseMoved: somebody moves the database under both processes. Neither goes on as if it
// were there: reports are kept by the nodes, and people are told. With the file back both go on.
func TestDatabaseMoved(t *testing.T) {
	d, reader := both(t)
	if err := d.client().PostReport(ctx, mustJSON(t, report(7))); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.db, d.db+".away"); err != nil {
		t.Fatal(err)
	}
	spool := t.TempDir()
	if _, err := (node.Outbox{Spool: spool}).Write(report(8)); err != nil {
		t.Fatal(err)
	}
	if res := d.send(t, spool); res.Kept != 1 || res.Sent != 0 || res.Refused != 0 || !strings.Contains(fmt.Sprint(res.Problems), "was moved") {
		t.Errorf("%+v", res)
	}
	for _, p := range []*daemon{d, reader} {
		_, err := p.client().Jobs(ctx, listing.JobQuery{})
		_, unhealthy := p.client().Healthy(ctx)
		for _, err := range []error{err, unhealthy} {
			var answer *client.ServerError
			if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || !strings.Contains(answer.Error(), "was moved") {
				t.Errorf("%v: %v", p.args, err)
			}
		}
	}
	if err := os.Rename(d.db+".away", d.db); err != nil {
		t.Fatal(err)
	}
	if res := d.send(t, spool); res.Sent != 1 || res.Kept != 0 {
		t.Errorf("with the file back: %+v", res)
	}
	if list, err := reader.client().Jobs(ctx, listing.JobQuery{}); err != nil || len(list.Jobs) != 2 {
		t.Errorf("%v, %+v", err, list)
	}
}

// TestReaderTakesNoReports: a node whose report.to names the reader keeps its reports.
func TestReaderTakesNoReports(t *testing.T) {
	_, reader := both(t)
	spool := t.TempDir()
	if _, err := (node.Outbox{Spool: spool}).Write(report(7)); err != nil {
		t.Fatal(err)
	}
	if res := reader.send(t, spool); res.Kept != 1 || res.Sent != 0 || res.Refused != 0 {
		t.Errorf("%+v", res)
	}
	var answer *client.ServerError
	err := reader.client().PostReport(ctx, mustJSON(t, report(7)))
	if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || !strings.Contains(answer.Error(), "takes no reports") {
		t.Error(err)
	}
}

// startsBeside starts the daemon and a reader, which know job 7 of the workload "model".
func (d *daemon) startsBeside(t *testing.T, reader *daemon) {
	t.Helper()
	r := report(7)
	tellSlurms(t, d.db, r)
	d.start(t)
	reader.start(t)
	x := &r.Executions[0]
	x.Workload, x.Executable, x.BuildID, x.ArgsHash, x.InputHash = "model", "/apps/bin/model", "b1d0", strings.Repeat("a1", 16), strings.Repeat("c1", 16)
	if err := d.client().PostReport(ctx, mustJSON(t, r)); err != nil {
		t.Fatal(err)
	}
	d.merged(t)
}

// merged waits until the daemon has merged what it took.
func (d *daemon) merged(t testing.TB) {
	t.Helper()
	db, err := store.OpenBeside(d.db)
	must(t, err)
	defer db.Close()
	for n := int64(1); n > 0; time.Sleep(10 * time.Millisecond) {
		n, err = db.Unmerged(ctx)
		must(t, err)
	}
}

// TestMuteBeside: people write through the reader while the writer takes reports.
func TestMuteBeside(t *testing.T) {
	d := newDaemon(t)
	reader := d.reader(t)
	d.startsBeside(t, reader)
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for id := uint32(100); !over.Load(); id++ {
			if err := d.client().PostReport(ctx, mustJSON(t, report(id))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 20 {
		if _, err := reader.client().SetMute(ctx, "model", "", job.Mute{Until: time.Now().Add(time.Hour), Reason: "known"}); err != nil {
			t.Error(err)
		}
	}
	over.Store(true)
	wg.Wait()
	if w, err := d.client().Workload(ctx, "model", "", ""); err != nil || w.Mute == nil || w.Mute.Reason != "known" {
		t.Errorf("%v, %+v", err, w)
	}
}

// TestReaderAt: client.to names the reader's address if it is neither the socket nor the port
// of the writer.
func TestReaderAt(t *testing.T) {
	for _, c := range []struct{ to, listen, want string }{
		{"", "", ""},
		{"unix:/run/jobeffd/jobeffd.sock", "", ""},
		{"unix:/run/jobeffd-read/jobeffd.sock", "", "unix:/run/jobeffd-read/jobeffd.sock"},
		{"http://head:6822", "0.0.0.0:6822", ""},
		{"http://head:6822", ":6822", ""},
		{"http://head:6825", ":6822", "http://head:6825"},
		{"http://head:6825", "", "http://head:6825"},
	} {
		cfg := etc.Default()
		cfg.Client.To, cfg.Server.Listen = c.to, c.listen
		if got := readerAt(cfg); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestKeepAlive: both processes tell systemd that they are ready and go on telling it that they
// run; one that stands still does not. The watchdog then kills it.
func TestKeepAlive(t *testing.T) {
	d := newDaemon(t)
	for _, p := range []*daemon{d, d.reader(t)} {
		path := filepath.Join(t.TempDir(), "notify")
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		hear := func() string {
			text := make([]byte, 100)
			n, err := l.Read(text)
			if err != nil {
				return ""
			}
			return string(text[:n])
		}
		const within = 200 * time.Millisecond
		p.env = []string{"NOTIFY_SOCKET=" + path, fmt.Sprint("WATCHDOG_USEC=", within.Microseconds())}
		p.start(t)
		for i, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"} {
			if got := hear(); got != want {
				t.Errorf("%v: %d: %q, want %q", p.args, i, got, want)
			}
		}
		stop(t, p.cmd.Process)
		l.SetReadDeadline(time.Now().Add(time.Millisecond))
		for hear() != "" { // sent before it stood still
		}
		l.SetReadDeadline(time.Now().Add(3 * within))
		if got := hear(); got != "" {
			t.Errorf("%v: stopped, it says %q", p.args, got)
		}
		p.cmd.Process.Signal(syscall.SIGCONT)
	}
}
