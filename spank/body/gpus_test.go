package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// gpus gives the node a driver that stands in for NVIDIA's (test/plugins/nvml.c), and the program that asks it.
func (n *testNode) gpus() {
	n.t.Helper()
	lib := n.path("nvml")
	cache, err := filepath.Abs(n.path("ld.so.cache"))
	if err != nil {
		n.t.Fatal(err)
	}
	for _, command := range [][]string{
		{"go", "build", "-o", n.path("sender"), "../../cmd/jobeff-ingest"},
		{"mkdir", "-m", "755", lib},
		{"gcc", "-std=gnu11", "-O1", "-fPIC", "-shared", "-o", lib + "/libnvidia-ml.so.1", "../../test/plugins/nvml.c", "-ldl"},
		{"sh", "-c", fmt.Sprintf("echo 'include /etc/ld.so.conf\n%s' >%s.conf && /sbin/ldconfig -X -C %s -f %s.conf", lib, cache, cache, cache)},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			n.t.Fatalf("%v: %s", err, out)
		}
	}
	const driver = `cp "$0" /etc/ld.so.cache && mount -t tmpfs tmpfs /proc/driver && mkdir /proc/driver/nvidia && touch /proc/driver/nvidia/version`
	n.boot()
	if out, err := n.enter("sh", "-c", driver, cache).CombinedOutput(); err != nil {
		n.t.Fatalf("%v: %s", err, out)
	}
}

// onGPUs runs a job on the GPUs that Slurm numbers so. Its process had GPU 1 for 60 s, half of the time with a kernel.
// It returns how long the epilog took.
func (n *testNode) onGPUs(id int, numbers, driver string) (took time.Duration) {
	n.t.Helper()
	env := n.env
	defer func() { n.env = env }()
	if numbers != "" {
		n.env = append(n.env[:len(n.env):len(n.env)], "SLURM_JOB_GPUS="+numbers, "CUDA_VISIBLE_DEVICES="+numbers)
	}
	n.prolog(id)
	ran := fmt.Sprintf("process 77 %d 60000 60 5000 4096 0\n", time.Now().UnixMicro())
	n.write(driver+"gpu GPU-00 0 1\ngpu GPU-11 1 2\n"+ran, 0o644, "nvml", "gpus")
	n.step(id, 0)
	begin := time.Now()
	n.host(append([]string{"arg=sender=" + n.path("sender")}, script(id, "job_epilog")...)...)
	return time.Since(begin)
}

// TestGPUs: the epilog asks the driver last, whatever state that is in, and the job's report is kept.
func TestGPUs(t *testing.T) {
	n := newNode(t)
	n.gpus()
	whole := job.GPU{UUID: "GPU-11", Life: time.Minute, Busy: time.Minute / 2, Processes: 1, Memory: 4096}
	for i, c := range []struct {
		name, numbers, driver string
		want                  []job.GPU
	}{
		{"without GPUs", "", "hang\n", nil},
		{"good", "1", "", []job.GPU{whole}},
		{"slow", "1", "delay 1000\n", []job.GPU{whole}},
		{"hung", "1", "hang\n", []job.GPU{{Why: job.GPUHangs}}},
		{"good again", "0,1", "", []job.GPU{{UUID: "GPU-00", Why: job.GPUNew}, whole}},
	} {
		took := n.onGPUs(40+i, c.numbers, c.driver)
		t.Logf("%s: the epilog took %v", c.name, took.Round(time.Millisecond))
		found := false
		for _, r := range n.outbox() {
			if r.JobID != uint32(40+i) {
				continue
			}
			if found = true; fmt.Sprint(r.GPUs) != fmt.Sprint(c.want) {
				t.Errorf("%s: %+v, want %+v", c.name, r.GPUs, c.want)
			}
		}
		if !found {
			t.Errorf("%s: no report", c.name)
		}
	}
	if out, err := n.enter("umount", "/proc/driver").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := n.onGPUs(50, "1", "hang\n")
	t.Logf("without a driver: the epilog took %v", took.Round(time.Millisecond))
	for _, r := range n.outbox() {
		if r.JobID == 50 && fmt.Sprint(r.GPUs) != fmt.Sprint([]job.GPU{{Why: job.GPUNoDriver}}) {
			t.Errorf("without a driver: %+v", r.GPUs)
		}
	}
}

// TestSharedGPU: of two jobs that have one GPU, both know it, whichever begins first; others on the node do not count.
func TestSharedGPU(t *testing.T) {
	n := newNode(t)
	env := n.env
	for id, numbers := range map[int]string{60: "0,1", 61: "2", 62: ""} {
		n.env = append(env[:len(env):len(env)], "SLURM_JOB_GPUS="+numbers)
		n.prolog(id)
	}
	n.env = append(env[:len(env):len(env)], "SLURM_JOB_GPUS=1,11")
	if said := n.prolog(63); said != "" {
		t.Error(said)
	}
	for id, want := range map[int]bool{60: true, 61: false, 62: false, 63: true} {
		if got := strings.Contains(n.read("run", fmt.Sprint(id), "job"), "\ngpus_shared 1\n"); got != want {
			t.Errorf("job %d is shared: %v", id, got)
		}
	}
}
