package main

import (
	"bytes"
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
