package preload

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
)

// application is a program of Debian's, or a small one, that runs with and without the
// library and must do the same. All are linked to Open MPI, as Debian's are.
type application struct {
	name    string
	command []string
	files   string         // beside it, of test/
	times   *regexp.Regexp // lines with times: their numbers differ between any two runs
	result  string         // file that it writes, besides what it prints
	call    string         // one that it is known to make
}

var (
	lammpsTimes = regexp.MustCompile(`^(Loop time|Performance|Total wall|(Pair|Neigh|Comm|Output|Modify|Other) +\|)|CPU (use|=)`)
	qeTimes     = regexp.MustCompile(`CPU|WALL|cpu time|starts on|terminated on`)
	// PTRANS prints a CPU line only where the CPU clock, which is coarse, moved.
	hplVerdicts = regexp.MustCompile(`^WALL .*(PASSED|FAILED)|tests (completed|failed)|^Success|\|\|Ax-b`)
	ringTimes   = regexp.MustCompile(`^time for`)
)

func applications(t *testing.T) []application {
	const python = "/usr/bin/python3" // Debian's, with Debian's mpi4py
	return []application{
		{"LAMMPS", []string{"lmp", "-in", "in.melt", "-log", "none"}, "lammps", lammpsTimes, "", "MPI_Allreduce"},
		{"Quantum ESPRESSO", []string{"pw.x", "-in", "si.in"}, "qe", qeTimes, "", "MPI_Allreduce"},
		{"HPL", []string{"hpcc"}, "hpcc", regexp.MustCompile(`^WALL `), "hpccoutf.txt", "MPI_Send"},
		{"OpenMP and MPI", []string{compile(t, openMPI.cc, "hybrid.c", "-fopenmp")}, "", nil, "", "MPI_Allreduce"},
		{"mpi4py hello", []string{python, "-m", "mpi4py.bench", "helloworld"}, "", nil, "", "MPI_Recv"},
		{"mpi4py ring", []string{python, "-m", "mpi4py.bench", "ringtest", "-l", "50"}, "", ringTimes, "", "MPI_Send"},
		{"mpi4py objects", []string{python, filepath.Join(apps, "objects.py")}, "", nil, "", "MPI_Barrier"},
	}
}

// pseudo is the file of quantum-espresso-data that test/qe/si.in wants.
const pseudo = "/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz"

// Real applications print, write and return the same, and are measured.
func TestApplications(t *testing.T) {
	for _, a := range applications(t) {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "record")
			// newer Open MPIs print process numbers where TCP finds an interface that leads nowhere
			quiet := []string{"OMPI_MCA_btl=^tcp"}
			without, with := a.run(t, quiet), a.run(t, append(quiet, byHand(file)...))
			if diff := cmp.Diff(without, with, cmp.AllowUnexported(ran{})); diff != "" {
				t.Errorf("without the library (-) and with it (+):\n%s", diff)
			}
			if without.code != 0 || len(without.stdout) < 20 {
				t.Errorf("it does not run without us: %+v", without)
			}
			slots := readSlots(t, file)
			calls := recorded(slots)
			if calls[a.call].Count+calls[a.call+"_c"].Count == 0 {
				t.Errorf("no %s was recorded", a.call)
			}
			for _, s := range slots {
				if s.Kind == record.KindProcess && (s.Size != 2 || s.Ending != record.EndingFinalize) {
					t.Errorf("size %d, ending %d", s.Size, s.Ending)
				}
			}
		})
	}
}

