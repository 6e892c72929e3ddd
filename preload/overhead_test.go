package preload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// overheadRow is a size of jobeff-overhead's JSON: us and percent.
type overheadRow struct {
	Msgsize, Iterations, Repetitions, Pairs, Nodes int
	IterT                                          float64 `json:"iter_t"`
	WorkT                                          float64 `json:"work_t"`
	BaseT                                          float64 `json:"base_t"`
	Overhead                                       float64
	Avail                                          *float64
	AvailLow                                       float64 `json:"avail_low"`
	AvailHigh                                      float64 `json:"avail_high"`
	Refused, Direction, MPI, Time                  string
}

// overheadRows reads the JSON of jobeff-overhead and checks each row's arithmetic.
func overheadRows(t *testing.T, text string) (rows []overheadRow) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	for _, r := range rows {
		if r.Iterations < 5 || r.BaseT <= 0 || r.Repetitions < 1 || math.Abs(r.IterT-r.WorkT-r.Overhead) > 0.0011 {
			t.Errorf("%+v", r)
		}
		avail := 100 * (1 - r.Overhead/r.BaseT)
		rounding := 0.06 + 100*0.001/r.BaseT*(1+math.Abs(r.Overhead/r.BaseT))
		switch {
		case r.Avail == nil && r.Refused == "", r.Avail != nil && math.Abs(*r.Avail-avail) > rounding:
			t.Errorf("%+v: the availability is %.2f", r, avail)
		case (r.Refused != "") != (r.AvailHigh < 0 || r.AvailLow > 100):
			t.Errorf("%+v: refused if it is outside 0 to 100 with its whole interval", r)
		}
	}
	return rows
}

// overheadProgram is jobeff-overhead, as make builds it.
func overheadProgram(t *testing.T) string {
	t.Helper()
	runsMPI(t)
	return built(t, "build/jobeff-overhead")
}

