package words

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report/text"
)

// queue is what waits of two users: a plain job, an array, held and hostile ones.
func queue() *slurmid.PendingList {
	plain := slurmid.Pending{Cluster: "c", ID: "4800", JobID: 4800, UID: 1000, User: "alice", Account: "chem", Partition: "main,big", QOS: "normal", Name: "md", Nodes: 2, CPUs: 128, GPUs: 4, Memory: 256 << 30,
		TimeLimit: 12 * 3600, Submit: began, Eligible: began, Expected: began.Add(5 * time.Hour), Reason: "Resources"}
	array, held, dark := plain, plain, plain
	array.ID, array.JobID, array.ArrayJobID, array.Name, array.Reason, array.Expected, array.GPUs = "48013_[1001-9999%100]", 48013, 48013, "sweep", "JobArrayTaskLimit", time.Time{}, 0
	array.Start(nil)
	held.ID, held.JobID, held.Reason, held.Expected, held.TimeLimit = "4802+1", 4803, "JobHeldUser", time.Time{}, 0
	dark.ID, dark.JobID, dark.ArrayJobID, dark.UID, dark.Name, dark.User, dark.Account, dark.Partition, dark.QOS, dark.Reason = "4900_[1,3,5,7,9,11,13,...]", 4900, 4900, 1001, nasty, nasty, nasty, nasty, nasty, nasty
	return &slurmid.PendingList{AsOf: began.Add(90 * time.Second), Jobs: []slurmid.Pending{plain, array, held, dark}, LeftOut: 1234}
}

func waits(p slurmid.Pending, more ...slurmid.Pending) *job.Job {
	j := job.OfPending(&p)
	j.Pending = &slurmid.PendingList{AsOf: queue().AsOf, Jobs: append([]slurmid.Pending{p}, more...)}
	return j
}

// TestPendingViews: a list of what waits, and one job of it, for every kind of reader; names are text, whatever they are.
func TestPendingViews(t *testing.T) {
	q := queue()
	eachView(t, "pending-list", func(w io.Writer, opts text.Options) error {
		return List(w, listing.LinesOf(fixtureList()[:2]), ListOptions{Options: opts, Pending: q, Rest: "jobeff -S -7days"})
	})
	eachView(t, "pending", func(w io.Writer, opts text.Options) error { return Job(w, waits(q.Jobs[0]), nil, nil, opts) })
	for i := range q.Jobs {
		for look, opts := range views {
			var out bytes.Buffer
			if err := Job(&out, waits(q.Jobs[i], q.Jobs...), nil, nil, opts); err != nil || out.Len() == 0 {
				t.Errorf("%s-%s: %v", q.Jobs[i].ID, look, err)
			}
			checkFits(t, out.String(), opts)
		}
		var page bytes.Buffer
		found := &listing.JobAndWorkload{Job: waits(q.Jobs[i], q.Jobs...)}
		if err := JobHTML(&page, found, nil, nil, siteLinks); err != nil {
			t.Fatal(err)
		}
		checkPage(t, page.Bytes())
	}
}

// TestPendingText: what is said follows from what Slurm said, and from nothing else.
func TestPendingText(t *testing.T) {
	q := queue()
	said := func(j *job.Job) string {
		var out bytes.Buffer
		if err := Job(&out, j, nil, nil, text.Options{Width: 120}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	bare := slurmid.Pending{ID: "7", JobID: 7, Submit: began, Reason: "None"}
	odd, soon, past := bare, bare, bare
	odd.Reason, soon.Reason, soon.Eligible, past.Reason, past.Expected = "Moon", "BeginTime", began.Add(time.Hour), "QOSMaxCpuPerUserLimit", began
	again := fixtures()["good"]
	again.Pending = &slurmid.PendingList{AsOf: q.AsOf, Jobs: q.Jobs[:1]}
	at := func(d time.Duration) string { return began.Add(d).Local().Format("2006-01-02 15:04") }
	for _, c := range []struct {
		job        *job.Job
		want, lack []string
	}{
		{waits(q.Jobs[0]), []string{"It waits since " + at(0) + ", reason Resources: what it asks for is not free yet.", "PENDING, as Slurm said at " + at(90*time.Second),
			"Asked 2 nodes, 128 cores, 4 GPUs, 256 GiB of memory, a time limit of 12:00:00", "Start expected " + at(5*time.Hour), "alice, account chem, partition main,big, QOS normal"}, []string{"each task"}},
		{waits(q.Jobs[1]), []string{"8,999 tasks wait since", "for each task", "Job 48013_[1001-9999%100] sweep"}, []string{"Start", "GPU"}},
		{waits(q.Jobs[2]), []string{"scontrol release", "no time limit of its own"}, nil},
		{waits(bare), []string{"Slurm has not said why yet"}, []string{"None", "Asked 0", "Start"}},
		{waits(odd), []string{"reason Moon."}, nil}, {waits(soon), []string{"Start not before " + at(time.Hour)}, nil},
		{waits(past), []string{"a limit of its QOS is reached"}, []string{"expected"}},
		{again, []string{"Waits 4800 since " + at(0) + ", reason Resources: what it asks for is not free yet; as Slurm said at "}, []string{"It waits"}},
	} {
		got := said(c.job)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not said of %+v:\n%s", want, c.job.Pending.Jobs[0], got)
			}
		}
		for _, lack := range c.lack {
			if strings.Contains(got, lack) {
				t.Errorf("%s is said of %+v:\n%s", lack, c.job.Pending.Jobs[0], got)
			}
		}
	}
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

// TestPendingPage: the page of a list has what waits under it, with links to the jobs' own pages.
func TestPendingPage(t *testing.T) {
	page := func(q *slurmid.PendingList, state string) string {
		var b bytes.Buffer
		if err := JobsHTML(&b, &JobsPage{Others: true, Query: listing.JobQuery{Start: began, State: state, Sort: "lost"}, Pending: q}, listLinks); err != nil {
			t.Fatal(err)
		}
		checkPage(t, b.Bytes())
		return b.String()
	}
	shown := page(queue(), "")
	for _, want := range []string{"<h2 id=\"second\">Waiting, as Slurm said at", `<a href="jobs/4800">4800</a>`, `<a href="jobs/48013">48013_[1001-9999%100]</a>`, `<a href="jobs/4802&#43;1">`, "beyond those that jobeff knows"} {
		if !strings.Contains(shown, want) && !strings.Contains(shown, strings.ReplaceAll(want, "&#43;", "+")) {
			t.Errorf("no %s", want)
		}
	}
	if none := page(nil, "PENDING"); !strings.Contains(none, "not known here now: squeue lists them") || strings.Contains(none, "no such jobs") {
		t.Error("nobody says that nothing is known")
	}
	if none := page(nil, ""); strings.Contains(none, `id="second"`) {
		t.Error("a heading over nothing")
	}
	if none := page(&slurmid.PendingList{AsOf: began, Jobs: []slurmid.Pending{}}, "PENDING"); !strings.Contains(none, "None waits") {
		t.Error("nobody says that none waits")
	}
}
