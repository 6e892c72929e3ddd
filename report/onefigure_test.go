package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/report/text"
	"jobeff/report/words"
)

// TestOneFigureReadsTheSame: an efficiency just below the 0.80 that POP recommends is written alike by the
// page, the text, the list and the rules, and nowhere as the line.
func TestOneFigureReadsTheSame(t *testing.T) {
	line := regexp.MustCompile(`\b0\.80\b`)
	j := aJob(execution(2, work{79.96, 20.04}, work{79.96, 20.04}))
	j.CPUs = 2
	var shown, list, explained bytes.Buffer
	if err := textOf(&shown, j, nil, nil, text.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := textOfList(&list, listing.LinesOf([]job.Job{*j}), words.ListOptions{}, text.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := explain(&explained, j, judged(t, j), text.Options{}); err != nil {
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
