package server

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
)

// fakeRooms makes an scontrol and a sacctmgr that tell of a partition of two nodes with 64 CPUs and 250 GiB, and of a QOS
// with an hour.
func fakeRooms(t *testing.T) (asked string) {
	t.Helper()
	asked = filepath.Join(t.TempDir(), "asked")
	fakeCommand(t, "sacct", "exit 0")
	fakeCommand(t, "sacctmgr", "echo 'normal||01:00:00||'")
	fakeCommand(t, "scontrol", `case $* in
*config) echo x >>`+asked+`; echo ClusterName = test; echo AccountingStorageEnforce = associations,limits;;
*partition) echo PartitionName=main QoS=N/A MaxNodes=UNLIMITED MaxTime=1-00:00:00 MaxCPUsPerNode=UNLIMITED MaxMemPerNode=UNLIMITED;;
*node) for n in n1 n2; do echo NodeName=$n CPUEfctv=64 CPUTot=64 RealMemory=264192 MemSpecLimit=8192 Partitions=main BootTime=None; done;;
esac`)
	return asked
}

// TestRoomOfAnswers: what jobeffd answers of a job, and of its workload, has what Slurm gives jobs of their partition and
// QOS, of its own cluster alone. No report brings it.
func TestRoomOfAnswers(t *testing.T) {
	s := start(t)
	for _, cluster := range []string{"test", "other"} {
		r := report(7, alice)
		r.Cluster, r.Executions[0].Workload = cluster, "on-"+cluster
		r.Executions[0].Nodes[0].Hardware = &job.Hardware{Model: "x", Sockets: 1, Cores: 8, ThreadsPerCore: 1, MaxMHz: 3000, MemoryMiB: 16 << 10}
		forged := bytes.Replace(textOf(r), []byte(`{`), []byte(`{"room":{"cpus":1,"nodes":1},`), 1)
		if got := (request{Addr: s.tcp, Munge: s.munge, Method: "POST", Path: "/v1/reports", Body: forged}).do(); got.Status != 200 && got.Status != 400 {
			t.Fatal(got)
		} else if got.Status == 400 {
			s.check(t, "the report", s.post(t, r), 200, "true")
		}
		line := known(7, "n1", 1)
		line.Cluster, line.Partition, line.QOS, line.CPUs = cluster, "main", "normal", 4
		tell(t, s.store, line)
	}
	s.merged(t)
	like := &job.Room{CPUs: 8, Memory: 16 << 30}
	whole := &job.Room{Nodes: 2, CPUs: 64, Memory: 250 << 30, Time: time.Hour, Kinds: []job.NodeKind{{Nodes: 2, CPUs: 64, Memory: 250 << 30}}}
	answers := func(when string, wants map[string]*job.Room) {
		t.Helper()
		for cluster, want := range wants {
			w := new(job.Workload)
			got := request{Addr: s.unix, Method: "GET", Path: "/v1/workloads/on-" + cluster + "?stored=1"}.as(t, alice)
			if err := json.Unmarshal([]byte(got.Text), w); err != nil || got.Status != 200 || cmp.Diff(want, w.Room) != "" {
				t.Errorf("%s, the workload on %s: %v, %d, %+v", when, cluster, err, got.Status, w.Room)
			}
		}
	}
	answers("before Slurm was asked", map[string]*job.Room{"test": like, "other": like})
	fakeRooms(t)
	NewPoller(s.store, zerolog.Nop(), time.Minute).readRooms(ctx)
	answers("when Slurm was asked", map[string]*job.Room{"test": whole, "other": like})
	got := request{Addr: s.unix, Method: "GET", Path: "/v1/jobs/7?stored=1"}.as(t, alice)
	found := listing.JobAndWorkload{Job: new(job.Job)}
	want := map[string]*job.Room{"test": whole, "other": like}
	if err := json.Unmarshal([]byte(got.Text), &found); err != nil || cmp.Diff(want[found.Cluster], found.Job.Room) != "" || cmp.Diff(want[found.Cluster], found.Workload.Room) != "" {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestReadRoomsNowAndThen: Slurm is asked after ten intervals. If it cannot be, that is said once, and what it told stays.
func TestReadRoomsNowAndThen(t *testing.T) {
	db, log := openStore(t), &lockedBuffer{}
	asked := fakeRooms(t)
	p := NewPoller(db, zerolog.New(log), time.Minute)
	now := time.Now()
	p.now = func() time.Time { return now }
	for i, step := range []time.Duration{0, time.Minute, 8 * time.Minute, time.Minute, -time.Hour} {
		now = now.Add(step)
		p.readRooms(ctx)
		text, _ := os.ReadFile(asked)
		if got, want := strings.Count(string(text), "x"), []int{1, 1, 1, 2, 3}[i]; got != want {
			t.Errorf("after %d looks it was asked %d times, want %d: %s", i+1, got, want, log)
		}
	}
	for _, script := range []string{"exit 1", "echo '<html>'", "echo ClusterName = test", "exec yes"} {
		fakeCommand(t, "scontrol", script)
		now = now.Add(time.Hour)
		p.readRooms(ctx)
	}
	if n := strings.Count(log.String(), "partitions, nodes and QOS cannot be read"); n != 1 {
		t.Errorf("said %d times: %s", n, log)
	}
	if _, err := keep(db, report(7, alice)); err != nil {
		t.Fatal(err)
	}
	line := known(7, "n1", 1)
	line.Partition = "main"
	tell(t, db, line)
	if j, err := db.Job(ctx, store.Viewer{All: true}, slurmid.Ref{ID: 7}, 0); err != nil || j.Room == nil || j.Room.Memory != 250<<30 {
		t.Errorf("%v, %+v", err, j)
	}
	fakeRooms(t)
	now = now.Add(time.Hour)
	if p.readRooms(ctx); !strings.Contains(log.String(), "can be read again") {
		t.Errorf("log %s", log)
	}
}
