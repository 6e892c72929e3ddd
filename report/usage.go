package report

import (
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/figure"
	"jobeff/report/measure"
)

// cpuText is the CPU efficiency. It says how it differs from POP's.
func cpuText(j *job.Job) string {
	e := j.CPUEfficiency()
	if e == nil {
		return ""
	}
	given := time.Duration(j.CPUs) * j.Elapsed
	return fmt.Sprintf("CPU efficiency %s, %s of %s core time; waiting in MPI counts as busy",
		figure.Efficiency(*e), figure.Clock(j.Usage.TotalCPU), figure.Clock(given))
}

func memoryText(j *job.Job) string {
	u := j.Usage
	if u == nil || u.Memory <= 0 {
		return ""
	}
	s := figure.Bytes(uint64(u.Memory))
	if u.Allocated > 0 {
		s += " of " + figure.Bytes(uint64(u.Allocated))
	}
	if ranOut(j) {
		return "ran out. Slurm's samples saw at most " + s + ": they miss a short peak, and one node or task may run out before the others"
	}
	s += " at once"
	if e := j.MemoryEfficiency(); e != nil {
		s += fmt.Sprintf(" (memory efficiency %s)", figure.Efficiency(*e))
	}
	if u.LargestTask > 0 && u.LargestTask < u.Memory {
		s += ", the largest task " + figure.Bytes(uint64(u.LargestTask))
	}
	return s
}

// ranOut says whether the job or a step of it ran out of memory, whatever Slurm sampled.
func ranOut(j *job.Job) bool {
	return measure.FirstWord(j.State) == "OUT_OF_MEMORY" || len(j.Usage.StepsOutOfMemory()) > 0
}
