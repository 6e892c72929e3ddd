package job

import (
	"strings"
	"testing"
	"time"

	"jobeff/policy/doubt"
)

// Only sacct's times, whole seconds, tell a suspension. A node's end some ms later is none.
func TestSuspended(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		end, elapsed, want time.Duration
	}{
		{10 * time.Second, 7 * time.Second, 3 * time.Second},
		{7 * time.Second, 7 * time.Second, 0},
		{7400 * time.Millisecond, 7 * time.Second, 0},
		{6 * time.Second, 7 * time.Second, 0},
	} {
		j := Job{Submit: start, Start: start, End: start.Add(c.end), Elapsed: c.elapsed}
		if got := j.Suspended(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWholeNodes: without a record, the nodes' CPUs tell whether a job had all of them, of nodes with two hardware threads a
// core whichever of both Slurm counts.
func TestWholeNodes(t *testing.T) {
	node := func(cpus, cores int) *Cgroup { return &Cgroup{Nodes: 1, CPUs: cpus, Cores: cores} }
	two := node(8, 4)
	two.Add(node(8, 4))
	unsaid := node(8, 4)
	unsaid.Add(node(0, 0))
	for name, c := range map[string]struct {
		cpus, nodes int
		of          *Cgroup
		whole, told bool
	}{
		"all CPUs": {8, 1, node(8, 8), true, true}, "half of them": {4, 1, node(8, 8), false, true},
		"all hardware threads": {8, 1, node(8, 4), true, true}, "all cores": {4, 1, node(8, 4), true, true}, "three cores": {3, 1, node(8, 4), false, true},
		"three cores of two threads": {6, 1, node(8, 4), false, true}, "two nodes": {16, 2, two, true, true}, "one of two nodes": {8, 2, node(8, 4), false, false},
		"a node that does not say": {16, 2, unsaid, false, false}, "nothing": {8, 1, nil, false, false},
	} {
		j := Job{CPUs: c.cpus, Nodes: c.nodes, Cgroup: c.of}
		if whole, why := j.WholeNodes(); whole != c.whole || (why == "") != c.told {
			t.Errorf("%s: %v, %q", name, whole, why)
		}
	}
}

// What Slurm counted, as seff computes it, and what of the core-hours was not useful.
func TestUsage(t *testing.T) {
	base := func() *Job {
		return &Job{CPUs: 4, Elapsed: time.Hour, End: time.Unix(1, 0), Metrics: &Metrics{Coverage: 1, Useful: 3 * 3600},
			Usage: &Usage{TotalCPU: 3 * time.Hour, Memory: 1 << 30, Allocated: 4 << 30, OutOfMemory: "0,batch"}}
	}
	for name, c := range map[string]struct {
		change      func(j *Job)
		cpu, memory float64 // -1: not known
		warnings    string
	}{
		"":                    {func(*Job) {}, 0.75, 0.25, ""},
		"nothing of Slurm":    {func(j *Job) { j.Usage = nil }, -1, -1, ""},
		"no CPUs":             {func(j *Job) { j.CPUs = 0 }, -1, 0.25, ""},
		"no time":             {func(j *Job) { j.Elapsed = 0 }, -1, 0.25, ""},
		"more than there was": {func(j *Job) { j.Metrics.Useful = 5 * 3600 }, 0.75, 0.25, ""},
		"no memory asked for": {func(j *Job) { j.Usage.Allocated = 0 }, 0.75, -1, ""},
		"no memory counted":   {func(j *Job) { j.Usage.Memory = 0 }, 0.75, -1, ""},
		"all CPUs busy":       {func(j *Job) { j.Usage.TotalCPU = 4 * time.Hour }, 1, 0.25, ""},
		"more CPU time":       {func(j *Job) { j.Usage.TotalCPU = 8 * time.Hour }, 2, 0.25, doubt.WarnCPUOver},
		"all memory":          {func(j *Job) { j.Usage.Memory = 4 << 30 }, 0.75, 1, ""},
		"more memory":         {func(j *Job) { j.Usage.Memory = 8 << 30 }, 0.75, 2, doubt.WarnMemoryOver},
		"some nodes":          {func(j *Job) { j.Usage.PartOfNodes = true }, 0.75, 0.25, doubt.WarnUsagePart},
		"a minute": {func(j *Job) { j.Elapsed, j.Usage.TotalCPU, j.Metrics.Useful = time.Minute, 8*time.Minute, 0 },
			2, 0.25, doubt.WarnCPUOver},
		"short": {func(j *Job) { j.Elapsed, j.Usage.TotalCPU, j.Metrics.Useful = 59*time.Second, 8*59*time.Second, 0 },
			2, 0.25, doubt.WarnCPUOver + " " + doubt.KindShort},
	} {
		j := base()
		c.change(j)
		for what, v := range map[string]struct {
			got  *float64
			want float64
		}{"CPU": {j.CPUEfficiency(), c.cpu}, "memory": {j.MemoryEfficiency(), c.memory}} {
			if (v.got == nil) != (v.want < 0) || v.got != nil && !near(*v.got, v.want, 1e-12) {
				t.Errorf("%s: %s is not %g", name, what, v.want)
			}
		}
		w := UsageWarnings(j)
		if code, kind, _ := strings.Cut(c.warnings, " "); len(w) != min(len(code), 1) || len(w) > 0 && w[0] != (doubt.Warning{Code: code, Args: doubt.Arguments{Kind: kind}}) {
			t.Errorf("%s: warnings %+v", name, w)
		}
	}
	if got := base().Usage.StepsOutOfMemory(); len(got) != 2 || got[1] != "batch" || (&Usage{}).StepsOutOfMemory() != nil || (*Usage)(nil).StepsOutOfMemory() != nil {
		t.Errorf("steps out of memory: %q", got)
	}
}
