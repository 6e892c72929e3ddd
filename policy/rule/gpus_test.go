package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/report/shell"
)

// gpuJob had four GPUs and 8 of 64 CPUs of a node for an hour. Each GPU had one process, and a kernel ran for 36 minutes.
func gpuJob(change func(*job.Job)) *job.Job {
	j := bare(func(j *job.Job) {
		j.DisplayID, j.Name, j.Nodes, j.Reports, j.CPUs, j.GPUs, j.TRES = "1", "fit", 1, 1, 8, 4, "cpu=8,mem=48G,node=1,gres/gpu:a100=4,gres/gpu=4"
		j.Cgroup = &job.Cgroup{Nodes: 1, CPUs: 64, Cores: 64}
		j.GPUUse = use(36, 36, 36, 36)
	})
	change(j)
	return j
}

// use is what GPUs did in an hour: for how many minutes a kernel ran on each, with one process; -1: none used it.
func use(minutes ...int) *job.GPUUse {
	var u job.GPUUse
	for _, m := range minutes {
		r := job.NodeReport{Start: began, End: began.Add(time.Hour), GPUs: []job.GPU{{}}}
		if m >= 0 {
			r.GPUs[0] = job.GPU{Life: time.Hour, Busy: time.Duration(m) * time.Minute, Processes: 1}
		}
		u.Add(&r)
	}
	return &u
}

// unknown adds GPUs to these of which nothing is known.
func unknown(u *job.GPUUse, n int, why string) *job.GPUUse {
	for range n {
		u.Add(&job.NodeReport{Start: began, End: began.Add(time.Hour), GPUs: []job.GPU{{Why: why}}})
	}
	return u
}

// alikeOn are earlier completed jobs like gpuJob that used so many of as many GPUs.
func alikeOn(gpus int, used ...int) (all []job.Ran) {
	for i, n := range used {
		all = append(all, job.Ran{ID: fmt.Sprint(100 + i), JobID: uint32(100 + i), Attempt: 1, Start: began.AddDate(0, 0, -1), State: "COMPLETED", Nodes: 1, CPUs: 8, GPUs: gpus, UsedGPUs: n, Elapsed: 3600})
	}
	return all
}

