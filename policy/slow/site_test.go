package slow

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// siteNodes is how many nodes the made-up sites have; `make slow` has 10,000. Small ones live for half a year.
var siteNodes = flag.Int("slow.nodes", 200, "how many nodes the made-up sites have")

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// site is a made-up site. Each node runs about 300 jobs a year, most of them of a few workloads. Zero values are a
// quiet site: all nodes are alike, and alike jobs differ by spread, which is normal.
type site struct {
	r        *rand.Rand
	nodes    int
	spread   float64
	wide     bool                                    // three of four workloads have 2 to 16 nodes, not all have one
	slower   func(node, day int) float64             // truly, ln
	noise    func(node int) float64                  // in spreads
	work     func(workload, day int) float64         // ln: the input
	odd      func(workload, node, place int) float64 // ln: for a reason that is not the node's
	kind     func(node int) int                      // of machine, in the stratum
	workload func(node int) int                      // the only one there; nil: any
	ran      []int                                   // jobs, by node
}

const perYear, userCount = 300, 60

func newSite(seed uint64, nodes int) *site {
	s := &site{r: rand.New(rand.NewPCG(seed, uint64(nodes))), nodes: nodes, spread: .04, ran: make([]int, nodes)}
	s.slower = func(int, int) float64 { return 0 }
	s.noise = func(int) float64 { return s.r.NormFloat64() }
	s.work = func(int, int) float64 { return 0 }
	s.odd = func(int, int, int) float64 { return 0 }
	s.kind = func(int) int { return 0 }
	return s
}

func name(node int) Machine { return Machine{"made", fmt.Sprintf("n%05d", node)} }

// passes lets a day pass.
func (s *site) passes(w *Watch, day int) {
	for jobs := s.nodes * perYear / 365; jobs > 0; {
		jobs -= s.job(w, day)
	}
}

// job runs a job on a random day's time. Slurm sorts its nodes by name. It returns how many it had.
func (s *site) job(w *Watch, day int) int {
	u, workloads := s.r.Float64(), float64(max(8, s.nodes/25))
	workload, nodes := int(u*u*workloads), []int{s.r.IntN(s.nodes)}
	if s.workload != nil {
		workload = s.workload(nodes[0])
	}
	if s.wide {
		for len(nodes) < min(1<<(workload%5), s.nodes/4) {
			if n := s.r.IntN(s.nodes); !slices.Contains(nodes, n) && s.kind(n) == s.kind(nodes[0]) {
				nodes = append(nodes, n)
			}
		}
		slices.Sort(nodes)
	}
	values := make([]float64, len(nodes))
	for place, n := range nodes {
		values[place] = s.work(workload, day) + s.slower(n, day) + s.odd(workload, n, place) + s.spread*s.noise(n)
	}
	if len(nodes) > 1 {
		values = aboveOthers(values)
	}
	for place, n := range nodes {
		o := Observation{Machine: name(n), UID: uint32(workload % userCount), At: began.Add(time.Duration(day)*24*time.Hour + 12*time.Hour), Value: values[place]}
		for i, v := range []int{workload, place, s.kind(n)} {
			binary.LittleEndian.PutUint32(o.Stratum[4*i:], uint32(v))
		}
		w.Add(o)
		s.ran[n]++
	}
	return len(nodes)
}

// year is what a watch says of a site in so many days.
type year struct {
	right, wrong, within int             // named nodes that are slower, that are not, and whose interval holds the truth
	highest              float64         // evidence of a node that is not slower
	days                 map[Machine]int // when each was named first
}

