package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/report/document"
	"jobeff/report/figure"
)

// loggedApps are applications of Debian's that run with windows on two ranks of one node. Their
// inputs are larger than those of hybridApps, or collect more windows.
var loggedApps = []struct {
	name, program, folder, prepare, run string
	messages                            bool // at least half of its windows hold messages between ranks
}{
	{"LAMMPS", "lmp", "lammps", `sed -i 's/^neigh_modify.*/neigh_modify every 1 delay 5 check yes/; s/^run.*/run 1000/; s/ 0 20/ 0 10/g' in.melt`,
		`lmp -in in.melt -log none`, true},
	{"Quantum ESPRESSO", "pw.x", "qe", `sed -i 's/ecutwfc = 12.0/ecutwfc = 30.0/; s/2 2 2 1 1 1/6 6 6 1 1 1/' si.in && zcat ` + pseudo + ` >Si.pz-vbc.UPF`,
		`pw.x -in si.in`, false},
	{"GROMACS", "gmx_mpi", "gromacs", hybridApps[2].prepare[len(`cp SOURCE/gromacs/water.* . && `):],
		`gmx_mpi -quiet mdrun -s water.tpr -ntomp 1 -pin off -reprod -notunepme`, true},
	{"HPL", "hpcc", "hpcc", `true`, `hpcc`, true},
}

// The calls of real applications are understood: nearly all windows are replayed. Ranks that ask again
// and again may make more calls than a rank can log, more so on a busy machine. Why a figure is not
// determined is told.
func TestWindowsOfApplications(t *testing.T) {
	const tooLong = "more calls than a rank can log"
	for _, a := range loggedApps {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			if _, err := exec.LookPath(a.program); err != nil {
				t.Skipf("this Debian has no %s", a.program)
			}
			inputs := filepath.Join(site.home("alice"), "windows", a.folder)
			if err := os.CopyFS(inputs, os.DirFS(a.folder)); err != nil {
				t.Fatal(err)
			}
			id := site.run(t, "alice", `mkdir $SLURM_JOB_ID && cd $SLURM_JOB_ID && cp `+inputs+`/* . && { `+a.prepare+`; } >log 2>&1 || exit 1
export JOBEFF_WINDOWS=1 OMP_NUM_THREADS=1
`+srun(t, openmpi)+a.run+` >out 2>&1`, "-N1", "-n2")
			e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
			w := e.Windows
			if e.Size != 2 || w == nil {
				t.Fatalf("%d ranks, windows %v", e.Size, w)
			}
			t.Logf("%s: %d of %d windows replayed, %s of their time, %d with messages; %s", a.name, w.Matched, w.Logged, figure.Percent(w.Share), w.WithMessages, efficiencies(e))
			long, other := 0, 0
			for _, d := range w.Drops {
				if d.Reason == tooLong {
					long += d.Count
				} else {
					other += d.Count
				}
			}
			if w.Logged < 8 || w.Matched+long+other != w.Logged || 10*other > w.Logged || a.messages && 2*(w.WithMessages+long) < w.Matched {
				t.Errorf("%+v", *w)
			}
		})
	}
}

// efficiencies are those of the windows, or why there are none.
func efficiencies(e document.Execution) string {
	if w := e.Windows; w.Matched == 0 {
		return "not determined: " + w.NotDetermined
	} else if w.NotDetermined != "" {
		return fmt.Sprintf("not determined: %s (load balance %.2f in them, %.2f in the run, communication efficiency %.2f and %.2f)", w.NotDetermined,
			*w.LoadBalance, *e.MPILoadBalance, *w.CommE, *e.MPICommunicationEfficiency)
	}
	return "serialisation efficiency " + figure.Efficiency(*e.SerialisationEfficiency) + ", transfer efficiency " + figure.Efficiency(*e.TransferEfficiency)
}
