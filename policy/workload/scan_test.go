package workload

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// scanned is how many random curves TestScan looks at; `make scan` looks at 1,500.
var scanned = flag.Int("scan", 150, "how many random curves TestScan looks at")

// law is the true time of a made-up program on n cores, s. It knows nothing of advice, nor of the model
// that curves are fitted with.
type law struct {
	work                     float64 // core-seconds
	latency, linear, surface float64 // s that grow with ln n, n, and fall with n^(2/3)
	spread                   float64 // standard deviation of ln t from run to run
	counts                   []int
}

func (l *law) time(n int) float64 {
	x := float64(n)
	return l.work/x + l.latency*math.Log(x) + l.linear*x + l.surface*math.Pow(x, -2./3)
}

func (l *law) cost(n int) float64 { return float64(n) * l.time(n) }

// randomLaw is a program whose best count lies somewhere among, or beyond, those that it ran on.
func randomLaw(r *rand.Rand) *law {
	l := &law{work: math.Exp(r.Float64()*4 + 10), spread: .005 + .035*r.Float64()}
	turn := math.Exp(r.Float64()*6 + 2) // about where more cores stop to help
	least := l.work / turn
	l.latency, l.linear, l.surface = least*r.Float64()/math.Log(turn), least/turn*r.Float64(), .3*l.work*math.Pow(turn, -1./3)*r.Float64()*r.Float64()
	for n := 1 << r.IntN(6); len(l.counts) < 3+r.IntN(4); n *= 1 + r.IntN(3) {
		if len(l.counts) == 0 || n > l.counts[len(l.counts)-1] {
			l.counts = append(l.counts, n)
		}
	}
	return l
}

// runs are as many of them on n cores.
func (l *law) runs(r *rand.Rand, id uint32, n, many int) (all []job.Run) {
	for range many {
		id++
		noise := math.Exp(l.spread * r.NormFloat64())
		all = append(all, run(id, n, l.time(n)*noise, l.work*noise/float64(n)))
	}
	return all
}

// scan counts what advice leads to.
type scan struct {
	past, advices      int     // of them where the job was past its inflexion point
	advisedOn          int     // … that name a count which is itself advised on
	dominated          int     // … although a count at least 10 % cheaper is no slower than the job
	saving, best       int     // … that save more than 10 %, by this rule and by the best
	saved, bestSaved   float64 // the part of the core-hours, their sum
	notSaving, measure int     // … that save nothing; that name a count which was run
}

// TestScan follows the advice on random curves. It must not name a count that is itself advised on,
// nor one that a cheaper count beats which is no slower than the job. It must find as many savings
// as one who knows the true times, and takes the cheapest count whose run is at most twice as long
// as the shortest and which the runs show to be cheaper.
func TestScan(t *testing.T) {
	var c scan
	for seed := range *scanned {
		r := rand.New(rand.NewPCG(uint64(seed), 30))
		c.follow(r, randomLaw(r))
	}
	t.Log(c)
	if c.advisedOn > 0 || c.dominated > 0 || c.notSaving > 0 || c.saving < c.best || c.advices == 0 {
		t.Error(c)
	}
}

func (c scan) String() string {
	return fmt.Sprintf("%d advices, %d of them past the inflexion point, %d name a count that was run: %d are advised on, %d dominated, %d save nothing; "+
		"%d save more than 10 %% (%.1f in sum), the best rule finds %d (%.1f)", c.advices, c.past, c.measure, c.advisedOn, c.dominated, c.notSaving, c.saving, c.saved, c.best, c.bestSaved)
}

func (c *scan) follow(r *rand.Rand, l *law) {
	var runs []job.Run
	for i, n := range l.counts {
		runs = append(runs, l.runs(r, uint32(100*i), n, 2+r.IntN(4))...)
	}
	s := studyAt(runs, 0)
	for _, n := range l.counts {
		if best := l.best(s, n); best < .9 {
			c.best, c.bestSaved = c.best+1, c.bestSaved+1-best
		}
		one := studyAt(runs, n)
		advice := one.Recommend(nil)
		if advice == nil {
			continue
		}
		at := int(advice.Cores.Value)
		c.advices++
		count(&c.past, one.Against(n).Past)
		count(&c.measure, one.At(at) != nil)
		share := 1 - l.cost(at)/l.cost(n)
		count(&c.notSaving, share <= 0)
		if share > .1 {
			c.saving, c.saved = c.saving+1, c.saved+share
		}
		for _, m := range l.counts {
			if l.cost(m) <= .9*l.cost(at) && l.time(m) <= l.time(n) {
				c.dominated++
				break
			}
		}
		after := runs
		if one.At(at) == nil {
			after = append(l.runs(r, 1000, at, 3), runs...)
		}
		count(&c.advisedOn, studyAt(after, at).Recommend(nil) != nil)
	}
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// studyAt is the study of the runs as one on n cores asks for it; 0: as the newest does.
func studyAt(runs []job.Run, n int) *Study {
	s := NewStudy(workloadOf(runs...), nil, time.Time{}, curve.Settings{})
	for i := range s.Runs {
		if s.Runs[i].Cores() == n {
			s.Mine = &s.Runs[i]
		}
	}
	return s
}

// best is the least cost of fewer cores than n, as a part of that of n, by the true times. They take at
// most twice as long as the shortest, or no longer than n, are worth the wait, and surely cheaper by the
// runs.
func (l *law) best(s *Study, n int) float64 {
	shortest, least := math.Inf(1), 1.0
	for _, m := range l.counts {
		shortest = min(shortest, l.time(m))
	}
	here, _ := s.groupOn(n)
	for _, m := range l.counts {
		there, _ := s.groupOn(m)
		sure := 1.645 * math.Sqrt(drift*drift+l.spread*l.spread*(1/here.Runs+1/there.Runs))
		share := l.cost(m) / l.cost(n)
		worth := 1-share >= .25*(l.time(m)/l.time(n)-1)
		if m < n && worth && l.time(m) <= max(2*shortest, l.time(n)) && math.Log(share)+sure < 0 && cmp.Compare(share, least) < 0 {
			least = share
		}
	}
	return least
}
