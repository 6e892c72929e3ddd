package policy

import (
	"time"

	"jobeff/policy/workload"
)

// Case is a job as rules see it.
type Case struct {
	Fields
	Unknown map[string]string // fields that are not known → why
	Doubts  []string          // what makes the figures uncertain
	Ended   string            // how it ended, where that forbids to judge what it ran: a clause; else ""
	why     Cause
	Hours   CoreHours
	// From the study of the job's workload.
	Recommended *workload.Recommendation // the core count that would have been better; nil: none is known
	Waits       []string                 // the doubts of these that are the cause itself: ranks lacked CPUs
	FewRuns     []string                 // what makes past_inflexion uncertain
	Muted       *time.Time               // its owner wants to be told nothing of it until then
}

// Fields that are not known for a reason that concerns them all.
var (
	efficiencyFields = []string{"parallel_efficiency", "load_balance", "load_balance_in", "load_balance_out",
		"communication_efficiency", "idle_ranks", "idle_rank_share", "openmp_parallel_efficiency", "openmp_load_balance",
		"openmp_scheduling_efficiency", "openmp_serialisation_efficiency", "serialisation_efficiency", "transfer_efficiency"}
	measuredFields = append([]string{"program", "mpi", "nodes_used", "executions", "ranks", "threads", "coverage", "threaded", "singletons",
		"mpi_runtime", "mpi_parallel_efficiency", "cause", "cause_text", "advised_cores", "gpu_ranks", "unused_nodes"}, efficiencyFields...)
	detailFields = append([]string{"program", "mpi", "executions", "threaded", "singletons", "mpi_runtime", "cause", "cause_text", "advised_cores", "gpu_ranks", "unused_nodes"}, efficiencyFields...)
)

// unknown notes why fields are not known; the first reason stays.
func (c *Case) unknown(why string, names ...string) {
	for _, name := range names {
		if c.Unknown[name] == "" {
			c.Unknown[name] = why
		}
	}
}

// CoreHours is where a job's core-hours went (METRICS 6). Nil is not known. Lost
// is the sum of its five parts.
type CoreHours struct {
	Used    *float64 // AllocCPUS x Elapsed
	Lost    *float64 // used, less the ranks' useful time
	MPI     *float64 // of the lost ones, those in MPI
	IO      *float64 // those in MPI_File_*
	OpenMP  *float64 // those of threads in barriers, scheduling, and serial parts
	Idle    *float64 // those on cores without a rank while an MPI program ran
	Outside *float64 // those outside MPI_Init to MPI_Finalize
	NoMPI   bool     // Outside are those outside of the first parallel region to the end
}
