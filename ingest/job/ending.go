package job

import (
	"cmp"
	"maps"
	"slices"
)

// How ranks end, as in Execution.Endings. Others are "exit N without MPI_Finalize",
// "MPI_Abort N", "exit N" and "signal N (NAME)".
const (
	EndingFinalized = "finalized"
	EndingRunning   = "running"
	EndingAssumed   = "assumed" // nobody saw it
	EndingExec      = "exec of another program"
	EndingOther     = "other" // the rest, if there are too many different ones
)

// mostEndings bounds Execution.Endings of one node.
const mostEndings = 32

// CutEndings moves the rarest endings into EndingOther if there are too many.
func CutEndings(all map[string]int) map[string]int {
	if len(all) <= mostEndings {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	for _, name := range names[mostEndings-1:] {
		all[EndingOther] += all[name]
		delete(all, name)
	}
	return all
}
