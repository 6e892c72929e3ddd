package preload

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ourVariables are the only difference that the library's user makes; launchersOwn have
// a random value in each run.
var (
	ourVariables = regexp.MustCompile(`(?m)^environment (LD_PRELOAD|JOBEFF\w*)=.*\n`)
	launchersOwn = regexp.MustCompile(`(?m)^(environment (?:OMPI_|PMIX_|PMI_|PMI2_|HYD\w*_|GFORTRAN|MPI)\w*=).*$`)
)

// comparable leaves out of what surroundings.c printed what differs between any two runs.
func comparable(r ran) ran {
	r.stdout = launchersOwn.ReplaceAllString(ourVariables.ReplaceAllString(r.stdout, ""), "$1")
	r.stderr = regexp.MustCompile(`\d+`).ReplaceAllString(r.stderr, "N") // pids in a launcher's notes
	return r
}

func wantSame(t *testing.T, without, with ran) {
	t.Helper()
	if without.stdout == "" {
		t.Fatal("the program printed nothing")
	}
	if diff := cmp.Diff(comparable(without), comparable(with), cmp.AllowUnexported(ran{})); diff != "" {
		t.Errorf("without the library (-) and with it (+):\n%s", diff)
	}
}

// A program without MPI sees nothing of the library, and makes no record.
func TestProgramWithoutMPI(t *testing.T) {
	program := compile(t, "gcc", "surroundings.c")
	file := filepath.Join(t.TempDir(), "record")
	wantSame(t, run(t, nil, program, "one", "two words"), run(t, byHand(file), program, "one", "two words"))
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("a record was made: %v", err)
	}
}

// Nor is there one of a program that looks for MPI by weak symbols and has none. It finds our
// MPI_Init, whose call fails.
func TestProgramThatLooksForMPI(t *testing.T) {
	program := compile(t, "gcc", "mpiweak.c")
	file := filepath.Join(t.TempDir(), "record")
	wantSame(t, run(t, nil, program), run(t, byHand(file), program))
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("a record was made: %v", err)
	}
}

// A program may ask dlsym() which functions of MPI 4 its MPI has: the answer is that without us. What a
// program is linked to is measured, also where all is bound at its start.
func TestNewerFunctionsAreNotPretended(t *testing.T) {
	var asked []string
	for _, r := range readRows(t) {
		asked = append(asked, "MPI_"+r.name)
	}
	eachFamily(t, func(t *testing.T, f family) {
		has4 := slices.Contains(declared(t, f), "MPI_Allreduce_c")
		for _, bind := range []string{"lazy", "now"} {
			flags := []string{"-ldl", "-Wl,-z," + bind}
			if has4 {
				flags = append(flags, "-DMPI4")
			}
			program := compile(t, f.cc, "asknewer.c", flags...)
			file := filepath.Join(t.TempDir(), "record")
			without := mustRun(t, mpirun(t, f, nil, 1, program, asked...))
			wantSame(t, without, mpirun(t, f, byHand(file), 1, program, asked...))
			got := recorded(readSlots(t, file))
			if has4 && (got["MPI_Allreduce_c"].Count != 1 || got["MPI_Isendrecv"].Count != 1) {
				t.Errorf("recorded %v", got)
			}
			if !has4 && !strings.Contains(without.stdout, "MPI_Allreduce_c not there") {
				t.Errorf("this MPI has all: the test shows nothing")
			}
		}
	})
}

// A program with MPI sees nothing either, whatever state the record is in.
func TestProgramWithMPISeesNothing(t *testing.T) {
	cases := []struct {
		name    string
		env     []string // %s is the record
		prepare func(t *testing.T, file string)
	}{
		{"recorded", nil, nil},
		{"switched off", []string{"JOBEFF=off"}, nil},
		{"missing directory", []string{"JOBEFF_RECORD=/nonexistent/record"}, nil},
		{"empty name", []string{"JOBEFF_RECORD="}, nil},
		{"too long a name", []string{"JOBEFF_RECORD=/tmp/" + strings.Repeat("x/", 4000)}, nil},
		{"file of root that is missing", []string{"JOBEFF_RECORD_FILE=/nonexistent/ranks"}, nil},
		{"a directory", nil, func(t *testing.T, file string) { must(t, os.Mkdir(file, 0o755)) }},
		{"a fifo", nil, func(t *testing.T, file string) { must(t, syscall.Mkfifo(file, 0o600)) }},
		{"a device", []string{"JOBEFF_RECORD=/dev/null"}, nil},
		{"foreign file", nil, func(t *testing.T, file string) { must(t, os.WriteFile(file, []byte("mine"), 0o600)) }},
		{"empty file", nil, func(t *testing.T, file string) { must(t, os.WriteFile(file, nil, 0o600)) }},
	}
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "surroundings.c", "-DWITH_MPI")
		args := []string{write(t, "input", []byte("run 100\n")), "/dev/zero", t.TempDir()}
		without := mpirun(t, f, nil, 1, program, args...)
		for _, c := range cases {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "record")
				if c.prepare != nil {
					c.prepare(t, file)
				}
				wantSame(t, without, mpirun(t, f, append(byHand(file), c.env...), 1, program, args...))
				if c.name == "recorded" && len(readSlots(t, file)) != 1 {
					t.Error("nothing was recorded: the test shows nothing")
				}
			})
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Growing a file past its limit kills: making the record must not be tried. MPICH itself
// needs 10 MB for its shared memory; the record would be 64 MiB.
func TestNoFileMayGrow(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		program := compile(t, f.cc, "surroundings.c", "-DWITH_MPI")
		limit := map[string]string{"Open MPI": "0", "MPICH": "20000"}[f.name]
		limited := []string{"-c", `ulimit -f ` + limit + `; exec "$@"`, "sh", program}
		file := filepath.Join(t.TempDir(), "record")
		wantSame(t, mpirun(t, f, nil, 1, "bash", limited...), mpirun(t, f, byHand(file), 1, "bash", limited...))
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("a record was made: %v", err)
		}
	})
}

// The library looks names up, and none of that is seen in dlerror(): neither a text of its own nor
// that one of the program's is gone.
func TestErrorTextsAreTheProgramsOwn(t *testing.T) {
	const start = "start: nothing\n"
	ranks := append(byHand(filepath.Join(t.TempDir(), "record")), "PMI_RANK=0")
	if r := run(t, ranks, compile(t, "gcc", "pending.c")); r.stdout != start {
		t.Errorf("a rank without MPI: %+v", r)
	}
	eachFamily(t, func(t *testing.T, f family) {
		file := filepath.Join(t.TempDir(), "record")
		r := mustRun(t, mpirun(t, f, byHand(file), 1, compile(t, f.cc, "pending.c", "-DWITH_MPI")))
		if !strings.HasPrefix(r.stdout, start) || !strings.Contains(r.stdout, "MPI_Barrier: libnothere.so: ") || strings.Contains(r.stdout, "libjobeff") {
			t.Error(r.stdout)
		}
		if len(readSlots(t, file)) != 1 {
			t.Error("nothing was recorded: the test shows nothing")
		}
	})
}
