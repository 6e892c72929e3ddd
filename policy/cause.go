package policy

import (
	"slices"
	"strings"

	"jobeff/ingest/job"
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
	CauseHung           = "hung"        // up to the time limit, in one MPI function
	CauseSuspended      = "suspended"
	CauseGPUs           = "gpus"
	CauseContention     = "contention"        // ranks waited for CPUs
	CauseThreads        = "threads"           // what its threads did is not measured
	CauseIdleThreads    = "idle_threads"      // one thread of each rank could have done it
	CauseSerial         = "serial_part"       // of OpenMP: outside of regions
	CauseUnequalThreads = "unequal_threads"   // of OpenMP: in barriers
	CauseScheduling     = "openmp_scheduling" // and locks
	CauseIO             = "io"                // MPI_File_*
	CauseIdleRanks      = "idle_ranks"        // many ranks hardly computed
	CauseOneRank        = "one_rank"          // the others waited for it
	CauseOneNode        = "one_node"          // the others waited for it
	CauseNodes          = "between_nodes"     // unequal work
	CauseRanks          = "inside_nodes"      // unequal work
	CauseCommunication  = "communication"     // waits or messages: it is not known which
	CauseSerialisation  = "serialisation"     // waits for other ranks' work
	CauseTransfer       = "transfer"          // of messages
	CauseAsleep         = "asleep"            // ranks neither computed, nor waited for a CPU, nor were in MPI
)

// String is the text with the mend.
func (c Cause) String() string { return strings.TrimSpace(c.Text + " " + c.Mend) }

// fewerMayHelp says whether a smaller core count can be the answer to the cause.
func (c Cause) fewerMayHelp() bool {
	return slices.Contains([]string{"", CauseCommunication, CauseSerialisation, CauseTransfer, CauseIdleRanks, CauseAsleep, CauseSerial, CauseScheduling}, c.Code)
}

// blursUseful says whether the useful time contains time in which ranks did not compute: the
// efficiencies are then higher than the truth.
func (c Cause) blursUseful() bool { return c.Code == CauseContention || c.Code == CauseAsleep }

// sentence makes one of a clause.
func sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }

// clause is the text as a part of a sentence: "it ran out of memory".
func (c Cause) clause() string {
	if c.Text == "" {
		return ""
	}
	return strings.ToLower(c.Text[:1]) + strings.TrimSuffix(c.Text[1:], ".")
}

// warnings are those of the job and of its executions.
func warnings(j *job.Job) []job.Warning {
	all := slices.Clone(j.Warnings)
	for i := range j.Executions {
		all = append(all, j.Executions[i].Warnings...)
	}
	return all
}
