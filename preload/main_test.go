package preload

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	names "jobeff/cmd/source"
	"jobeff/preload/record"
)

// library is a copy of libjobeff.so, as `make` builds it, that every user can read where
// the repository is root's alone; clocked is the library on the clock of onClock; apps is the folder
// of test programs. before stands in front of library in LD_PRELOAD (TestSanitizersFindNothing).
var library, clocked, apps, bin, before string

func TestMain(m *testing.M) {
	if os.Args[0] == names.Reader {
		os.Exit(names.Read(os.Stdin, os.Stdout))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if out, err := exec.Command("make", "-s", "-C", "..", "build/lib/libjobeff.so", "build/test/libjobeff-clock.so", "build/lib/libjobeff_section.so", "build/lib/talp/libdlb.so", "build/lib/talp-3.5/libdlb.so").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "make build/lib/libjobeff.so: %v\n%s", err, out)
		return 1
	}
	var err error
	if apps, err = filepath.Abs("../test/apps"); err != nil {
		panic(err)
	}
	if clocked, err = filepath.Abs("../build/test/libjobeff-clock.so"); err != nil {
		panic(err)
	}
	if bin, err = os.MkdirTemp("", "jobeff-preload-test"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	library = filepath.Join(bin, "lib", "libjobeff.so")
	err = errors.Join(os.Chmod(bin, 0o755), os.CopyFS(filepath.Dir(library), os.DirFS("../build/lib")))
	if err != nil {
		panic(err)
	}
	if before = os.Getenv(beforeVariable); before != "" {
		if err := buildSanitized(library, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// librarySources are the C files that libjobeff.so is built from.
func librarySources() []string {
	sources, err := filepath.Glob("lib/*.c")
	if err != nil {
		panic(err)
	}
	return append(sources, "record/make.c")
}

// libraryObjects are what `make` built from them.
func libraryObjects() (objects []string) {
	for _, source := range librarySources() {
		objects = append(objects, filepath.Join("../build/obj/lib", strings.TrimSuffix(source, ".c")+".o"))
	}
	return objects
}

// family is an MPI implementation: its compilers and its launcher.
type family struct {
	name   string // as the record says
	cc     string
	cxx    string
	fc     string
	launch []string // before -n; see launcher
}

var families = []family{
	{"Open MPI", "mpicc.openmpi", "mpicxx.openmpi", "mpif90.openmpi", openmpiLaunch()},
	{"MPICH", "mpicc.mpich", "mpicxx.mpich", "mpif90.mpich", []string{"mpirun.mpich"}},
}

func openmpiLaunch() []string {
	launch := []string{"mpirun.openmpi", "--oversubscribe"}
	if os.Getuid() == 0 {
		launch = append(launch, "--allow-run-as-root")
	}
	return launch
}

// launcher is what stands before -n. Open MPI's gets a session directory of its own: it fails
// where another mpirun, at its end, removes the one that all share while it makes it.
func (f family) launcher(t *testing.T) []string {
	t.Helper()
	if f.launch[0] != openMPI.launch[0] {
		return slices.Clone(f.launch)
	}
	dir, err := os.MkdirTemp("", "o") // t.TempDir's are too long for a socket's name
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return append(slices.Clone(f.launch), "--mca", "orte_tmpdir_base", dir)
}

// eachFamily runs the test once per MPI.
func eachFamily(t *testing.T, test func(t *testing.T, f family)) {
	for _, f := range families {
		t.Run(strings.ReplaceAll(f.name, " ", ""), func(t *testing.T) { test(t, f) })
	}
}

var compiled sync.Map // target: func() ([]byte, error)

// runsMPI skips a test that runs MPI programs where tests are to be -short. Whatever builds
// something to run calls it.
func runsMPI(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs MPI programs")
	}
}

// compile builds a program of test/apps once and returns its path.
func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	runsMPI(t)
	target := filepath.Join(bin, strings.NewReplacer("/", "_", " ", "_", "=", "_").Replace(strings.Join(append([]string{compiler, source}, flags...), "_")))
	args := append([]string{"-O1", "-w", "-o", target, filepath.Join(apps, source)}, flags...)
	if strings.HasSuffix(compiler, ".mpich") && !slices.Contains(flags, "-shared") {
		args = append(args, compile(t, "gcc", "patient.c", "-c"))
	}
	if strings.HasSuffix(source, ".F90") {
		modules := target + ".mod.d"
		if err := os.MkdirAll(modules, 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-fallow-argument-mismatch", "-J", modules)
	}
	once, _ := compiled.LoadOrStore(target, sync.OnceValues(func() ([]byte, error) {
		return exec.Command(compiler, args...).CombinedOutput()
	}))
	if out, err := once.(func() ([]byte, error))(); err != nil {
		t.Fatalf("%s %s: %v\n%s", compiler, strings.Join(args, " "), err, out)
	}
	return target
}

// ran is what a command left.
type ran struct {
	stdout, stderr string
	code           int
}

// exactly compares figures on the clock of onClock: a nanosecond more or less in a run would show.
var exactly = cmpopts.EquateApprox(0, 1e-9)

// run runs a command with env added to a plain environment.
func run(t *testing.T, env []string, name string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Env = append(plainEnvironment(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	finished := start(t, cmd)
	err := cmd.Wait()
	finished()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%s: %v", name, err)
	}
	noFinding(t, stderr.String())
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// plainEnvironment keeps hwloc, which MPIs use, from opening the machine's OpenCL: Mesa's ends programs with
// AddressSanitizer.
func plainEnvironment() []string {
	plain := []string{"HWLOC_COMPONENTS=-opencl", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C", "TMPDIR=" + os.TempDir()}
	if before != "" {
		return append(plain, sanitizerOptions...)
	}
	return plain
}

// byHand is the environment of a program that records into a file.
func byHand(file string) []string {
	return []string{"LD_PRELOAD=" + before + library, "JOBEFF_RECORD=" + file}
}

// onClock is the same on a clock that only the program's sleeps move (test/apps/virtualclock.c), for
// programs of this compiler; "gcc" is for those without MPI.
func onClock(t *testing.T, cc, file string) []string {
	t.Helper()
	flags := []string{"-shared", "-fPIC", "-pthread"}
	if cc == "gcc" {
		flags = append(flags, "-DALONE")
	}
	return []string{"LD_PRELOAD=" + clocked + ":" + compile(t, cc, "virtualclock.c", flags...), "JOBEFF_RECORD=" + file, quietThreads}
}

// mpirun runs n ranks of a program; the ranks alone get env.
func mpirun(t *testing.T, f family, env []string, n int, program string, args ...string) ran {
	t.Helper()
	command := append(f.launcher(t), "-n", fmt.Sprint(n), "env")
	command = append(append(append(command, env...), program), args...)
	return run(t, nil, command[0], command[1:]...)
}

// mustRun fails the test where the command does not end with 0.
func mustRun(t *testing.T, r ran) ran {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
	}
	return r
}

// readSlots reads all slots of a record.
func readSlots(t *testing.T, file string) []record.Slot {
	t.Helper()
	f, closer, err := record.Open(file, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var slots []record.Slot
	if err := f.Each(func(s *record.Slot) error {
		slots = append(slots, *s)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return slots
}

// readHead reads the head of a record.
func readHead(t *testing.T, file string) record.Head {
	t.Helper()
	f, closer, err := record.Open(file, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	return f.Head
}
