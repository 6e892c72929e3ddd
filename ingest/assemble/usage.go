package assemble

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// UsageWarnings explains odd values of what Slurm counted.
func UsageWarnings(j *job.Job) []doubt.Warning {
	var w doubt.Warnings
	if e := j.CPUEfficiency(); e != nil && *e > 1 {
		over := doubt.Warning{Code: doubt.WarnCPUOver}
		if j.Elapsed < shortRun {
			over.Args.Kind = doubt.KindShort
		}
		w.Add(over)
	}
	if e := j.MemoryEfficiency(); e != nil && *e > 1 {
		over := doubt.Warning{Code: doubt.WarnMemoryOver}
		if j.NeededMemory().From == job.MemoryCgroup {
			over.Args.Kind = doubt.KindCgroup
		}
		w.Add(over)
	}
	if j.Usage != nil && j.Usage.PartOfNodes {
		w.Add(doubt.Warning{Code: doubt.WarnUsagePart})
	}
	return w.List()
}

// shortRun: below this elapsed time, sacct's whole seconds alone may lift the CPU efficiency
// above 1.
const shortRun = time.Minute
