package preload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Libraries without MPI have functions whose names only special flags of a Fortran compiler would give
// to MPI's. Their callers reach them.
func TestNamesOfOthers(t *testing.T) {
	library := compile(t, "gcc", "ownnames.c", "-shared", "-fPIC", "-DLIBRARY")
	program := compile(t, "gcc", "ownnames.c", library)
	file := filepath.Join(t.TempDir(), "record")
	want := mustRun(t, run(t, nil, program))
	wantSame(t, want, run(t, append(byHand(file), "PMI_RANK=0"), program))
	if want.stdout != "3 7 41.5 waited 3 4 5\n" {
		t.Errorf("the program printed %q", want.stdout)
	}
}

// R's Rmpi has 34 C functions of such names. It is measured like others.
func TestRmpi(t *testing.T) {
	if _, err := os.Stat("/usr/lib/R/site-library/Rmpi"); err != nil {
		t.Skipf("no Rmpi to run: %v", err)
	}
	script := write(t, "rmpi.R", []byte(`library(Rmpi)
r <- mpi.comm.rank(0)
x <- mpi.allreduce(r + 1, type = 2, op = "sum", comm = 0)
for (i in 1:50) mpi.barrier(0)
if (r == 0) cat(x, "\n")
mpi.finalize()
`))
	file := filepath.Join(t.TempDir(), "record")
	f := families[0] // Debian's is built for Open MPI
	r := mustRun(t, mpirun(t, f, byHand(file), 2, "Rscript", script))
	got := recorded(readSlots(t, file))
	if !strings.Contains(r.stdout, "3 \n") || got["MPI_Barrier"].Count != 100 || got["MPI_Allreduce"].Count != 2 {
		t.Errorf("it prints %q, recorded %v", r.stdout, got)
	}
}

// mumpsSeq is where Debian has sequential MUMPS' own mpif.h.
const mumpsSeq = "/usr/include/mumps_seq"

// hasMUMPS skips the test of an MPI for one process where this Debian has none.
func hasMUMPS(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(mumpsSeq); err != nil {
		t.Skipf("no sequential MUMPS to run: %v", err)
	}
}

// A program on MUMPS' own MPI, whose functions are named as MPI's, computes what it should.
func TestSequentialMUMPS(t *testing.T) {
	hasMUMPS(t)
	program := compile(t, "gcc", "mumps.c", "-I"+mumpsSeq, "-ldmumps_seq", "-lmpiseq_seq")
	file := filepath.Join(t.TempDir(), "record")
	want := mustRun(t, run(t, nil, program))
	wantSame(t, want, run(t, append(byHand(file), "PMI_RANK=0"), program))
	if want.stdout != "0: 1 2\n" {
		t.Errorf("the program printed %q", want.stdout)
	}
}

// localMPI builds a plugin that calls an MPI by Fortran's names.
func localMPI(t *testing.T, compiler, name string, more ...string) string {
	t.Helper()
	return compile(t, compiler, "localmpi.c", append([]string{"-shared", "-fPIC", "-O2", "-DNAME=\"" + name + "\""}, more...)...)
}

// Each of two plugins reaches its own MPI, whichever was opened or begins first. The real one is measured,
// and no call of the stub is taken for one of its own.
func TestTwoMPIsInOneProcess(t *testing.T) {
	hasMUMPS(t)
	host := compile(t, "gcc", "hosts.c", "-ldl")
	stub := localMPI(t, "gcc", "stub", "-DSTUB", "-lmpiseq_seq")
	eachFamily(t, func(t *testing.T, f family) {
		fortran := map[string]string{"Open MPI": "-lmpi_mpifh", "MPICH": "-lmpichfort"}[f.name]
		real, again := localMPI(t, f.cc, "mpi", fortran), localMPI(t, f.cc, "mpi", fortran, "-DAGAIN")
		for _, c := range []struct {
			name, letters string
			plugins       []string
			barriers      uint64 // of two ranks
		}{
			{"the MPI first", "o0bo1bw0w1w0w1f0f", []string{real, stub}, 20},
			{"the stub first", "o0bwo1bw0w1w0f1f", []string{stub, real}, 20},
			{"both opened before", "oo1b0b1w0w1w0w0f1f", []string{stub, real}, 20},
			{"the stub never begins", "oo1w0b1w0w1w0f1w", []string{real, stub}, 10},
			{"the stub ends in the midst", "oo0b1b0w1w1f0w0f", []string{real, stub}, 20},
			{"a plugin where another stood", "o0bwo1bwco2bwco3w0w0f", []string{real, stub, stub, again}, 30},
			{"a jump of the only one", "o0bwjj0f", []string{real}, 14},
			{"a jump of one of two", "oo0b1b0wj1wj0w0f", []string{real, stub}, map[string]uint64{"Open MPI": 20, "MPICH": 22}[f.name]}, // MPICH's Fortran calls its C
		} {
			without := mustRun(t, mpirun(t, f, nil, 2, host, append([]string{c.letters}, c.plugins...)...))
			file := filepath.Join(t.TempDir(), "record")
			with := mpirun(t, f, byHand(file), 2, host, append([]string{c.letters}, c.plugins...)...)
			if sorted(with.stdout) != sorted(without.stdout) || with.code != 0 || !strings.Contains(with.stdout, "mpi 2 0\n") {
				t.Errorf("%s: without the library %+v, with it %+v", c.name, without, with)
				continue
			}
			slots := readSlots(t, file)
			if got := recorded(slots)["MPI_Barrier"].Count; got != c.barriers || len(slots) != 2 || slots[0].Size != 2 {
				t.Errorf("%s: %d barriers in %d slots, want %d", c.name, got, len(slots), c.barriers)
			}
		}
	})
}

// sorted are the lines of a text in order: those of two ranks come as they will.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
