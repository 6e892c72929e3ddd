package report

import (
	"bytes"
	"strings"
	"testing"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report/words"
)

// TestPendingPage: the page of a list has what waits under it, with links to the jobs' own pages.
func TestPendingPage(t *testing.T) {
	listed := func(q *slurmid.PendingList, state string) string {
		var b bytes.Buffer
		if err := PageOfList(&b, words.OfJobs(&words.JobsPage{Others: true, Query: listing.JobQuery{Start: began, State: state, Sort: "lost"}, Pending: q}), listLinks); err != nil {
			t.Fatal(err)
		}
		checkPage(t, b.Bytes())
		return b.String()
	}
	shown := listed(queue(), "")
	for _, want := range []string{"<h2 id=\"second\">Waiting, as Slurm said at", `<a href="jobs/4800">4800</a>`, `<a href="jobs/48013">48013_[1001-9999%100]</a>`, `<a href="jobs/4802&#43;1">`, "beyond those that jobeff knows"} {
		if !strings.Contains(shown, want) && !strings.Contains(shown, strings.ReplaceAll(want, "&#43;", "+")) {
			t.Errorf("no %s", want)
		}
	}
	if none := listed(nil, "PENDING"); !strings.Contains(none, "not known here now: squeue lists them") || strings.Contains(none, "no such jobs") {
		t.Error("nobody says that nothing is known")
	}
	if none := listed(nil, ""); strings.Contains(none, `id="second"`) {
		t.Error("a heading over nothing")
	}
	if none := listed(&slurmid.PendingList{AsOf: began, Jobs: []slurmid.Pending{}}, "PENDING"); !strings.Contains(none, "None waits") {
		t.Error("nobody says that none waits")
	}
}

// TestSelectedSums: a total is of what was selected.
func TestSelectedSums(t *testing.T) {
	all := words.OfSums(&words.SumsPage{Of: "user", Counted: "job", Heading: "Users", Query: listing.JobQuery{Name: "CH", Sort: "lost", Limit: 9}, Rows: hostileHours()})
	if !strings.HasPrefix(all.Notes[0], "1 user. Total of 10 jobs: 100 core-hours used") || len(all.Table.Rows) != 1 {
		t.Errorf("%+v", all)
	}
}
