package etc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fileRules is a site's file: a change of a shipped rule, and a rule of its own.
const fileRules = `# ours
[[rule]]
name = "low-efficiency"
least_runtime = "2h"
shadow = true

[[rule]]
name = "idle-gpus"
condition = """
ranks > 1 and
coverage > 0.5"""
text = "x"
`

func TestRulesOverTheShippedOnes(t *testing.T) {
	path := write(t, fileRules)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	before := Default().Rules
	want := slices.Clone(before)
	want[0].LeastRuntime, want[0].Shadow = Duration(2*time.Hour), true
	want = append(want, Rule{Name: "idle-gpus", Enabled: true, LeastCoverage: 0.9,
		Condition: "ranks > 1 and\ncoverage > 0.5", Text: "x"})
	if d := cmp.Diff(want, c.Rules, cmpopts.IgnoreUnexported(Rule{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, Default().Rules, cmpopts.IgnoreUnexported(Rule{})); d != "" {
		t.Errorf("a site's file changed the shipped rules: %s", d)
	}
	last := len(c.Rules) - 1
	above, _, _ := strings.Cut(string(shipped), "\ncondition =")
	first := fmt.Sprint("built-in jobeff.toml:", strings.Count(above, "\n")+2)
	for _, at := range []struct {
		rule      int
		key, want string
	}{
		{0, "shadow", path + ":5"},
		{0, "condition", first},
		{0, "name", path + ":3"},
		{last, "condition", path + ":9"},
		{last, "", path + ":7"},
		{last, "link", path + ":7"},
	} {
		if got := c.Rules[at.rule].At(at.key); got != at.want {
			t.Errorf("rule %d, %s: at %s, want %s", at.rule, at.key, got, at.want)
		}
	}
}
