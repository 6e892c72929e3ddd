package job

import (
	"cmp"
	"strings"
	"time"

	"jobeff/ingest/slurmid"
)

// CPUEfficiency is TotalCPU / (Elapsed x AllocCPUS), as in seff; nil if unknown. It exceeds 1 if
// the job used more CPU time than it was given (see assemble.UsageWarnings).
func (j *Job) CPUEfficiency() *float64 {
	if j.Usage == nil || j.CPUs <= 0 || j.Elapsed <= 0 {
		return nil
	}
	e := j.Usage.TotalCPU.Seconds() / j.usedSeconds()
	return &e
}

// MemoryEfficiency is NeededMemory / Usage.Allocated; nil if one of them is unknown.
func (j *Job) MemoryEfficiency() *float64 {
	need := j.NeededMemory()
	if j.Usage == nil || j.Usage.Allocated <= 0 || need == nil || max(need.Use, need.High) <= 0 {
		return nil
	}
	e := float64(need.Needed()) / float64(j.Usage.Allocated)
	return &e
}

// WholeNodes says whether the job was given all CPUs of its nodes. If that is not known, why says why.
func (j *Job) WholeNodes() (whole bool, why string) {
	cpus, nodes := 0, map[string]bool{}
	for i := range j.Executions {
		for k := range j.Executions[i].Nodes {
			n := &j.Executions[i].Nodes[k]
			if nodes[n.Node] {
				continue
			}
			if nodes[n.Node] = true; n.OnlineCPUs == 0 {
				return false, "how many CPUs its nodes have is not known"
			}
			cpus += n.OnlineCPUs
			if h := n.Hardware; h != nil && h.ThreadsPerCore > 1 && j.CPUs <= j.Nodes*h.Cores { // Slurm counts cores
				cpus += h.Cores - n.OnlineCPUs
			}
		}
	}
	if len(nodes) == 0 || len(nodes) < j.Nodes {
		c := j.Cgroup
		if c == nil || c.CPUs == 0 || c.Nodes < j.Nodes {
			return false, "not all of its nodes said how many CPUs they have"
		}
		if cpus = c.CPUs; j.CPUs <= c.Cores {
			cpus = c.Cores
		}
	}
	return j.CPUs >= cpus, ""
}

// TimeEfficiency is Elapsed / TimeLimit; nil if unknown.
func (j *Job) TimeEfficiency() *float64 {
	if j.TimeLimit <= 0 || j.End.IsZero() || j.Elapsed <= 0 {
		return nil
	}
	e := j.Elapsed.Seconds() / j.TimeLimit.Seconds()
	return &e
}

// QueueTime is how long the job waited for resources: from when it was eligible, else from when it was
// submitted, to its start. 0 if unknown.
func (j *Job) QueueTime() time.Duration {
	from := j.Eligible
	if from.IsZero() || from.Before(j.Submit) || from.After(j.Start) {
		from = j.Submit
	}
	if from.IsZero() || j.Start.IsZero() {
		return 0
	}
	return max(j.Start.Sub(from), 0)
}

// CoreTime is time of cores, us: of those that a job was given, or a part of it (METRICS 6).
type CoreTime int64

// CoreHour is a core-hour in units of CoreTime.
const CoreHour = float64(time.Hour / time.Microsecond)

// Hours are core-hours.
func (t CoreTime) Hours() float64 { return float64(t) / CoreHour }

// HoursOf are core-hours; nil: not known.
func HoursOf(t *CoreTime) *float64 {
	if t == nil {
		return nil
	}
	hours := t.Hours()
	return &hours
}

// IsStep reports whether it is a step of a job, whose figures of Slurm are those of the whole job.
func (j *Job) IsStep() bool {
	ref, err := slurmid.Parse(j.DisplayID)
	return err == nil && ref.Step != ""
}

// mostCoreTime bounds core time. No machine gives a job so much, 278 million core-hours: larger
// figures of Slurm's are wrong. The sums of months are whole numbers, too.
const mostCoreTime = 1e18

