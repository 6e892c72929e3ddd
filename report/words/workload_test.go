package words

import (
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// TestNoneKnown: where no fewer cores are known to be better, it is said how well the newest run
// did, not that it is well.
func TestNoneKnown(t *testing.T) {
	for _, c := range []struct {
		runs        []job.Run
		brief, page string
		good        bool
	}{
		{[]job.Run{fixtureRun(1, 1, 1, 101, 100), fixtureRun(2, 2, 1, 51, 50), fixtureRun(3, 4, 1, 26, 25)}, "none known, PE 0.96",
			"No fewer cores are known to be better. Runs on 4 cores have a parallel efficiency of 0.96.", true},
		{[]job.Run{fixtureRun(1, 16, 1, 200, 80), fixtureRun(2, 64, 1, 50, 20)}, "none known, PE 0.40",
			"No fewer cores are known to be better. Runs on 64 cores have a parallel efficiency of 0.40.", false},
	} {
		s := workload.NewStudy(fixtureWorkload("w", c.runs...), nil, began, curve.Settings{})
		if got := briefAdvice(s); got != c.brief {
			t.Errorf("%q, want %q", got, c.brief)
		}
		if h := workloadHeadline(s); h.Text != c.page || h.Good != c.good || h.Bad == c.good {
			t.Errorf("%+v, want %q", h, c.page)
		}
	}
}
