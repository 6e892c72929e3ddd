package slow

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// TestPaysAreFair: if every order is as likely, the mean of what a bet multiplies by is 1, in blocks of any size, and at most
// 1 for a node whose jobs differ more. While a block fills, it changes by a factor whose mean is 1.
func TestPaysAreFair(t *testing.T) {
	pays := pays()
	for m := 1; m <= mostCells; m++ {
		for k, b := range bets {
			mean := 0.0
			for _, pay := range pays[m] {
				mean += math.Exp(pay[k]) / float64(m)
			}
			if !near(mean, 1, 1e-9) && b.scale == 1 || mean > 1+1e-9 {
				t.Errorf("%d cells, %+v: mean %v", m, b, mean)
			}
		}
	}
	for k := range bets { // a third cell falls below, between or above two
		for r := range 2 {
			var becomes float64
			for gap := range 3 {
				rank := r
				if gap <= r {
					rank++
				}
				becomes += math.Exp(pays[3][rank][k]) / 3
			}
			if is := math.Exp(pays[2][r][k]); !near(becomes, is, 1e-9) {
				t.Errorf("%+v, rank %d of 2: %v becomes %v", bets[k], r, is, becomes)
			}
		}
	}
}

// TestPaysAreRight: of two normal values, one shifted by 1.25, that is the greater with the chance Phi(1.25 / sqrt 2) = 0.8116;
// unshifted, with 1/2. The bet multiplies by about the quotient, 1.62 (0.38 where it is the smaller).
func TestPaysAreRight(t *testing.T) {
	pays := pays()
	for r, want := range []float64{0.377, 1.623} {
		if got := math.Exp(pays[2][r][1]); !near(got, want, 0.02) {
			t.Errorf("rank %d: %v, want %v", r, got, want)
		}
	}
}

func TestShared(t *testing.T) {
	var pays []bet
	for _, times := range []float64{0.1, 0.5, 1.5, 1.9} {
		var b bet
		for k := range b {
			b[k] = math.Log(times)
		}
		pays = append(pays, b)
	}
	for _, c := range []struct{ values, want []float64 }{
		{[]float64{1, 2, 3, 4}, []float64{0.1, 0.5, 1.5, 1.9}},
		{[]float64{1, 2, 2, 4}, []float64{0.1, 1, 1, 1.9}},
		{[]float64{1, 1, 2, 2}, []float64{0.3, 0.3, 1.7, 1.7}},
		{[]float64{3, 3, 3, 3}, []float64{1, 1, 1, 1}},
	} {
		for r, b := range shared(pays, c.values) {
			if got := math.Exp(b[3]); !near(got, c.want[r], 1e-9) {
				t.Errorf("%v: rank %d: %v, want %v", c.values, r, got, c.want[r])
			}
		}
	}
}

func TestMedianWithout(t *testing.T) {
	for _, c := range []struct {
		values []float64
		i      int
		want   float64
	}{{[]float64{1, 2}, 0, 2}, {[]float64{1, 2}, 1, 1}, {[]float64{1, 2, 4}, 1, 2.5}, {[]float64{1, 2, 4, 9}, 3, 2}, {[]float64{1, 2, 4, 9}, 0, 4}} {
		if got := medianWithout(c.values, c.i); got != c.want {
			t.Errorf("%v without %d: %v, want %v", c.values, c.i, got, c.want)
		}
	}
	if got := aboveOthers([]float64{3, 1, 1, 8}); !cmp.Equal(got, []float64{2, -2, -2, 7}) {
		t.Error(got)
	}
}

// TestInterval: fewer than 6 of 20 coins show heads with the chance 0.0207, fewer than 7 with 0.0577; none of 5 with 0.031.
func TestInterval(t *testing.T) {
	for _, c := range []struct{ n, low, high int }{{5, 1, 5}, {7, 1, 7}, {8, 2, 7}, {20, 6, 15}, {64, 25, 40}} {
		var sorted []float64
		for i := range c.n {
			sorted = append(sorted, float64(i+1))
		}
		if low, high := interval(sorted); low != float64(c.low) || high != float64(c.high) {
			t.Errorf("%d: %v to %v, want %+v", c.n, low, high, c)
		}
	}
}

