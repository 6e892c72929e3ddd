package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jobeff/report/view"
	"jobeff/test/trial"
)

// cluster is a throwaway Slurm with jobeff installed; see cluster.sh.
type cluster struct {
	dir string

	mu    sync.Mutex
	queue map[string]job // by raw job id, what squeue said last
	asked time.Time      // when
}

// job is one line of squeue, which shows an ended job for minutes.
type job struct{ id, arrayJob, hetJob, state string }

// newCluster starts a cluster; the environment's CLUSTER_* choose its kind. name tells the
// clusters of one test process apart.
func newCluster(name string, nodes int, env ...string) (*cluster, error) {
	if len(packages()) != 3 {
		return nil, fmt.Errorf("%d packages match build/jobeff*_*.deb, and not 3: run `make packages`", len(packages()))
	}
	c := &cluster{dir: fmt.Sprint(clusterPrefix, os.Getpid(), name)}
	cmd := c.command(append([]string{"up", fmt.Sprint(nodes)}, packages()...)...)
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.keepLogs()
		c.down()
		return nil, fmt.Errorf("cluster.sh up: %w\n%s", err, out)
	}
	return c, nil
}

// packages are the debs that are installed: jobeff, jobeff-node and jobeffd.
func packages() []string {
	debs, _ := filepath.Glob("../build/jobeff*_*.deb")
	return debs
}

func (c *cluster) down() {
	if out, err := c.command("down").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cluster.sh down: %v\n%s", err, out)
	}
}

func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := exec.Command("./cluster.sh", args...)
	cmd.Env = append(os.Environ(), "CLUSTER_DIR="+c.dir)
	return cmd
}

// result is what a command left behind.
type result struct {
	stdout, stderr string
	code           int
}

// try runs cluster.sh with args and this standard input.
func (c *cluster) try(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := c.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// must is try for a command that has to succeed; it returns standard output.
func (c *cluster) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := c.try(t, stdin, args...)
	if r.code != 0 {
		t.Fatalf("%s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// as runs a command as user on ctl, in the user's home.
func (c *cluster) as(t *testing.T, user string, args ...string) string {
	t.Helper()
	return c.must(t, "", append([]string{"as", user}, args...)...)
}

// exec runs a command as root on a node.
func (c *cluster) exec(t *testing.T, node string, args ...string) string {
	t.Helper()
	return c.must(t, "", append([]string{"exec", node}, args...)...)
}

// home is user's home, the same path on the machine and on every node.
func (c *cluster) home(user string) string { return filepath.Join(c.dir, "home", user) }

// submit gives a script to sbatch as user and returns the job's id. The output goes to a file
// named after the test (see output).
func (c *cluster) submit(t *testing.T, user, script string, args ...string) string {
	t.Helper()
	args = append([]string{"as", user, "sbatch", "--parsable", "--output=" + c.outputFile(t, user), "--open-mode=append"}, args...)
	if strings.Contains(script, "mpirun.openmpi") {
		// one mpirun that ends removes the folder that another of the same user has just found
		script = "export OMPI_MCA_orte_tmpdir_base=/tmp/ompi-$SLURM_JOB_ID\n" + script
	}
	return strings.TrimSpace(c.must(t, "#!/bin/bash\n"+script, args...))
}

// run submits a job and waits for its end.
func (c *cluster) run(t *testing.T, user, script string, args ...string) string {
	t.Helper()
	id := c.submit(t, user, script, args...)
	c.wait(t, id)
	return id
}

// outputFile is where a job of this test writes, as sbatch takes it.
func (c *cluster) outputFile(t *testing.T, user string) string {
	return filepath.Join(c.home(user), strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())+"-%j.out")
}

// output is what the batch job has written so far.
func (c *cluster) output(t *testing.T, user, id string) string {
	t.Helper()
	b, err := os.ReadFile(strings.ReplaceAll(c.outputFile(t, user), "%j", id))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// slow is how many times longer than usual all takes here, as in test/vm's machines.
var slow = flag.Int("slow", 1, "how many times `longer` than usual all takes")

// pause is how long a test waits before it asks again.
func pause() time.Duration { return time.Duration(*slow) * 200 * time.Millisecond }

// patience is how often a test asks, with pauses, for anything except a job's own work.
const patience = 900

// until calls ready until it is true; what says what the test waits for.
func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	trial.Until(t, what, patience, pause(), ready)
}

// squeue lists all jobs, ended ones too. The tests share one answer for a moment.
func (c *cluster) squeue(t *testing.T) map[string]job {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) < pause() {
		return c.queue
	}
	out := c.exec(t, "ctl", "squeue", "-h", "-r", "-t", "all", "-O", "JobID:20,ArrayJobID:20,HetJobID:20,State:20")
	c.queue, c.asked = map[string]job{}, time.Now()
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 4 {
			c.queue[f[0]] = job{f[0], f[1], f[2], f[3]}
		} else if len(f) == 3 { // not a het job
			c.queue[f[0]] = job{id: f[0], arrayJob: f[1], state: f[2]}
		}
	}
	return c.queue
}

// parts are the jobs behind an id: itself, the tasks of an array, or the components of a het
// job.
func (c *cluster) parts(t *testing.T, id string) []job {
	t.Helper()
	var parts []job
	for _, j := range c.squeue(t) {
		if j.id == id || j.arrayJob == id || j.hetJob == id {
			parts = append(parts, j)
		}
	}
	return parts
}

// inState says whether all jobs behind an id are in one of states.
func (c *cluster) inState(t *testing.T, id string, states ...string) bool {
	t.Helper()
	parts := c.parts(t, id)
	for _, j := range parts {
		if !strings.Contains(" "+strings.Join(states, " ")+" ", " "+j.state+" ") {
			return false
		}
	}
	return len(parts) > 0
}

