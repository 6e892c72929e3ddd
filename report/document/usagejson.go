package document

import "jobeff/ingest/job"

// Usage is what Slurm gave the job and counted in its steps: sacct's
// figures, of the whole job.
type Usage struct {
	GPUs             int      `json:"gpus"`
	TRES             string   `json:"tres,omitempty"`   // AllocTRES
	TotalCPU         *float64 `json:"total_cpu"`        // s, sum over steps
	CPUEfficiency    *float64 `json:"cpu_efficiency"`   // total_cpu / (job_elapsed x alloc_cpus)
	MemoryUsed       *int64   `json:"memory_used"`      // most at once
	MemoryTask       *int64   `json:"memory_task"`      // of the largest task, MaxRSS
	MemoryAllocated  *int64   `json:"memory_allocated"` // on all nodes
	MemoryEfficiency *float64 `json:"memory_efficiency"`
	OutOfMemory      []string `json:"out_of_memory,omitempty"` // steps that Slurm ended so
}

func documentUsage(j *job.Job) Usage {
	d := Usage{GPUs: j.GPUs, TRES: j.TRES, CPUEfficiency: j.CPUEfficiency(), MemoryEfficiency: j.MemoryEfficiency()}
	if u := j.Usage; u != nil {
		cpu := u.TotalCPU.Seconds()
		d.TotalCPU = &cpu
		d.MemoryUsed, d.MemoryTask, d.MemoryAllocated = known(u.Memory), known(u.LargestTask), known(u.Allocated)
		d.OutOfMemory = u.StepsOutOfMemory()
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
