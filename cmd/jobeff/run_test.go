package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/client"
	"jobeff/ingest/node"
	"jobeff/test/trial"
)

// ranWith is what a command of the built jobeff said.
type ranWith struct {
	out, err string
	code     int
}

// built runs the jobeff that make builds, which finds its library, in a folder.
func built(t *testing.T, dir string, env []string, args ...string) (r ranWith) {
	t.Helper()
	program, err := filepath.Abs("../../build/jobeff")
	if err != nil {
		t.Fatal(err)
	}
	return ranBy(program, dir, env, args...)
}

func ranBy(program, dir string, env []string, args ...string) ranWith {
	cmd := exec.Command(program, args...)
	var out, errOut bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errOut
	cmd.Env = append(append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1"), env...)
	cmd.Run()
	return ranWith{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

func makeForRun(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds and runs MPI programs")
	}
	if out, err := exec.Command("make", "-C", "../..", "build/jobeff", "build/lib/libjobeff.so").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
}

// compileApp compiles a program of test/apps into a folder.
func compileApp(t *testing.T, dir, compiler, source string, flags ...string) {
	t.Helper()
	source, err := filepath.Abs("../../test/apps/" + source)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append([]string{"-o", "prog." + compiler, source}, flags...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
}

// TestRun: a program's output and exit code are as without jobeff, and the report tells of its ranks: with each MPI, on standard
// error, or in files of which another jobeff makes a page and a comparison.
func TestRun(t *testing.T) {
	makeForRun(t)
	for _, mpi := range []string{"openmpi", "mpich"} {
		t.Run(mpi, func(t *testing.T) {
			dir := t.TempDir()
			compileApp(t, dir, "mpicc."+mpi, "rounds.c")
			command := []string{"mpirun." + mpi, "-n", "2", "./prog.mpicc." + mpi, "20", "5"}
			r := built(t, dir, nil, append([]string{"run", "--"}, command...)...)
			if r.code != 0 || r.out != "size 2\n" || !strings.Contains(r.err, "Size       2 ranks on 1 node\n") {
				t.Fatalf("exit %d, %q\n%s", r.code, r.out, r.err)
			}
			for _, file := range []string{"a.json", "b.json"} {
				r = built(t, dir, nil, append([]string{"run", "--json", file, "--html", file + ".html", "--talp", file + ".talp", "--record", file + ".%h", "--"}, command...)...)
				if r.code != 0 || r.out != "size 2\n" || strings.Count(r.err, "jobeff: wrote "+file) != 3 || strings.Count(r.err, "\n") != 3 {
					t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
				}
			}
			var d struct {
				Ranks    int
				Coverage float64
				Windows  json.RawMessage
				Calls    []struct {
					Name  string
					Count int
				}
			}
			text, err := os.ReadFile(dir + "/a.json")
			if err == nil {
				err = json.Unmarshal(text, &d)
			}
			if err != nil || d.Ranks != 2 || d.Coverage != 1 || len(d.Windows) < 10 {
				t.Errorf("%+v, %v", d, err)
			}
			found := false
			for _, c := range d.Calls {
				found = found || c.Name == "MPI_Allreduce" && c.Count == 40
			}
			if !found {
				t.Errorf("calls: %+v", d.Calls)
			}
			if r = built(t, dir, nil, "report", "./a.json", "--html", "again.html"); r.code != 0 {
				t.Errorf("report: %+v", r)
			}
			first, _ := os.ReadFile(dir + "/a.json.html")
			again, _ := os.ReadFile(dir + "/again.html")
			if len(first) == 0 || strings.Count(string(again), "<tr") != strings.Count(string(first), "<tr") {
				t.Errorf("the page made later has %d rows, and that of the run %d", strings.Count(string(again), "<tr"), strings.Count(string(first), "<tr"))
			}
			if r = built(t, dir, nil, "compare", "a.json", "b.json"); r.code != 0 || !strings.Contains(r.out, "Before     job a.json of ") || !strings.Contains(r.out, "Where the difference comes from") {
				t.Errorf("compare: %+v", r)
			}
		})
	}
}

// TestRunEnds: exit codes and signals are those of the program, and what was not measured has its reason.
func TestRunEnds(t *testing.T) {
	makeForRun(t)
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken.html")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	alone, spaced := filepath.Join(t.TempDir(), "jobeff"), filepath.Join(t.TempDir(), "my tools/jobeff")
	for _, to := range []string{alone, spaced, filepath.Join(filepath.Dir(spaced), "lib/libjobeff.so")} {
		if out, err := exec.Command("install", "-D", "../../build/jobeff", to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	const nothing = "jobeff: nothing was measured: "
	for _, c := range []struct {
		name    string
		env     []string
		args    []string
		want    ranWith
		program string
	}{
		{"ends well", nil, []string{"--", "sh", "-c", "echo out; echo err >&2"}, ranWith{"out\n", "err\n" + nothing + "no process called MPI_Init", 0}, ""},
		{"fails", nil, []string{"sh", "-c", "exit 7"}, ranWith{"", nothing + "the command ended with exit code 7 before", 7}, ""},
		{"is killed", nil, []string{"--", "sh", "-c", "kill -9 $$"}, ranWith{"", nothing, 137}, ""},
		{"leaves a pipe for a record", nil, []string{"--", "sh", "-c", "mkfifo ${JOBEFF_RECORD%.*}.x"}, ranWith{"", "record.x: not a regular file", 0}, ""},
		{"leaves a link for one", nil, []string{"--", "sh", "-c", "ln -s /dev/zero ${JOBEFF_RECORD%.*}.x; exit 4"}, ranWith{"", "symbolic links", 4}, ""},
		{"removes the folder", nil, []string{"--", "sh", "-c", "rm -r ${JOBEFF_RECORD%/*}"}, ranWith{"", nothing, 0}, ""},
		{"in a measured job", []string{"JOBEFF_RECORD_FILE=/nowhere", "SLURM_JOB_ID=12"}, []string{"--", "true"}, ranWith{"", "is in the job's record: jobeff 12\n", 0}, ""},
		{"no command", nil, nil, ranWith{"", "jobeff run takes a command: jobeff run -- mpirun", 2}, ""},
		{"no such program", nil, []string{"--", "./none"}, ranWith{"", "name a program, as mpirun -n 4", 1}, ""},
		{"a file that exists", nil, []string{"--html", taken, "--", "touch", "ran"}, ranWith{"", "taken.html exists and is not overwritten", 1}, ""},
		{"no folder", nil, []string{"--json", "none/x.json", "--", "touch", "ran"}, ranWith{"", "there is no folder none: make it", 1}, ""},
		{"no temporary folder", []string{"TMPDIR=/nowhere"}, []string{"--", "touch", "ran"}, ranWith{"", "set TMPDIR to a folder", 1}, ""},
		{"no library", nil, []string{"--", "touch", "ran"}, ranWith{"", "libjobeff.so is not there", 1}, alone},
		{"a folder with a space", nil, []string{"--", "touch", "ran"}, ranWith{"", "libjobeff.so: no library is loaded from a path with a space", 1}, spaced},
		{"a flag that is none", nil, []string{"--csv", "x", "--", "touch", "ran"}, ranWith{"", "see jobeff run --help", 2}, ""},
	} {
		var r ranWith
		if c.program == "" {
			r = built(t, dir, c.env, append([]string{"run"}, c.args...)...)
		} else {
			out, err := exec.Command(c.program, append([]string{"run"}, c.args...)...).CombinedOutput()
			r.err, r.code = string(out), 0
			if ended, is := err.(*exec.ExitError); is {
				r.code = ended.ExitCode()
			}
		}
		if r.code != c.want.code || r.out != c.want.out || !strings.Contains(r.err, c.want.err) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a wrong command line ran the program")
	}
	for file, text := range map[string]string{"none.json": "", "empty.json": "{}", "list.json": "[1]", "text.json": "\x1b[31m", "null.json": `{"stored":null}`} {
		path := filepath.Join(dir, file)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{"report", path, "--html", "x.html"}, {"compare", path, path}} {
			if r := built(t, dir, nil, args...); r.code == 0 || !strings.Contains(r.err, file) || strings.Contains(r.err, "\x1b") {
				t.Errorf("%q: %+v", args, r)
			}
		}
	}
}

// TestRunInterrupted: a signal for jobeff reaches the program, whose ranks are reported on as far as they came.
func TestRunInterrupted(t *testing.T) {
	makeForRun(t)
	dir := t.TempDir()
	compileApp(t, dir, "mpicc.mpich", "rounds.c")
	program, _ := filepath.Abs("../../build/jobeff")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(program, "run", "--record", sig.String()+".%h", "--", "mpirun.mpich", "-n", "2", "./prog.mpicc.mpich", "100000", "20")
		var errOut bytes.Buffer
		cmd.Dir, cmd.Stderr = dir, &errOut
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		trial.Until(t, "two ranks", 300, 100*time.Millisecond, func() bool {
			files, _ := filepath.Glob(filepath.Join(dir, sig.String()+".*"))
			j, _, err := node.ByHand(files)
			return len(files) == 1 && err == nil && len(j.Executions) == 1 && j.Executions[0].Nodes[0].Ranks == 2
		})
		cmd.Process.Signal(sig)
		cmd.Wait()
		if !strings.Contains(errOut.String(), "Size       2 ranks on 1 node\n") || cmd.ProcessState.ExitCode() < 0 {
			t.Errorf("%v: %v\n%s", sig, cmd.ProcessState, errOut.String())
		}
	}
}

// TestForwarding: Open MPI's launcher forwards what the library reads, whatever stands in front of it.
func TestForwarding(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks MPI's launchers")
	}
	const named = "-x LD_PRELOAD -x JOBEFF_RECORD -x JOBEFF_WINDOWS -x JOBEFF "
	for command, want := range map[string]string{
		"mpirun.openmpi -n 2 ./a":               named,
		"timeout 9 env A=1 mpirun.openmpi -n 2": named,
		"mpirun.mpich -n 2 ./a":                 "",
		"./a mpirun.openmpi -n 2":               "",
		"env ./a mpirunner":                     "",
	} {
		if got := strings.Join(forwarding(strings.Fields(command)), " ") + " "; strings.Contains(got, named) != (want != "") {
			t.Errorf("%s: %s", command, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	const windows = "JOBEFF_WINDOWS=" + windowsMiB
	for _, c := range []struct{ before, want []string }{
		{[]string{"A=1"}, []string{"A=1", "LD_PRELOAD=/l/libjobeff.so", "JOBEFF_RECORD=/r", windows, "JOBEFF=on"}},
		{[]string{"LD_PRELOAD=/usr/lib/jobeff/$PLATFORM/libjobeff.so:/own.so other.so", "JOBEFF=off", "JOBEFF_RECORD_FILE=/run/x"},
			[]string{"LD_PRELOAD=/l/libjobeff.so:/own.so:other.so", "JOBEFF_RECORD=/r", windows, "JOBEFF=on"}},
	} {
		if d := cmp.Diff(c.want, environment(c.before, "/l/libjobeff.so", "/r")); d != "" {
			t.Error(d)
		}
	}
}

// TestNoServer: only where a site has configured jobeff is there a support to tell.
func TestNoServer(t *testing.T) {
	config := filepath.Join(t.TempDir(), "jobeff.toml")
	if err := os.WriteFile(config, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	away := &client.UnreachableError{Addr: "unix:/x", Err: os.ErrNotExist}
	for _, c := range []struct {
		uid         int
		config      string
		says, lacks string
	}{
		{1000, config, "tell your support", "jobeff run"},
		{1000, config + ".none", "`jobeff run -- COMMAND` measures a program without a server", "support"},
		{0, config, "systemctl status jobeffd", "jobeff run"},
		{0, config + ".none", "`jobeff run -- COMMAND` measures a program without a server", "support"},
	} {
		if said := unanswered(away, c.uid, c.config); !strings.Contains(said, c.says) || strings.Contains(said, c.lacks) {
			t.Errorf("%d, %s: %s", c.uid, c.config, said)
		}
	}
}
