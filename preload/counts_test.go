package preload

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
)

// calls is what was called of one function, summed over ranks.
type calls struct{ Count, Sent, Received uint64 }

// recorded sums the functions of all slots.
func recorded(slots []record.Slot) map[string]calls {
	sums := map[string]calls{}
	for _, s := range slots {
		for _, f := range s.Funcs {
			name := record.FuncName(f.Number)
			c := sums[name]
			sums[name] = calls{c.Count + f.Count, c.Sent + f.Sent, c.Received + f.Received}
		}
	}
	return sums
}

var callLine = regexp.MustCompile(`called (\w+) (\d+) (\d+) (\d+)`)

// called sums the lines "called NAME COUNT SENT RECEIVED" that a program printed. Ranks may
// print at once: hydra then puts the ends of two lines behind both.
func called(t *testing.T, output string) map[string]calls {
	t.Helper()
	if rest := strings.TrimSpace(callLine.ReplaceAllString(output, "")); rest != "" {
		t.Fatalf("the program printed %q", rest)
	}
	sums := map[string]calls{}
	for _, m := range callLine.FindAllStringSubmatch(output, -1) {
		var n [3]uint64
		for i := range n {
			var err error
			n[i], err = strconv.ParseUint(m[2+i], 10, 64)
			must(t, err)
		}
		s := sums[m[1]]
		sums[m[1]] = calls{s.Count + n[0], s.Sent + n[1], s.Received + n[2]}
	}
	if len(sums) == 0 {
		t.Fatal("the program printed no calls")
	}
	return sums
}

// Every binding on every MPI: the names, counts and bytes of the record are those that
// the program noted itself.
func TestCountsAreExact(t *testing.T) {
	bindings := []struct {
		name, source string
		flags        []string
	}{
		{"C", "counts.c", nil},
		{"mpif.h", "counts.F90", []string{"-DUSE_MPIFH"}},
		{"use mpi", "counts.F90", []string{"-DUSE_MPI"}},
		{"mpi_f08", "counts.F90", []string{"-DUSE_F08"}},
		{"mpi_f08 threaded", "counts.F90", []string{"-DUSE_F08", "-DTHREADED"}},
		{"use mpi threaded", "counts.F90", []string{"-DUSE_MPI", "-DTHREADED"}},
	}
	eachFamily(t, func(t *testing.T, f family) {
		for _, b := range bindings {
			t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
				compiler := f.fc
				if strings.HasSuffix(b.source, ".c") {
					compiler = f.cc
				}
				program := compile(t, compiler, b.source, b.flags...)
				checkCounts(t, f, program)
			})
		}
	})
}

// One-sided communication, files and what MPI 4.0 brought, each on the MPIs that have it.
func TestFurtherCountsAreExact(t *testing.T) {
	cases := []struct {
		name, source string
		flags        []string
		needs        string   // a function that an older MPI lacks
		args         []string // %s is a file to write
	}{
		{"RMA and files", "more.c", nil, "MPI_Put", []string{"%s"}},
		{"MPI 4", "more.c", []string{"-DMPI4"}, "MPI_Sendrecv_c", []string{"%s"}},
		{"sessions only", "sessions.c", nil, "MPI_Session_init", []string{"1"}},
		{"sessions inside one", "sessions.c", nil, "MPI_Session_init", []string{"3"}},
		{"mpi_f08 with large counts", "large.F90", nil, "MPI_Sendrecv_c", nil},
	}
	for _, c := range cases {
		for _, f := range families {
			t.Run(strings.ReplaceAll(c.name+"/"+f.name, " ", "_"), func(t *testing.T) {
				if !slices.Contains(declared(t, f), c.needs) {
					t.Skipf("%s has no %s here", f.name, c.needs)
				}
				compiler := f.cc
				if strings.HasSuffix(c.source, ".F90") {
					compiler = f.fc
				}
				args := slices.Clone(c.args)
				if len(args) > 0 {
					args[0] = strings.ReplaceAll(args[0], "%s", filepath.Join(t.TempDir(), "data"))
				}
				checkCounts(t, f, compile(t, compiler, c.source, c.flags...), args...)
			})
		}
	}
}

// The names that Fortran compilers give a function by default are wrapped and counted once.
func TestManglings(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		fortran := map[string]string{"Open MPI": "-lmpi_mpifh", "MPICH": "-lmpichfort"}[f.name]
		checkCounts(t, f, compile(t, f.cc, "manglings.c", fortran))
	})
}