// knee asks the program's own arithmetic.
func knee(t *testing.T, input string) []string {
	t.Helper()
	cmd := exec.Command(compile(t, "gcc", "knee.c", "overhead/figures.c", "-lm"))
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// The example of METRICS 5 with all its steps.
func TestOverheadVector(t *testing.T) {
	const steps = "1.5 1.02 3.992 3.991 3.991 3.993 3.985 3.986 4.002 3.978 4.002 3.975 4.172 5.933 9.465\n"
	for _, c := range []struct {
		name, input string
		want        []string
	}{
		{"one repetition", steps + "9.465 8.608 3.990", []string{"9.465 3.990", "0.857 78.5", "0.857 to 0.857", "78.5 to 78.5", ""}},
		{"the median of three", steps + "5 1 4 5 4 4 5 3 5", []string{"9.465 3.990", "2.000 60.0", "1.000 to 4.000", "0.0 to 75.0", ""}},
		{"within its interval", steps + "5 0.9 4 5 1.1 4", []string{"9.465 3.990", "3.900 2.5", "3.900 to 4.100", "-2.5 to 2.5", ""}},
		{"below 0", steps + "9 4 4 9 4.9 4", []string{"9.465 3.990", "4.100 -2.5", "4.100 to 5.000", "-25.0 to -2.5", "the overhead is larger than the transfer time"}},
		{"above 1", steps + "9 9.2 4", []string{"9.465 3.990", "-0.200 105.0", "-0.200 to -0.200", "105.0 to 105.0", "the overhead is negative: work takes longer without a message"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, knee(t, c.input)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A fake MPI with a known overhead and a known transfer time, on a clock that only these and work
// move. No step of these sizes lies within 2 % of the knee.
func TestOverheadOfAFake(t *testing.T) {
	sources, err := filepath.Glob("overhead/*.c")
	must(t, err)
	flags := append(sources, "lib/ticks.c", "record/make.c", "-DJE_TEST_CLOCK", "-rdynamic", "-ldl", "-lm")
	program := filepath.Join(t.TempDir(), "overhead")
	must(t, os.Link(compile(t, "gcc", "fakeoverhead.c", flags...), program))
	for direction, option := range map[string][]string{"send": nil, "receive": {"--recv"}} {
		t.Run(direction, func(t *testing.T) {
			sizes := []int{8, 64, 512, 2048, 32768, 262144, 1048576, 4194304}
			args := append([]string{"--json", "-m", strings.Trim(strings.ReplaceAll(fmt.Sprint(sizes), " ", ","), "[]")}, option...)
			rows := overheadRows(t, mustRun(t, run(t, nil, program, args...)).stdout)
			if len(rows) != len(sizes) || rows[0].Direction != direction || rows[0].Nodes != 2 || rows[0].MPI != "MPICH, a ?fake?" {
				t.Fatalf("%+v", rows)
			}
			for i, r := range rows {
				overhead, transfer := 10000+sizes[i]/1000, 3000+sizes[i]/5 // ns
				if r.Msgsize != sizes[i] || r.Overhead != float64(overhead)/1e3 || r.BaseT != float64(overhead+transfer)/1e3 || r.Refused != "" {
					t.Errorf("want %d and %d ns, got %+v", overhead, overhead+transfer, r)
				}
			}
		})
	}
}

// The handles of the ABI of MPI 5 are taken where the library is one of it, MPICH's elsewhere.
func TestOverheadHandles(t *testing.T) {
	program := overheadProgram(t)
	abi5 := []string{"-shared", "-fPIC", "-DCOMM=0x101", "-DBYTE=0x247"}
	asABI := func(flags ...string) string {
		path := filepath.Join(t.TempDir(), "libmpi_abi.so.1")
		must(t, os.Symlink(compile(t, "gcc", "fakeoverhead.c", flags...), path))
		return path
	}
	for library, code := range map[string]int{
		compile(t, "gcc", "fakeoverhead.c", abi5[:2]...): 0, compile(t, "gcc", "fakeoverhead.c", abi5...): 3,
		asABI(abi5...): 0, asABI(abi5[:2]...): 3,
	} {
		if r := run(t, nil, program, "--mpi", library, "-m", "8", "-i", "10"); r.code != code {
			t.Errorf("%s: exit code %d, want %d\n%s", library, r.code, code, r.stderr)
		}
	}
}

// original is Sandia's loop over steps: the base time after each, and whether it stopped. Steps are
// printed with three decimals: where these leave open whether a step counts, so do the printed base
// times.
func original(steps, printed []float64) (bases []float64, stopped bool) {
	base, sum, n := steps[0], 0.0, 0.0
	for i, iter := range steps {
		if iter > 1.5*base {
			return append(bases, base), true
		}
		counts := iter < 1.02*base
		if math.Abs(iter-1.02*base) < 0.002 {
			counts = math.Abs((sum+iter)/(n+1)-printed[i]) < math.Abs(base-printed[i])
		}
		if counts {
			sum, n = sum+iter, n+1
			base = sum / n
		}
		bases = append(bases, base)
	}
	return bases, false
}

// With the original's thresholds, the same steps give the base times that the original gives.
func TestOverheadAsTheOriginal(t *testing.T) {
	program := overheadProgram(t)
	eachFamily(t, func(t *testing.T, f family) {
		r := mustRun(t, mpirun(t, f, nil, 2, program, "--verbose", "-i", "20", "--bthresh", "1.02", "-m", "65536,262144"))
		var steps, bases []float64
		repetitions, works := 0, 0
		check := func() {
			want, stopped := original(steps, bases)
			for i := range want {
				if len(want) != len(bases) || math.Abs(want[i]-bases[i]) > 0.002 {
					t.Fatalf("steps %v: base times %v, the original's are %v", steps, bases, want)
				}
			}
			if stopped {
				repetitions++
				steps, bases = nil, nil
			}
		}
		for line := range strings.Lines(r.stdout) {
			words := strings.Fields(line)
			if len(words) != 3 || !strings.Contains(words[1], ".") {
				continue
			}
			iter, err1 := strconv.ParseFloat(words[1], 64)
			base, err2 := strconv.ParseFloat(words[2], 64)
			must(t, err1)
			must(t, err2)
			steps, bases, works = append(steps, iter), append(bases, base), works+1
			if base > 0 && iter > 1.5*base {
				check()
			}
		}
		if repetitions < 2 || works < 4 {
			t.Errorf("%d repetitions with %d steps in\n%s", repetitions, works, r.stdout)
		}
	})
}

// Both MPIs, with one pair and, where there are CPUs for all ranks, with several at once.
func TestOverheadOfRealMPIs(t *testing.T) {
	program := overheadProgram(t)
	eachFamily(t, func(t *testing.T, f family) {
		for _, args := range [][]string{{"2"}, {"4"}, {"4", "--pairs", "all"}, {"2", "--recv"}} {
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				n, _ := strconv.Atoi(args[0])
				n = min(n, max(runtime.NumCPU()/2*2, 2))
				all := append([]string{"--json", "-i", "20", "-m", "8,65536"}, args[1:]...)
				rows := overheadRows(t, mustRun(t, mpirun(t, f, nil, n, program, all...)).stdout)
				if len(rows) != 2 || rows[0].Msgsize != 8 || rows[1].Msgsize != 65536 || rows[0].Nodes != 1 || !strings.HasPrefix(rows[0].MPI, f.name) {
					t.Fatalf("%+v", rows)
				}
				if want := map[bool]int{false: 1, true: n / 2}[len(args) == 3]; rows[0].Pairs != want {
					t.Errorf("%d pairs, want %d", rows[0].Pairs, want)
				}
			})
		}
	})
}

// The ABI of MPI 5 has handles of its own.
func TestOverheadOfTheABI(t *testing.T) {
	program := overheadProgram(t)
	for _, a := range abis {
		t.Run(a.name, func(t *testing.T) {
			library := filepath.Join(t.TempDir(), "libmpi_abi.so.1")
			link(t, a.library, library)
			rows := overheadRows(t, mustRun(t, mpirun(t, family{launch: a.launch}, nil, 2, program, "--json", "-m", "8,65536", "--mpi", library)).stdout)
			if len(rows) != 2 || rows[1].Msgsize != 65536 || rows[1].BaseT <= 0 {
				t.Errorf("%+v", rows)
			}
		})
	}
}

// Under libjobeff.so it measures the MPI itself, and its table has the original's columns.
func TestOverheadTable(t *testing.T) {
	program := overheadProgram(t)
	eachFamily(t, func(t *testing.T, f family) {
		r := mustRun(t, mpirun(t, f, byHand(t.TempDir()+"/record"), 2, program, "-m", "8", "-i", "20"))
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		if len(lines) != 2 || strings.Join(strings.Fields(lines[0]), " ") != "msgsize iterations iter_t work_t overhead base_t avail(%)" ||
			len(strings.Fields(lines[1])) != 7 || !strings.HasPrefix(strings.Join(strings.Fields(lines[1]), " "), "8 20 ") {
			t.Error(r.stdout)
		}
		if r := mustRun(t, mpirun(t, f, nil, 2, program, "-m", "8", "-i", "20", "-n")); strings.Contains(r.stdout, "msgsize") {
			t.Error(r.stdout)
		}
	})
}

// What cannot be measured is said on one line, and the exit code is not 0.
func TestOverheadRefuses(t *testing.T) {
	program := overheadProgram(t)
	alone := func(args ...string) func(*testing.T) ran {
		return func(t *testing.T) ran { return run(t, nil, program, args...) }
	}
	for _, c := range []struct {
		name, says string
		run        func(*testing.T) ran
	}{
		{"odd ranks", "needs pairs of ranks, and was started with 3", func(t *testing.T) ran { return mpirun(t, mpich, nil, 3, program) }},
		{"no launcher", "needs pairs of ranks, and was started with 1", alone()},
		{"no MPI", "--mpi: /none.so", alone("--mpi", "/none.so")},
		{"no MPI's library", "has no PMPI_Init", alone("--mpi", "libm.so.6")},
		{"size 0", `--msgsize is a whole number from 1 to 2147483647, not "0"`, alone("-m", "8,0")},
		{"no size", `not ""`, alone("-m", "8,")},
		{"iterations", `--iterations is a whole number`, alone("-i", "1e3")},
		{"threshold", `--thresh is a factor above 1, at most 100, not "0.9"`, alone("-t", "0.9")},
		{"thresholds", `--bthresh must be below --thresh`, alone("-b", "2")},
		{"pairs", `--pairs is one or all`, alone("-p", "two")},
		{"unknown", `see --help`, alone("--no-such-option")},
		{"argument", `it takes options only, not "8"`, alone("8")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.run(t)
			if r.code == 0 || r.stdout != "" || strings.Count(r.stderr, "jobeff-overhead: ") != 1 || !strings.Contains(r.stderr, c.says) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want one line with %q", r.code, r.stdout, r.stderr, c.says)
			}
		})
	}
}

// fromHydra is what MPICH's launcher itself prints to standard output.
var fromHydra = regexp.MustCompile(`\[mpiexec@[^\n]*\n|\n=====(?s:.*)`)

// interrupted starts a run of all sizes and does something to it once sizes are printed.
func interrupted(t *testing.T, f family, program string, disturb func(launcher *exec.Cmd)) (stdout, stderr string, code int) {
	t.Helper()
	var out, errors bytes.Buffer
	line := append(f.launcher(t), "-n", "2", program, "--json")
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env, cmd.Stderr = plainEnvironment(), &errors
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	finished := start(t, cmd)
	for one := make([]byte, 1); strings.Count(out.String(), "}") < 3; out.Write(one) {
		if _, err := pipe.Read(one); err != nil {
			t.Fatalf("%v after %q", err, out.String())
		}
	}
	disturb(cmd)
	out.ReadFrom(pipe)
	cmd.Wait()
	finished()
	return fromHydra.ReplaceAllString(out.String(), ""), errors.String(), cmd.ProcessState.ExitCode()
}

// Ctrl-C leaves a whole result of the sizes that were measured. From Open MPI 5 on, its launcher
// forwards nothing after Ctrl-C, so the end is missing.
func TestOverheadInterrupted(t *testing.T) {
	program := overheadProgram(t)
	eachFamily(t, func(t *testing.T, f family) {
		stdout, stderr, _ := interrupted(t, f, program, func(launcher *exec.Cmd) { launcher.Process.Signal(syscall.SIGINT) })
		said := strings.Count(stderr, "jobeff-overhead: ")
		if strings.Contains(stdout, "Open MPI v") && !strings.Contains(stdout, "Open MPI v4") && said == 0 {
			stdout, said = stdout+"]", 1
		}
		if rows := overheadRows(t, stdout); len(rows) < 3 || len(rows) > 22 || said != 1 {
			t.Errorf("%d rows, stderr %q", len(rows), stderr)
		}
	})
}

// A rank that dies ends the run, and what was measured is whole.
func TestOverheadOfADeadRank(t *testing.T) {
	program := overheadProgram(t)
	eachFamily(t, func(t *testing.T, f family) {
		stdout, stderr, code := interrupted(t, f, program, func(launcher *exec.Cmd) {
			ranks := descendants(t, launcher.Process.Pid, "jobeff-overhead")
			must(t, syscall.Kill(ranks[len(ranks)-1], syscall.SIGKILL))
		})
		if rows := overheadRows(t, stdout); code == 0 || len(rows) < 3 || strings.Count(stderr, "jobeff-overhead: ended: did another rank die?") != 1 {
			t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
		}
	})
}

// descendants are the processes of a name below one, without those that they started themselves.
func descendants(t *testing.T, pid int, name string) (found []int) {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid=,ppid=,comm=").Output()
	must(t, err)
	below := map[int]bool{pid: true}
	for line := range strings.Lines(string(out)) { // parents come first
		var p, parent int
		var comm string
		if _, err := fmt.Sscan(line, &p, &parent, &comm); err == nil && below[parent] {
			below[p] = true
			if comm == name && !slices.Contains(found, parent) {
				found = append(found, p)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no %s below %d in\n%s", name, pid, out)
	}
	return found
}
