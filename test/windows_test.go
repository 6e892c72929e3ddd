package test

import (
	"math"
	"strings"
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

// Over two nodes the logs travel to jobeffd, which replays them: in chain each rank waits for the
// one before, SerE 100 / 250, and the network is quick. Its end takes 200 ms more.
func TestWindowsOverNodes(t *testing.T) {
	t.Parallel()
	const lb, commE = (20*62.5 + 200) / (20*100 + 200), (20*100. + 200) / (20*250 + 200)
	for _, f := range families {
		t.Run(f.mpi, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", "export JOBEFF_WINDOWS=1\n"+srun(t, f)+build(t, site, f.cc, "waits.c")+" chain 20 nodes", "-N2", "-n4")
			d := site.waiting(t, id)
			wantWhole(t, wantExecutions(t, d, 1)[0], f, 4, 2)
			w := d.Windows
			if w.Logged < 20 || w.Matched != w.Logged {
				t.Fatalf("%+v, want 20 matched windows", w)
			}
			if w.NotDetermined != "" || math.Abs(*d.LoadBalance-lb) > 0.03 || math.Abs(*d.CommunicationEfficiency-commE) > 0.015 {
				t.Skipf("sleeps took longer than they should: LB %.3f, CommE %.3f, %s", *d.LoadBalance, *d.CommunicationEfficiency, w.NotDetermined)
			}
			if math.Abs(*d.SerialisationEfficiency-0.4) > 0.03 || math.Abs(*d.TransferEfficiency-1) > 0.03 {
				t.Errorf("SerE %.3f, TE %.3f, want 0.4, 1", *d.SerialisationEfficiency, *d.TransferEfficiency)
			}
			if text := site.as(t, "alice", "jobeff", "explain", id); !strings.Contains(text, "0 -> 1 -> 2 -> 3") {
				t.Errorf("the chain of waits is missing:\n%s", text)
			}
		})
	}
}
