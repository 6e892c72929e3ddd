package test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"jobeff/report/view"
)

// took is what the sections of a run of a published program took.
type took struct {
	processes int
	sections  map[string]float64 // mean time per process, seconds
}

// published is the bound of sections (of their sum) on this many processes.
type published struct {
	n        int
	sections []string
	bound    float64
}

// boundVectors are METRICS 3's. work is the sequential time, seconds.
var boundVectors = []struct {
	name string
	work float64
	runs []took
	want []published
}{
	{"convolution", 5589.84, convolutions(map[int]float64{64: 3025.44, 80: 1288.64, 112: 1822.38, 128: 14135.56, 144: 2716.03}), []published{
		{64, []string{"HALO"}, 118.25}, {80, []string{"HALO"}, 347.02}, {112, []string{"HALO"}, 343.54}, {128, []string{"HALO"}, 50.62}, {144, []string{"HALO"}, 296.36},
	}},
	{"lulesh", 882.48, []took{
		{1, map[string]float64{"LagrangeNodal": 382.48, "LagrangeElements": 500}},
		{24, map[string]float64{"LagrangeNodal": 43.84, "LagrangeElements": 64.29}},
	}, []published{{24, []string{"LagrangeElements"}, 13.73}, {24, []string{"LagrangeNodal", "LagrangeElements"}, 8.16}}},
}

// convolutions are the runs of which all ranks' time in HALO is known. The paper has the rest in
// pictures only: it is what is left of the work, and at least a tenth.
func convolutions(halo map[int]float64) []took {
	const work = 5589.84
	runs := []took{{1, map[string]float64{"CONVOLVE": work, "HALO": 0}}}
	for n, t := range halo {
		runs = append(runs, took{n, map[string]float64{"CONVOLVE": max(work-t, work/10) / float64(n), "HALO": t / float64(n)}})
	}
	return runs
}

// Programs with the section times of METRICS 3, 1/100 as long, have its bounds: the ranks leave
// records, the node folds them, the server makes a workload of the runs, and jobeff says the bounds.
// There are as many ranks as in the paper. They sleep, so the machine needs few cores. LULESH's 24
// threads are ranks here. The bounds are printed: policy/workload holds their arithmetic on the same
// vectors.
func TestSpeedupBounds(t *testing.T) {
	onlyInApps(t, "it starts 144 ranks and takes minutes")
	c, err := newCluster("-bounds", 1, "CLUSTER_CPUS=144")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.down)
	program := buildSections(t, c, usual, "bounds.c")
	for _, v := range boundVectors {
		for _, r := range v.runs {
			script := fmt.Sprintf("%s%s %.3f", srun(t, usual), program, 10*v.work)
			for label, seconds := range r.sections {
				script += fmt.Sprintf(" %s=%.3f", label, 10*seconds)
			}
			id := c.run(t, "alice", script, "--mem=7000", "-N1", fmt.Sprintf("-n%d", r.processes), "--jobeff-workload="+v.name)
			wantWhole(t, wantExecutions(t, c.jobeff(t, "alice", id), 1)[0], usual, r.processes, 1)
		}
		w := c.workload(t, v.name)
		for _, want := range v.want {
			got := boundOf(w, want.n, want.sections)
			t.Logf("%s: bound of %v on %d processes %.2f, published %.2f", v.name, want.sections, want.n, got, want.bound)
			left := leftOut(w)
			lacked := strings.Contains(left, fmt.Sprintf(" %d cores: %s", want.n, lackedCPUs)) || strings.Contains(left, " 1 cores: "+lackedCPUs)
			if math.IsNaN(got) != lacked {
				t.Errorf("the bound is %.2f; left out: %s", got, left)
			}
		}
	}
}

// leftOut says why runs of a workload are no points of its curve.
func leftOut(w *view.Workload) string {
	var why []string
	for _, l := range w.Left {
		why = append(why, fmt.Sprintf(" %d cores: %s", l.Run.Cores(), l.Why))
	}
	return strings.Join(why, ";")
}

// boundOf is the bound of the sum of sections on n processes, relative to one; NaN where one is
// not there.
func boundOf(w *view.Workload, n int, sections []string) float64 {
	sum := 0.0 // of 1/bound
	for _, label := range sections {
		sum += 1 / boundOfOne(w, n, label)
	}
	return 1 / sum
}

func boundOfOne(w *view.Workload, n int, label string) float64 {
	for _, on := range w.Sections {
		i := slices.IndexFunc(on.Bounds, func(b view.Bound) bool { return b.Label == label })
		if on.N == n && on.RelativeTo == 1 && i >= 0 {
			return on.Bounds[i].Speedup
		}
	}
	return math.NaN()
}
