package notice

import (
	"slices"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy"
	"jobeff/policy/rule"
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

// shipped are the rules of these names.
func shipped(names ...string) []etc.Rule {
	return slices.DeleteFunc(etc.Default().Rules, func(r etc.Rule) bool { return !slices.Contains(names, r.Name) })
}

// judgedBy asks them about a job.
func judgedBy(t *testing.T, j *job.Job, names ...string) Judged {
	t.Helper()
	rules, err := rule.Compile(shipped(names...))
	if err != nil {
		t.Fatal(err)
	}
	c := policy.Describe(j, nil)
	return NewJudged(j, nil, c, rules.JudgeCase(c))
}
