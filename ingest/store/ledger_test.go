package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/policy/doubt"
)

// wantLedger wants the ledger of whole months to be what month_sums says of them, to the microsecond, by month and
// partition, with what retention dropped.
func wantLedger(t *testing.T, s *Store, from, to time.Time, after string) *listing.Ledger {
	t.Helper()
	l, err := s.Ledger(ctx, from, to, "")
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		month     int
		partition string
		jobs      int64
		used      job.CoreTime
	}
	got, want := map[[2]any]place{}, map[[2]any]place{}
	for _, one := range l.Lines {
		k := [2]any{numberOfMonth(one.Month), one.Partition}
		p := got[k]
		got[k] = place{numberOfMonth(one.Month), one.Partition, p.jobs + one.Jobs, p.used + one.Used}
	}
	rows, err := s.read.QueryContext(ctx, `SELECT month, partition_name, CAST(sum(jobs) AS BIGINT), CAST(sum(used_us) AS BIGINT) FROM month_sums
		WHERE month >= ? AND month < ? AND month > 0 GROUP BY 1, 2 HAVING sum(jobs) > 0`, numberOfMonth(from), numberOfMonth(to))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var p place
		if err := rows.Scan(&p.month, &p.partition, &p.jobs, &p.used); err != nil {
			t.Fatal(err)
		}
		want[[2]any{p.month, p.partition}] = p
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || l.Cut {
		t.Fatalf("after %s the ledger of %v to %v has %v, the sums of months %v, cut: %v", after, from, to, got, want, l.Cut)
	}
	wantGPULedger(t, s, l, after)
	return l
}

// wantGPULedger wants the GPU time of a ledger to be that of the months, and its parts to add up to it, whatever is known.
func wantGPULedger(t *testing.T, s *Store, l *listing.Ledger, after string) {
	t.Helper()
	var used int64
	if err := s.number(ctx, &used, "SELECT CAST(COALESCE(sum(gpu_us), 0) AS BIGINT) FROM month_sums WHERE month >= ? AND month < ? AND month > 0", numberOfMonth(l.From), numberOfMonth(l.To)); err != nil {
		t.Fatal(err)
	}
	if used == 0 && l.GPUs == nil {
		return
	}
	parts := l.GPUs.Known
	for _, part := range l.GPUs.Unknown {
		parts += part
	}
	if int64(l.GPUs.Used) != used || parts != l.GPUs.Used || l.GPUs.Idle > l.GPUs.Known {
		t.Fatalf("after %s: %+v, the parts are %d, the sums of months %d", after, l.GPUs, parts, used)
	}
}

