package document

import "jobeff/ingest/job"

// Load is what the kernel counted in the ranks, null where it was not asked. A killed
// rank's figures are those of its last reading.
type Load struct {
	Threaded     bool          `json:"threaded"`       // ranks had threads that compute: the efficiencies speak of MPI only
	Threads      *int          `json:"threads"`        // most threads of one rank at once, those of MPI included
	BusyThreads  *int          `json:"busy_threads"`   // threads that ran or waited for a CPU half of the time or more
	CPUTime      *float64      `json:"cpu_time"`       // s, all threads of all ranks
	OtherCPUTime *float64      `json:"other_cpu_time"` // s, of cpu_time: threads that do not call MPI
	RunQueueWait *float64      `json:"run_queue_wait"` // s, in which threads waited for a CPU; null unless every thread was read
	SleptTime    *float64      `json:"slept_time"`     // s outside MPI, at least, neither on a CPU nor waiting for one; likewise
	CPUsAllowed  *int          `json:"cpus_allowed"`   // CPUs that the ranks may run on, all nodes; of a job its largest execution's
	GPURanks     *int          `json:"gpu_ranks"`      // ranks that had a GPU's device file open
	Machine      *job.Hardware `json:"machine"`        // of all nodes; model "several" where they differ
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
	if l.Whole == l.Ranks {
		d.BusyThreads, d.RunQueueWait, d.SleptTime = &l.Busy, seconds(l.Queue.Seconds()), seconds(l.Slept.Seconds())
	}
	return d
}
