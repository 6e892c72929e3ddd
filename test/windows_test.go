package test

import (
	"math"
	"testing"

	"jobeff/report/document"
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

// Over two nodes the logs travel to jobeffd, which replays them: the ranks of chain wait for each
// other's work, SerE 100 / 250, and the network is quick.
func TestWindowsOverNodes(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		t.Run(f.mpi, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", "export JOBEFF_WINDOWS=1\n"+srun(t, f)+build(t, site, f.cc, "waits.c")+" chain 20", "-N2", "-n4")
			d := site.waiting(t, id)
			wantWhole(t, wantExecutions(t, d, 1)[0], f, 4, 2)
			w := d.Windows
			if w.Logged != 20 || w.Matched != 20 || w.Dropped != 0 {
				t.Fatalf("%+v, want 20 matched windows", w)
			}
			if math.Abs(*d.LoadBalance-0.625) > 0.03 || math.Abs(*d.CommunicationEfficiency-0.4) > 0.015 {
				t.Skipf("sleeps took longer than they should: LB %.3f, CommE %.3f, SerE %.3f, TE %.3f", *d.LoadBalance, *d.CommunicationEfficiency, *d.SerialisationEfficiency, *d.TransferEfficiency)
			}
			if w.NotDetermined != "" || math.Abs(*d.SerialisationEfficiency-0.4) > 0.03 || math.Abs(*d.TransferEfficiency-1) > 0.03 {
				t.Errorf("SerE %v, TE %v, %q, want 0.4, 1", d.SerialisationEfficiency, d.TransferEfficiency, w.NotDetermined)
			}
		})
	}
}