// anyTime holds every moment that a calendar has, and whole months alone.
var anyTime = [2]time.Time{{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}

// TestLedgerOfRandomJobs: the sum of the ledger is that of the months, of whatever jobs: those that run, that nobody
// has told of, that end at the bounds of months or when no calendar has a month, tasks of arrays, further attempts.
// Each row has the class and the reason that its columns say.
func TestLedgerOfRandomJobs(t *testing.T) {
	s := open(t)
	rng := rand.New(rand.NewPCG(54, 1))
	want := map[listing.LedgerLine]listing.LedgerLine{} // of October, with the sums
	october := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	if err := s.do(ctx, func(w *writer) error {
		w.exec("INSERT INTO clusters VALUES ('a')")
		for n := range 900 {
			end := time.Date(2026, time.Month(9+rng.IntN(3)), 1, 0, 0, 0, 0, time.UTC).UnixMicro() + []int64{-1, 0, 1, rng.Int64N(28 * dayUS)}[rng.IntN(4)]
			var slurmEnd, told any = end, int64(1)
			switch rng.IntN(12) {
			case 0:
				slurmEnd = nil
			case 1:
				told = nil
			case 2:
				slurmEnd = []int64{-5 * dayUS, -1, lastDay * dayUS, math.MaxInt64 / 2}[rng.IntN(4)]
			}
			used := rng.Int64N(1 << 50)
			var usedUS, pe, threads, cpu any = used, nil, nil, nil
			if rng.IntN(9) == 0 {
				used, usedUS = 0, nil
			}
			line := listing.LedgerLine{Month: monthOf(numberOfMonth(time.UnixMicro(end))), Partition: pick("p", "q", ""), Class: listing.ClassSlurm}
			if rng.IntN(2) == 0 {
				cpu, line.Class = int64(0), listing.ClassMemory
			}
			reports, state, noData := 1, "COMPLETED", ""
			id, attempt := 1000+n/2, 1+n%2
			if told == nil {
				id = 100_000 + n
			}
			decision, unmerged := "on", 0
			switch rng.IntN(9) {
			case 0:
				pe, line.Class = .5, listing.ClassRanks
			case 1:
				pe, threads, line.Class = .5, 4, listing.ClassThreads
			case 2:
				reports, state, line.Reason, line.Kind = 0, pick("NODE_FAIL", "BOOT_FAIL"), doubt.WhyNoReport, doubt.KindFailed
			case 3:
				reports, line.Reason, line.Hole = 0, doubt.WhyNoReport, true
				w.exec("INSERT INTO attempts (cluster, job_id, attempt, uid, changed_us) VALUES ('a', ?, ?, 1001, 1)", id, 20+n%2) // another user's
			case 4:
				noData, line.Reason, line.Kind = fmt.Sprintf(`{"code":"off","args":{"name":"not among the jobs that the site measures, %d %% of all (measure.share)"}}`, n), doubt.WhyOff, doubt.KindShare
			case 5:
				noData, line.Reason, line.Kind = fmt.Sprintf(`{"code":"no_mpi","args":{"kind":"container","name":"%d"}}`, n), doubt.WhyNoMPI, doubt.KindContainer
			case 6: // reports came that fit no job that Slurm knows
				id, reports, line.Reason, line.Hole = 200_000+n, 0, doubt.WhyOtherTimes, true
				w.exec("INSERT INTO attempts (cluster, job_id, attempt, uid, node_end_us, changed_us) VALUES ('a', ?, 9, 1000, ?, 1)", id, end)
			case 7:
				decision, unmerged, line.Reason = "", 1, doubt.WhyMerging
			}
			if slurmEnd == any(end) && told != nil && line.Month.Equal(october) {
				sum, is := want[line]
				if !is {
					sum = line
				}
				sum.Jobs, sum.Used = sum.Jobs+1, sum.Used+job.CoreTime(used)
				want[line] = sum
			}
			w.exec(`INSERT INTO attempts (cluster, job_id, attempt, array_job_id, uid, account, partition_name, state, slurm_submit_us, slurm_start_us, slurm_end_us, parallel_efficiency, coverage, all_threads, total_cpu_us,
				used_us, gpu_us, reports, no_data, decision, unmerged, changed_us) VALUES ('a', ?, ?, ?, 1000, 'x', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
				id, attempt, rng.IntN(2)*(5000+n/9), line.Partition, state, told, end-1, slurmEnd, pe, pe, threads, cpu, usedUS, used%1000, reports, noData, decision, unmerged)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wantLedger(t, s, anyTime[0], anyTime[1], "inserting")
	l := wantLedger(t, s, october, october.AddDate(0, 1, 0), "inserting")
	got := map[listing.LedgerLine]listing.LedgerLine{}
	for _, one := range l.Lines {
		key := one
		key.Jobs, key.Used = 0, 0
		got[key] = one
	}
	if d := cmp.Diff(want, got); d != "" || len(got) < 30 {
		t.Errorf("%d lines (-the rows +the ledger)\n%s", len(got), d)
	}
}

// TestLedgerOfAnyHistory: at every moment of a history, and after retention dropped some of its jobs, the ledger is
// what the months say. A span that cuts a month leaves out what retention dropped of it, and says so.
func TestLedgerOfAnyHistory(t *testing.T) {
	removed := 0
	for seed := range uint64(3) {
		s := open(t)
		rng := rand.New(rand.NewPCG(seed, 54))
		var did []string
		if err := history(s, rng, 30, func(what string) error {
			did = append(did, what)
			wantLedger(t, s, anyTime[0], anyTime[1], fmt.Sprintf("seed %d: %s", seed, strings.Join(did, ", ")))
			return nil
		}); err != nil {
			t.Fatal(seed, err)
		}
		merged(t, s)
		before := wantLedger(t, s, anyTime[0], anyTime[1], "merge")
		old := time.Date(2026, 11, 1, 0, 30, 0, 0, time.UTC)
		if _, err := s.Retain(ctx, Retention{Jobs: oneDay}, old.Add(oneDay), nil); err != nil {
			t.Fatal(err)
		}
		after := wantLedger(t, s, anyTime[0], anyTime[1], "retention")
		for _, month := range []time.Time{old.AddDate(0, -1, 0), old} {
			begin := time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
			wantLedger(t, s, begin, begin.AddDate(0, 1, 0), "retention")
		}
		if a, b := usedOf(before), usedOf(after); a != b {
			t.Errorf("seed %d: %d us, after retention %d", seed, a, b)
		}
		gone := slices.ContainsFunc(after.Lines, func(l listing.LedgerLine) bool {
			return l.Class == listing.ClassRemoved && l.Reason == doubt.WhyRemoved && !l.Hole
		})
		if gone {
			removed++
		}
		cut, err := s.Ledger(ctx, time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), "")
		if err != nil || cut.Cut != gone || slices.ContainsFunc(cut.Lines, func(l listing.LedgerLine) bool { return l.Class == listing.ClassRemoved }) ||
			cut.GPUs != nil && cut.GPUs.Unknown[listing.ClassRemoved] > 0 {
			t.Errorf("seed %d: %v, %+v", seed, err, cut)
		}
	}
	if removed == 0 {
		t.Error("retention dropped nothing: the test is empty")
	}
}

func usedOf(l *listing.Ledger) (all job.CoreTime) {
	for _, one := range l.Lines {
		all += one.Used
	}
	return all
}

// TestLedgerReasons: reasons as reports and Slurm make them, a hole each. A digest and a day have them alike.
func TestLedgerReasons(t *testing.T) {
	s := open(t)
	moved, off, unread := nodeReport(2, 1, "b", 0), nodeReport(3, 1, "c", 0), nodeReport(4, 1, "d", 0)
	moved.Start, moved.End = day.Add(-3*time.Hour), day.Add(-2*time.Hour) // its node's clock is wrong
	off.Executions, off.Decision = nil, "off libjobeff.so is missing on this node"
	unread.Executions, unread.Warnings = nil, []doubt.Warning{{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Kind: doubt.KindMissing}}}
	add(t, s, moved, off, unread)
	for id := range uint32(4) { // no node reports the first one
		if _, err := s.AddSlurm(ctx, []slurm.Job{sacct(1+id, fmt.Sprint(1+id), "COMPLETED", -time.Minute, 0, 20*time.Second)}); err != nil {
			t.Fatal(err)
		}
	}
	merged(t, s)
	f, err := s.facts(ctx, span{from: day.Add(-oneDay), to: day.Add(oneDay)})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := s.DayOfLines(ctx, day.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		if got = append(got, fmt.Sprintf("%s/%s %d", l.Reason, l.Kind, l.Jobs)); !l.Hole || !l.Month.IsZero() || l.Partition != "" || l.Used != 80_000_000 {
			t.Errorf("%+v", l)
		}
	}
	slices.Sort(got)
	if want := "no_report/ 1, off/library 1, other_times/ 1, unreadable_record/missing 1"; strings.Join(got, ", ") != want || !slices.Equal(f.Health.Known, lines) {
		t.Errorf("%q, a digest has %+v", got, f.Health.Known)
	}
}
