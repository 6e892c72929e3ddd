package test

import (
	"fmt"
	"strings"
	"testing"
)

// reinstall brings back what a test removed.
func reinstall(t *testing.T) {
	t.Cleanup(func() { site.must(t, "", append([]string{"install"}, packages()...)...) })
}

// TestPackageRemoved removes the package on a node under a running job. The job and the next
// one end and write as they would without jobeff.
func TestPackageRemoved(t *testing.T) {
	reinstall(t)
	program := rounds(t, site, usual)
	script := fmt.Sprintf(`%[2]ssh -c '%[1]s 400 20; /bin/true'
echo "srun $?"
/bin/true
%[2]s%[1]s 5 1
echo "srun $?"
exit 7`, program, srun(t, usual))
	id := site.submit(t, "bob", script, "-n2", "-w", "n1", "-t5")
	site.waitRunning(t, id)
	until(t, "the ranks of job "+id, func() bool { return strings.Contains(site.output(t, "bob", id), "size 2") })
	site.exec(t, "n1", "dpkg", "-r", "--no-triggers", "jobeff-node")
	if !site.inState(t, id, "RUNNING") {
		t.Fatal("the job had ended before the package was gone")
	}
	site.wait(t, id)
	next := site.run(t, "bob", script, "-n2", "-w", "n1", "-t5")
	const want = "size 2\nsrun 0\nsize 2\nsrun 0\n"
	for _, id := range []string{id, next} {
		if out := srunsOwn.ReplaceAllString(site.output(t, "bob", id), ""); out != want {
			t.Errorf("job %s wrote %q, want %q", id, out, want)
		}
		if j := site.sacct(t, id, "State,ExitCode"); j != "FAILED|7:0" {
			t.Errorf("job %s: %s", id, j)
		}
	}
	site.wantInService(t, "n1")
}

// TestLoginNodeWithout removes the package where jobs are submitted. Slurm's configuration there
// still names it, as where nodes share /etc/slurm. Nobody sees a line, but --jobeff is gone.
func TestLoginNodeWithout(t *testing.T) {
	reinstall(t)
	srun := []string{"as", "bob", "srun", "-n1", "-t1"}
	const option = "--jobeff=off"
	if r := site.try(t, "", append(srun, option, "echo", "works")...); r.code != 0 || r.stdout != "works\n" || r.stderr != "" {
		t.Fatalf("before: %+v", r)
	}
	site.exec(t, "ctl", "dpkg", "-r", "--no-triggers", "jobeff-node")
	if out := site.exec(t, "ctl", "cat", "/etc/slurm/plugstack.conf.d/zz-jobeff.conf"); !strings.Contains(out, "include /usr/lib/jobeff/") {
		t.Fatalf("Slurm's configuration does not name the package: %q", out)
	}
	if r := site.try(t, "", append(srun, "echo", "works")...); r.code != 0 || r.stdout != "works\n" || r.stderr != "" {
		t.Errorf("afterwards: %+v", r)
	}
	if r := site.try(t, "", append(srun, option, "true")...); r.code == 0 || !strings.Contains(r.stderr, "unrecognized option '"+option+"'") {
		t.Errorf("srun %s: %+v", option, r)
	}
}
