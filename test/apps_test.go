package test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"jobeff/report/view"
)

// family is an MPI implementation: how its programs are compiled and started.
type family struct {
	name   string // as jobeff shows it
	mpi    string // srun --mpi=
	launch string // its own launcher; -n tells how many
	cc     string
	fc     string
}

var (
	openmpi  = family{"Open MPI", "pmix", "mpirun.openmpi", "mpicc.openmpi", "mpif90.openmpi"}
	mpich    = family{"MPICH", "pmi2", "mpiexec.hydra", "mpicc.mpich", "mpif90.mpich"}
	families = []family{openmpi, mpich}
	usual    = firstOfSlurm(families) // of tests for which any is good
)

// firstOfSlurm is the first family that srun starts here: Debian's Slurm 26.05 has no pmix plugin.
func firstOfSlurm(all []family) family { return all[max(0, slices.IndexFunc(all, family.bySlurm))] }

func (f family) bySlurm() bool {
	plugins, _ := filepath.Glob("/usr/lib/*/slurm-wlm/mpi_" + f.mpi + ".so")
	return len(plugins) > 0
}

// srun is how Slurm starts a program of f, up to the program. It skips the test where it cannot.
func srun(t *testing.T, f family) string {
	t.Helper()
	if !f.bySlurm() {
		t.Skipf("this Slurm has no %s plugin, so srun starts no %s", f.mpi, f.name)
	}
	return "srun --mpi=" + f.mpi + " "
}

// built remembers which programs were compiled, by target.
var built sync.Map

// build compiles a program of test/apps once. It returns its path, the same on every node.
func build(t *testing.T, c *cluster, compiler, source string, flags ...string) string {
	t.Helper()
	name := strings.ReplaceAll(strings.Join(append([]string{compiler, source}, flags...), "_"), "/", "-")
	target := filepath.Join(c.dir, "home", "bin", name)
	compile, _ := built.LoadOrStore(target, sync.OnceValues(func() ([]byte, error) {
		source, err := filepath.Abs(filepath.Join("apps", source))
		if err != nil {
			return nil, err
		}
		// Fortran writes modules into the current folder: each variant has its own
		modules := target + ".mod"
		if err := os.MkdirAll(modules, 0o755); err != nil {
			return nil, err
		}
		cmd := exec.Command(compiler, append([]string{"-O1", "-g", "-o", target, source}, flags...)...)
		cmd.Dir = modules
		return cmd.CombinedOutput()
	}))
	if out, err := compile.(func() ([]byte, error))(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return target
}

// rounds is the program that most tests run: ROUNDS MILLISECONDS.
func rounds(t *testing.T, c *cluster, f family) string {
	t.Helper()
	return build(t, c, f.cc, "rounds.c")
}

// TestExactCounts runs programs that print what they called, and compares every line with what
// jobeff says.
func TestExactCounts(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		// without interfaces, gfortran takes MPI_IN_PLACE beside an array for a mistake
		const lenient = "-fallow-argument-mismatch"
		bindings := []struct {
			name, compiler, source string
			flags                  []string
		}{
			{"C", f.cc, "counts.c", nil},
			{"mpif.h", f.fc, "counts.F90", []string{"-DUSE_MPIFH", lenient}},
			{"use mpi", f.fc, "counts.F90", []string{"-DUSE_MPI", lenient}},
			{"mpi_f08", f.fc, "counts.F90", []string{"-DUSE_F08"}},
		}
		for _, b := range bindings {
			t.Run(f.mpi+" "+b.name, func(t *testing.T) {
				t.Parallel()
				app := build(t, site, b.compiler, b.source, b.flags...)
				id := site.run(t, "alice", srun(t, f)+"timeout 300 "+app, "-N1", "-n2")
				e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
				wantWhole(t, e, f, 2, 1)
				wantTally(t, e, site.output(t, "alice", id))
			})
		}
	}
}

// tally counts calls: how many, bytes sent, bytes received.
type tally [3]uint64

func wantTally(t *testing.T, e view.Execution, output string) {
	t.Helper()
	want, got := map[string]tally{}, map[string]tally{}
	for line := range strings.Lines(output) {
		var name string
		var n tally
		if _, err := fmt.Sscanf(line, "called %s %d %d %d", &name, &n[0], &n[1], &n[2]); err == nil {
			sum := want[name]
			for i := range n {
				sum[i] += n[i]
			}
			want[name] = sum
		}
	}
	for _, c := range e.Calls {
		if _, asked := want[c.Name]; asked {
			got[c.Name] = tally{c.Count, c.Sent, c.Received}
		}
	}
	if len(want) < 10 {
		t.Fatalf("the program printed:\n%s", output)
	}
	if !maps.Equal(got, want) {
		t.Errorf("calls\n%v\nthe program says\n%v", got, want)
	}
}

// onlyInApps skips a test that only make apps runs; why says what is too much for make test.
func onlyInApps(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("JOBEFF_TEST_APPS") == "" {
		t.Skip(why + ": make apps runs it")
	}
}
