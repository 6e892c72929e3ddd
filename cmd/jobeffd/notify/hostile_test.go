package notify

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// lyingSMTP is a mail server that keeps what it took, and that may do something else at any step.
type lyingSMTP struct {
	mu    sync.Mutex
	taken []string // the recipients of its mails
	// instead answers in place of the server where it is true: at "banner", a command's line, or
	// "body" (all of a mail has come).
	instead func(step string, c net.Conn) bool
	port    int
}

func newLyingSMTP(t *testing.T, instead func(step string, c net.Conn) bool) *lyingSMTP {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	s := &lyingSMTP{instead: instead, port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *lyingSMTP) serve(c net.Conn) {
	defer c.Close()
	lines, to, body := bufio.NewScanner(c), "", false
	say := func(step, answer string) {
		if !s.instead(step, c) {
			fmt.Fprintf(c, "%s\r\n", answer)
		}
	}
	say("banner", "220 mail.example.org")
	for lines.Scan() {
		line := lines.Text()
		switch {
		case body && line != ".":
		case body:
			body = false
			s.took(to)
			say("body", "250 taken")
		case strings.HasPrefix(line, "RCPT"):
			to = line[strings.Index(line, "<")+1 : strings.Index(line, ">")]
			say(line, "250 fine")
		case line == "DATA":
			body = true
			say(line, "354 go on")
		case line == "QUIT":
			say(line, "221 bye")
			return
		default:
			say(line, "250 fine")
		}
	}
}

func (s *lyingSMTP) took(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, to)
}

func (s *lyingSMTP) recipients() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.taken, " ")
}

// TestTakenIsNotSentAgain: the server takes a mail, and then something goes wrong.
func TestTakenIsNotSentAgain(t *testing.T) {
	for _, step := range []string{"RSET", "QUIT"} {
		for _, answer := range []string{"", "421 later", "550 no", "junk"} {
			s := newLyingSMTP(t, func(at string, c net.Conn) bool {
				if at != step {
					return false
				}
				fmt.Fprintf(c, "%s\r\n", answer)
				c.Close()
				return true
			})
			cfg, c := config(s.port), &clock{tuesday}
			cfg.Digest.To = []string{"a@example.org", "b@example.org"}
			n := notifier(t, cfg, site(t, filepath.Join(t.TempDir(), "db")), c)
			for range 3 {
				n.Tick(ctx)
				c.at = c.at.Add(10 * time.Minute)
			}
			if got := s.recipients(); got != "a@example.org b@example.org" {
				t.Errorf("%q at %s: taken for %s", answer, step, got)
			}
		}
	}
}

// TestPasswordIsNoFile: the password file is a FIFO, on which jobeffd would hang.
func TestPasswordIsNoFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	cfg := config(25)
	cfg.Mail.PasswordFile = fifo
	if _, err := New(cfg, nil, zerolog.Nop(), time.Now); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
}
