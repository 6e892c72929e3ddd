package job

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
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

// CameToEnd tells whether every rank ended by itself: it left MPI_Finalize or, without MPI, returned
// 0.
func (e *Execution) CameToEnd() bool {
	done := e.Endings[EndingFinalized]
	if e.MPI == "" {
		done += e.Endings["exit 0"]
	}
	return done >= e.Size
}

// Stuck is how long at its end all ranks of an execution were in MPI calls that they never left.
// It is 0 if one was not, or is not known.
func Stuck(e *Execution) time.Duration {
	ranks, least := 0, time.Duration(math.MaxInt64)
	for i := range e.Nodes {
		ranks += e.Nodes[i].Ranks
		least = min(least, e.Nodes[i].Stuck, e.Nodes[i].ElapsedMax)
	}
	if ranks < e.Size || ranks == 0 {
		return 0
	}
	return least
}

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
