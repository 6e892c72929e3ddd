package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/client"
	"jobeff/ingest/listing"
)

// BenchmarkLightJobs is what the end of jobs that never called MPI costs their node: their
// epilogs two at a time as fast as it goes, each a process of its own with the plugin and its
// body, and the real jobeff-ingest that some of them start, to a real jobeffd. In the end that
// has as many jobs as ended. host-ms is what the process has of it that stands in for slurmstepd.
func BenchmarkLightJobs(b *testing.B) {
	n := newNode(b)
	c := n.service()
	loop := func(hook string) (cpu time.Duration) {
		words := strings.Join(script(0, hook), " ")
		cmd := n.enter("sh", "-c", fmt.Sprintf("seq %d | xargs -P 2 -I J %s %s arg=sender=%s %s", b.N,
			n.parts+"/host", n.parts+"/jobeff_spank.so", n.path("sender"), strings.Replace(words, "job=0", "job=J", 1)))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			b.Fatalf("%v: %s", err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(b.N) }
	host, prolog := loop("exit"), loop("job_prolog")
	b.ResetTimer()
	begin := time.Now()
	epilog := loop("job_epilog")
	took := time.Since(begin)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if jobs := jobsOf(b, c); jobs == b.N {
			break
		} else if time.Now().After(deadline) {
			b.Fatalf("jobeffd has %d of %d jobs", jobs, b.N)
		}
	}
	b.StopTimer()
	senders, used := n.senders()
	b.ReportMetric(float64(b.N)/took.Seconds(), "jobs/s")
	b.ReportMetric(each(host), "host-ms")
	b.ReportMetric(each(prolog), "prolog-ms")
	b.ReportMetric(each(epilog), "epilog-ms")
	b.ReportMetric(each(used), "sender-ms")
	b.ReportMetric(float64(senders)/took.Seconds(), "senders/s")
	b.ReportMetric(0, "ns/op")
}

// service starts a jobeffd for the node, and has its sender note the CPU time that it takes.
func (n *testNode) service() *client.Client {
	for _, name := range []string{"jobeffd", "jobeff-ingest"} {
		if out, err := exec.Command("go", "build", "-o", n.path(name), "../../cmd/"+name).CombinedOutput(); err != nil {
			n.t.Fatalf("%v: %s", err, out)
		}
	}
	n.write(fmt.Sprintf("[report]\nto = %q\n[server]\nsacct_interval = \"0s\"\n", "unix:"+n.path("sock")), 0o644, "etc", "jobeff.toml")
	n.write(fmt.Sprintf("#!/bin/bash\nTIMEFORMAT='%%U %%S'\n{ time %s \"$@\"; } 2>>%s\n", n.path("jobeff-ingest"), n.path("times")), 0o755, "sender")
	d := exec.Command(n.path("jobeffd"), "--config", n.path("etc", "jobeff.toml"), "--database", n.path("db"), "--socket", n.path("sock"))
	if err := d.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { d.Process.Kill(); d.Wait() })
	c := client.NewClient("unix:"+n.path("sock"), 10*time.Second, nil)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := c.Healthy(context.Background()); err == nil {
			break
		}
		if time.Now().After(deadline) {
			n.t.Fatal("jobeffd does not start")
		}
	}
	return c
}

// senders counts the senders that have ended and adds up their CPU time.
func (n *testNode) senders() (count int, cpu time.Duration) {
	for line := range strings.Lines(n.read("times")) {
		var user, system float64
		if _, err := fmt.Sscan(line, &user, &system); err != nil {
			n.t.Fatalf("%q: %v", line, err)
		}
		count++
		cpu += time.Duration((user + system) * float64(time.Second))
	}
	return count, cpu
}

// jobsOf counts the jobs that jobeffd has.
func jobsOf(t testing.TB, c *client.Client) int {
	t.Helper()
	for n := 0; ; {
		list, err := c.Jobs(context.Background(), listing.JobQuery{Limit: 1000, Offset: n})
		if err != nil {
			t.Fatal(err)
		}
		if n += len(list.Jobs); !list.More {
			return n
		}
	}
}
