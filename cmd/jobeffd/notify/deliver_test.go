package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/ingest/store"
)

// certificate makes one for localhost that signs itself.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o644))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// python is Debian's, which has Debian's modules.
const python = "/usr/bin/python3"

// startTLS starts a server that takes mails only after STARTTLS and, where there is a
// password, a login.
func startTLS(t *testing.T, cert, key string, password ...string) *smtpServer {
	t.Helper()
	if err := exec.Command(python, "-c", "import aiosmtpd").Run(); err != nil {
		t.Skip("python3-aiosmtpd is not installed (make deps)")
	}
	s := &smtpServer{port: freePort(t), dir: t.TempDir()}
	t.Cleanup(s.stop)
	return s.run(t, append([]string{python, "testdata/login.py", fmt.Sprint(s.port), filepath.Join(s.dir, "box"), cert, key}, password...)...)
}

func TestLogin(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	s := startTLS(t, cert, key, "right")
	db := users(t, 0)
	password := filepath.Join(dir, "password")
	for i, c := range []struct {
		name, password string
		trusted        bool
		want           int
	}{
		{"a certificate that nobody vouches for", "right", false, 0},
		{"a wrong password", "wrong", true, 0},
		{"all right", "right", true, 1},
	} {
		must(t, os.WriteFile(password, []byte(c.password+"\n"), 0o600))
		env := []string{"JOBEFF_NOTIFY_PASSWORD=" + password}
		if c.trusted {
			env = append(env, "SSL_CERT_FILE="+cert)
		}
		cmd := run(t, db, s.port, afterLease(10*i), env...)
		must(t, cmd.Wait())
		t.Logf("%s: %s", c.name, cmd.Stderr)
		if got := len(s.arrived(t, c.want)); got != c.want {
			t.Errorf("%s: %d mails", c.name, got)
		}
	}
	must(t, os.Chmod(password, 0o644))
	cmd := run(t, db, s.port, afterLease(40), "JOBEFF_NOTIFY_PASSWORD="+password)
	if err := cmd.Wait(); err == nil || !strings.Contains(cmd.Stderr.(*bytes.Buffer).String(), "chmod 600") {
		t.Errorf("a password that others can read: %v, %s", err, cmd.Stderr)
	}
}

// TestIfOffered: STARTTLS with whatever certificate the server has, as mail servers do.
func TestIfOffered(t *testing.T) {
	cert, key := certificate(t, t.TempDir())
	s := startTLS(t, cert, key)
	cmd := run(t, users(t, 0), s.port, tuesday)
	must(t, cmd.Wait())
	t.Logf("%s", cmd.Stderr)
	s.arrived(t, 1)
}

// TestSendmail hands mails to a command, which fails the first time.
func TestSendmail(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "sendmail")
	must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\n[ -e %[1]s/ready ] || { touch %[1]s/ready; exit 75; }\ncat > %[1]s/mail; echo \"$@\" > %[1]s/args\n", dir), 0o755))
	cfg, c := config(0), &clock{tuesday}
	cfg.Mail.Host, cfg.Mail.Sendmail = "", []string{program, "-v"}
	n := notifier(t, cfg, site(t, filepath.Join(t.TempDir(), "db")), c)
	for range 5 {
		n.Tick(ctx)
		c.at = c.at.Add(time.Minute)
	}
	text, err := os.ReadFile(filepath.Join(dir, "mail"))
	must(t, err)
	l := parse(t, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	if l.header.Get("To") != "<hpc@example.org>" || !strings.Contains(l.text, "No job ended in this week") {
		t.Errorf("%s", text)
	}
	if args, _ := os.ReadFile(filepath.Join(dir, "args")); strings.TrimSpace(string(args)) != "-oi -t -v" {
		t.Errorf("called with %s", args)
	}
}

// TestSendmailRefuses: a mail that sendmail says it will never take is not tried again, holds up no
// other one, and counts as not sent. After any other exit code it is tried again.
func TestSendmailRefuses(t *testing.T) {
	for code, final := range map[int]bool{1: false, 64: false, 65: true, 67: true, 68: false, 69: false, 70: false, 75: false} {
		dir := t.TempDir()
		program := filepath.Join(dir, "sendmail")
		must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nmail=$(cat)\ncase $mail in *gone@*) echo >> %[1]s/gone; exit %[2]d;; esac\necho >> %[1]s/sent\n", dir, code), 0o755))
		db := site(t, filepath.Join(t.TempDir(), "db"))
		cfg, c := config(0), &clock{tuesday}
		cfg.Mail.Host, cfg.Mail.Sendmail, cfg.Digest.To = "", []string{program}, []string{"gone@example.org", "hpc@example.org"}
		n := notifier(t, cfg, db, c)
		for range 5 {
			n.Tick(ctx)
			c.at = c.at.Add(time.Hour)
		}
		for file, want := range map[string]bool{"gone": final, "sent": true} {
			if text, _ := os.ReadFile(filepath.Join(dir, file)); (len(text) == 1) != want || len(text) == 0 {
				t.Errorf("exit code %d: %s %d times", code, file, len(text))
			}
		}
		if f, err := db.TwoWeeks(ctx, store.Viewer{All: true}, tuesday, c.at, nil); err != nil || f.This.Health.Unsent != 1 {
			t.Errorf("exit code %d: %+v, %v", code, f, err)
		}
	}
}

