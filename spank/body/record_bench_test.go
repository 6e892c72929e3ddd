package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkRecord is what a record's file system of its own costs a job: prolog and epilog of jobs
// that are measured, in turn with jobs that are not, with 0 and with 1,000 other jobs on the
// node. Both start the same processes. Each figure is a median: of the CPU time of a job that is
// not measured, of what a measured one takes more (paired differences), and of the same on the
// clock. kernel-KiB/job is the kernel's memory for each of the 1,000 jobs, their notes included.
func BenchmarkRecord(b *testing.B) {
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprint("others=", others), func(b *testing.B) {
			n := newNode(b)
			before := kernelKiB(b)
			for job := range others {
				n.prolog(10_000 + job)
			}
			taken := kernelKiB(b) - before
			var off, more [2][]float64
			for job := 1; b.Loop(); job += 2 {
				with, without := n.life(job, true), n.life(job+1, false)
				for i := range with {
					off[i], more[i] = append(off[i], without[i]), append(more[i], with[i]-without[i])
				}
			}
			for i, clock := range []string{"cpu-ms", "wall-ms"} {
				slices.Sort(off[i])
				slices.Sort(more[i])
				b.ReportMetric(off[i][len(off[i])/2], clock)
				b.ReportMetric(more[i][len(more[i])/2], "record-"+clock)
			}
			b.ReportMetric(float64(taken)/float64(max(others, 1)), "kernel-KiB/job")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// kernelKiB is the kernel's own memory. What else the machine does shows in it.
func kernelKiB(b *testing.B) (sum int) {
	b.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var name string
		var KiB int
		if fmt.Sscan(line, &name, &KiB); name == "Slab:" || name == "Percpu:" {
			sum += KiB
		}
	}
	return sum
}

// life is what prolog and epilog of a job take, in ms: CPU time, and by the clock.
func (n *testNode) life(job int, measured bool) (ms [2]float64) {
	n.t.Helper()
	n.write(fmt.Sprintf("[measure]\nenabled = %v\n", measured), 0o644, "etc", "jobeff.toml")
	for _, hook := range []string{"job_prolog", "job_epilog"} {
		cmd := n.command(script(job, hook)...)
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			n.t.Fatalf("%s of job %d: %v: %s", hook, job, err, out)
		}
		ms[1] += time.Since(begin).Seconds() * 1e3
		ms[0] += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() * 1e3
	}
	return ms
}
