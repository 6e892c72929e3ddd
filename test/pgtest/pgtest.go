// Package pgtest starts a real PostgreSQL for a test, in a directory of its own
// and on a unix socket only. The store and its daemon are tested against it; only
// tests import it.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"jobeff/test/trial"
)

// Server is a running PostgreSQL.
type Server struct {
	dir     string
	args    []string
	process *trial.Server // nil: not started here
}

// next numbers the databases that this process makes.
var next atomic.Int32

// At returns the server in a directory that another process's Start made.
func At(dir string) *Server { return &Server{dir: dir} }

// Dir returns the server's directory, which holds its socket.
func (s *Server) Dir() string { return s.dir }

// Quick are the settings of a server whose data need not outlive the machine's power.
var Quick = []string{"-c", "fsync=off", "-c", "full_page_writes=off"}

// Start makes a PostgreSQL and runs it until the test ends; if the test is root, as the user postgres. args are
// postgres's. It skips the test with -short, and if PostgreSQL is not installed, unless JOBEFF_TEST_ALL is set,
// as `make test` does.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartIn(t, "", args...)
}

// StartIn is Start with the server's directory in another folder.
func StartIn(t testing.TB, folder string, args ...string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a PostgreSQL")
	}
	s := &Server{dir: newDir(t, folder), args: args}
	s.must(t, "initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	s.Run(t)
	t.Cleanup(func() { s.Stop() })
	return s
}

// Standby makes a server that follows this one, and runs it until the test ends. From then on, COMMIT on this
// server waits until the standby has applied it.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby := &Server{dir: newDir(t, "")}
	standby.must(t, "pg_basebackup", "-d", s.URL("postgres"), "-R", "-c", "fast", "--no-sync")
	standby.Run(t)
	t.Cleanup(func() { standby.Stop() })
	for _, setting := range []string{"synchronous_standby_names = '*'", "synchronous_commit = remote_apply"} {
		if err := s.Exec("postgres", "ALTER SYSTEM SET "+setting); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Exec("postgres", "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	return standby
}

// newDir makes a server's directory, which the server owns.
func newDir(t testing.TB, folder string) string {
	t.Helper()
	dir, err := os.MkdirTemp(folder, "pgtest") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	if c := credential(t); c != nil {
		if err := os.Chown(dir, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// must runs one of PostgreSQL's programs on the server's data.
func (s *Server) must(t testing.TB, name string, args ...string) {
	t.Helper()
	cmd := s.command(t, program(t, name), append([]string{"-D", filepath.Join(s.dir, "data")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// program finds one of PostgreSQL's programs, which Debian keeps out of PATH.
func program(t testing.TB, name string) string {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("JOBEFF_TEST_ALL") != "" {
			t.Fatal("PostgreSQL is not installed")
		}
		t.Skip("PostgreSQL is not installed")
	}
	return path
}

// credential returns the user that the server runs as, since PostgreSQL refuses to run as root.
func credential(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) command(t testing.TB, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(t), Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// Run starts the server, also again after Stop or Kill, and waits until it answers.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	cmd := s.command(t, program(t, "postgres"), append([]string{"-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-c", "listen_addresses="}, s.args...)...)
	s.process = trial.Serve(t, cmd, func() bool { return s.Exec("postgres", "SELECT 1") == nil })
}

// Stop shuts the server down, as an admin would.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Kill ends the server and all of its processes at once, as a crash does.
func (s *Server) Kill() { s.end(syscall.SIGQUIT) }

// Freeze stops the server and all of its processes where they are. The kernel still answers for them.
func (s *Server) Freeze(t testing.TB) { freeze(func() []int { return s.process.Family() }) }

// Thaw ends Freeze.
func (s *Server) Thaw() {
	for _, pid := range s.process.Family() {
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// freeze stops processes until none of them runs. It looks again, since one may have started another.
func freeze(processes func() []int) {
	for again := true; again; {
		again = false
		for _, pid := range processes() {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if _, state, _ := strings.Cut(string(stat), ") "); state != "" && state[0] != 'T' && state[0] != 'Z' {
				again = true
				syscall.Kill(pid, syscall.SIGSTOP)
			}
		}
	}
}

func (s *Server) end(sig syscall.Signal) {
	if s.process != nil {
		s.process.End(sig)
	}
}

// URL returns the address of a database of the server.
func (s *Server) URL(database string) string { return URL(database, s.dir) }

// URL returns the address of a database. The directory of a server's socket identifies the server. With several
// directories, it leads to the first server that takes writes.
func URL(database string, dirs ...string) string {
	to := url.Values{"host": {strings.Join(dirs, ",")}}
	if len(dirs) > 1 {
		to.Set("target_session_attrs", "read-write")
	}
	return "postgres://postgres@/" + database + "?" + to.Encode()
}

// Exec executes SQL in a database.
func (s *Server) Exec(database, statement string) error { return Exec(s.URL(database), statement) }

// Exec executes SQL in the database at a URL.
func Exec(to, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, to)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	return err
}

// Database makes an empty database and returns its URL.
func (s *Server) Database(t testing.TB) string { return s.DatabaseLike(t, "template1") }

// DatabaseLike makes a copy of a database that nobody uses and returns its URL.
func (s *Server) DatabaseLike(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("t%d_%d", os.Getpid(), next.Add(1))
	if err := s.Exec("postgres", "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}
