package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/etc"
	"jobeff/policy"
)

// TestReadmeCurve runs README's session about a curve to the letter. (Its session of
// a job runs on the test cluster, see test/readme_test.go.)
func TestReadmeCurve(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	session := regexp.MustCompile("(?s)<!-- session: curve -->\n```console\n\\$ cat runs.csv\n(.*?)\\$ jobeff (.*?)\n(.*?)```").FindSubmatch(readme)
	if session == nil {
		t.Fatal("README.md has no session about a curve")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("runs.csv", session[1], 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run(strings.Fields(string(session[2])), func(string) string { return "" }, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if d := cmp.Diff(string(session[3]), stdout.String()); d != "" {
		t.Errorf("README shows something else:\n%s", d)
	}
}

// TestReadmeDigest runs README's session of a made-up site; "..." stands for any lines.
func TestReadmeDigest(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the digest is root's")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	session := regexp.MustCompile("(?s)<!-- session: digest -->\n```console\n\\$ (.*?)```").FindSubmatch(readme)
	if session == nil {
		t.Fatal("README.md has no session of a digest")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	socket := filepath.Join(dir, "s")
	config := fmt.Sprintf("[client]\nto = \"unix:%s\"\n[digest]\nzone = \"UTC\"\n", socket)
	if err := os.WriteFile("jobeff.toml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOBEFF_CONFIG", filepath.Join(dir, "jobeff.toml"))
	for _, step := range strings.Split(string(session[1]), "\n$ ") {
		command, want, _ := strings.Cut(strings.TrimSuffix(step, "\n"), "\n")
		words := strings.Fields(command)
		switch words[0] {
		case "cat", "export": // as above, with a socket of the test's own
			continue
		case "jobeffd":
			stop, err := startServer(words[2], socket)
			t.Cleanup(stop)
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		var stdout, stderr bytes.Buffer
		if code := run(words[1:], os.Getenv, &stdout, &stderr); code != 0 {
			t.Fatalf("%s: exit %d: %s", command, code, stderr.String())
		}
		pattern := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, ".*")
		if !regexp.MustCompile(pattern).Match(stdout.Bytes()) {
			t.Errorf("README shows of %s\n%s\nit prints\n%s", command, want, stdout.String())
		}
	}
	if page, err := os.ReadFile("job.html"); err != nil || !bytes.Contains(page, []byte("Job 1005900")) {
		t.Errorf("job.html: %v", err)
	}
}

// TestReadmeRule loads README's example of a site's rule.
func TestReadmeRule(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`(?m)(^    (\[\[rule\]\]|\w+ = ).*\n)+`).Find(readme[bytes.Index(readme, []byte("## Rules")):])
	path := filepath.Join(t.TempDir(), "jobeff.toml")
	if err := os.WriteFile(path, rule, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := etc.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Compile(cfg.Rules)
	if err != nil {
		t.Fatal(err)
	}
	if names := rules.Names(); names[len(names)-1] != "big-and-slow" {
		t.Errorf("got %q", names)
	}
}
