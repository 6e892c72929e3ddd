package preload

import (
	"os"
	"path/filepath"
	"testing"
)

// abis are the libraries with the ABI of MPI 5 that the MPIs bring. A program that was built with
// the header of one runs with each.
var abis = []struct {
	name             string
	launch           []string
	headers, library string
}{
	{"OpenMPI", openmpiLaunch(), "/usr/lib/*/openmpi/include/standard_abi", "/usr/lib/*/libmpi_abi_openmpi.so.1.*"},
	{"MPICH", []string{"mpirun.mpich"}, "/usr/lib/*/mpi_abi_mpich/include", "/usr/lib/*/libmpi_abi_mpich.so.1.*"},
}

// link makes a symbolic link to the one file that fits the pattern; it skips the test where there
// is none.
func link(t *testing.T, pattern, to string) {
	t.Helper()
	found, err := filepath.Glob(pattern)
	must(t, err)
	if len(found) != 1 {
		t.Skipf("no MPI with the ABI of MPI 5: %d files match %s", len(found), pattern)
	}
	must(t, os.Symlink(found[0], to))
}

// The handles and constants of MPI 5's ABI are neither Open MPI's nor MPICH's.
func TestABICountsAreExact(t *testing.T) {
	runsMPI(t)
	for _, a := range abis {
		t.Run(a.name, func(t *testing.T) {
			dir := filepath.Join(bin, a.name)
			must(t, os.Mkdir(dir, 0o755))
			link(t, a.headers, filepath.Join(dir, "include"))
			link(t, a.library, filepath.Join(dir, "libmpi_abi.so.1"))
			flags := []string{"-I" + dir + "/include", dir + "/libmpi_abi.so.1", "-Wl,-rpath," + dir}
			f := family{name: "MPI-5 ABI", launch: a.launch}
			t.Run("counts", func(t *testing.T) { checkCounts(t, f, compile(t, "gcc", "counts.c", flags...)) })
			t.Run("more", func(t *testing.T) {
				checkCounts(t, f, compile(t, "gcc", "more.c", flags...), filepath.Join(t.TempDir(), "data"))
			})
			t.Run("thread level", func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "record")
				mustRun(t, mpirun(t, f, byHand(file), 1, compile(t, "gcc", "threads.c", append(flags, "-pthread")...), "1", "1"))
				if s := readSlots(t, file)[0]; s.ThreadLevel != 3 || s.Odd {
					t.Errorf("level %d, odd %v; want MPI_THREAD_MULTIPLE, 3", s.ThreadLevel, s.Odd)
				}
			})
			t.Run("windows", func(t *testing.T) {
				for name, matched := range map[string]int{"testsome": 6, "cart": 12, "split": 6, "large": 12} {
					e := waited(t, f, nil, 4, compile(t, "gcc", "windows.c", append(flags, "-pthread")...), name)
					if w := e.Windows; w == nil || w.Matched != matched || w.Dropped != 0 {
						t.Errorf("%s: %+v, want %d matched windows", name, w, matched)
					}
				}
			})
		})
	}
}