// TestGPUs: what the rules, the cause and the request say of a job's GPUs. First those of which nothing may be said.
func TestGPUs(t *testing.T) {
	const alone, noGPU, fewer = "and its figures are the host's alone", "no GPU", "instead of"
	for _, c := range []struct {
		name           string
		change         func(*job.Job)
		unused, device policy.Outcome // of the rules; "": they cannot tell
		cause, reason  string
		asks, line     string // of the request, what it says of GPUs; "": nothing
	}{
		{name: "no GPU is known", change: func(j *job.Job) { j.GPUUse = unknown(use(), 4, job.GPUNoAccounting) }, cause: "It had 4 GPUs, " + alone, reason: "what 4 of its 4 GPUs did is not known"},
		{name: "one is not known, the others were not used", change: func(j *job.Job) { j.GPUUse = unknown(use(-1, -1, -1), 1, job.GPUHangs) }, cause: alone, reason: "what 1 of its 4 GPUs did is not known"},
		{name: "one is not known, the others hardly used", change: func(j *job.Job) { j.GPUUse = unknown(use(1, 1, 1), 1, job.GPURunning) }, cause: alone, reason: "what 1 of its 4 GPUs did is not known"},
		{name: "parts of a GPU", change: func(j *job.Job) { j.GPUUse = unknown(use(), 4, job.GPUMIG) }, cause: alone, reason: "is not known"},
		{name: "a shard of a GPU", change: func(j *job.Job) { j.GPUs, j.GPUUse, j.TRES = 1, use(-1), "cpu=8,gres/shard=2" }, cause: "It had 1 GPU, " + alone, reason: "it had a part of a GPU"},
		{name: "a part of a GPU by MPS", change: func(j *job.Job) { j.GPUs, j.GPUUse, j.TRES = 1, use(2), "cpu=8,gres/mps=50" }, cause: alone, reason: "it had a part of a GPU"},
		{name: "no node asked", change: func(j *job.Job) { j.GPUUse = nil }, cause: "It had 4 GPUs, " + alone, reason: "no node told what its GPUs did"},
		{name: "a node is silent", change: func(j *job.Job) { j.Nodes, j.GPUs, j.GPUUse = 2, 4, use(-1, -1, -1, -1) }, cause: alone, reason: "1 of 2 nodes have reported"},
		{name: "Slurm gave it more", change: func(j *job.Job) { j.GPUUse = use(-1, -1) }, cause: alone, reason: "Slurm gave it 4 GPUs, and its nodes tell of 2"},
		{name: "whole nodes", change: func(j *job.Job) { j.Cgroup.CPUs, j.Cgroup.Cores, j.GPUUse = 8, 8, use(-1, -1, -1, -1) }, cause: alone, reason: "it had whole nodes, and their GPUs whether it asked for them or not"},
		{name: "perhaps whole nodes", change: func(j *job.Job) { j.Cgroup, j.GPUUse = nil, use(30, -1, -1, -1) }, cause: alone, reason: "not all of its nodes said how many CPUs they have"},
		{name: "failed", change: func(j *job.Job) { j.State, j.GPUUse = "FAILED", use(-1, -1, -1, -1) }, cause: "It failed.", reason: "it failed; its figures are not judged"},
		{name: "cancelled", change: func(j *job.Job) { j.State, j.GPUUse = "CANCELLED", use(1, 1, 1, -1) }, cause: "It was cancelled.", reason: "it was cancelled; its figures"},
		{name: "out of memory", change: func(j *job.Job) { j.State, j.GPUUse = "OUT_OF_MEMORY", use(1, 1, 1, 1) }, cause: "It ran out of memory.", reason: "its figures are not judged"},
		{name: "too short", change: func(j *job.Job) { j.Elapsed, j.GPUUse = 10*time.Minute-1, use(-1, -1, -1, -1) }, cause: "No process used its 4 GPUs.", reason: "the job is too short to judge"},
		{name: "it runs", change: func(j *job.Job) { j.AsOf, j.End, j.State, j.GPUUse, j.Together = j.End, time.Time{}, "", nil, true }, cause: alone, unused: policy.NotAsked, device: policy.NotAsked},
		{name: "opened, and not Slurm's", change: func(j *job.Job) {
			*j = *aJob(loaded(world(1, 2, 10, work(3400, 100)), job.Load{Ranks: 1, Whole: 1, GPURanks: 1}))
		}, cause: "1 rank opened a GPU, and the job's figures are the host's alone.", reason: "ranks opened a GPU, and which one is not known"},
		{name: "Slurm is silent", change: func(j *job.Job) { j.GPUs, j.CPUs, j.GPUUse = 0, 0, nil }, reason: "Slurm's accounting has not said it yet"},

		{name: "no GPUs", change: func(j *job.Job) { j.GPUs, j.GPUUse = 0, nil }, unused: policy.Passed, device: policy.Passed},
		{name: "busy", change: func(j *job.Job) {}, unused: policy.Passed, device: policy.Passed, cause: "A kernel ran on its 4 GPUs in 60 % of the time."},
		{name: "at 15 %", change: func(j *job.Job) { j.GPUUse = use(9, 9, 9, 9) }, unused: policy.Passed, device: policy.Passed, cause: "in 15 % of the time."},
		{name: "below 15 %", change: func(j *job.Job) { j.GPUUse = use(9, 9, 9, 8) }, unused: policy.Passed, device: policy.Flagged, cause: "A kernel ran on its 4 GPUs in 15 % of the time."},
		{name: "shared by its processes", change: func(j *job.Job) { j.GPUUse = use(7, 7, 7, 7); j.GPUUse.AtMost = true }, unused: policy.Passed, device: policy.Flagged, cause: "in at most 12 % of the time."},
		{name: "whole nodes, all hardly used", change: func(j *job.Job) { j.Cgroup.CPUs, j.Cgroup.Cores, j.GPUUse = 8, 8, use(3, 3, 3, 3) }, unused: policy.Passed, device: policy.Flagged, cause: "in 5 % of the time."},
		{name: "opened, and never used", change: func(j *job.Job) { j.GPUUse = use(0, 0, 0, 0) }, unused: policy.Passed, device: policy.Flagged, cause: "in 0 % of the time."},
		{name: "Slurm does not track GPUs", change: func(j *job.Job) { j.GPUs, j.TRES, j.GPUUse = 0, "cpu=8", use(30, -1) }, unused: policy.Flagged, device: policy.Passed, cause: "No process used 1 of its 2 GPUs."},
		{name: "half unused", change: func(j *job.Job) { j.GPUUse = use(1, 1, -1, -1) }, unused: policy.Flagged, device: policy.Passed, cause: "No process used 2 of its 4 GPUs.", asks: "2 GPUs instead of 4", line: "--gpus=a100:2 "},
		{name: "of no known kind", change: func(j *job.Job) { j.TRES, j.GPUUse = "gres/gpu=4", use(50, -1, -1, -1) }, unused: policy.Flagged, device: policy.Passed, asks: "1 GPU instead of 4", line: "--gpus=1 "},
		{name: "of two kinds", change: func(j *job.Job) {
			j.TRES, j.GPUUse = "gres/gpu=4,gres/gpu:a100=2,gres/gpu:t4=2", use(50, -1, -1, -1)
		}, unused: policy.Flagged, device: policy.Passed},
		{name: "none used", change: func(j *job.Job) { j.GPUUse = use(-1, -1, -1, -1) }, unused: policy.Flagged, device: policy.Passed, cause: "No process used its 4 GPUs.", asks: noGPU},
		{name: "its only one", change: func(j *job.Job) { j.GPUs, j.TRES, j.GPUUse = 1, "gres/gpu=1", use(-1) }, unused: policy.Flagged, device: policy.Passed, cause: "No process used its GPU.", asks: noGPU},
		{name: "none used on two nodes", change: func(j *job.Job) { j.Nodes, j.Reports, j.Cgroup.Nodes, j.GPUUse = 2, 2, 2, use(-1, -1, -1, -1) }, unused: policy.Flagged, device: policy.Passed, asks: noGPU},
		{name: "half unused on two nodes", change: func(j *job.Job) { j.Nodes, j.Reports, j.Cgroup.Nodes, j.GPUUse = 2, 2, 2, use(9, 9, -1, -1) }, unused: policy.Flagged, device: policy.Passed},
		{name: "up to its limit", change: func(j *job.Job) { j.State, j.GPUUse = "TIMEOUT", use(9, 9, -1, -1) }, unused: policy.Flagged, device: policy.Passed},
		{name: "another job used three", change: func(j *job.Job) { j.GPUUse, j.Alike = use(9, -1, -1, -1), alikeOn(4, 0, 3, 1) }, unused: policy.Flagged, device: policy.Passed, asks: "3 GPUs instead of 4", line: "--gpus=a100:3 "},
		{name: "another job used all", change: func(j *job.Job) { j.GPUUse, j.Alike = use(-1, -1, -1, -1), alikeOn(4, 4, 0) }, unused: policy.Flagged, device: policy.Passed},
		{name: "one with more GPUs used more", change: func(j *job.Job) { j.GPUUse, j.Alike = use(9, -1, -1, -1), alikeOn(8, 8) }, unused: policy.Flagged, device: policy.Passed, asks: "1 GPU instead of 4", line: "--gpus=a100:1 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := gpuJob(c.change)
			reasons := ""
			for _, v := range shippedRules(t).Judge(j, nil) {
				want, ours := map[string]policy.Outcome{"unused-gpus": c.unused, "device-efficiency": c.device}[v.Rule]
				if !ours {
					continue
				}
				if want = cmp.Or(want, policy.CannotTell); v.Outcome != want {
					t.Errorf("%s: %s, want %s: %s", v.Rule, v.Outcome, want, v.Reason)
				}
				if v.Outcome == policy.Flagged && !strings.HasPrefix(v.Text, policy.CauseOf(j).Text) {
					t.Errorf("%s says %q, the cause is %q", v.Rule, v.Text, policy.CauseOf(j).Text)
				}
				reasons += v.Reason + "\n"
			}
			if !strings.Contains(reasons, c.reason) {
				t.Errorf("no rule says %q:\n%s", c.reason, reasons)
			}
			if cause := policy.CauseOf(j).Text; !strings.Contains(cause, c.cause) {
				t.Errorf("its cause is %q, want %q", cause, c.cause)
			}
			r := policy.RequestFor(nil, j)
			if said := r.Said(); !strings.Contains(said, c.asks) || c.asks == "" && (strings.Contains(said, noGPU) || strings.Contains(said, fewer)) {
				t.Errorf("it is asked: %s", said)
			}
			if line := shell.Request(r); !strings.Contains(line, c.line) || c.line == "" && strings.Contains(line, "--gpus") {
				t.Errorf("the line is %s", line)
			}
		})
	}
}

