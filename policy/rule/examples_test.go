package rule

import (
	"strings"
	"testing"

	"jobeff/policy"
	"jobeff/test/trial"
)

// TestBadExamples compares the errors of the examples in testdata/examples.txtar.
func TestBadExamples(t *testing.T) {
	rules := shippedRules(t, "low-efficiency", "singletons")
	trial.WrongFiles(t, "testdata/examples.txtar", 12, *update, func(path string, text []byte) error {
		_, err := rules.ReadExamples(path, text)
		return err
	})
}

const someExamples = `
[[example]]
name = "waits for half of the time"
expect = { low-efficiency = "flagged", idle-ranks = "cannot tell", node-imbalance = "passed" }
[example.job]
ranks = 64
runtime = 3600               # seconds
alloc_cores = 64
coverage = 1
parallel_efficiency = 0.5
warnings = ["no_finalize"]
nodes_used = 1
load_balance_out = 1.0
cause = "communication"
`

func TestExamples(t *testing.T) {
	rules := shippedRules(t)
	all, err := rules.ReadExamples("f.toml", []byte(someExamples))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].At != "f.toml:2" || all[0].Case.CoreHours != 64 || all[0].Case.Hours.Used == nil || all[0].Case.Hours.Used.Hours() != 64 {
		t.Errorf("got %+v", all)
	}
	if wrong := rules.Try(&all[0]); len(wrong) != 0 {
		t.Errorf("got %+v", wrong)
	}
	all[0].Expect["low-efficiency"] = policy.Passed
	wrong := rules.Try(&all[0])
	if len(wrong) != 1 || wrong[0].Want != policy.Passed || wrong[0].Got.Outcome != policy.Flagged || wrong[0].Got.Rule != "low-efficiency" {
		t.Errorf("got %+v", wrong)
	}
}

func FuzzExamples(f *testing.F) {
	f.Add([]byte(someExamples))
	f.Add([]byte("example = [{name = \"a\", job = {user = \"x\", ranks = 1}, expect = {singletons = \"passed\"}}]"))
	rules := shippedRules(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := rules.ReadExamples("f", text)
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("no file and line: %v", err)
		}
		for i := range all {
			rules.Try(&all[i])
		}
	})
}
