package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/wire"
	"jobeff/policy"
	"jobeff/policy/doubt"
)

// notKept are the fields of a job.Job without a column that is read: they follow from others, or from the
// viewer, the time and Slurm's partitions; the rules' flags come later,
// what the job asked for stands in columns that no list reads, and the program of a task with its executions;
// steps tell NTasks.
var notKept = []string{"DisplayID", "Complete", "Covered", "Unconfirmed", "Overheads", "Flags", "AsOf", "Together", "Hung", "Stood", "Used", "Eligible", "TimeLimit", "Array", "Alike", "Room", "Program", "Pending", "NTasks"}

// notTaken are the fields of sacct's line without a column: they make the displayed id, or say
// which columns to write.
var notTaken = []string{"ID", "WithSteps", "StepsOpen", "Cluster", "RawID", "UID"}

// TestColumns: the tables have exactly the columns of columns.go, and those that only SQL uses.
func TestColumns(t *testing.T) {
	s := open(t)
	var attempts []string
	for _, c := range attemptColumns {
		attempts = append(attempts, c.name)
	}
	for table, listed := range map[string][]string{
		"attempts": attempts, "executions": namesOf(executionTable.columns),
		"workload_runs": namesOf(workloadTable.columns), "reports": namesOf(reportTable.columns), "rollup_months": namesOf(monthTable.columns),
		"notices": namesOf(noticeTable.columns), "mails": append(namesOf(mailTable.columns), "lease_us", "sent_us", "failed_us", "error"),
	} {
		known, err := (&importer{Store: s, columns: map[string]map[string]bool{}}).columnsOf(ctx, table)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range listed {
			if !known[name] {
				t.Errorf("table %s has no column %s, or it is listed twice: add it to the schema", table, name)
			}
			delete(known, name)
		}
		if len(known) > 0 {
			t.Errorf("no field has a tag for these of %s: %v", table, known)
		}
	}
}

// TestWriters: each column of attempts has one line of writers, but for those that the database or a statement of its own writes.
func TestWriters(t *testing.T) {
	var listed []string
	for _, w := range writers {
		listed = append(listed, strings.Fields(w.columns)...)
	}
	listed = append(listed, "start_us", "end_us", "trimmed", "flags")
	all := strings.Split(names(columnsOfAttempt), ", ")
	slices.Sort(listed)
	slices.Sort(all)
	if d := gocmp.Diff(all, listed); d != "" {
		t.Error(d)
	}
	for _, name := range unread {
		if !slices.Contains(all, name) {
			t.Errorf("attempts has no column %s, and it is named as unread", name)
		}
	}
}

func namesOf[T any](columns []column[T]) []string { return strings.Split(names(columns), ", ") }

// TestJobIsKept: every field of a job comes back from the database, in a view and in a list. A
// list leaves out executions and steps.
func TestJobIsKept(t *testing.T) {
	s := open(t)
	want := new(job.Job)
	jobtest.Fill(rand.New(rand.NewPCG(1, 1)), want)
	want.Attempt, want.Reports, want.Nodes, want.HetJobID, want.HetOffset = 1, 2, 2, 0, nil
	want.Executions[0].Metrics.Ranks = max(1, want.Executions[0].Metrics.Ranks)
	want.Elapsed, want.End = 20*time.Second, want.Start.Add(20*time.Second)
	want.Executions[0].Folded, want.Executions[0].Costly = nil, false
	jobtest.MakePossible(&want.Executions[0])
	for _, share := range []*float64{&want.Metrics.Parallel, &want.Metrics.LoadBalance, &want.Metrics.Communication, &want.Metrics.MPI.Communication,
		&want.Metrics.LoadBalanceIn, &want.Metrics.LoadBalanceOut, &want.Metrics.Coverage} {
		*share /= 2 // it was between 1 and 2
	}
	want.Executions[0].CPUsPerTask = 2 // which makes it threaded
	h := want.Metrics.Hybrid
	*h = job.Hybrid{Threads: h.Threads, Span: job.CoreSeconds(want.Executions), Useful: 1, MPITime: 2, IOTime: 3, Imbalance: 4, Scheduling: 5, Serial: 6}
	want.Metrics.MPI.Parallel /= 4
	want.Metrics.Balanced()
	want.Metrics.MPI.Balanced()
	want.Metrics.BalancedOut()
	want.Usage.TotalCPU = want.Usage.TotalCPU.Truncate(time.Microsecond)
	want.NoData, want.State = doubt.Warning{}, "COMPLETED" // there is data, and a second word would say who cancelled it
	hours := policy.CoreHoursOf(want)
	want.Judged, want.Lost = hours.Judged(), hours.Lost
	if err := s.AddJobs(ctx, []*job.Job{want}); err != nil {
		t.Fatal(err)
	}
	whole, err := s.Job(ctx, root, slurmid.Ref{ID: want.JobID}, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole.Warnings = whole.Warnings[:len(want.Warnings)] // the rest is about its usage
	differ(t, "job", want, whole, notKept)
	list, err := s.Jobs(ctx, root, listing.JobQuery{}, nil)
	if err != nil || len(list.Jobs) != 1 {
		t.Fatal(list, err)
	}
	list.Jobs[0].Warnings = list.Jobs[0].Warnings[:len(want.Warnings)]
	differ(t, "list", want, &list.Jobs[0], append(slices.Clone(notKept), "Executions", "Steps"))
}

// differ reports fields that differ between two structs, except the named ones.
func differ(t *testing.T, what string, want, got *job.Job, named []string) {
	t.Helper()
	w, g := reflect.ValueOf(want).Elem(), reflect.ValueOf(got).Elem()
	for i := range w.NumField() {
		name := w.Type().Field(i).Name
		if !slices.Contains(named, name) && !reflect.DeepEqual(w.Field(i).Interface(), g.Field(i).Interface()) {
			t.Errorf("%s: %s was %+v and came back as %+v: give it a column, or name it in notKept", what, name, w.Field(i), g.Field(i))
		}
	}
}

// TestSlurmIsTaken: every field of sacct's line reaches the row.
func TestSlurmIsTaken(t *testing.T) {
	line := new(slurm.Job)
	jobtest.Fill(rand.New(rand.NewPCG(1, 2)), line)
	row := func() string {
		var values []any
		r := rowOfSlurm(attemptKey{}, line)
		for _, c := range attemptColumns {
			if cmp.Or(c.by[accounting], c.by[usage]) != stays {
				values = append(values, sqlValue(c.field(r)))
			}
		}
		return fmt.Sprint(values)
	}
	want, taken := row(), map[string]bool{}
	jobtest.Changed(line, func(path string) { taken[path] = taken[path] || row() != want })
	for path, is := range taken {
		if !is && !slices.Contains(notTaken, strings.TrimPrefix(path, ".")) {
			t.Errorf("%s is in no column: give it one, or name it in notTaken", path)
		}
	}
}

// TestReportIsKept: a node's report is kept as it came, with all its fields.
func TestReportIsKept(t *testing.T) {
	s := open(t)
	in := nodeReport(7, 1, "a", 0)
	add(t, s, in)
	want, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readRows(s.read.QueryContext(ctx, "SELECT body FROM reports"))
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	got, err := wire.DecompressReport(nil, rows[0]["body"].([]byte))
	if err != nil || string(got) != string(want) {
		t.Errorf("%v: kept\n%s of\n%s", err, got, want)
	}
}
