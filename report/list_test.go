package report

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/report/view"
	"jobeff/report/words"
)

// textOfList writes a list of lines.
func textOfList(w io.Writer, lines []listing.Line, opts words.ListOptions, reader Options) error {
	return TextOfJobs(w, view.NewJobs(lines, opts, reader.Unicode), reader)
}

func chosen(t *testing.T, list string) []words.Column {
	t.Helper()
	all, err := words.ParseColumns(list)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestListViews(t *testing.T) {
	jobs := fixtureList()
	eachView(t, "list", func(w io.Writer, opts Options) error {
		return textOfList(w, listing.LinesOf(jobs), words.ListOptions{More: true}, opts)
	})
	var bare bytes.Buffer
	if err := textOfList(&bare, listing.LinesOf(jobs), words.ListOptions{NoHeader: true}, Options{}); err != nil || strings.Count(bare.String(), "\n") != len(jobs) || strings.Contains(bare.String(), "JobID") {
		t.Errorf("without a header: %v\n%s", err, bare.String())
	}
	var parsable bytes.Buffer
	if err := textOfList(&parsable, listing.LinesOf(jobs), words.ListOptions{Parsable2: true}, Options{Unicode: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "list-parsable.txt", parsable.Bytes())
}

func TestParsableHasTheSameColumnsInEveryLine(t *testing.T) {
	var out bytes.Buffer
	if err := textOfList(&out, listing.LinesOf(fixtureList()), words.ListOptions{Parsable2: true}, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if n := strings.Count(l, "|"); n != 13 {
			t.Errorf("%d separators in %q", n, l)
		}
	}
}

func TestEmptyListSaysWhatToDo(t *testing.T) {
	var out bytes.Buffer
	if err := textOfList(&out, nil, words.ListOptions{}, Options{}); err != nil || !strings.Contains(out.String(), "-S") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// TestEveryColumn shows each field of jobs of every kind, of hostile ones too.
func TestEveryColumn(t *testing.T) {
	jobs := append(fixtureList(), *fixtures()["usage"])
	var all []string
	for _, c := range words.AllColumns() {
		all = append(all, c.Name)
	}
	for name, opts := range map[string]words.ListOptions{
		"columns-wide":     {Columns: chosen(t, strings.Join(all, ","))},
		"columns-asked":    {Columns: chosen(t, "jobid%6,jobname%-8,state%4,PE,Cover%8")},
		"columns-parsable": {Columns: chosen(t, strings.Join(all, ",")), Parsable2: true, NoHeader: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := textOfList(&out, listing.LinesOf(jobs), opts, Options{Unicode: name == "columns-wide"}); err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(out.Bytes()) || strings.ContainsAny(out.String(), "\x1b\r\u202e\u200b\u009b") {
				t.Error("a hostile character")
			}
			golden(t, name+".txt", out.Bytes())
		})
	}
}

// TestFoldedList: an array is a line, with what all its tasks have; of a very large one as far as it is known.
func TestFoldedList(t *testing.T) {
	lines := append(listing.LinesOf(fixtureList()), arrayLine())
	eachView(t, "list-array", func(w io.Writer, opts Options) error {
		return textOfList(w, lines, words.ListOptions{Title: "Your jobs, the last 7 days; most core-hours lost first", Sort: "lost", Most: 8, Rest: "jobeff -S -7days"}, opts)
	})
	for options, want := range map[*words.ListOptions]int{{}: 11, {Parsable2: true}: 11, {Most: 3}: 3, {Sort: "-pe"}: 11} {
		options.NoHeader = true
		var out bytes.Buffer
		if err := textOfList(&out, lines, *options, Options{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(out.String(), "\n")
		if left := 11 - want; options.Most > 0 && left > 0 { // says that there are more
			lines--
		}
		if lines != want {
			t.Errorf("%+v: %d lines, want %d\n%s", options, lines, want, out.String())
		}
	}
	large := arrayLine()
	for i := range large.Jobs {
		large.Jobs[i].CPUs, large.Jobs[i].Flags = 49, [][]string{nil, {}, {"low"}, {"low", "idle"}}[i%4]
	}
	large.Sum = listing.Hours{Jobs: 5012, Used: 1234, Judged: 1000, Lost: 321}
	var out bytes.Buffer
	all := listing.Selected{Sum: &listing.Hours{Jobs: 6000, Used: 2000, Judged: 1500, Lost: 500}, Unjudged: 1200}
	if err := textOfList(&out, []listing.Line{large}, words.ListOptions{Columns: chosen(t, "jobid,state,corehours,lost,mpitime,cores,flags"), All: &all, More: true}, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"900    8 CD, 1 F, 5,003 more   1,234   321        -     49  6 low, 3 idle", "and more: raise --limit", "Total of 6,000 jobs: 2,000 core-hours used; 500 lost of 1,500",
		"the present rules have not judged 1,200 yet"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	all.Sum, all.Unjudged = nil, listing.MostUnjudged
	if err := textOfList(&out, []listing.Line{large}, words.ListOptions{Columns: chosen(t, "jobid,flags"), All: &all}, Options{}); err != nil || !strings.Contains(out.String(), "not judged 10,000 or more") || !strings.Contains(out.String(), "They are not summed up") || strings.Contains(out.String(), "Total") {
		t.Errorf("%v: %s", err, out.String())
	}
	out.Reset() // without flags nobody asks who judged
	if err := textOfList(&out, []listing.Line{large}, words.ListOptions{Columns: chosen(t, "jobid,lost"), All: &all}, Options{}); err != nil || strings.Contains(out.String(), "judged 1,200") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestNeverCut: a list cuts names, and no job's id, whatever width is asked for.
func TestNeverCut(t *testing.T) {
	j := *fixtures()["good"]
	j.DisplayID, j.Name, j.User = "1234567890_1234567", strings.Repeat("n", 200), strings.Repeat("u", 200)
	for _, opts := range []words.ListOptions{{}, {Columns: chosen(t, "jobid%3,jobname%5")}, {Columns: chosen(t, "jobid%-3")}} {
		var out bytes.Buffer
		if err := textOfList(&out, listing.LinesOf([]job.Job{j}), opts, Options{}); err != nil || !strings.Contains(out.String(), j.DisplayID) {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}

// TestListColours: what is bad is red, the heads are not, and without colours there are none.
func TestListColours(t *testing.T) {
	var out bytes.Buffer
	if err := textOfList(&out, listing.LinesOf(fixtureList()), words.ListOptions{}, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[31mTIMEOUT", "\x1b[31m 0.62"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "4711 ") && strings.Contains(line, "\x1b") {
			t.Errorf("a good job is red: %q", line)
		}
	}
}

// TestPendingListViews: a list of what waits, for every kind of reader.
func TestPendingListViews(t *testing.T) {
	eachView(t, "pending-list", func(w io.Writer, opts Options) error {
		return textOfList(w, listing.LinesOf(fixtureList()[:2]), words.ListOptions{Pending: queue(), Rest: "jobeff -S -7days"}, opts)
	})
}

// TestPendingLists: programs get what waits where they ask for it, a line each; people are told how many are not shown, and
// that nothing is known.
func TestPendingLists(t *testing.T) {
	list := func(jobs []job.Job, opts words.ListOptions) string {
		var out bytes.Buffer
		if err := textOfList(&out, listing.LinesOf(jobs), opts, Options{Width: 120}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	q, some := queue(), fixtureList()[:2]
	if got := list(nil, words.ListOptions{Parsable2: true, NoHeader: true, Columns: chosen(t, "jobid,state,alloccpus,pe"), Pending: q, OnlyPending: true}); got != "4800|PENDING|-|-\n48013_[1001-9999%100]|PENDING|-|-\n4802+1|PENDING|-|-\n4900_[1,3,5,7,9,11,13,...]|PENDING|-|-\n" {
		t.Errorf("for programs:\n%s", got)
	}
	if got := list(some, words.ListOptions{Parsable2: true, Pending: q}); strings.Contains(got, "PENDING") || strings.Count(got, "\n") != 3 {
		t.Errorf("programs that did not ask for it get what waits:\n%s", got)
	}
	for _, c := range []struct {
		jobs       []job.Job
		opts       words.ListOptions
		want, lack []string
	}{
		{some, words.ListOptions{Pending: q}, []string{"Waiting, as Slurm said at", ": 9,002 jobs", "4900_[1,3,5,7,9,...]", "Slurm's queue has 1,234 lines beyond"}, []string{"no jobs in this time"}},
		{some, words.ListOptions{Pending: q, Most: 1, Rest: "jobeff -S -7days"}, []string{"and 3 more: jobeff -s PENDING lists them"}, []string{"48013"}},
		{nil, words.ListOptions{Pending: q, OnlyPending: true}, []string{"Waiting, as Slurm said"}, []string{"no jobs in this time"}},
		{nil, words.ListOptions{Pending: &slurmid.PendingList{AsOf: began, Jobs: []slurmid.Pending{}}, OnlyPending: true}, []string{"None waits, as Slurm said at "}, []string{"no jobs in this time"}},
		{nil, words.ListOptions{Pending: &slurmid.PendingList{}, OnlyPending: true}, []string{"not known here now: squeue lists them"}, []string{"None waits"}},
		{some, words.ListOptions{Pending: &slurmid.PendingList{}}, nil, []string{"squeue", "Waiting"}},
		{some, words.ListOptions{Pending: &slurmid.PendingList{AsOf: began, Jobs: []slurmid.Pending{}}}, nil, []string{"waits", "Waiting"}},
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
