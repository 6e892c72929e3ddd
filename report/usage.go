package report

import (
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/figure"
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
	s := figure.Bytes(uint64(u.Memory)) + " at once"
	if e := j.MemoryEfficiency(); e != nil {
		s = fmt.Sprintf("%s of %s at once (memory efficiency %s)", figure.Bytes(uint64(u.Memory)), figure.Bytes(uint64(u.Allocated)), figure.Efficiency(*e))
	}
	if u.LargestTask > 0 && u.LargestTask < u.Memory {
		s += ", the largest task " + figure.Bytes(uint64(u.LargestTask))
	}
	return s
}
