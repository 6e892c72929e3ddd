package report

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
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

// waits is a job of which nothing has begun, with further lines of it.
func waits(p slurmid.Pending, more ...slurmid.Pending) *job.Job {
	j := job.OfPending(&p)
	j.Pending = &slurmid.PendingList{AsOf: queue().AsOf, Jobs: append([]slurmid.Pending{p}, more...)}
	return j
}

// TestPendingViews: a job that waits, for every kind of reader; names are text, whatever they are.
func TestPendingViews(t *testing.T) {
	q := queue()
	eachView(t, "pending", func(w io.Writer, opts Options) error { return textOf(w, waits(q.Jobs[0]), nil, nil, opts) })
	for i := range q.Jobs {
		for look, opts := range views {
			var out bytes.Buffer
			if err := textOf(&out, waits(q.Jobs[i], q.Jobs...), nil, nil, opts); err != nil || out.Len() == 0 {
				t.Errorf("%s-%s: %v", q.Jobs[i].ID, look, err)
			}
			checkFits(t, out.String(), opts)
		}
		var page bytes.Buffer
		if err := pageOf(&page, waits(q.Jobs[i], q.Jobs...), nil, nil, siteLinks); err != nil {
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
		if err := textOf(&out, j, nil, nil, Options{Width: 120}); err != nil {
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
