package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Two runs on each of pastCores, as few as a week may have.
var pastCores = []int{16, 32, 64, 128}

const pastRuns = 2

// How often a workload that truly scales may be called past its inflexion point.
const (
	wrongPast   = 0.01
	quickTrials = 500
	longTrials  = 1000
)

// pastCell is a made-up kind of workload.
type pastCell struct {
	pe       float64 // on the most cores
	noise    float64 // standard deviation of ln t of a run
	drift    float64 // how much longer everything took while the most cores were tried
	flat     bool    // t hardly falls to the most cores, else the overhead is as long on all
	inUseful bool    // noise is in the useful time as well, as a slow machine's, else in MPI alone
	rise     float64 // of t from half of the cores to the most, as a share; NaN: it truly scales
}

// String says what it is.
func (c pastCell) String() string {
	noise := fmt.Sprintf("noise=%.2f,%s", c.noise, map[bool]string{true: "all", false: "MPI"}[c.inUseful])
	if !math.IsNaN(c.rise) {
		return fmt.Sprintf("rise=%.2f,%s", c.rise, noise)
	}
	return fmt.Sprintf("PE=%.2f,flat=%v,drift=%.2f,%s", c.pe, c.flat, c.drift, noise)
}

// efficiency is the cell's true parallel efficiency on n cores. The overhead stays as long on
// any of them, so that t falls with every core: at 0.30 on 128, 64 take 1.3 times as long.
func (c pastCell) efficiency(n int) float64 {
	most := pastCores[len(pastCores)-1]
	pe := c.pe
	if !math.IsNaN(c.rise) {
		if n == most {
			return pe
		}
		pe, most = 2*(1+c.rise)*pe, most/2
	}
	if fewer := float64(most) / float64(n); c.flat {
		return math.Min(pe*fewer*math.Pow(fewer, -.01), .99)
	}
	return 1 / (1 + (1/pe-1)*float64(n)/float64(most))
}

// runs draws the workload's runs.
func (c pastCell) runs(rng *rand.Rand) *job.Workload {
	w := &job.Workload{Key: "k", Name: "solver", Cluster: "c"}
	for _, n := range pastCores {
		for range pastRuns {
			useful := 100_000 / float64(n) // s of each rank
			t := useful / c.efficiency(n)
			slow := math.Exp(c.noise * rng.NormFloat64())
			if n == pastCores[len(pastCores)-1] {
				slow *= 1 + c.drift
			}
			if c.inUseful {
				useful *= slow
			}
			t = math.Max(t*slow, 1.01*useful)
			w.Runs = append(w.Runs, job.Run{Cluster: "c", JobID: uint32(1 + len(w.Runs)), Attempt: 1, Start: monday, Ranks: n, Threads: 1, Nodes: 1,
				Ended: true, Coverage: 1, Elapsed: t, Useful: useful * float64(n), Conditions: &job.Conditions{UsefulMax: useful}, MPITime: (t - useful) * float64(n), Collectives: 10_000})
		}
	}
	return w
}

// called are the parts of so many workloads of each cell that are called past on the most
// cores.
func called(cells []pastCell, trials int) []float64 {
	rates := make([]float64, len(cells))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range cells {
		all.Go(func() error {
			rng, past := rand.New(rand.NewPCG(11, uint64(i))), 0
			for range trials {
				s := gathered(c.runs(rng), nil, curve.Settings{}.WithDefaults())
				if is, _ := s.Past(pastCores[len(pastCores)-1]); is {
					past++
				}
			}
			rates[i] = float64(past) / float64(trials)
			return nil
		})
	}
	all.Wait()
	return rates
}

// scalingCells truly scale.
func scalingCells(pe, noise, drift []float64) (all []pastCell) {
	for _, pe := range pe {
		for _, noise := range noise {
			for _, drift := range drift {
				for _, inUseful := range []bool{false, true} {
					for _, flat := range []bool{false, true} {
						all = append(all, pastCell{pe, noise, drift, flat, inUseful, math.NaN()})
					}
				}
			}
		}
	}
	return all
}

// risingCells are past. On half of the cores their PE was 0.60.
func risingCells(rise, noise []float64) (all []pastCell) {
	for _, rise := range rise {
		for _, noise := range noise {
			all = append(all, pastCell{pe: .60 / 2 / (1 + rise), noise: noise, rise: rise})
		}
	}
	return all
}

// TestWrongPast draws workloads that truly scale, and some that do not: the cells of
// BenchmarkPast where it is hardest.
func TestWrongPast(t *testing.T) {
	t.Parallel()
	cells := scalingCells([]float64{.30, .45, .60, .85}, []float64{0, .10, .40}, []float64{0, .20})
	rates := called(cells, quickTrials)
	worst := slices.Max(rates)
	t.Logf("wrongly called past: %.3f of %v; %.2f may be", worst, cells[slices.Index(rates, worst)], wrongPast)
	if worst > wrongPast {
		t.Errorf("of %v, %.3f are called past, and none is", cells[slices.Index(rates, worst)], worst)
	}
	cells = risingCells([]float64{1}, []float64{.05})
	for i, rate := range called(cells, quickTrials) {
		if rate < .75 { // the price of wrongPast with two runs on each
			t.Errorf("%v: only %.2f are found", cells[i], rate)
		}
	}
}

// BenchmarkPast is the long form: what part of each cell is called past.
func BenchmarkPast(b *testing.B) {
	noise := []float64{0, .05, .10, .20, .40}
	show := func(unit string, cells []pastCell) {
		for i, rate := range called(cells, longTrials) {
			b.Run(cells[i].String(), func(b *testing.B) {
				b.ReportMetric(rate, unit)
				b.ReportMetric(0, "ns/op")
			})
		}
	}
	show("wrong", scalingCells([]float64{.30, .45, .60, .80, .95}, noise, []float64{0, .10, .20}))
	show("found", risingCells([]float64{.20, .50, 1}, noise))
}
