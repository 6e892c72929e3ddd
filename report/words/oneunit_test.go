package words

import (
	"fmt"
	"regexp"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// TestOneUnit: the times of a column, and of a picture, are all in seconds or all in hours.
func TestOneUnit(t *testing.T) {
	v := func(s float64) *float64 { return &s }
	nodes := nodesPart(aJob(execution(1, work{14_400, 600}, work{4_010, 10_990}, work{4_000, 11_000})), 1)
	all := map[string]string{"nodes": fmt.Sprint(nodes.Tables[0].Rows, nodes.Notes)}
	all["sections"] = fmt.Sprint(instancesTable([]job.SectionFigures{{Label: "a", Ranks: 2, Imbalance: v(14_131), EntryImbalanceMean: v(4_010), EntryImbalanceVariance: v(250_000)}})[0].Rows)
	times, _, _ := StudyCurves(workload.NewStudy(fixtureWorkload("w", fixtureRun(1, 1, 1, 14_131, 14_000), fixtureRun(2, 4, 1, 4_010, 3_500)), nil, began, curve.Settings{}))
	for _, r := range times.Runs {
		all["picture"] += r.Name + "\n"
	}
	for what, said := range all {
		if regexp.MustCompile(`\d s\b`).MatchString(said) || !regexp.MustCompile(`\d\d:\d\d:\d\d`).MatchString(said) {
			t.Errorf("%s: %s", what, said)
		}
	}
}
