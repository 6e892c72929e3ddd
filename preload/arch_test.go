package preload

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/cmd/source"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/ingest/replay"
	"jobeff/preload/record"
)

// built is a variant of the library that only tests and the bench use.
func built(t *testing.T, target string) string {
	t.Helper()
	if out, err := exec.Command("make", "-s", "-C", "..", target).CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	path, err := filepath.Abs("../" + target)
	must(t, err)
	return path
}

// checkFake checks the record of fakeapp.c: what it called, and that its barriers take
// 100 ms and its sleep 50 ms, or longer, on the slot's own clock.
func checkFake(t *testing.T, r ran, file string, clock record.Clock) {
	t.Helper()
	slots := readSlots(t, file)
	if diff := cmp.Diff(called(t, r.stdout), recorded(slots)); diff != "" {
		t.Errorf("what the program says (-) and the record (+):\n%s", diff)
	}
	s := slots[0]
	if len(slots) != 1 || s.Clock != clock || s.Rank != 0 || s.Size != 1 || s.Family != "MPICH" || s.Ending != record.EndingFinalize {
		t.Fatalf("%d slots, clock %d, rank %d of %d, %q", len(slots), s.Clock, s.Rank, s.Size, s.Family)
	}
	checkTimes(t, s)
	rate := float64(s.FinishedAt.Ticks-s.ClaimedAt.Ticks) / float64(s.FinishedAt.Mono-s.ClaimedAt.Mono)
	mpi, useful := float64(s.MPITicks)/rate*1e-6, float64(s.FiniEnter-s.InitLeft-s.MPITicks)/rate*1e-6
	now, _ := record.Now(record.ClockMonotonic)
	if most := float64(now.Mono-s.ClaimedAt.Mono) * 1e-6; mpi < 99 || useful < 49 || mpi+useful > most {
		t.Errorf("%.1f ms in MPI and %.1f useful, want 100 and 50 or more, of %.1f (%.3f ticks per ns)", mpi, useful, most, rate)
	}
	if s.HistColl[7] != 1000 || s.HistP2P[5] != 1000 {
		t.Errorf("histograms %v and %v", s.HistColl, s.HistP2P)
	}
}

// The code for aarch64 runs under qemu-user on an MPI of a few functions: Debian's MPIs for
// arm64 cannot be installed beside those for this machine.
func TestAArch64(t *testing.T) {
	const cc = "aarch64-linux-gnu-gcc"
	mpi := compile(t, cc, "fakempi.c", "-shared", "-fPIC")
	app := compile(t, cc, "fakeapp.c", "-g", mpi)
	file := filepath.Join(t.TempDir(), "record")
	r := mustRun(t, run(t, nil, "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", "LD_PRELOAD="+built(t, "build/test/libjobeff-aarch64.so"),
		"-E", "JOBEFF_RECORD="+file, app))
	checkFake(t, r, file, record.ClockCNTVCT)
	report, err := node.FoldFile(file, node.ThisMachine())
	must(t, err)
	source.Find(context.Background(), &job.Job{Executions: report.Executions}, true)
	barriers, want := uint64(0), fmt.Sprintf("fakeapp.c:%d main", here(t, "fakeapp.c", "barrier"))
	for _, p := range report.Executions[0].Places.List {
		if p.Function == "MPI_Barrier" && len(p.Frames) > 0 && frameOf(p.Frames[0]) == want { // the compiler may unroll its loop
			barriers += p.Calls
		}
	}
	if barriers != 5 {
		t.Errorf("%d calls of MPI_Barrier at %s: %+v", barriers, want, report.Executions[0].Places)
	}
	file = filepath.Join(t.TempDir(), "windows")
	mustRun(t, run(t, nil, "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", "LD_PRELOAD="+built(t, "build/test/libjobeff-aarch64.so"),
		"-E", "JOBEFF_WINDOWS=1", "-E", "JOBEFF_RECORD="+file, app))
	checkFakeWindows(t, file)
}

// The place of each call is right on aarch64, too (TestAddresses).
func TestAddressesOnAArch64(t *testing.T) {
	const cc = "aarch64-linux-gnu-gcc"
	program := compile(t, cc, "addresses.c", compile(t, cc, "addresses.c", "-shared", "-fPIC", "-DFAKE_MPI"), "-ldl")
	file := newRecord(t)
	r := mustRun(t, run(t, nil, "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", "LD_PRELOAD="+built(t, "build/test/libjobeff-aarch64.so"),
		"-E", "JOBEFF_RECORD="+file, program, file))
	if !strings.HasSuffix(r.stdout, " checked, 0 wrong\n") || strings.HasPrefix(r.stdout, "0 ") {
		t.Errorf("%s", r.stdout)
	}
}

