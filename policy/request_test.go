package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
)

const gibibyte = 1 << 30

// ranJob is a completed job of one node and four CPUs for an hour, alike its Alike.
func ranJob(change func(*job.Job)) *job.Job {
	j := &job.Job{DisplayID: "9", JobID: 9, Attempt: 1, Name: "fit", State: "COMPLETED", Nodes: 1, CPUs: 4, Start: began, End: began.Add(time.Hour), Elapsed: time.Hour, TimeLimit: 24 * time.Hour,
		Usage: &job.Usage{Allocated: 32 * gibibyte, TotalCPU: 3 * time.Hour}, Cgroup: &job.Cgroup{Nodes: 1, Low: 3 * gibibyte, NodeLow: 3 * gibibyte, Samples: 60, Events: 1}}
	if change != nil {
		change(j)
	}
	return j
}

// TestRequestShape: how nodes, tasks and CPUs are asked for.
func TestRequestShape(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*job.Job)
		want   string // nodes x tasks x CPUs
		said   string
	}{
		{"as it was", nil, "1x1x4", "Ask for less memory and less time."},
		{"one core of four, for an hour", func(j *job.Job) { j.Usage.TotalCPU = time.Hour }, "1x1x1", "Ask for less memory, fewer CPUs and less time."},
		{"one core of four, for a minute", func(j *job.Job) { j.Elapsed, j.Usage.TotalCPU = time.Minute, time.Minute }, "1x1x4", "Ask for less memory and less time."},
		{"the two threads of one core", func(j *job.Job) { j.CPUs, j.Usage.TotalCPU = 2, time.Hour }, "1x1x2", "Ask for less memory and less time."},
		{"tasks without MPI", func(j *job.Job) { j.NTasks = 4 }, "1x4x1", "Ask for less memory and less time."},
		{"tasks without MPI that were idle but one", func(j *job.Job) { j.NTasks, j.Usage.TotalCPU = 4, time.Hour }, "1x4x1", "Ask for less memory and less time."},
		{"CPUs that tasks do not share evenly", func(j *job.Job) { j.NTasks = 3 }, "1x0x0", "Ask for less memory and less time."},
		{"no CPUs known", func(j *job.Job) { j.CPUs = 0 }, "0x0x0", "Ask for less memory and less time."},
		{"a session", func(j *job.Job) { j.Steps = []job.Step{{ID: "0"}} }, "0x0x0", "What the next one needs is not known: it was no batch script"},
		{"a script with a step", func(j *job.Job) { j.Steps = []job.Step{{ID: "0"}, {ID: "batch"}} }, "1x1x4", "Ask for less memory and less time."},
		{"a part of a heterogeneous job", func(j *job.Job) { j.HetJobID = 8 }, "0x0x0", "What the next one needs is not known: it is a part"},
		{"without Slurm's word", func(j *job.Job) { j.State = "" }, "0x0x0", "What the next one needs is not known: Slurm has not said"},
		{"it failed", func(j *job.Job) { j.State = "FAILED" }, "1x1x4", "What the next one needs is not known: no job of this size was completed."},
		{"it ran out of memory", func(j *job.Job) { j.State = "OUT_OF_MEMORY" }, "1x1x4", "Ask for more memory."},
		{"it reached its limit", func(j *job.Job) { j.State, j.TimeLimit = "TIMEOUT", time.Hour }, "1x1x4", "Ask for more time."},
		{"what it asked for was about right", func(j *job.Job) { j.Usage.Allocated, j.TimeLimit = 5*gibibyte, 3*time.Hour }, "1x1x4", "Leave the request as it is"},
		{"no memory was read", func(j *job.Job) { j.Cgroup = nil }, "1x1x4", "Ask for less time."},
	} {
		r := RequestFor(nil, ranJob(c.change))
		if got := fmt.Sprintf("%dx%dx%d", r.Nodes, r.Tasks, r.CPUsPerTask); got != c.want || !strings.HasPrefix(r.Said(), c.said) {
			t.Errorf("%s: %s %q, want %s %q", c.name, got, r.Said(), c.want, c.said)
		}
	}
}

// TestFreedCores: a job of one core frees what Slurm surely gives less, which are whole cores.
func TestFreedCores(t *testing.T) {
	for _, c := range []struct {
		cpus, perCore int
		want          float64
	}{{1, 0, 0}, {1, 2, 0}, {2, 1, 0}, {4, 1, 3}, {4, 2, 2}, {4, 4, 0}, {5, 4, 1}} {
		r := &Request{Kind: AskAsItRan, Tasks: 1, CPUsPerTask: 1, Like: job.Ran{CPUs: c.cpus, PerCore: c.perCore, Elapsed: 3600}}
		if c.cpus == 2 {
			r.CPUsPerTask = 2
		}
		if _, cores := r.Freed(); cores != c.want {
			t.Errorf("%+v: %v core-hours", c, cores)
		}
	}
	r := RequestFor(nil, ranJob(nil))
	if memory, _ := r.Freed(); memory != float64(32*gibibyte-r.Memory)/gibibyte || memory < 25 {
		t.Errorf("%v GiB-hours with %d MiB", memory, r.Memory>>20)
	}
}

