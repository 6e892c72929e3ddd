package notice

import (
	"slices"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy"
)

// Short names for the tables.
var (
	began = jobtest.Began
	work  = jobtest.Work
	world = jobtest.World
	alike = jobtest.Alike
	aJob  = jobtest.Job
	with  = jobtest.With
)

var monday = time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC)

// shippedRules are those of these names.
func shippedRules(t *testing.T, names ...string) *policy.Rules {
	t.Helper()
	own := slices.DeleteFunc(etc.Default().Rules, func(r etc.Rule) bool { return !slices.Contains(names, r.Name) })
	rules, err := policy.Compile(own)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
