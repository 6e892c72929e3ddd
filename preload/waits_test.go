package preload

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/test/load"
	"jobeff/test/waits"
)

// TestWaits: what the record says of programs whose ranks wait for a known reason: all windows
// match. How long ranks waited is compared where the machine was quiet.
func TestWaits(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "waits.c")
		shim := compile(t, f.cc, "delay.c", "-shared", "-fPIC")
		for _, w := range waits.Programs {
			t.Run(w.Name, func(t *testing.T) {
				env := []string{fmt.Sprint("DELAY_MS=", w.DelayMS)}
				var libraries []string
				if w.DelayMS > 0 {
					libraries = []string{shim}
				}
				for try := 1; ; try++ {
					e := waited(t, f, env, libraries, w.Ranks, program, w.Name)
					if e.Windows == nil || e.Windows.Matched != 6 || e.Windows.Dropped != 0 {
						t.Fatalf("%+v, want 6 matched windows", e.Windows)
					}
					lb, commE := e.Windows.LoadBalance, e.Windows.Communication
					serE, te := e.Windows.Serialisation, e.Windows.Transfer
					if math.Abs(lb-w.LoadBalance) <= waits.CloseBy && math.Abs(commE/w.SerE-w.TE) <= waits.CloseBy/2 {
						if e.Windows.Why != "" || !w.Shown(serE.Value, te.Value) {
							t.Errorf("SerE %v, TE %v, want %.3f, %.3f", serE, te, w.SerE, w.TE)
						}
						return
					}
					wrong := fmt.Sprintf("sleeps took longer than they should: LB %.3f, CommE %.3f", lb, commE)
					load.SkipIfBusy(t, 0.25, wrong)
					if try == tries {
						t.Fatalf("%d times in a row: %s", tries, wrong)
					}
				}
			})
		}
	})
}

// newRecord is a file in which a record can be made, for the time of the test.
func newRecord(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "jobeff-preload-test")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(folder)) })
	return filepath.Join(folder, "record")
}

// logs is the environment in which a program logs windows into a record.
func logs(file string, libraries ...string) []string {
	preload := strings.Join(append([]string{before + library}, libraries...), ":")
	return []string{"JOBEFF_WINDOWS=1", "LD_PRELOAD=" + preload, "JOBEFF_RECORD=" + file}
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
func waited(t *testing.T, f family, env, libraries []string, ranks int, program, name string) *job.Execution {
	t.Helper()
	file := newRecord(t)
	mustRun(t, mpirun(t, f, append(logs(file, libraries...), env...), ranks, program, name, "6"))
	return foldedWindows(t, file)
}

// Each rank sends before the Allreduce what its peer receives after it: such windows are dropped.
func TestMessagesAcrossBorders(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		e := waited(t, f, nil, nil, 4, compile(t, f.cc, "waits.c"), "across")
		if e.Windows == nil || e.Windows.Matched != 0 || e.Windows.Dropped != 6 {
			t.Errorf("%+v, want 6 dropped windows", e.Windows)
		}
	})
}

// Without the switch nothing is logged.
func TestWindowsAreOff(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		if e := waited(t, f, []string{"JOBEFF_WINDOWS=0"}, nil, 2, compile(t, f.cc, "waits.c"), "turns"); e.Windows != nil {
			t.Errorf("%+v", e.Windows)
		}
	})
}
