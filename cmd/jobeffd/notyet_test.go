package main

import "slices"

// notYet are the situations that are not told right yet, by what is missing.
var notYet = map[string][]string{
	"past is told whatever the parallel efficiency, the busiest rank, the machine, the work and the spread are": {
		"a month in which everything took longer", "another partition with a lower clock",
		"the rise is within the spread",
	},
	"low efficiency is told where no smaller count is known to help, or surely none does": {
		"an array with its parameter in the environment",
	},
	"threads, CPU time, run-queue wait and GPUs that were opened are not measured": {
		"ranks that sleep",
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
