package preload

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
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
// runtime.
func TestThreadsOfSections(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		t.Run(cc, func(t *testing.T) {
			t.Setenv("OMPI_CC", cc)
			t.Setenv("MPICH_CC", cc)
			eachFamily(t, func(t *testing.T, f family) {
				program := compileSections(t, f.cc, "hybridsections.c", "-fopenmp", "-Dmade_by_"+cc)
				checkThreads(t, foldOnClock(t, f, program))
			})
		})
	}
}

// checkThreads checks a run of hybridsections.c for the figures of its loads.
func checkThreads(t *testing.T, r folded) {
	t.Helper()
	for label, w := range threadsOfSections {
		s := r.figures[label]
		m := s.Metrics
		if m == nil || m.Hybrid == nil || !s.BusiestThread || m.Hybrid.Threads != 4 {
			t.Fatalf("%s: %+v", label, s)
		}
		h, o := m.Hybrid, m.Hybrid.OpenMP()
		want := []float64{w.hybrid, w.threads, w.hybrid / w.threads, w.openmp, w.balance, w.serialisation, h.Span}
		sum := h.Useful + h.MPITime + h.IOTime + h.Imbalance + h.Scheduling + h.Serial
		got := []float64{m.Parallel, m.LoadBalance, m.Communication, o.Parallel, o.LoadBalance, o.Serialisation, sum}
		if d := cmp.Diff(want, got, exactly); d != "" {
			t.Errorf("%s: %+v %+v\n%s", label, h, o, d)
		}
	}
	if m := r.figures["inside a region"].Metrics; m != nil && m.Hybrid != nil {
		t.Errorf("a section in a region has %+v", m.Hybrid)
	}
	whole, m := r.figures[job.MainSection].Metrics, job.ExecutionMetrics(&r.exec)
	if whole == nil || whole.Hybrid == nil || m == nil || cmp.Diff(m.Efficiencies, whole.Efficiencies, exactly) != "" {
		t.Errorf("MPI_MAIN has %+v, the run %+v", whole, m)
	}
}

// Sections of a program without OpenMP have no threads.
func TestSectionsWithoutThreads(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, mpirun(t, f, byHand(file), 1, compileSections(t, f.cc, "sections.c"), "nested"))
		report, err := node.FoldFile(file, node.ThisMachine())
		must(t, err)
		for _, s := range job.JobSections(report.Executions) {
			if s.Metrics != nil && s.Metrics.Hybrid != nil {
				t.Errorf("%s: %+v", s.Label, s.Metrics.Hybrid)
			}
		}
		must(t, os.Remove(file))
	})
}
