package node

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
)

// TestTimelinesOfAnything: whatever edges a record names, the buckets of a process come to its sums.
// The edges are its user's.
func TestTimelinesOfAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 32))
	for range 3000 {
		s := killed(0, 1, rng.Float64()*4, 14+rng.Float64()*6)
		if rng.IntN(2) == 0 {
			s = rankSlot(0, 1, rng.Float64()*8, rng.Float64()*4)
		}
		if rng.IntN(3) == 0 {
			s.OpenCall, s.IOTicks = rng.IntN(200), uint64(rng.Float64()*1e9)
		}
		line := &record.Timeline{Shift: rng.IntN(12)}
		line.First = job.BucketOf(int64(s.ClaimedAt.Real)+rng.Int64N(2e9), line.Shift)
		var last record.Edge
		for range rng.IntN(64) {
			last.At, last.MPI, last.IO = max(last.At, at(9).Ticks)+rng.Uint64N(1e9)+1, last.MPI+rng.Uint64N(1e9), last.IO+rng.Uint64N(1e8)
			line.Edges = append(line.Edges, last)
		}
		s.Timeline = line
		facts := &attemptFacts{exits: map[int][]exitEvent{100: {{"0", 22 * sec, 9, 0}}}}
		e := foldSlots(t, testMachine(100), facts, s).executions[0]
		got := e.Timeline
		if e.Nodes[0].ElapsedSum == 0 {
			continue
		}
		if got == nil {
			t.Fatalf("no timeline of %+v", s)
		}
		x := e
		if wire.CleanExecution(&x, "n1"); x.Timeline == nil {
			t.Fatalf("it would be refused: %+v", got)
		}
		var useful, elapsed, io time.Duration
		shares := x.Nodes[0].Course.Shares(0)
		for i := range got.Elapsed {
			want := -1.0
			if got.Elapsed[i] > 0 {
				want = float64(got.Useful[i]) / float64(got.Elapsed[i])
			}
			if math.Abs(shares[i]-want) > 0.51/61 {
				t.Fatalf("bucket %d: its row has %.3f, want %.3f", i, shares[i], want)
			}
			useful, elapsed = useful+got.Useful[i], elapsed+got.Elapsed[i]
			if got.IO != nil {
				io += got.IO[i]
			}
		}
		if n := &e.Nodes[0]; useful != n.Useful || elapsed != n.ElapsedSum || io != n.IO || got.MostWhole != n.UsefulMax {
			t.Fatalf("%v useful, %v in files of %v, want %+v", useful, io, elapsed, n)
		}
	}
}

// TestRanksOfTwoYears: the ranks of a record need not agree on the time, and one may claim to have begun in 2117.
func TestRanksOfTwoYears(t *testing.T) {
	now := testMachine(19)
	for name, real := range map[string]uint64{"decades before": 600_000_000 * sec, "decades later": 1 << 62, "later than can be": 1<<62 + 1} {
		early, late := runningRank(0, 2, 8, false), runningRank(1, 2, 2, true)
		early.ClaimedAt.Real = real
		_, d := liveDir(t, early, late)
		for _, fold := range []func() (*job.NodeReport, error){func() (*job.NodeReport, error) { return d.FoldLive(now, moment(17.5)) }, func() (*job.NodeReport, error) { return d.Fold(now) }} {
			r, err := fold()
			if err != nil || r == nil {
				t.Fatalf("%s: %v, %v", name, r, err)
			}
			for _, e := range r.Executions {
				if n := &e.Nodes[0]; n.ElapsedMax < 0 || n.ElapsedMax > 20*time.Second || n.Ranks != 2 {
					t.Errorf("%s: %+v", name, n)
				}
			}
		}
	}
}
