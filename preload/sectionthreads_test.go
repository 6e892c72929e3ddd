package preload

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/test/load"
)

// threadsOfSections are DLB's efficiencies (METRICS 2) of the sections of hybridsections.c, and the
// load balance of all threads: the busiest thread of a section is not the busiest of each instance.
var threadsOfSections = map[string]struct{ hybrid, threads, openmp, balance, serialisation float64 }{
	"before":     {1. / 2, 1. / 2, 1. / 2, 1, 1. / 2},
	"other":      {6. / 8, 6. / 8, 6. / 8, 6. / 8, 1},
	"in turns":   {18. / 24, 9. / 10, 18. / 24, 18. / 24, 1},
	"again":      {18. / 24, 9. / 10, 18. / 24, 18. / 24, 1},
	"balanced":   {1, 1, 1, 1, 1},
	"imbalanced": {6. / 8, 6. / 8, 6. / 8, 6. / 8, 1},
	"serial":     {1. / 2, 1. / 2, 1. / 2, 1, 1. / 2},
	"mixed":      {8. / 12, 8. / 12, 8. / 12, 10. / 12, 8. / 10},
	"outer":      {28. / 38, 28. / 38, 28. / 38, 34. / 38, 28. / 34},
}

// The threads of each section are told as those of the whole run are, with libgomp and with LLVM's
// runtime. A busy machine wakes a thread late.
func TestThreadsOfSections(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		t.Run(cc, func(t *testing.T) {
			t.Setenv("OMPI_CC", cc)
			t.Setenv("MPICH_CC", cc)
			t.Setenv("OMP_WAIT_POLICY", "passive")
			eachFamily(t, func(t *testing.T, f family) {
				program := compileSections(t, f.cc, "hybridsections.c", "-fopenmp", "-Dmade_by_"+cc)
				for try := 1; !threadsAgree(t, foldRun(t, f, program)); try++ {
					if try == 5 {
						load.SkipIfBusy(t, 0.5, "sleeps end late")
						t.Fatal("five times in a row")
					}
				}
			})
		})
	}
}

// threadsAgree tells whether a run of hybridsections.c has the figures of its loads.
func threadsAgree(t *testing.T, r folded) bool {
	t.Helper()
	mustRun(t, r.ran)
	agree := true
	for label, w := range threadsOfSections {
		s := r.figures[label]
		h := s.Hybrid
		if h == nil || !s.BusiestThread {
			t.Fatalf("%s: %+v", label, s)
		}
		o := h.OpenMP()
		near := true
		for _, pair := range [][2]float64{{h.ParallelEfficiency, w.hybrid}, {h.LoadBalance, w.threads}, {h.CommunicationEfficiency, w.hybrid / w.threads},
			{o.Parallel, w.openmp}, {o.LoadBalance, w.balance}, {o.Serialisation, w.serialisation}} {
			near = near && math.Abs(pair[0]-pair[1]) < 0.06
		}
		sum := h.Useful + h.MPITime + h.IOTime + h.Imbalance + h.Scheduling + h.Serial
		if sum > 1.0001*h.Span || h.Threads != 4 {
			t.Errorf("%s: parts add up to %v s of %v, %d threads", label, sum, h.Span, h.Threads)
		}
		near = near && sum > 0.9*h.Span // the ranks take as long as each other
		if !near {
			t.Logf("%s: %+v %+v, want %+v", label, h, o, w)
		}
		agree = agree && near
	}
	if h := r.figures["inside a region"].Hybrid; h != nil {
		t.Errorf("a section in a region has %+v", h)
	}
	whole, m := r.figures[job.MainSection].Hybrid, job.ExecutionMetrics(&r.exec).Hybrid
	if whole == nil || m == nil || math.Abs(whole.ParallelEfficiency-m.ParallelEfficiency) > 1e-9 || math.Abs(whole.LoadBalance-m.LoadBalance) > 1e-9 {
		t.Errorf("MPI_MAIN has %+v, the run %+v", whole, m)
	}
	return agree
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
