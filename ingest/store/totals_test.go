package store

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jobeff/ingest/listing"
)

// TestTotals: the totals of a list, from the sums of months and days, are those of its rows, of whatever span and filters, and
// for whoever asks. Jobs end at the bounds of days, months and calendars; some run, have no start, or wait for Slurm's word.
func TestTotals(t *testing.T) {
	s := open(t)
	rng := rand.New(rand.NewPCG(7, 51))
	from := time.Date(2026, 8, 20, 0, 0, 0, 0, time.UTC).UnixMicro()
	moment := func() int64 {
		us := from + rng.Int64N(100*dayUS)
		switch rng.IntN(4) {
		case 0:
			us -= us % dayUS // midnight
		case 1:
			us = time.Date(2026, time.Month(8+rng.IntN(4)), 1, 0, 0, 0, 0, time.UTC).UnixMicro() + rng.Int64N(3) - 1
		}
		return us
	}
	if err := s.do(ctx, func(w *writer) error {
		for _, cluster := range []string{"a", "b"} {
			w.exec("INSERT INTO clusters VALUES (?)", cluster)
		}
		for n := range 600 {
			end := moment()
			start, told := any(end-rng.Int64N(3*dayUS)), any(int64(1))
			var slurmEnd, nodeEnd any = end, nil
			switch rng.IntN(12) {
			case 0:
				slurmEnd = nil // it runs
			case 1:
				slurmEnd, nodeEnd, told = nil, end, nil // Slurm has not told
			case 2:
				start = nil
			case 3:
				slurmEnd, start = []int64{-5 * dayUS, 5, dayUS - 1, lastDay * dayUS, lastDay*dayUS - 1}[rng.IntN(5)], int64(-6*dayUS)
			}
			var pe, judged any
			uid := 1000 + rng.IntN(3)
			if rng.IntN(2) == 0 {
				pe, judged = .5, int64(n)
			}
			w.exec(`INSERT INTO attempts (cluster, job_id, attempt, array_job_id, uid, user_name, account, partition_name, slurm_submit_us, slurm_start_us, slurm_end_us, node_end_us, parallel_efficiency,
				used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us, changed_us) VALUES (?, ?, 1, ?, ?, 'u' || ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`, []string{"a", "b"}[rng.IntN(2)], 1000+n, rng.IntN(2)*(2000+n/9), uid, fmt.Sprint(uid),
				[]string{"x", "y"}[rng.IntN(2)], []string{"p", "q"}[rng.IntN(2)], told, start, slurmEnd, nodeEnd, pe, int64(1+n), judged, judged, int64(4*n), int64(2*n), int64(n))
			for x := range rng.IntN(3) {
				w.exec(`INSERT INTO executions (cluster, job_id, attempt, execution, key, key_from, size, executable, count, threads, parallel_efficiency, elapsed_s, useful_s, ranks, coverage, thread_span_s, thread_useful_s, detail)
					SELECT cluster, job_id, attempt, ?, '', '', 4, ?, ?, ?, parallel_efficiency, ?, ?, 4, ?, ?, ?, ? FROM attempts WHERE job_id = ?`, x, []string{"/a/sim", "/b/sim", "/a/melt"}[rng.IntN(3)], 1+rng.IntN(2),
					1+rng.IntN(2), rng.Float64()*100, rng.Float64()*100, []any{1., .5}[rng.IntN(2)], []any{nil, 1000 * rng.Float64(), 1e14}[rng.IntN(3)], rng.Float64()*100, []byte{}, 1000+n)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wantSums(t, s, "inserting")
	some := 0
	for range 400 {
		var q listing.JobQuery
		at := func() time.Time {
			if rng.IntN(5) == 0 {
				return time.Time{}
			}
			return time.UnixMicro(moment() + rng.Int64N(3) - 1)
		}
		if q.Start, q.End = at(), at(); rng.IntN(10) == 0 {
			q.End = q.Start.Add(time.Duration(rng.Int64N(int64(30 * time.Hour))))
		}
		for _, f := range []*string{&q.Account, &q.Partition, &q.Cluster} {
			if rng.IntN(4) == 0 {
				*f = map[*string][]string{&q.Account: {"x", "x,y"}, &q.Partition: {"q", "nosuch"}, &q.Cluster: {"a", "a,b"}}[f][rng.IntN(2)]
			}
		}
		v := []Viewer{root, {UID: 1001}, {UID: 1001, Accounts: []string{"y"}}}[rng.IntN(3)]
		var uids []uint32
		if rng.IntN(4) == 0 {
			uids = []uint32{1000, 1002}
		}
		if _, whole := summed(q); !whole {
			t.Fatalf("%+v is read from rows", q)
		}
		filters, table, err := chosen(q, uids)
		if err != nil {
			t.Fatal(err)
		}
		l := &lineList{s, v, q, uids, filters, filters.within(q), table, nil, nil}
		got, err := l.totals(ctx)
		if err != nil {
			t.Fatal(err)
		}
		by := &totals{lineList: l}
		by.byUser = true
		by.rows(1, l.c)
		want, err := by.sum(ctx)
		if err != nil || *got != *want {
			t.Errorf("%+v of %+v for %v: %+v, its rows have %+v, %v", q, v, uids, got, want, err)
		}
		if want.Jobs > 0 && want.Jobs < 500 {
			some++
		}
		start, end := spanOf(q)
		if start, end = max(start, 0), min(end, lastDay*dayUS); start < end {
			wantHours(t, s, time.UnixMicro(start), time.UnixMicro(end))
		}
	}
	mostSummed = 600 // all of them
	defer func() { mostSummed = 50_000 }()
	for _, q := range []listing.JobQuery{{Name: "x"}, {State: "FAILED", Sort: "lost"}, {LeastCores: 1, Account: "x"}} {
		for _, most := range []int{600, 10} {
			mostSummed = most
			_, all, err := s.EachLine(ctx, root, q, nil, func(*listing.Line) error { return nil })
			if err != nil || (all.Sum == nil) != (most == 10) || all.Sum != nil && all.Sum.Jobs != 0 {
				t.Errorf("%+v: %+v of at most %d jobs, %v", q, all.Sum, most, err)
			}
		}
	}
	if some < 150 {
		t.Errorf("only %d lists have some of the jobs", some)
	}
}

// wantHours wants the hours of a digest, from the sums of days, to be those of the rows.
func wantHours(t *testing.T, s *Store, from, to time.Time) {
	t.Helper()
	f := new(listing.Facts)
	p := span{from: from, to: to}
	if err := errors.Join(s.hoursOf(ctx, p, f), s.programs(ctx, p, f)); err != nil {
		t.Fatal(err)
	}
	byName := hoursBy{}
	if err := s.eachRow(ctx, "SELECT executable, runs, 1.0 * used_us, 1.0 * judged_us, 1.0 * lost_us FROM ran WHERE end_us >= ? AND end_us < ?", p.times(), func(rows *sql.Rows) error {
		var path string
		var h listing.Hours
		err := rows.Scan(&path, &h.Jobs, &h.Used, &h.Judged, &h.Lost)
		h.Measured = h.Jobs
		byName.add(filepath.Base(path), h)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*b } // sums in another order
	if want := byName.mostLost(3600e6); !slices.EqualFunc(f.Programs, want, func(a, b listing.NamedHours) bool {
		return a.Name == b.Name && a.Jobs == b.Jobs && a.Measured == b.Measured && near(a.Used, b.Used) && near(a.Judged, b.Judged) && near(a.Lost, b.Lost)
	}) {
		t.Errorf("hours from %v to %v by program: %+v, the rows have %+v", from, to, f.Programs, want)
	}
	for column, got := range map[string][]listing.NamedHours{"account": f.Accounts, "user_name": f.Users, "'all'": {{Name: "all", Hours: f.Total}}} {
		var want []listing.NamedHours
		err := s.eachRow(ctx, "SELECT "+column+", "+timeColumns+" FROM counted WHERE end_us >= ? AND end_us < ? GROUP BY 1 HAVING count(*) > 0 ORDER BY 6 DESC, 4 DESC, 1",
			[]any{from.UnixMicro(), to.UnixMicro()}, func(rows *sql.Rows) error {
				var h listing.NamedHours
				err := rows.Scan(append([]any{&h.Name}, sumsOf(&h.Hours)...)...)
				h.Hours = h.Hours.Over(3600e6)
				want = append(want, h)
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
		if column == "'all'" && want == nil {
			want = []listing.NamedHours{{Name: "all"}}
		}
		if !slices.Equal(got, want) {
			t.Errorf("hours from %v to %v by %s: %+v, the rows have %+v", from, to, column, got, want)
		}
	}
}
