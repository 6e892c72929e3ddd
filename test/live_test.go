package test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/report/view"
)

// liveSteps are the steps of a job besides its own, as Slurm lists them.
func liveSteps(t *testing.T, c *cluster, id string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(c.exec(t, "ctl", "squeue", "-h", "-s", "-o", "%i %j", "-j", id)) {
		if strings.Contains(line, "jobeff-live") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return strings.Join(all, ", ")
}

// wantNoStep waits until no step of jobeff live is left.
func wantNoStep(t *testing.T, c *cluster, id, ending string) {
	t.Helper()
	until(t, "the end of jobeff live's step ("+ending+")", func() bool { return liveSteps(t, c, id) == "" })
}

// watching is a jobeff live that runs.
type watching struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
	out   io.ReadCloser
}

// watchLive starts one, and waits until it has shown the job.
func watchLive(t *testing.T, c *cluster, id string, args ...string) *watching {
	t.Helper()
	w := &watching{cmd: c.command(append([]string{"as", "alice", "jobeff", "live", id}, args...)...)}
	var err error
	if w.out, err = w.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewReader(w.out)
	w.until(t, "reading took")
	return w
}

// until reads until a line holds some words.
func (w *watching) until(t *testing.T, words string) {
	t.Helper()
	var seen strings.Builder
	for {
		line, err := w.lines.ReadString('\n')
		seen.WriteString(line)
		if strings.Contains(line, words) {
			return
		}
		if err != nil {
			w.cmd.Wait()
			t.Fatalf("no %q: %v\n%s", words, err, &seen)
		}
	}
}

// signalLive sends a signal to the jobeff live of a job.
func signalLive(t *testing.T, c *cluster, id string, signal syscall.Signal) {
	t.Helper()
	c.exec(t, "ctl", "sh", "-c", fmt.Sprintf("for p in $(pgrep -x jobeff); do if tr '\\0' ' ' </proc/$p/cmdline | grep -q 'live %s'; then kill -%d $p; fi; done", id, signal))
}

// TestLive: what jobeff live shows of a job that fills its nodes, and that no step of it stays, however it ends.
func TestLive(t *testing.T) {
	t.Parallel()
	c := site
	script := fmt.Sprintf("%s -n 4 %s 100000 20", usual.launch, rounds(t, c, usual))
	id := c.submit(t, "alice", script, "-N2", "--ntasks-per-node=2", "--cpus-per-task=2", "-t5")
	defer c.exec(t, "ctl", "scancel", id)
	c.waitRunning(t, id)
	var d view.Job
	until(t, "all ranks of job "+id, func() bool {
		said := c.try(t, "", "as", "alice", "jobeff", "live", "--once", "--json", id)
		d = view.Job{}
		return said.code == 0 && json.Unmarshal([]byte(said.stdout), &d) == nil && d.Ranks == 4 && d.NodesReported == 2
	})
	if !d.Running || d.AsOf.IsZero() || d.ID != id || d.User != "alice" || d.Nodes != 2 || len(d.Executions) != 1 || d.Endings["running"] != 4 {
		t.Errorf("%+v", d)
	}
	wantIdentities(t, d.Figures)
	once := c.as(t, "alice", "jobeff", "live", "--once", id)
	for _, want := range []string{"It runs. Up to ", "parallel efficiency", "so far  the last 1 s", "MPI_Allreduce", "reading took"} {
		if !strings.Contains(once, want) {
			t.Errorf("%q is not in\n%s", want, once)
		}
	}
	if said := c.try(t, "", "exec", "ctl", "jobeff", "live", "--once", id); said.code != 0 || !strings.Contains(said.stdout, "reading took") {
		t.Errorf("root, who looks as alice: exit %d, %s%s", said.code, said.stdout, said.stderr)
	}
	if said := c.try(t, "", "as", "bob", "jobeff", "live", "--once", id); said.code != 1 || !strings.Contains(said.stderr, "job "+id+" was not found") {
		t.Errorf("another user: exit %d, %s%s", said.code, said.stdout, said.stderr)
	}
	wantNoStep(t, c, id, "--once")
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		w := watchLive(t, c, id, "--every", "1s")
		if liveSteps(t, c, id) == "" {
			t.Fatal("squeue shows no step of jobeff live")
		}
		signalLive(t, c, id, end)
		w.cmd.Wait()
		wantNoStep(t, c, id, end.String())
	}
	w := watchLive(t, c, id, "--every", "1s")
	w.out.Close() // the reader of a pipe goes away
	w.cmd.Wait()
	wantNoStep(t, c, id, "closed output")

	w = watchLive(t, c, id, "--every", "1s")
	nodes := strings.Fields(c.as(t, "alice", "sh", "-c", "scontrol show hostnames $(squeue -h -o %N -j "+id+")"))
	last := nodes[len(nodes)-1]
	signalReader := func(signal string) {
		c.exec(t, last, "sh", "-c", "for p in $(pgrep -x jobeff-ingest); do if tr '\\0' ' ' </proc/$p/cmdline | grep -q ' live '; then kill -"+signal+" $p; fi; done")
	}
	signalReader("STOP")
	w.until(t, last+" has not answered since")
	signalReader("CONT")
	c.exec(t, "ctl", "scancel", id)
	w.until(t, "it has ended")
	w.cmd.Wait()
	c.wait(t, id)
	whole := c.jobeff(t, "alice", id)
	if len(whole.Executions) != 1 || len(whole.Steps) != 2 { // the script, and the launcher's daemons
		t.Errorf("%d executions, steps %v", len(whole.Executions), whole.Steps)
	}
}

// TestLiveWithout: where there are no live figures, the last report and why.
func TestLiveWithout(t *testing.T) {
	t.Parallel()
	c := site
	id := c.run(t, "alice", srun(t, usual)+rounds(t, c, usual)+" 10 5", "-N1", "-n2")
	c.jobeff(t, "alice", id)
	if said := c.try(t, "", "as", "alice", "jobeff", "live", id); said.code != 0 || !strings.HasPrefix(said.stdout, "No live figures of job "+id+": it does not run.") || !strings.Contains(said.stdout, "COMPLETED") {
		t.Errorf("exit %d, %s%s", said.code, said.stdout, said.stderr)
	}
	begun := time.Now()
	if said := c.try(t, "", "as", "alice", "jobeff", "live", "99999"); said.code != 1 || !strings.Contains(said.stderr, "job 99999 was not found") {
		t.Errorf("exit %d after %v, %s%s", said.code, time.Since(begun), said.stdout, said.stderr)
	}
}
