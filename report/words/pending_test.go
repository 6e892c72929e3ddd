package words

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report/text"
	"jobeff/report/wordstest"
)

var queue = wordstest.Queue

// TestPendingListViews: a list of what waits, for every kind of reader.
func TestPendingListViews(t *testing.T) {
	eachView(t, "pending-list", func(w io.Writer, opts text.Options) error {
		return List(w, listing.LinesOf(fixtureList()[:2]), ListOptions{Options: opts, Pending: queue(), Rest: "jobeff -S -7days"})
	})
}

// TestPendingLists: programs get what waits where they ask for it, a line each; people are told how many are not shown, and
// that nothing is known.
func TestPendingLists(t *testing.T) {
	list := func(jobs []job.Job, opts ListOptions) string {
		var out bytes.Buffer
		opts.Width = 120
		if err := List(&out, listing.LinesOf(jobs), opts); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	q, some := queue(), fixtureList()[:2]
	columns, err := ParseColumns("jobid,state,alloccpus,pe")
	if err != nil {
		t.Fatal(err)
	}
	if got := list(nil, ListOptions{Parsable2: true, NoHeader: true, Columns: columns, Pending: q, OnlyPending: true}); got != "4800|PENDING|-|-\n48013_[1001-9999%100]|PENDING|-|-\n4802+1|PENDING|-|-\n4900_[1,3,5,7,9,11,13,...]|PENDING|-|-\n" {
		t.Errorf("for programs:\n%s", got)
	}
	if got := list(some, ListOptions{Parsable2: true, Pending: q}); strings.Contains(got, "PENDING") || strings.Count(got, "\n") != 3 {
		t.Errorf("programs that did not ask for it get what waits:\n%s", got)
	}
	for _, c := range []struct {
		jobs       []job.Job
		opts       ListOptions
		want, lack []string
	}{
		{some, ListOptions{Pending: q}, []string{"Waiting, as Slurm said at", ": 9,002 jobs", "4900_[1,3,5,7,9,...]", "Slurm's queue has 1,234 lines beyond"}, []string{"no such jobs"}},
		{some, ListOptions{Pending: q, Most: 1, Rest: "jobeff -S -7days"}, []string{"and 3 more: jobeff -s PENDING lists them"}, []string{"48013"}},
		{nil, ListOptions{Pending: q, OnlyPending: true}, []string{"Waiting, as Slurm said"}, []string{"no such jobs"}},
		{nil, ListOptions{Pending: &slurmid.PendingList{AsOf: began, Jobs: []slurmid.Pending{}}, OnlyPending: true}, []string{"None waits, as Slurm said at "}, []string{"no such jobs"}},
		{nil, ListOptions{Pending: &slurmid.PendingList{}, OnlyPending: true}, []string{"not known here now: squeue lists them"}, []string{"None waits"}},
		{some, ListOptions{Pending: &slurmid.PendingList{}}, nil, []string{"squeue", "Waiting"}},
		{some, ListOptions{Pending: &slurmid.PendingList{AsOf: began, Jobs: []slurmid.Pending{}}}, nil, []string{"waits", "Waiting"}},
	} {
		got := list(c.jobs, c.opts)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not said:\n%s", want, got)
			}
		}
		for _, lack := range c.lack {
			if strings.Contains(got, lack) {
				t.Errorf("%q is said:\n%s", lack, got)
			}
		}
	}
}
