package report

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/rule"
)

// judged asks the shipped rules.
func judged(t *testing.T, j *job.Job) []policy.Verdict {
	t.Helper()
	return shippedRules(t).Judge(j, nil)
}

// goldenRules are the shipped rules that goldens show. A new rule is left out until a golden is
// to show it: then it is named here, and changes every golden of verdicts.
func goldenRules() []etc.Rule {
	names := []string{"low-efficiency", "singletons", "idle-ranks", "unused-nodes", "node-imbalance", "past-inflexion"}
	return slices.DeleteFunc(etc.Default().Rules, func(r etc.Rule) bool { return !slices.Contains(names, r.Name) })
}

// shippedRules look at short jobs too.
func shippedRules(t *testing.T) *rule.Rules {
	t.Helper()
	own := goldenRules()
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

// shippedVerdicts are what the shipped rules say of a job.
func shippedVerdicts(t testing.TB, j *job.Job) []policy.Verdict {
	t.Helper()
	rules, err := rule.Compile(goldenRules())
	if err != nil {
		t.Fatal(err)
	}
	return rules.Judge(j, nil)
}

func TestExplainViews(t *testing.T) {
	for _, name := range []string{"bad", "five", "hostile", "killed", "no-mpi", "singletons", "threads", "hybrid"} {
		j := fixtures()[name]
		eachView(t, "explain-"+name, func(w io.Writer, opts Options) error { return explain(w, j, judged(t, j), opts) })
	}
}

// TestVerdictsInTheJob: what the rules flag stands in the job's page and document.
func TestVerdictsInTheJob(t *testing.T) {
	j := fixtures()["hostile"]
	j.Nodes, j.Metrics.Nodes, j.Complete = 4, 2, true
	var out bytes.Buffer
	if err := textOf(&out, j, nil, judged(t, j), Options{}); err != nil {
		t.Fatal(err)
	}
	checkFits(t, out.String(), Options{})
	golden(t, "job-flagged.txt", out.Bytes())
	out.Reset()
	if err := jsonOf(&out, fixtures()["bad"], nil, judged(t, fixtures()["bad"])); err != nil {
		t.Fatal(err)
	}
	golden(t, "job-flagged.json", out.Bytes())
}
