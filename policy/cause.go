package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Cause is what keeps a job's figures from being good, as far as it was measured.
type Cause struct {
	Code string // one of the codes below; "": nothing to explain, or not known
	Text string // what was measured, in sentences
	Mend string // what may help, in sentences; "": nothing follows
}

// The codes of causes: a condition may compare with them.
const (
	CauseEnded          = "ended_badly" // the job did not end by itself: its state says how
	CauseHung           = "hung"        // it stood still, or seems to have, until something ended it
	CauseSuspended      = "suspended"
	CauseGPUs           = "gpus"
	CauseContention     = "contention"        // ranks waited for CPUs
	CauseThreads        = "threads"           // what its threads did is not measured
	CauseWithoutRank    = "without_rank"      // CPUs had neither a rank nor a thread
	CauseIdleThreads    = "idle_threads"      // one thread of each rank could have done it
	CauseSerial         = "serial_part"       // of OpenMP: outside of regions
	CauseUnequalThreads = "unequal_threads"   // of OpenMP: in barriers
	CauseScheduling     = "openmp_scheduling" // of OpenMP: beginning regions, handing out loops and tasks, locks
	CauseIO             = "io"                // MPI_File_*
	CauseIdleRanks      = "idle_ranks"        // many ranks hardly computed
	CauseOneRank        = "one_rank"          // the others waited for it
	CauseOneNode        = "one_node"          // the others waited for it
	CauseNodes          = "between_nodes"     // unequal work
	CauseRanks          = "inside_nodes"      // unequal work
	CauseCommunication  = "communication"     // waits or messages: it is not known which
	CauseSerialisation  = "serialisation"     // waits for other ranks' work
	CauseTransfer       = "transfer"          // of messages
	CausePaging         = "paging"            // ranks or processes waited for memory: page faults or swapping
	CauseThrottled      = "throttled"         // a limit of CPU time stopped it
	CauseAsleep         = "asleep"            // ranks neither computed, nor waited for a CPU, nor were in MPI
)

// String is the text with the mend.
func (c Cause) String() string { return strings.TrimSpace(c.Text + " " + c.Mend) }

// fewerMayHelp reports whether a smaller core count can be the answer to the cause.
func (c Cause) fewerMayHelp() bool {
	return slices.Contains([]string{"", CauseCommunication, CauseSerialisation, CauseTransfer, CauseWithoutRank, CauseIdleRanks, CauseAsleep, CauseSerial, CauseScheduling}, c.Code)
}

// blursUseful reports whether the useful time contains time in which ranks did not compute. The efficiencies
// are then higher than the truth.
func (c Cause) blursUseful() bool {
	return slices.Contains([]string{CauseContention, CauseAsleep, CausePaging, CauseThrottled}, c.Code)
}

// sentence makes a sentence of a clause.
func sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }

// clause returns the text's first sentence as a clause: "it ran out of memory".
func (c Cause) clause() string {
	if c.Text == "" {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSuffix(c.Text, "."), ". ")
	return strings.ToLower(first[:1]) + first[1:]
}

// warnings returns those of the job and of its executions.
func warnings(j *job.Job) []doubt.Warning {
	all := slices.Clone(j.Warnings)
	for i := range j.Executions {
		all = append(all, j.Executions[i].Warnings...)
	}
	return all
}

// recommend returns the core count that the job should have had. It is nil if the study knows none, if the
// number of cores did not cause the lost time, if something else ended the job, or if several programs shared
// the cores.
func recommend(study *workload.Study, j *job.Job, why Cause) *workload.Recommendation {
	if !ofCores(j, why) {
		return nil
	}
	return study.Recommend(j)
}

// Options returns the core counts to choose from, under the conditions of recommend.
func Options(study *workload.Study, j *job.Job) []workload.Option {
	if j != nil && !ofCores(j, CauseOf(j)) {
		return nil
	}
	return study.Options(j)
}

// ofCores reports whether a job's core count may be its fault. The job's programs must have run to their end,
// and one after the other.
func ofCores(j *job.Job, why Cause) bool {
	return CutShort(j) == "" && why.fewerMayHelp() && !atOnce(j.Executions)
}

// CauseOf says why a job's figures are not good: first what makes them unreadable, then what cost
// most of the lost time.
func CauseOf(j *job.Job) Cause {
	load := job.LoadOf(j.Executions)
	return cmp.Or(hung(j), ended(j), suspended(j), onGPUs(j, load), throttled(j, load), contended(j, load), paging(j, load), withThreads(j, load), unused(j, load), lostTo(j), asleep(j, load))
}

// withThreads is the cause if unmeasured threads computed, or may have.
func withThreads(j *job.Job, load *job.Load) Cause {
	switch {
	case !job.ThreadsUnknown(j.Executions):
		return Cause{}
	case job.ThreadsWhy(j.Executions) != "":
		return Cause{Code: CauseThreads, Text: "What its threads did is not known: " + job.ThreadsWhy(j.Executions) + "."}
	case load != nil && load.Threaded > load.OpenMP:
		return Cause{Code: CauseThreads, Text: sentence(doubt.Threaded(load.ThreadedArgs()) + ", and what these did is not measured")}
	}
	return Cause{Code: CauseThreads, Text: "Its environment asks for several threads or CPUs for each rank, and what these did is not measured."}
}

