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
