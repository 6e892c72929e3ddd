package test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

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

// killHung starts a program that ends within seconds, unless its MPI hangs: MPICH 4.0 may in
// MPI_Finalize over nodes. Its figures are whole by then.
const killHung = "timeout -s KILL 60 "

// Over two nodes the logs travel to jobeffd, which replays them: in chain each rank waits for the
// one before, and the network is quick.
func TestWindowsOverNodes(t *testing.T) {
	t.Parallel()
	chain := waits.Programs[0]
	for _, f := range families {
		t.Run(f.mpi, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", "export JOBEFF_WINDOWS=1\n"+srun(t, f)+killHung+build(t, site, f.cc, "waits.c")+" chain 20 200", "-N2", "-n4")
			d := site.waiting(t, id)
			if e := wantExecutions(t, d, 1)[0]; e.Size != 4 || e.Ranks != 4 || e.Nodes != 2 || e.MPI != f.name {
				t.Errorf("%d of %d ranks of %s on %d nodes", e.Ranks, e.Size, e.MPI, e.Nodes)
			}
			w := d.Windows
			if w.Logged != 20 || w.Matched != 20 {
				t.Fatalf("%+v, want 20 matched windows", w)
			}
			if w.NotDetermined != "" || math.Abs(*w.LoadBalance-chain.LoadBalance) > waits.CloseBy || math.Abs(*w.CommE-chain.SerE*chain.TE) > waits.CloseBy/3 {
				t.Skipf("sleeps took longer than they should: LB %.3f, CommE %.3f, %s", *w.LoadBalance, *w.CommE, w.NotDetermined)
			}
			if !chain.Shown(*d.SerialisationEfficiency, *d.TransferEfficiency) {
				t.Errorf("SerE %.3f, TE %.3f, want %.3f, %.3f", *d.SerialisationEfficiency, *d.TransferEfficiency, chain.SerE, chain.TE)
			}
			if text := site.as(t, "alice", "jobeff", "explain", id); !strings.Contains(text, "0 -> 1 -> 2 -> 3") {
				t.Errorf("the chain of waits is missing:\n%s", text)
			}
		})
	}
}

// All programs of waits, over two nodes, up to eight ranks.
func TestWaitsOverNodes(t *testing.T) { // not parallel: on busy CPUs sleeps last longer
	onlyInApps(t, "it takes minutes")
	for _, f := range families {
		program, shim := build(t, site, f.cc, "waits.c"), build(t, site, f.cc, "delay.c", "-shared", "-fPIC")
		for _, p := range slices.Concat(waits.Programs, waits.Large) {
			t.Run(fmt.Sprintf("%s/%s/%d", f.name, p.Name, p.Ranks), func(t *testing.T) {
				scale := p.Ranks / 2 // ranks that wait for messages use the CPUs: where they are many, a message takes some ms
				rounds := 40 / scale // so many that the pause at the end is little
				env := fmt.Sprintf("WAITS_SCALE=%d DELAY_MS=%d", scale, scale*p.DelayMS)
				run := fmt.Sprintf("%s%s %s %d %d", killHung, program, p.Name, rounds, 200/scale)
				if p.DelayMS > 0 {
					run = fmt.Sprintf("sh -c 'LD_PRELOAD=$LD_PRELOAD:%s exec %s'", shim, run)
				}
				id := site.run(t, "alice", "export JOBEFF_WINDOWS=1 "+env+"\n"+srun(t, f)+run, "-N2", fmt.Sprint("-n", p.Ranks), "--overcommit")
				d := site.waiting(t, id)
				w := d.Windows
				wantExecutions(t, d, 1)
				if w.Logged != rounds || w.Matched != rounds || w.NotDetermined != "" {
					t.Fatalf("%+v, want %d matched windows", *w, rounds)
				}
				t.Logf("%s: SerE %.3f, TE %.3f, constructed %.3f, %.3f", t.Name(), *d.SerialisationEfficiency, *d.TransferEfficiency, p.SerE, p.TE)
				if !p.Shown(*d.SerialisationEfficiency, *d.TransferEfficiency) {
					t.Errorf("LB %.3f, CommE %.3f, constructed LB %.3f", *w.LoadBalance, *w.CommE, p.LoadBalance)
				}
			})
		}
	}
}