// TestUnusedGPUsAreAnswered: the request for fewer GPUs answers the rule about these, and no other.
func TestUnusedGPUsAreAnswered(t *testing.T) {
	j := gpuJob(func(j *job.Job) { j.GPUUse, j.Usage.Memory, j.Usage.Allocated = use(1, 1, -1, -1), 2<<30, 64<<30 })
	r := policy.RequestFor(nil, j)
	all := shippedRules(t).Judge(j, nil)
	if flags := policy.Flags(all); !slices.Equal(flags, []string{"unused-memory", "unused-gpus"}) {
		t.Fatalf("flagged by %v", flags)
	}
	for _, v := range all {
		if got, want := r.Answers(&v), v.Rule == "unused-gpus"; got != want {
			t.Errorf("%s is answered: %v", v.Rule, got)
		}
	}
}

// TestGPUsOfArray: an array is asked for the most GPUs that a task used, if all completed tasks left some unused.
func TestGPUsOfArray(t *testing.T) {
	tasks := func(change func([]job.Job), gpus ...*job.GPUUse) []job.Job {
		var all []job.Job
		for i, u := range gpus {
			j := gpuJob(func(j *job.Job) { j.GPUUse = u })
			number := uint32(i)
			j.JobID, j.ArrayJobID, j.ArrayTaskID = 100+number, 100, &number
			all = append(all, *j)
		}
		change(all)
		return all
	}
	for _, c := range []struct {
		name   string
		change func([]job.Job)
		gpus   []*job.GPUUse
		line   string
	}{
		{"one is not known", nil, []*job.GPUUse{use(9, -1, -1, -1), unknown(use(9, -1, -1), 1, job.GPUHangs)}, ""},
		{"one used all", nil, []*job.GPUUse{use(9, -1, -1, -1), use(9, 9, 9, 9)}, ""},
		{"one was short", func(all []job.Job) { all[1].Elapsed = time.Minute }, []*job.GPUUse{use(9, -1, -1, -1), use(9, -1, -1, -1)}, ""},
		{"one had more", func(all []job.Job) { all[0].GPUs = 5 }, []*job.GPUUse{use(9, -1, -1, -1, -1), use(9, -1, -1, -1)}, ""},
		{"of other kinds", func(all []job.Job) { all[1].TRES = "gres/gpu=4,gres/gpu:t4=4" }, []*job.GPUUse{use(9, -1, -1, -1), use(9, -1, -1, -1)}, ""},
		{"of two kinds", func(all []job.Job) {
			all[0].TRES, all[1].TRES = "gres/gpu=4", "gres/gpu=4,gres/gpu:a100=2,gres/gpu:t4=2"
		}, []*job.GPUUse{use(9, -1, -1, -1), use(9, -1, -1, -1)}, ""},
		{"one failed, with all", func(all []job.Job) { all[0].State = "FAILED" }, []*job.GPUUse{use(9, 9, 9, 9), use(9, -1, -1, -1)}, ""},
		{"one failed, and nothing is known", func(all []job.Job) { all[0].State = "FAILED" }, []*job.GPUUse{nil, use(9, -1, -1, -1)}, "--gpus=a100:1 "},
		{"all left some", nil, []*job.GPUUse{use(9, -1, -1, -1), use(9, 9, -1, -1)}, "--gpus=a100:2 "},
	} {
		if c.change == nil {
			c.change = func([]job.Job) {}
		}
		r := policy.ArrayOf(tasks(c.change, c.gpus...)).Request
		if line := shell.Request(r); r.FewerGPUs() != (c.line != "") || !strings.Contains(line, c.line) || c.line == "" && strings.Contains(line, "--gpus") {
			t.Errorf("%s: %s: %s", c.name, r.Said(), line)
		}
	}
	if r := policy.ArrayOf(tasks(func([]job.Job) {}, use(-1, -1, -1, -1), use(-1, -1, -1, -1))).Request; !strings.Contains(r.Said(), "no GPU") {
		t.Errorf("none used: %s", r.Said())
	}
}