// TestSendmailThatWarns: sendmail takes the mail, prints a warning, and leaves a child that holds
// its output open. The mail counts as sent, and is sent once.
func TestSendmailThatWarns(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "sendmail")
	must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\ncat > /dev/null\necho sent >> %[1]s/log\necho warning: no queue >&2\n(sleep 60; touch %[1]s/ended) &\n", dir), 0o755))
	cfg, c := config(0), &clock{tuesday}
	cfg.Mail.Host, cfg.Mail.Sendmail = "", []string{program}
	n := notifier(t, cfg, site(t, filepath.Join(t.TempDir(), "db")), c)
	for range 3 {
		n.Tick(ctx)
		c.at = c.at.Add(time.Hour)
	}
	if log, _ := os.ReadFile(filepath.Join(dir, "log")); string(log) != "sent\n" {
		t.Errorf("%s", log)
	}
	wantNotEnded(t, dir)
}

// TestAddressThatHangs: a command whose child hangs is ended with it.
func TestAddressThatHangs(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "address")
	must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nsleep 60\ntouch %s/ended\necho a@example.org\n", dir), 0o755))
	cfg := config(25)
	cfg.Mail.AddressCommand = []string{program, "{user}"}
	n := notifier(t, cfg, nil, &clock{tuesday})
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if got, err := n.address(short, "alice"); err == nil {
		t.Errorf("%v", got)
	}
	wantNotEnded(t, dir)
}

// wantNotEnded checks that nobody waited for the program that says in dir when it has ended.
func wantNotEnded(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "ended")); err == nil {
		t.Error("a program that hangs was waited for")
	}
}

// TestAddressesThatHang: addresses that time out do not delay the digest. Other mails wait for a
// bounded time. Each user whose address is found gets their notice.
func TestAddressesThatHang(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\ncd %s\n%s\n", dir, text), 0o755))
		return path
	}
	cfg, c := config(0), &clock{tuesday}
	cfg.Mail.Host, cfg.Mail.Sendmail = "", []string{script("sendmail", "grep ^To: >> log")}
	cfg.Mail.AddressCommand = []string{script("address", "echo ask >> log; case $1 in slow*) exec sleep 60;; esac; echo $1@example.org"), "{user}"}
	db := site(t, filepath.Join(t.TempDir(), "db"))
	const slow, quick = 10, 5
	for i := range uint32(slow + quick) {
		name := fmt.Sprintf("slow%d", i)
		if i >= slow {
			name = fmt.Sprintf("quick%d", i)
		}
		must(t, db.AddJobs(ctx, badJobs(name, 1000+i, 1+100*i, 3, "melt")))
	}
	n := notifier(t, cfg, db, c)
	n.addressFor, n.addressesIn = 100*time.Millisecond, 500*time.Millisecond
	var log string
	for begin := tuesday; strings.Count(log, "To:") < 1+quick && c.at.Sub(begin) < addressesFor; c.at = c.at.Add(retryDecision) {
		asked := strings.Count(log, "ask")
		n.Tick(ctx)
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		must(t, err)
		log = string(text)
		if asked = strings.Count(log, "ask") - asked; asked > 6+quick { // of the slow ones at most six take 500 ms
			t.Fatalf("%d addresses were asked for at once", asked)
		}
	}
	if !strings.HasPrefix(log, "To: <hpc@example.org>") || strings.Count(log, "To: <quick") != quick || strings.Count(log, "To:") != 1+quick {
		t.Error(log)
	}
}

// TestUnknownAddress: a user whom the site's command does not know holds up nobody else.
// jobeffd looks for the address for one day, not for ever.
func TestUnknownAddress(t *testing.T) {
	s := newSMTP(t).start(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "address")
	must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\necho $1 >> %s/asked\n[ $1 != gone ] || exit 1\necho $1@example.org\n", dir), 0o755))
	db := site(t, filepath.Join(t.TempDir(), "db"))
	must(t, db.AddJobs(ctx, badJobs("alice", 1001, 1, 3, "melt")))
	must(t, db.AddJobs(ctx, badJobs("gone", 1002, 100, 3, "melt")))
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Digest.To, cfg.Mail.AddressCommand = nil, []string{program, "{user}"}
	n := notifier(t, cfg, db, c)
	for range 48 {
		n.Tick(ctx)
		c.at = c.at.Add(time.Hour)
	}
	if got := recipients(s.arrived(t, 1)); fmt.Sprint(got) != "[alice@example.org]" {
		t.Error(got)
	}
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if n := strings.Count(string(asked), "gone"); n < 20 || n > 26 {
		t.Errorf("asked %d times", n)
	}
}

func TestAddressCommand(t *testing.T) {
	program := filepath.Join(t.TempDir(), "address")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\ncase $1 in\nalice) echo 'Alice A. <a.a@example.org>';;\nnobody) exit 1;;\n*) printf 'x@y\\nBcc: z@example.org\\n';; esac\n"), 0o755))
	cfg := config(25)
	n := notifier(t, cfg, nil, &clock{tuesday})
	if got, err := n.address(ctx, "bob"); err != nil || got.Address != "bob@example.org" || got.Name != "" {
		t.Error(got, err)
	}
	cfg.Mail.AddressCommand = []string{program, "{user}"}
	for name, want := range map[string]*netmail.Address{"alice": {Name: "Alice A.", Address: "a.a@example.org"}, "nobody": nil, "eve": nil, "a;b": nil, "": nil, "a\nb": nil} {
		if got, err := n.address(ctx, name); cmp.Diff(want, got) != "" || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
}

// TestNoMail: a site that names no way to send has no notifier.
func TestNoMail(t *testing.T) {
	cfg := config(25)
	cfg.Mail.Host = ""
	if n, err := New(cfg, nil, zerolog.Nop(), time.Now); n != nil || err != nil {
		t.Error(n, err)
	}
}
