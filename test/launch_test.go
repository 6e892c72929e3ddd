package test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jobeff/report/view"
)

// How MPI programs are started: each way makes one execution with all ranks.

// wantWhole checks an execution of size ranks on nodes nodes that was fully recorded, and the
// identities of its metrics.
func wantWhole(t *testing.T, e view.Execution, f family, size, nodes int) {
	t.Helper()
	if e.Size != size || e.Ranks != size || e.Nodes != nodes || len(e.NodeList) != nodes || e.MPI != f.name {
		t.Errorf("execution of %s: size %d, %d ranks on %d nodes, want %s, %d ranks on %d nodes", e.MPI, e.Size, e.Ranks, e.Nodes, f.name, size, nodes)
	}
	if e.Endings["finalized"] != size || len(e.Endings) != 1 {
		t.Errorf("endings %v, want all %d finalized", e.Endings, size)
	}
	if e.Coverage == nil || *e.Coverage != 1 {
		t.Errorf("coverage %v, want 1", e.Coverage)
	}
	wantIdentities(t, e.Figures)
}

func wantIdentities(t *testing.T, f view.Figures) {
	t.Helper()
	if f.ParallelEfficiency == nil {
		t.Error("no parallel efficiency")
		return
	}
	pe, lb := *f.ParallelEfficiency, *f.LoadBalance
	if pe <= 0 || pe > 1 {
		t.Errorf("parallel efficiency %g is not in (0, 1]", pe)
	}
	if d := math.Abs(pe - lb**f.CommunicationEfficiency); d > 1e-12 {
		t.Errorf("PE and LB x CommE differ by %g", d)
	}
	if d := math.Abs(lb - *f.LoadBalanceIn**f.LoadBalanceOut); d > 1e-12 {
		t.Errorf("LB and LB_in x LB_out differ by %g", d)
	}
}

func wantExecutions(t *testing.T, d *view.Job, n int) []view.Execution {
	t.Helper()
	if len(d.Executions) != n {
		t.Fatalf("%d executions, want %d (no data: %q)", len(d.Executions), n, d.NoData)
	}
	return d.Executions
}

func wantCalls(t *testing.T, f view.Figures, name string, want uint64) {
	t.Helper()
	var got uint64
	for _, c := range f.Calls {
		if c.Name == name {
			got = c.Count
		}
	}
	if got != want {
		t.Errorf("%d calls of %s, want %d", got, name, want)
	}
}

func TestSrun(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		t.Run(f.mpi, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", srun(t, f)+rounds(t, site, f)+" 20 5", "-N2", "-n4")
			d := site.jobeff(t, "alice", id)
			e := wantExecutions(t, d, 1)[0]
			wantWhole(t, e, f, 4, 2)
			wantCalls(t, e.Figures, "MPI_Allreduce", 80)
			wantCalls(t, e.Figures, "MPI_Barrier", 4)
			if d.State != "COMPLETED" || d.User != "alice" || d.Account != "proj" || d.Partition != "main" {
				t.Errorf("state %q, user %q, account %q, partition %q", d.State, d.User, d.Account, d.Partition)
			}
			if out := site.output(t, "alice", id); out != "size 4\n" {
				t.Errorf("the job's output is %q", out)
			}
		})
	}
}

// Both launchers start their remote daemons with srun: some ranks are in the batch step, the
// others in step 0.
func TestOwnLaunchers(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", "timeout 300 "+f.launch+" -n 4 "+rounds(t, site, f)+" 20 5", "-N2", "--ntasks-per-node=2")
			e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
			wantWhole(t, e, f, 4, 2)
			wantCalls(t, e.Figures, "MPI_Allreduce", 80)
			for _, n := range e.NodeList {
				if n.Ranks != 2 {
					t.Errorf("%d ranks on %s, want 2", n.Ranks, n.Node)
				}
			}
		})
	}
}

// TestExactOverNodes: what each rank says it called adds up, whoever starts the ranks of two
// nodes.
func TestExactOverNodes(t *testing.T) {
	t.Parallel()
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", "timeout 300 "+s.ranks(t, 2)+build(t, site, s.f.cc, "counts.c"), "-N2", "-n2")
			e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
			wantWhole(t, e, s.f, 2, 2)
			wantTally(t, e, site.output(t, "alice", id))
		})
	}
}

