package vm

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/replay"
	"jobeff/policy/doubt"
	"jobeff/report/view"
)

// TestTwo: two machines on a network; n1 has Slurm's controller and jobeffd. First n2 dies while a job runs
// on both, then n1. Each boots again. What was told is still told, the jobs that ended are told, and
// of the job that lost a node it is said.
func TestTwo(t *testing.T) {
	var disks [2]string
	for i := range disks {
		disks[i] = newDisk(t, fmt.Sprint("NODE=n", i+1), "NODES=2")
	}
	sockets := t.TempDir()
	end := func(i int) string { return filepath.Join(sockets, fmt.Sprint(i)) }
	start := func(i int) *machine {
		t.Helper()
		return launch(t, append(drive(disks[i]), "-netdev",
			fmt.Sprintf("dgram,id=net,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s", end(i), end(1-i)),
			"-device", fmt.Sprint("virtio-net-pci,netdev=net,mac=52:54:00:00:00:0", i+1))...)
	}
	n1, n2 := start(0), start(1)
	ready := func() {
		t.Helper()
		n1.must(t, "slurm-ready")
		n2.must(t, "slurm-ready")
		until(t, "both nodes", func() bool { return strings.TrimSpace(n1.must(t, "sinfo -h -t idle -o %D")) == "2" })
	}
	n1.booted(t)
	n2.booted(t)
	ready()
	n2.mpiProgram(t)
	both := n1.submit(t, n1.ranks(t, 5), "-N2 -n2")
	var before *view.Job
	until(t, "the replay of both nodes' windows", func() bool {
		before = n1.reportedBy(t, both, 2)
		return before.Executions[0].Windows.NotDetermined != replay.WhyRanks
	})
	wantWhole(t, before, 1)

	n1.must(t, "systemctl stop jobeffd.socket")
	waits := n1.submit(t, n1.ranks(t, 5), "-w n2 -n2 -W") // its report is on n2 only
	lost := n1.submit(t, n1.ranks(t, 100_000), "-N2 -n2 --no-requeue")
	until(t, "ranks on both nodes", func() bool { return strings.Contains(n1.output(t, lost), "size 2") })
	n2.kill()
	n1.must(t, "systemctl start jobeffd; scontrol update nodename=n2 state=down reason=dead") // as its admin does
	n2 = start(1)
	n2.booted(t)
	ready()
	wantWhole(t, n1.reportedBy(t, waits, 1), 1)
	d := n1.reportedBy(t, lost, 1)
	missing := slices.ContainsFunc(d.Warnings, func(w doubt.Doubt) bool { return w.Code == "nodes_missing" })
	if d.State != "NODE_FAIL" || !missing || len(d.Executions) != 1 {
		t.Errorf("the job that lost n2: %s, %d executions, warnings %v, no data %q", d.State, len(d.Executions), d.Warnings, d.NoData)
	}

	orphan := n1.submit(t, n1.ranks(t, 500), "-w n2 -n2") // its ranks end while n1 is away
	until(t, "ranks on n2", func() bool { return strings.Contains(n2.output(t, orphan), "size 2") })
	until(t, "slurmctld's state on its disk", func() bool { // it is written every 5 s; without it Slurm gives the job's number away
		_, code := n1.try(t, `[ $(stat -c %Y $(scontrol show config | sed -n 's/^StateSaveLocation *= *//p')/job_state) -gt $(date -d $(squeue -h -j `+orphan+` -o %S) +%s) ] && sync`)
		return code == 0
	})
	n1.kill()
	until(t, "the end of n2's ranks", func() bool { _, code := n2.try(t, "pgrep -x rounds"); return code == 1 })
	n1 = start(0)
	n1.booted(t)
	ready()
	wantWhole(t, n1.reportedBy(t, orphan, 1), 1)
	wantWhole(t, n1.reportedBy(t, waits, 1), 1)
	if diff := cmp.Diff(before.Executions, n1.reportedBy(t, both, 2).Executions); diff != "" {
		t.Errorf("job %s was told otherwise before:\n%s", both, diff)
	}
	wantWhole(t, n1.reportedBy(t, n1.submit(t, n1.ranks(t, 5), "-N2 -n2"), 2), 1)
}

// reportedBy is job, once so many nodes have told of it.
func (m *machine) reportedBy(t *testing.T, id string, nodes int) (d *view.Job) {
	t.Helper()
	until(t, "the nodes' reports of job "+id, func() bool {
		d = m.job(t, id)
		return d.NodesReported == nodes && !strings.Contains(d.NoData, "being merged")
	})
	return d
}
