package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestHeaviestLoads: the workloads that lost most in a span are those that sums of all its runs show, though only few are
// summed up. Jobs end and begin at the bounds of the span, run for months, have clocks of their own, or figures that say nothing.
func TestHeaviestLoads(t *testing.T) {
	s := open(t)
	defer func(n int) { loadsAtOnce = n }(loadsAtOnce)
	rng := rand.New(rand.NewPCG(51, 4))
	from := time.Date(2026, 8, 3, 0, 0, 0, 0, time.UTC)
	if err := s.do(ctx, func(w *writer) error {
		for n := range 4000 {
			end := from.UnixMicro() + rng.Int64N(21*dayUS) - 7*dayUS
			length := rng.Int64N([]int64{dayUS / 24, dayUS, 9 * dayUS, 80 * dayUS}[rng.IntN(4)]) + 1
			if rng.IntN(5) == 0 {
				end = from.UnixMicro() + rng.Int64N(3) - 1 + 7*dayUS*rng.Int64N(2)
			}
			var told any = end
			if rng.IntN(20) == 0 {
				told = nil // it runs
			}
			cores, used := 1+rng.IntN(3), float64(length)/3600e6*float64(1+rng.IntN(2))
			lost, ended, coverage, threads := used*rng.Float64(), 1, 1., 1
			switch rng.IntN(8) {
			case 0:
				lost = -1
			case 1:
				ended = rng.IntN(2)
			case 2:
				coverage = .5
			case 3:
				threads = 2
			}
			useful := (used - max(lost, 0)) * 3600
			w.exec(`INSERT INTO attempts (cluster, job_id, attempt, uid, account, slurm_submit_us, slurm_start_us, slurm_end_us, changed_us) VALUES ('c', ?, 1, 1, ?, 1, ?, ?, 1)`, n, []string{"x", "y"}[n%2], end-length, told)
			w.exec(`INSERT INTO workload_runs (cluster, job_id, attempt, execution, uid, workload_key, workload_name, start_us, ranks, threads, cores, nodes, ended, coverage,
				elapsed_s, useful_s, mpi_time_s, collectives, used_core_hours, lost_core_hours, executable, build_id, input_note, sections_json, counters_json, lineage, conditions_json)
				VALUES ('c', ?, 1, 0, 1, ?, 'any', ?, 2, ?, ?, 1, ?, ?, ?, ?, 1, 1, ?, ?, '', '', '', 'null', 'null', '', 'null')`,
				n, fmt.Sprint("key", rng.IntN(60)), end-length+rng.Int64N(3)-1, threads, cores, ended, coverage, used*3600/float64(cores), useful, used, lost)
			if threads > 1 && rng.IntN(2) == 0 {
				w.exec(`INSERT INTO executions (cluster, job_id, attempt, execution, key, key_from, size, count, threads, thread_span_s, detail) VALUES ('c', ?, 1, 0, '', '', 2, 1, 2, 1, ?)`, n, []byte{})
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for days := range 9 {
		p := span{from: from, to: from.AddDate(0, 0, days)}
		all, err := s.loads(ctx, heavyHours, p.times())
		if err != nil {
			t.Fatal(err)
		}
		var want heavyLoads
		want.add(all)
		for _, loadsAtOnce = range []int{1, 20, 1000} {
			got, err := s.heaviestLoads(ctx, p)
			if err != nil || len(got) != len(want) || days > 0 && len(want) != mostHeavy {
				t.Fatalf("%d days, %d at once: %d, want %d, %v", days, loadsAtOnce, len(got), len(want), err)
			}
			for i := range got {
				g, w := got[i], want[i]
				if g.loadKey != w.loadKey || g.hours.Jobs != w.hours.Jobs || math.Abs(g.hours.Used-w.hours.Used) > 1e-9*w.hours.Used || math.Abs(g.hours.Lost-w.hours.Lost) > 1e-9*w.hours.Used {
					t.Errorf("%d days, %d at once: %d is %+v, want %+v", days, loadsAtOnce, i, g, w)
				}
			}
		}
		p.accounts = []string{"x"}
		if got, err := s.heaviestLoads(ctx, p); err != nil || days > 0 && (len(got) != mostHeavy || got[31].hours.Lost >= want[31].hours.Lost) {
			t.Errorf("of an account: %d, %v", len(got), err)
		}
	}
}
