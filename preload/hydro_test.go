package preload

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/preload/record"
)

// A program of MPI and OpenMP computes the same on any mix of ranks and threads, with the library
// and without it. Its sections and regions are counted exactly.
func TestHydro(t *testing.T) {
	const steps = 105 // for 100 rows
	eachFamily(t, func(t *testing.T, f family) {
		program := compileSections(t, f.cc, "hydro.c", "-fopenmp", "-O2", "-lm")
		want, _, _ := strings.Cut(mustRun(t, mpirun(t, f, []string{"OMP_NUM_THREADS=1"}, 1, program, "100", "20")).stdout, "\n")
		for _, mix := range [][2]int{{1, 1}, {1, 4}, {2, 2}, {3, 1}, {3, 2}} {
			file := filepath.Join(t.TempDir(), "record")
			env := append(byHand(file), quietThreads, fmt.Sprintf("OMP_NUM_THREADS=%d", mix[1]))
			if r := mustRun(t, mpirun(t, f, env, mix[0], program, "100", "20")); !strings.Contains(r.stdout, want+"\n") || !strings.HasPrefix(want, fmt.Sprint(steps)) {
				t.Errorf("%d ranks of %d threads print %q, one of one %q", mix[0], mix[1], r.stdout, want)
			}
			processes, openmp := openMPSlots(t, file)
			for _, p := range processes {
				if o := record.OpenMPOf(p, nil, openmp, p.FiniEnter); o.Regions != 1+2*steps || o.TeamMost != mix[1] || o.Why != record.OpenMPKnown {
					t.Errorf("%d ranks of %d threads: %+v", mix[0], mix[1], o)
				}
			}
			if len(processes) != mix[0] {
				t.Errorf("%d processes, want %d", len(processes), mix[0])
			}
		}
		counts := foldRun(t, f, program, "100", "20").counts()
		if len(counts) != 2 || counts["STATE"] != 2*steps || counts["FLOW"] != 2*steps {
			t.Errorf("sections %v", counts)
		}
	})
}
