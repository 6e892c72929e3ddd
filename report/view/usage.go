package view

import (
	"time"

	"jobeff/ingest/job"
)

// Usage is what Slurm gave the job and counted in its steps: sacct's
// figures, of the whole job. What the kernel counted in its cgroups is absent where it was not asked.
type Usage struct {
	GPUs             int      `json:"gpus"`
	TRES             string   `json:"tres,omitempty"`    // AllocTRES
	TotalCPU         *float64 `json:"total_cpu"`         // s, sum over steps
	CPUEfficiency    *float64 `json:"cpu_efficiency"`    // total_cpu / (job_elapsed x alloc_cpus)
	MemoryUsed       *int64   `json:"memory_used"`       // most at once
	MemoryTask       *int64   `json:"memory_task"`       // of the largest task, MaxRSS
	MemoryAllocated  *int64   `json:"memory_allocated"`  // on all nodes
	MemoryEfficiency *float64 `json:"memory_efficiency"` // needed_memory / memory_allocated
	NeededMemory     *int64   `json:"needed_memory"`     // on which advice may stand, or else the upper end
	NeededMemoryLow  *int64   `json:"needed_memory_low"`
	NeededMemoryHigh *int64   `json:"needed_memory_high"`
	MemoryFrom       string   `json:"memory_from,omitempty"`          // "cgroup" or "slurm"
	MemorySamples    *int     `json:"memory_samples,omitempty"`       // readings behind needed_memory_low
	CacheMemory      *int64   `json:"cache_memory"`                   // most file cache that was seen
	LargestProcess   *int64   `json:"largest_process,omitempty"`      // its ru_maxrss
	MemoryFull       *int     `json:"memory_limit_reached,omitempty"` // how often
	MemoryKills      *int     `json:"memory_kills,omitempty"`         // processes killed for want of memory
	PageFaults       *int     `json:"page_faults,omitempty"`          // that read from a disk
	SwapIns          *int     `json:"swap_ins,omitempty"`             // pages
	StalledTime      *float64 `json:"memory_stalled_time,omitempty"`  // s, in which all processes of a node waited for memory
	ThrottledTime    *float64 `json:"throttled_time,omitempty"`       // s of CPU time, at least, that a CPU limit took
	DiskRead         *int64   `json:"disk_read,omitempty"`
	DiskWritten      *int64   `json:"disk_written,omitempty"`
	OutOfMemory      []string `json:"out_of_memory,omitempty"` // steps that Slurm ended so
	// GPUUse is absent if the job had no GPU, or no node asked what it did.
	GPUUse *GPUUse `json:"gpu_use,omitempty"`
	// Each is a whole number of microseconds of GPU time, which is what lists, months and digests sum up. Absent: none, or not known.
	GPUHours      *float64 `json:"gpu_hours,omitempty"`       // GPUs x elapsed, of one that runs so far
	KnownGPUHours *float64 `json:"known_gpu_hours,omitempty"` // of these, those of GPUs of which it is known what they did
	IdleGPUHours  *float64 `json:"idle_gpu_hours,omitempty"`  // of the known ones, those in which no kernel ran, at least
}

// GPUUse is what NVIDIA's driver counted on the job's GPUs, summed over those that are known.
type GPUUse struct {
	DeviceParallelEfficiency *float64       `json:"device_parallel_efficiency"` // busy / time; null: not known
	DeviceLoadBalance        *float64       `json:"device_load_balance"`        // busy / (known x busy of the GPU with most); null: not known
	GPUs                     int            `json:"count"`                      // that nodes say the job had
	Known                    int            `json:"known"`                      // … of which the driver told
	Time                     float64        `json:"time"`                       // s, that the job had these
	Life                     float64        `json:"life"`                       // s, in which a process had them
	Busy                     float64        `json:"busy"`                       // s, in which a kernel ran
	AtMost                   bool           `json:"at_most,omitempty"`          // processes had a GPU at once: busy is an upper bound
	Processes                int            `json:"processes"`                  // that had one of them, and ended
	Memory                   *int64         `json:"memory"`                     // most that one process held
	Unknown                  map[string]int `json:"unknown,omitempty"`          // the other GPUs, by the code of the reason
	List                     []GPU          `json:"gpus"`                       // the known GPUs, those on which a kernel ran shortest first, then the others: at most 16
}

