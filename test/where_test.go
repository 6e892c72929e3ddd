package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhereItWorks brings up a small cluster of each kind in the table of doc/MEASURED.md. The
// shared cluster has PrologFlags=Alloc and cgroup v1.
func TestWhereItWorks(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name string
		env  []string // of cluster.sh
		job  string   // what a job begins with
	}{
		{name: "PrologFlags none", env: []string{"CLUSTER_PROLOGFLAGS=none"}},
		{name: "PrologFlags Contain", env: []string{"CLUSTER_PROLOGFLAGS=Contain"}},
		// PMIx 5's shared memory does not work in it, also without us
		{name: "job_container tmpfs", env: []string{"CLUSTER_PROLOGFLAGS=Contain", "CLUSTER_CONTAINER=tmpfs"}, job: "export PMIX_MCA_gds=hash\n"},
		{name: "no cgroups", env: []string{"CLUSTER_CGROUP=none"}},
		{name: "configless", env: []string{"CLUSTER_CONFIGLESS=1"}},
	}
	for i, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			c, err := newCluster("-"+string(rune('a'+i)), 2, kind.env...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.down()
			defer func() {
				if t.Failed() {
					c.keepLogs()
				}
			}()
			for _, s := range starters {
				if s.slurm && !s.f.bySlurm() {
					continue
				}
				id := c.run(t, "alice", kind.job+s.ranks(t, 4)+rounds(t, c, s.f)+" 20 5", "-N2", "--ntasks-per-node=2")
				e := wantExecutions(t, c.jobeff(t, "alice", id), 1)[0]
				wantWhole(t, e, s.f, 4, 2)
				wantCalls(t, e.Figures, "MPI_Allreduce", 80)
			}
		})
	}
}

// image makes a container's root with a program, without jobeff. libdl.so.2 is in every image of
// glibc's, but nothing in this one needs it.
func image(t *testing.T, program string) string {
	t.Helper()
	root := makeRoot(t, "image", "/bin/sh", program)
	script := `cd "$0" && mkdir -p dev etc home proc root run sys usr/lib var/tmp && touch etc/passwd etc/group etc/resolv.conf &&
		for f in /lib*/*/libdl.so.2; do cp --parents "$f" .; done`
	if out, err := exec.Command("sh", "-c", script, root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root
}

// TestApptainer runs ranks in a container, as an ordinary user. Where the image holds no library,
// nothing is printed, and jobeff tells why nothing was measured. With the site's settings that
// doc/ADMIN.md shows, the same job is measured.
func TestApptainer(t *testing.T) {
	if _, err := exec.LookPath("apptainer"); err != nil {
		t.Skip("no apptainer: Debian 12 and 13 have none")
	}
	program := rounds(t, site, usual)
	script := "srun() { command srun $PROLOG \"$@\"; }\n" + srun(t, usual) + "apptainer exec " + image(t, program) + " /bin/" + filepath.Base(program) + " 20 5"

	id := site.run(t, "alice", script, "-N2", "-n4")
	wantNoData(t, site.jobeff(t, "alice", id), "step 0 starts a container")
	if out := site.output(t, "alice", id); out != "size 4\n" {
		t.Errorf("not measured: output %q", out)
	}

	prolog := filepath.Join(site.home("alice"), "task-prolog")
	settings := shown(t, "apptainer.conf")
	if err := os.WriteFile(prolog, []byte("#!/bin/sh\n"+shown(t, "TaskProlog")), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		site.must(t, settings, "exec", node, "sh", "-c", "cp /etc/apptainer/apptainer.conf /etc/apptainer/kept && cat >>/etc/apptainer/apptainer.conf")
		t.Cleanup(func() { site.exec(t, node, "mv", "/etc/apptainer/kept", "/etc/apptainer/apptainer.conf") })
	}
	id = site.run(t, "alice", script, "-N2", "-n4", "--export=ALL,PROLOG=--task-prolog="+prolog)
	e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
	wantWhole(t, e, usual, 4, 2)
	wantCalls(t, e.Figures, "MPI_Allreduce", 80)
	if out := site.output(t, "alice", id); out != "size 4\n" {
		t.Errorf("measured: output %q", out)
	}
}

// shown is the indented block of doc/ADMIN.md that stands below the line which names a file last.
func shown(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../doc/ADMIN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "`"+file+"`:\n\n")
	if !found {
		t.Fatalf("doc/ADMIN.md shows no %s", file)
	}
	block, _, _ := strings.Cut(rest, "\n\n")
	return strings.ReplaceAll("\n"+block+"\n", "\n    ", "\n")[1:]
}
