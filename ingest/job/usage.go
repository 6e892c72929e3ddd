package job

import (
	"strings"
	"time"
)

// CPUEfficiency is TotalCPU / (Elapsed x AllocCPUS), as in seff; nil if unknown. It exceeds 1 if
// the job used more CPU time than it was given (see UsageWarnings).
func (j *Job) CPUEfficiency() *float64 {
	if j.Usage == nil || j.CPUs <= 0 || j.Elapsed <= 0 {
		return nil
	}
	e := j.Usage.TotalCPU.Seconds() / (j.Elapsed.Seconds() * float64(j.CPUs))
	return &e
}

// MemoryEfficiency is NeededMemory / Usage.Allocated; nil if one of them is unknown.
func (j *Job) MemoryEfficiency() *float64 {
	need := j.NeededMemory()
	if j.Usage == nil || j.Usage.Allocated <= 0 || need == nil || max(need.Use, need.High) <= 0 {
		return nil
	}
	e := float64(need.Needed()) / float64(j.Usage.Allocated)
	return &e
}

// LostCoreHours is AllocCPUS x Elapsed less the ranks' useful time (METRICS 6); nil if unknown.
// It is unknown if ranks had threads, whose time is not all measured, if ranks were missed,
// or if what some of them did at last is not known.
func (j *Job) LostCoreHours() *float64 {
	if !j.IsWhole() || j.Threaded || j.CPUs <= 0 || j.Elapsed <= 0 {
		return nil
	}
	lost := max(0, float64(j.CPUs)*j.Elapsed.Seconds()-j.Metrics.RealUseful()) / 3600
	return &lost
}

// StepsOutOfMemory lists the steps that Slurm ended as OUT_OF_MEMORY; nil if there are none.
func (u *Usage) StepsOutOfMemory() []string {
	if u == nil || u.OutOfMemory == "" {
		return nil
	}
	return strings.Split(u.OutOfMemory, ",")
}

// Suspended is how long Slurm had stopped the job: its Elapsed, unlike the time from its start to
// its end, leaves that out. It is 0 until sacct has told all three: its times are whole seconds,
// those of nodes are not.
func (j *Job) Suspended() time.Duration {
	if j.Submit.IsZero() || j.Start.IsZero() || j.End.IsZero() || j.Elapsed <= 0 || j.Start.Nanosecond() != 0 || j.End.Nanosecond() != 0 {
		return 0
	}
	return max(0, j.End.Sub(j.Start)-j.Elapsed)
}

// shortRun: below this elapsed time, sacct's whole seconds alone may lift the CPU efficiency
// above 1.
const shortRun = time.Minute

// UsageWarnings explains odd values of what Slurm counted.
func UsageWarnings(j *Job) []Warning {
	var w Warnings
	if e := j.CPUEfficiency(); e != nil && *e > 1 {
		over := Warning{Code: WarnCPUOver}
		if j.Elapsed < shortRun {
			over.Args.Kind = KindShort
		}
		w.Add(over)
	}
	if e := j.MemoryEfficiency(); e != nil && *e > 1 {
		over := Warning{Code: WarnMemoryOver}
		if j.NeededMemory().From == MemoryCgroup {
			over.Args.Kind = MemoryCgroup
		}
		w.Add(over)
	}
	if j.Usage != nil && j.Usage.PartOfNodes {
		w.Add(Warning{Code: WarnUsagePart})
	}
	return w.List()
}
