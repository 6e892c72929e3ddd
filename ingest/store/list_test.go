package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
)

// listStore holds jobs of every kind: alice's 11 and 12; bob's 13; array 20 with tasks 1 to 8,
// whose raw ids are 20 to 27; and the het job 40 and 41.
func listStore(t *testing.T) *Store {
	s := open(t)
	lines := []slurm.Job{
		sacct(11, "11", "COMPLETED", 0, time.Minute, time.Hour), sacct(12, "12", "TIMEOUT", 0, 2*time.Minute, time.Hour),
		sacct(13, "13", "FAILED", 0, 3*time.Minute, time.Hour), sacct(40, "40+0", "COMPLETED", 0, 30*time.Minute, time.Hour),
		sacct(41, "40+1", "COMPLETED", 0, 31*time.Minute, time.Hour),
	}
	lines[1].Partition, lines[1].QOS, lines[1].Account = "big", "long", "chem"
	lines[3].Usage, lines[3].WithSteps = &job.Usage{OutOfMemory: "0"}, true
	lines[2].UID, lines[2].Cluster, lines[2].Account = bob.UID, "other", "bio"
	for i := range uint32(2) {
		offset := i
		lines[3+i].HetJobID, lines[3+i].HetOffset = 40, &offset
	}
	for i := range uint32(8) {
		task := i + 1
		l := sacct(20+i, fmt.Sprint("20_", task), "COMPLETED", 0, time.Duration(10+i)*time.Minute, time.Hour)
		l.ArrayJobID, l.ArrayTaskID = 20, &task
		lines = append(lines, l)
	}
	if _, err := s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	return s
}

// ids lists the display ids of a query, the oldest first.
func ids(t *testing.T, s *Store, v Viewer, q listing.JobQuery, uids ...uint32) string {
	t.Helper()
	list, err := s.Jobs(ctx, v, q, uids)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, j := range list.Jobs {
		ids = append(ids, j.DisplayID)
	}
	slices.Reverse(ids)
	return strings.Join(ids, " ")
}

// upTo lists the numbers from 1 to n.
func upTo(n int, form string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(form, i+1))
	}
	return strings.Join(all, ",")
}

// TestSpans: a list of a span has all jobs that ran in it, of whatever length, and no others.
func TestSpans(t *testing.T) {
	s := open(t)
	const later = 60 * 24 * time.Hour // than the store began: it takes no older jobs
	var lines []slurm.Job
	for _, length := range append([]int64{0, 1e6, 30e6, 30 * 86400e6, 100 * 86400e6}, lengths[:]...) {
		for _, start := range []time.Duration{-50 * 24 * time.Hour, -24 * time.Hour, -time.Hour, 0, time.Hour, 30 * time.Hour} {
			for _, by := range []int64{-1e6, 0, 1e6} { // what Slurm tells is of whole seconds
				if length+by < 0 {
					continue
				}
				n := uint32(1000 + len(lines))
				line := sacct(n, fmt.Sprint(n), "COMPLETED", 0, later+start, later+start+time.Duration(length+by)*time.Microsecond)
				line.End = line.Start.Add(line.Elapsed)
				lines = append(lines, line)
			}
		}
	}
	open := sacct(10, "10", "RUNNING", 0, later-48*time.Hour, 0)
	open.Elapsed = 0
	lines = append(lines, open)
	if _, err := s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	froms := []time.Duration{-51 * 24 * time.Hour, -25 * time.Hour, -time.Second, 0, time.Second, time.Hour, 29 * time.Hour, 40 * 24 * time.Hour}
	for i := range lines[:len(lines)-1] {
		froms = append(froms, lines[i].End.Sub(day)-later)
	}
	for _, from := range froms {
		for _, long := range []time.Duration{time.Second, 80 * 24 * time.Hour} {
			q := listing.JobQuery{Start: day.Add(later + from), End: day.Add(later + from + long), Limit: 9999}
			want := map[string]bool{}
			for i := range lines {
				if l := &lines[i]; l.Start.Before(q.End) && (l.End.IsZero() || !l.End.Before(q.Start)) {
					want[l.ID] = true
				}
			}
			for _, q.Sort = range []string{"", "lost"} {
				list, err := s.Jobs(ctx, root, q, nil)
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]bool{}
				for _, j := range list.Jobs {
					got[j.DisplayID] = true
				}
				if diff := cmp.Diff(want, got); diff != "" || len(list.Jobs) != len(want) {
					t.Errorf("from %v for %v: %d jobs, want %d\n%s", from, long, len(list.Jobs), len(want), diff)
				}
			}
			_, all, err := s.EachLine(ctx, root, q, nil, func(*listing.Line) error { return ErrEnough })
			if err != nil || all.Sum.Jobs != len(want) {
				t.Errorf("from %v for %v: a sum of %d jobs, want %d, %v", from, long, all.Sum.Jobs, len(want), err)
			}
		}
	}
}

