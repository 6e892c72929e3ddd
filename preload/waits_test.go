package preload

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/test/trial"
)

// TestWaits: what the record says of programs whose ranks wait for a known reason.
func TestWaits(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "waits.c")
		for _, w := range slices.Concat(trial.WaitsOfFew, trial.WaitsOfMany) {
			t.Run(fmt.Sprintf("%s_%d", w.Name, w.Ranks), func(t *testing.T) {
				file := newRecord(t)
				env := append(onClock(t, f.cc, file), "JOBEFF_WINDOWS=1", fmt.Sprint("DELAY_MS=", w.DelayMS))
				mustRun(t, mpirun(t, f, env, w.Ranks, program, w.Name, "6"))
				e := foldedWindows(t, file)
				if e.Windows == nil || e.Windows.Matched != 6 || e.Windows.Dropped != 0 || e.Windows.Why != "" {
					t.Fatalf("%+v, want 6 matched windows", e.Windows)
				}
				m := job.ExecutionMetrics(e)
				want := []float64{w.SerE, w.TE, w.LoadBalance, w.SerE * w.TE, w.LoadBalance, w.SerE * w.TE}
				got := []float64{e.Windows.Serialisation.Value, e.Windows.Transfer.Value, e.Windows.LoadBalance, e.Windows.Communication, m.MPI.LoadBalance, m.MPI.Communication}
				if d := cmp.Diff(want, got, exactly); d != "" {
					t.Errorf("SerE, TE, LB and CommE of the windows, LB and CommE of the run:\n%s", d)
				}
			})
		}
	})
}

// newRecord is a file of a tmpfs, as a node's records have it, for the time of the test.
func newRecord(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "jobeff-preload-test")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(folder)) })
	return filepath.Join(folder, "record")
}

// logs is the environment in which a program logs windows into a record.
func logs(file string) []string {
	return append(byHand(file), "JOBEFF_WINDOWS=1")
}

// foldedWindows folds the record of one program.
func foldedWindows(t *testing.T, file string) *job.Execution {
	t.Helper()
	r, err := node.FoldFile(file, node.ThisMachine())
	must(t, err)
	if len(r.Executions) != 1 {
		t.Fatalf("%d executions", len(r.Executions))
	}
	return &r.Executions[0]
}

// waited runs six rounds of a program of waits.c or windows.c and folds its record.
func waited(t *testing.T, f family, env []string, ranks int, program, name string) *job.Execution {
	t.Helper()
	file := newRecord(t)
	mustRun(t, mpirun(t, f, append(logs(file), env...), ranks, program, name, "6"))
	return foldedWindows(t, file)
}

// Each rank sends before the Allreduce what its peer receives after it: such windows are dropped.
func TestMessagesAcrossBorders(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		e := waited(t, f, nil, 4, compile(t, f.cc, "waits.c"), "across")
		if e.Windows == nil || e.Windows.Matched != 0 || e.Windows.Dropped != 6 {
			t.Errorf("%+v, want 6 dropped windows", e.Windows)
		}
	})
}

// Without the switch nothing is logged.
func TestWindowsAreOff(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		if e := waited(t, f, []string{"JOBEFF_WINDOWS=0"}, 2, compile(t, f.cc, "waits.c"), "turns"); e.Windows != nil {
			t.Errorf("%+v", e.Windows)
		}
	})
}
