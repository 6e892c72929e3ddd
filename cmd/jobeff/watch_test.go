package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/cmd/cli"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/report/view"
)

// watched is the job of these tests: two nodes of two ranks each.
var watched = &job.Job{DisplayID: "7", JobID: 7, State: "RUNNING", User: "alice", Name: "melt\x1b[31m", Nodes: 2, CPUs: 4, Start: watchedAt(0)}

func watchedAt(s int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(s) * time.Second)
}

// nodeReport is the report of a node whose two ranks each computed and waited for so long.
func nodeReport(task int, at time.Time, useful, mpi time.Duration) *job.NodeReport {
	name := fmt.Sprint("n", task+1)
	return &job.NodeReport{Version: job.ReportVersion, Sequence: 1, Cluster: "test", JobID: 7, Nonce: strings.Repeat("a", 32), Node: name,
		Start: watchedAt(0), End: at, AsOf: at, Decision: "on", Processes: 2,
		Executions: []job.Execution{{Key: "pmix:7.0", KeyFrom: "pmix", Size: 4, Start: watchedAt(0), End: at, MPI: "MPICH", Executable: "/bin/melt",
			Endings: map[string]int{job.EndingRunning: 2}, Calls: []job.Call{{Name: "MPI_Allreduce\x1b[2J", Count: 10, Time: 2 * mpi}},
			Nodes: []job.NodeShare{{Node: name, Ranks: 2, RankIDs: fmt.Sprintf("%d-%d", 2*task, 2*task+1), Useful: 2 * useful, UsefulMax: useful, MPI: 2 * mpi,
				ElapsedMax: useful + mpi, ElapsedSum: 2 * (useful + mpi)}}}}}
}