// TestNamed: of 100 nodes, a single one must have won 100/0.05 = 2,000, each of two 1,000.
func TestNamed(t *testing.T) {
	for _, c := range []struct {
		won  []float64
		want int
	}{{nil, 0}, {[]float64{2001}, 1}, {[]float64{1999}, 0}, {[]float64{1001, 1001}, 2}, {[]float64{2001, 999}, 1}, {[]float64{1900, 900, 667}, 3}, {[]float64{1900, 900, 666}, 0}} {
		var sorted []Slow
		for _, won := range c.won {
			sorted = append(sorted, Slow{Evidence: math.Log(won)})
		}
		if got := named(sorted, 2000); got != c.want {
			t.Errorf("%v: %d, want %d", c.won, got, c.want)
		}
	}
}

// TestRelax: a bet that won nothing gets half of all in a year, and what others won fades. In both cases the mean stays.
func TestRelax(t *testing.T) {
	n := newNode(name(1), 10)
	was := n.won
	n.relax(62)
	if !cmp.Equal(n.won, was) {
		t.Errorf("%v after a year, was %v", n.won, was)
	}
	n.won[0], n.won[1] = 0, 10
	for week := 63; week <= 65; week++ {
		n.relax(week)
	}
	once := n.won
	n.week, n.won[0], n.won[1] = 62, 0, 10
	n.relax(65)
	for k, want := range []float64{0.1 * (1 - math.Pow(51./52, 3)), 0.3 + 9.7*math.Pow(51./52, 3)} {
		if !near(n.won[k], want, 1e-12) || !near(once[k], want, 1e-12) {
			t.Errorf("bet %d: %v at once, %v by weeks, want %v", k, n.won[k], once[k], want)
		}
	}
	n.relax(3)
	if n.week != 65 {
		t.Error("time went back")
	}
}

// observe is an observation of a node on a day, by a user, all alike.
func observe(node Machine, uid uint32, day int, value float64) Observation {
	return Observation{Machine: node, UID: uid, At: began.Add(time.Duration(day)*24*time.Hour + time.Hour), Value: value}
}

// TestMeanOfAllOrders: over all orders of two blocks of four nodes, the mean of what one of them won is what it began with. It is
// exact, also for blocks that are open.
func TestMeanOfAllOrders(t *testing.T) {
	orders := [][]int{}
	for i := range 256 {
		order := []int{i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6}
		if sorted := slices.Sorted(slices.Values(order)); slices.Equal(sorted, []int{0, 1, 2, 3}) {
			orders = append(orders, order)
		}
	}
	sums, all := bet{}, 0.0
	for _, first := range orders {
		for _, second := range orders {
			w := New()
			for i := range 4 {
				w.Add(observe(name(i), 1, 0, float64(first[i])))
				o := observe(name(i), 2, 1, float64(second[i]))
				o.Stratum[0] = 1
				w.Add(o)
			}
			n := w.standing()[w.nodes[name(2)]]
			for k := range bets {
				sums[k] += n.won[k]
			}
			all++
		}
	}
	for k, b := range bets {
		if mean := sums[k] / all; b.scale == 1 && !near(mean, start*b.weight, 1e-9) || mean > start*b.weight+1e-9 {
			t.Errorf("%+v: mean %v of %v orders", b, mean, all)
		}
	}
}

// wins lets a node be the slowest of 12 on so many days, each time with as many jobs, of users in turn.
func wins(days, jobs, users int, by float64) *Watch {
	w := New()
	for i := range days * jobs {
		for n := range 12 {
			o := observe(name(n), uint32(i%users), i/jobs, 0.001*float64((n*7+i)%11))
			if n == 5 {
				o.Value = by
			}
			o.Stratum[0], o.Stratum[1] = byte(i), byte(i>>8)
			w.Add(o)
		}
	}
	return w
}

