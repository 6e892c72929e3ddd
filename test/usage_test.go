package test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/report/view"
)

// usageOfSacct is what sacct says of a job: the CPU efficiency as seff computes it, and the bytes
// of its largest step.
func usageOfSacct(t *testing.T, id string) (cpu float64, largest int64) {
	t.Helper()
	out := site.exec(t, "ctl", "sacct", "-nP", "--noconvert", "-j", id, "-o", "JobID,ElapsedRaw,AllocCPUS,TotalCPU,TRESUsageInTot")
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if f[0] == id {
			elapsed, _ := strconv.ParseFloat(f[1], 64)
			cpus, _ := strconv.ParseFloat(f[2], 64)
			var minutes, seconds float64
			if n, err := fmt.Sscanf(f[3], "%f:%f", &minutes, &seconds); n != 2 {
				t.Fatalf("TotalCPU %q: %v", f[3], err)
			}
			cpu = (60*minutes + seconds) / (elapsed * cpus)
		}
		if _, after, is := strings.Cut(f[4], "mem="); is {
			n, _, _ := strings.Cut(after, ",")
			bytes, _ := strconv.ParseInt(n, 10, 64)
			largest = max(largest, bytes)
		}
	}
	return cpu, largest
}

const (
	burn = `timeout %d sh -c "while :; do :; done"; `
	hold = `python3 -c "import time; x = bytearray(40 << 20); time.sleep(6)"; true`
)

// usage waits for what Slurm counted of a job.
func usage(t *testing.T, id string) (d *view.Job) {
	t.Helper()
	until(t, "what Slurm counted of job "+id, func() bool {
		d = site.jobeff(t, "alice", id)
		return d.TotalCPU != nil
	})
	return d
}

// TestUsageAsSacct: the CPU efficiency and Slurm's memory follow from sacct's own figures, on several nodes
// and in arrays. If two steps run side by side, both count; seff counts one.
func TestUsageAsSacct(t *testing.T) {
	t.Parallel()
	work := fmt.Sprintf(burn, 2) + hold
	for _, c := range []struct {
		name, script string
		args         []string
		task         string
		steps        float64 // largest steps that make up the memory, at least and with some room
	}{
		{"srun on two nodes with GPUs", "srun sh -c '" + work + "'", []string{"-N2", "-n2", "--gpus-per-node=1"}, "", 1},
		{"a task of an array", work, []string{"-n1", "--array=1-2"}, "_2", 1},
		{"steps side by side", "srun -n1 --exact sh -c '" + hold + "' & srun -n1 --exact sh -c '" + hold + "' & wait", []string{"-N1", "-n2"}, "", 2},
		{"mpirun on two nodes", "timeout 300 mpirun.openmpi -np 2 --map-by node sh -c '" + work + "'", []string{"-N2", "-n2"}, "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id := site.run(t, "alice", c.script, c.args...) + c.task
			d := usage(t, id)
			cpu, largest := usageOfSacct(t, id)
			if d.CPUEfficiency == nil || math.Abs(*d.CPUEfficiency-cpu) > 0.001 || cpu == 0 && c.steps == 1 {
				t.Errorf("CPU efficiency %v, sacct's figures give %g", d.CPUEfficiency, cpu)
			}
			if d.MemoryEfficiency == nil {
				t.Fatalf("no memory efficiency of %v in %v", d.MemoryUsed, d.MemoryAllocated)
			}
			ratio := float64(*d.MemoryUsed) / float64(largest)
			if low, high := []float64{0, 0.999, 1.5}[int(c.steps)], c.steps+0.5; ratio < low || ratio > high || largest < 40<<20 {
				t.Errorf("%d bytes at once, the largest step %d: a ratio of %.2f, want %g to %g", *d.MemoryUsed, largest, ratio, low, high)
			}
			if want := float64(*d.NeededMemory) / float64(*d.MemoryAllocated); math.Abs(*d.MemoryEfficiency-want) > 1e-9 || want > 1 || *d.NeededMemory < 40<<20 {
				t.Errorf("memory efficiency %g, want %g", *d.MemoryEfficiency, want)
			}
			if gpus := strings.Count(strings.Join(c.args, " "), "gpus") * 2; d.GPUs != gpus {
				t.Errorf("%d GPUs (%s), want %d", d.GPUs, d.TRES, gpus)
			}
		})
	}
}

// askMetrics prints what jobeffd answers Prometheus.
const askMetrics = `import socket
s = socket.socket(socket.AF_UNIX)
s.connect("/run/jobeffd/jobeffd.sock")
s.sendall(b"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n")
print(s.makefile().read())`

