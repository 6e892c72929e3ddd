package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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

// TestNoLine: where the runs do not carry a line there is none, and the reason is told.
func TestNoLine(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []job.Ran
		like *job.Ran
		why  string
	}{
		{"no job", nil, nil, "no job of it was completed"},
		{"failed ones only", rans(3, func(_ int, r *job.Ran) { r.State = "FAILED" }), nil, "no job of it was completed"},
		{"one ran out of memory", rans(9, at(4, func(r *job.Ran) { r.State = "OUT_OF_MEMORY" })), nil, "job 104 ran out of memory"},
		{"one reached its limit of memory", rans(9, at(8, func(r *job.Ran) { r.Full = true })), nil, "job 108 reached its limit of memory"},
		{"one timed out", rans(9, at(0, func(r *job.Ran) { r.State = "TIMEOUT" })), nil, "job 100 reached its time limit"},
		{"memory of one is not known", rans(9, at(3, func(r *job.Ran) { r.NodeNeeded = 0 })), nil, "how much memory it needed"},
		{"GPUs", rans(9, func(_ int, r *job.Ran) { r.GPUs = 1 }), nil, "it had GPUs"},
		{"CPUs that ranks do not share evenly", rans(9, func(_ int, r *job.Ran) { r.Ranks = 3 }), nil, "its 4 CPUs do not part among 3 tasks"},
		{"ranks of one that ran out of memory are missing", rans(9, func(i int, r *job.Ran) {
			if r.Ranks = 4; i == 8 {
				r.State, r.Ranks = "OUT_OF_MEMORY", 3
			}
		}), nil, "job 108 ran out of memory"},
		{"a part of a heterogeneous job", rans(9, func(i int, r *job.Ran) { r.ID += "+1" }), nil, "it is a part of a heterogeneous job"},
		{"no CPUs known", rans(9, func(_ int, r *job.Ran) { r.CPUs = 0 }), nil, "Slurm has not said"},
		{"another size was completed only", rans(9, nothing), &job.Ran{Nodes: 2, CPUs: 8, State: "FAILED"}, "no job of this size was completed"},
	} {
		if l := LineOf(c.all, c.like); c.why == "" || !strings.HasPrefix(l.Why, c.why) {
			t.Errorf("%s: %+v, want %q", c.name, l, c.why)
		}
	}
}

// TestLine holds what a line asks for.
func TestLine(t *testing.T) {
	ramp := func(i int, r *job.Ran) { r.NodeNeeded += int64(i) << 20 }
	for _, c := range []struct {
		name string
		all  []job.Ran
		want string // nodes x tasks x CPUs, MiB, minutes, runs
	}{
		{"one run", rans(1, nothing), "1x1x4 2944M 18m 1"},
		{"five runs", rans(5, ramp), "1x1x4 2560M 14m 5"},
		{"59 of one size", rans(59, nothing), "1x1x4 2560M 14m 59"},
		{"60 of one size need the least reserve", rans(60, nothing), "1x1x4 2304M 10m 60"},
		{"no time at all is a minute: 0 has no limit", rans(9, func(_ int, r *job.Ran) { r.Elapsed, r.CPUTime = 0, 0 }), "1x1x4 2560M 1m 9"},
		{"no time at all, of many", rans(60, func(i int, r *job.Ran) { r.Elapsed, r.CPUTime = float64(i/59), 0 }), "1x1x4 2304M 1m 60"},
		{"tasks without MPI", rans(9, func(_ int, r *job.Ran) { r.Tasks = 4 }), "1x4x1 2560M 14m 9"},
		{"tasks without MPI that were idle but one", rans(9, func(_ int, r *job.Ran) { r.Tasks, r.CPUTime = 4, 590 }), "1x4x1 2560M 14m 9"},
		{"other numbers of tasks", rans(9, func(i int, r *job.Ran) { r.Tasks = []int{2, 4}[i%2] }), "1x2x2 2560M 14m 5"},
		{"ranks that were not recorded", rans(9, func(_ int, r *job.Ran) { r.Ranks, r.Tasks, r.CPUs = 4, 8, 8 }), "1x8x1 2560M 14m 9"},
		{"60 that grow by 10 % in ten runs ask for the next", rans(60, func(i int, r *job.Ran) { r.NodeNeeded = int64(float64(gib) * math.Pow(1.1, float64(i)/10)) }), "1x1x4 3200M 10m 60"},
		{"the largest counts, however long ago", rans(80, at(0, func(r *job.Ran) { r.NodeNeeded, r.Elapsed = 3*gib, 900 })), "1x1x4 3456M 15m 80"},
		{"failed ones do not count", rans(9, at(3, func(r *job.Ran) { r.State, r.NodeNeeded, r.Elapsed = "FAILED", 9*gib, 9000 })), "1x1x4 2560M 14m 8"},
		{"one core of four", rans(9, func(_ int, r *job.Ran) { r.CPUTime = 590 }), "1x1x1 2560M 14m 9"},
		{"a mean of one core is none in each run", rans(9, func(i int, r *job.Ran) { r.CPUTime = 400 + 50*float64(i) }), "1x1x4 2560M 14m 9"},
		{"ranks", rans(9, func(_ int, r *job.Ran) { r.Ranks, r.Nodes, r.CPUs = 8, 2, 16 }), "2x8x2 2560M 14m 9"},
		{"a small part and a large one", rans(20, func(i int, r *job.Ran) {
			if i%2 == 0 {
				r.NodeNeeded = 20 * gib
			}
		}), "1x1x4 2560M 14m 10"},
		{"the arguments of its script", rans(20, func(i int, r *job.Ran) {
			if r.Args = []string{"a", "b"}[i%2]; r.Args == "a" {
				r.NodeNeeded, r.Elapsed = 3*gib, 900
			}
		}), "1x1x4 2560M 14m 10"},
		{"too few with its arguments", rans(20, func(i int, r *job.Ran) {
			if r.Args = fmt.Sprint(i / 4); r.Args != "4" {
				r.NodeNeeded = 3 * gib
			}
		}), "1x1x4 3712M 14m 20"},
		{"ranks have their workload already", rans(20, func(i int, r *job.Ran) {
			if r.Ranks, r.Args = 4, []string{"a", "b"}[i%2]; r.Args == "a" {
				r.NodeNeeded = 3 * gib
			}
		}), "1x4x1 3712M 14m 20"},
		{"one large run is no part", rans(20, at(7, func(r *job.Ran) { r.NodeNeeded = 20 * gib })), "1x1x4 24576M 14m 20"},
	} {
		l := LineOf(c.all, nil)
		if got := fmt.Sprintf("%dx%dx%d %dM %.0fm %d", l.Nodes, l.Tasks, l.CPUsPerTask, l.Memory>>20, l.Time.Minutes(), l.Runs); got != c.want || l.Why != "" {
			t.Errorf("%s: %s %s, want %s", c.name, got, l.Why, c.want)
		}
	}
}