// GPU is one of a job's GPUs.
type GPU struct {
	Node      string   `json:"node"`              // where it is
	UUID      string   `json:"uuid,omitempty"`    // as NVIDIA's driver writes it; absent: not told
	Known     bool     `json:"known"`             // what it did is known
	Why       string   `json:"why,omitempty"`     // … or the code of the reason why not
	Time      *float64 `json:"time"`              // s, that the job had it
	Busy      *float64 `json:"busy"`              // s, in which a kernel ran
	AtMost    bool     `json:"at_most,omitempty"` // processes had it at once: busy is an upper bound
	Processes *int     `json:"processes"`         // that had it, and ended
	Memory    *int64   `json:"memory"`            // most that one process held
}

func gpuUseOf(u *job.GPUUse) *GPUUse {
	d := &GPUUse{u.Efficiency(), u.LoadBalance(), u.GPUs, u.Known, u.Time.Seconds(), u.Life.Seconds(), u.Busy.Seconds(), u.AtMost, u.Processes, known(u.Memory), u.Unknown, []GPU{}}
	for i := range u.List {
		g := &u.List[i]
		one := GPU{Node: g.Node, UUID: g.UUID, Known: g.Why == "", Why: g.Why, AtMost: g.AtMost, Memory: known(g.Memory)}
		if one.Known {
			one.Time, one.Busy, one.Processes = secondsOf(&g.Time), secondsOf(&g.Busy), &g.Processes
		}
		d.List = append(d.List, one)
	}
	return d
}

func usageOf(j *job.Job) Usage {
	d := Usage{GPUs: j.GPUs, TRES: j.TRES, CPUEfficiency: j.CPUEfficiency(), MemoryEfficiency: j.MemoryEfficiency()}
	if u := j.Usage; u != nil {
		cpu := u.TotalCPU.Seconds()
		d.TotalCPU = &cpu
		d.MemoryUsed, d.MemoryTask, d.MemoryAllocated = known(u.Memory), known(u.LargestTask), known(u.Allocated)
		d.OutOfMemory = u.StepsOutOfMemory()
	}
	if need := j.NeededMemory(); need != nil {
		d.NeededMemory, d.NeededMemoryLow, d.NeededMemoryHigh = known(need.Needed()), known(need.Low), known(need.High)
		d.MemoryFrom = need.From
		if need.Cache >= 0 {
			d.CacheMemory = &need.Cache
		}
	}
	if j.Cgroup != nil {
		d.ofCgroup(j.Cgroup)
	}
	if u := j.GPUUse; u != nil {
		d.GPUUse = gpuUseOf(u)
	}
	if t := j.GPUTime(); t.Used > 0 {
		if d.GPUHours = job.HoursOf(&t.Used); t.Known > 0 {
			d.KnownGPUHours, d.IdleGPUHours = job.HoursOf(&t.Known), job.HoursOf(&t.Idle)
		}
	}
	return d
}

// ofCgroup fills in what the kernel counted.
func (d *Usage) ofCgroup(c *job.Cgroup) {
	d.MemorySamples, d.LargestProcess = &c.Samples, known(c.Process)
	if c.Events > 0 {
		d.MemoryFull, d.MemoryKills = &c.Full, &c.Kills
	}
	if c.Caches > 0 { // memory.stat was read
		d.PageFaults, d.SwapIns = &c.Faults, &c.Swapped
	}
	d.DiskRead, d.DiskWritten = known(c.Read), known(c.Written)
	d.StalledTime, d.ThrottledTime = secondsOf(c.Stalled), secondsOf(c.Throttled)
}

// secondsOf converts a time to seconds; nil: not known.
func secondsOf(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Seconds()
	return &s
}

// known returns a figure, or nil for the 0 of one that neither Slurm nor the kernel counted.
func known[T int64 | float64](n T) *T {
	if n <= 0 {
		return nil
	}
	return &n
}