// contended is the cause if ranks waited for CPUs: a part of the useful time is then such waiting.
func contended(j *job.Job, load *job.Load) Cause {
	c := Cause{Code: CauseContention, Mend: "Each rank and thread wants a CPU of its own, and to be bound to it."}
	if load != nil && load.CrowdBusy > 0 {
		c.Text = doubt.Crowd(load.CrowdArgs()) + ", so part of the useful time is waiting for a CPU."
		if b := BindingOf(j); b != nil {
			c.Mend = b.mend()
		}
		return c
	}
	for _, w := range warnings(j) {
		if w.Code == doubt.WarnOversubs {
			c.Text = doubt.Text(w) + ", so some of the time of each is waiting for a CPU."
			return c
		}
	}
	if load != nil && load.Contended() {
		return Cause{CauseContention, "Its " + doubt.Queue(load.QueueArgs()) + ".",
			"Other programs on its cores, too few CPUs (--cpus-per-task) or a CPU limit may be why."}
	}
	return Cause{}
}

// asleepBelow is the part of the ranks' time that their CPU time must reach: with less, they slept.
const asleepBelow = 0.8

// readEnough is the part of the ranks' time that their own readings must cover to be believed. Ranks read their
// counters at MPI calls. One that is killed long after its last call was last read then.
const readEnough = 0.5

// asleep is the cause if ranks used little CPU time although they were not in MPI.
func asleep(j *job.Job, load *job.Load) Cause {
	c := Cause{Code: CauseAsleep, Mend: "See whether it waits for files, or sleeps."}
	ran := job.RankSeconds(j.Executions)
	if load != nil && load.Span.Seconds() >= readEnough*ran {
		if !load.IsAsleep() {
			return Cause{}
		}
		c.Text = "Its ranks slept, or waited for a file: " + doubt.Slept(load.SleptArgs()) + "."
		return c
	}
	if j.Usage == nil || ran <= 0 || j.Usage.TotalCPU <= 0 || j.Usage.TotalCPU.Seconds() >= asleepBelow*ran { // 0: nobody counted
		return Cause{}
	}
	c.Text = fmt.Sprintf("Its ranks slept or waited: Slurm counted CPU time for only %s of their time.", figure.Percent(j.Usage.TotalCPU.Seconds()/ran))
	return c
}

// AsleepText describes ranks that used little CPU time although they were not in MPI, whatever ended the job;
// "": they did not, or that is not known.
func AsleepText(j *job.Job) string { return asleep(j, job.LoadOf(j.Executions)).Text }

// heldUp is the part of the time from which a CPU limit, or waiting for memory, counts as a cause.
const heldUp = 0.05

// throttled is the cause if a limit of CPU time stopped the job. Its threads wanted to run in the throttled
// time, too, so that is taken as a part of it and the CPU time together.
func throttled(j *job.Job, load *job.Load) Cause {
	if j.Cgroup == nil || j.Cgroup.Throttled == nil {
		return Cause{}
	}
	ran, stopped := time.Duration(0), *j.Cgroup.Throttled
	if load != nil {
		ran = load.CPU
	}
	if j.Usage != nil {
		ran = max(ran, j.Usage.TotalCPU)
	}
	if ran == 0 || stopped.Seconds() <= heldUp*(ran+stopped).Seconds() {
		return Cause{}
	}
	return Cause{CauseThrottled, fmt.Sprintf("A limit of CPU time stopped its processes in at least %s of the time in which they wanted to compute (%s, over all CPUs).",
		figure.Part(stopped.Seconds(), (ran+stopped).Seconds()), figure.Clock(stopped)),
		"Slurm sets no such limit: ask your support who does. Fewer ranks or threads lose less to it."}
}

// slowFault bounds how long one page fault may be taken to have waited for a disk.
const slowFault = 20 * time.Millisecond

// paging is the cause if the job waited for memory. Either the kernel says so for whole nodes (PSI), or ranks
// were off the CPU outside MPI, and page faults that read from a disk may be why.
func paging(j *job.Job, load *job.Load) Cause {
	c := Cause{Code: CausePaging, Mend: "It may map files, which can be read in larger pieces instead, or its nodes may have too little memory."}
	if g := j.Cgroup; g != nil && g.Stalled != nil && g.Nodes > 0 && j.Elapsed > 0 {
		if of := float64(g.Nodes) * j.Elapsed.Seconds(); g.Stalled.Seconds() > heldUp*of {
			c.Text = fmt.Sprintf("All of its processes waited for memory in %s of the time", figure.Part(g.Stalled.Seconds(), of))
			if g.Swapped > 0 {
				c.Text += fmt.Sprintf(": %s came back from swap", figure.Counted(g.Swapped, "page"))
			}
			c.Text += "."
			return c
		}
	}
	if load == nil || load.Used == 0 || load.Span <= 0 || !load.IsOff() || load.OffLeast/slowFault > time.Duration(load.Faults) {
		return Cause{}
	}
	c.Text = fmt.Sprintf("Outside MPI its ranks were off the CPU in at least %s of their time, and page faults may be why: %s read from a disk.",
		figure.Part(load.OffLeast.Seconds(), load.Span.Seconds()), figure.Count(load.Faults))
	return c
}