// run runs it on two ranks in a folder of its own, and returns what it said and wrote but
// for times, its lines sorted: two ranks print in any order.
func (a application) run(t *testing.T, env []string) ran {
	t.Helper()
	folder := t.TempDir()
	// LAMMPS's input is the demo's, made small.
	script := `cd "$1" && case "$2" in "") exit ;; esac && cp "$2"/* . && case "$2" in
		*/qe) zcat ` + pseudo + ` >Si.pz-vbc.UPF ;;
		*/lammps) sed -i 's/^run.*/run 100/; s/ 0 20/ 0 8/g' in.melt ;;
		esac`
	from := ""
	if a.files != "" {
		from = filepath.Join(apps, "..", a.files)
	}
	mustRun(t, run(t, nil, "sh", "-c", script, "sh", folder, from))
	command := append(append([]string{"-C", folder}, openMPI.launcher(t)...), "-n", "2", "env", "OMP_NUM_THREADS=1")
	r := run(t, nil, "env", append(append(command, env...), a.command...)...)
	if a.result != "" {
		b, err := os.ReadFile(filepath.Join(folder, a.result))
		must(t, err)
		r.stdout += string(b)
	}
	r.stdout = a.lasting(r.stdout)
	return r
}

func (a application) lasting(output string) string {
	lines := strings.Split(output, "\n")
	if a.files == "hpcc" { // almost every line of it is a time
		lines = slices.DeleteFunc(lines, func(l string) bool { return !hplVerdicts.MatchString(l) })
	}
	for i, l := range lines {
		if a.times != nil && a.times.MatchString(l) {
			lines[i] = times.ReplaceAllString(l, " N ")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// times are numbers, with the blanks around them. Quantum ESPRESSO writes "11:30: 0" for a
// time of day and "1m 2.34s" for one that may be "59.87s" in the next run. A rate over a time
// that the clock is too coarse for is "inf" or "nan" to HPL.
var times = regexp.MustCompile(`(\s*((: ?|[-+.\d])+([eE][-+]?\d+)?[smh]?|\b(inf|nan)\b)\s*)+`)

func TestTimes(t *testing.T) {
	for line, want := range map[string]string{
		"CPU 100 1 0.00 PASSED 3.200 0.00":     "CPU N PASSED N ",
		"CPU 100 1 0.00 PASSED inf 0.00":       "CPU N PASSED N ",
		"CPU 100 1 0.00 PASSED -nan 0.00":      "CPU N PASSED N ",
		"PWSCF : 59.87s CPU 1m 2.34s WALL":     "PWSCF N CPU N WALL",
		"PWSCF :  1m 9.87s CPU 1h12m WALL":     "PWSCF N CPU N WALL",
		"terminated on: 11:30: 0  21Nov2026":   "terminated on N Nov N ",
		"Pair    | 0.01 | 0.01 |   1.2 | 84.4": "Pair    | N | N | N | N ",
	} {
		if got := times.ReplaceAllString(line, " N "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// valgrind finds no error of ours.
func TestValgrind(t *testing.T) {
	for _, f := range families {
		t.Run(strings.ReplaceAll(f.name, " ", ""), func(t *testing.T) {
			program := compile(t, f.cc, "ending.c")
			var summary [2]string
			for i, env := range [][]string{nil, byHand(filepath.Join(t.TempDir(), "record"))} {
				log := filepath.Join(t.TempDir(), "log")
				mustRun(t, run(t, env, "valgrind", "--log-file="+log, program, "finalize"))
				b, err := os.ReadFile(log)
				must(t, err)
				_, summary[i], _ = strings.Cut(string(b), "ERROR SUMMARY: ")
				summary[i], _, _ = strings.Cut(summary[i], "(")
			}
			if summary[0] == "" || summary[0] != summary[1] {
				t.Errorf("errors without the library: %s, with it: %s", summary[0], summary[1])
			}
		})
	}
}

// AddressSanitizer of gcc wants to be the first library of all, unless ours tells it not to. A
// program is measured, and its error found, as without us; ASAN_OPTIONS of the user's stay theirs.
func TestAddressSanitizer(t *testing.T) {
	const overflow = "AddressSanitizer: heap-buffer-overflow"
	cases := []struct {
		name    string
		flags   []string
		options string
		args    []string
		code    int
	}{
		{"sound", nil, "detect_leaks=0", nil, 0},
		{"overflow", nil, "detect_leaks=0", []string{"overflow"}, 1},
		{"overflow with a code of the user's", nil, "detect_leaks=0:exitcode=9", []string{"overflow"}, 9},
		{"static runtime", []string{"-static-libasan"}, "detect_leaks=0", []string{"overflow"}, 1},
		{"static runtime, defaults of its own", []string{"-static-libasan", "-DDEFAULTS"}, "detect_leaks=0", []string{"overflow"}, 77},
	}
	eachFamily(t, func(t *testing.T, f family) {
		for _, c := range cases {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				program := compile(t, f.cc, "overflow.c", append([]string{"-fsanitize=address"}, c.flags...)...)
				file := filepath.Join(t.TempDir(), "record")
				// Open MPI's hooks of mmap and the like do not get on with the sanitizer's
				env := []string{"OMPI_MCA_memory=^patcher", "ASAN_OPTIONS=" + c.options}
				without := run(t, env, program, c.args...)
				with := run(t, append(byHand(file), env...), program, c.args...)
				if with.code != c.code || with.code != without.code || with.stdout != without.stdout {
					t.Errorf("without the library %+v, with it %+v", without, with)
				}
				if found := strings.Contains(with.stderr, overflow); found != (c.args != nil) {
					t.Errorf("overflow found: %v\n%s", found, with.stderr)
				}
				if slots := readSlots(t, file); len(slots) != 1 {
					t.Errorf("%d slots", len(slots))
				}
			})
		}
	})
}

// What doc/MEASURED.md names: a shared runtime takes a program's own defaults in place of ours.
func TestAddressSanitizerWithDefaultsOfItsOwn(t *testing.T) {
	program := compile(t, mpich.cc, "overflow.c", "-fsanitize=address", "-DDEFAULTS")
	file := filepath.Join(t.TempDir(), "record")
	if r := run(t, byHand(file), program); r.code != 77 || !strings.Contains(r.stderr, "does not come first") {
		t.Errorf("%+v", r)
	}
	options := "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0"
	mustRun(t, run(t, append(byHand(file), options), program))
	if slots := readSlots(t, file); len(slots) != 1 {
		t.Errorf("%d slots", len(slots))
	}
}

// In a process of another libc, of another width or of another user nothing is printed,
// but for the line that ld.so itself has for a 32-bit process and any 64-bit preload;
// the plugin's LD_PRELOAD avoids it (spank/body, TestProcessesOfEveryClass).
func TestForeignProcesses(t *testing.T) {
	source := filepath.Join(t.TempDir(), "hello.c")
	must(t, os.WriteFile(source, []byte("#include <stdio.h>\nint main(void) { puts(\"hello\"); return 3; }\n"), 0o600))
	build := func(name string, compiler ...string) string {
		target := filepath.Join(bin, name)
		args := append(compiler[1:], "-o", target, source)
		if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return target
	}
	cases := []struct {
		name, program, stderr string
	}{
		{"musl", build("musl", "musl-gcc"), ""},
		{"static", build("static", "gcc", "-static"), ""},
		{"32-bit", build("narrow", "gcc", "-m32"), fmt.Sprintf("ERROR: ld.so: object '%s' from LD_PRELOAD cannot be preloaded (wrong ELF class: ELFCLASS64): ignored.\n", library)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := ran{"hello\n", c.stderr, 3}
			if got := run(t, byHand(filepath.Join(t.TempDir(), "record")), c.program); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	t.Run("setuid", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can make a setuid program")
		}
		program := build("setuid", "gcc")
		must(t, os.Chmod(program, 0o4755))
		env := byHand(filepath.Join(t.TempDir(), "record"))
		got := run(t, nil, "setpriv", append([]string{"--reuid", "65534", "--clear-groups", "env"}, append(env, program)...)...)
		if want := (ran{"hello\n", "", 3}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