// checkFakeWindows checks what fakeapp.c logs: each of its collectives is left as a border.
func checkFakeWindows(t *testing.T, file string) {
	t.Helper()
	ops := map[replay.Op]int{}
	for _, s := range readSlots(t, file) {
		if s.Windows == nil {
			continue
		}
		if s.Windows.Why != record.WindowsLogged || s.Windows.K != 0 || s.Torn {
			t.Errorf("%v, k = %d, torn %v", s.Windows.Why, s.Windows.K, s.Torn)
		}
		for _, entry := range s.Windows.Entries {
			ops[replay.Op(entry.Op)]++
		}
	}
	want := map[replay.Op]int{replay.OpComm: 2, replay.OpWindow: 1005, replay.OpCollAll: 1004, replay.OpSend: 1000, replay.OpRecv: 1000}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("entries of the log, want (-) and got (+):\n%s", diff)
	}
}

// A rank that is no MPI program may have forbidden itself to open files, and then exits as ever.
func TestSandboxedRank(t *testing.T) {
	program := compile(t, "gcc", "sandbox.c")
	without := run(t, nil, program)
	if without.code == 77 {
		t.Skip("this machine has no seccomp filters")
	}
	with := run(t, append(byHand(filepath.Join(t.TempDir(), "record")), "PMI_RANK=0"), program)
	if with != without || with.code != 4 {
		t.Errorf("without the library %+v, with it %+v", without, with)
	}
}

// Nor does it need anything once it has called MPI_Finalize.
func TestSandboxAfterFinalize(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "sandbox.c", "-DWITH_MPI")
		without := run(t, nil, program) // a singleton: a launcher would speak of a rank's death
		if without.code == 77 {
			t.Skip("this machine has no seccomp filters")
		}
		file := filepath.Join(t.TempDir(), "record")
		with := run(t, byHand(file), program)
		if with != without || with.code != 4 {
			t.Errorf("without the library %+v, with it %+v", without, with)
		}
		if slots := readSlots(t, file); len(slots) != 1 || slots[0].State != record.StateDone {
			t.Errorf("the record has %+v", slots)
		}
	})
}

// A rank whose program has its MPI linked in cannot be measured, and that is said. One that
// merely calls a shared MPI, or none, is nobody to speak of.
func TestStaticMPIIsNoticed(t *testing.T) {
	shared := compile(t, "gcc", "fakempi.c", "-shared", "-fPIC")
	static := compile(t, "gcc", "fakeapp.c", filepath.Join(apps, "fakempi.c"))
	dynamic := compile(t, "gcc", "fakeapp.c", shared)
	cases := []struct {
		name    string
		env     []string
		command []string
		lost    uint32 // 0: no record is made
	}{
		{"static rank", []string{"PMI_RANK=0"}, []string{static}, 1},
		{"static rank of Open MPI", []string{"OMPI_COMM_WORLD_RANK=0"}, []string{static}, 1},
		{"not a rank", nil, []string{static}, 0},
		{"switched off", []string{"PMI_RANK=0", "JOBEFF=off"}, []string{static}, 0},
		{"shared MPI never called", []string{"PMI_RANK=0"}, []string{dynamic, "nothing"}, 0},
		{"no MPI", []string{"PMI_RANK=0"}, []string{"/bin/true"}, 0},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "record")
			mustRun(t, run(t, append(byHand(file), c.env...), c.command[0], c.command[1:]...))
			if c.lost == 0 {
				if _, err := os.Lstat(file); !os.IsNotExist(err) {
					t.Errorf("a record was made: %v", err)
				}
			} else if head := readHead(t, file); head.LostStatic != c.lost || head.Used != 0 {
				t.Errorf("%d lost, %d slots", head.LostStatic, head.Used)
			}
		})
	}
}

// Where the TSC is not invariant, clock_gettime takes its place.
func TestWithoutTSC(t *testing.T) {
	mpi := compile(t, "gcc", "fakempi.c", "-shared", "-fPIC")
	app := compile(t, "gcc", "fakeapp.c", mpi)
	file := filepath.Join(t.TempDir(), "record")
	r := mustRun(t, run(t, []string{"LD_PRELOAD=" + built(t, "build/bench/jobeff_clock.so"), "JOBEFF_RECORD=" + file}, app))
	checkFake(t, r, file, record.ClockMonotonic)
}

// An MPI whose functions have versions is measured, too, though libgomp's in our library have some.
func TestOfAnMPIWithVersions(t *testing.T) {
	versions := filepath.Join(t.TempDir(), "versions")
	must(t, os.WriteFile(versions, []byte("MPI_9 { MPI_*; PMPI_*; };\n"), 0o644))
	mpi := compile(t, "gcc", "fakempi.c", "-shared", "-fPIC", "-Wl,--version-script="+versions)
	app := compile(t, "gcc", "fakeapp.c", mpi)
	file := filepath.Join(t.TempDir(), "record")
	checkFake(t, mustRun(t, run(t, byHand(file), app)), file, record.ClockTSC)
}
