package job

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// times is useful and MPI time of a rank, s.
type times struct{ useful, mpi float64 }

// executionOf has one node for each list of ranks.
func executionOf(nodes ...[]times) Execution {
	e := Execution{Key: "k"}
	for i, ranks := range nodes {
		n := NodeShare{Node: string(rune('a' + i)), Ranks: len(ranks)}
		for _, r := range ranks {
			useful, mpi := time.Duration(r.useful*1e9), time.Duration(r.mpi*1e9)
			n.Useful += useful
			n.MPI += mpi
			n.ElapsedSum += useful + mpi
			n.UsefulMax = max(n.UsefulMax, useful)
			n.ElapsedMax = max(n.ElapsedMax, useful+mpi)
		}
		e.Size += len(ranks)
		e.Nodes = append(e.Nodes, n)
	}
	return e
}

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// TestMetricsVectors checks METRICS 1's vectors, and some that one can compute by hand.
func TestMetricsVectors(t *testing.T) {
	tests := []struct {
		name                      string
		executions                []Execution
		pe, lb, lbIn, lbOut, comm float64
	}{
		{"POP, two ranks", []Execution{executionOf([]times{{8, 4}, {6, 6}})}, 7. / 12, 7. / 8, 7. / 8, 1, 8. / 12},
		{"POP, three ranks", []Execution{executionOf([]times{{10, 2}, {8, 4}, {6, 6}})}, 2. / 3, .8, .8, 1, 10. / 12},
		{"POP, three ranks on two nodes", []Execution{executionOf([]times{{10, 2}, {8, 4}}, []times{{6, 6}})},
			2. / 3, .8, .9, 8. / 9, 10. / 12},
		{"one rank without MPI", []Execution{executionOf([]times{{5, 0}})}, 1, 1, 1, 1, 1},
		{"nothing but MPI", []Execution{executionOf([]times{{0, 5}, {0, 5}})}, 0, 1, 1, 1, 0},
		{"two executions", []Execution{executionOf([]times{{8, 4}, {6, 6}}), executionOf([]times{{3, 1}})},
			17. / 28, 17. / 19, 17. / 19, 1, 19. / 28},
	}
	for _, tt := range tests {
		m := JobMetrics(tt.executions)
		if m == nil {
			t.Errorf("%s: no metrics", tt.name)
			continue
		}
		if !near(m.ParallelEfficiency, tt.pe, 1e-12) || !near(m.LoadBalance, tt.lb, 1e-12) || !near(m.LoadBalanceIn, tt.lbIn, 1e-12) ||
			!near(m.LoadBalanceOut, tt.lbOut, 1e-12) || !near(m.CommunicationEfficiency, tt.comm, 1e-12) {
			t.Errorf("%s: got %+v", tt.name, m)
		}
	}
}

func TestMetricsSums(t *testing.T) {
	lost := executionOf([]times{{8, 4}, {6, 6}})
	lost.Size = 4
	m := JobMetrics([]Execution{lost, executionOf([]times{{3, 1}}, []times{{1, 3}})})
	if !near(m.Elapsed, 16, 1e-12) || !near(m.Useful, 18, 1e-12) || !near(m.MPITime, 14, 1e-12) {
		t.Errorf("got %+v", m)
	}
	if m.Ranks != 2 || m.Nodes != 2 || !near(m.Coverage, 4./6, 1e-12) {
		t.Errorf("got %+v", m)
	}
}

func TestMetricsWithoutARegion(t *testing.T) {
	for _, e := range [][]Execution{nil, {{Key: "k"}}, {executionOf([]times{{0, 0}})}} {
		if m := JobMetrics(e); m != nil {
			t.Errorf("got %+v", m)
		}
	}
}

func TestMetricsIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var executions []Execution
		for range 1 + rng.IntN(4) {
			var nodes [][]times
			for range 1 + rng.IntN(5) {
				var ranks []times
				for range 1 + rng.IntN(7) {
					ranks = append(ranks, times{1e3 * rng.Float64(), 1e3 * rng.Float64()})
				}
				nodes = append(nodes, ranks)
			}
			executions = append(executions, executionOf(nodes...))
		}
		m := JobMetrics(executions)
		if !near(m.ParallelEfficiency, m.LoadBalance*m.CommunicationEfficiency, 1e-12) ||
			!near(m.LoadBalance, m.LoadBalanceIn*m.LoadBalanceOut, 1e-12) {
			t.Fatalf("an identity does not hold: %+v", m)
		}
	}
}

func TestCovered(t *testing.T) {
	e := []Execution{executionOf([]times{{8, 4}, {6, 6}})}
	if c := Covered(RankSeconds(e), 4, 24*time.Second); c == nil || !near(*c, .25, 1e-12) {
		t.Errorf("got %v", c)
	}
	if c := Covered(RankSeconds(e), 0, time.Second); c != nil {
		t.Errorf("without CPUs: %v", *c)
	}
	if c := Covered(24.4, 4, 6*time.Second); c == nil || *c != 1 {
		t.Errorf("more than Slurm's whole seconds: %v", c)
	}
}
