package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	gomail "github.com/wneessen/go-mail"

	"jobeff/etc"
	"jobeff/policy/notice"
)

// deliver hands a mail to the server, or to sendmail.
func (n *Notifier) deliver(ctx context.Context, m *notice.Mail) error {
	msg, err := n.message(m)
	if err != nil {
		return &refusedError{err}
	}
	if argv := n.cfg.Mail.Sendmail; len(argv) > 0 {
		var text bytes.Buffer
		if _, err := msg.WriteTo(&text); err != nil {
			return err
		}
		_, err := command(ctx, append([]string{argv[0], "-oi", "-t"}, argv[1:]...), text.Bytes())
		return sendmailSaid(err)
	}
	client, err := n.client()
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, msg)
	if msg.IsDelivered() { // the server took it, whatever it answered later: another try would send it twice
		return nil
	}
	return sorted(err)
}

// With every sendmail, these exit codes of sysexits.h mean that it will never take this mail.
// Other codes mean different things in different programs. With them it is better to try for
// days than to lose a mail:
//
//	64 EX_USAGE        Postfix: also a wrong option in mail.sendmail
//	68 EX_NOHOST       msmtp: the mail server's name is unknown now; OpenSMTPD: its own name is
//	69 EX_UNAVAILABLE  Postfix: it is not running; OpenSMTPD: it is too busy
//	70 EX_SOFTWARE     OpenSMTPD: whatever its server answered
const (
	exDataErr = 65 // the message, or an address in it, cannot be understood
	exNoUser  = 67 // the recipient does not exist
)

// sendmailSaid makes a refusedError of an exit code that says that sendmail will never take this
// mail. After any other one it may take it later.
func sendmailSaid(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("sendmail: %w", err)
	if exit := new(exec.ExitError); errors.As(err, &exit) && (exit.ExitCode() == exDataErr || exit.ExitCode() == exNoUser) {
		return &refusedError{err}
	}
	return err
}

// command runs a site's command to its end, or until ctx ends. Only its exit code counts: its
// standard error is a warning. It does not wait for a child that the command leaves behind, such
// as a mail queue's runner.
func command(ctx context.Context, argv []string, in []byte) (out []byte, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- a command of the settings
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, fmt.Errorf("%w: %.300q", err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// sorted makes a refusedError of an answer that says that the server will never take this mail.
// Only an answer about this mail is final. If the server refuses us altogether, the site can mend
// that, and the server may take the mail later.
func sorted(err error) error {
	var s *gomail.SendError
	if err == nil || !errors.As(err, &s) || s.IsTemp() || s.ErrorCode() < 500 {
		return err
	}
	switch s.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return &refusedError{err}
	}
	return err
}

func (n *Notifier) client() (*gomail.Client, error) {
	m := &n.cfg.Mail
	password, err := n.password()
	if err != nil {
		return nil, err
	}
	options := []gomail.Option{gomail.WithPort(m.Port), gomail.WithTimeout(sendFor / 4)}
	switch m.TLS {
	case etc.TLSAlways:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case etc.TLSNever:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default: // as mail servers do among each other
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic),
			gomail.WithTLSConfig(&tls.Config{ServerName: m.Host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})) // #nosec G402 -- tls = "if_offered" checks no certificate; a login needs "always" (etc/mail.go)
	}
	if m.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(m.User), gomail.WithPassword(password))
	}
	return gomail.NewClient(m.Host, options...)
}

// password reads the file each time, because it may change.
func (n *Notifier) password() (string, error) {
	path := n.cfg.Mail.PasswordFile
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("mail.password_file: %w: make it, or set it to \"\"", err)
	}
	if !info.Mode().IsRegular() { // reading a FIFO may never end
		return "", fmt.Errorf("mail.password_file: %s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("mail.password_file: others may read %s: chmod 600 %s", path, path)
	}
	text, err := os.ReadFile(path)
	return strings.TrimRight(string(text), "\r\n"), err
}

// message is the mail as it is sent. It is the same each time, except for its boundaries.
func (n *Notifier) message(m *notice.Mail) (*gomail.Msg, error) {
	l := &m.Letter
	for _, header := range append([]string{l.Subject, m.MessageID}, l.To...) {
		if strings.ContainsAny(header, "\r\n\x00") {
			return nil, fmt.Errorf("a header of the mail %q has a line break", m.Key)
		}
	}
	from, err := netmail.ParseAddress(n.cfg.Mail.From)
	if err != nil {
		return nil, err
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(from.String()), msg.To(l.To...)); err != nil {
		return nil, err
	}
	msg.Subject(l.Subject)
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetDateWithValue(m.Decided)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Auto-Response-Suppress", "All") // Exchange's word for the same
	msg.SetGenHeaderPreformatted("List-Unsubscribe", "<mailto:"+from.Address+"?subject="+url.PathEscape("no more "+m.Kind+"s")+">")
	msg.SetBodyString(gomail.TypeTextPlain, l.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, l.HTML)
	return msg, nil
}
