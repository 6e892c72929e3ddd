package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

const gib = 1 << 30

// aRan is a job of one node and four CPUs: its memory in GiB, its time in s.
func aRan(i int, memory, seconds float64) job.Ran {
	return job.Ran{ID: fmt.Sprint(100 + i), JobID: uint32(100 + i), Start: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour), State: "COMPLETED", Nodes: 1, CPUs: 4,
		Elapsed: seconds, Limit: 86400, CPUTime: 3 * seconds, Memory: 32 * gib, NodeNeeded: int64(memory * gib)}
}

// rans are such jobs, each changed.
func rans(n int, change func(i int, r *job.Ran)) (all []job.Ran) {
	for i := range n {
		r := aRan(i, 2, 600)
		change(i, &r)
		all = append(all, r)
	}
	return all
}

func nothing(int, *job.Ran) {}

// at changes one of them.
func at(n int, change func(r *job.Ran)) func(int, *job.Ran) {
	return func(i int, r *job.Ran) {
		if i == n {
			change(r)
		}
	}
}

// TestNoNeeds: where the runs tell nothing of memory or of time, the reason is told.
func TestNoNeeds(t *testing.T) {
	for _, c := range []struct {
		name         string
		all          []job.Ran
		memory, time string
	}{
		{"no job", nil, "no job of this size was completed", "no job of this size was completed"},
		{"failed ones only", rans(3, func(_ int, r *job.Ran) { r.State = "FAILED" }), "no job of this size was completed", "no job of this size was completed"},
		{"memory of most is not known", rans(9, func(i int, r *job.Ran) {
			if i < 5 {
				r.NodeNeeded = 0
			}
		}), "how much memory it needed", ""},
		{"one ran out of all the memory of its node", rans(9, at(8, func(r *job.Ran) { r.State, r.Memory = "OUT_OF_MEMORY", 64*gib })), "a run of it ran out of all the memory", ""},
		{"most end at their limit", rans(9, func(i int, r *job.Ran) {
			if r.Elapsed = r.Limit; i%2 == 0 {
				r.State = "TIMEOUT"
			}
		}), "", ""},
		{"another size", rans(9, func(_ int, r *job.Ran) { r.Nodes = 2 }), "no job of this size", "no job of this size"},
	} {
		n := NeedsOf(c.all, aRan(9, 2, 600), &job.Room{Memory: 64 * gib})
		if !strings.HasPrefix(n.NoMemory, c.memory) || (n.Memory == 0) != (c.memory != "") || !strings.HasPrefix(n.NoTime, c.time) || (n.Time == 0) != (c.time != "") {
			t.Errorf("%s: %+v", c.name, n)
		}
	}
}

