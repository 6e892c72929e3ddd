package store

import (
	stdcmp "cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// arrayStore holds jobs of two users, among them arrays of up to twelve tasks, which end in all ways, and of which some
// were requeued.
func arrayStore(t *testing.T) *Store {
	s, rng := open(t), rand.New(rand.NewPCG(3, 5))
	var all []*job.Job
	id := uint32(100)
	for range 40 {
		id += 20
		tasks := max(rng.IntN(24)-11, 0)
		for n := range uint32(max(tasks, 1)) {
			begin := day.Add(time.Duration(10*rng.IntN(60)) * time.Minute)
			j := &job.Job{Cluster: "test", JobID: id + n, Attempt: 1, UID: []uint32{alice.UID, bob.UID}[id/20%2], Account: []string{"chem", "bio"}[id/20%3%2], Name: fmt.Sprint("job ", id), CPUs: 1 + rng.IntN(8),
				Nodes: 1, Reports: 1, Decision: "on", Submit: begin, Start: begin, Elapsed: time.Duration(1+rng.IntN(90)) * time.Minute, State: []string{"COMPLETED", "COMPLETED", "FAILED", "RUNNING"}[rng.IntN(4)]}
			if tasks > 0 {
				j.ArrayJobID, j.ArrayTaskID = id, &n
			}
			if j.State != "RUNNING" {
				j.End = begin.Add(j.Elapsed)
			}
			if rng.IntN(4) > 0 && j.State != "RUNNING" {
				pe := float64(1+rng.IntN(64)) / 64
				e := job.Efficiencies{Parallel: pe, LoadBalance: 1, Communication: pe}
				j.Metrics = &job.Metrics{Efficiencies: e, MPI: e, LoadBalanceIn: 1, Ranks: j.CPUs, Nodes: 1, Coverage: 1, Elapsed: j.Elapsed.Seconds(), Useful: pe * j.Elapsed.Seconds() * float64(j.CPUs)}
				j.Judged = job.UsedCoreTime(j.CPUs, j.Elapsed)
				lost := job.CoreTime(math.Round(float64(*j.Judged) * (1 - pe)))
				j.Lost = &lost
			}
			if all = append(all, j); n%5 == 3 {
				again := *j
				again.Attempt, again.Start = 2, begin.Add(-time.Hour)
				all = append(all, &again)
			}
		}
	}
	if err := s.AddJobs(ctx, all); err != nil {
		t.Fatal(err)
	}
	return s
}

// lineOf tells of a line what must be as it is.
func lineOf(l *listing.Line) string {
	var ids []string
	for _, j := range l.Jobs {
		ids = append(ids, fmt.Sprint(j.JobID, ".", j.Attempt))
	}
	slices.Sort(ids)
	if len(ids) == 1 {
		return fmt.Sprint(ids, l.Sum.Jobs)
	}
	return fmt.Sprintf("%s: %d jobs, %d measured, %.3f used, %.3f judged, %.3f lost", strings.Join(ids, " "), l.Sum.Jobs, l.Sum.Measured, l.Sum.Used, l.Sum.Judged, l.Sum.Lost)
}

// foldedByHand are the lines of jobs, in an order.
func foldedByHand(jobs []job.Job, by string, tasks bool) (lines []listing.Line) {
	at := map[string]int{}
	for _, j := range jobs {
		key := fmt.Sprint(j.JobID, ".", j.Attempt)
		if j.ArrayJobID > 0 && !tasks {
			key = fmt.Sprint("array ", j.ArrayJobID)
		}
		if _, known := at[key]; !known {
			at[key] = len(lines)
			lines = append(lines, listing.Line{})
		}
		l := &lines[at[key]]
		one := listing.Hours{Jobs: 1, Used: float64(j.CPUs) * j.Elapsed.Hours()}
		if j.Metrics != nil {
			one.Measured = 1
		}
		if lost := j.LostCoreHours(); lost != nil {
			one.Judged, one.Lost = one.Used, *lost
		}
		l.Jobs = append(l.Jobs, j)
		l.Sum.Add(one)
	}
	name, least := strings.CutPrefix(by, "-")
	slices.SortFunc(lines, func(a, b listing.Line) int {
		x, y := valueByHand(&a, name), valueByHand(&b, name)
		order := 0
		switch xn, yn := math.IsNaN(x), math.IsNaN(y); {
		case by == "start" || by == "" || xn && yn:
		case xn || yn:
			return map[bool]int{true: 1, false: -1}[xn]
		case least:
			order = stdcmp.Compare(x, y)
		default:
			order = stdcmp.Compare(y, x)
		}
		of := func(l *listing.Line, value func(j *job.Job) int64) (most int64) {
			for i := range l.Jobs {
				most = max(most, value(&l.Jobs[i]))
			}
			return most
		}
		for _, value := range []func(*job.Job) int64{func(j *job.Job) int64 { return j.Start.UnixMicro() }, func(j *job.Job) int64 { return int64(j.JobID) }, func(j *job.Job) int64 { return int64(j.Attempt) }} {
			order = stdcmp.Or(order, stdcmp.Compare(of(&b, value), of(&a, value)))
		}
		return order
	})
	return lines
}

// valueByHand is what a line is sorted by, rounded; NaN: not known.
func valueByHand(l *listing.Line, by string) float64 {
	of := func(j *job.Job) (float64, bool) {
		switch by {
		case "lost":
			lost := j.LostCoreHours()
			if lost == nil || j.End.IsZero() {
				return 0, false
			}
			return *lost * 3600, true
		case "corehours":
			return float64(j.CPUs) * j.Elapsed.Seconds(), true
		case "elapsed":
			return j.Elapsed.Seconds(), true
		case "start":
			return float64(j.Start.UnixMicro()), true
		case "alloccpus":
			return float64(j.CPUs), true
		case "nnodes":
			return float64(j.Nodes), true
		}
		if j.Metrics == nil {
			return 0, false
		}
		return map[string]float64{"pe": j.Metrics.Parallel, "lb": j.Metrics.LoadBalance, "comme": j.Metrics.Communication, "ranks": float64(j.Metrics.Ranks)}[by], true
	}
	sums := by == "lost" || by == "corehours"
	completed := slices.ContainsFunc(l.Jobs, func(j job.Job) bool { return j.State == "COMPLETED" })
	sum, n, least := 0.0, 0.0, math.Inf(1)
	for i := range l.Jobs {
		j := &l.Jobs[i]
		counts := sums || by == "start" || len(l.Jobs) == 1 || j.State == "COMPLETED" || !completed && !j.End.IsZero()
		if v, known := of(j); known && counts {
			sum, n, least = sum+v, n+1, min(least, v)
		}
	}
	switch {
	case n == 0:
		return math.NaN()
	case by == "start":
		return least
	case !sums:
		sum /= n
	}
	return math.Round(1e6 * sum)
}

// TestLines: whatever is asked for, and in whatever order, the lines are the jobs brought together by hand: an array is
// one line with all its tasks, on whichever page, and what is said of all holds for each page.
func TestLines(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	s := arrayStore(t)
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	queries := []listing.JobQuery{{}, {Tasks: true}}
	for _, by := range listing.Sorts {
		queries = append(queries, listing.JobQuery{Sort: by}, listing.JobQuery{Sort: "-" + by, State: pick("", "COMPLETED,FAILED")})
	}
	for range 30 {
		queries = append(queries, listing.JobQuery{Sort: pick(append(listing.Sorts, "-lost", "-pe", "")...), State: pick("", "FAILED", "RUNNING"), Account: pick("", "chem"), Name: pick("", "1"), Tasks: rng.IntN(4) == 0,
			Jobs: pick("", "", "140,180,220,260,300_1,340"), LeastCores: rng.IntN(6), Start: day.Add(time.Duration(rng.IntN(2)*rng.IntN(10)) * time.Hour)})
	}
	for i := range queries {
		if q := &queries[i]; rng.IntN(3) == 0 && q.Jobs == "" {
			q.End = day.Add(time.Duration(10+rng.IntN(5)) * time.Hour)
		}
	}
	defer func(jobs, arrays, looked int) { jobsAtOnce, arraysAtOnce, mostLooked = jobs, arrays, looked }(jobsAtOnce, arraysAtOnce, mostLooked)
	arrays := 0
	for i, q := range queries {
		jobsAtOnce, arraysAtOnce = []int{1000, 1, 5}[i%3], []int{200, 1, 3}[i%3]
		for _, v := range []Viewer{root, alice, chemist} {
			q.Limit, q.Offset, q.After = 0, 0, ""
			list, err := s.Jobs(ctx, v, q, nil)
			if err != nil {
				t.Fatal(err)
			}
			folded := foldedByHand(list.Jobs, q.Sort, q.Tasks)
			want, sum := make([]string, len(folded)), listing.Hours{}
			for i := range folded {
				want[i] = lineOf(&folded[i])
				sum.Add(folded[i].Sum)
				if len(folded[i].Jobs) > 1 {
					arrays++
				}
			}
			for _, limit := range []int{0, 1, 7} {
				for _, cursor := range []bool{true, false} {
					if mostLooked = 50_000; cursor { // who goes on by offset does not see that a page looked no further
						mostLooked = []int{50_000, 1, 7}[i%3]
					}
					var got []string
					for q.Limit, q.Offset, q.After = limit, 0, ""; ; {
						first := q.Offset+len(q.After) == 0
						next, all, err := s.EachLine(ctx, v, q, nil, func(l *listing.Line) error {
							got = append(got, lineOf(l))
							return nil
						})
						if err != nil {
							t.Fatal(err)
						}
						if (first || !cursor) && (all.Sum.Jobs != sum.Jobs || all.Sum.Measured != sum.Measured || math.Abs(all.Sum.Lost-sum.Lost)+math.Abs(all.Sum.Used-sum.Used)+math.Abs(all.Sum.Judged-sum.Judged) > 1e-9) {
							t.Errorf("%+v: of all is said %+v, want %+v", q, all, sum)
						}
						if next == "" {
							break
						}
						if q.After = next; !cursor {
							q.After, q.Offset = "", len(got)
						}
					}
					if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 {
						t.Fatalf("%+v of %+v, by cursor %v (-want +got)\n%s", q, v, cursor, d)
					}
				}
			}
		}
	}
	if arrays < 100 {
		t.Errorf("only %d arrays", arrays)
	}
	if by := slices.Sorted(maps.Keys(orders)); !slices.Equal(by, listing.Sorts) {
		t.Errorf("lists can be sorted by %q, and listing.Sorts are %q", by, listing.Sorts)
	}
}

// TestVeryLargeArray: of an array of more tasks than an answer holds, the newest are read, and the sums are of all; and it
// ends the answer.
func TestVeryLargeArray(t *testing.T) {
	s := open(t)
	err := s.do(ctx, func(w *writer) error { return w.exec("INSERT INTO clusters VALUES ('test')") })
	const last, atOnce = maxLimit + 10, 1000 // each write within the time that it has, also on a busy machine
	for from := 1; from <= last && err == nil; from += atOnce {
		err = s.do(ctx, func(w *writer) error {
			return w.exec(`INSERT INTO attempts (cluster, job_id, attempt, array_job_id, array_task_id, uid, state, alloc_cpus, slurm_submit_us, slurm_start_us, slurm_end_us, slurm_elapsed_s, used_us, changed_us)
				WITH RECURSIVE tasks(n) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT n + 1 FROM tasks WHERE n < ?) SELECT 'test', 50 + n, 1, CASE WHEN n > 3 THEN 50 ELSE 0 END, n, 1000, 'COMPLETED', 2, 1, n, n + 1, 3600, 7200000000, 1 FROM tasks`,
				from, min(from+atOnce-1, last))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []listing.Line
	next, all, err := s.EachLine(ctx, root, listing.JobQuery{}, nil, func(l *listing.Line) error {
		lines = append(lines, *l)
		return nil
	})
	if err != nil || next == "" || len(lines) != 1 || len(lines[0].Jobs) != mostOfLines || lines[0].Jobs[0].JobID != maxLimit+60 || lines[0].Sum.Jobs != maxLimit+7 || lines[0].Sum.Used != 2*(maxLimit+7) ||
		all.Sum.Jobs != maxLimit+10 || all.Sum.Used != 2*(maxLimit+10) {
		t.Errorf("%v, %q, %d lines of %+v", err, next, len(lines), all)
	}
	if next, _, err = s.EachLine(ctx, root, listing.JobQuery{After: next}, nil, func(l *listing.Line) error {
		lines = append(lines, *l)
		return nil
	}); err != nil || next != "" || len(lines) != 4 {
		t.Errorf("%v, %q, %d lines", err, next, len(lines))
	}
}

// TestNewestLinePlans: a page of the newest lines reads its jobs in the order of an index, and looks its arrays up.
func TestNewestLinePlans(t *testing.T) {
	s := arrayStore(t)
	orders := ordersInSQLite
	if os.Getenv(testServer) != "" {
		manyRows(t, s)
		orders = ordersInPostgres
	}
	asked := watch(s, func(query string) bool {
		return strings.Contains(query, "of_array") && !strings.Contains(query, "unjudged")
	})
	for _, v := range []Viewer{root, alice, chemist} {
		for _, q := range []listing.JobQuery{{Start: day}, {Start: day, State: "COMPLETED", Tasks: true}, {State: "COMPLETED"}} {
			q.Limit, *asked = 1, nil
			next, _, err := s.EachLine(ctx, v, q, nil, func(*listing.Line) error { return nil })
			if err != nil || next == "" {
				t.Fatal(next, err)
			}
			if q.After = next; !q.Tasks {
				if _, _, err := s.EachLine(ctx, v, q, nil, func(*listing.Line) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			for _, query := range *asked {
				if strings.Contains(query, "GROUP BY") {
					if os.Getenv(testServer) == "" && !strings.Contains(strings.Join(sqlitePlan(t, s, query), "\n"), "SEARCH r USING INDEX attempts_by_array (cluster=? AND array_job_id=?)") {
						t.Errorf("%+v: %s\n%s", q, sqlitePlan(t, s, query), query)
					}
					continue
				}
				if plan, ok := orders(t, s, strings.Replace(query, "LIMIT ?", "LIMIT 20", 1)); !ok { // of a user with few jobs PostgreSQL would sort these
					t.Errorf("%+v: %s\n%s", q, plan, query)
				}
			}
			if len(*asked) == 0 {
				t.Errorf("%+v: nothing was asked", q)
			}
		}
	}
}

// TestLookedUntil: how far back a list looks at once comes from an index, of the jobs of one user where it is of one.
func TestLookedUntil(t *testing.T) {
	s := arrayStore(t)
	asked := watch(s, func(query string) bool { return strings.HasPrefix(query, "SELECT r.start_us ") })
	defer func(n int) { mostLooked = n }(mostLooked)
	mostLooked = 2
	for _, c := range []struct {
		viewer Viewer
		q      listing.JobQuery
		uids   []uint32
		index  string // "": it looks at all
	}{
		{root, listing.JobQuery{}, nil, ""},
		{alice, listing.JobQuery{}, nil, ""},
		{root, listing.JobQuery{Name: "x", Offset: 1}, nil, ""},
		{root, listing.JobQuery{Name: "x", Sort: "lost"}, nil, ""},
		{root, listing.JobQuery{Jobs: "120"}, nil, ""},
		{root, listing.JobQuery{Name: "x"}, nil, "attempts_by_start (start_us>? AND start_us<?)"},
		{root, listing.JobQuery{Account: "x"}, nil, "attempts_by_start (start_us>? AND start_us<?)"},
		{chemist, listing.JobQuery{}, nil, "attempts_by_start (start_us>? AND start_us<?)"},
		{root, listing.JobQuery{Name: "x"}, []uint32{alice.UID}, "attempts_by_user (uid=? AND start_us>? AND start_us<?)"},
		{alice, listing.JobQuery{Name: "x"}, nil, "attempts_by_user (uid=? AND start_us>? AND start_us<?)"},
	} {
		*asked = nil
		next, _, err := s.EachLine(ctx, c.viewer, c.q, c.uids, func(*listing.Line) error { return nil })
		if err != nil || (len(*asked) > 0) != (c.index != "") || (next != "") != (c.index != "") {
			t.Fatalf("%+v: %q, next %q, %v", c, *asked, next, err)
		}
		for _, query := range *asked {
			if os.Getenv(testServer) == "" && strings.Join(sqlitePlan(t, s, query), "\n") != "SEARCH r USING INDEX "+c.index {
				t.Errorf("%+v: %q", c, sqlitePlan(t, s, query))
			}
		}
	}
}

// TestLinePlans: what a line has is looked up, whatever the list selects.
func TestLinePlans(t *testing.T) {
	s := arrayStore(t)
	if os.Getenv(testServer) != "" {
		return
	}
	var asked []string
	s.read.rebind = func(query string) string {
		asked = append(asked, query)
		return query
	}
	for _, v := range []Viewer{root, alice, chemist} {
		for _, q := range []listing.JobQuery{{}, {Start: day}, {Start: day, State: "COMPLETED", Name: "1", Program: "x,y"}, {Jobs: "120,140,160"}} {
			asked = nil
			if _, _, err := s.EachLine(ctx, v, q, []uint32{alice.UID}, func(*listing.Line) error { return nil }); err != nil {
				t.Fatal(err)
			}
			for _, query := range asked {
				if strings.Contains(query, "of_array") || strings.Contains(query, "ELSE 0 END AS measured") || strings.HasPrefix(query, "SELECT r.start_us ") { // TestTotalPlans, TestLookedUntil
					continue
				}
				for _, detail := range sqlitePlan(t, s, query) {
					if looked := strings.HasPrefix(detail, "SEARCH r ") && (strings.Contains(detail, "job_id=?") || strings.Contains(detail, "array_job_id=?")); strings.HasSuffix(strings.Fields(detail)[0], "SCAN") && !strings.HasPrefix(detail, "SCAN c") ||
						strings.HasPrefix(detail, "SEARCH r ") && !looked {
						t.Errorf("%+v: %s\n%s", q, detail, query)
					}
				}
			}
		}
	}
}