// randomHistory is a job with up to 80 before it, which may have failed in any way, of any need.
func randomHistory(rng *rand.Rand) *job.Job {
	node := int64(64+rng.IntN(4)*64) * gibibyte
	all, sizes := []job.Ran{}, []float64{1 + 30*rng.Float64(), 1 + 60*rng.Float64()}
	given, limit := min(int64(4+rng.IntN(64))*gibibyte, node), float64(1800*(2+rng.IntN(40)))
	like := ranJob(func(j *job.Job) {
		j.Usage.Allocated, j.TimeLimit = given, time.Duration(limit)*time.Second
		j.Room = &job.Room{Nodes: 10, CPUs: 64, Memory: node, Time: time.Duration(24*(1+rng.IntN(3))) * time.Hour}
	})
	for i := range rng.IntN(80) {
		need := sizes[rng.IntN(1+rng.IntN(2))] * (1 + .3*rng.Float64()) * gibibyte
		r := job.Ran{ID: fmt.Sprint(100 + i), JobID: uint32(100 + i), Attempt: 1, Start: began.Add(time.Duration(i-100) * time.Hour), State: "COMPLETED", Nodes: 1, CPUs: 4, PerCore: 1, Limit: limit, Memory: given,
			Elapsed: limit * rng.Float64(), NodeNeeded: int64(need)}
		r.CPUTime = r.Elapsed * 4 * rng.Float64()
		switch {
		case need > float64(given):
			r.State, r.NodeNeeded = "OUT_OF_MEMORY", 0
		case rng.IntN(10) == 0:
			r.State, r.Elapsed = "TIMEOUT", limit
		case rng.IntN(10) == 0:
			r.State = []string{"FAILED", "CANCELLED", "NODE_FAIL"}[rng.IntN(3)]
		case rng.IntN(10) == 0:
			r.NodeNeeded = 0
		}
		all = append(all, r)
	}
	like.Alike = append(all, job.RanOf(like))
	return like
}

// TestRandomHistories: whatever went before, a request exceeds no node and no limit, is no less than what jobs like it
// needed or were killed with, as far as there is more, and its words say what its figures do.
func TestRandomHistories(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(1500) {
		j := randomHistory(rand.New(rand.NewPCG(seed, 50)))
		r := RequestFor(nil, j)
		if wrong := contradicts(r, j); wrong != "" {
			t.Errorf("%d: %s: %+v of %+v", seed, wrong, r, r.Needs)
		}
		kinds[r.Said()]++
		if at := (&workload.Study{Workload: &job.Workload{Name: j.Name, Jobs: j.Alike, Last: j}}); RequestOf(at).Said() != r.Said() {
			t.Errorf("%d: the workload's is another one: %s, not %s", seed, RequestOf(at).Said(), r.Said())
		}
	}
	for _, said := range []string{"Leave the request as it is: nothing better is known.", "Ask for more memory.", "Ask for less memory.", "Ask for more time.", "Ask for less time.", "Ask for more memory and more time."} {
		if kinds[said] == 0 {
			t.Errorf("nobody is told: %s %v", said, kinds)
		}
	}
}

// contradicts says where a request contradicts the jobs that it stands on, or itself.
func contradicts(r *Request, j *job.Job) string {
	had := job.RanOf(j)
	whole := int64(float64(j.Room.Memory) * 0.98)
	for i := range j.Alike {
		ran := &j.Alike[i]
		switch {
		case ran.State == "COMPLETED" && r.Memory > 0 && ran.NodeNeeded > r.Memory:
			return "job " + ran.ID + " needed more memory"
		case len(j.Alike)-i <= 60 && slices.Contains([]string{"TIMEOUT", "NODE_FAIL"}, ran.State) && r.Memory > 0 && ran.NodeNeeded > r.Memory && r.Memory < whole:
			return "job " + ran.ID + " held more memory when it was stopped"
		case ran.State == "COMPLETED" && r.Time > 0 && ran.Elapsed > r.Time.Seconds() && r.Time < j.Room.Time:
			return "job " + ran.ID + " took longer"
		case len(j.Alike)-i <= 60 && ran.State == "OUT_OF_MEMORY" && r.Memory > 0 && r.Memory < min(ran.Memory, whole):
			return "job " + ran.ID + " ran out of more memory"
		case len(j.Alike)-i <= 60 && ran.State == "TIMEOUT" && r.Time > 0 && r.Time.Seconds() < min(ran.Limit, j.Room.Time.Seconds()):
			return "job " + ran.ID + " reached a longer limit"
		}
	}
	less, more := slices.Contains(r.Less, "memory"), slices.Contains(r.More, "memory")
	switch {
	case r.Why != "" && (r.Memory > 0 || r.Time > 0):
		return "it has no request, and one"
	case r.Memory > j.Room.Memory || r.Time > j.Room.Time:
		return "there is not so much"
	case r.Memory > 0 && (less != (r.Memory < had.Memory) || more != (r.Memory > had.Memory)):
		return "its words have other memory than its figures"
	case r.Time > 0 && (slices.Contains(r.Less, "time") != (r.Time.Seconds() < had.Limit) || slices.Contains(r.More, "time") != (r.Time.Seconds() > had.Limit)):
		return "its words have other time than its figures"
	}
	return ""
}
