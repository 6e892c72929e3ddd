package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/report/document"
	"jobeff/test/waits"
)

// waiting asks for a job until the windows of its nodes are replayed.
func (c *cluster) waiting(t *testing.T, id string) (d *document.Job) {
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
func wantWaits(t *testing.T, f family, p waits.Program) {
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
	want := []float64{p.SerE, p.TE, p.LoadBalance, p.SerE * p.TE, p.LoadBalance}
	got := []float64{*d.SerialisationEfficiency, *d.TransferEfficiency, *w.LoadBalance, *w.CommE, *d.MPILoadBalance}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" { // a nanosecond in a run would show
		t.Errorf("SerE, TE, LB and CommE of the windows, LB of the run:\n%s", diff)
	}
}

func TestWindowsOverNodes(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		for _, p := range waits.Programs {
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
		for _, p := range slices.Concat(waits.Programs, waits.Large) {
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
	text := strings.Join(strings.Fields(site.as(t, "alice", "jobeff", id)), " ") // lines end anywhere
	for _, words := range []string{"is in a chain through ranks 0 -> 1 -> 2 -> 3", "MPI_Recv (", "6 of 6 sampled windows"} {
		if !strings.Contains(text, words) {
			t.Errorf("jobeff %s does not say %q:\n%s", id, words, text)
		}
	}
	if explained := site.as(t, "alice", "jobeff", "explain", id); !strings.Contains(explained, "a network that takes no time would save at most") {
		t.Errorf("jobeff explain %s says\n%s", id, explained)
	}
}
