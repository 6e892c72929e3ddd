package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
)

// task is a task of array 8 that took so many seconds and needed so many MiB.
func task(number uint32, program, state string, seconds, mib int) job.Job {
	start := began.Add(time.Duration(number) * time.Minute)
	j := job.Job{Cluster: "test", JobID: 100 + number, Attempt: 1, ArrayJobID: 8, ArrayTaskID: &number, UID: 1000, Submit: began, Start: start, End: start.Add(time.Duration(seconds) * time.Second),
		Elapsed: time.Duration(seconds) * time.Second, State: state, Nodes: 1, CPUs: 4, Program: program, DisplayID: fmt.Sprint("8_", number),
		Usage:  &job.Usage{TotalCPU: 3 * time.Duration(seconds) * time.Second, Memory: int64(mib) << 20, LargestTask: int64(mib) << 20, Allocated: 4 << 30},
		Cgroup: &job.Cgroup{Nodes: 1, High: int64(mib) << 20, NodeHigh: int64(mib) << 20, Peaks: 1, Caches: 1, Events: 1}}
	return j
}

// TestArray: tasks of different programs are summed up apart, those that failed or run count in no
// figure, and of a task that ran again the last attempt counts.
func TestArray(t *testing.T) {
	again := task(3, "/opt/a", "FAILED", 5, 100)
	again.Start, again.End = again.Start.Add(-time.Hour), again.End.Add(-time.Hour)
	running := task(6, "", "RUNNING", 50, 100)
	running.End = time.Time{}
	a := ArrayOf([]job.Job{task(2, "/opt/a", "COMPLETED", 300, 200), task(3, "/opt/a", "COMPLETED", 200, 400), again, task(1, "/opt/a", "COMPLETED", 100, 100),
		task(4, "/opt/b", "COMPLETED", 1000, 900), task(5, "/opt/a", "CANCELLED by 1000", 7, 1), running})
	if a.ID != "8" || a.Tasks != 6 || len(a.Parts) != 2 || !a.End.IsZero() || !a.Idle {
		t.Fatalf("%+v", a)
	}
	if d := cmp.Diff([]Counted{{"COMPLETED", 4}, {"CANCELLED", 1}, {"RUNNING", 1}}, a.States); d != "" {
		t.Error(d)
	}
	p := a.Parts[0]
	if d := cmp.Diff(Spread{3, 100, 200, 200, 300}, p.Time); d != "" || p.Program != "/opt/a" || p.Tasks != 4 || p.Of != 3 || !p.Completed {
		t.Errorf("%+v: %s", p, d)
	}
	mib := func(n float64) float64 { return n * (1 << 20) }
	if d := cmp.Diff(Spread{3, mib(100), mib(200), mib(700) / 3, mib(400)}, p.Memory); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Spread{3, 0.75, 0.75, 0.75, 0.75}, p.CPU); d != "" || p.Efficiency.Tasks != 0 {
		t.Errorf("%+v: %s", p.Efficiency, d)
	}
	if len(a.Worst) != 3 || a.Worst[0].DisplayID != "8_4" || a.Worst[1].DisplayID != "8_2" || a.Worst[2].DisplayID != "8_3" {
		t.Errorf("worst: %+v", a.Worst)
	}
	if len(a.Again) != 1 || a.Again[0].DisplayID != "8_5" {
		t.Errorf("again: %+v", a.Again)
	}
	// a line is for all tasks, also for those that do other work
	if l := a.Request; l.Why != "" || l.Memory < 900<<20 || l.Time < 1000*time.Second || l.Needs.Runs != 4 || l.Like.ID != "8" || l.Like.Elapsed != 1600 {
		t.Errorf("line: %+v", l)
	}
	if ArrayOf(nil) != nil {
		t.Error("an array of nothing")
	}
}

// TestArrayOfFailures: what its tasks ran out of is asked for twice, or is left as it was where it is not known.
func TestArrayOfFailures(t *testing.T) {
	for name, c := range map[string]struct {
		change   func([]job.Job)
		memory   int64 // MiB; 0: as it was
		measured int
		time     bool
	}{
		"out of memory": {func(all []job.Job) { all[3].State = "OUT_OF_MEMORY" }, 8192, 3, true},
		"long ago":      {func(all []job.Job) { all[0].State = "OUT_OF_MEMORY" }, 8192, 3, true},
		"out of time":   {func(all []job.Job) { all[3].State = "TIMEOUT" }, 0, 3, true},
		"one not read":  {func(all []job.Job) { all[2].Cgroup = nil }, 0, 3, true},
		"most not read": {func(all []job.Job) { all[0].Cgroup, all[1].Cgroup, all[2].Cgroup = nil, nil, nil }, 0, 1, true},
	} {
		var all []job.Job
		for n := range uint32(4) { // of which each may fail
			all = append(all, task(n+1, "/opt/a", "COMPLETED", 100, 100))
		}
		c.change(all)
		r := ArrayOf(all).Request
		if r.Why != "" || (r.Time > 0) != c.time || r.Needs.Measured != c.measured || c.memory > 0 && r.Memory>>20 != c.memory || (r.NoMemory != "") != (c.measured < 2) {
			t.Errorf("%s: %+v of %+v", name, r, r.Needs)
		}
	}
}

// TestArrayLine: no line where the data do not carry one.
func TestArrayLine(t *testing.T) {
	for why, change := range map[string]func([]job.Job){
		"its tasks had different numbers of nodes, CPUs or ranks": func(all []job.Job) { all[2].CPUs = 8 },
		"no task of it was completed": func(all []job.Job) {
			for i := range all {
				all[i].State = "FAILED"
			}
		},
		"": func(all []job.Job) { // those of the last half do other work: one line fits all
			for i := range all[50:] {
				all[50+i] = task(uint32(51+i), "/opt/b", "COMPLETED", 10, 3)
			}
		},
	} {
		var all []job.Job
		for n := range uint32(100) {
			all = append(all, task(n+1, "/opt/a", "COMPLETED", 100+int(n), 100))
		}
		change(all)
		if a := ArrayOf(all); a.Request.Why != why || why == "" && (a.Request.Memory < 100<<20 || a.Request.Time < 149*time.Second) {
			t.Errorf("%+v, want %q", a.Request, why)
		}
	}
}
