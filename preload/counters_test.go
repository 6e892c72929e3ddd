package preload

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"jobeff/preload/record"
)

// What the kernel's page and the CPU say together, with made-up pages.
func TestCounterArithmetic(t *testing.T) {
	mustRun(t, run(t, nil, compile(t, "gcc", "fakecounters.c", "-DWITH_MAIN", "-DJE_TABLE_SUM=0")))
}

var fakedFlags = []string{"-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec"}

// fakedLibrary is the library with made-up events. The flags are for them and for workload.c.
func fakedLibrary(t *testing.T, flags ...string) string {
	t.Helper()
	runsMPI(t)
	objects := slices.DeleteFunc(libraryObjects(), func(o string) bool { return filepath.Base(o) == "counters.o" || filepath.Base(o) == "workload.o" })
	target := filepath.Join(bin, "faked"+strings.Join(flags, "")+".so")
	args := slices.Concat(flags, fakedFlags, objects, []string{filepath.Join(apps, "fakecounters.c"), "lib/workload.c", "-shared",
		"-Wl,--version-script=lib/exports.map", "-Wl,-z,lazy", "-Wl,--no-as-needed", "-l:libdl.so.2", "-o", target})
	once, _ := compiled.LoadOrStore(target, sync.OnceValues(func() ([]byte, error) {
		return exec.Command("gcc", args...).CombinedOutput()
	}))
	if out, err := once.(func() ([]byte, error))(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return target
}

// countedRun is the environment of a program whose made-up counters are read.
func countedRun(file, library string) []string {
	return append(byHand(file), "LD_PRELOAD="+library, "JOBEFF_COUNTERS=1")
}

// Counters are read at each edge of an outermost call and nowhere else: of made-up ones,
// every stretch of useful time adds the same. What is called stays exact.
func TestCountersAtEachCall(t *testing.T) {
	faked := fakedLibrary(t)
	eachFamily(t, func(t *testing.T, f family) {
		for _, program := range []string{compile(t, f.cc, "counts.c"), compile(t, f.fc, "counts.F90", "-DUSE_F08")} {
			file := filepath.Join(t.TempDir(), "record")
			r := mustRun(t, mpirun(t, f, countedRun(file, faked), 2, program))
			slots := readSlots(t, file)
			if d := diffCalls(called(t, r.stdout), recorded(slots)); d != "" {
				t.Error(d)
			}
			for _, s := range slots {
				if want := 1000 * (s.Calls + 1); !s.Counted || s.Instructions != want || s.Cycles != want {
					t.Errorf("rank %d: %d calls, %v %d instructions, %d cycles, want %d", s.Rank, s.Calls, s.Counted, s.Instructions, s.Cycles, want)
				}
			}
		}
	})
}

func diffCalls(want, got map[string]calls) string {
	for name, c := range want {
		if got[name].Count != c.Count {
			return fmt.Sprintf("%s: %d calls, recorded %d", name, c.Count, got[name].Count)
		}
	}
	return ""
}

// A thread whose events have lost their CPU has no counters; its calls go on.
func TestCountersLost(t *testing.T) {
	faked := fakedLibrary(t, "-DREADS=9")
	eachFamily(t, func(t *testing.T, f family) {
		file := filepath.Join(t.TempDir(), "record")
		r := mustRun(t, mpirun(t, f, countedRun(file, faked), 2, compile(t, f.cc, "counts.c")))
		slots := readSlots(t, file)
		if d := diffCalls(called(t, r.stdout), recorded(slots)); d != "" {
			t.Error(d)
		}
		for _, s := range slots {
			if s.Counted || s.State != record.StateDone && s.State != record.StateFinalized {
				t.Errorf("rank %d: counted %v, state %v", s.Rank, s.Counted, s.State)
			}
		}
	})
}

// Whether there are counters or not, the program sees nothing of them.
func TestCountersAreNotNoticed(t *testing.T) {
	libraries := map[string]string{"as it is": library, "made-up": fakedLibrary(t)}
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "surroundings.c", "-DWITH_MPI")
		without := mpirun(t, f, nil, 1, program)
		for name, lib := range libraries {
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "record")
				wantSame(t, without, mpirun(t, f, countedRun(file, lib), 1, program))
				if len(readSlots(t, file)) != 1 {
					t.Error("nothing was recorded: the test shows nothing")
				}
			})
		}
		file := filepath.Join(t.TempDir(), "record")
		counts := compile(t, f.cc, "counts.c")
		r := mustRun(t, mpirun(t, f, countedRun(file, library), 2, counts))
		if d := diffCalls(called(t, r.stdout), recorded(readSlots(t, file))); d != "" {
			t.Error(d)
		}
	})
}

// Where nobody asks for them nothing is counted, though it could be.
func TestCountersAreOffByDefault(t *testing.T) {
	faked := fakedLibrary(t)
	file := filepath.Join(t.TempDir(), "record")
	mustRun(t, mpirun(t, mpich, append(byHand(file), "LD_PRELOAD="+faked), 1, compile(t, mpich.cc, "usefulloop.c")))
	if s := readSlots(t, file)[0]; s.Counted || s.Instructions != 0 {
		t.Errorf("counted: %+v", s)
	}
}

// Real counters, of a loop that is known.
func TestUsefulInstructions(t *testing.T) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_INSTRUCTIONS, Size: unix.PERF_ATTR_SIZE_VER0,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Skipf("no hardware counters on this machine (perf_event_open: %v)", err)
	}
	unix.Close(fd)
	eachFamily(t, func(t *testing.T, f family) {
		const rounds = 100_000_000
		file := filepath.Join(t.TempDir(), "record")
		mustRun(t, mpirun(t, f, append(byHand(file), "JOBEFF_COUNTERS=1"), 2, compile(t, f.cc, "usefulloop.c"), fmt.Sprint(rounds)))
		for _, s := range readSlots(t, file) {
			if !s.Counted {
				t.Skip("hardware counters, but no rdpmc for users or no free counter")
			}
			if s.Instructions < 3*rounds || s.Instructions > 3*rounds*101/100 || s.Cycles == 0 {
				t.Errorf("rank %d: %d instructions, %d cycles, the loop has %d", s.Rank, s.Instructions, s.Cycles, 3*rounds)
			}
		}
	})
}
