package assemble

import (
	"math"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// What Slurm counted, as seff computes it, and what of the core-hours was not useful.
func TestUsage(t *testing.T) {
	base := func() *job.Job {
		return &job.Job{CPUs: 4, Elapsed: time.Hour, End: time.Unix(1, 0), Metrics: &job.Metrics{Coverage: 1, Useful: 3 * 3600},
			Usage: &job.Usage{TotalCPU: 3 * time.Hour, Memory: 1 << 30, Allocated: 4 << 30, OutOfMemory: "0,batch"}}
	}
	for name, c := range map[string]struct {
		change      func(j *job.Job)
		cpu, memory float64 // -1: not known
		warnings    string
	}{
		"":                    {func(*job.Job) {}, 0.75, 0.25, ""},
		"nothing of Slurm":    {func(j *job.Job) { j.Usage = nil }, -1, -1, ""},
		"no CPUs":             {func(j *job.Job) { j.CPUs = 0 }, -1, 0.25, ""},
		"no time":             {func(j *job.Job) { j.Elapsed = 0 }, -1, 0.25, ""},
		"more than there was": {func(j *job.Job) { j.Metrics.Useful = 5 * 3600 }, 0.75, 0.25, ""},
		"no memory asked for": {func(j *job.Job) { j.Usage.Allocated = 0 }, 0.75, -1, ""},
		"no memory counted":   {func(j *job.Job) { j.Usage.Memory = 0 }, 0.75, -1, ""},
		"all CPUs busy":       {func(j *job.Job) { j.Usage.TotalCPU = 4 * time.Hour }, 1, 0.25, ""},
		"more CPU time":       {func(j *job.Job) { j.Usage.TotalCPU = 8 * time.Hour }, 2, 0.25, doubt.WarnCPUOver},
		"all memory":          {func(j *job.Job) { j.Usage.Memory = 4 << 30 }, 0.75, 1, ""},
		"more memory":         {func(j *job.Job) { j.Usage.Memory = 8 << 30 }, 0.75, 2, doubt.WarnMemoryOver},
		"some nodes":          {func(j *job.Job) { j.Usage.PartOfNodes = true }, 0.75, 0.25, doubt.WarnUsagePart},
		"a minute": {func(j *job.Job) { j.Elapsed, j.Usage.TotalCPU, j.Metrics.Useful = time.Minute, 8*time.Minute, 0 },
			2, 0.25, doubt.WarnCPUOver},
		"short": {func(j *job.Job) { j.Elapsed, j.Usage.TotalCPU, j.Metrics.Useful = 59*time.Second, 8*59*time.Second, 0 },
			2, 0.25, doubt.WarnCPUOver + " " + doubt.KindShort},
	} {
		j := base()
		c.change(j)
		for what, v := range map[string]struct {
			got  *float64
			want float64
		}{"CPU": {j.CPUEfficiency(), c.cpu}, "memory": {j.MemoryEfficiency(), c.memory}} {
			if (v.got == nil) != (v.want < 0) || v.got != nil && math.Abs(*v.got-v.want) > 1e-12 {
				t.Errorf("%s: %s is not %g", name, what, v.want)
			}
		}
		w := UsageWarnings(j)
		if code, kind, _ := strings.Cut(c.warnings, " "); len(w) != min(len(code), 1) || len(w) > 0 && w[0] != (doubt.Warning{Code: code, Args: doubt.Arguments{Kind: kind}}) {
			t.Errorf("%s: warnings %+v", name, w)
		}
	}
	if got := base().Usage.StepsOutOfMemory(); len(got) != 2 || got[1] != "batch" || (&job.Usage{}).StepsOutOfMemory() != nil || (*job.Usage)(nil).StepsOutOfMemory() != nil {
		t.Errorf("steps out of memory: %q", got)
	}
}
