package wordstest

import (
	"slices"
	"testing"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/rule"
)

// Judged asks the shipped rules.
func Judged(t *testing.T, j *job.Job) []policy.Verdict {
	t.Helper()
	return ShippedRules(t).Judge(j, nil)
}

// GoldenRules are the shipped rules that goldens show. A new rule is left out until a golden is
// to show it: then it is named here, and changes every golden of verdicts.
func GoldenRules() []etc.Rule {
	names := []string{"low-efficiency", "singletons", "idle-ranks", "unused-nodes", "node-imbalance", "past-inflexion"}
	return slices.DeleteFunc(etc.Default().Rules, func(r etc.Rule) bool { return !slices.Contains(names, r.Name) })
}

// ShippedRules look at short jobs too.
func ShippedRules(t *testing.T) *rule.Rules {
	t.Helper()
	own := GoldenRules()
	for i := range own {
		own[i].LeastRuntime, own[i].LeastCoreHours = 0, 0
		own[i].Shadow = own[i].Name == "node-imbalance"
	}
	rules, err := rule.Compile(own)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// ShippedVerdicts are what the shipped rules say of a job.
func ShippedVerdicts(t testing.TB, j *job.Job) []policy.Verdict {
	t.Helper()
	rules, err := rule.Compile(GoldenRules())
	if err != nil {
		t.Fatal(err)
	}
	return rules.Judge(j, nil)
}
