package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// older is a version of a day before this test: its records have no OpenMP, its database has no
// overhead curves.
const older = "286e54e"

// buildOlder makes the packages of that version.
func buildOlder(t *testing.T) []string {
	t.Helper()
	if exec.Command("git", "-C", "..", "cat-file", "-e", older+"^{commit}").Run() != nil {
		t.Skipf("this clone has no commit %s", older)
	}
	dir := filepath.Join(t.TempDir(), "older")
	command := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	command("git", "-C", "..", "worktree", "add", "--detach", dir, older)
	t.Cleanup(func() { command("git", "-C", "..", "worktree", "remove", "--force", dir) })
	command("make", "-C", dir, "build", "packages")
	debs, err := filepath.Glob(filepath.Join(dir, "build", "jobeff*_*.deb"))
	if err != nil || len(debs) != 3 {
		t.Fatalf("%v %v", debs, err)
	}
	return debs
}

// TestUpgradeFromOlder installs the new packages over older ones, on every node, under a running
// job. Nothing that the older ones measured or kept is lost, and there is no way back.
func TestUpgradeFromOlder(t *testing.T) {
	if os.Getenv("JOBEFF_FAULTS_JOBS") == "" {
		t.Skip("it builds an older version: make faults does")
	}
	debs := buildOlder(t)
	c, err := newClusterWith(debs, "-older", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.down)
	script := srun(t, usual) + rounds(t, c, usual)
	before := c.run(t, "bob", script+" 5 1", "-N2", "-n2", "-t5")
	want := c.jobeff(t, "bob", before)
	during := c.submit(t, "bob", script+" 1000 20", "-N2", "-n2", "-t5")
	c.waitRunning(t, during)
	until(t, "the ranks of job "+during, func() bool { return strings.Contains(c.output(t, "bob", during), "size 2") })
	c.must(t, "", append([]string{"install"}, packages()...)...)
	if !c.inState(t, during, "RUNNING") {
		t.Fatal("the job had ended before the packages were there")
	}
	c.wait(t, during)
	after := c.run(t, "bob", script+" 5 1", "-N2", "-n2", "-t5")
	for id, rounds := range map[string]uint64{before: 5, during: 1000, after: 5} {
		d := c.jobeff(t, "bob", id)
		wantWhole(t, wantExecutions(t, d, 1)[0], usual, 2, 2)
		wantCalls(t, d.Figures, "MPI_Allreduce", 2*rounds)
		if out := c.output(t, "bob", id); out != "size 2\n" {
			t.Errorf("job %s wrote %q", id, out)
		}
	}
	if d := c.jobeff(t, "bob", before); fmt.Sprint(*d.ParallelEfficiency) != fmt.Sprint(*want.ParallelEfficiency) {
		t.Errorf("parallel efficiency %v after the upgrade, %v before it", *d.ParallelEfficiency, *want.ParallelEfficiency)
	}
	if r := c.try(t, "", append([]string{"install"}, debs...)...); r.code == 0 || !strings.Contains(r.stderr, "this one knows") {
		t.Errorf("the older packages over the new ones: %+v", r)
	}
	if d := c.jobeff(t, "bob", after); len(d.Executions) != 1 {
		t.Errorf("%d executions", len(d.Executions))
	}
}
