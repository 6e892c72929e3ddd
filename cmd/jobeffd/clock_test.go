package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/listing"
)

// wrongClock is a daemon whose clock can be set. Go asks the kernel for the time past any
// library; qemu's user emulation asks libc for its guest, and there faketime answers.
func wrongClock(t *testing.T) (d *daemon, set func(offset string)) {
	t.Helper()
	lib, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	qemu, err := exec.LookPath("qemu-x86_64")
	if len(lib) == 0 || err != nil || runtime.GOARCH != "amd64" {
		t.Skip("this needs faketime and qemu-user, on x86-64 (make deps)")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d = newDaemon(t)
	file := filepath.Join(d.dir, "clock")
	set = func(offset string) {
		if err := os.WriteFile(file+".new", []byte(offset+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	set("+0")
	d.program = []string{"env", "LD_PRELOAD=" + lib[0], "FAKETIME_TIMESTAMP_FILE=" + file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
		qemu, "-U", "LD_PRELOAD", self}
	return d, set
}

// TestServersClockSet is the server's half of fault 48: its clock goes five hours ahead, and
// ten back, while 60 jobs of two nodes each end. Every job is one row with both its nodes.
// A report that comes a second time is recognised, whatever the clock says.
func TestServersClockSet(t *testing.T) {
	d, set := wrongClock(t)
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d.log = log
	d.start(t)
	const jobs, clients = 60, 4
	var sent atomic.Int32
	begin := time.Now().Add(-time.Minute).UTC()
	post := func(c *client.Client, id uint32, node string) {
		r := report(id)
		r.Node, r.NNodes, r.NodeList, r.Nonce = node, 2, "n[1-2]", strings.Repeat(node[1:], 24)+r.Nonce[24:]
		r.Start, r.End = begin, begin.Add(20*time.Second)
		x := &r.Executions[0]
		x.Size, x.Nodes[0].Node, x.Nodes[0].RankIDs = 2, node, map[string]string{"n1": "0", "n2": "1"}[node]
		body, err := json.Marshal(r)
		if err != nil {
			t.Error(err)
		}
		if err := c.PostReport(ctx, body); err != nil {
			t.Errorf("job %d: %v", id, err)
		}
		switch sent.Add(1) {
		case jobs / 2:
			set("+5h")
		case jobs:
			set("-5h")
		}
	}
	all := func() {
		var wg sync.WaitGroup
		for i := range uint32(clients) {
			wg.Go(func() {
				c := d.client()
				defer c.Close()
				for id := 1 + i; id <= jobs; id += clients {
					post(c, id, "n1")
					post(c, id, "n2")
				}
			})
		}
		wg.Wait()
	}
	all()
	all()
	d.merged(t)
	list, err := d.client().Jobs(ctx, listing.JobQuery{Limit: 2 * jobs})
	if err != nil || len(list.Jobs) != jobs {
		t.Fatalf("%d rows of %d jobs, %v", len(list.Jobs), jobs, err)
	}
	for _, j := range list.Jobs {
		if j.Reports != 2 || !j.Complete || j.Metrics == nil || j.Metrics.Coverage != 1 || j.Elapsed != 20*time.Second {
			t.Errorf("job %d: %d reports, %v, %v", j.JobID, j.Reports, j.Elapsed, j.Metrics)
		}
	}
	ahead, back := jumps(t, log.Name())
	if ahead < 4*time.Hour || back < 9*time.Hour {
		t.Errorf("the log's time went ahead by %v and back by %v: the clock was not set", ahead, back)
	}
}

// jumps are the largest steps of a log's clock.
func jumps(t *testing.T, log string) (ahead, back time.Duration) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for line := range strings.Lines(string(text)) {
		var said struct{ Time time.Time }
		if json.Unmarshal([]byte(line), &said) != nil {
			continue
		}
		if !last.IsZero() {
			ahead, back = max(ahead, said.Time.Sub(last)), max(back, last.Sub(said.Time))
		}
		last = said.Time
	}
	return ahead, back
}
