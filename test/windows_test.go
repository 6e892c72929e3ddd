package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/report/figure"
	"jobeff/report/view"
	"jobeff/test/trial"
)

// waiting asks for a job until the windows of its nodes are replayed.
func (c *cluster) waiting(t *testing.T, id string) (d *view.Job) {
	t.Helper()
	until(t, "the replay of job "+id, func() bool {
		d = c.jobeff(t, "alice", id)
		return d.Windows != nil && d.Windows.Logged > 0
	})
	return d
}

// clockLibrary makes libjobeff-clock.so, once, where every user can read it.
var clockLibrary = func() func(at string) ([]byte, error) {
	var once sync.Once
	var out []byte
	var err error
	return func(at string) ([]byte, error) {
		once.Do(func() {
			out, err = exec.Command("sh", "-c", `make -s -C .. build/test/libjobeff-clock.so && cp ../build/test/libjobeff-clock.so "$0"`, at).CombinedOutput()
		})
		return out, err
	}
}()

// onClock starts a program of f on a clock that only its sleeps move (test/apps/virtualclock.c), so
// that its figures are exact at any load. The library is ours with the readings of that clock; the
// rest is what the nodes have installed.
func onClock(t *testing.T, f family) string {
	t.Helper()
	shim := build(t, site, f.cc, "virtualclock.c", "-shared", "-fPIC", "-pthread")
	library := filepath.Join(filepath.Dir(shim), "libjobeff-clock.so")
	if out, err := clockLibrary(library); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return "env LD_PRELOAD=" + library + ":" + shim + " "
}

// wantWaits runs a program over two nodes. Its logs travel to jobeffd, which replays them: why its
// ranks wait is exactly what its sleeps say.
func wantWaits(t *testing.T, f family, p trial.Waits) {
	t.Helper()
	const rounds = 6
	script := fmt.Sprintf("export JOBEFF_WINDOWS=1 DELAY_MS=%d\n%s%s%s %s %d", p.DelayMS, srun(t, f), onClock(t, f), build(t, site, f.cc, "waits.c"), p.Name, rounds)
	d := site.waiting(t, site.run(t, "alice", script, "-N2", fmt.Sprint("-n", p.Ranks), "--overcommit"))
	e := wantExecutions(t, d, 1)[0]
	if e.Size != p.Ranks || e.Ranks != p.Ranks || e.Nodes != 2 || e.MPI != f.name {
		t.Errorf("%d of %d ranks of %s on %d nodes", e.Ranks, e.Size, e.MPI, e.Nodes)
	}
	w := e.Windows
	if w.Logged != rounds || w.Matched != rounds || w.NotDetermined != "" {
		t.Fatalf("%+v, want %d matched windows", *w, rounds)
	}
	if p.Name == "chain" && (len(w.Path.Links) != 1 || !strings.Contains(w.Path.Links[0].Waits.Module, "waits.c") || w.Path.Links[0].For.Offset == nil) {
		t.Errorf("%+v, want one link whose ends are known", w.Path.Links)
	}
	want := []float64{p.SerE, p.TE, p.LoadBalance, p.SerE * p.TE, p.LoadBalance}
	got := []float64{*d.SerialisationEfficiency, *d.TransferEfficiency, *w.LoadBalance, *w.CommE, *d.MPILoadBalance}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" { // a nanosecond in a run would show
		t.Errorf("SerE, TE, LB and CommE of the windows, LB of the run:\n%s", diff)
	}
}

func TestWindowsOverNodes(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		for _, p := range trial.WaitsOfFew {
			if p.Name != "chain" && p.Name != "pingpong" {
				continue
			}
			t.Run(f.mpi+" "+p.Name, func(t *testing.T) {
				t.Parallel()
				wantWaits(t, f, p)
			})
		}
	}
}

// All programs of waits, over two nodes, up to eight ranks.
func TestWaitsOverNodes(t *testing.T) {
	onlyInApps(t, "it takes minutes")
	for _, f := range families {
		for _, p := range slices.Concat(trial.WaitsOfFew, trial.WaitsOfMany) {
			t.Run(fmt.Sprintf("%s/%s/%d", f.name, p.Name, p.Ranks), func(t *testing.T) { wantWaits(t, f, p) })
		}
	}
}

// The owner of a job whose ranks wait in a chain reads which ranks these are, and in which call.
func TestChainIsTold(t *testing.T) {
	t.Parallel()
	id := site.run(t, "alice", "export JOBEFF_WINDOWS=1\n"+srun(t, usual)+onClock(t, usual)+build(t, site, usual.cc, "waits.c")+" chain 6", "-N1", "-n4")
	e := wantExecutions(t, site.waiting(t, id), 1)[0]
	if w := e.Windows; w.Matched != 6 || w.NotDetermined != "" {
		t.Fatalf("%+v", w)
	}
	text := strings.Join(strings.Fields(site.as(t, "alice", "jobeff", "--full", id)), " ") // lines end anywhere
	link := "MPI_Recv at " + lineOf(t, "waits.c", "waits") + " in chain, for another rank's MPI_Send at " + lineOf(t, "waits.c", "late") + " in chain"
	for _, words := range []string{"is in a chain through ranks 0 -> 1 -> 2 -> 3", "MPI_Recv (", link, "6 of 6 sampled windows"} {
		if !strings.Contains(text, words) {
			t.Errorf("jobeff %s does not say %q:\n%s", id, words, text)
		}
	}
	if explained := site.as(t, "alice", "jobeff", "explain", id); !strings.Contains(explained, "a network that takes no time would save at most") {
		t.Errorf("jobeff explain %s says\n%s", id, explained)
	}
}

// loggedApp is an application of Debian's that runs on two ranks of one node.
type loggedApp struct {
	name, program, folder, prepare, run string
	messages                            bool // at least half of its windows hold messages between ranks
}

// start runs it in a folder of the job's id, with a set of inputs and an environment of its own.
func (a loggedApp) start(t *testing.T, set, env string) (id string) {
	t.Helper()
	inputs := filepath.Join(site.home("alice"), set, a.folder)
	if err := os.CopyFS(inputs, os.DirFS(a.folder)); err != nil {
		t.Fatal(err)
	}
	return site.run(t, "alice", `mkdir $SLURM_JOB_ID && cd $SLURM_JOB_ID && cp `+inputs+`/* . && { `+a.prepare+`; } >log 2>&1 || exit 1
export OMP_NUM_THREADS=1
env `+env+srun(t, openmpi)+a.run+` >printed 2>&1`, "-N1", "-n2")
}

// loggedApps have inputs that are larger than those of hybridApps, or collect more windows.
var loggedApps = []loggedApp{
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
			id := a.start(t, "windows", "JOBEFF_WINDOWS=1 ")
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
func efficiencies(e view.Execution) string {
	if w := e.Windows; w.Matched == 0 {
		return "not determined: " + w.NotDetermined
	} else if w.NotDetermined != "" {
		return fmt.Sprintf("not determined: %s (load balance %.2f in them, %.2f in the run, communication efficiency %.2f and %.2f)", w.NotDetermined,
			*w.LoadBalance, *e.MPILoadBalance, *w.CommE, *e.MPICommunicationEfficiency)
	}
	return "serialisation efficiency " + figure.Efficiency(*e.SerialisationEfficiency) + ", transfer efficiency " + figure.Efficiency(*e.TransferEfficiency)
}