// TestNeeds holds what is needed.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []job.Ran
		want string // MiB, minutes, runs
	}{
		{"one run", rans(1, nothing), "2944M 18m 1"},
		{"five runs", rans(5, nothing), "2816M 19m 5"},
		{"200 runs", rans(200, nothing), "2304M 11m 200"},
		{"no time at all is a minute: 0 has no limit", rans(200, func(_ int, r *job.Ran) { r.Elapsed, r.CPUTime = 0, 0 }), "2304M 1m 200"},
		{"other numbers of tasks", rans(9, func(i int, r *job.Ran) { r.Tasks = i % 2 * 2 }), "2816M 19m 5"},
		{"the largest counts, however long ago", rans(80, at(0, func(r *job.Ran) { r.NodeNeeded, r.Elapsed = 3*gib, 900 })), "3456M 17m 80"},
		{"failed ones do not count", rans(9, at(3, func(r *job.Ran) { r.State, r.NodeNeeded, r.Elapsed = "FAILED", 9*gib, 9000 })), "2688M 16m 8"},
		{"the newest ran out of memory: twice what it had", rans(9, at(8, func(r *job.Ran) { r.State, r.Memory = "OUT_OF_MEMORY", 4*gib })), "8192M 16m 8"},
		{"the first ran out of memory, and many were completed since: as much as it had", rans(9, at(0, func(r *job.Ran) { r.State, r.Memory = "OUT_OF_MEMORY", 4*gib })), "4096M 16m 8"},
		{"it ran out of memory, and others needed less than that: twice what it had", rans(3, func(i int, r *job.Ran) {
			if r.Memory = 16 * gib; i == 1 {
				r.State, r.Memory = "OUT_OF_MEMORY", 4*gib
			}
		}), "8192M 18m 2"},
		{"no more than the node has", rans(3, at(2, func(r *job.Ran) { r.State, r.Memory = "OUT_OF_MEMORY", 40*gib })), "65536M 18m 2"},
		{"no more than the node has, though it needed nearly that", rans(9, func(_ int, r *job.Ran) { r.NodeNeeded = 63 * gib }), "65536M 16m 9"},
		{"the newest reached its limit: twice that", rans(9, at(8, func(r *job.Ran) { r.State, r.Limit, r.Elapsed = "TIMEOUT", 1200, 1200 })), "2688M 40m 8"},
		{"the newest reached a limit far above the others: as much", rans(9, at(8, func(r *job.Ran) { r.State, r.Elapsed = "TIMEOUT", 86400 })), "2688M 1440m 8"},
		{"no longer than the partition allows", rans(3, at(2, func(r *job.Ran) { r.State, r.Elapsed = "TIMEOUT", 86400 })), "2944M 1800m 2"},
		{"it was completed with all of its memory full", rans(9, at(3, func(r *job.Ran) { r.Full = true })), "43008M 16m 9, 8 with 2688M"},
		{"a small part and a large one", rans(24, func(i int, r *job.Ran) {
			if i%8 == 0 {
				r.NodeNeeded = 20 * gib
			}
		}), "28672M 13m 24, 21 with 2432M"},
		{"the arguments of its script", rans(20, func(i int, r *job.Ran) {
			if r.Args = []string{"a", "4864M 24m 20"}[i%2]; r.Args == "" {
				r.NodeNeeded, r.Elapsed = 3*gib, 900
			}
		}), "2560M 15m 10"},
	} {
		like := aRan(99, 2, 600)
		like.Args = c.all[len(c.all)-1].Args
		n := NeedsOf(c.all, like, &job.Room{Memory: 64 * gib, Time: 30 * time.Hour})
		got := fmt.Sprintf("%dM %.0fm %d", n.Memory>>20, n.Time.Minutes(), n.Runs)
		if n.Smaller != nil {
			got += fmt.Sprintf(", %d with %dM", n.Smaller.Runs, n.Smaller.Memory>>20)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// madeUp are made-up runs of one kind, in their order.
type madeUp struct {
	name     string
	twoSizes bool
	run      func(rng *rand.Rand, i int) (memory, seconds float64)
}

func madeUpSeries() []madeUp {
	near := func(rng *rand.Rand, v, sigma float64) float64 { return v * math.Exp(sigma*rng.NormFloat64()) }
	return []madeUp{
		{"steady", false, func(rng *rand.Rand, _ int) (float64, float64) { return near(rng, 2, .01), near(rng, 3600, .03) }},
		{"noisy time", false, func(rng *rand.Rand, _ int) (float64, float64) { return near(rng, 12, .03), near(rng, 7200, .15) }},
		{"noisy memory", false, func(rng *rand.Rand, _ int) (float64, float64) { return near(rng, 6, .10), near(rng, 1800, .10) }},
		{"growing", false, func(rng *rand.Rand, i int) (float64, float64) {
			return near(rng, 4+float64(i)/40, .03), near(rng, 3600+20*float64(i), .05)
		}},
		{"a parameter sweep", false, func(rng *rand.Rand, _ int) (float64, float64) {
			x := rng.Float64()
			return 2 + 2*x, 1200 + 1800*x
		}},
		{"a long tail", false, func(rng *rand.Rand, _ int) (float64, float64) { return near(rng, 3, .25), near(rng, 3600, .4) }},
		{"two inputs", true, func(rng *rand.Rand, i int) (float64, float64) {
			if rng.IntN(3) == 0 {
				return near(rng, 24, .05), near(rng, 9000, .08)
			}
			return near(rng, 3, .05), near(rng, 1200, .08)
		}},
	}
}

// TestNeedsFitTheNextRun: of made-up series of several kinds, so many runs are known, and the next one is killed for memory or
// time in at most one of a hundred cases from five on; in the median it is given at most 1.5 times the memory and twice the
// time that it used. Series of two sizes, of which the larger may not have been seen, are counted apart.
func TestNeedsFitTheNextRun(t *testing.T) {
	for _, known := range []int{1, 2, 3, 5, 10, 30, 60} {
		apart := map[bool]*heldOut{false: {}, true: {}}
		for seed := range uint64(950) {
			for k, s := range madeUpSeries() {
				rng := rand.New(rand.NewPCG(seed, uint64(k)))
				var runs []job.Ran
				for i := range known + 1 {
					memory, seconds := s.run(rng, i)
					r := aRan(i, memory, seconds)
					if rng.IntN(12) == 0 && i < known { // it fails early
						r.State, r.NodeNeeded, r.Elapsed = "FAILED", r.NodeNeeded/8, r.Elapsed/20
					}
					runs = append(runs, r)
				}
				next := &runs[known]
				if n := NeedsOf(runs[:known], *next, nil); n.Runs > 0 {
					apart[s.twoSizes].add(float64(n.Memory)/float64(next.NodeNeeded), n.Time.Seconds()/next.Elapsed)
				}
			}
		}
		one := apart[false]
		t.Logf("%2d runs known: of %d next runs %d would be killed (at most %.2f %% by a bound of 95 %%), memory x %.2f, time x %.2f; of two sizes %d of %d",
			known, one.all, one.killed, 100*one.bound(), curve.Median(one.memory), curve.Median(one.time), apart[true].killed, apart[true].all)
		if known >= 5 && (one.bound() > 0.01 || one.all < 5000) || curve.Median(one.memory) > 1.5 || curve.Median(one.time) > 2 {
			t.Error("what is asked for is too little, or too much")
		}
	}
}

// heldOut counts what was asked for a run over what it used.
type heldOut struct {
	all, killed  int
	memory, time []float64
}

func (h *heldOut) add(memory, seconds float64) {
	if h.all++; memory < 1 || seconds < 1 {
		h.killed++
	}
	h.memory, h.time = append(h.memory, memory), append(h.time, seconds)
}

// bound is the upper one of 95 % for the part that is killed (Clopper and Pearson).
func (h *heldOut) bound() float64 {
	return distuv.Beta{Alpha: float64(h.killed + 1), Beta: float64(h.all - h.killed)}.Quantile(0.95)
}
