package policy

import (
	"cmp"
	"fmt"
	"math"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// CoreHours is where a job's core-hours went (METRICS 6), in whole microseconds; nil: not known. Lost is the sum of its
// five parts. Lists, months, digests and counters sum up what the store keeps of it.
type CoreHours struct {
	Used    *job.CoreTime // AllocCPUS x Elapsed; of a running job, those so far
	SMT     *job.CoreTime // of Used, on further hardware threads of cores with a rank: job.Job.FurtherThreads
	Lost    *job.CoreTime // Used, less SMT and the ranks' useful time
	MPI     *job.CoreTime // of Lost, in MPI
	IO      *job.CoreTime // of Lost, in MPI_File_*
	OpenMP  *job.CoreTime // of Lost, of threads in barriers, scheduling and serial parts
	Idle    *job.CoreTime // of Lost, on cores without a rank while an MPI program ran
	Outside *job.CoreTime // of Lost, outside MPI_Init to MPI_Finalize
	NoCPU   *job.CoreTime // of the useful ones, at least: a rank had no CPU; nil: few, or not known
	NoMPI   bool          // it ran no MPI: Outside is then outside of the first parallel region to the end
}

// Judged returns the core-hours whose loss is known; nil: there are none.
func (h *CoreHours) Judged() *job.CoreTime {
	if h.Lost == nil {
		return nil
	}
	judged := *h.Used - *h.SMT
	return &judged
}

// CoreHoursOf works out where a job's core-hours went, as far as it is known. For a job from a list, which has
// no executions, only Used is known. For a step nothing is: Slurm's figures are those of the whole job.
func CoreHoursOf(j *job.Job) CoreHours {
	if j.IsStep() {
		return CoreHours{}
	}
	h := CoreHours{Used: j.UsedTime(), NoMPI: len(j.Executions) > 0 && !job.WithMPI(j.Executions)}
	if h.Used == nil || j.End.IsZero() || notMeasured(j) != "" || len(j.Executions) == 0 {
		return h
	}
	switch {
	case job.ThreadsUnknown(j.Executions) && j.Used != nil:
	case job.ThreadsUnknown(j.Executions):
		inside := min(job.RunTime(j.Executions), j.Elapsed)
		outside := *h.Used - job.CoreTime(j.CPUs)*job.CoreTime(inside.Microseconds())
		h.Outside = &outside
	case j.Metrics.Coverage >= 1:
		h.split(j)
	}
	return h
}

// CoreHoursListed returns those of a job from a list, as the store keeps them: without the parts of Lost.
func CoreHoursListed(j *job.Job) CoreHours {
	h := CoreHours{Used: j.UsedTime(), Lost: j.Lost}
	if h.Used != nil && j.Judged != nil {
		smt := *h.Used - *j.Judged
		h.SMT = &smt
	}
	return h
}

// CoreTime rounds seconds of a core to microseconds, at most 1e18 of them, which an int64 holds.
func CoreTime(seconds float64) job.CoreTime { return job.CoreTime(math.Round(min(1e6*seconds, 1e18))) }

// split divides the core-hours of a job whose every rank and thread was recorded. Slurm counts whole seconds,
// so a part may come out negative: split makes it 0.
func (h *CoreHours) split(j *job.Job) {
	m := j.Metrics
	mpi, io, openmp := m.MPITime, m.IOTime, 0.0
	if m.Hybrid != nil {
		mpi, io, openmp = m.Hybrid.MPITime, m.Hybrid.IOTime, m.Hybrid.OpenMPTime()
	}
	further, idle := j.Beside()
	smt := min(CoreTime(further), *h.Used)
	lost := max(*h.Used-smt-CoreTime(m.RealUseful()), 0)
	h.SMT, h.Lost, h.NoCPU = &smt, &lost, withoutCPU(j)
	left := lost
	for _, part := range []struct {
		of   **job.CoreTime
		took float64 // s
	}{{&h.MPI, mpi}, {&h.IO, io}, {&h.OpenMP, openmp}, {&h.Idle, idle}} {
		took := min(max(CoreTime(part.took), 0), left)
		*part.of, left = &took, left-took
	}
	if h.Outside = &left; float64(*h.Idle) > busyShare*float64(*h.Used) && othersBusy(j) {
		h.Lost, h.Idle = nil, nil
	}
	if j.Used != nil { // the number of CPUs while its programs ran is not kept
		h.Idle, h.Outside = nil, nil
	}
}

// withoutCPU returns the useful time in which the job's ranks had no CPU, at least: they slept, or waited for a
// file or a CPU. It comes from the ranks' own readings, or from Slurm's CPU time. nil: less than a tenth of the
// useful time, or not known.
func withoutCPU(j *job.Job) *job.CoreTime {
	useful, least := j.Metrics.RealUseful(), 0.0
	if load := job.LoadOf(j.Executions); load != nil && j.Metrics.Hybrid == nil { // threads of OpenMP sleep outside useful time, too
		least = load.Slept.Seconds()
	}
	if u := j.Usage; u != nil && u.TotalCPU > 0 && !u.PartOfNodes {
		least = max(least, useful-u.TotalCPU.Seconds())
	}
	if least = min(least, useful); least < (1-busyUseful)*useful || least == 0 {
		return nil
	}
	t := CoreTime(least)
	return &t
}

// hours fills in where the core-hours went, and why some are not known.
func (c *Case) hours(j *job.Job) {
	c.Hours = CoreHoursOf(j)
	h := &c.Hours
	ended := cmp.Or(c.Unknown["alloc_cores"], c.Unknown["runtime"])
	if ended == "" && h.Used == nil {
		ended = "Slurm's figures of it cannot be"
	}
	why := cmp.Or(ended, c.Unknown["mpi_runtime"])
	switch {
	case why != "":
	case j.Used != nil:
		why = "it was resized: how many CPUs it had while its programs ran is not known"
	case job.ThreadsUnknown(j.Executions):
		why = c.Unknown["parallel_efficiency"]
	case c.Coverage < 1:
		why = "not every rank was recorded"
	default:
		why = "Slurm counted CPU time beside that of the ranks: something else ran on CPUs without one"
	}
	if ended != "" {
		c.unknown(ended, "core_hours")
	} else {
		c.CoreHours = h.Used.Hours()
	}
	for _, part := range []struct {
		name string
		of   *job.CoreTime
		to   *float64
	}{{"lost_core_hours", h.Lost, &c.LostCoreHours}, {"lost_mpi_core_hours", h.MPI, &c.LostMPI}, {"lost_io_core_hours", h.IO, &c.LostIO},
		{"lost_openmp_core_hours", h.OpenMP, &c.LostOpenMP}, {"smt_core_hours", h.SMT, &c.SMT}, {"lost_idle_core_hours", h.Idle, &c.LostIdle},
		{"lost_outside_core_hours", h.Outside, &c.LostOutside}} {
		if part.of == nil {
			c.unknown(why, part.name)
		} else {
			*part.to = part.of.Hours()
		}
	}
}

// busyShare is the part of their time from which busy CPUs without a rank mean that something else ran there.
const busyShare = 0.05

// busyUseful is the part of the useful time for which ranks must have had a CPU: with less, NoCPU holds the
// rest.
const busyUseful = 0.9

// manyWithout is the part of the job's core-hours from which CPUs without a rank or thread are mentioned.
const manyWithout = 0.25

// WithoutRank says how many of a job's CPUs had neither a rank nor a thread while its programs ran, as a mean
// over that time; "": few, or not known.
func WithoutRank(j *job.Job) string {
	idle, ran := withoutRank(j)
	if ran == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s had no rank and no thread.", figure.Count(int(math.Round(idle/ran))), figure.Counted(j.CPUs, "CPU"))
}

// withoutRank returns the time of the CPUs without a rank or thread, and how long the job's programs ran, s; 0
// and 0: few such CPUs, or not known.
func withoutRank(j *job.Job) (idle, ran float64) {
	if !j.IsWhole() || j.Used != nil || job.ThreadsUnknown(j.Executions) || othersBusy(j) {
		return 0, 0
	}
	ran = min(job.RunTime(j.Executions), j.Elapsed).Seconds()
	if _, idle = j.Beside(); idle <= 0 || idle < manyWithout*float64(j.CPUs)*j.Elapsed.Seconds() {
		return 0, 0
	}
	return idle, ran
}

// unused is the cause of a job that lost most on CPUs without a rank or thread.
func unused(j *job.Job, load *job.Load) Cause {
	idle, _ := withoutRank(j)
	if idle == 0 || idle < job.CoreSeconds(j.Executions)-j.Metrics.RealUseful() || asleep(j, load).Code != "" {
		return Cause{}
	}
	return Cause{CauseWithoutRank, "Most of the lost core-hours are those of CPUs without work: " + WithoutRank(j),
		"More ranks or threads would use them; they are not lost if it needs their memory."}
}
