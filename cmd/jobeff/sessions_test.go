package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jobeff/etc"
	"jobeff/policy/rule"
)

// onCluster names the documents' sessions that test/sessions_test.go runs on a cluster. The
// others run here, one after the other, on the made-up site that the admin's guide makes
// first. All of them run as they are printed.
var onCluster = []string{"user", "workload"}

// session is a `console` block of a document with its name.
type session struct{ path, name, text string }

var sessionBlock = regexp.MustCompile("(?s)(?:<!-- session: (\\w+) -->\n)?```console\n(.*?)```")

// sessions are those of README.md and doc/, in this order.
func sessions(t *testing.T) (all []session) {
	t.Helper()
	paths, err := filepath.Glob("../../doc/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append([]string{"../../README.md"}, paths...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sessionBlock.FindAllStringSubmatch(string(text), -1) {
			all = append(all, session{filepath.Base(path), m[1], m[2]})
		}
	}
	return all
}

// TestSessionsHaveNames: no test runs a session without a name, and of two with one name only chance decides which runs.
func TestSessionsHaveNames(t *testing.T) {
	var names []string
	for _, s := range sessions(t) {
		if s.name == "" || slices.Contains(names, s.name) {
			t.Errorf("%s: a session is named %q: give it a name of its own, <!-- session: NAME -->", s.path, s.name)
		}
		names = append(names, s.name)
	}
	for _, name := range append(onCluster, "digest", "curve", "rules") {
		if !slices.Contains(names, name) {
			t.Errorf("no document has the session %q", name)
		}
	}
}

// TestSessions runs the documents' sessions that need no cluster.
func TestSessions(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the digest is root's")
	}
	here := slices.DeleteFunc(sessions(t), func(s session) bool { return slices.Contains(onCluster, s.name) })
	// the site is made first
	slices.SortStableFunc(here, func(a, b session) int { return cmp.Compare(turn(a), turn(b)) })
	d := demoSite{t: t, socket: filepath.Join(t.TempDir(), "s")}
	t.Chdir(t.TempDir())
	d.write("jobeff.toml", fmt.Sprintf("[client]\nto = \"unix:%s\"\n[digest]\nzone = \"UTC\"\n", d.socket))
	t.Setenv("JOBEFF_CONFIG", "jobeff.toml")
	for _, s := range here {
		for step := range strings.SplitSeq(strings.TrimPrefix(s.text, "$ "), "\n$ ") {
			command, want, _ := strings.Cut(strings.TrimSuffix(step, "\n"), "\n")
			d.step(s, command, want)
		}
	}
	if page, err := os.ReadFile("job.html"); err != nil || !bytes.Contains(page, []byte("Job 1005900")) {
		t.Errorf("job.html: %v", err)
	}
}

func turn(s session) int {
	if s.name == "digest" {
		return 0
	}
	return 1
}

// demoSite is where the sessions run.
type demoSite struct {
	t      *testing.T
	socket string
}

func (d *demoSite) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// step runs one command of a session and compares what it prints; "..." stands for any text.
func (d *demoSite) step(s session, command, want string) {
	d.t.Helper()
	words := strings.Fields(command)
	switch words[0] {
	case "export": // as in TestSessions
	case "cat":
		d.write(words[1], want+"\n")
	case "jobeffd":
		stop, err := startServer(words[2], d.socket, "jobeff.toml")
		d.t.Cleanup(stop)
		if err != nil {
			d.t.Fatal(err)
		}
	case "jobeff":
		var stdout, stderr bytes.Buffer
		program := exec.Command(words[0], words[1:]...) // testscript put it into PATH, and jobeffd beside it
		program.Stdout, program.Stderr = &stdout, &stderr
		if err := program.Run(); err != nil {
			d.t.Fatalf("%s: %s: %v: %s", s.path, command, err, stderr.String())
		}
		pattern := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, ".*") + "\n?$"
		if !regexp.MustCompile(pattern).Match(stdout.Bytes()) {
			d.t.Errorf("%s shows of %s\n%s\nit prints\n%s", s.path, command, want, stdout.String())
		}
	default:
		d.t.Errorf("%s: nobody runs %q", s.path, command)
	}
}

// TestRuleOfTheDocuments loads the example of a site's rule.
func TestRuleOfTheDocuments(t *testing.T) {
	text, err := os.ReadFile("../../doc/RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`(?m)(^    (\[\[rule\]\]|\w+ = ).*\n)+`).Find(text)
	path := filepath.Join(t.TempDir(), "jobeff.toml")
	if err := os.WriteFile(path, own, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := etc.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := rule.Compile(cfg.Rules)
	if err != nil {
		t.Fatal(err)
	}
	if names := rules.Names(); names[len(names)-1] != "big-and-slow" {
		t.Errorf("got %q", names)
	}
}
