package job

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// randomTimeline is that of one rank that ran from one moment to another, ns after 1970.
func randomTimeline(rng *rand.Rand) *Timeline {
	const day = int64(1_700_000_000e9)
	from := day + rng.Int64N(1e9)
	to := from + 1 + rng.Int64N(int64(1)<<(10+rng.IntN(36)))
	shift := ShiftFor(rng.IntN(3), from, to)
	first := BucketOf(from, shift)
	t := NewTimeline(shift, first, int(BucketOf(to, shift)-first+1))
	t.Ranks = 1
	for i := range t.Elapsed {
		begin, end := max(from, BucketBegin(first+int64(i), shift)), min(to, BucketBegin(first+int64(i)+1, shift))
		t.Elapsed[i] = time.Duration(end - begin)
		t.Useful[i] = time.Duration(rng.Int64N(end - begin + 1))
		t.MostWhole += t.Useful[i]
		for level := range t.Most {
			t.Most[level][(first+int64(i))>>level-first>>level] += t.Useful[i]
		}
	}
	return t
}

// TestTimelinesAddInAnyOrder: neither the order nor the grouping of ranks shows in their sum, however
// long each of them lived; each sum stays, and a maximum is that of one rank.
func TestTimelinesAddInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 32))
	for range 2000 {
		ranks := make([]*Timeline, 2+rng.IntN(5))
		var useful, elapsed time.Duration
		for i := range ranks {
			ranks[i] = randomTimeline(rng)
			for j := range ranks[i].Elapsed {
				useful, elapsed = useful+ranks[i].Useful[j], elapsed+ranks[i].Elapsed[j]
			}
		}
		add := func(all []*Timeline) *Timeline {
			parts := make([]*Execution, len(all))
			for i := range all {
				parts[i] = &Execution{Timeline: all[i]}
			}
			return JoinTimelines(parts)
		}
		want := add(ranks)
		if !want.Possible(len(ranks)) || len(want.Elapsed) > MostBuckets {
			t.Fatalf("%+v cannot be", want)
		}
		for i := range want.Elapsed {
			useful, elapsed = useful-want.Useful[i], elapsed-want.Elapsed[i]
		}
		if useful != 0 || elapsed != 0 {
			t.Fatalf("%v useful of %v are lost", useful, elapsed)
		}
		for level, most := range want.Most { // by the ranks themselves
			for i, got := range most {
				var busiest time.Duration
				for _, r := range ranks {
					var sum time.Duration
					for j, u := range r.Useful {
						if (r.First+int64(j))>>(want.Shift+level-r.Shift) == want.First>>level+int64(i) {
							sum += u
						}
					}
					busiest = max(busiest, sum)
				}
				if got != busiest {
					t.Fatalf("level %d, bucket %d: %v of the busiest rank, want %v", level, i, got, busiest)
				}
			}
		}
		mixed := slices.Clone(ranks)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		cut := 1 + rng.IntN(len(mixed)-1)
		if d := cmp.Diff(want, add([]*Timeline{add(mixed[:cut]), add(mixed[cut:])})); d != "" {
			t.Fatal(d)
		}
	}
}

// TestBuckets: each moment lies in the bucket that begins before it, whatever its length.
func TestBuckets(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 32))
	for range 10_000 {
		ns, shift := rng.Int64N(1<<61), rng.IntN(40)
		n := BucketOf(ns, shift)
		if BucketBegin(n, shift) > ns || BucketBegin(n+1, shift) <= ns {
			t.Fatalf("%d ns is not in bucket %d of shift %d, from %d to %d", ns, n, shift, BucketBegin(n, shift), BucketBegin(n+1, shift))
		}
	}
}

