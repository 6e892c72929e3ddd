package main

import "slices"

// notYet are the situations that are not told right yet, by what is missing.
var notYet = map[string][]string{
	"the interval of the time stands behind the saving, and the figures of one advice differ by the page": {
		"past as plain as can be", "alltoall bound", "named and confirmed", "small problem on one node", "executable at another path, same build",
		"one of five runs was lucky", "one voice where two rules speak", "both larger counts are past", "superlinear, then past",
		"two partitions of the same CPU are one curve", "runs of a year ago agree with new ones", "fewer cores hardly take longer",
		"1024 cores for what 256 do", "eight times the efficient count each week", "the same with noise of 5 %, five runs each",
		"1024 cores at 0.12 with noise of 10 %", "half of the ranks are idle in every run", "one to tell, one that nobody can tell", "past on one kind of CPU, slow runs on another",
		"a rank is still running", "told two weeks ago", "told five weeks ago, and nothing changed", "muted", "no longer muted",
		"the site leaves a user out", "two workloads to tell", "a time limit, and completed runs that say the same", "two users of one program",
	},
	"past is told whatever the parallel efficiency, the busiest rank, the machine, the work and the spread are": {
		"scales, but runs spread by 40 %", "an older CPU, and many cores as well", "neither strong nor weak",
		"a month in which everything took longer", "file system at the larger count", "a replicated serial part", "one of two nodes is slow",
		"one slow rank", "MPI-IO at the larger count", "the larger count ran on an older CPU", "another partition with a lower clock",
		"hardware threads as cores", "noisy neighbours at the larger count", "the rise is within the spread", "contention beside a true rise", "one of the larger runs had an older CPU",
		"refined input, unknown", "input on standard input, twice the work", "one name for two inputs", "one name for a debug build",
	},
	"low efficiency is told where no smaller count is known to help, or surely none does": {
		"one of the nodes has an older CPU", "weak scaling that loses efficiency", "refined input, known", "every run has arguments of its own",
		"an array with its parameter in the environment", "more steps after a restart", "one run on each count", "a scaling test in one job",
		"a scaling test in jobs of one day", "ranks with threads on the smaller count", "the faster count was another user's",
		"as bad on every count", "one count at 0.40", "imbalance only", "imbalance only, on one count", "rank 0 reads a file",
		"rank 0 reads a file, the others sleep", "two I/O servers of 64", "two programs in one world", "most ranks were idle once",
		"the MPI part is a tenth of the job", "the saving may be none", "an idle master of eight", "an idle master of two",
		"eight I/O servers of 64", "they went to fewer cores by themselves", "just below 0.80",
	},
	"the state of the job is not looked at": {
		"past beside time limits of another workload", "out of memory", "a node failed", "failed", "cancelled", "preempted",
		"a chain of jobs that end by the time limit", "failed on many cores, fewer were well", "hung until the time limit",
	},
	"threads, CPU time, run-queue wait and GPUs that were opened are not measured": {
		"GPUs that Slurm does not track", "cores that are counted as hardware threads",
		"two ranks on each core, at 0.60", "four ranks on two CPUs", "throttled", "ranks that sleep",
	},
	"singletons are told whatever their inputs are, unused nodes whatever Slurm's TotalCPU says, and without a line to copy": {
		"eight programs with an input each", "three of four nodes unused", "six of eight nodes unused", "four nodes, MPI on one, the others busy",
		"four nodes, MPI on one, nobody knows of the others",
	},
	"a mail goes whatever may be saved, before Slurm has told of the job, and with any number of items": {
		"too little to save", "a small part of what they used", "Slurm has not told of it", "three hundred workloads",
	},
	"figures that cannot be are shown, and sections of no weight are named": {
		"an efficiency above one", "one rank computed longer than it ran", "a negative time", "a section of no weight",
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
