package policy

import (
	"fmt"
	"math"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// hours fills in where the core-hours went, as far as it is known.
func (c *Case) hours(j *job.Job) {
	parts := []string{"lost_core_hours", "lost_mpi_core_hours", "lost_io_core_hours", "lost_openmp_core_hours", "smt_core_hours", "lost_idle_core_hours", "lost_outside_core_hours"}
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
		c.unknown(c.Unknown["parallel_efficiency"], parts[:6]...)
		return
	case c.Coverage < 1:
		c.unknown("not every rank was recorded", parts...)
		return
	}
	smt, idle := j.Beside()
	c.split(j.Metrics, smt, idle)
	if c.LostIdle > busyShare*c.CoreHours && othersBusy(j) {
		c.Hours.Lost, c.Hours.Idle = nil, nil
		c.unknown("Slurm counted CPU time beside that of the ranks: something else ran on CPUs without one", "lost_core_hours", "lost_idle_core_hours")
	}
}

// split divides the lost core-hours into their parts; smt and idle are those of Beside, s. Slurm
// counts whole seconds, so a part may come out negative: it is then 0.
func (c *Case) split(m *job.Metrics, smt, idle float64) {
	mpi, io, openmp := m.MPITime, m.IOTime, 0.0
	if h := m.Hybrid; h != nil {
		mpi, io, openmp = h.MPITime, h.IOTime, h.OpenMPTime()
	}
	c.SMT = smt / 3600
	c.LostCoreHours = max(0, c.CoreHours-(smt+m.RealUseful())/3600)
	c.LostOutside = c.LostCoreHours
	for _, part := range []struct {
		hours *float64
		took  float64
	}{{&c.LostMPI, mpi}, {&c.LostIO, io}, {&c.LostOpenMP, openmp}, {&c.LostIdle, idle}} {
		*part.hours = min(max(0, part.took/3600), c.LostOutside)
		c.LostOutside -= *part.hours
	}
	c.Hours = CoreHours{NoMPI: c.Hours.NoMPI, Used: &c.CoreHours, Lost: &c.LostCoreHours, MPI: &c.LostMPI, IO: &c.LostIO, OpenMP: &c.LostOpenMP, SMT: &c.SMT, Idle: &c.LostIdle, Outside: &c.LostOutside}
}

// busyShare: if CPUs without a rank were busy for more than this part of their time, something
// else ran there.
const busyShare = 0.05

// manyWithout: CPUs without a rank or thread are told from this part of the job's core-hours on.
const manyWithout = 0.25

// WithoutRank says how many of a job's CPUs had neither a rank nor a thread while its programs ran,
// the mean of that time; "" where they are few, or where it is not known.
func WithoutRank(j *job.Job) string {
	idle, ran := withoutRank(j)
	if ran == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s had no rank and no thread.", figure.Count(int(math.Round(idle/ran))), figure.Counted(j.CPUs, "CPU"))
}

// withoutRank is the time of the CPUs without a rank or thread, and how long the job's programs ran, s;
// 0 and 0 where they are few, or where it is not known.
func withoutRank(j *job.Job) (idle, ran float64) {
	if !j.IsWhole() || job.ThreadsUnknown(j.Executions) || othersBusy(j) {
		return 0, 0
	}
	ran = min(job.RunTime(j.Executions), j.Elapsed).Seconds()
	if _, idle = j.Beside(); idle <= 0 || idle < manyWithout*float64(j.CPUs)*j.Elapsed.Seconds() {
		return 0, 0
	}
	return idle, ran
}

// unused is a job that lost most on CPUs without a rank or thread.
func unused(j *job.Job, load *job.Load) Cause {
	idle, _ := withoutRank(j)
	if idle == 0 || idle < job.CoreSeconds(j.Executions)-j.Metrics.RealUseful() || asleep(j, load).Code != "" {
		return Cause{}
	}
	return Cause{CauseWithoutRank, "Most of the lost core-hours are those of CPUs without work: " + WithoutRank(j),
		"Start more ranks or threads, or ask for fewer CPUs (--ntasks, --cpus-per-task), unless it needs their memory."}
}
