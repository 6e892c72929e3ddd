package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestScale: each count runs as often as it should, whatever the order; the table has the runs; a command that was interrupted goes
// on with the runs that are left, and another command is refused.
func TestScale(t *testing.T) {
	makeForRun(t)
	dir := t.TempDir()
	jobeff := onClock(t, dir)
	scale := func(flags ...string) ranWith {
		return ranBy(jobeff, dir, nil, append(append([]string{"scale"}, flags...), "--", "mpirun.mpich", "-n", "{n}", "./prog.mpicc.mpich", "600000", "3", "60000")...)
	}
	r := scale("-n", "4,1,2", "--repeat", "2", "--csv", "runs.csv", "--html", "page.html", "--proposal", "paper.html")
	for _, want := range []string{"Workload prog.mpicc.mpich\n", "Runs       6 runs on 3 core counts, 1 to 4 cores", "Measured, by cores\n", "(compared with runs on 4 cores, as many as job n4-", "Curve of the run times alone"} {
		if r.code != 0 || !strings.Contains(r.out, want) || strings.Contains(r.out, "sbatch") {
			t.Fatalf("no %q: exit %d, %s\n%s", want, r.code, r.err, r.out)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "runs.csv"))
	if err != nil || strings.Count(string(table), "\n") != 7 || strings.Count(string(table), "\n4,") != 2 {
		t.Errorf("%v\n%s", err, table)
	}
	if again := built(t, dir, nil, "curve", "runs.csv"); again.code != 0 || !strings.Contains(again.out, "6 runs on 3 core counts, 1 to 4 cores") {
		t.Errorf("jobeff curve reads of it: %+v", again)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "page.html")); err != nil || !strings.Contains(string(page), "<svg") || strings.Contains(string(page), "sbatch") {
		t.Errorf("a page of %d bytes, %v", len(page), err)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "paper.html")); err != nil || !strings.Contains(string(page), "Ask for 1 core, for ") || !strings.Contains(string(page), "MPICH") {
		t.Errorf("a proposal of %d bytes, %v\n%s", len(page), err, page)
	}
	if table, err := os.ReadFile(filepath.Join(dir, "paper.csv")); err != nil || strings.Count(string(table), "\n") != 4 || !strings.Contains(string(table), "\n1,1,2,600,0,1,1,1,1,") {
		t.Errorf("%v\n%s", err, table)
	}
	into := filepath.Join(dir, "jobeff-scale")
	kept, err := os.Stat(filepath.Join(into, "n1-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(into, "n2-1.json")); err != nil {
		t.Fatal(err)
	}
	if r = scale("-n", "1,2,4", "--repeat", "2"); r.code != 0 || !strings.Contains(r.out, "6 runs on 3 core counts") {
		t.Errorf("what was left: %+v", r)
	}
	now, err := os.Stat(filepath.Join(into, "n1-1.json"))
	if err != nil || !now.ModTime().Equal(kept.ModTime()) {
		t.Errorf("a run was made again: %v", err)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"-n", "1,2", "--", "true", "{n}"}, "jobeff-scale holds runs of another command", 1},
		{[]string{"-n", "1,2", "--", "true"}, "the command has no {n}", 2},
		{[]string{"--", "true", "{n}"}, "-n is missing, which names the core counts", 2},
		{[]string{"-n", "1,two", "--", "true", "{n}"}, `-n "two": core counts are whole numbers`, 2},
		{[]string{"-n", "1", "--repeat", "0", "--", "true", "{n}"}, "--repeat 0: give 1 to", 2},
		{[]string{"-n", "1", "--into", "b", "--", "sh", "-c", "echo no; exit {n}"}, "the run on 1 ended with exit code 1; its output is in b/n1-", 1},
		{[]string{"-n", "1", "--into", "c", "--", "true", "{n}"}, "the run on 1: nothing was measured", 1},
		{[]string{"-n", "1", "--into", "/proc/x", "--", "true", "{n}"}, "name another folder with --into", 1},
		{[]string{"-n", "1", "--csv", "runs.csv", "--", "true", "{n}"}, "runs.csv exists and is not overwritten", 1},
		{[]string{"-n", "1", "--proposal", "runs.html", "--", "true", "{n}"}, "runs.csv exists and is not overwritten", 1},
		{[]string{"-n", "1", "--proposal", "paper", "--", "true", "{n}"}, "--proposal paper: name a FILE.html", 2},
	} {
		if r := built(t, dir, nil, append([]string{"scale"}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
}

// clockIn lays out, in a folder of dir, the clock of virtualclock.c, which takes no real time, and a jobeff whose library has
// it. Of a program that is linked with clock.so, the figures are exact at any load. The clock knows the library by the
// folder's name.
func clockIn(t *testing.T, dir string) (root, folder string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(dir, "jobeff-clock")
	out, err := exec.Command("bash", "-ec", `cd "$1"
make -s build/lib/libjobeff_section.so build/test/libjobeff-clock.so
install -D build/jobeff "$2/bin/jobeff"
install -D build/test/libjobeff-clock.so "$2/lib/jobeff/libjobeff.so"
mpicc.mpich -O1 -shared -fPIC -pthread -o "$2/clock.so" test/apps/virtualclock.c`, "-", root, folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root, folder
}

// onClock compiles a program whose ranks sleep, with this clock.
func onClock(t *testing.T, dir string) (jobeff string) {
	t.Helper()
	root, folder := clockIn(t, dir)
	compileApp(t, dir, "mpicc.mpich", "sleeper.c", "-I"+root+"/preload/include", "-L"+root+"/build/lib", "-ljobeff_section", "-Wl,-rpath,"+root+"/build/lib",
		folder+"/clock.so")
	return folder + "/bin/jobeff"
}

// TestGateOfBuilds: of two builds that take turns the slower one ends with 1, and one against itself with 0.
func TestGateOfBuilds(t *testing.T) {
	makeForRun(t)
	dir := t.TempDir()
	jobeff := onClock(t, dir)
	var base, slow []string
	for i := range 5 {
		for build, ms := range map[*[]string]string{&base: "400000", &slow: "520000"} {
			file := fmt.Sprintf("%s-%d.json", ms, i)
			if r := ranBy(jobeff, dir, nil, "run", "--json", file, "--", "mpirun.mpich", "-n", "2", "./prog.mpicc.mpich", ms, "3", "20000"); r.code != 0 || !strings.Contains(r.err, "jobeff: wrote "+file) {
				t.Fatalf("%+v", r)
			}
			*build = append(*build, file)
		}
	}
	gate := func(args ...[]string) []string {
		return slices.Concat([]string{"compare", "--fail", "5%"}, args[0], []string{"--"}, args[1])
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{gate(base, slow), 1, "The second build is surely slower, by 5 % or more (5 and 5 runs)\n"},
		{gate(base, base), 0, "The second build is not surely worse by 5 % (5 and 5 runs)\n"},
		{gate(slow, base), 0, "not surely worse"},
		{gate(base[:4], slow), 1, "4 runs of a build: at least 5 are needed of each"},
		{slices.Concat([]string{"compare", "--fail", "5%"}, base), 2, "a gate takes the runs of two builds"},
		{slices.Concat([]string{"compare", "--fail", "much"}, base, []string{"--"}, slow), 2, `--fail "much": give a share`},
		{gate(base, []string{"a", "b", "c", "d", "none.json"}), 1, "a: "},
	} {
		if r := built(t, dir, nil, c.args...); r.code != c.code || !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
}
