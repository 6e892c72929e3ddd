package test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackageRemoved removes the package on a node under a running job. The job and the next
// one end and write as they would without jobeff.
func TestPackageRemoved(t *testing.T) {
	debs, _ := filepath.Glob("../build/jobeff_*.deb")
	t.Cleanup(func() { site.must(t, "", "install", debs[0]) })
	program := rounds(t, site, openmpi)
	script := fmt.Sprintf(`srun --mpi=pmix sh -c '%[1]s 400 20; /bin/true'
echo "srun $?"
/bin/true
srun --mpi=pmix %[1]s 5 1
echo "srun $?"
exit 7`, program)
	id := site.submit(t, "bob", script, "-n2", "-w", "n1", "-t5")
	site.waitRunning(t, id)
	until(t, "the ranks of job "+id, func() bool { return strings.Contains(site.output(t, "bob", id), "size 2") })
	site.exec(t, "n1", "dpkg", "-r", "--no-triggers", "jobeff")
	if !site.inState(t, id, "RUNNING") {
		t.Fatal("the job had ended before the package was gone")
	}
	site.wait(t, id)
	next := site.run(t, "bob", script, "-n2", "-w", "n1", "-t5")
	const want = "size 2\nsrun 0\nsize 2\nsrun 0\n"
	for _, id := range []string{id, next} {
		if out := site.output(t, "bob", id); out != want {
			t.Errorf("job %s wrote %q, want %q", id, out, want)
		}
		if j := strings.TrimSpace(site.exec(t, "ctl", "sacct", "-nXP", "-j", id, "-o", "State,ExitCode")); j != "FAILED|7:0" {
			t.Errorf("job %s: %s", id, j)
		}
	}
	if state := strings.TrimSpace(site.exec(t, "ctl", "sinfo", "-hN", "-n", "n1", "-o", "%t")); state != "idle" {
		t.Errorf("the node is %s", state)
	}
}
