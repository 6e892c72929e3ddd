package notify

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/test/trial"
)

// newLDAP runs Debian's slapd on loopback with some people, and makes ldapsearch ask it.
func newLDAP(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a slapd")
	}
	slapd, err := exec.LookPath("slapd")
	if err != nil {
		t.Skip("slapd is not installed (make deps)")
	}
	dir, port := t.TempDir(), freePort(t)
	must(t, os.Mkdir(filepath.Join(dir, "db"), 0o700))
	conf := "modulepath /usr/lib/ldap\nmoduleload back_mdb\n"
	for _, schema := range []string{"core", "cosine", "nis", "inetorgperson"} {
		conf += "include /etc/ldap/schema/" + schema + ".schema\n"
	}
	conf += fmt.Sprintf("pidfile %s/pid\ndatabase mdb\nmaxsize 16777216\nsuffix dc=example,dc=org\ndirectory %s/db\n", dir, dir)
	people := "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: x\n\n" +
		"dn: ou=a,dc=example,dc=org\nobjectClass: organizationalUnit\nou: a\n\ndn: ou=b,dc=example,dc=org\nobjectClass: organizationalUnit\nou: b\n\n"
	for i, p := range []struct{ unit, uid, cn, mail string }{
		{"a", "alice", "Alice \u00c5ngstr\u00f6m", "alice.a@example.org"}, {"a", "bob", `Bob "B" <evil@example.org>, all`, "bob.b@example.org"},
		{"a", "carol", "Carol", ""}, {"a", "dave", "Dave", "x@example.org>, <evil@example.org"}, {"a", "twice", "One", "one@example.org"}, {"b", "twice", "Two", "two@example.org"},
		{"a", "star*", "Star", "star@example.org"},
	} {
		people += fmt.Sprintf("dn: uid=%s,ou=%s,dc=example,dc=org\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\nuid: %s\ncn:: %s\nsn: x\nuidNumber: %d\ngidNumber: 1\nhomeDirectory: /\n",
			strings.ReplaceAll(p.uid, "*", "\\2a"), p.unit, p.uid, base64.StdEncoding.EncodeToString([]byte(p.cn)), 1001+i)
		if p.mail != "" {
			people += "mail:: " + base64.StdEncoding.EncodeToString([]byte(p.mail)) + "\n"
		}
		people += "\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "people"), []byte(people), 0o600))
	if out, err := exec.Command("slapadd", "-f", filepath.Join(dir, "conf"), "-l", filepath.Join(dir, "people")).CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v\n%s", err, out)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	trial.Serve(t, exec.Command(slapd, "-f", filepath.Join(dir, "conf"), "-h", "ldap://"+address, "-d", "0"), func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	t.Setenv("LDAPURI", "ldap://"+address)
	t.Setenv("LDAPBASE", "dc=example,dc=org")
}

// mailAddress is the example that is shipped.
const mailAddress = "../../../packaging/ldap/mailaddress"

// TestLDAP: the example for a site with LDAP prints one person's name and address, whatever stands in them. No user's
// name is a filter.
func TestLDAP(t *testing.T) {
	newLDAP(t)
	for user, want := range map[string]string{
		"alice": "\"Alice \u00c5ngstr\u00f6m\" <alice.a@example.org>\n", "bob": "\"Bob B evil@example.org, all\" <bob.b@example.org>\n", "star*": "\"Star\" <star@example.org>\n",
		"carol": "", "twice": "", "nobody": "", "": "", "*": "", "al*": "", "alice)(uid=*": "", "*)(uid=alice": "", "alice)": "", `\2a`: "", `alic\65`: "", "a&b|c!": "", "-H": "",
	} {
		out, err := exec.Command(mailAddress, user).Output()
		if string(out) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", user, out, err)
		}
	}
	db := site(t, filepath.Join(t.TempDir(), "db"))
	for i, user := range []string{"alice", "bob", "carol", "dave"} {
		must(t, db.AddJobs(ctx, badJobs(user, 1001+uint32(i), uint32(1+100*i), 3, "melt")))
	}
	s := newSMTP(t).start(t)
	cfg := config(s.port)
	cfg.Digest.To, cfg.Mail.AddressCommand = nil, []string{mailAddress, "{user}"}
	notifier(t, cfg, db, &clock{tuesday}).Tick(ctx)
	greeting := map[string]string{"<alice.a@example.org>": "Hello Alice \u00c5ngstr\u00f6m,", "<bob.b@example.org>": "Hello Bob B evil@example.org, all,"}
	for _, l := range s.arrived(t, 2) {
		if want := greeting[l.header.Get("To")]; want == "" || !strings.HasPrefix(l.text, want) {
			t.Errorf("to %s:\n%.200s", l.header.Get("To"), l.text)
		}
	}
}