// TestWhoNamesANode: one user names no node, nor one day, nor ten jobs on a new one, nor less than 2 %.
func TestWhoNamesANode(t *testing.T) {
	for _, c := range []struct {
		days, jobs, users int
		by                float64
		named             bool
	}{
		{32, 1, 2, 0.1, true}, {200, 1, 1, 0.1, false}, {20, 5, 1, 0.1, false},
		{2, 20, 20, 0.1, false}, {4, 20, 20, 0.1, true},
		{10, 1, 9, 0.1, false}, {32, 1, 9, 0.1, true},
		{40, 1, 9, 0.02, false}, {40, 1, 9, 0.03, true},
	} {
		w := wins(c.days, c.jobs, c.users, c.by)
		found := w.Look(w.now)
		if len(found) == 1 != c.named || len(found) > 1 {
			t.Errorf("%+v: %+v", c, found)
		}
		if c.named && len(found) == 1 {
			f := found[0]
			if f.Machine != name(5) || !(1.01 < f.Low && f.Low <= f.Slower && f.Slower <= f.High && f.High < 1.11) || f.Jobs != min(c.days*c.jobs, mostSeen) || f.Users != c.users && f.Users != 9 {
				t.Errorf("%+v: %+v", c, f)
			}
		}
	}
}

// TestSince: what came before a node became slow is not part of its figures, and it is forgotten once it is repaired.
func TestSince(t *testing.T) {
	w := New()
	named := func(days, from int, by float64) (at int) {
		for day := from; day < from+days; day++ {
			for n := range 40 {
				o := observe(name(n), uint32(day%7), day, 0.01*math.Sin(float64(n*n+day*13)))
				if n == 5 {
					o.Value += by
				}
				o.Stratum[0], o.Stratum[1] = byte(day), byte(day>>8)
				w.Add(o)
			}
			if len(w.Look(w.now)) > 0 == (by > 0) {
				return day - from + 1
			}
		}
		return 0
	}
	if at := named(1, 0, 0); at != 1 {
		t.Fatal("named from the beginning")
	}
	for day := range 100 {
		named(1, 1+day, 0)
	}
	found := named(60, 101, 0.05)
	if found == 0 || found > 20 {
		t.Fatalf("found after %d jobs", found)
	}
	f := w.Look(w.now)[0]
	if since := int(f.Since.Sub(began).Hours() / 24); since < 95 || since > 102 || f.Slower < 1.03 || f.Slower > 1.07 {
		t.Errorf("%+v, since day %d", f, since)
	}
	forgotten := named(60, 101+found, 0)
	if forgotten == 0 || forgotten > 30 {
		t.Errorf("forgotten after %d jobs", forgotten)
	}
	t.Logf("found after %d jobs, forgotten after %d", found, forgotten)
}

// TestBlocks: a node is in a block once. A block is judged when it is full, when too many are open, or when it is old.
func TestBlocks(t *testing.T) {
	w := New()
	open := func() (sizes []int) {
		for _, s := range w.strata {
			for _, b := range s.open {
				sizes = append(sizes, len(b.cells))
			}
		}
		return sizes
	}
	expect := func(what string, judged int, want ...int) {
		t.Helper()
		if got := open(); !slices.Equal(got, want) {
			t.Errorf("%s: blocks of %v, want %v", what, got, want)
		}
		if n := len(w.nodes[name(0)].seen); n != judged {
			t.Errorf("%s: %d were judged, want %d", what, n, judged)
		}
	}
	for n := range 5 {
		w.Add(observe(name(n), 1, 0, 0))
	}
	expect("five nodes", 0, 5)
	w.Add(observe(name(0), 1, 0, 0))
	expect("a node again", 0, 5, 1)
	w.Add(observe(name(7), 1, 0, 0))
	expect("another one", 0, 6, 1)
	for range mostOpen - 2 {
		w.Add(observe(name(0), 1, 0, 0))
	}
	expect("many blocks", 0, 6, 1, 1, 1, 1, 1, 1, 1)
	w.Add(observe(name(0), 1, 0, 0))
	expect("too many blocks", 1, 1, 1, 1, 1, 1, 1, 1, 1)
	for n := 1; n < mostCells; n++ {
		w.Add(observe(name(n), 1, 1, 0))
	}
	expect("a full block", 2, 1, 1, 1, 1, 1, 1, 1)
	for n := 1; n < 4; n++ {
		w.Add(observe(name(n), 1, 1, 0))
	}
	expect("four", 2, 4, 1, 1, 1, 1, 1, 1)
	w.Look(began.Add(28 * 24 * time.Hour))
	expect("28 days", 2, 4, 1, 1, 1, 1, 1, 1)
	w.Look(began.Add(29*24*time.Hour + 2*time.Hour))
	expect("old blocks", 3)
}

