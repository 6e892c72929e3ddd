package notice

import (
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/policy"
	"jobeff/policy/jobtest"
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

func shippedRules(t *testing.T) *policy.Rules {
	t.Helper()
	rules, err := policy.Compile(etc.Default().Rules)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
