package test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/report/view"
)

// driver gives a node a library that stands in for NVIDIA's (plugins/nvml.c), with two GPUs that Slurm calls 0 and 1. They
// say of processes what jobs write into accounts.
func driver(t *testing.T, c *cluster, node, accounts, lines string) {
	t.Helper()
	source, err := filepath.Abs("plugins/nvml.c")
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`set -e
mkdir -p /usr/lib/nvml
gcc -std=gnu11 -O1 -fPIC -shared -o /usr/lib/nvml/libnvidia-ml.so.1 '%s' -ldl
cat >/usr/lib/nvml/gpus
echo /usr/lib/nvml >/etc/ld.so.conf.d/nvml.conf
ldconfig
mountpoint -q /proc/driver || mount -t tmpfs tmpfs /proc/driver
mkdir -p /proc/driver/nvidia
touch /proc/driver/nvidia/version
install -m 666 /dev/null %s`, source, accounts)
	c.must(t, lines+"gpu GPU-00 0 1\ninclude "+accounts+"-0\ngpu GPU-11 1 2\ninclude "+accounts+"-1\n", "exec", node, "sh", "-c", script)
}

// TestGPUsOfJobs: what the driver counted of a job's GPUs is on the job, from the real epilog on, also if its processes
// were killed. A job without GPUs on such a node says nothing of them, nor does one whose driver hangs lose its report.
func TestGPUsOfJobs(t *testing.T) {
	const accounts = "/tmp/accounts"
	// a process of 60 s, half of the time with a kernel, on each GPU of the job; it is killed
	const work = `start=$(date +%%s%%6N); sleep 1000 & child=$!; sleep 1; kill -9 $child
for gpu in ${SLURM_JOB_GPUS//,/ }; do echo "process $child $start %d 60 5000 4096 0" >>` + accounts + `-$gpu; done`
	driver(t, site, "n3", accounts, "")
	run := func(script string, args ...string) *view.Job {
		t.Helper()
		id := site.run(t, "alice", script, append([]string{"-n1", "-w", "n3"}, args...)...)
		return site.jobeff(t, "alice", id)
	}
	d := run(fmt.Sprintf(work, 1000), "--gpus=2")
	u := d.GPUUse
	if u == nil || u.GPUs != 2 || u.Known != 2 || u.Processes != 2 || u.Life != 2 || u.Busy != 1 || u.DeviceParallelEfficiency == nil || *u.DeviceParallelEfficiency != u.Busy/u.Time {
		t.Errorf("two GPUs: %+v", u)
	}
	if text := site.as(t, "alice", "jobeff", d.ID); !strings.Contains(text, "a kernel ran") {
		t.Errorf("the text does not tell of GPUs:\n%s", text)
	}
	if d = run("srun true"); d.GPUUse != nil {
		t.Errorf("without GPUs: %+v", d.GPUUse)
	}
	gpusOfOtherJobs(t, accounts)
	for name, c := range map[string]struct{ lines, why string }{
		"accounting is off": {"", "accounting"},
		"it hangs":          {"hang\n", "hangs"},
	} {
		lines := c.lines
		if lines == "" {
			lines = "gpu GPU-22 0 1\noff\n"
		}
		driver(t, site, "n3", accounts, lines)
		begin := time.Now()
		d := run(fmt.Sprintf(work, 1000), "--gpus=1")
		t.Logf("%s: the job and its epilog took %v", name, time.Since(begin).Round(time.Millisecond))
		if u := d.GPUUse; u == nil || u.Known != 0 || u.Unknown[c.why] != 1 {
			t.Errorf("%s: %+v", name, u)
		}
	}
	site.wantInService(t, "n3")
}

// gpusOfOtherJobs: jobs that are not one script on one node with GPUs of its own. They run beside each other.
func gpusOfOtherJobs(t *testing.T, accounts string) {
	driver(t, site, "n2", accounts, "")
	// a process of 1 s on the GPU of $gpu, with a kernel for so many 1/10000 of it
	const process = `echo "process %s $(date +%%s%%6N) 1000 60 %d 4096 0" >>%s-$gpu`
	own := `gpu=${SLURM_STEP_GPUS:-$SLURM_JOB_GPUS}; `
	// one rank has half of the other's, and is killed
	twoNodes := site.submit(t, "alice", "srun sh -c '"+own+"busy=5000; [ $SLURM_PROCID = 0 ] && busy=10000; "+
		strings.Replace(fmt.Sprintf(process, "$$", 0, accounts), "60 0", "60 $busy", 1)+"; sleep 1.1; [ $SLURM_PROCID = 0 ] || kill -9 $$'", "-N2", "-n2", "--gpus-per-node=1", "-w", "n[2-3]")
	array := site.submit(t, "alice", own+fmt.Sprintf(process, "$$", 5000, accounts)+"; sleep 1.1", "-n1", "-w", "n3", "--gpus=1", "--array=1-2")
	// lives one after the other, 1 ms each
	short := site.submit(t, "alice", own+`seq 0 999 | sed "s/.*/& $(date +%s%6N)/" | awk '{ printf "process %d %.0f 1 1 5000 4096 0\n", 100000 + $1, $2 + 1000 * $1 }' >>`+accounts+`-$gpu; sleep 1.1`, "-n1", "-w", "n2", "--gpus=1")
	var sharing [2]string
	for i, busy := range []int{2500, 7500} { // each waits for the other, and has a process that is no task
		sharing[i] = site.submit(t, "alice", "srun sh -c 'gpu=0; : >"+accounts+"-meets-$SLURM_JOB_ID; until [ $(ls "+accounts+"-meets-* | wc -l) = 2 ]; do sleep 0.1; done; "+
			fmt.Sprintf(process, "$$", busy, accounts)+"; "+fmt.Sprintf(process, "20000"+fmt.Sprint(i), busy, accounts)+"; sleep 1.1'", "-n1", "-w", "n3", "--gres=shard:1")
	}
	for name, c := range map[string]struct {
		id              string
		gpus, processes int
		busy            float64
	}{
		"two nodes":         {twoNodes, 2, 2, 1.5},
		"a task of two":     {array + "_1", 1, 1, .5},
		"the other task":    {array + "_2", 1, 1, .5},
		"1,000 processes":   {short, 1, 1000, .5},
		"a shared GPU":      {sharing[0], 1, 1, .25},
		"the other sharing": {sharing[1], 1, 1, .75},
	} {
		site.wait(t, strings.Split(c.id, "_")[0])
		d := site.jobeff(t, "alice", c.id)
		u := d.GPUUse
		if u == nil || u.GPUs != c.gpus || u.Known != c.gpus || u.Processes != c.processes || u.Busy != c.busy || len(u.List) != c.gpus {
			t.Errorf("%s: %+v", name, u)
		} else if c.id == twoNodes && (*u.DeviceLoadBalance != .75 || u.List[0].Node != "n3" || *u.List[0].Busy != .5 || u.List[1].Node != "n2") {
			t.Errorf("%s: load balance %v of %+v", name, *u.DeviceLoadBalance, u.List)
		}
	}
	if text := site.as(t, "alice", "jobeff", "--full", twoNodes); !strings.Contains(text, "GPUs: load balance 0.75") {
		t.Errorf("the text does not list GPUs:\n%s", text)
	}
}
