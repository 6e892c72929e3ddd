package preload

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/preload/record"
)

// For known loads the load balance of the record is within 0.5 % (absolute) of what the
// program measured itself with its own clock. A rank that loses its core just between the
// program's reading of the clock and ours is nobody's fault: it may try again.
func TestKnownLoads(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "load.c")
		for _, unit := range []string{"10", "100"} {
			for _, load := range [][2]string{{"1", "99"}, {"25", "75"}, {"40", "60"}, {"50", "50"}} {
				t.Run(load[0]+"_"+load[1]+"_"+unit+"us", func(t *testing.T) {
					for try := 1; ; try++ {
						own, ours := measure(t, f, program, load[0], load[1], unit, "0.5")
						if math.Abs(own-ours) <= 0.005 {
							return
						}
						t.Logf("load balance %.4f, the program says %.4f", ours, own)
						if try == tries {
							t.Fatalf("%d times in a row", tries)
						}
					}
				})
			}
		}
	})
}

// measure returns the load balance as the program and as the record has it. As in a job
// the record is on a tmpfs: on a disk a store may wait for writeback.
func measure(t *testing.T, f family, program string, args ...string) (own, ours float64) {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "jobeff-preload-test")
	must(t, err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "record")
	r := mustRun(t, mpirun(t, f, byHand(file), 2, program, args...))
	return loadBalance(ownUseful(t, r.stdout)), loadBalance(recordedUseful(t, readSlots(t, file)))
}

// ownUseful reads the lines "useful SECONDS mpi SECONDS" of two ranks.
func ownUseful(t *testing.T, output string) []float64 {
	t.Helper()
	var useful []float64
	for lines := bufio.NewScanner(strings.NewReader(output)); lines.Scan(); {
		var u, m float64
		if n, _ := fmt.Sscanf(lines.Text(), "useful %f mpi %f", &u, &m); n != 2 {
			t.Fatalf("the program printed %q", lines.Text())
		}
		useful = append(useful, u)
	}
	if len(useful) != 2 {
		t.Fatalf("%d ranks printed", len(useful))
	}
	return useful
}

// recordedUseful is the useful time of two ranks in ticks: one machine has one rate.
func recordedUseful(t *testing.T, slots []record.Slot) []float64 {
	t.Helper()
	if len(slots) != 2 {
		t.Fatalf("%d slots", len(slots))
	}
	var useful []float64
	for _, s := range slots {
		useful = append(useful, float64(s.FiniEnter-s.InitLeft-s.MPITicks))
	}
	return useful
}

func loadBalance(useful []float64) float64 {
	return (useful[0] + useful[1]) / 2 / math.Max(useful[0], useful[1])
}