// TestLineOfFailed: of a job that was not completed it is not known to which part of the runs it belongs, so its
// line fits all.
func TestLineOfFailed(t *testing.T) {
	all := rans(20, func(i int, r *job.Ran) {
		if i%2 == 0 {
			r.NodeNeeded, r.CPUTime = 20*gib, 30*r.Elapsed
		}
	})
	for state, small := range map[string]bool{"COMPLETED": true, "FAILED": false, "CANCELLED": false, "RUNNING": false} {
		like := aRan(20, 1, 5)
		like.State = state
		if l := LineOf(all, &like); l.Why != "" || l.Memory >= 20*gib == small {
			t.Errorf("%s: %d MiB, %s", state, l.Memory>>20, l.Why)
		}
	}
	like := aRan(20, 0, 600) // what it needed is not known
	like.CPUTime = 0
	if l := LineOf(all, &like); l.Why != "" || l.Memory < 20*gib {
		t.Errorf("memory not known: %+v", l)
	}
}

// TestFreed: an hour of 4 CPUs and 32 GiB, of which one and 3 GiB would do, with a tenth more.
func TestFreed(t *testing.T) {
	l := LineOf(rans(100, func(_ int, r *job.Ran) { r.NodeNeeded, r.Elapsed, r.CPUTime = 3*gib, 3600, 3600 }), nil)
	if memory, cores := l.Freed(); memory != 28.625 || cores != 3 {
		t.Errorf("%v GiB-hours, %v core-hours", memory, cores)
	}
}

// TestFreedCores: a job of one core frees what Slurm surely gives less, which are whole cores.
func TestFreedCores(t *testing.T) {
	for _, c := range []struct {
		cpus, perCore int
		want          float64
	}{{1, 0, 0}, {1, 2, 0}, {2, 1, 1}, {2, 2, 0}, {4, 2, 2}, {4, 4, 0}, {5, 4, 1}} {
		l := LineOf(rans(5, func(_ int, r *job.Ran) { r.CPUs, r.PerCore, r.Elapsed, r.CPUTime = c.cpus, c.perCore, 3600, 3600 }), nil)
		if _, cores := l.Freed(); cores != c.want || l.CPUsPerTask != 1 {
			t.Errorf("%+v: %v core-hours of %+v", c, cores, l)
		}
	}
}

// madeUp are made-up runs of one kind, in their order; sort tells the runs of one that its user would tell apart.
type madeUp struct {
	name string
	n    int
	run  func(rng *rand.Rand, i int) (memory, seconds float64, sort int)
}

