package notify

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/store"
)

// asChild is the variable that makes this program a daemon that decides and sends. Its value is DATABASE PORT TIME.
const asChild = "JOBEFF_NOTIFY_CHILD"

func TestMain(m *testing.M) {
	if args := strings.Fields(os.Getenv(asChild)); len(args) == 3 {
		child(args)
	}
	os.Exit(m.Run())
}

// child decides and sends once.
func child(args []string) {
	port, _ := strconv.Atoi(args[1])
	at, _ := time.Parse(time.RFC3339, args[2])
	db, err := store.Open(args[0])
	if err == nil {
		cfg := config(port)
		if file := os.Getenv("JOBEFF_NOTIFY_PASSWORD"); file != "" {
			cfg.Mail.Host, cfg.Mail.TLS, cfg.Mail.User, cfg.Mail.PasswordFile = "localhost", "always", "jobeff", file
		}
		var n *Notifier
		if n, err = New(cfg, db, zerolog.New(os.Stderr), func() time.Time { return at }); err == nil {
			n.Tick(ctx)
			err = db.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run starts a daemon whose clock stands at a time.
func run(t *testing.T, db string, port int, at time.Time, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("%s=%s %d %s", asChild, db, port, at.Format(time.RFC3339))), env...)
	cmd.Stderr = new(bytes.Buffer)
	must(t, cmd.Start())
	return cmd
}

// users makes a database in which that many users are to be told.
func users(t *testing.T, n uint32) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "db")
	fill(t, path, n)
	return path
}

// fill makes that many users in a database who are to be told.
func fill(t *testing.T, database string, n uint32) {
	t.Helper()
	db := site(t, database)
	for i := range n {
		must(t, db.AddJobs(ctx, badJobs(fmt.Sprintf("user%d", i), 1000+i, 1000*i+1, 2, "melt")))
	}
	must(t, db.Close())
}

// afterLease is when another daemon may send what a killed one had taken.
func afterLease(times int) time.Time {
	return tuesday.Add(time.Duration(times) * (lease + time.Minute))
}

// TestKilledBeforeSending kills the daemon after it decided, while it waits for the mail
// server's first word: nothing is lost, nothing comes twice.
func TestKilledBeforeSending(t *testing.T) {
	s := newSMTP(t).start(t)
	db := users(t, 10)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	cmd := run(t, db, silent.Addr().(*net.TCPAddr).Port, tuesday)
	c, err := silent.Accept() // it sends: so it has decided
	must(t, err)
	defer c.Close()
	must(t, cmd.Process.Kill())
	cmd.Wait()
	must(t, run(t, db, s.port, tuesday.Add(time.Minute)).Wait()) // one mail is leased still
	s.arrived(t, 10)
	must(t, run(t, db, s.port, afterLease(1)).Wait())
	for id, n := range counted(s.arrived(t, 11)) {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

// TestKilledBeforeCommit kills the daemon between the server's 250 and its own COMMIT:
// that mail comes again, with the same Message-ID, and no other.
func TestKilledBeforeCommit(t *testing.T) {
	s := newSMTP(t).start(t)
	db := users(t, 10)
	taken := make(chan bool, 1)
	cmd := run(t, db, holdBack(t, s.port, taken), tuesday)
	<-taken
	must(t, cmd.Process.Kill())
	cmd.Wait()
	s.arrived(t, 1)
	must(t, run(t, db, s.port, afterLease(1)).Wait())
	twice := 0
	for _, n := range counted(s.arrived(t, 12)) {
		if n == 2 {
			twice++
		}
	}
	if twice != 1 {
		t.Errorf("%d mails came twice", twice)
	}
}

// holdBack passes a connection on to the mail server, but holds back the server's answer to the
// end of a mail. Then it sends to taken.
func holdBack(t *testing.T, port int, taken chan<- bool) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return
		}
		ended := make(chan bool)
		go func() {
			var last []byte
			b := make([]byte, 4096)
			for {
				n, err := client.Read(b)
				if err != nil {
					return
				}
				last = append(last, b[:n]...)
				last = last[max(0, len(last)-5):]
				if bytes.Equal(last, []byte("\r\n.\r\n")) {
					close(ended)
				}
				server.Write(b[:n])
			}
		}()
		b := make([]byte, 4096)
		for {
			n, err := server.Read(b)
			if err != nil {
				return
			}
			select {
			case <-ended:
				if bytes.HasPrefix(b[:n], []byte("250")) {
					taken <- true
					io.Copy(io.Discard, server)
					return
				}
			default:
			}
			client.Write(b[:n])
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// TestKilledAgainAndAgain kills the daemon at whatever it does, many times.
func TestKilledAgainAndAgain(t *testing.T) {
	s := newSMTP(t).start(t)
	db := users(t, 30)
	const kills = 25
	for i := range kills {
		cmd := run(t, db, s.port, afterLease(i))
		time.Sleep(time.Duration(10+25*i) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	last := run(t, db, s.port, afterLease(kills))
	if err := last.Wait(); err != nil {
		t.Fatalf("%v: %s", err, last.Stderr)
	}
	const mails = 31
	var files []string
	for i := 0; i < 1200 && len(files) < mails; i++ {
		time.Sleep(50 * time.Millisecond)
		files, _ = filepath.Glob(filepath.Join(s.dir, "box/new/*"))
	}
	time.Sleep(time.Second) // for those that came twice
	files, _ = filepath.Glob(filepath.Join(s.dir, "box/new/*"))
	all := s.arrived(t, len(files))
	ids := counted(all)
	if len(ids) != mails {
		t.Errorf("%d different mails came, want one for each of 30 users and a digest", len(ids))
	}
	if more := len(all) - len(ids); more > kills {
		t.Errorf("%d mails came again after %d kills", more, kills)
	} else {
		t.Logf("%d kills, %d mails, %d of them twice", kills, len(ids), more)
	}
}
