package main

import "slices"

// notYet are the situations that are not told right yet, by what is missing.
var notYet = map[string][]string{
	"past is told whatever the parallel efficiency, the busiest rank, the machine, the work and the spread are": {
		"a month in which everything took longer", "a replicated serial part", "one of two nodes is slow",
		"one slow rank", "MPI-IO at the larger count", "another partition with a lower clock",
		"the rise is within the spread", "one of the larger runs had an older CPU",
	},
	"low efficiency is told where no smaller count is known to help, or surely none does": {
		"one of the nodes has an older CPU", "weak scaling that loses efficiency", "refined input, known", "every run has arguments of its own",
		"an array with its parameter in the environment",
		"as bad on every count", "one count at 0.40", "imbalance only", "imbalance only, on one count", "rank 0 reads a file",
		"rank 0 reads a file, the others sleep", "two I/O servers of 64", "two programs in one world", "most ranks were idle once",
		"the MPI part is a tenth of the job", "an idle master of eight", "an idle master of two",
		"eight I/O servers of 64",
	},
	"the state of the job is not looked at": {
		"out of memory", "a node failed", "failed", "cancelled", "preempted",
		"a chain of jobs that end by the time limit", "failed on many cores, fewer were well", "hung until the time limit",
	},
	"threads, CPU time, run-queue wait and GPUs that were opened are not measured": {
		"GPUs that Slurm does not track", "cores that are counted as hardware threads",
		"two ranks on each core, at 0.60", "four ranks on two CPUs", "throttled", "ranks that sleep",
	},
	"singletons are told whatever their inputs are": {
		"eight programs with an input each",
	},
	"figures that cannot be are shown, and sections of no weight are named": {
		"an efficiency above one", "one rank computed longer than it ran", "a section of no weight",
	},
}

// waits says whether a situation is not told right yet, and what is missing.
func waits(name string) (why string, later bool) {
	for why, names := range notYet {
		if slices.Contains(names, name) {
			return why, true
		}
	}
	return "", false
}
