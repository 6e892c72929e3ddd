package policy

import (
	"fmt"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// fullyIdle: threads are idle if all of a rank's together computed at most this many times as long
// as one thread of the rank could.
const fullyIdle = 1.1

// inThreads is a job that lost more to OpenMP than to MPI (METRICS 2).
func inThreads(m *job.Metrics) Cause {
	h := m.Hybrid
	if h == nil {
		return Cause{}
	}
	if h.Useful <= fullyIdle*m.Useful && h.Threads > m.Ranks {
		return Cause{CauseIdleThreads, fmt.Sprintf("Threads idle: the %s of its %s computed for hardly longer than one thread of each rank could.",
			figure.Counted(h.Threads, "thread"), figure.Counted(m.Ranks, "rank")),
			"Ask for one CPU for each rank: --cpus-per-task=1, and OMP_NUM_THREADS=1."}
	}
	if parallel, _, _ := m.OpenMPQuotients(); parallel >= m.ParallelEfficiency {
		return Cause{}
	}
	return threadsLost(h)
}

// threadsLost says what OpenMP's time was lost to.
func threadsLost(h *job.Hybrid) Cause {
	o := h.OpenMP()
	part := func(lost float64) string {
		return fmt.Sprintf("Most of the lost time is OpenMP: %s of the threads' time was ", figure.Percent(lost/h.Span))
	}
	switch min(o.Serialisation, o.LoadBalance, o.Scheduling) {
	case o.Serialisation:
		return Cause{CauseSerial, part(h.Serial) + "outside of parallel regions, while another thread of the rank computed alone (OpenMP serialisation efficiency).",
			"Put more of the work into parallel regions, or ask for fewer CPUs (--cpus-per-task)."}
	case o.LoadBalance:
		return Cause{CauseUnequalThreads, part(h.Imbalance) + "waiting in barriers and at the ends of regions for threads with more work (OpenMP load balance).",
			"Distribute the work evenly among the threads: schedule(dynamic) or schedule(guided) may help."}
	}
	return Cause{CauseScheduling, part(h.Scheduling) + "beginning regions, handing out loops and tasks, and waiting for locks (OpenMP scheduling efficiency).",
		"Make regions, chunks and tasks fewer and larger, and critical sections shorter."}
}
