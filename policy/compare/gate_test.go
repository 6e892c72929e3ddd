package compare

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// gated is a run of a build on a known CPU: its ranks compute so many times as long as base's, and wait so long.
func gated(id uint32, factor, comm float64) *listing.JobAndWorkload {
	m := base.with(func(m *made) { m.useful, m.comm = factor*base.useful, comm })
	m.id = id
	found := m.job()
	for i := range found.Executions[0].Nodes {
		found.Executions[0].Nodes[i].Hardware = &job.Hardware{Model: "A", Cores: 4}
	}
	return found
}

// builds are five runs of each of two builds that take turns. The second one's computing and waiting differ by these factors.
func builds(rng *rand.Rand, spread, computing, waiting float64) (before, after []*listing.JobAndWorkload) {
	for i := range LeastGated {
		noise := func() float64 { return math.Exp(spread * rng.NormFloat64()) }
		a, b := noise(), noise()
		before = append(before, gated(uint32(2*i+1), a, 10*a))
		after = append(after, gated(uint32(2*i+2), b*computing, 10*b*waiting))
	}
	return before, after
}

func TestGate(t *testing.T) {
	for name, c := range map[string]struct {
		computing, waiting float64
		slower, worse      int // gates of 200 at least; negative: at most
	}{
		"alike":                  {1, 1, -2, -2},
		"10 % slower":            {1.1, 1.1, 195, -2},
		"3 % slower":             {1.03, 1.03, -20, -2}, // less than the limit
		"faster":                 {0.9, 0.9, -0, -2},
		"slower by waiting":      {1, 3, 195, 195},
		"faster, less efficient": {0.8, 1.5, 0, 0},
	} {
		rng, slower, worse := rand.New(rand.NewPCG(53, 1)), 0, 0
		for range 200 {
			before, after := builds(rng, 0.02, c.computing, c.waiting)
			g, err := NewGate(before, after, 0.05)
			if err != nil || g.Cannot != "" || g.Apart {
				t.Fatalf("%s: %v, %+v", name, err, g)
			}
			if g.Slower() {
				slower++
			}
			if g.Worse() {
				worse++
			}
		}
		for what, got := range map[string][2]int{"slower": {slower, c.slower}, "less efficient": {worse, c.worse}} {
			if n, want := got[0], got[1]; want > 0 && n < want || want <= 0 && n > -want {
				t.Errorf("%s: %d of 200 are %s, want %d", name, n, what, want)
			}
		}
	}
}

// TestGateOfNothing: of 2,000 pairs of builds that are alike at most one in a hundred fails, whatever the limit.
func TestGateOfNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 2))
	wantFewFail(t, 1e-6, func() (before, after []*listing.JobAndWorkload) { return builds(rng, 0.03, 1, 1) })
}

// wantFewFail wants at most one in a hundred gates of 2,000 pairs that are alike to fail.
func wantFewFail(t *testing.T, limit float64, pair func() (before, after []*listing.JobAndWorkload)) {
	t.Helper()
	failed := 0
	for range 2000 {
		before, after := pair()
		g, err := NewGate(before, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if g.Slower() || g.Worse() {
			failed++
		}
	}
	t.Logf("%d of 2000 failed", failed)
	if failed > 20 {
		t.Errorf("%d of 2000 failed", failed)
	}
}

// TestReplayedGates does the same with runs of a real program that were repeated on a busy machine (testdata/repeated.txt says how
// they were made): five and five of twenty runs in a row.
func TestReplayedGates(t *testing.T) {
	f, err := os.Open("testdata/repeated.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all [][2]float64 // elapsed, parallel efficiency
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var one [2]float64
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if _, err := fmt.Sscan(lines.Text(), &one[0], &one[1]); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if len(all) < 100 {
		t.Fatalf("%d runs", len(all))
	}
	replay := func(one [2]float64, id uint32) *listing.JobAndWorkload {
		useful := one[0] * one[1]
		return gated(id, useful/base.useful, one[0]-useful)
	}
	rng := rand.New(rand.NewPCG(53, 3))
	wantFewFail(t, 0.05, func() (before, after []*listing.JobAndWorkload) {
		from := rng.IntN(len(all) - 19)
		order := rng.Perm(20)
		for i := range LeastGated {
			before = append(before, replay(all[from+order[2*i]], uint32(2*i+1)))
			after = append(after, replay(all[from+order[2*i+1]], uint32(2*i+2)))
		}
		return before, after
	})
}

func TestGateCannotTell(t *testing.T) {
	for want, change := range map[string]func(a, b []*listing.JobAndWorkload){
		"ran on another CPU (B) than": func(_, b []*listing.JobAndWorkload) {
			for i := range b[3].Executions[0].Nodes {
				b[3].Executions[0].Nodes[i].Hardware = &job.Hardware{Model: "B"}
			}
		},
		"the CPU of a run is not known": func(a, _ []*listing.JobAndWorkload) { a[1].Executions[0].Nodes[0].Hardware = nil },
		"ran on 28 ranks": func(_, b []*listing.JobAndWorkload) {
			b[0] = base.with(func(m *made) { m.nodes = 7 }).job()
		},
	} {
		a, b := builds(rand.New(rand.NewPCG(53, 4)), 0.02, 2, 2)
		change(a, b)
		g, err := NewGate(a, b, 0.05)
		if err != nil || !strings.Contains(g.Cannot, want) || g.Slower() || g.Worse() {
			t.Errorf("want %q: %v, %+v", want, err, g)
		}
	}
	a, b := builds(rand.New(rand.NewPCG(53, 5)), 0.02, 1, 1)
	if _, err := NewGate(a[:4], b, 0.05); err == nil || !strings.Contains(err.Error(), "4 runs of a build: at least 5") {
		t.Error(err)
	}
	b[2].Executions[0].Endings = map[string]int{job.EndingAssumed: 32}
	if _, err := NewGate(a, b, 0.05); err == nil {
		t.Error("a run that was killed")
	}
	a, b = builds(rand.New(rand.NewPCG(53, 6)), 0.02, 1, 1)
	for i := range b {
		b[i].Executions[0].Start = b[i].Executions[0].Start.Add(24 * time.Hour)
	}
	if g, err := NewGate(a, b, 0.05); err != nil || !g.Apart {
		t.Errorf("one after the other: %v, %+v", err, g)
	}
}