// watched looks once a week. A node is slower from 1 % on.
func (s *site) watched(days int) (y year) {
	w := New()
	y.days = map[Machine]int{}
	index := map[Machine]int{}
	for n := range s.nodes {
		index[name(n)] = n
	}
	for day := range days {
		s.passes(w, day)
		if day%7 != 6 {
			continue
		}
		for _, f := range w.Look(began.Add(time.Duration(day+1) * 24 * time.Hour)) {
			if _, known := y.days[f.Machine]; known {
				continue
			}
			y.days[f.Machine] = day
			truth := s.slower(index[f.Machine], day)
			count(&y.right, truth >= math.Log(1.01))
			count(&y.wrong, truth < math.Log(1.01))
			count(&y.within, math.Log(f.Low) <= truth && truth <= math.Log(f.High))
		}
		for n := range s.nodes {
			if known := w.nodes[name(n)]; known != nil && s.slower(n, day) < math.Log(1.01) {
				y.highest = max(y.highest, known.evidence())
			}
		}
	}
	return y
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// someSlow makes one node in 200 5 % slower.
func someSlow(s *site) {
	s.slower = func(node, _ int) float64 {
		if node%200 == 77 {
			return math.Log(1.05)
		}
		return 0
	}
}

// patterns are what real sites have.
var patterns = []struct {
	name string
	make func(*site)
	slow bool // some nodes are slower, and most of them must be named
}{
	{"all nodes alike", func(*site) {}, false},
	{"jobs of 1 to 16 nodes", func(s *site) { s.wide = true }, false},
	{"rank 0's node has 10 % more work and twice the spread", func(s *site) {
		s.wide = true
		twice := 2.0
		s.odd = func(_, _, place int) float64 {
			if place == 0 {
				return .1 + twice*s.spread*s.r.NormFloat64()
			}
			return 0
		}
	}, false},
	{"half of the nodes have another processor, 20 % slower", func(s *site) {
		s.wide = true
		s.kind = func(node int) int { return node % 2 }
		s.odd = func(_, node, _ int) float64 { return .2 * float64(node%2) }
	}, false},
	{"shared nodes: one job in five takes 10 % longer in the mean", func(s *site) {
		s.noise = func(int) float64 {
			v := s.r.NormFloat64()
			if s.r.IntN(5) == 0 {
				v += s.r.ExpFloat64() * .1 / s.spread
			}
			return v
		}
	}, false},
	{"one node in ten differs half as much again", func(s *site) {
		s.noise = func(node int) float64 { return s.r.NormFloat64() * (1 + .5*float64(b2i(node%10 == 0))) }
	}, false},
	{"one node in ten differs three times as much", func(s *site) {
		s.noise = func(node int) float64 { return s.r.NormFloat64() * (1 + 2*float64(b2i(node%10 == 0))) }
	}, false},
	{"a rack of 40 is 8 % slower for two days", func(s *site) {
		s.slower = func(node, day int) float64 {
			return .08 * float64(b2i(node < 40 && (day == 100 || day == 101)))
		}
	}, false},
	{"one workload on each node", func(s *site) {
		s.workload = func(node int) int { return node }
		s.odd = func(_, node, _ int) float64 { return .1 * float64(node%7) }
	}, false},
	{"inputs change by 20 % each month, and grow by 1 % a week", func(s *site) {
		s.work = func(workload, day int) float64 {
			h := rand.New(rand.NewPCG(uint64(workload), uint64((day+workload)/30)))
			return .2*h.NormFloat64() + .01*float64(day)/7
		}
	}, false},
	{"differences without a mean (Cauchy)", func(s *site) {
		s.noise = func(int) float64 { return s.r.NormFloat64() / math.Abs(s.r.NormFloat64()) }
	}, false},
	{"one job in fifty takes three times as long", func(s *site) {
		s.wide = true
		s.noise = func(int) float64 {
			if s.r.IntN(50) == 0 {
				return math.Log(3) / s.spread
			}
			return s.r.NormFloat64()
		}
	}, false},
	{"one user's jobs take 20 % longer on one node in 50, for a reason of their own", func(s *site) {
		s.odd = func(workload, node, _ int) float64 {
			return .2 * float64(b2i(workload%userCount == 3 && node%50 == 9))
		}
	}, false},
	{"nodes differ by 1 % for ever", func(s *site) { lottery(s) }, true},
	{"one node in 200 is 5 % slower", someSlow, true},
	{"one node in 200 is 5 % slower, jobs of 1 to 16 nodes", func(s *site) { s.wide = true; someSlow(s) }, true},
	{"one node in 200 is 5 % slower, inputs change", func(s *site) {
		someSlow(s)
		s.work = func(workload, day int) float64 {
			return .2 * rand.New(rand.NewPCG(uint64(workload), uint64((day+workload)/30))).NormFloat64()
		}
	}, true},
	{"a rack of 40 is 5 % slower from day 100 on", func(s *site) {
		s.slower = func(node, day int) float64 { return math.Log(1.05) * float64(b2i(node < 40 && day >= 100)) }
	}, true},
}

func lottery(s *site) {
	s.slower = func(node, _ int) float64 {
		return .01 * rand.New(rand.NewPCG(uint64(node), 5)).NormFloat64()
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSites: of the nodes that are named, at most 5 % are not slower.
func TestSites(t *testing.T) {
	days := 364
	if *siteNodes < 1000 {
		days = 182
	}
	for i, p := range patterns {
		t.Run(p.name, func(t *testing.T) {
			s := newSite(uint64(i+1), *siteNodes)
			p.make(s)
			y := s.watched(days)
			t.Logf("result: | %s | %d | %d | %.1f | %d |", p.name, y.right, y.wrong, y.highest, y.within)
			if named := y.right + y.wrong; y.wrong*20 > named || p.slow == (y.right == 0) {
				t.Errorf("%d named, %d of them wrongly", named, y.wrong)
			}
		})
	}
}

// founds are the jobs that slow nodes had run when they were named; many: not within a year.
type founds []int

const many = math.MaxInt

func (f founds) String() string {
	slices.Sort(f)
	at := func(part float64) string {
		if n := f[int(part*float64(len(f)-1))]; n < many {
			return fmt.Sprint(n)
		}
		return "-"
	}
	return at(.5) + ", " + at(.9)
}

// find makes one node in 100 slower, and looks each day until each would be named if it were the only one among 10,000.
func find(seed uint64, nodes, from int, spread, slower float64, change func(*site)) (all founds) {
	s := newSite(seed, nodes)
	s.spread = spread
	slow := func(node int) bool { return node%100 == 7 }
	s.slower = func(node, day int) float64 { return math.Log1p(slower) * float64(b2i(slow(node) && day >= from)) }
	change(s)
	w, had := New(), map[int]int{}
	for n := range 10_000 {
		w.nodes[name(n)] = newNode(name(n), weekOf(began))
	}
	for day := range from + 364 {
		if day == from {
			for n := range nodes {
				had[n] = s.ran[n]
			}
		}
		s.passes(w, day)
		if day < from || day > from+90 && day%7 != 0 {
			continue
		}
		w.pass(began.Add(time.Duration(day+1) * 24 * time.Hour))
		standing, left := w.standing(), 0
		for n := range nodes {
			known := w.nodes[name(n)]
			if had[n] < 0 || !slow(n) || known == nil {
				continue
			}
			left++
			if f, ok := standing[known].found(); ok && f.Evidence >= math.Log(w.limit()) {
				all, had[n] = append(all, s.ran[n]-had[n]), -1
				left--
			}
		}
		if left == 0 {
			return all
		}
	}
	for len(all) < nodes/100 {
		all = append(all, many)
	}
	return all
}

// TestFound: one node that is 5 % slower among 10,000, where alike jobs differ by 4 %, is found after about 30 jobs.
// It ran for two months before.
func TestFound(t *testing.T) {
	const known = 60
	all := find(1, 400, known, .04, .05, func(*site) {})
	t.Log("result: 4 % and 5 %, few nodes:", all)
	if slices.Sort(all); all[(len(all)-1)/2] > 35 {
		t.Error(all)
	}
	if *siteNodes < 1000 {
		return
	}
	for _, spread := range []float64{.01, .02, .04, .08, .16} {
		line := fmt.Sprintf("| %.0f %% |", 100*spread)
		for _, slower := range []float64{.02, .05, .10, .20} {
			line += fmt.Sprintf(" %v |", find(1, 2000, known, spread, slower, func(*site) {}))
		}
		t.Log("result:", line)
	}
	t.Log("result: | a new node |", find(1, 2000, 0, .04, .05, func(*site) {}))
	t.Log("result: | slow from day 140 on |", find(2, 2000, 140, .04, .05, func(*site) {}))
	t.Log("result: | jobs of 1 to 16 nodes |", find(3, 2000, known, .04, .05, func(s *site) { s.wide = true }))
}