func TestFilters(t *testing.T) {
	s := listStore(t)
	const array = "20_1 20_2 20_3 20_4 20_5 20_6 20_7 20_8"
	for _, c := range []struct {
		q    listing.JobQuery
		want string
	}{
		{listing.JobQuery{}, "11 12 13 " + array + " 40+0 40+1"},
		{listing.JobQuery{Account: "chem,bio"}, "12 13"},
		{listing.JobQuery{Account: "chem", Partition: "main"}, ""},
		{listing.JobQuery{Partition: "big"}, "12"},
		{listing.JobQuery{QOS: "long,nosuch"}, "12"},
		{listing.JobQuery{Cluster: "other"}, "13"},
		{listing.JobQuery{Account: "\x00", Cluster: "\xff", State: "a\x00b", QOS: "\xff"}, ""},
		{listing.JobQuery{Jobs: upTo(1000, "%d")}, "11 12 13 " + array + " 40+0 40+1"},
		{listing.JobQuery{Jobs: upTo(100, "%d_[1-2,8]")}, "20_1 20_2 20_8"},
		{listing.JobQuery{Jobs: "20_[" + upTo(1000, "%d") + "]"}, array},
		{listing.JobQuery{State: "TIMEOUT,FAILED"}, "12 13"},
		{listing.JobQuery{State: "OUT_OF_MEMORY"}, "40+0"},
		{listing.JobQuery{State: "OUT_OF_MEMORY,TIMEOUT", Cluster: "test"}, "12 40+0"},
		{listing.JobQuery{State: "x') OR ('1' = '1"}, ""},
		{listing.JobQuery{Jobs: "12"}, "12"},
		{listing.JobQuery{Jobs: "12,13,999"}, "12 13"},
		{listing.JobQuery{Jobs: "20"}, array},
		{listing.JobQuery{Jobs: "21"}, "20_2"},
		{listing.JobQuery{Jobs: "20_3"}, "20_3"},
		{listing.JobQuery{Jobs: "20_[1-3]"}, "20_1 20_2 20_3"},
		{listing.JobQuery{Jobs: "20_[1-2,7],40+1"}, "20_1 20_2 20_7 40+1"},
		{listing.JobQuery{Jobs: "20_[2-8:3]"}, "20_2 20_5 20_8"},
		{listing.JobQuery{Jobs: "40"}, "40+0 40+1"},
		{listing.JobQuery{Jobs: "40+1"}, "40+1"},
		{listing.JobQuery{Jobs: "41"}, "40+1"},
		{listing.JobQuery{Jobs: "20,12", State: "TIMEOUT"}, "12"},
	} {
		if d := cmp.Diff(c.want, ids(t, s, root, c.q)); d != "" {
			t.Errorf("%+v: %s", c.q, d)
		}
		for id := range strings.FieldsSeq(ids(t, s, bob, c.q)) {
			if id != "13" {
				t.Errorf("%+v shows bob the job %s", c.q, id)
			}
		}
	}
	if got := ids(t, s, root, listing.JobQuery{}, bob.UID, 4711); got != "13" {
		t.Errorf("of bob: %s", got)
	}
	for _, bad := range []string{"x", "12,", "20_[", "20_[3-1]", "20_[1-3", "12.batch", "20_[1:0]", "1_[1],[2]"} {
		wrong := new(SelectionError)
		if _, err := s.Jobs(ctx, root, listing.JobQuery{Jobs: bad}, nil); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestListsAreBounded: a list reads no more jobs than an answer has room for.
func TestListsAreBounded(t *testing.T) {
	s := open(t)
	err := s.do(ctx, func(w *writer) error {
		return w.exec(`INSERT INTO attempts (cluster, job_id, attempt, uid, state, slurm_submit_us, slurm_start_us, changed_us)
			WITH RECURSIVE jobs(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM jobs WHERE n < ?) SELECT 'test', n, 1, 1000, 'COMPLETED', 1, 1, 1 FROM jobs`, maxLimit+2)
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, limit, _, _, err := s.listed(ctx, root, listing.JobQuery{Limit: 1 << 30}, nil, nil)
	if err != nil || limit > 20_000 || len(rows) != limit+1 {
		t.Errorf("%v, %d rows are read for %d jobs", err, len(rows), limit)
	}
}

// TestLongQueriesAreNotKept: a list that names a great many jobs stays prepared on no connection, where each takes
// some MiB, and takes none from others.
func TestLongQueriesAreNotKept(t *testing.T) {
	s := open(t)
	for range readers {
		c, err := s.read.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	late, cancel := context.WithTimeout(ctx, 20*time.Second) // a dead end
	defer cancel()
	for _, form := range []string{"%d", "%d_7", "%d_[1-5:2,7-8]"} {
		if _, err := s.Jobs(late, root, listing.JobQuery{Jobs: upTo(1000, form)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.read.long.Stats().OpenConnections; n > 0 {
		t.Errorf("%d connections are kept", n)
	}
}

// TestPages: the pages of a list together are the list. Most of the second list's jobs began
// before its span.
func TestPages(t *testing.T) {
	s := listStore(t)
	for start, jobs := range map[time.Time]int{{}: 13, day.Add(30 * time.Minute): 13, day.Add(2 * time.Hour): 0} {
		whole := ids(t, s, root, listing.JobQuery{Start: start})
		if n := len(strings.Fields(whole)); n != jobs {
			t.Errorf("%d jobs since %v: %s", n, start, whole)
		}
		for _, limit := range []int{1, 4} {
			var got []string
			for more := true; more; {
				list, err := s.Jobs(ctx, root, listing.JobQuery{Start: start, Limit: limit, Offset: len(got)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, j := range list.Jobs {
					got = append(got, j.DisplayID)
				}
				more = list.More
			}
			slices.Reverse(got)
			if d := cmp.Diff(whole, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		}
	}
}

// TestCursor: page by page, each list goes on behind what was listed last, whatever comes meanwhile.
func TestCursor(t *testing.T) {
	s := listStore(t)
	for id, elapsed := range map[uint32]time.Duration{1: 100 * time.Second, 2: 300 * time.Second, 3: 300 * time.Second, 4: 200 * time.Second} {
		start := time.Duration(id) * time.Hour
		add(t, s, nodeReport(id, 1, "a", start))
		if _, err := s.AddSlurm(ctx, []slurm.Job{sacct(id, fmt.Sprint(id), "COMPLETED", start, start, start+elapsed)}); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint32(3) { // no start is known of these
		waits := sacct(90+id, fmt.Sprint(90+id), "PENDING", 0, 0, 0)
		waits.Start = time.Time{}
		if _, err := s.AddSlurm(ctx, []slurm.Job{waits}); err != nil {
			t.Fatal(err)
		}
	}
	merged(t, s)
	late := uint32(500)
	queries := []listing.JobQuery{{}, {Start: day.Add(20 * time.Minute)}, {Jobs: "1,2,3,11,20,40,90,91"}, {Cluster: "test", Sort: "lost"}}
	for by := range orders {
		queries = append(queries, listing.JobQuery{Sort: by}, listing.JobQuery{Sort: "-" + by})
	}
	for _, q := range queries {
		list := func() (got []string) {
			next, err := s.EachJob(ctx, root, q, nil, func(j *job.Job) error {
				got = append(got, fmt.Sprint(j.Cluster, "/", j.DisplayID, ".", j.Attempt))
				return nil
			})
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			q.After = next
			return got
		}
		for _, limit := range []int{1, 4} {
			q.Limit = 0
			want := list()
			if len(want) < 8 || q.After != "" {
				t.Fatalf("%+v: %v", q, want)
			}
			q.Limit = limit
			got := list()
			for q.After != "" && len(got) < 1000 {
				if late++; q.Sort == "" || q.Sort == "lost" {
					add(t, s, nodeReport(late, 1, "a", 100*time.Hour+time.Duration(late)*time.Second)) // newer than all
					merged(t, s)
				}
				got = append(got, list()...)
			}
			if q.Sort != "" { // of unknown loss, the late ones come behind all that is known
				got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(want, id) })
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%+v (-want +got)\n%s", q, d)
			}
		}
	}
}

// TestWrongCursor: a word of another list, or one that somebody made up, is refused, or is a place in the
// list: it shows nobody more than the list does.
func TestWrongCursor(t *testing.T) {
	s := listStore(t)
	next, err := s.EachJob(ctx, root, listing.JobQuery{Limit: 2}, nil, func(*job.Job) error { return nil })
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	text, _ := base64.RawURLEncoding.DecodeString(next)
	word := func(from, to string) string {
		if from != "" && !bytes.Contains(text, []byte(from)) {
			t.Fatalf("%s does not hold %s", text, from)
		}
		return base64.RawURLEncoding.EncodeToString(bytes.ReplaceAll(text, []byte(from), []byte(to)))
	}
	for what, c := range map[string]struct {
		q       listing.JobQuery
		refused bool
	}{
		"another order":    {listing.JobQuery{After: next, Sort: "lost"}, true},
		"another filter":   {listing.JobQuery{After: next, Account: "chem"}, true},
		"cut":              {listing.JobQuery{After: next[:len(next)-3]}, true},
		"no word":          {listing.JobQuery{After: "' OR 1=1 --"}, true},
		"a number":         {listing.JobQuery{After: base64.RawURLEncoding.EncodeToString([]byte("7"))}, true},
		"SQL":              {listing.JobQuery{After: word(`"c":"test"`, `"c":"x' OR '1'='1"`)}, false},
		"a cluster of \\0": {listing.JobQuery{After: word(`"c":"test"`, `"c":"\u0000"`)}, false},
		"a large number":   {listing.JobQuery{After: word(`"a":1`, `"a":9223372036854775807`)}, false},
		"too large a one":  {listing.JobQuery{After: word(`"a":1`, `"a":9223372036854775808`)}, true},
		"no start":         {listing.JobQuery{After: word(`"s":`, `"x":`)}, false},
		"another limit":    {listing.JobQuery{After: next, Limit: 1, Detail: true}, false},
	} {
		got := 0
		_, err := s.EachJob(ctx, bob, c.q, nil, func(j *job.Job) error {
			if got++; j.UID != bob.UID {
				t.Errorf("%s: bob sees %s", what, j.DisplayID)
			}
			return nil
		})
		if wrong := new(SelectionError); errors.As(err, &wrong) != c.refused || err != nil && !c.refused {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLostFirst: most core-hours lost first, jobs of unknown loss last.
func TestLostFirst(t *testing.T) {
	s := open(t)
	for id, elapsed := range map[uint32]time.Duration{1: 100 * time.Second, 2: 300 * time.Second, 3: 200 * time.Second, 4: 400 * time.Second, 5: 0, 6: 103 * time.Second} {
		start := time.Duration(id) * time.Hour
		r := nodeReport(id, 1, "a", start)
		if id == 4 {
			r.Executions[0].OMPThreads = 2
		}
		if id == 6 {
			onThreads(r, 2)
		}
		add(t, s, r)
		line := sacct(id, fmt.Sprint(id), "COMPLETED", start, start, start+elapsed)
		if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := settled(t, merged(t, s)).Jobs(ctx, alice, listing.JobQuery{Sort: "lost"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range list.Jobs {
		lost := "not known"
		if l := j.LostCoreHours(); l != nil {
			lost = fmt.Sprintf("%.3f", *l)
		}
		got = append(got, j.DisplayID+" "+lost)
	}
	// of 4 cores, less 14 s useful, and of job 6 24 s of hardware threads
	want := []string{"2 0.329", "3 0.218", "1 0.107", "6 0.104", "5 not known", "4 not known"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if j := aJob(t, s, alice, "4", 0); !j.Threaded {
		t.Error("threads")
	}
}

// TestListsLeaveStepsOut: a list, and a look for one job among those of an array, do not read the
// steps of all jobs: a job may have a megabyte of them.
func TestListsLeaveStepsOut(t *testing.T) {
	s := open(t)
	for task := range uint32(3) {
		r := nodeReport(20+task, 1, "a", 0)
		r.ArrayJobID, r.ArrayTaskID = 20, &task
		for i := range job.MostSteps - 2 {
			r.Steps = append(r.Steps, job.Step{ID: fmt.Sprint(1 + i), Tasks: 1, Start: day})
		}
		add(t, s, r)
	}
	if n, err := s.Merge(ctx); err != nil || n != 3 {
		t.Fatalf("settled %d, %v", n, err)
	}
	read := 0
	rebind := s.read.rebind
	s.read.rebind = func(query string) string {
		if strings.Contains(query, "steps_json") {
			read++
		}
		return rebind(query)
	}
	for _, detail := range []bool{false, true} {
		if list, err := s.Jobs(ctx, alice, listing.JobQuery{Detail: detail}, nil); err != nil || len(list.Jobs) != 3 || read != 0 {
			t.Errorf("%d jobs, %v; their steps were read %d times", len(list.Jobs), err, read)
		}
	}
	if j := aJob(t, s, alice, "20_1", 0); len(j.Steps) != job.MostSteps || read != 1 {
		t.Errorf("%d steps, read %d times", len(j.Steps), read)
	}
	_, err := s.Job(ctx, alice, slurmid.Ref{ID: 20, Step: "10001"}, 0)
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("another step: %.1000v", err)
	}
}
