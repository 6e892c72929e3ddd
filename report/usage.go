package report

import (
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// DocumentUsage is what Slurm gave the job and counted in its steps: sacct's
// figures, of the whole job.
type DocumentUsage struct {
	GPUs             int      `json:"gpus"`
	TRES             string   `json:"tres,omitempty"`   // AllocTRES
	TotalCPU         *float64 `json:"total_cpu"`        // s, sum over steps
	CPUEfficiency    *float64 `json:"cpu_efficiency"`   // total_cpu / (job_elapsed x alloc_cpus)
	MemoryUsed       *int64   `json:"memory_used"`      // most at once
	MemoryTask       *int64   `json:"memory_task"`      // of the largest task, MaxRSS
	MemoryAllocated  *int64   `json:"memory_allocated"` // on all nodes
	MemoryEfficiency *float64 `json:"memory_efficiency"`
}

func documentUsage(j *job.Job) DocumentUsage {
	d := DocumentUsage{GPUs: j.GPUs, TRES: j.TRES, CPUEfficiency: j.CPUEfficiency(), MemoryEfficiency: j.MemoryEfficiency()}
	if u := j.Usage; u != nil {
		cpu := u.TotalCPU.Seconds()
		d.TotalCPU = &cpu
		d.MemoryUsed, d.MemoryTask, d.MemoryAllocated = known(u.Memory), known(u.LargestTask), known(u.Allocated)
	}
	return d
}

// known is nil for the 0 of a figure that Slurm did not tell.
func known(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

// cpuText is the CPU efficiency, which must not be taken for POP's.
func cpuText(j *job.Job) string {
	e := j.CPUEfficiency()
	if e == nil {
		return ""
	}
	given := time.Duration(j.CPUs) * j.Elapsed
	return fmt.Sprintf("CPU efficiency %s, %s of %s core time; waiting in MPI is busy too",
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
