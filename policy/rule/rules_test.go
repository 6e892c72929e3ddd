package rule

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jobeff/etc"
	"jobeff/policy"
	"jobeff/test/trial"
)

var update = flag.Bool("update", false, "write the got texts as the golden ones")

// shippedRules are those of these names, all where none is given.
func shippedRules(t testing.TB, names ...string) *Rules {
	t.Helper()
	own := etc.Default().Rules
	if len(names) > 0 {
		own = slices.DeleteFunc(own, func(r etc.Rule) bool { return !slices.Contains(names, r.Name) })
	}
	r, err := Compile(own)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rulesOf compiles the rules of a file's text over the shipped ones.
func rulesOf(t testing.TB, text string) (*Rules, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobeff.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := etc.Load(path)
	if err != nil {
		return nil, err
	}
	return Compile(cfg.Rules)
}

// TestBadRules compares the errors of the rules in testdata/conf.txtar.
func TestBadRules(t *testing.T) {
	trial.WrongFiles(t, "testdata/conf.txtar", 12, *update, func(path string, _ []byte) error {
		cfg, err := etc.Load(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		_, err = Compile(cfg.Rules)
		return err
	})
}

// FuzzCompile: what compiles can be asked, and a fault names its rule.
func FuzzCompile(f *testing.F) {
	for _, r := range etc.Default().Rules {
		f.Add(r.Condition, r.Text)
	}
	f.Add("any(warnings, # startsWith 'no')", "{{if gt .ranks 1}}{{printf \"%d\" .ranks}}{{else}}x{{end}}")
	f.Add("let x = ranks; x in 1..9 ? threaded : user matches '^a'", "{{percent .coverage | len}}")
	f.Fuzz(func(t *testing.T, condition, text string) {
		rules, err := Compile([]etc.Rule{{Name: "r", Enabled: true, Condition: condition, Text: text}})
		if err != nil {
			for _, l := range strings.Split(err.Error(), "\n") {
				if !strings.Contains(l, ": rule \"r\": ") { // no file holds it
					t.Errorf("no rule: %q", l)
				}
			}
			return
		}
		c := &policy.Case{Unknown: map[string]string{}}
		c.Warnings = []string{"torn"}
		if v := rules.JudgeCase(c)[0]; v.Reason == "" {
			t.Errorf("no reason: %+v", v)
		}
	})
}
