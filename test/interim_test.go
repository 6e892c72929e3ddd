package test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"jobeff/report/view"
)

// TestNodeLost: a job on two nodes has figures while it runs. Then one of the nodes dies for good: the job
// keeps what that node said last, and says so.
func TestNodeLost(t *testing.T) {
	c, err := newCluster("-interim", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.down()
	both := []string{"n1", "n2"}
	for _, n := range both {
		c.exec(t, n, "sh", "-c", `echo 'interim = "1s"' >>/etc/jobeff/jobeff.toml`) // of [report]
	}
	id := c.submit(t, "bob", srun(t, usual)+rounds(t, c, usual)+" 100000 20", "-N2", "-n2", "-t5", "--no-requeue")
	ask := func(ready func(d *view.Job) bool) *view.Job {
		t.Helper()
		var d *view.Job
		var said result
		until(t, "the figures of job "+id, func() bool {
			d, said = new(view.Job), c.try(t, "", "as", "bob", "jobeff", "--json", id)
			return said.code == 0 && json.Unmarshal([]byte(said.stdout), d) == nil && isMerged(d) && ready(d)
		})
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(said.stdout)
			}
		})
		return d
	}
	report := func() {
		for _, n := range both {
			c.exec(t, n, "jobeff-ingest", "interim")
			c.exec(t, n, "jobeff-ingest", "send", "--quiet")
		}
	}
	first := ask(func(d *view.Job) bool {
		report()
		return d.State == "RUNNING" && d.Ranks == 2 && *d.Elapsed > 1
	})
	wantIdentities(t, first.Figures)
	if !first.Running || first.AsOf.Before(first.Start) || !first.End.IsZero() || first.Nodes != 2 || len(first.Flags) > 0 || first.WaitTime != nil || first.Endings["running"] != 2 {
		t.Errorf("%+v", first)
	}
	if text := c.as(t, "bob", "jobeff", id); !strings.Contains(text, "It runs. Up to ") || !strings.Contains(text, "RUNNING, ranks: 2 running") {
		t.Error(text)
	}
	if list := c.as(t, "bob", "jobeff", "-P", "-o", "jobid,state,pe"); !strings.Contains(list, id+"|RUNNING|0.") && !strings.Contains(list, id+"|RUNNING|1.") {
		t.Error(list)
	}
	second := ask(func(d *view.Job) bool {
		report()
		return *d.Elapsed > *first.Elapsed
	})
	c.exec(t, "ctl", "sh", "-c", "kill -9 $(cat "+c.dir+"/ns/n2.pid)")
	c.exec(t, "ctl", "scontrol", "update", "nodename=n2", "state=down", "reason=test")
	c.wait(t, id)
	last := ask(func(d *view.Job) bool {
		return !d.End.IsZero() && warned(d, "interim") && d.Endings["running"] == 1
	})
	if last.Running || last.AsOf.Before(second.AsOf) || last.State != "NODE_FAIL" || last.Ranks != 2 || last.NodesReported != 2 || len(last.Flags) > 0 {
		t.Errorf("%+v", last)
	}
	if text := c.as(t, "bob", "jobeff", id); !strings.Contains(fmt.Sprint(strings.Fields(text)), "the last report of n2 has not come") {
		t.Error(text)
	}
}
