package policy

import "jobeff/ingest/job"

// hours fills in where the core-hours went, as far as it is known.
func (c *Case) hours(j *job.Job) {
	parts := []string{"lost_core_hours", "lost_mpi_core_hours", "lost_io_core_hours", "lost_idle_core_hours", "lost_outside_core_hours"}
	for _, name := range []string{"alloc_cores", "runtime"} {
		if why := c.Unknown[name]; why != "" {
			c.unknown(why, append(parts, "core_hours")...)
			return
		}
	}
	cores := float64(c.AllocCores)
	c.CoreHours = cores * c.Runtime / 3600
	c.Hours.Used = &c.CoreHours
	if why := c.Unknown["mpi_runtime"]; why != "" {
		c.unknown(why, parts...)
		return
	}
	inside := min(c.MPIRuntime, c.Runtime)
	switch {
	case c.Threaded:
		c.LostOutside = cores * (c.Runtime - inside) / 3600
		c.Hours.Outside = &c.LostOutside
		c.unknown(c.Unknown["parallel_efficiency"], parts[:4]...)
		return
	case c.Coverage < 1:
		c.unknown("not every rank was recorded", parts...)
		return
	}
	c.split(j.Metrics, cores*inside-job.RankSeconds(j.Executions))
	if c.LostIdle > busyShare*c.CoreHours && c.othersBusy(j) {
		c.Hours.Lost, c.Hours.Idle = nil, nil
		c.unknown("Slurm counted CPU time beside that of the ranks: something else ran on CPUs without one", "lost_core_hours", "lost_idle_core_hours")
	}
}

// split divides the lost core-hours into their parts; idle is the time of cores without a rank,
// s. Slurm counts whole seconds, so a part may come out negative: it is then 0.
func (c *Case) split(m *job.Metrics, idle float64) {
	c.LostCoreHours = max(0, c.CoreHours-m.Useful/3600)
	c.LostMPI = min(m.MPITime/3600, c.LostCoreHours)
	c.LostIO = min(m.IOTime/3600, c.LostCoreHours-c.LostMPI)
	c.LostIdle = min(max(0, idle/3600), c.LostCoreHours-c.LostMPI-c.LostIO)
	c.LostOutside = c.LostCoreHours - c.LostMPI - c.LostIO - c.LostIdle
	c.Hours = CoreHours{&c.CoreHours, &c.LostCoreHours, &c.LostMPI, &c.LostIO, &c.LostIdle, &c.LostOutside}
}

// busyShare: if CPUs without a rank were busy for more than this part of their time, something
// else ran there.
const busyShare = 0.05