var ended = []string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}

// wait waits for the end of a job and all its parts, with their epilogs. If the end does not
// come, it shows what the job has written.
func (c *cluster) wait(t *testing.T, id string) {
	t.Helper()
	begin, asked, done := time.Now(), 0, false
	defer func() {
		if !done {
			t.Logf("job %s after %v: %v\n%s", id, time.Since(begin).Round(time.Second), c.parts(t, id), c.outputs(id))
			c.try(t, "", "exec", "ctl", "scancel", id) // other tests need its processors
		}
	}()
	until(t, "the end of job "+id, func() bool {
		if asked++; asked > hangs && asked%50 == 0 {
			c.wantNoHang(t, id)
		}
		done = c.inState(t, id, ended...)
		return done
	})
}

// hangs: an MPI program that goes on after so many looks at it, with their pauses, hangs. The tests' programs
// take seconds, or are killed within a minute.
const hangs = 375

// wantNoHang fails, with the stacks of the job's ranks, if one is older than hangs pauses.
func (c *cluster) wantNoHang(t *testing.T, id string) {
	t.Helper()
	script, err := filepath.Abs("stacks.sh")
	if err != nil {
		t.Fatal(err)
	}
	stacks := ""
	for _, part := range c.parts(t, id) {
		for n := 1; n <= nodes; n++ {
			r := c.try(t, "", "exec", fmt.Sprint("n", n), script, part.id, fmt.Sprint(int((hangs * pause()).Seconds())))
			if r.stdout != "" {
				stacks += fmt.Sprintf("n%d: %s", n, r.stdout)
			}
		}
	}
	if stacks != "" {
		t.Fatalf("job %s hangs:\n%s", id, stacks)
	}
}

// sacct is what Slurm's accounting says of an ended job. It hears of the end later than squeue does,
// and says RUNNING until then.
func (c *cluster) sacct(t *testing.T, id, fields string) (said string) {
	t.Helper()
	until(t, "the end of job "+id+" in sacct", func() bool {
		line := c.exec(t, "ctl", "sacct", "-nXPj", id, "-o", "End,"+fields)
		end, rest, found := strings.Cut(strings.TrimSpace(line), "|")
		said = rest
		return found && end != "Unknown"
	})
	return said
}

// outputs is all that a job has written, whatever its test and user. It is for messages.
func (c *cluster) outputs(id string) string {
	var all strings.Builder
	files, _ := filepath.Glob(c.home("*") + "/*-" + id + ".out")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			all.Write(b)
		}
	}
	return all.String()
}

// wantInService fails where a node takes no jobs. A job that just ended, or whose end Slurm still
// sees to, does no harm.
func (c *cluster) wantInService(t *testing.T, node string) {
	t.Helper()
	state := strings.TrimSpace(c.exec(t, "ctl", "sinfo", "-hN", "-n", node, "-o", "%t"))
	if !slices.Contains([]string{"idle", "mix", "alloc", "comp"}, state) {
		t.Errorf("%s is %s", node, state)
	}
}

func (c *cluster) waitRunning(t *testing.T, id string) {
	t.Helper()
	until(t, "the start of job "+id, func() bool { return c.inState(t, id, "RUNNING") })
}

// jobeff asks as user until all nodes of the job have reported, and sacct has told how it
// ended.
func (c *cluster) jobeff(t *testing.T, user, id string) *view.Job {
	t.Helper()
	var last result
	var doc *view.Job
	defer func() {
		if t.Failed() {
			t.Logf("jobeff %s: exit %d\n%s%s", id, last.code, last.stdout, last.stderr)
		}
	}()
	c.untilReported(t, "jobeff's data of job "+id, func() bool {
		last = c.try(t, "", "as", user, "jobeff", "--json", id)
		doc = new(view.Job)
		return last.code == 0 && json.Unmarshal([]byte(last.stdout), doc) == nil && complete(doc)
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("job %s wrote %.2000s\njobeff:\n%s", id, c.output(t, user, id), last.stdout)
		}
	})
	return doc
}

// untilReported is until. A node sends a report that the server did not take in time when its next
// job ends, or when jobeff-ingest.timer runs, each minute. These nodes have no systemd.
func (c *cluster) untilReported(t *testing.T, what string, ready func() bool) {
	t.Helper()
	sent := time.Now()
	until(t, what, func() bool {
		if time.Since(sent) > time.Minute {
			sent = time.Now()
			for n := range nodes {
				c.try(t, "", "exec", fmt.Sprint("n", n+1), "jobeff-ingest", "send")
			}
		}
		return ready()
	})
}

func complete(d *view.Job) bool {
	word, _, _ := strings.Cut(d.State, " ") // "CANCELLED by 20001"
	return strings.Contains(strings.Join(ended, " "), word) && word != "" &&
		d.NodesReported > 0 && d.NodesReported == d.AllocNodes && isMerged(d)
}

// isMerged tells that all reports that came are in the figures.
func isMerged(d *view.Job) bool {
	return !strings.Contains(d.NoData, "being merged") && !warned(d, "merging")
}

// list is what `jobeff --json` lists of the user's jobs of today.
func (c *cluster) list(t *testing.T, user string) []view.Job {
	t.Helper()
	var all struct {
		Jobs []view.Job
		More bool
	}
	out := c.as(t, user, "jobeff", "--json", "-S", "-1days", "--limit", "10000")
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("jobeff --json: %v\n%s", err, out)
	}
	if all.More {
		t.Fatal("the list is cut: ask for more")
	}
	return all.Jobs
}
