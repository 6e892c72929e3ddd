package preload

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A call may ignore some of its arguments: what they hold is the program's business. With the
// library such a program ends as it does without, and the bytes are those that moved.
func TestIgnoredArgumentsAreNotRead(t *testing.T) {
	flags := map[string][]string{"Open MPI": {"-lmpi_mpifh"}, "MPICH": {"-lmpichfort", "-DMPI4"}}
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "ignored.c", flags[f.name]...)
		for _, garbage := range []string{"null", "wild", "freed"} {
			t.Run(garbage, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "record")
				want := called(t, mustRun(t, mpirun(t, f, nil, 3, program, garbage)).stdout)
				with := mustRun(t, mpirun(t, f, byHand(file), 3, program, garbage))
				if diff := cmp.Diff(want, called(t, with.stdout)); diff != "" {
					t.Errorf("without the library (-) and with it (+):\n%s", diff)
				}
				if diff := cmp.Diff(want, recorded(readSlots(t, file))); diff != "" {
					t.Errorf("what the program says (-) and the record (+):\n%s", diff)
				}
			})
		}
	})
}

// A thread may free a datatype while another's call uses it. MPI is not asked about it then, so the
// size stays unknown: the MPIs of the tests would read freed memory, and seldom say so.
func TestTypeFreedDuringACall(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "freed.c", "-pthread")
		file := filepath.Join(t.TempDir(), "record")
		wantSame(t, mpirun(t, f, nil, 2, program), mustRun(t, mpirun(t, f, byHand(file), 2, program)))
		if got := recorded(readSlots(t, file))["MPI_Ssend"]; got != (calls{Count: 1}) {
			t.Errorf("recorded of MPI_Ssend: %+v, want one call of unknown size", got)
		}
	})
}

// A call of mpi_f08 may have no ierror. Where it fails, MPI is asked about nothing and no bytes count.
func TestFailedCallsWithoutIerror(t *testing.T) {
	flags := map[string][]string{"MPICH": {"-DWILD"}} // Open MPI itself reads what is no handle
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.fc, "noierror.F90", flags[f.name]...)
		file := filepath.Join(t.TempDir(), "record")
		wantSame(t, mpirun(t, f, nil, 1, program), mustRun(t, mpirun(t, f, byHand(file), 1, program)))
		if got := recorded(readSlots(t, file))["MPI_Send"]; got != (calls{Count: 2}) {
			t.Errorf("recorded of MPI_Send: %+v, want two calls that moved nothing", got)
		}
	})
}

// MPI uses a communicator's handle again, for another one, and this library may have seen neither
// the end of the first nor the beginning of the second. No array is read beyond its end then, what a
// call ignores is not looked at, and the bytes are right.
func TestCommunicatorsMadePastUs(t *testing.T) {
	const app = "bypass.c"
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, app)
		for _, c := range []struct{ name, program, tool string }{
			{"linked in", compile(t, f.cc, app, "-DLINKED"), ""},
			{"in front", program, compile(t, f.cc, app, "-DTOOL", "-shared", "-fPIC") + ":"},
		} {
			for _, run := range []string{"windows0", "windows1", "windows0 slow"} {
				t.Run(strings.ReplaceAll(c.name+"/"+run, " ", "_"), func(t *testing.T) {
					windows, slow, _ := strings.Cut(strings.TrimPrefix(run, "windows"), " ")
					file := filepath.Join(t.TempDir(), "record")
					env := []string{"LD_PRELOAD=" + before + c.tool + library, "JOBEFF_RECORD=" + file, "JOBEFF_WINDOWS=" + windows}
					r := mustRun(t, mpirun(t, f, env, 4, c.program, strings.Fields(slow)...))
					if diff := cmp.Diff(called(t, r.stdout), recorded(readSlots(t, file))); diff != "" {
						t.Errorf("what the program says (-) and the record (+):\n%s", diff)
					}
				})
			}
		}
	})
}
