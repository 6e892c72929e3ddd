package preload

import (
	"fmt"
	"strings"
	"testing"
)

// What the record says of a rank's time lies between the rank's own readings of the same clock,
// around each call and inside of it, whatever the machine does meanwhile.
func TestKnownLoads(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program, inside := compile(t, f.cc, "load.c"), compile(t, f.cc, "load.c", "-DINSIDE", "-shared", "-fPIC")
		for _, load := range [][2]string{{"1", "99"}, {"40", "60"}} {
			t.Run(load[0]+"_"+load[1], func(t *testing.T) {
				file := newRecord(t) // as in a job on a tmpfs: on a disk a store may wait for writeback
				env := []string{"LD_PRELOAD=" + library + ":" + inside, "JOBEFF_RECORD=" + file}
				r := mustRun(t, mpirun(t, f, env, 2, program, load[0], load[1], "100", "0.3"))
				elapsed, mpi := map[string]uint64{}, map[string]uint64{}
				for line := range strings.Lines(r.stdout) {
					var where, rank string
					var e, m uint64
					if n, _ := fmt.Sscan(line, &where, &rank, &e, &m); n == 4 {
						elapsed[where+rank], mpi[where+rank] = e, m
					}
				}
				slots := readSlots(t, file)
				for _, s := range slots {
					e := s.FiniEnter - s.InitLeft
					in, out := fmt.Sprint("inside", s.Rank), fmt.Sprint("outside", s.Rank)
					if s.MPITicks < mpi[in] || s.MPITicks > mpi[out] || e < elapsed[out] || e > elapsed[in] || mpi[in] == 0 {
						t.Errorf("rank %d: %d of %d ticks in MPI, the program says %d to %d of %d to %d",
							s.Rank, s.MPITicks, e, mpi[in], mpi[out], elapsed[out], elapsed[in])
					}
				}
				if len(slots) != 2 {
					t.Errorf("%d slots", len(slots))
				}
			})
		}
	})
}
