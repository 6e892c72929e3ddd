package preload

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
)

// The threads of each section are told as those of the whole run are: DLB's efficiencies of loads
// that are known (METRICS 2). A busy machine wakes a thread late.
func TestThreadsOfSections(t *testing.T) {
	type efficiencies struct{ hybrid, openmp, balance, serialisation float64 }
	want := map[string]efficiencies{
		"before":     {1. / 2, 1. / 2, 1, 1. / 2},
		"balanced":   {1, 1, 1, 1},
		"imbalanced": {6. / 8, 6. / 8, 6. / 8, 1},
		"serial":     {1. / 2, 1. / 2, 1, 1. / 2},
		"mixed":      {8. / 12, 8. / 12, 10. / 12, 8. / 10},
		"outer":      {28. / 38, 28. / 38, 34. / 38, 28. / 34},
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "hybridsections.c", "-fopenmp")
		t.Setenv("OMP_WAIT_POLICY", "passive")
		for try := 1; ; try++ {
			r := foldRun(t, f, program)
			mustRun(t, r.ran)
			agree := true
			for label, w := range want {
				h := r.figures[label].Hybrid
				if h == nil {
					t.Fatalf("%s: %+v", label, r.figures[label])
				}
				o := h.OpenMP()
				for _, pair := range [][2]float64{{h.ParallelEfficiency, w.hybrid}, {o.Parallel, w.openmp}, {o.LoadBalance, w.balance}, {o.Serialisation, w.serialisation}} {
					agree = agree && math.Abs(pair[0]-pair[1]) < 0.1
				}
				if sum := h.Useful + h.MPITime + h.IOTime + h.Imbalance + h.Scheduling + h.Serial; sum > 1.0001*h.Span || sum < 0.7*h.Span || h.Threads != 4 {
					t.Errorf("%s: parts add up to %v s of %v, %d threads", label, sum, h.Span, h.Threads)
				}
				if !agree {
					t.Logf("%s: %v %+v, want %+v", label, h.ParallelEfficiency, o, w)
				}
			}
			if h := r.figures["inside a region"].Hybrid; h != nil {
				t.Errorf("a section in a region has %+v", h)
			}
			whole, m := r.figures[job.MainSection].Hybrid, job.ExecutionMetrics(&r.exec).Hybrid
			if whole == nil || m == nil || math.Abs(whole.ParallelEfficiency-m.ParallelEfficiency) > 1e-9 {
				t.Errorf("MPI_MAIN has %+v, the run %+v", whole, m)
			}
			if agree {
				return
			}
			if try == 5 {
				t.Fatal("five times in a row")
			}
		}
	})
}

// Sections of a program without OpenMP have no threads.
func TestSectionsWithoutThreads(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, mpirun(t, f, byHand(file), 1, compileSections(t, f.cc, "sections.c"), "nested"))
		report, err := node.FoldFile(file, node.ThisMachine())
		must(t, err)
		for _, s := range job.JobSections(report.Executions) {
			if s.Hybrid != nil {
				t.Errorf("%s: %+v", s.Label, s.Hybrid)
			}
		}
		must(t, os.Remove(file))
	})
}
