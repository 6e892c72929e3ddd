package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hybridApp is an application of Debian's with MPI and OpenMP: how it is prepared, run, and what
// of its output is a result. $SRUN starts it on two ranks of two threads.
type hybridApp struct {
	name, program string
	prepare, run  string
	result        string // prints it
	openmp        string // succeeds where it uses OpenMP
}

var hybridApps = []hybridApp{
	{
		"LAMMPS", "lmp",
		`cp SOURCE/lammps/in.melt . && sed -i 's/^run.*/run 100/; s/ 0 20/ 0 8/g' in.melt`,
		// the OMP package where LAMMPS has it: Debian 12's has not
		`suffix=; JOBEFF=off lmp -h | grep -qw OPENMP && suffix="-sf omp -pk omp 2"; $SRUN lmp -in in.melt -log log.melt -screen none $suffix`,
		`grep -A2 '^ *Step' log.melt`,
		`lmp -h | grep -qw OPENMP`,
	},
	{
		"Quantum ESPRESSO", "pw.x",
		// its OpenMP is that of the BLAS, which uses threads only on larger matrices
		`sed 's/ecutwfc = 12/ecutwfc = 40/' SOURCE/qe/si.in >si.in && zcat ` + pseudo + ` >Si.pz-vbc.UPF`,
		`$SRUN env LD_LIBRARY_PATH=SOURCE/blas pw.x -in si.in >si.out`,
		`grep -E '^!|total   stress|convergence' si.out`,
		`test -n "$OPENMP_BLAS"`,
	},
	{
		"GROMACS", "gmx_mpi",
		`cp SOURCE/gromacs/water.* . && gmx -quiet solvate -cs spc216.gro -box 3 3 3 -o water.gro -p water.top && gmx -quiet grompp -f water.mdp -c water.gro -p water.top -o water.tpr`,
		`$SRUN gmx_mpi -quiet mdrun -s water.tpr -ntomp 2 -pin off -reprod -notunepme -deffnm water`,
		`grep -A9 'Energies (kJ/mol)' water.log | tail -n 9`,
		`true`,
	},
}

// pseudo is the file of quantum-espresso-data that test/qe/si.in wants.
const pseudo = "/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz"

// hybridInputs is where the nodes see the applications' inputs.
func hybridInputs() string { return filepath.Join(site.home("alice"), "hybrid") }

// script prints nothing but the result, and ends with the application's exit code. Threads that
// wait sleep: where they spin on a busy machine, small regions take seconds.
func (a hybridApp) script(t *testing.T) string {
	t.Helper()
	return `export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive SRUN="` + srun(t, openmpi) + `--cpus-per-task=2"
mkdir $SLURM_JOB_ID && cd $SLURM_JOB_ID
{ ` + strings.ReplaceAll(a.prepare+" && "+a.run, "SOURCE", hybridInputs()) + `; } >log 2>&1
code=$?
` + a.result + `
exit $code`
}

// Real applications with MPI and OpenMP on two nodes have the results and the exit code that they
// have without jobeff. Their threads are measured where they use OpenMP, and MPI is measured anyhow.
// OPENMP_BLAS is the folder of a BLAS with OpenMP; apps.sh has one.
func TestHybridApplications(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"lammps", "qe", "gromacs"} {
		if err := os.CopyFS(filepath.Join(hybridInputs(), folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	if blas := os.Getenv("OPENMP_BLAS"); blas != "" {
		if out, err := exec.Command("cp", "-rL", blas, filepath.Join(hybridInputs(), "blas")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, a := range hybridApps {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(a.program); err != nil {
				t.Skipf("this Debian has no %s", a.program)
			}
			size := []string{"-N2", "-n2", "--cpus-per-task=2"}
			without := site.run(t, "alice", a.script(t), append(size, "--jobeff=off")...)
			with := site.run(t, "alice", a.script(t), size...)
			if w, g := site.output(t, "alice", without), site.output(t, "alice", with); len(w) < 20 || w != g {
				t.Errorf("without jobeff it prints %q, with it %q", w, g)
			}
			d, off := site.jobeff(t, "alice", with), site.jobeff(t, "alice", without)
			if d.State != "COMPLETED" || d.State != off.State || d.ExitCode != off.ExitCode {
				t.Errorf("without jobeff it ends with %s %s, with it %s %s", off.State, off.ExitCode, d.State, d.ExitCode)
			}
			e := wantExecutions(t, d, 1)[0]
			if e.Size != 2 || e.Nodes != 2 || e.MPIParallelEfficiency == nil {
				t.Fatalf("%d ranks on %d nodes", e.Size, e.Nodes)
			}
			threads := 2
			if e.ThreadTimes != nil {
				threads = e.ThreadTimes.Threads
			}
			t.Logf("%s: parallel efficiency of MPI %.2f, %d threads", a.name, *e.MPIParallelEfficiency, threads)
			if exec.Command("sh", "-c", a.openmp).Run() == nil && (threads != 4 || e.ThreadTimes == nil) {
				t.Errorf("its OpenMP is not known: %v", d.Warnings)
			}
		})
	}
}

// Two ranks asked for four CPUs each, and one thread of each works: threads are idle, and fewer
// CPUs for each rank is the mend. MPI is not to blame. Its work is a sleep, so it needs no CPU.
func TestThreadsIdle(t *testing.T) {
	t.Parallel()
	id := site.run(t, "alice", "export OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive\n"+srun(t, usual)+"--cpus-per-task=4 "+build(t, site, usual.cc, "busy.c", "-fopenmp", "-pthread")+" 2 idle",
		"-N2", "-n2", "--cpus-per-task=4")
	verdicts, _ := judged(t, "alice", id)
	if d := site.jobeff(t, "alice", id); warned(d, "contention") { // others had the CPUs: then it must not judge
		if v := verdicts["low-efficiency"]; v.Outcome != "cannot_tell" || *d.RunQueueWait <= 0.05*2**d.Elapsed {
			t.Errorf("its ranks waited %g s for CPUs in %g s: %+v", *d.RunQueueWait, *d.Elapsed, v)
		}
		return
	}
	if v := verdicts["low-efficiency"]; v.Outcome != "flagged" || !strings.Contains(v.Text, "Threads idle") || !strings.Contains(v.Text, "OMP_NUM_THREADS=1") {
		t.Errorf("low-efficiency: %+v", v)
	}
	text := strings.Join(strings.Fields(site.as(t, "alice", "jobeff", "--full", id)), " ") // lines end anywhere
	for _, words := range []string{"Threads idle", "--cpus-per-task=1", "8 threads"} {
		if !strings.Contains(text, words) {
			t.Errorf("jobeff %s does not say %q:\n%s", id, words, text)
		}
	}
	for _, words := range []string{"went into MPI", "MPI is slow", "fewer ranks", "cannot tell"} {
		if strings.Contains(text, words) {
			t.Errorf("jobeff %s says %q:\n%s", id, words, text)
		}
	}
}