// TestRunOverNodes: jobeff run measures the ranks of several hosts, each into a record of its own.
func TestRunOverNodes(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			dir := strings.NewReplacer(" ", "-", "/", "-").Replace(t.Name())
			script := fmt.Sprintf("mkdir -p %[1]s && jobeff run --record %[1]s/rec.%%h --json %[1]s/run.json -- timeout 300 %[2]s -n 4 %[3]s 20 5", dir, f.launch, rounds(t, site, f))
			id := site.run(t, "alice", script, "-N2", "-n4", "--ntasks-per-node=2", "--jobeff=off")
			var d view.Job
			if err := json.Unmarshal([]byte(site.as(t, "alice", "cat", dir+"/run.json")), &d); err != nil {
				t.Fatalf("%v\n%s", err, site.output(t, "alice", id))
			}
			if d.Coverage == nil || *d.Coverage != 1 || len(d.Executions) != 1 || d.Executions[0].Size != 4 || len(d.Executions[0].NodeList) != 2 {
				t.Errorf("executions %+v\n%s", d.Executions, site.output(t, "alice", id))
			}
		})
	}
}

func TestFiveExecutions(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf("for i in 1 2 3 4 5; do timeout 300 %s -n 2 %s $i 5; done", f.launch, rounds(t, site, f))
			id := site.run(t, "alice", script, "-N1", "-n2")
			d := site.jobeff(t, "alice", id)
			var counts []uint64
			for _, e := range wantExecutions(t, d, 5) {
				wantWhole(t, e, f, 2, 1)
				for _, c := range e.Calls {
					if c.Name == "MPI_Allreduce" {
						counts = append(counts, c.Count)
					}
				}
			}
			slices.Sort(counts)
			if !slices.Equal(counts, []uint64{2, 4, 6, 8, 10}) {
				t.Errorf("calls of MPI_Allreduce %v, want 2, 4, 6, 8, 10", counts)
			}
			wantIdentities(t, d.Figures)
		})
	}
}

func TestArray(t *testing.T) {
	t.Parallel()
	id := site.run(t, "alice", srun(t, usual)+rounds(t, site, usual)+" $SLURM_ARRAY_TASK_ID 5", "-N1", "-n2", "--array=1-3")
	for task := uint64(1); task <= 3; task++ {
		name := fmt.Sprintf("%s_%d", id, task)
		d := site.jobeff(t, "alice", name)
		if d.ID != name || d.ArrayTaskID == nil || uint64(*d.ArrayTaskID) != task {
			t.Errorf("asked for %s, got %s, task %v", name, d.ID, d.ArrayTaskID)
		}
		e := wantExecutions(t, d, 1)[0]
		wantWhole(t, e, usual, 2, 1)
		wantCalls(t, e.Figures, "MPI_Allreduce", 2*task)
	}
}

func TestHetJob(t *testing.T) {
	t.Parallel()
	app := rounds(t, site, usual)
	script := "#SBATCH -n1 -N1\n#SBATCH hetjob\n#SBATCH -n2 -N1\n" +
		srun(t, usual) + "--het-group=0 " + app + " 3 5\n" + srun(t, usual) + "--het-group=1 " + app + " 4 5\n"
	id := site.run(t, "alice", script)
	for offset, want := range []uint64{3, 8} {
		d := site.jobeff(t, "alice", fmt.Sprintf("%s+%d", id, offset))
		e := wantExecutions(t, d, 1)[0]
		wantWhole(t, e, usual, offset+1, 1)
		wantCalls(t, e.Figures, "MPI_Allreduce", want)
		if d.HetOffset == nil || int(*d.HetOffset) != offset {
			t.Errorf("het offset %v, want %d", d.HetOffset, offset)
		}
	}
}

func TestSalloc(t *testing.T) {
	t.Parallel()
	r := site.try(t, "", "as", "alice", "salloc", "-N2", "-n2", "sh", "-c", srun(t, usual)+rounds(t, site, usual)+" 10 5")
	_, rest, found := strings.Cut(r.stderr, "Granted job allocation ")
	if r.code != 0 || !found || r.stdout != "size 2\n" {
		t.Fatalf("salloc: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	id := strings.Fields(rest)[0]
	site.wait(t, id)
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 2, 2)
}

func TestExportNone(t *testing.T) {
	t.Parallel()
	// Open MPI 5 does not start without HOME, also without us.
	script := "echo own=$OWN\nexport OWN=2\n" + srun(t, usual) + "--export=NONE /usr/bin/env HOME=$HOME " + rounds(t, site, usual) + " 10 5"
	id := strings.TrimSpace(site.must(t, "#!/bin/bash\n"+script, "as", "alice", "env", "OWN=1",
		"sbatch", "--parsable", "--output="+site.outputFile(t, "alice"), "--export=NONE", "-N2", "-n2"))
	site.wait(t, id)
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 2, 2)
	if out := site.output(t, "alice", id); out != "own=\nsize 2\n" {
		t.Errorf("output %q", out)
	}
}

