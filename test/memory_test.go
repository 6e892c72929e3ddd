package test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"jobeff/report/view"
)

// TestMemory: what jobs needed, on a cluster of its own whose jobs' memory is read as often as in half an hour. One
// reads large files beside 1 GB of its own, one lives in /dev/shm for a moment, a step of one is killed for want of memory,
// and one is held up by a limit of CPU time that is not Slurm's.
func TestMemory(t *testing.T) {
	t.Parallel()
	const MB = 1e6
	own, file, given, version2 := 1000, 2000, 4000, false // MB
	if _, err := os.Stat("/sys/fs/cgroup/memory/tasks"); err != nil {
		if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
			t.Skip("no memory cgroup")
		}
		own, file, given, version2 = 250, 600, 1200, true // test/vm's machines have 3 GiB
	}
	c, err := newCluster("-memory", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.down()
	cached := c.submit(t, "alice", fmt.Sprintf(`truncate -s %d000000 file
srun python3 -c "
import os, time
own = bytearray(%d * 10 ** 6)
for i in range(3): # the kernel keeps better what is read again
    with open('file', 'rb', 0) as f:
        while f.read(1 << 20): pass
open('ready', 'w')
while not os.path.exists('read'): time.sleep(.1)"`, file, own), "-n1", fmt.Sprintf("--mem=%dM", given))
	shared := c.submit(t, "alice", `srun python3 -c "
import os
with open('/dev/shm/file', 'wb', 0) as f:
    for i in range(400): f.write(bytes(10 ** 6))
os.remove('/dev/shm/file')"`, "-n1", "--mem=1000M")
	killed := c.submit(t, "alice", `srun --mem=100M python3 -c "
open('/proc/self/oom_score_adj', 'w').write('1000') # else slurmstepd may be what is killed
bytearray(3 * 10 ** 8)"; sleep 1`, "-n1", "--mem=400M")
	until(t, "job "+cached+" to have read its file", func() bool { return c.try(t, "", "as", "alice", "ls", "ready").code == 0 })
	c.exec(t, "n1", "sh", "-c", "for i in $(seq 20); do jobeff-ingest interim; done")
	c.as(t, "alice", "touch", "read")
	ended := func(id string) *view.Job {
		t.Helper()
		c.wait(t, id)
		return c.jobeff(t, "alice", id)
	}
	between := func(what string, n *int64, low, high int) {
		t.Helper()
		text, _ := json.Marshal(n)
		if n == nil || *n < int64(low)*MB || *n > int64(high)*MB {
			t.Errorf("%s is %s bytes, want %d to %d MB", what, text, low, high)
		}
	}

	d := ended(cached)
	between("what the job with a large file needed", d.NeededMemory, own, own*3/2)
	between("… at least", d.NeededMemoryLow, own, own*3/2)
	// a machine that is short of memory drops file cache before the job's limit is near
	between("… at most", d.NeededMemoryHigh, own+file/4, given*21/20)
	between("its file cache", d.CacheMemory, file/4, file*6/5)
	between("its largest process", d.LargestProcess, own, own*3/2)
	if d.MemorySamples == nil || *d.MemorySamples < 20 || d.MemoryFrom != "cgroup" || d.MemoryFull == nil || *d.MemoryFull+*d.MemoryKills > 0 || d.PageFaults == nil {
		t.Errorf("%+v", d.Usage)
	}
	if text := c.as(t, "alice", "jobeff", "--full", cached); !strings.Contains(text, "without file cache") {
		t.Error(text)
	}

	d = ended(shared)
	between("what the job in /dev/shm needed", d.NeededMemory, 400, 600)

	d = ended(killed)
	if d.MemoryKills == nil || *d.MemoryKills != 1 || d.MemoryFull == nil || *d.MemoryFull == 0 {
		t.Errorf("killed: %+v", d.Usage)
	}
	if text := c.as(t, "alice", "jobeff", "--full", killed); !strings.Contains(text, "ran out. It held at most") {
		t.Error(text)
	}

	if version2 { // systemd moves Slurm's daemons itself
		return
	}
	slow := "/sys/fs/cgroup/cpu/slow"
	c.exec(t, "n1", "sh", "-c", "mkdir "+slow+" && echo 10000 >"+slow+"/cpu.cfs_quota_us && cat /run/slurmd.pid >"+slow+"/cgroup.procs")
	loops := c.submit(t, "alice", "for i in $(seq 8); do timeout 3 sh -c 'while :; do :; done' & done; wait", "-n1")
	until(t, "what Slurm counted of job "+loops, func() bool {
		d = ended(loops)
		return d.TotalCPU != nil
	})
	if d.ThrottledTime == nil || *d.ThrottledTime == 0 || d.Cause == nil || *d.Cause != "throttled" || !strings.Contains(*d.CauseText, "A limit of CPU time") {
		t.Errorf("throttled: %+v", d.Usage)
	}
}
