package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/report/view"
)

// TestPending: a job that is held, an array of which two tasks may run, and a job that waits for its time are shown with why
// they wait, to nobody but their owner. What then runs is shown as running, once.
func TestPending(t *testing.T) {
	t.Parallel()
	stop := filepath.Join(site.home("alice"), "pending-stop")
	t.Cleanup(func() { os.WriteFile(stop, nil, 0o644) })
	const script = "until [ -e pending-stop ]; do sleep 0.2; done"
	held := site.submit(t, "alice", script, "-n1", "-H", "-J", "=1+1 <b>x")
	later := site.submit(t, "alice", script, "-n1", "--begin=now+1hour", "-J", "later", "-t10", "--mem=100")
	array := site.submit(t, "alice", script, "-n1", "--array=3-6%2", "-J", "sweep")
	t.Cleanup(func() { site.try(t, "", "exec", "ctl", "scancel", held, later, array) })
	read := func(id string) *view.Job {
		r, d := site.try(t, "", "as", "alice", "jobeff", "--json", id), new(view.Job)
		if r.code != 0 || json.Unmarshal([]byte(r.stdout), d) != nil {
			return new(view.Job)
		}
		return d
	}
	reason := func(id string) string {
		d := read(id)
		if d.Pending == nil || len(d.Pending.Jobs) == 0 {
			return ""
		}
		return d.Pending.Jobs[0].Reason
	}
	until(t, "the reasons of what waits", func() bool {
		return reason(held) == "JobHeldUser" && reason(later) == "BeginTime" && reason(array) == "JobArrayTaskLimit" && read(array).Attempt > 0
	})
	if p := read(later).Pending.Jobs[0]; p.Cluster != "test" || p.User != "alice" || p.Name != "later" || p.CPUs != 1 || p.Nodes != 1 || p.Memory != 100<<20 || p.TimeLimit != 600 || p.Submit.IsZero() || !p.Eligible.After(p.Submit) || p.Partition != "main" {
		t.Errorf("%+v", p)
	}
	if p := read(array + "_6").Pending.Jobs[0]; p.ID != array+"_[5-6%2]" || p.Tasks != 2 {
		t.Errorf("%+v", p)
	}
	if d := read(held); d.State != "PENDING" || d.Verdicts != nil || d.Name != "=1+1 <b>x" || !d.Start.IsZero() {
		t.Errorf("%+v", d)
	}
	for id, wants := range map[string][]string{held: {"It waits since ", "scontrol release"}, later: {"its begin time has not come", "a time limit of 00:10:00", "Start not before"}, array: {array + "_[5-6%2] since "}} {
		text := strings.Join(strings.Fields(site.as(t, "alice", "jobeff", "--full", id)), " ")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("jobeff %s does not say %q:\n%s", id, want, text)
			}
		}
		theirs, missing := site.try(t, "", "as", "bob", "jobeff", id), site.try(t, "", "as", "bob", "jobeff", "99"+id)
		if id != array && (theirs.code == 0 || strings.ReplaceAll(missing.stderr, "99"+id, id) != theirs.stderr) {
			t.Errorf("bob is told of job %s: %s%s, and of one that is not there: %s", id, theirs.stdout, theirs.stderr, missing.stderr)
		}
	}
	lines := func(user, states string) string { return site.as(t, user, "jobeff", "-s", states, "-Pno", "jobid") }
	waiting := lines("alice", "PENDING")
	for _, want := range []string{held, later, array + "_[5-6%2]"} {
		if strings.Count("\n"+waiting, "\n"+want+"\n") != 1 {
			t.Errorf("%s is not once in what waits:\n%s", want, waiting)
		}
	}
	if others := lines("bob", "PENDING"); strings.Contains(others, held) {
		t.Errorf("bob is told what waits:\n%s", others)
	}
	site.as(t, "alice", "scontrol", "release", held)
	until(t, "the start of job "+held+" in jobeff", func() bool { return strings.Contains("\n"+lines("alice", "RUNNING"), "\n"+held+"\n") })
	if waiting := lines("alice", "PENDING"); strings.Contains("\n"+waiting, "\n"+held+"\n") {
		t.Errorf("job %s runs, and waits:\n%s", held, waiting)
	}
	if d := read(held); d.State != "RUNNING" || d.Pending != nil || d.Attempt != 1 {
		t.Errorf("%+v", d)
	}
}