// AddCoreTime adds two times. What is more than the largest whole number stays at it.
func AddCoreTime(a, b CoreTime) CoreTime {
	return CoreTime(AddTime(time.Duration(a), time.Duration(b)))
}

// UsedCoreTime is AllocCPUS x Elapsed, so far if the job still runs; nil: not known.
func UsedCoreTime(cpus int, elapsed time.Duration) *CoreTime {
	if cpus <= 0 || elapsed <= 0 || float64(cpus)*float64(elapsed.Microseconds()) > mostCoreTime {
		return nil
	}
	used := CoreTime(cpus) * CoreTime(elapsed.Microseconds())
	return &used
}

// UsedTime is AllocCPUS x Elapsed, so far if the job still runs; nil: not known. For a resized job it
// adds up the sizes.
func (j *Job) UsedTime() *CoreTime { return cmp.Or(j.Used, UsedCoreTime(j.CPUs, j.Elapsed)) }

// UsedCoreHours are UsedTime.
func (j *Job) UsedCoreHours() *float64 { return HoursOf(j.UsedTime()) }

// usedSeconds is UsedTime in s, even if Slurm's figures are impossible.
func (j *Job) usedSeconds() float64 {
	if j.Used != nil {
		return 3600 * j.Used.Hours()
	}
	return j.Elapsed.Seconds() * float64(j.CPUs)
}

// CoveredBy is Covered of the job's core time.
func (j *Job) CoveredBy(rankSeconds float64) *float64 {
	if j.Used == nil {
		return Covered(rankSeconds, j.CPUs, j.Elapsed)
	}
	c := min(rankSeconds/j.usedSeconds(), 1)
	return &c
}

// LostCoreHours are those that jobeffd's database has kept as lost: policy.CoreHoursOf computes them. nil: not known.
func (j *Job) LostCoreHours() *float64 { return HoursOf(j.Lost) }

// FurtherThreads is the time that the further hardware threads of cores with a rank or thread had
// while programs ran, s. It is no more than AllocCPUS leaves: Slurm may count cores. Nobody knows what
// these threads would have gained, so they are not lost.
func (j *Job) FurtherThreads() float64 {
	further, _ := j.Beside()
	return further
}

// Beside splits the CPU time, s, that the job had while its programs ran, and no rank or thread used:
// into FurtherThreads and the time of CPUs without a rank or thread. Slurm counts whole seconds, so
// the latter may come out negative.
func (j *Job) Beside() (further, idle float64) {
	beside := float64(j.CPUs)*min(RunTime(j.Executions), j.Elapsed).Seconds() - CoreSeconds(j.Executions)
	further = min(SMTSeconds(j.Executions), max(beside, 0))
	return further, beside - further
}

// ThreadsPerCore is how many hardware threads a core of its nodes has, 1 if that is not known.
func (j *Job) ThreadsPerCore() int {
	if j.Cgroup == nil || j.Cgroup.Cores <= 0 {
		return 1
	}
	return max((j.Cgroup.CPUs+j.Cgroup.Cores-1)/j.Cgroup.Cores, 1)
}

// StepsOutOfMemory lists the steps that Slurm ended as OUT_OF_MEMORY; nil if there are none.
func (u *Usage) StepsOutOfMemory() []string {
	if u == nil || u.OutOfMemory == "" {
		return nil
	}
	return strings.Split(u.OutOfMemory, ",")
}

// Suspended is how long Slurm had stopped the job: its Elapsed, unlike the time from its start to
// its end, leaves that out. It is 0 until sacct has reported all three: its times are whole
// seconds, those of nodes are not.
func (j *Job) Suspended() time.Duration {
	if j.Submit.IsZero() || j.Start.IsZero() || j.End.IsZero() || j.Elapsed <= 0 || j.Start.Nanosecond() != 0 || j.End.Nanosecond() != 0 {
		return 0
	}
	return max(0, j.End.Sub(j.Start)-j.Elapsed)
}