// TestHostileTimelines: what a node may say of an execution's time, in numbers as large as they can be, is added
// up and shown in shares.
func TestHostileTimelines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 32))
	duration := func(most time.Duration) time.Duration {
		return []time.Duration{0, min(1, most), most / 2, most}[rng.IntN(4)]
	}
	hostile := func() *Timeline {
		shift := rng.IntN(33)
		first, n := []int64{0, 1, lastShortest / 2}[rng.IntN(3)]>>shift, 1+rng.IntN(MostBuckets)
		x := NewTimeline(shift, first, n)
		x.Ranks, x.MostWhole = []int{1, MostListed, maxRank}[rng.IntN(3)], math.MaxInt64
		for i := range n {
			x.Elapsed[i] = duration(math.MaxInt64)
			x.Useful[i] = duration(x.Elapsed[i])
		}
		for level := range x.Most {
			for i := range x.Most[level] {
				x.Most[level][i] = duration(x.MostWhole)
				if level == 0 {
					x.Most[0][i] = x.Useful[i]
				}
			}
		}
		return x
	}
	seen := 0
	for range 5000 {
		a, b := hostile(), hostile()
		if !a.Possible(a.Ranks) || !b.Possible(b.Ranks) {
			continue
		}
		seen++
		sum := JoinTimelines([]*Execution{{Timeline: a}, {Timeline: b}})
		for _, bucket := range slices.Concat(a.Buckets(), sum.Buckets()) {
			if !isShare(bucket.Parallel) || !isShare(bucket.LoadBalance) || !isShare(bucket.Communication) {
				t.Fatalf("%+v of %+v and %+v", bucket, a, b)
			}
		}
	}
	if seen < 1000 {
		t.Errorf("%d pairs", seen)
	}
}

// TestTimelinesThatCannotBe: root of a node makes them up.
func TestTimelinesThatCannotBe(t *testing.T) {
	const huge = time.Duration(1) << 62
	for name, change := range map[string]func(*Timeline){
		"none":                             func(*Timeline) {},
		"more useful than the busiest has": func(t *Timeline) { t.Most[0][1] = 1 },
		"later than time":                  func(t *Timeline) { t.First = lastShortest - 1 },
		"longer than time":                 func(t *Timeline) { t.Shift, t.First = 39, 0 },
		"ages of time": func(t *Timeline) {
			for i := range t.Elapsed {
				t.Elapsed[i], t.Useful[i], t.Most[0][i] = huge, huge, huge/4
			}
			t.MostWhole = huge
		},
	} {
		line := NewTimeline(3, 1<<33, 4)
		line.Ranks = 4
		for i := range line.Elapsed {
			line.Elapsed[i], line.Useful[i], line.Most[0][i], line.MostWhole = 4*time.Second, 2*time.Second, time.Second, time.Second
		}
		change(line)
		may := name == "none" || name == "ages of time"
		if line.Possible(4) != may {
			t.Errorf("%s: possible is %v", name, !may)
		} else if !may {
			continue
		}
		for _, b := range line.Buckets() {
			if !b.To.After(b.From) || min(b.Parallel, b.LoadBalance, b.Communication) < 0 || max(b.Parallel, b.LoadBalance, b.Communication) > 1+Tolerance {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}

func TestBucketsOfUnequalLists(t *testing.T) {
	for name, cut := range map[string]func(*Timeline){
		"useful":            func(t *Timeline) { t.Useful = t.Useful[:3] },
		"no busiest":        func(t *Timeline) { t.Most = nil },
		"busiest":           func(t *Timeline) { t.Most[0] = t.Most[0][:3] },
		"files":             func(t *Timeline) { t.IO = make([]time.Duration, 3) },
		"threads":           func(t *Timeline) { t.Threads, t.ThreadsUseful = make([]time.Duration, 3), make([]time.Duration, 4) },
		"useful of threads": func(t *Timeline) { t.Threads = make([]time.Duration, 4) },
	} {
		line := NewTimeline(3, 1<<33, 4)
		line.Ranks = 1
		for i := range line.Elapsed {
			line.Elapsed[i], line.Useful[i], line.Most[0][i] = 4, 2, 2
		}
		if n := len(line.Buckets()); n != 4 {
			t.Fatalf("%d buckets of a whole timeline", n)
		}
		if cut(line); line.Buckets() != nil || line.Possible(1) {
			t.Errorf("%s is too short, and it passes", name)
		}
	}
}
