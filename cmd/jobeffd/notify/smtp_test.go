package notify

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/test/trial"
)

// smtpServer is Debian's OpenSMTPD on loopback, which puts every mail to example.org
// into one box and refuses all others.
type smtpServer struct {
	port    int
	dir     string
	process *trial.Server // nil: it does not run
	group   int           // of its processes
}

// newSMTP prepares a server and chooses its port; start and stop it as often as needed.
func newSMTP(t *testing.T) *smtpServer {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts an OpenSMTPD")
	}
	trial.MayMount(t)
	if _, err := exec.LookPath("smtpd"); err != nil {
		t.Skip("opensmtpd is not installed (make deps)")
	}
	s := &smtpServer{port: freePort(t), dir: t.TempDir()}
	for p := s.dir; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755)) // the mails are delivered as nobody
	}
	must(t, os.Mkdir(filepath.Join(s.dir, "box"), 0o755))
	must(t, os.Chown(filepath.Join(s.dir, "box"), 65534, 65534))
	config := fmt.Sprintf(`listen on 127.0.0.1 port %d hostname mail.example.org
table anyone { "@" = "nobody" }
action "keep" maildir "%s/box" virtual <anyone>
match from any for domain "example.org" action "keep"
`, s.port, s.dir)
	must(t, os.WriteFile(filepath.Join(s.dir, "smtpd.conf"), []byte(config), 0o600))
	t.Cleanup(s.stop)
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ownPlaces gives a program a run directory and a mail queue of its own and becomes it: their
// paths are compiled into OpenSMTPD, and two servers at once would share them.
const ownPlaces = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/spool
mkdir -m 711 /var/spool/smtpd
exec "$@"`

func (s *smtpServer) start(t *testing.T) *smtpServer {
	t.Helper()
	return s.run(t, "unshare", "-m", "sh", "-c", ownPlaces, "sh", "smtpd", "-d", "-f", filepath.Join(s.dir, "smtpd.conf"))
}

// run starts a server and waits until it answers.
func (s *smtpServer) run(t *testing.T, command ...string) *smtpServer {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.process = trial.Serve(t, cmd, func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	s.group = cmd.Process.Pid
	return s
}

// stop ends it and its children.
func (s *smtpServer) stop() {
	if s.process != nil {
		s.process.End(syscall.SIGTERM)
		syscall.Kill(-s.group, syscall.SIGKILL)
		s.process = nil
	}
}

// letter is a mail that arrived, taken apart.
type letter struct {
	header     netmail.Header
	text, html string
	size       int
	raw        []byte
}

func (l *letter) id() string { return l.header.Get("Message-ID") }

// arrived waits until there are as many mails as wanted, and a moment for more.
func (s *smtpServer) arrived(t *testing.T, want int) (all []*letter) {
	t.Helper()
	var files []string
	for range 1200 {
		files, _ = filepath.Glob(filepath.Join(s.dir, "box/new/*"))
		if len(files) >= want {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	files, _ = filepath.Glob(filepath.Join(s.dir, "box/new/*"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		all = append(all, parse(t, text))
	}
	if len(all) != want {
		t.Errorf("%d mails arrived, want %d", len(all), want)
	}
	return all
}

// parse is strict: every header once, in ASCII; every part in a known encoding; every
// boundary closed.
func parse(t *testing.T, raw []byte) *letter {
	t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	must(t, err)
	l := &letter{header: m.Header, size: len(raw), raw: raw}
	head, _, _ := bytes.Cut(raw, []byte("\n\n"))
	for _, line := range bytes.Split(head, []byte("\n")) {
		if len(line) > 998 || bytes.ContainsFunc(line, func(r rune) bool { return r > 126 || r < 32 && r != '\t' }) {
			t.Errorf("header line %q", line)
		}
	}
	for _, name := range []string{"From", "To", "Subject", "Date", "Message-Id", "Mime-Version", "Content-Type", "Auto-Submitted", "List-Unsubscribe"} {
		if n := len(m.Header[name]); n != 1 {
			t.Errorf("%d times %s:\n%s", n, name, head)
		}
	}
	if _, err := m.Header.AddressList("To"); err != nil {
		t.Error(err)
	}
	if _, err := m.Header.Date(); err != nil {
		t.Error(err)
	}
	l.part(t, m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body)
	return l
}

func (l *letter) part(t *testing.T, contentType, encoding string, body io.Reader) {
	t.Helper()
	kind, params, err := mime.ParseMediaType(contentType)
	must(t, err)
	if strings.HasPrefix(kind, "multipart/") {
		r := multipart.NewReader(body, params["boundary"])
		for {
			p, err := r.NextRawPart()
			if err == io.EOF {
				return
			}
			must(t, err)
			l.part(t, p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p)
		}
	}
	switch strings.ToLower(encoding) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	default:
		t.Errorf("encoding %q of %s", encoding, kind)
	}
	text, err := io.ReadAll(body)
	must(t, err)
	switch kind {
	case "text/plain":
		l.text = string(text)
	case "text/html":
		l.html = string(text)
	default:
		t.Errorf("a part of type %s", kind)
	}
}

// subject is the decoded subject.
func (l *letter) subject(t *testing.T) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(l.header.Get("Subject"))
	must(t, err)
	return s
}

// counted is how often each Message-ID arrived.
func counted(all []*letter) map[string]int {
	n := map[string]int{}
	for _, l := range all {
		n[l.id()]++
	}
	return n
}

// recipients are the addresses, sorted.
func recipients(all []*letter) (to []string) {
	for _, l := range all {
		to = append(to, strings.Trim(l.header.Get("To"), "<>"))
	}
	slices.Sort(to)
	return to
}

// screenshot renders a letter in Chromium as on a telephone and on a screen, in light and
// in dark. On the telephone nothing may lie beside it.
func screenshot(t *testing.T, l *letter, name string, height int) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Log("chromium is not installed (make deps): no screenshot")
		return
	}
	dir, err := filepath.Abs("../../../build/screenshots")
	must(t, err)
	must(t, os.MkdirAll(dir, 0o755))
	run := func(width int, dark bool, do ...string) string {
		file := filepath.Join(t.TempDir(), "mail.html") // a window has a least width, a frame has none
		must(t, os.WriteFile(file, fmt.Appendf(nil, `<body style="margin:0"><iframe srcdoc="%s" style="border:0;width:%dpx;height:%dpx"
			onload="document.body.dataset.wide = this.contentDocument.documentElement.scrollWidth"></iframe>`, html.EscapeString(l.html), width, height), 0o644))
		args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), fmt.Sprintf("--window-size=%d,%d", width, height)}, do...)
		if dark {
			args = append(args, "--blink-settings=preferredColorScheme=0")
		}
		out, err := exec.Command(chromium, append(args, "file://"+file)...).Output()
		if err != nil {
			t.Fatalf("chromium: %v", err)
		}
		return string(out)
	}
	if dom := run(400, false, "--dump-dom"); !strings.Contains(dom, `data-wide="400"`) {
		t.Errorf("%s: beside a telephone's screen of 400: %.200s", name, dom[strings.Index(dom, "<body"):])
	}
	for _, width := range []int{400, 800} {
		run(width, false, fmt.Sprintf("--screenshot=%s/%s-%d.png", dir, name, width))
		run(width, true, fmt.Sprintf("--screenshot=%s/%s-%d-dark.png", dir, name, width))
	}
}