// TestCoordinator: the coordinator of an account sees its jobs once sacctmgr knows them as such,
// and no other jobs. No one else sees those. Prometheus is told what the account used.
func TestCoordinator(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"add account lab", "add user alice account=lab"} {
		site.exec(t, "ctl", append([]string{"sacctmgr", "-i"}, strings.Fields(args)...)...)
	}
	mine := site.run(t, "alice", "srun sleep 2", "-A", "lab")
	other := site.run(t, "alice", "srun true")
	d := site.jobeff(t, "alice", mine)
	site.jobeff(t, "alice", other)
	used := fmt.Sprintf("jobeff_used_core_seconds_total{account=\"lab\",partition=\"main\"} %v\n", float64(d.AllocCPUs)*d.JobElapsed)
	until(t, used, func() bool { return strings.Contains(site.exec(t, "ctl", "python3", "-c", askMetrics), used) })
	if r := site.try(t, "", "as", "bob", "jobeff", mine); r.code == 0 {
		t.Fatalf("bob sees alice's job: %s", r.stdout)
	}
	digest := func(args ...string) result {
		return site.try(t, "", append([]string{"as", "bob", "jobeff", "digest", "--json"}, args...)...)
	}
	if r := digest(); r.code == 0 {
		t.Errorf("bob, who coordinates nothing, gets a digest: %s", r.stdout)
	}
	site.exec(t, "ctl", "sacctmgr", "-i", "add", "coordinator", "account=lab", "names=bob")
	until(t, "the coordinator to see a job of their account", func() bool {
		return site.try(t, "", "as", "bob", "jobeff", mine).code == 0
	})
	if r := site.try(t, "", "as", "bob", "jobeff", other); r.code == 0 {
		t.Errorf("bob sees a job of another account: %s", r.stdout)
	}
	got := strings.Fields(site.as(t, "bob", "jobeff", "-a", "-A", "lab,proj", "-u", "alice", "-nPo", "jobid"))
	if len(got) != 1 || got[0] != mine {
		t.Errorf("bob lists %v, want %s", got, mine)
	}
	for line := range strings.Lines(site.as(t, "bob", "jobeff", "-a", "-nPo", "jobid,user,account")) {
		if f := strings.Split(strings.TrimSpace(line), "|"); f[1] == "alice" && f[2] != "lab" {
			t.Errorf("bob's list shows %v", f)
		}
	}
	year, week := time.Now().ISOWeek()
	until(t, "the coordinator's digest to count that job alone", func() bool {
		r := digest("--week", fmt.Sprintf("%d-W%02d", year, week))
		return r.code == 0 && strings.Contains(strings.Join(strings.Fields(r.stdout), ""), `"accounts":["lab"],"total":{"jobs":1,`)
	})
	if r := digest("-A", "proj"); r.code == 0 {
		t.Errorf("bob gets the digest of another account: %s", r.stdout)
	}
	if log := site.exec(t, "ctl", "cat", site.dir+"/log/jobeffd.log"); !strings.Contains(log, `"form":"json"`) {
		t.Errorf("sacct was not read as JSON:\n%s", log)
	}
}

// nasty are names for fault 32 of FAULTS.md.
var nasty = []string{"=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\x1b[31mred\x1b]0;title\x07", "a\r\nb\n99|99|COMPLETED", `"quo'te\`,
	"\u202egnp.exe", "bad\xff\xfeutf8", "%s%n", "@SUM(1)"}

// TestHostileNames: any job name comes through a real Slurm harmlessly. Every line and column
// stays in its place.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for i, name := range nasty {
		id := site.run(t, "bob", "srun true", "-J", name, "-n1")
		site.jobeff(t, "bob", id)
		for _, args := range [][]string{{"jobeff", id}, {"jobeff", "--full", id}, {"jobeff", id, "-nPo", "jobid,jobname,user"}, {"jobeff", id, "-o", "jobname%30,user"}, {"jobeff", "--json", id}} {
			out := site.as(t, "bob", args...)
			for _, b := range []byte(out) {
				if b != '\n' && (b < ' ' || b >= 0x7f) {
					t.Errorf("name %d, %v: byte %#x in %q", i, args[1:], b, out)
					break
				}
			}
			if args[len(args)-1] == "jobid,jobname,user" && (strings.Count(out, "\n") != 1 || strings.Count(out, "|") != 2 || !strings.HasSuffix(out, "|bob\n")) {
				t.Errorf("name %d: %q", i, out)
			}
			if args[1] == "--json" && json.Unmarshal([]byte(out), new(view.Job)) != nil {
				t.Errorf("name %d: no JSON: %q", i, out)
			}
		}
	}
}