// printed is what srun prints of a task's line.
func printed(t *testing.T, task int, at time.Time, edit func(*node.LiveLine)) (lines [][]byte) {
	t.Helper()
	pack := func(r *job.NodeReport) []byte {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	last := 8 * time.Second
	if task == 1 {
		last = 4 * time.Second
	}
	since := *nodeReport(task, at, last, 10*time.Second-last)
	since.Start = at.Add(-10 * time.Second)
	l := &node.LiveLine{Step: "7.3", Node: fmt.Sprint("n", task+1), CPU: 40 * time.Millisecond, SoFar: pack(nodeReport(task, at, 50*time.Second, 50*time.Second)),
		Last: pack(&since)}
	edit(l)
	var out bytes.Buffer
	if err := l.Write(&out); err != nil {
		t.Fatal(err)
	}
	for piece := range bytes.Lines(out.Bytes()) {
		lines = append(lines, fmt.Appendf(nil, "%d: %s", task, bytes.TrimSpace(piece)))
	}
	return lines
}

func asPrinted(*node.LiveLine) {}

// TestWatch: all nodes are merged when each has said something new.
func TestWatch(t *testing.T) {
	w := newWatch(watched)
	feed := func(task, second int, edit func(*node.LiveLine)) (whole bool) {
		for _, line := range printed(t, task, watchedAt(second), edit) {
			_, whole = w.add(line, watchedAt(second))
		}
		return whole
	}
	if feed(0, 100, asPrinted) || !feed(1, 100, asPrinted) {
		t.Error("whole before all have spoken, or not then")
	}
	v := w.show(watchedAt(101))
	if m := v.SoFar.Metrics; m.Parallel != .5 || m.Ranks != 4 || m.Nodes != 2 || !v.SoFar.IsRunning() || !v.SoFar.AsOf.Equal(watchedAt(100)) || v.SoFar.Elapsed != 100*time.Second {
		t.Errorf("so far: %+v", v.SoFar)
	}
	if m := v.Last.Metrics; m.Parallel != .6 || m.LoadBalance != .75 || m.Communication != .8 || v.Span != 10*time.Second {
		t.Errorf("since: %+v of %v", v.Last.Metrics, v.Span)
	}
	if v.CPU != 80*time.Millisecond || len(v.Quiet) > 0 {
		t.Errorf("it took %v; %q", v.CPU, v.Quiet)
	}
	feed(0, 110, func(l *node.LiveLine) { l.CPU += 3 * time.Millisecond })
	v = w.show(watchedAt(115)) // node 2 stays away
	if m := v.Last.Metrics; m.Parallel != .8 || m.Ranks != 2 || !v.SoFar.AsOf.Equal(watchedAt(100)) || v.CPU != 3*time.Millisecond {
		t.Errorf("without a node: %+v, as of %v", v.Last.Metrics, v.SoFar.AsOf)
	}
	if len(v.Quiet) != 1 || !strings.Contains(v.Quiet[0], "n2 has not answered since") {
		t.Errorf("%q", v.Quiet)
	}
	feed(0, 120, func(l *node.LiveLine) { l.SoFar, l.Last, l.Why = nil, nil, "there is no record\x1b[2J of it" })
	if !feed(1, 120, asPrinted) {
		t.Error("a node without a report is waited for")
	}
	if v = w.show(watchedAt(120)); len(v.Quiet) != 1 || strings.Contains(v.Quiet[0], "\x1b") || !strings.Contains(v.Quiet[0], "n1: there is no record") {
		t.Errorf("%q", v.Quiet)
	}
}

// TestWatchHostile: the user may make a node print anything.
func TestWatchHostile(t *testing.T) {
	for name, edit := range map[string]func(*node.LiveLine){
		"another job": func(l *node.LiveLine) {
			l.SoFar = bytes.ReplaceAll(l.SoFar, []byte(`"job_id":7`), []byte(`"job_id":8`))
		},
		"no report": func(l *node.LiveLine) { l.SoFar = []byte(`{}`) },
		"negative times": func(l *node.LiveLine) {
			l.SoFar = bytes.ReplaceAll(l.SoFar, []byte(`"useful_ns":`), []byte(`"useful_ns":-`))
		},
		"more than whole": func(l *node.LiveLine) {
			l.SoFar = bytes.ReplaceAll(l.SoFar, []byte(`"elapsed_max_ns":`), []byte(`"elapsed_max_ns":1,"then":`))
		},
	} {
		w := newWatch(watched)
		for _, line := range printed(t, 0, watchedAt(100), edit) {
			w.add(line, watchedAt(100))
		}
		for _, line := range [][]byte{[]byte("5: .{}"), []byte("\x1b[2J"), []byte("0: .{\"step\":")} { // no task of this step; no line
			if any, _ := w.add(line, watchedAt(100)); any {
				t.Errorf("%s: %q is taken", name, line)
			}
		}
		if v := w.show(watchedAt(100)); v.SoFar.Metrics != nil && (v.SoFar.Metrics.Parallel < 0 || v.SoFar.Metrics.Parallel > 1) {
			t.Errorf("%s: %+v", name, v.SoFar.Metrics)
		}
	}
}

// show runs a screen on what srun prints.
func show(t *testing.T, flags liveFlags, lines [][]byte) (out string, why error) {
	t.Helper()
	var b bytes.Buffer
	s := &screen{program: &program{stdout: &b, getenv: func(string) string { return "" }, now: time.Now}, flags: flags}
	from := make(chan []byte, len(lines))
	for _, line := range lines {
		from <- line
	}
	close(from)
	why = s.follow(context.Background(), newWatch(watched), from)
	return b.String(), why
}

// TestScreen: piped, there is a block for each moment, without escapes.
func TestScreen(t *testing.T) {
	moment := func(second int) [][]byte {
		return slices.Concat(printed(t, 0, watchedAt(second), asPrinted), printed(t, 1, watchedAt(second), asPrinted))
	}
	two := slices.Concat(moment(100), moment(110))
	out, why := show(t, liveFlags{every: time.Hour}, two)
	if why != nil || strings.Count(out, "Parallel efficiency") != 2 || strings.Contains(out, "\x1b") || !strings.Contains(out, "so far  the last 10 s") {
		t.Errorf("%v\n%s", why, out)
	}
	for _, line := range strings.Split(out, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	for _, want := range []string{"It runs. Up to", "MPI_Allreduce?", "n1 ", "reading took 0.080 s of CPU time from the job in the last 10 s"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out, why := show(t, liveFlags{every: time.Hour, once: true}, two); !errors.Is(why, errDone) || strings.Count(out, "Parallel efficiency") != 1 {
		t.Errorf("once: %v\n%s", why, out)
	}
	out, why = show(t, liveFlags{every: time.Hour, once: true, json: true}, two)
	var d view.Job
	if err := json.Unmarshal([]byte(out), &d); err != nil || !errors.Is(why, errDone) || !d.Running || d.ID != "7" || d.User != "alice" || *d.ParallelEfficiency != .5 || d.AllocCPUs != 4 {
		t.Errorf("%v, %v\n%s", err, why, out)
	}
	if out, why := show(t, liveFlags{every: time.Hour}, moment(100)[:1]); why != nil || out != "" {
		t.Errorf("half a line: %v\n%s", why, out)
	}
}

// TestQueued: squeue's answer decides whether there are live figures.
func TestQueued(t *testing.T) {
	const me = 1000
	line := func(state string, uid int) string {
		return fmt.Sprintf("7_2|9|%s|%d|alice|chem|main|normal|2|8|2026-11-20T13:00:00|a|b\n", state, uid)
	}
	j, err := queued(line("RUNNING", me), "7_2", me)
	if err != nil || j.JobID != 9 || j.DisplayID != "7_2" || j.Nodes != 2 || j.CPUs != 8 || j.Name != "a|b" || j.Account != "chem" || j.Start.IsZero() {
		t.Errorf("%+v, %v", j, err)
	}
	part := strings.Replace(line("RUNNING", me), "7_2|9", "7+1|8", 1)
	if j, err := queued(line("RUNNING", me)+part+line("RUNNING", me), "7+1", me); err != nil || j.JobID != 8 {
		t.Errorf("%+v, %v", j, err)
	}
	for lines, want := range map[string]string{
		"": "does not run", line("COMPLETING", me): "does not run", line("PENDING", me): "it is PENDING", line("SUSPENDED", me): "it is SUSPENDED",
		line("RUNNING", me+1): "only its owner", line("RUNNING", me) + line("RUNNING", me): "several jobs", "x": "not understood", "a|b|c|d|e|f|g|h|i|j|k|l": "not understood",
	} {
		if j, err := queued(lines, "7", me); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", lines, j, err)
		}
	}
}

// TestLiveFlags: wrong flags are an error of the command line, and nothing is started.
func TestLiveFlags(t *testing.T) {
	for args, want := range map[string]string{
		"": "takes one job", "1 2": "takes one job", "x": "is not a job id", "7.0": "leave out the step", "7 --every 10ms": "from 1s to 30m", "7 --every 2h": "from 1s to 30m", "7 --every x": "does not take",
	} {
		var out, errOut bytes.Buffer
		code := run(append([]string{"live"}, strings.Fields(args)...), func(string) string { return "" }, &out, &errOut)
		if code != cli.ExitUsage || !strings.Contains(errOut.String(), want) || out.Len() > 0 {
			t.Errorf("%q: exit %d, %s%s", args, code, &out, &errOut)
		}
	}
	if err := agree(strings.NewReader("y\n"), &bytes.Buffer{}, &job.Job{DisplayID: "7", Nodes: 65}); err == nil || !strings.Contains(err.Error(), "65 nodes") || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("without a terminal: %v", err)
	}
	for id, want := range map[string]string{"9": "--jobid=9 --overlap", "7_2": "--jobid=9 --overlap", "7+1": "--jobid=7 --het-group=1 --overlap"} {
		args := strings.Join(srunArgs(&job.Job{DisplayID: id, JobID: 9, Nodes: 2}, liveFlags{every: time.Minute}), " ")
		if !strings.HasPrefix(args, want) || !strings.HasSuffix(args, "jobeff-ingest live --job=9 --every=1m0s") || !strings.Contains(args, "--export=JOBEFF=live") {
			t.Errorf("%s: %s", id, args)
		}
	}
	env := slurmEnvironment([]string{"PATH=/bin", "SLURM_JOB_ID=1", "SLURM_CONF=/x", "SRUN_CPUS_PER_TASK=4", "SQUEUE_FORMAT=%i", "SLURM_NTASKS=9", "HOME=/"})
	if want := []string{"PATH=/bin", "SLURM_CONF=/x", "HOME=/"}; !slices.Equal(env, want) {
		t.Errorf("%q", env)
	}
}