func madeUpSeries() (all []madeUp) {
	near := func(rng *rand.Rand, v, sigma float64) float64 { return v * math.Exp(sigma*rng.NormFloat64()) }
	for _, n := range []int{12, 40, 130, 400} {
		all = append(all,
			madeUp{"steady", n, func(rng *rand.Rand, _ int) (float64, float64, int) { return near(rng, 2, .01), near(rng, 3600, .03), 0 }},
			madeUp{"noisy time", n, func(rng *rand.Rand, _ int) (float64, float64, int) {
				return near(rng, 12, .03), near(rng, 7200, .15), 0
			}},
			madeUp{"noisy memory", n, func(rng *rand.Rand, _ int) (float64, float64, int) { return near(rng, 6, .10), near(rng, 1800, .10), 0 }},
			madeUp{"growing", n, func(rng *rand.Rand, i int) (float64, float64, int) {
				return near(rng, 4+float64(i)/float64(n), .03), near(rng, 3600+900*float64(i)/float64(n), .05), 0
			}},
			madeUp{"two inputs", n, func(rng *rand.Rand, i int) (float64, float64, int) {
				if rng.IntN(3) == 0 {
					return near(rng, 24, .05), near(rng, 9000, .08), 1
				}
				return near(rng, 3, .05), near(rng, 1200, .08), 0
			}},
			madeUp{"a parameter sweep", n, func(rng *rand.Rand, _ int) (float64, float64, int) {
				x := rng.Float64()
				return 2 + 2*x, 1200 + 1800*x, 0
			}},
			madeUp{"a long tail", n, func(rng *rand.Rand, _ int) (float64, float64, int) { return near(rng, 3, .25), near(rng, 3600, .4), 0 }})
	}
	return all
}

// TestLinesFitLaterRuns: of series of several kinds, lines from the first half fit 98 % of the second half, and
// ask in the median for at most 1.5 times the memory and twice the time that was used.
func TestLinesFitLaterRuns(t *testing.T) {
	type tally struct {
		fit, all     int
		memory, time []float64
		most         [2][]float64 // the largest of the runs before, over what was used: no line may ask for less
	}
	kinds := map[string]*tally{"": {}}
	var names []string
	for seed := range uint64(20) {
		for k, s := range madeUpSeries() {
			if kinds[s.name] == nil {
				kinds[s.name], names = &tally{}, append(names, s.name)
			}
			rng := rand.New(rand.NewPCG(seed, uint64(k)))
			var runs []job.Ran
			var sorts []int
			for i := range s.n {
				memory, seconds, sort := s.run(rng, i)
				r := aRan(i, memory, seconds)
				if rng.IntN(12) == 0 { // it fails early
					r.State, r.NodeNeeded, r.Elapsed = "FAILED", r.NodeNeeded/8, r.Elapsed/20
				}
				r.CPUTime = 3 * r.Elapsed
				runs, sorts = append(runs, r), append(sorts, sort)
			}
			for i := s.n / 2; i < s.n; i++ {
				var like *job.Ran
				for b := range s.n / 2 {
					if sorts[b] == sorts[i] && runs[b].State == "COMPLETED" {
						like = &runs[b]
					}
				}
				if like == nil || runs[i].State != "COMPLETED" {
					continue
				}
				l := LineOf(runs[:s.n/2], like)
				if l.Why != "" {
					t.Fatalf("%s: %s", s.name, l.Why)
				}
				memory, seconds := float64(l.Memory)/float64(runs[i].NodeNeeded), l.Time.Seconds()/runs[i].Elapsed
				for _, of := range []*tally{kinds[s.name], kinds[""]} {
					if of.all++; memory >= 1 && seconds >= 1 {
						of.fit++
					}
					of.memory, of.time = append(of.memory, memory), append(of.time, seconds)
					of.most[0], of.most[1] = append(of.most[0], memory/(1+l.MemoryReserve)), append(of.most[1], seconds/(1+l.TimeReserve))
				}
			}
		}
	}
	for _, name := range append(names, "") {
		k := kinds[name]
		share, memory, seconds := float64(k.fit)/float64(k.all), curve.Median(k.memory), curve.Median(k.time)
		t.Logf("%-18s %d of %d runs fit (%.1f %%), memory x %.2f, time x %.2f; the largest run before x %.2f and %.2f", name, k.fit, k.all, 100*share, memory, seconds,
			curve.Median(k.most[0]), curve.Median(k.most[1]))
		if name == "" && (share < 0.98 || memory > 1.5 || seconds > 2) {
			t.Error("lines are too small, or too large")
		}
		if share < 0.97 {
			t.Errorf("%s: too few runs fit", name)
		}
	}
}
