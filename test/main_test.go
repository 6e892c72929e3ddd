// Package test is the end of the flow. It runs jobeff as a site does: installed from its package
// into a real Slurm of several nodes (cluster.sh). It checks what ordinary users see. Nothing
// comes after it, and nothing imports it.
package test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// site is the cluster that the tests share.
var site *cluster

// nodes is how many nodes it has; each has four CPUs.
const nodes = 3

// TestMain lets more tests run at a time than the machine has CPUs, since they mostly wait for
// Slurm. All of them need Slurm, so -short runs none.
func TestMain(m *testing.M) {
	flag.Set("test.parallel", "6")
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped with -short: these tests start a cluster")
		return
	}
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	sweep()
	c, err := newCluster("", nodes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		return 1
	}
	site = c
	defer c.down()
	downOnSignal(c)
	code := m.Run()
	if code != 0 {
		c.keepLogs()
	}
	return code
}

// clusterPrefix comes before the test process's pid, so that two test runs never meet.
const clusterPrefix = "/var/tmp/jobeff-e2e-"

// sweep removes what killed test runs have left.
func sweep() {
	dirs, _ := filepath.Glob(clusterPrefix + "*")
	for _, dir := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(dir, clusterPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && syscall.Kill(n, 0) == syscall.ESRCH {
			(&cluster{dir: dir}).down()
		}
	}
}

func downOnSignal(c *cluster) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-caught
		c.down()
		os.Exit(1)
	}()
}

// keepLogs copies the servers' logs to build/e2e-logs, since down removes them.
func (c *cluster) keepLogs() {
	kept, _ := filepath.Abs("../build/e2e-logs")
	os.RemoveAll(kept)
	if out, err := exec.Command("cp", "-r", filepath.Join(c.dir, "log"), kept).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "test: logs not kept: %s\n", out)
		return
	}
	fmt.Fprintln(os.Stderr, "test: the cluster's logs are in", kept)
}
