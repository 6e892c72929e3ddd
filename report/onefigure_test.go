package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/view"
	"jobeff/report/words"
)

// TestOneFigureReadsTheSame: an efficiency just below the 0.80 that POP recommends is written alike by the
// page, the text, the list and the rules, and nowhere as the line.
func TestOneFigureReadsTheSame(t *testing.T) {
	line := regexp.MustCompile(`\b0\.80\b`)
	j := aJob(execution(2, work{79.96, 20.04}, work{79.96, 20.04}))
	j.CPUs = 2
	var shown, list, explained bytes.Buffer
	if err := textOf(&shown, j, nil, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := textOfList(&list, listing.LinesOf([]job.Job{*j}), words.ListOptions{}, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := explain(&explained, j, judged(t, j), Options{}); err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(jobHTML(t, j)), "<tbody>") // after the caption, which names the line
	page, _, _ = strings.Cut(strings.ReplaceAll(page, ">", " "), "</tbody")
	for what, s := range map[string]string{"text": shown.String(), "list": list.String(), "rules": explained.String(), "page": page} {
		if s = strings.ReplaceAll(strings.ReplaceAll(s, "0.80 that POP recommends", ""), "below 0.80", ""); line.MatchString(s) || !strings.Contains(s, " 0.79") {
			t.Errorf("%s: not 0.79 alone:\n%s", what, s)
		}
	}
	if s := explained.String(); !strings.Contains(s, "79 % of the time of its ranks was computing") {
		t.Errorf("the rule's text:\n%s", s)
	}
}

// TestNeverMet: of ranks that never met no efficiency is told, by a document, a list or a rule; beside ranks that did meet,
// all tell the same. A job from a list has no executions.
func TestNeverMet(t *testing.T) {
	mixed := separate()
	mixed.Executions = append(mixed.Executions, execution(2, work{80, 20}, work{80, 20}))
	mixed.Metrics = job.JobMetrics(mixed.Executions)
	listed := *separate()
	listed.Warnings, listed.Executions = append(listed.Warnings, job.NeverMetWarning), nil
	for name, c := range map[string]struct {
		j     *job.Job
		known bool
	}{"all alone": {separate(), false}, "some alone": {mixed, true}, "one rank": {aJob(execution(1, work{95, 0.1})), true}, "from a list": {&listed, false}} {
		d := view.Listed(c.j, true)
		line := words.OfList(listing.LinesOf([]job.Job{*c.j}), words.ListOptions{Columns: chosen(t, "pe,lb,lbin,lbout,comme,mpipe,ranks"), Parsable2: true}, false)
		if got := strings.Join(line.Table.Rows[0], " "); strings.Contains(got, "- - - - - -") == c.known || strings.HasSuffix(got, "-") {
			t.Errorf("%s: the list has %s", name, got)
		}
		if (d.ParallelEfficiency != nil) != c.known || (d.MPIParallelEfficiency != nil) != c.known || (d.LoadBalanceIn != nil) != c.known || d.Useful == nil {
			t.Errorf("%s: the document has %v, %v, %v", name, d.ParallelEfficiency, d.MPIParallelEfficiency, d.LoadBalanceIn)
		}
		if name == "from a list" {
			continue
		}
		if why := policy.Describe(c.j, nil).Unknown["parallel_efficiency"]; (why == "") != c.known {
			t.Errorf("%s: the rules say %q", name, why)
		}
	}
}

// TestOneUnit: the times of a column, and of a picture, are all in seconds or all in hours.
func TestOneUnit(t *testing.T) {
	nodes := viewOf(aJob(execution(1, work{14_400, 600}, work{4_010, 10_990}, work{4_000, 11_000})), nil, nil, true).Words().Nodes.Short
	all := map[string]string{"nodes": fmt.Sprint(nodes.Tables[0].Rows, nodes.Notes)}
	study := workload.NewStudy(fixtureWorkload("w", fixtureRun(1, 1, 1, 14_131, 14_000), fixtureRun(2, 4, 1, 4_010, 3_500)), nil, began, curve.Settings{})
	for _, r := range view.NewWorkload(study, true).Words.Curves[0].Runs {
		all["picture"] += r.Name + "\n"
	}
	for what, said := range all {
		if regexp.MustCompile(`\d s\b`).MatchString(said) || !regexp.MustCompile(`\d\d:\d\d:\d\d`).MatchString(said) {
			t.Errorf("%s: %s", what, said)
		}
	}
}
