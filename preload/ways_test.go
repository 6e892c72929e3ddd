package preload

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
)

// counted is what a rank's slot says of its calls, but for their times.
type counted struct {
	Rank    int
	Funcs   []record.Func
	P2P     [record.Bins]uint64
	Collect [record.Bins]uint64
}

// countedBy runs random calls with a build of the library, and reads what it counted per rank. The
// sums have to be what the program says.
func countedBy(t *testing.T, f family, library, program string, seed int) []counted {
	t.Helper()
	const ranks = 3
	file := filepath.Join(t.TempDir(), "record")
	env := []string{"LD_PRELOAD=" + library, "JOBEFF_RECORD=" + file}
	r := mustRun(t, mpirun(t, f, env, ranks, program, fmt.Sprint(seed), "3000"))
	slots := readSlots(t, file)
	if diff := cmp.Diff(called(t, r.stdout), recorded(slots)); diff != "" {
		t.Errorf("seed %d, what the program says (-) and the record (+):\n%s", seed, diff)
	}
	found := make([]counted, ranks)
	for _, s := range slots {
		for i := range s.Funcs {
			s.Funcs[i].Ticks = 0
		}
		found[s.Rank] = counted{s.Rank, s.Funcs, s.HistP2P, s.HistColl}
	}
	return found
}

// A call that is counted inline, from what the thread remembers, counts what the common body
// finds, which asks MPI after the call. Without the TSC every call takes the common body.
func TestBothWaysCountTheSame(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "random.c")
		slow := built(t, "build/bench/jobeff_clock.so")
		for seed := 1; seed <= 4; seed++ {
			if diff := cmp.Diff(countedBy(t, f, slow, program, seed), countedBy(t, f, library, program, seed)); diff != "" {
				t.Errorf("seed %d, common body (-) and inline (+):\n%s", seed, diff)
			}
		}
	})
}
