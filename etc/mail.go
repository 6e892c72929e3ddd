package etc

import (
	"cmp"
	"fmt"
	"net/mail"
	"os"
	"slices"
	"strings"
	"time"
)

// Mail says how jobeffd sends mail.
type Mail struct {
	Host           string   `toml:"host"`
	Port           int      `toml:"port"`
	TLS            string   `toml:"tls"` // TLSAlways, TLSIfOffered, TLSNever
	User           string   `toml:"user"`
	PasswordFile   string   `toml:"password_file"`
	Sendmail       []string `toml:"sendmail"`
	From           string   `toml:"from"`
	Address        string   `toml:"address"`         // {user} stands for the user's name
	AddressCommand []string `toml:"address_command"` // likewise
	Help           string   `toml:"help"`
	Link           string   `toml:"link"`
	Templates      string   `toml:"templates"`
}

// Values of Mail.TLS.
const (
	TLSAlways    = "always"
	TLSIfOffered = "if_offered"
	TLSNever     = "never"
)

// Sends reports whether there is a way to send mail.
func (m *Mail) Sends() bool { return m.Host != "" || len(m.Sendmail) > 0 }

// Digest says when and to whom the week's digest goes.
type Digest struct {
	To       []string            `toml:"to"`
	Day      string              `toml:"day"`
	Hour     int                 `toml:"hour"`
	Zone     string              `toml:"zone"`
	Accounts map[string][]string `toml:"accounts"` // address → accounts
}

// Location returns the time zone of digests and notices; check has made sure that it exists.
func (d *Digest) Location() *time.Location {
	zone, err := time.LoadLocation(d.Zone)
	if err != nil {
		return time.UTC
	}
	if d.Zone == "Local" {
		return cmp.Or(localByName(), zone)
	}
	return zone
}

// localByName returns this machine's zone under a name that people know, such as "Europe/Berlin"; nil if it has
// none.
func localByName() *time.Location {
	file, err := os.Readlink("/etc/localtime")
	if _, name, found := strings.Cut(file, "/zoneinfo/"); found && err == nil && os.Getenv("TZ") == "" {
		named, err := time.LoadLocation(name)
		now := time.Now()
		if err == nil && now.In(named).Format("-07:00 MST") == now.Format("-07:00 MST") { // a test may have set time.Local to another zone
			return named
		}
	}
	return nil
}

// Notice says when users are told of their jobs.
type Notice struct {
	Enabled   bool     `toml:"enabled"`
	Shadow    bool     `toml:"shadow"`
	Day       string   `toml:"day"`
	Hour      int      `toml:"hour"`
	QuietFrom int      `toml:"quiet_from"`
	QuietTo   int      `toml:"quiet_to"`
	CoolDown  Duration `toml:"cool_down"`

	LeastCoreHours float64 `toml:"least_core_hours"`
	LeastShare     float64 `toml:"least_share"`
	WithoutLine    bool    `toml:"without_line"`
}

// weekdays are the names of Day, by time.Weekday.
var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// Weekday reads a Day; check has made sure that it is one.
func Weekday(name string) time.Weekday { return time.Weekday(max(0, slices.Index(weekdays, name))) }

// checkMail returns the first key with a wrong value in the tables about mail, and what is wrong with it.
func checkMail(m *Mail, d *Digest, n *Notice) (key, msg string) {
	for _, v := range []struct{ key, msg string }{
		{"mail.port", checkRange(m.Port, 1, 65535)},
		{"mail.tls", checkOneOf(m.TLS, TLSAlways, TLSIfOffered, TLSNever)},
		{"mail.user", checkLogin(m)},
		{"mail.password_file", checkPath(m.PasswordFile, true)},
		{"mail.sendmail", checkCommand(m.Sendmail)},
		{"mail.from", checkFrom(m.From)},
		{"mail.address", checkAddressRule(m.Address)},
		{"mail.address_command", checkCommand(m.AddressCommand)},
		{"mail.link", checkLink(m.Link)},
		{"mail.templates", checkPath(m.Templates, true)},
		{"digest.to", checkAddresses(d.To)},
		{"digest.day", checkOneOf(d.Day, weekdays...)},
		{"digest.hour", checkRange(d.Hour, 0, 23)},
		{"digest.zone", checkZone(d.Zone)},
		{"digest.accounts", checkAccounts(d.Accounts)},
		{"notice.day", checkOneOf(n.Day, weekdays...)},
		{"notice.hour", checkRange(n.Hour, 0, 23)},
		{"notice.quiet_from", checkRange(n.QuietFrom, 0, 23)},
		{"notice.quiet_to", checkRange(n.QuietTo, 0, 23)},
		{"notice.cool_down", checkPositive(n.CoolDown)},
		{"notice.least_core_hours", checkAmount(n.LeastCoreHours)},
		{"notice.least_share", checkShare(n.LeastShare)},
	} {
		if v.msg != "" {
			return v.key, v.msg
		}
	}
	return "", ""
}

// checkLogin keeps passwords from a machine that pretends to be the mail server.
func checkLogin(m *Mail) string {
	if m.User == "" || m.TLS == TLSAlways && m.PasswordFile != "" {
		return ""
	}
	return `a login wants tls = "always" and a password_file`
}

func checkFrom(s string) string {
	if _, err := mail.ParseAddress(s); err != nil {
		return fmt.Sprintf("%q is not an address: \"jobeff <jobeff@example.org>\"", s)
	}
	return ""
}

func checkAddresses(all []string) string {
	for _, s := range all {
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return fmt.Sprintf("%q is not an address: \"someone@example.org\"", s)
		}
	}
	return ""
}

func checkAddressRule(s string) string {
	if !strings.Contains(s, "{user}") {
		return fmt.Sprintf("%q does not say {user}: \"{user}@example.org\"", s)
	}
	return checkAddresses([]string{strings.ReplaceAll(s, "{user}", "someone")})
}

func checkZone(s string) string {
	if _, err := time.LoadLocation(s); err != nil || s == "" {
		return fmt.Sprintf("%q is no time zone that this machine knows: \"Local\", \"UTC\" or a name as \"Europe/Berlin\"", s)
	}
	return ""
}

func checkAccounts(all map[string][]string) string {
	for address, accounts := range all {
		if msg := checkAddresses([]string{address}); msg != "" {
			return msg
		}
		if msg := checkNames(accounts); msg != "" || len(accounts) == 0 {
			return fmt.Sprintf("%q has no accounts: give their names, [\"chem\"]", address)
		}
	}
	return ""
}