// Load is what the kernel counted in the ranks, null or absent where it was not asked. A killed
// rank's figures are those of its last reading.
type Load struct {
	Threaded     bool          `json:"threaded"`                   // ranks had threads that compute: the efficiencies speak of MPI only
	Threads      *int          `json:"threads"`                    // most threads of one rank at once, those of MPI included
	BusyThreads  *int          `json:"busy_threads,omitempty"`     // threads that ran or waited for a CPU half of the time or more
	CPUTime      *float64      `json:"cpu_time"`                   // s, all threads of all ranks
	OtherCPUTime *float64      `json:"other_cpu_time,omitempty"`   // s, of cpu_time: threads that do not call MPI
	RunQueueWait *float64      `json:"run_queue_wait,omitempty"`   // s, in which threads waited for a CPU; absent unless every thread was read
	SleptTime    *float64      `json:"slept_time,omitempty"`       // s outside MPI, at least, neither on a CPU nor waiting for one; likewise
	OffCPULow    *float64      `json:"off_cpu_time_low,omitempty"` // s outside MPI, at least, in which the threads that called MPI_Init were off the CPU
	OffCPUHigh   *float64      `json:"off_cpu_time_high,omitempty"`
	SystemTime   *float64      `json:"system_time,omitempty"`      // s, of cpu_time: in the kernel
	RankFaults   *int          `json:"rank_page_faults,omitempty"` // that read from a disk
	Waits        *int          `json:"waits,omitempty"`            // context switches of threads that waited for something
	Preempted    *int          `json:"preempted,omitempty"`        // … that lost their CPU to another one
	LargestRank  *int64        `json:"largest_rank,omitempty"`     // its ru_maxrss, bytes
	RankRead     *int64        `json:"rank_read,omitempty"`        // bytes from disks and some network file systems
	RankWritten  *int64        `json:"rank_written,omitempty"`
	CPUsAllowed  *int          `json:"cpus_allowed"`        // CPUs that the ranks may run on, all nodes; of a job its largest execution's
	GPURanks     *int          `json:"gpu_ranks,omitempty"` // ranks that had a GPU's device file open
	Machine      *job.Hardware `json:"machine,omitempty"`   // of all nodes; model "several" where they differ
}

func loadOf(executions []job.Execution) Load {
	d := Load{Threaded: job.Threaded(executions)}
	if main := job.MainExecution(executions); main >= 0 {
		d.Machine = job.HardwareOf(&executions[main])
		if n := job.CPUsAllowed(&executions[main]); n > 0 {
			d.CPUsAllowed = &n
		}
	}
	l := job.LoadOf(executions)
	if l == nil {
		return d
	}
	seconds := func(s float64) *float64 { return &s }
	d.CPUTime, d.OtherCPUTime, d.GPURanks = seconds(l.CPU.Seconds()), seconds(l.Other.Seconds()), &l.GPURanks
	if l.Threads > 0 {
		d.Threads = &l.Threads
	}
	d.OffCPULow, d.OffCPUHigh = seconds(l.OffLeast.Seconds()), seconds(l.OffMost.Seconds())
	if l.Used > 0 {
		d.SystemTime, d.RankFaults, d.Waits, d.Preempted, d.LargestRank = seconds(l.System.Seconds()), &l.Faults, &l.Waits, &l.Preempted, known(l.MaxRSS)
	}
	if l.Files > 0 {
		d.RankRead, d.RankWritten = &l.Read, &l.Written
	}
	if l.Whole == l.Ranks {
		d.BusyThreads, d.RunQueueWait, d.SleptTime = &l.Busy, seconds(l.Queue.Seconds()), seconds(l.Slept.Seconds())
	}
	return d
}

// Hidable is how much of the time in point-to-point calls computing could have hidden, at most.
// Times are sums over ranks.
type Hidable struct {
	P2PTime float64          `json:"p2p_time"` // s, in point-to-point calls
	Most    float64          `json:"hidable"`  // s
	Low     float64          `json:"hidable_low"`
	High    float64          `json:"hidable_high"`
	Curves  []HidableByCurve `json:"curves"`
}

// HidableByCurve names a curve of jobeff-overhead that the bound stands on.
type HidableByCurve struct {
	Partition string    `json:"partition"`
	MPI       string    `json:"mpi"`
	Direction string    `json:"direction"` // send, receive
	Nodes     int       `json:"nodes"`     // 1: inside a node; 2; 0: not known
	Measured  time.Time `json:"measured"`
}

func hidableOf(j *job.Job) *Hidable {
	h := j.Hidable()
	if h == nil {
		return nil
	}
	d := &Hidable{P2PTime: h.P2P, Most: h.Most, Low: h.Low, High: h.High}
	for _, c := range h.Curves {
		d.Curves = append(d.Curves, HidableByCurve{Partition: c.Partition, MPI: c.MPI, Direction: c.Direction, Nodes: c.Nodes, Measured: c.Measured})
	}
	return d
}
