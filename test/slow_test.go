package test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/store"
	slownodes "jobeff/policy/slow"
)

// A node gets slowQuota of a CPU for each that it uses. Below 0.95 a job says that it lacked CPUs, and then nothing
// of its node. Rounds of jobs on four nodes, two at once, each on a CPU of its own, take 100 minutes.
const (
	slowQuota  = 0.965
	slowRounds = 36
	slowJobs   = 80 * time.Second // slow.Of takes no job that computes for less than a minute
)

// TestSlowNode: of four nodes, one has a quota of CPU time. Of the jobs of two users, it alone is named.
// The jobs end within two hours; they are told to the watch as if each round were on a day of its own.
func TestSlowNode(t *testing.T) {
	onlyInApps(t, "100 minutes")
	c, err := newCluster("-slow", 4)
	if err != nil {
		t.Fatal(err)
	}
	defer c.down()
	loop := build(t, c, usual.cc, "usefulloop.c")
	n := calibrate(t, c, loop)
	c.exec(t, "n2", "sh", "-c", fmt.Sprintf(`cd /sys/fs/cgroup/cpu && mkdir slow && echo 100000 >slow/cpu.cfs_period_us && echo %d >slow/cpu.cfs_quota_us && for p in $(pgrep -x slurmd); do echo $p >slow/cgroup.procs; done`, int(slowQuota*100000)))

	round := map[string]int{} // by job id
	pairs := [][][2]int{{{1, 2}, {3, 4}}, {{1, 3}, {2, 4}}, {{1, 4}, {2, 3}}}
	for i := range slowRounds {
		user := []string{"alice", "bob"}[i%2]
		for _, pair := range pairs[i%len(pairs)] {
			var ids []string
			for cpu, node := range pair {
				id := c.submit(t, user, fmt.Sprintf("%staskset -c %d %s %d", srun(t, usual), (cpu+i)%2, loop, n), "-n1", "-w", fmt.Sprint("n", node))
				round[id], ids = i, append(ids, id)
			}
			for _, id := range ids {
				c.wait(t, id)
			}
		}
	}
	for id, i := range round {
		c.jobeff(t, []string{"alice", "bob"}[i%2], id)
	}

	copied := filepath.Join(c.home("alice"), "copy.db")
	until(t, "what all jobs say of their nodes", func() bool {
		os.Remove(copied)
		c.exec(t, "ctl", "sqlite3", "/var/lib/jobeff/jobeff.db", ".backup "+copied)
		return len(observed(t, copied)) == len(round)
	})
	watch, sum := slownodes.New(), map[string]float64{}
	began := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	for i, o := range observed(t, copied) {
		o.At = began.Add(time.Duration(i/4) * 24 * time.Hour)
		watch.Add(o)
		sum[o.Machine.Node] += o.Value / slowRounds
	}
	for node, mean := range sum {
		t.Logf("%s: %.2f s of useful time in the mean", node, math.Exp(mean))
	}
	found := watch.Look(began.Add(slowRounds * 24 * time.Hour))
	if len(found) != 1 || found[0].Node != "n2" {
		t.Fatalf("slow are %+v, want n2 alone", found)
	}
	f := found[0]
	t.Logf("n2 is slower: %.3f times, %.3f to %.3f, of %d jobs; its quota makes 1 / %v = %.3f", f.Slower, f.Low, f.High, f.Jobs, slowQuota, 1/slowQuota)
}

// observed is what the jobs of a database say of their nodes.
func observed(t *testing.T, database string) (all []slownodes.Observation) {
	t.Helper()
	db, err := store.OpenBeside(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.NodeTimes(t.Context(), time.Unix(0, 0), time.Now(), func(o slownodes.Observation) { all = append(all, o) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// calibrate is how many rounds of the loop take slowJobs of CPU time where two run at once.
func calibrate(t *testing.T, c *cluster, loop string) int {
	t.Helper()
	const rounds = 10_000_000_000
	beside := exec.Command("taskset", "-c", "1", loop, strconv.Itoa(rounds))
	if err := beside.Start(); err != nil {
		t.Fatal(err)
	}
	own := exec.Command("taskset", "-c", "0", loop, strconv.Itoa(rounds))
	if out, err := own.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
	}
	beside.Wait()
	return int(rounds * slowJobs.Seconds() / own.ProcessState.UserTime().Seconds())
}
