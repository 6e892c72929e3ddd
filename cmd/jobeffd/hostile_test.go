package main

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/ingest/store/storetest"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// TestHostileRecords: one user's jobs end with impossible records, so many that their reports would
// fill the spool if they were refused. Another user's report is kept whole. For the hostile jobs,
// root's own notes are kept, with the figures that are possible and the reason why others lack.
func TestHostileRecords(t *testing.T) {
	c := newMadeCluster(t, "")
	box := node.Outbox{Spool: t.TempDir(), Most: 128 << 10}
	sender := &client.Sender{Spool: box.Spool, Client: c.client}
	end := func(id, uid uint32, slots ...record.Slot) {
		_, err := box.Write(reportOf(t, id, uid, slots))
		must(t, err)
		_, err = sender.Send(ctx)
		must(t, err)
	}
	for id := range uint32(80) {
		var slots []record.Slot
		for world := range 8 {
			slots = append(slots, hostileRank(world, 1<<30))
		}
		end(1000+id, 1001, slots...)
	}
	end(2000, 1001, rankOf(0, 2), rankOf(1, 2), hostileRank(1, 1<<26+1))
	end(3000, 1002, rankOf(0, 2), rankOf(1, 2))
	must(t, storetest.Merge(ctx, c.db))
	_, err := os.Stat(node.RefusedDir(box.Spool))
	if err == nil {
		t.Error("the server refused what the node took")
	}
	refused, figures, notes := "figures of an MPI program were refused, since they cannot be: its ranks cannot be", "parallel efficiency 0.50", "step 0 00:00:04"
	for id, want := range map[string][]string{"1000": {"No parallel efficiency: " + refused, notes}, "1079": {refused, notes}, "2000": {refused, figures}, "3000": {figures}} {
		text := c.page("/jobs/" + id)
		for _, words := range want {
			if !strings.Contains(text, words) {
				t.Errorf("job %s does not say %q: %s", id, words, text)
			}
		}
		if id == "3000" && strings.Contains(text, refused) {
			t.Errorf("job %s: %s", id, text)
		}
	}
}

// TestDroppedIsTold: the server is away, and one user's jobs fill half of the spool. Once the server
// is back, the owner hears what was dropped. Another user's report is kept whole.
func TestDroppedIsTold(t *testing.T) {
	c := newMadeCluster(t, "")
	box := node.Outbox{Spool: t.TempDir(), Most: 32 << 10}
	end := func(id, uid uint32) {
		_, err := box.Write(reportOf(t, id, uid, []record.Slot{rankOf(0, 2), rankOf(1, 2)}))
		must(t, err)
	}
	for id := range uint32(10) {
		end(1000+id, 1001)
	}
	end(3000, 1002)
	res, err := (&client.Sender{Spool: box.Spool, Client: c.client}).Send(ctx)
	if err != nil || res.Sent != 11 || res.Kept+res.Refused > 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	must(t, storetest.Merge(ctx, c.db))
	dropped := "No parallel efficiency: the report of this job was dropped on n1: its spool was full."
	for id, want := range map[string]string{"1000": "parallel efficiency 0.50", "1009": dropped, "3000": "parallel efficiency 0.50"} {
		if text := c.page("/jobs/" + id); !strings.Contains(text, want) {
			t.Errorf("job %s does not say %q: %s", id, want, text)
		}
	}
}

// When the node of these records was booted.
var (
	bootAt   = situationsNow.Add(-time.Hour)
	thatBoot = [16]byte{2}
)

// moment is the moment s seconds after boot.
func moment(s uint64) record.Pair {
	ns := s * uint64(time.Second)
	return record.Pair{Ticks: ns, Mono: ns, Real: uint64(bootAt.UnixNano()) + ns}
}

// rankOf is a rank of a world of size that computed from 10 s to 11 s after boot, and was in MPI
// until 12 s.
func rankOf(rank, size int) record.Slot {
	return record.Slot{Kind: record.KindProcess, State: record.StateFinalized, Ending: record.EndingFinalize, OpenCall: -1, PID: 100 + rank, PPID: 99, Rank: rank, Size: size,
		Threads: 1, WorldFrom: record.WorldPMIX, World: "job.0", CPUs: 2, Host: "n1", Exe: "/bin/app", Family: "Open MPI", Claims: record.Claims{Step: -1, ProcID: -1, NTasks: -1, NodeID: -1},
		Clock: record.ClockMonotonic, ClaimedAt: moment(9), FinishedAt: moment(12), InitLeft: moment(10).Ticks, FiniEnter: moment(12).Ticks, FiniLeft: moment(12).Ticks,
		Last: moment(12).Ticks, Calls: 2, MPITicks: moment(1).Ticks}
}

// hostileRank is a rank that no MPI has, of a program whose name does not compress.
func hostileRank(world, rank int) record.Slot {
	s := rankOf(rank, rank+1)
	s.PID, s.World = 200+world, fmt.Sprint("w", world)
	var name strings.Builder
	for range 12 {
		fmt.Fprintf(&name, "%016x", rand.Uint64())
	}
	s.Exe = "/" + name.String()
	return s
}

// reportOf is what the node reports of such a job.
func reportOf(t *testing.T, id, uid uint32, slots []record.Slot) *job.NodeReport {
	dir, err := node.OpenDir(runDir(t, id, uid, slots))
	must(t, err)
	report, err := dir.Fold(machineThen())
	must(t, err)
	return report
}

// runDir is what a job left on its node: root's notes, and the user's record.
func runDir(t *testing.T, id, uid uint32, slots []record.Slot) string {
	run := fmt.Sprintf("%032x", id)
	nonce := [16]byte{1}
	dir := filepath.Join(t.TempDir(), fmt.Sprintf(".done-%d-%s", id, run))
	must(t, os.MkdirAll(filepath.Join(dir, "record"), 0o700))
	line := func(s uint64, what, rest string) string {
		return fmt.Sprintf("%s %d %d%s\n", what, moment(s).Mono, moment(s).Real, rest)
	}
	for name, text := range map[string]string{
		"job": fmt.Sprintf("version 1\nrun %s\nnonce %x\nboot_id %x\njob_id %d\nuid %d\ngid %d\nuser u%d\ncluster %s\nnode n1\nnodelist n1\nnnodes 1\nprolog 1\nstart_real_ns %d\n",
			run, nonce, thatBoot, id, uid, uid, uid, clusterName, moment(8).Real),
		"steps":        line(9, "step 0", " tasks=2 ntasks=2 nnodes=1 nodeid=0") + line(13, "end 0", ""),
		"record/ranks": string(recordtest.File(record.Head{BootID: thatBoot, Nonce: nonce}, slots...)),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// machineThen is the node of these records, a minute after boot.
func machineThen() node.Machine {
	return node.Machine{BootID: hex.EncodeToString(thatBoot[:]), OnlineCPUs: 2, Hardware: func() *job.Hardware { return nil },
		Now: func(record.Clock) (record.Pair, bool) { return moment(60), true }}
}
