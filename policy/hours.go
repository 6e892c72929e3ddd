package policy

import "jobeff/ingest/job"

// hours fills in where the core-hours went, as far as it is known.
func (c *Case) hours(j *job.Job) {
	parts := []string{"lost_core_hours", "lost_mpi_core_hours", "lost_io_core_hours", "lost_openmp_core_hours", "lost_idle_core_hours", "lost_outside_core_hours"}
	for _, name := range []string{"alloc_cores", "runtime"} {
		if why := c.Unknown[name]; why != "" {
			c.unknown(why, append(parts, "core_hours")...)
			return
		}
	}
	c.Hours.NoMPI = len(j.Executions) > 0 && !job.WithMPI(j.Executions)
	cores := float64(c.AllocCores)
	c.CoreHours = cores * c.Runtime / 3600
	c.Hours.Used = &c.CoreHours
	if why := c.Unknown["mpi_runtime"]; why != "" {
		c.unknown(why, parts...)
		return
	}
	inside := min(c.MPIRuntime, c.Runtime)
	switch {
	case job.ThreadsUnknown(j.Executions):
		c.LostOutside = cores * (c.Runtime - inside) / 3600
		c.Hours.Outside = &c.LostOutside
		c.unknown(c.Unknown["parallel_efficiency"], parts[:5]...)
		return
	case c.Coverage < 1:
		c.unknown("not every rank was recorded", parts...)
		return
	}
	c.split(j.Metrics, cores*inside-job.CoreSeconds(j.Executions))
	if c.LostIdle > busyShare*c.CoreHours && c.othersBusy(j) {
		c.Hours.Lost, c.Hours.Idle = nil, nil
		c.unknown("Slurm counted CPU time beside that of the ranks: something else ran on CPUs without one", "lost_core_hours", "lost_idle_core_hours")
	}
}

// split divides the lost core-hours into their parts; idle is the time of cores without a rank,
// s. Slurm counts whole seconds, so a part may come out negative: it is then 0.
func (c *Case) split(m *job.Metrics, idle float64) {
	mpi, io, openmp := m.MPITime, m.IOTime, 0.0
	if h := m.Hybrid; h != nil {
		mpi, io, openmp = h.MPITime, h.IOTime, h.OpenMPTime()
	}
	c.LostCoreHours = max(0, c.CoreHours-m.RealUseful()/3600)
	c.LostOutside = c.LostCoreHours
	for _, part := range []struct {
		hours *float64
		took  float64
	}{{&c.LostMPI, mpi}, {&c.LostIO, io}, {&c.LostOpenMP, openmp}, {&c.LostIdle, idle}} {
		*part.hours = min(max(0, part.took/3600), c.LostOutside)
		c.LostOutside -= *part.hours
	}
	c.Hours = CoreHours{NoMPI: c.Hours.NoMPI, Used: &c.CoreHours, Lost: &c.LostCoreHours, MPI: &c.LostMPI, IO: &c.LostIO, OpenMP: &c.LostOpenMP, Idle: &c.LostIdle, Outside: &c.LostOutside}
}

// busyShare: if CPUs without a rank were busy for more than this part of their time, something
// else ran there.
const busyShare = 0.05