// TestLooksChangeNothing: the same jobs make the same findings, however often one looked before.
func TestLooksChangeNothing(t *testing.T) {
	var found [2][]Slow
	for i := range found {
		s := newSite(9, 60)
		s.slower = func(node, _ int) float64 { return 0.1 * float64(b2i(node == 7)) }
		w := New()
		for day := range 60 {
			s.passes(w, day)
			if i == 1 {
				w.Look(w.now)
			}
		}
		found[i] = w.Look(w.now)
	}
	if diff := cmp.Diff(found[0], found[1]); diff != "" || len(found[0]) != 1 {
		t.Error(diff, fmt.Sprint(found))
	}
}

// TestDiffers: a node whose jobs differ more than those of others, or may do so, is judged by the bets that allow it. One that became slow
// differs no more.
func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		what string
		jobs int
		rank func(i int) float64
		want float64
	}{
		{"like others", mostSeen, func(i int) float64 { return (float64(i) + 0.5) / 64 }, 12},
		{"slow", mostSeen, func(int) float64 { return 0.99 }, 12},
		{"slow since half of the jobs", mostSeen, func(i int) float64 { return max((float64(i)+0.5)/32, 0.99*float64(i/32)) }, 12},
		{"two ranks alone", mostSeen, func(i int) float64 { return 0.02 + 0.96*float64(i%2) }, 2},
		{"too few jobs to know", knownAfter - 1, func(int) float64 { return 0.99 }, 2},
	} {
		n := newNode(name(1), 0)
		for k, b := range bets {
			n.won[k] = b.weight * math.Exp(map[float64]float64{1: 12, 2: 2}[b.scale])
		}
		for i := range c.jobs {
			n.seen = append(n.seen, seen{rank: c.rank(i)})
		}
		if got := n.evidence(); !near(got, c.want, 1e-9) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestLeastJobs: a known node is named for ten jobs since it became slow.
func TestLeastJobs(t *testing.T) {
	n := newNode(name(1), 0)
	for k, b := range bets {
		n.won[k] = b.weight * math.Exp(12)
	}
	for range mostSeen {
		n.seen = append(n.seen, seen{rank: 0.99, over: 0.1})
	}
	for n.run = range mostSeen {
		if _, ok := n.found(); ok != (n.run >= 10) {
			t.Errorf("after %d jobs: %v", n.run, ok)
		}
	}
}

// TestBegin: a watch begins within the last year, and not more than four weeks after its beginning. Looks of four weeks begin together.
func TestBegin(t *testing.T) {
	begins := map[time.Time]int{}
	for d := range 28 * 13 {
		now := began.Add(time.Duration(d) * day)
		b := Begin(now)
		if age := now.Sub(b); age >= Year || age < Year-longest {
			t.Errorf("%s begins at %s", now, b)
		}
		begins[b]++
	}
	for b, n := range begins {
		if n > 28 || len(begins) > 14 {
			t.Errorf("%d looks begin at %s", n, b)
		}
	}
}
