package report

import (
	"bytes"
	"html"
	"math"
	"regexp"
	"strings"
	"testing"

	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
	"jobeff/report/view"
	"jobeff/report/words"
)

// TestSavingHasItsOwnInterval: the interval of a saving follows from that of the time, and is
// another one; every view says each behind its own figure, and the same figures.
func TestSavingHasItsOwnInterval(t *testing.T) {
	tags, spaces := regexp.MustCompile(`<[^>]*>`), regexp.MustCompile(`\s+`)
	for _, name := range []string{"scales", "small"} {
		w := workloads()[name]
		j := jobOfRun(w.Runs[len(w.Runs)-1])
		study := workload.NewStudy(w, j, began, curve.Settings{})
		r, alone := study.Recommend(j), workload.NewStudy(w, nil, began, curve.Settings{}).Recommend(nil)
		if r == nil || alone == nil || *r.Saved != *alone.Saved {
			t.Fatalf("%s: %+v for the job, %+v for its workload", name, r, alone)
		}
		n := float64(study.Mine.Cores())
		saved := func(change float64) float64 { return 1 - r.Cores.Value*(1+change)/n }
		for what, off := range map[string]float64{"share": r.Share.Value - saved(r.Time.Value), "low": r.Share.Low - saved(r.Time.High), "high": r.Share.High - saved(r.Time.Low),
			"hours": r.Saved.Low - r.Share.Low*n*study.Mine.Elapsed/3600} {
			if math.Abs(off) > 1e-9 {
				t.Errorf("%s: %s is off by %g", name, what, off)
			}
		}
		want := "taken " + figure.Change(r.Time.Value) + " (" + figure.ChangeInterval(r.Time.Value, r.Time.Low, r.Time.High) + ") and saved " +
			figure.Estimate(r.Share.Value, r.Share.Low, r.Share.High, figure.Percent) + " of the core-hours"
		verdicts := rulesForShortJobs(t).Judge(j, study)
		var told, explained, page, load, loadPage bytes.Buffer
		for what, err := range map[string]error{"job": textOf(&told, j, study, verdicts, Options{}), "explain": explain(&explained, j, verdicts, Options{}),
			"page": pageOf(&page, j, study, verdicts, siteLinks), "workload": TextOfWorkload(&load, view.NewWorkload(study, false), Options{}), "its page": PageOfWorkload(&loadPage, view.NewWorkload(study, true), siteLinks)} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		for what, shown := range map[string]string{"job": told.String(), "explain": explained.String(), "page": page.String(), "workload": load.String(), "its page": loadPage.String(), "mail": words.BetterText(r)} {
			if plain := html.UnescapeString(spaces.ReplaceAllString(tags.ReplaceAllString(shown, ""), " ")); !strings.Contains(plain, want) {
				t.Errorf("%s: the %s does not say %q", name, what, want)
			}
		}
	}
}