// What MPI_Comm_spawn starts is a world of its own, and says that it has a parent.
func TestSpawn(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "spawn.c")
		file := filepath.Join(t.TempDir(), "record")
		// the child's environment is the launcher's, not its parent's
		command := append(f.launcher(t), "-n", "1", program)
		if r := run(t, nil, command[0], command[1:]...); r.code != 0 {
			t.Skipf("does not run without us either: %s", r.stderr)
		}
		r := mustRun(t, run(t, byHand(file), command[0], command[1:]...))
		slots := readSlots(t, file)
		if diff := cmp.Diff(called(t, r.stdout), recorded(slots)); diff != "" {
			t.Errorf("what the program says (-) and the record (+):\n%s", diff)
		}
		if len(slots) != 2 {
			t.Fatalf("%d slots", len(slots))
		}
		parent, child := slots[0], slots[1]
		if parent.Spawned || !child.Spawned || parent.Size != 1 || child.Size != 1 || parent.World == "" || child.World == "" || parent.World == child.World {
			t.Errorf("parent: spawned %v, world %q of %d; child: spawned %v, world %q of %d",
				parent.Spawned, parent.World, parent.Size, child.Spawned, child.World, child.Size)
		}
	})
}

// Python loads its MPI late, inside a plugin. Debian's mpi4py is built for Open MPI.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("/usr/bin/python3")
	must(t, err)
	checkCounts(t, openMPI, python, filepath.Join(apps, "counts.py"))
}

// checkCounts runs a program on two ranks and compares what it says that it called with
// its record.
func checkCounts(t *testing.T, f family, program string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "record")
	r := mustRun(t, mpirun(t, f, byHand(file), 2, program, args...))
	slots := readSlots(t, file)
	if diff := cmp.Diff(called(t, r.stdout), recorded(slots)); diff != "" {
		t.Errorf("what the program says (-) and the record (+):\n%s", diff)
	}
	resolved, err := filepath.EvalSymlinks(program)
	must(t, err)
	checkRanks(t, f, slots, resolved)
}

// checkRanks checks who two finished ranks say they are.
func checkRanks(t *testing.T, f family, slots []record.Slot, program string) {
	t.Helper()
	if len(slots) != 2 {
		t.Fatalf("%d slots, want 2", len(slots))
	}
	ranks := 0
	for _, s := range slots {
		ranks |= 1 << s.Rank
		if s.Size != 2 || s.Family != f.name || s.Exe != program || s.BuildID == "" || s.World == "" || s.Host == "" || s.CPUs < 1 {
			t.Errorf("slot says %+v", s)
		}
		if s.World != slots[0].World || s.WorldFrom != slots[0].WorldFrom {
			t.Errorf("the ranks are in two worlds, %q and %q", s.World, slots[0].World)
		}
		if s.State != record.StateDone || s.Ending != record.EndingFinalize || s.OpenCall != -1 || s.Torn || s.Odd {
			t.Errorf("state %d, ending %d, open call %d, torn %v, odd %v", s.State, s.Ending, s.OpenCall, s.Torn, s.Odd)
		}
		checkTimes(t, s)
	}
	if ranks != 3 {
		t.Errorf("ranks %b, want 0 and 1", ranks)
	}
}

// checkTimes checks that a slot's sums agree with each other and with its life line.
func checkTimes(t *testing.T, s record.Slot) {
	t.Helper()
	if s.InitEnter == 0 || s.InitLeft < s.InitEnter || s.FiniEnter < s.InitLeft || s.FiniLeft < s.FiniEnter {
		t.Errorf("life line %d %d %d %d", s.InitEnter, s.InitLeft, s.FiniEnter, s.FiniLeft)
	}
	if s.MPITicks+s.IOTicks > s.FiniEnter-s.InitLeft {
		t.Errorf("%d ticks in MPI and %d in files of %d", s.MPITicks, s.IOTicks, s.FiniEnter-s.InitLeft)
	}
	var mpi, io uint64
	for _, f := range s.Funcs {
		if record.FuncClass(f.Number) == record.ClassIO {
			io += f.Ticks
		} else {
			mpi += f.Ticks
		}
	}
	if io != s.IOTicks || mpi > s.MPITicks {
		t.Errorf("by function %d ticks in MPI and %d in files, in all %d and %d", mpi, io, s.MPITicks, s.IOTicks)
	}
}
