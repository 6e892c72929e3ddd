package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/ingest/slurm"
	"jobeff/ingest/store"
	"jobeff/test/trial"
)

// TestMain can turn the test's own program into a jobeffd, so that a real process can be
// killed. It can also turn it into the clients of BenchmarkRead.
func TestMain(m *testing.M) {
	if os.Getenv("JOBEFFD_TEST") != "" {
		main()
	}
	if said := os.Getenv("JOBEFFD_TEST_LOAD"); said != "" {
		if err := reportClients(said); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var ctx = context.Background()

// daemon is a jobeffd in a process of its own.
type daemon struct {
	dir, socket, db string
	cmd             *exec.Cmd
	out             *bufio.Reader
	ready           string   // what it said when it was
	program         []string // what is run, with the arguments before jobeffd's own
	args            []string // jobeffd's own
	env             []string
	held            []*os.File // sockets that it is given, as by systemd
	log             io.Writer  // what it says after that
}

func newDaemon(t testing.TB) *daemon {
	dir, err := os.MkdirTemp("", "jobeffd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &daemon{program: []string{"/proc/self/exe"}, log: discard{}, dir: dir, socket: filepath.Join(dir, "sock"), db: filepath.Join(dir, "jobeff.db")}
	d.args = []string{"--socket", d.socket}
	os.WriteFile(filepath.Join(dir, "jobeff.toml"), []byte("[server]\nsacct_interval = \"0s\"\n"), 0o644)
	t.Cleanup(func() { d.stop(syscall.SIGKILL) })
	return d
}

// start runs the daemon until it says that it is ready.
func (d *daemon) start(t testing.TB) {
	t.Helper()
	args := append(slices.Clone(d.program), "--config", filepath.Join(d.dir, "jobeff.toml"), "--database", d.db)
	d.cmd = exec.Command(args[0], append(args[1:], d.args...)...)
	d.cmd.Env, d.cmd.ExtraFiles = append(append(os.Environ(), "JOBEFFD_TEST=1"), d.env...), d.held
	pipe, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReader(pipe)
	line, err := d.out.ReadString('\n')
	if err != nil || !strings.Contains(line, " is ready") {
		t.Fatalf("jobeffd said %q, %v", line, err)
	}
	d.ready = line
	go d.out.WriteTo(d.log)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// stop sends a signal and waits for the end.
func (d *daemon) stop(sig syscall.Signal) error {
	if d.cmd == nil {
		return nil
	}
	d.cmd.Process.Signal(sig)
	err := d.cmd.Wait()
	d.cmd = nil
	return err
}

func (d *daemon) client() *client.Client {
	return client.NewClient("unix:"+d.socket, 8*time.Second, nil)
}

func report(id uint32) *job.NodeReport {
	begin := time.Now().Add(-time.Minute).UTC()
	return &job.NodeReport{Version: 1, Sequence: 1, Cluster: "test", JobID: id, Nonce: fmt.Sprintf("%032x", id), UID: uint32(os.Getuid()), Node: "n1", NNodes: 1,
		Start: begin, End: begin.Add(20 * time.Second), Decision: "on",
		Executions: []job.Execution{{Key: "k", KeyFrom: "pmix", Size: 1, Start: begin, End: begin.Add(time.Second), Endings: map[string]int{"finalized": 1},
			Nodes: []job.NodeShare{{Node: "n1", Ranks: 1, Useful: time.Second, UsefulMax: time.Second, ElapsedMax: time.Second, RankIDs: "0"}}}}}
}

// tellSlurms adds to a database what sacct would print about a report's job. No daemon may hold the database.
func tellSlurms(t *testing.T, database string, r *job.NodeReport) {
	t.Helper()
	db, err := store.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.AddSlurm(ctx, []slurm.Job{slurmsLine(r)})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// slurmsLine is what sacct would print about a report's job.
func slurmsLine(r *job.NodeReport) slurm.Job {
	return slurm.Job{Cluster: r.Cluster, ID: fmt.Sprint(r.JobID), RawID: r.JobID, UID: r.UID, State: "RUNNING",
		Submit: r.Start, Start: r.Start, Nodes: 1, NodeList: r.Node}
}

// send empties a spool into the daemon, as the epilog's sender does.
func (d *daemon) send(t *testing.T, spool string) client.SendResult {
	t.Helper()
	c := d.client()
	defer c.Close()
	res, err := (&client.Sender{Spool: spool, Client: c}).Send(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// stop stops a process and waits until all its threads stand still: a signal takes a
// while to arrive.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	p.Signal(syscall.SIGSTOP)
	for range 12_000 {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Pid))
		if len(tasks) > 0 && !slices.ContainsFunc(tasks, func(path string) bool {
			text, _ := os.ReadFile(path)
			return !strings.Contains(string(text), ") T ")
		}) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it does not stop")
}

// TestStopped: a black hole (SIGSTOP) costs the sender its time-out and nothing
// else; the report arrives after SIGCONT.
func TestStopped(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	spool := t.TempDir()
	if _, err := (node.Outbox{Spool: spool}).Write(report(7)); err != nil {
		t.Fatal(err)
	}
	stop(t, d.cmd.Process)
	c := client.NewClient("unix:"+d.socket, 500*time.Millisecond, nil)
	res, err := (&client.Sender{Spool: spool, Client: c}).Send(ctx)
	if err != nil || res.Kept != 1 {
		t.Errorf("%v, %+v", err, res)
	}
	d.cmd.Process.Signal(syscall.SIGCONT)
	if res := d.send(t, spool); res.Sent != 1 || res.Kept != 0 {
		t.Errorf("afterwards: %+v", res)
	}
	if list, err := d.client().Jobs(ctx, listing.JobQuery{}); err != nil || len(list.Jobs) != 1 {
		t.Errorf("%v, %+v", err, list)
	}
}

// TestLockedByAnother: another process holds the database; the post is answered
// 503 and taken later.
func TestLockedByAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until the database gives up")
	}
	d := newDaemon(t)
	d.start(t)
	for rowsOf(t, d.db, "SELECT count(*) FROM marks WHERE name = '"+store.MarkShare+"'") == 0 { // else this waits for the lock before the report
		time.Sleep(10 * time.Millisecond)
	}
	db, err := sql.Open("sqlite3", d.db+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(report(7))
	err = client.NewClient("unix:"+d.socket, time.Minute, nil).PostReport(ctx, body) // another write of its own may wait for the lock first
	var answer *client.ServerError
	if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || answer.Final() || answer.RetryAfter == 0 {
		t.Errorf("while locked: %v", err)
	}
	tx.Rollback()
	if err := d.client().PostReport(ctx, body); err != nil {
		t.Error(err)
	}
	if list, err := d.client().Jobs(ctx, listing.JobQuery{}); err != nil || len(list.Jobs) != 1 {
		t.Errorf("%v, %+v", err, list)
	}
}

// TestDiskFull: the server's file system is full while jobs end. Nodes are told 503 and keep
// what they have; when there is room each job has one row.
func TestDiskFull(t *testing.T) {
	trial.MayMount(t)
	d := newDaemon(t)
	disk, spool := filepath.Join(d.dir, "disk"), t.TempDir()
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("jobeff-test", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	d.db = filepath.Join(disk, "jobeff.db")
	d.start(t)
	const batch, most = 100, 4000
	jobs, full := 0, false
	for ; !full && jobs < most; jobs += batch {
		for id := range batch {
			if _, err := (node.Outbox{Spool: spool}).Write(report(uint32(1 + jobs + id))); err != nil {
				t.Fatal(err)
			}
		}
		res := d.send(t, spool)
		full = res.Kept > 0
		if res.Refused != 0 {
			t.Fatalf("a full disk is no fault of the report's: %+v", res)
		}
	}
	body, _ := json.Marshal(report(most + 1))
	var answer *client.ServerError
	if err := d.client().PostReport(ctx, body); !full || !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable || answer.Final() {
		t.Fatalf("full: %v after %d jobs, %v", full, jobs, err)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=30m"); err != nil {
		t.Fatal(err)
	}
	if res := d.send(t, spool); res.Kept != 0 || res.Refused != 0 {
		t.Errorf("with room: %+v", res)
	}
	list, err := d.client().Jobs(ctx, listing.JobQuery{Limit: 2 * most})
	seen := map[uint32]bool{}
	for _, j := range list.Jobs {
		seen[j.JobID] = true
	}
	if err != nil || len(list.Jobs) != jobs || len(seen) != jobs {
		t.Errorf("%d rows of %d jobs, %d different, %v", len(list.Jobs), jobs, len(seen), err)
	}
}

// TestGraceful: SIGTERM lets what has begun finish and ends with 0.
func TestGraceful(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	var wg sync.WaitGroup
	var taken atomic.Int32
	for worker := range uint32(4) {
		wg.Go(func() {
			c := d.client()
			defer c.Close()
			for i := range uint32(10_000) {
				body, _ := json.Marshal(report(1 + worker*10_000 + i))
				if c.PostReport(ctx, body) != nil {
					return
				}
				taken.Add(1)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	if err := d.stop(syscall.SIGTERM); err != nil {
		t.Errorf("ended with %v", err)
	}
	wg.Wait()
	if _, err := os.Stat(d.socket); err == nil {
		t.Error("the socket is still there")
	}
	d.start(t)
	list, err := d.client().Jobs(ctx, listing.JobQuery{Limit: 100_000})
	if err != nil || len(list.Jobs) < int(taken.Load()) || taken.Load() == 0 {
		t.Errorf("%v: %d rows of %d taken", err, len(list.Jobs), taken.Load())
	}
}

// TestRefusesToStart: each error says what to do next, in one line.
func TestRefusesToStart(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		os.WriteFile(path, []byte(text), 0o644)
		return path
	}
	good := file("good.toml", "[server]\nsacct_interval = \"0s\"\n")
	busy := newDaemon(t)
	busy.start(t)
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(busy.db, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		code int
		args []string
		want string
	}{
		{"unknown key", exitConfig, []string{"--config", file("key.toml", "[server]\n\nsokcet = \"/x\"\n")},
			"key.toml:3: unknown key \"server.sokcet\" (known in [server]: socket, listen, database, operators, sacct_interval, "},
		{"no configuration", exitConfig, []string{"--config", filepath.Join(dir, "none.toml")}, "none.toml does not exist: name another with JOBEFF_CONFIG"},
		{"a reader without an address", exitConfig, []string{"--config", good, "--database", filepath.Join(dir, "none.db"), "--read"}, "set client.to"},
		{"no operator", 1, []string{"--config", file("op.toml", "[server]\noperators = [\"nosuchuser\"]\n")},
			"server.operators: user: unknown user nosuchuser: name users that exist on this machine"},
		{"a proxy that may see all", 1, []string{"--config", file("root.toml", "[web]\nproxy_header = \"X-User\"\nproxy_users = [\"root\"]\n")},
			"web.proxy_users: uid 0 may see every job, and so could everybody through the proxy"},
		{"a proxy that is an operator", 1, []string{"--config", file("games.toml", "[server]\noperators = [\"games\"]\n[web]\nproxy_header = \"X-User\"\nproxy_users = [\"games\"]\n")},
			"may see every job, and so could everybody through the proxy"},
		{"no way in", 1, []string{"--config", good, "--database", filepath.Join(dir, "a.db"), "--socket", ""},
			"server.socket and server.listen are both empty: nobody could reach jobeffd; set one of them"},
		{"no place", 1, []string{"--config", good, "--database", file("f", "") + "/x.db"}, "run jobeffd as root, or name another file with --database"},
		{"database in use", 1, []string{"--config", good, "--database", busy.db, "--socket", filepath.Join(dir, "s")}, "another jobeffd uses " + busy.db},
		{"database in use by another name", 1, []string{"--config", good, "--database", link, "--socket", filepath.Join(dir, "s")}, "another jobeffd uses " + link},
		{"socket in use", 1, []string{"--config", good, "--database", filepath.Join(dir, "b.db"), "--socket", busy.socket}, "another jobeffd answers at " + busy.socket},
		{"bad address", 1, []string{"--config", file("listen.toml", "[server]\nlisten = \"256.0.0.1:1\"\n"), "--database", filepath.Join(dir, "c.db"), "--socket", ""},
			"is that an address of this machine"},
		{"an argument", 1, []string{"start"}, "unknown command"},
	} {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(ctx, time.Minute) // one that starts would go on for ever
		defer cancel()
		if code := run(ctx, c.args, &out); code != c.code || !strings.Contains(out.String(), c.want) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: exit %d: %s", c.name, code, &out)
		}
	}
}

// TestOrdinaryUser: the same program as somebody who is not root.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	for _, p := range []string{"/run/jobeffd", "/var/lib/jobeff"} {
		if _, err := os.Stat(p); err == nil {
			t.Skip(p + " exists on this machine")
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"JOBEFFD_TEST=1", "JOBEFF_CONFIG=/dev/null"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	want := "jobeffd: store: mkdir /var/lib/jobeff: permission denied: run jobeffd as root, or name another file with --database\n"
	if err == nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}