// A step with an LD_PRELOAD of the job's own: the user's libraries stay, in order.
func TestOwnPreload(t *testing.T) {
	t.Parallel()
	var libs []string
	for _, name := range []string{"b", "a"} {
		lib := filepath.Join(site.dir, "home", "own-"+name+".so")
		cc := exec.Command("gcc", "-shared", "-o", lib, "-x", "c", "-")
		cc.Stdin = strings.NewReader("int own_" + name + ";")
		if out, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		libs = append(libs, lib)
	}
	own := strings.Join(libs, ":")
	script := "export LD_PRELOAD=" + own + "\n" + srun(t, usual) + "bash -c 'echo $LD_PRELOAD; exec \"$@\"' - " + rounds(t, site, usual) + " 10 5"
	id := site.run(t, "alice", script, "-n1")
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 1, 1)
	list, _, _ := strings.Cut(site.output(t, "alice", id), "\n")
	if list != "/usr/lib/jobeff/$PLATFORM/libjobeff.so:"+own {
		t.Errorf("LD_PRELOAD in the task is %q, want ours and %q", list, own)
	}
}

// TestRmpi runs R, whose module Rmpi has C functions that are named as MPI's of Fortran.
func TestRmpi(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/lib/R/site-library/Rmpi"); err != nil {
		t.Skipf("no Rmpi to run: %v", err)
	}
	const script = `Rscript -e 'library(Rmpi); for (i in 1:9) mpi.barrier(0); cat("rank", mpi.comm.rank(0), "\n"); mpi.finalize()'`
	id := site.run(t, "alice", srun(t, openmpi)+script, "-N2", "-n2")
	if out := site.output(t, "alice", id); !strings.Contains(out, "rank 0") || !strings.Contains(out, "rank 1") {
		t.Errorf("the job printed %q", out)
	}
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], openmpi, 2, 2)
}

// TestNarrow runs a 32-bit program. Neither srun nor a launcher that forwards LD_PRELOAD prints
// anything, and the 64-bit programs around it are measured.
func TestNarrow(t *testing.T) {
	t.Parallel()
	program := filepath.Join(site.dir, "home", "narrow")
	cc := exec.Command("gcc", "-m32", "-o", program, "-x", "c", "-")
	cc.Stdin = strings.NewReader("int main(void) { return 0; }")
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	script := program + "\nsrun " + program + "\nmpirun.openmpi -np 1 " + program +
		"\n" + srun(t, usual) + "bash -c '\"$0\"; exec \"$@\"' " + program + " " + rounds(t, site, usual) + " 10 5"
	id := site.run(t, "alice", script, "-n1")
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 1, 1)
	if out := srunsOwn.ReplaceAllString(site.output(t, "alice", id), ""); out != "size 1\n" {
		t.Errorf("output %q", out)
	}
}

// TestOverSSH starts the ranks of the second node without Slurm: jobeff does not see them, and
// says so.
func TestOverSSH(t *testing.T) {
	t.Parallel()
	for _, node := range []string{"n1", "n2"} {
		site.exec(t, node, "sh", "-c", "mkdir -p /run/sshd && /usr/sbin/sshd -o UsePAM=no -o StrictModes=no")
	}
	site.as(t, "alice", "sh", "-c", `mkdir -p .ssh && ssh-keygen -q -t ed25519 -N "" -f .ssh/id_ed25519 &&
		cp .ssh/id_ed25519.pub .ssh/authorized_keys && echo StrictHostKeyChecking no >.ssh/config`)
	ssh := "export OMPI_MCA_plm=rsh OMPI_MCA_ras=^slurm\n"
	if out, _ := exec.Command("mpirun.openmpi", "--version").Output(); !strings.Contains(string(out), ") 4.") {
		ssh = "export PRTE_MCA_plm=ssh PRTE_MCA_ras=^slurm\n" // from 5 on
	}
	id := site.run(t, "alice", ssh+"timeout 300 mpirun.openmpi --host n1:2,n2:2 -np 4 "+rounds(t, site, openmpi)+" 20 5",
		"-w", "n[1-2]", "--ntasks-per-node=2")
	if out := site.output(t, "alice", id); !strings.Contains(out, "size 4\n") {
		t.Fatalf("mpirun over ssh did not run:\n%s", out)
	}
	d := site.jobeff(t, "alice", id)
	e := wantExecutions(t, d, 1)[0]
	if e.Size != 4 || e.Ranks != 2 || *e.Coverage != 0.5 || !warned(d, "coverage") {
		t.Errorf("size %d, %d ranks recorded, coverage %v, warnings %v", e.Size, e.Ranks, *e.Coverage, d.Warnings)
	}
	if text := site.as(t, "alice", "jobeff", "--full", id); !strings.Contains(text, "2 of 4") {
		t.Errorf("jobeff %s does not say that ranks are missing:\n%s", id, text)
	}
}
