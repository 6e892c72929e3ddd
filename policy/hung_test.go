package policy

import (
	"strings"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
)

// TestHungText: since when, which ranks are in which call, the odd ones out, and how to see where.
func TestHungText(t *testing.T) {
	time.Local = time.UTC
	since := time.Date(2026, 11, 20, 14, 20, 3, 0, time.UTC)
	hung := func(calls ...hang.OpenCalls) *job.Job {
		for i := range calls {
			calls[i].Execution = "k"
		}
		return &job.Job{JobID: 7, Hung: &hang.Hung{Since: since, AsOf: since.Add(40 * time.Minute), Calls: calls}}
	}
	at := func(rank, pid int, node, state string) []hang.RankNow {
		return []hang.RankNow{{Rank: rank, Node: node, PID: pid, State: state}}
	}
	const begin = "It seems to hang: nothing of it has moved since 2026-11-20 14:20, as of 2026-11-20 15:00. "
	const stack = " gdb -p 5 -batch -ex 'thread apply all bt'"
	for name, tt := range map[string]struct {
		job  *job.Job
		want string
	}{
		"moves": {&job.Job{}, ""},
		"all in one": {hung(hang.OpenCalls{Size: 4, Function: "MPI_Recv", Ranks: "0-3", Count: 4, Since: since, Some: at(0, 5, "n1", "R")}),
			begin + "All 4 ranks are in MPI_Recv since 14:20:03. Where rank 0 is: srun --jobid=7 --overlap -w n1" + stack},
		"one outside": {hung(
			hang.OpenCalls{Size: 128, Function: "MPI_Barrier", Ranks: "0-4,6-127", Count: 127, Since: since, Some: at(0, 9, "n1", "R")},
			hang.OpenCalls{Size: 128, Function: hang.OutsideMPI, Ranks: "5", Count: 1, Since: since.Add(-time.Minute), Some: at(5, 5, "n2", "D")}),
			begin + "127 of 128 ranks are in MPI_Barrier since 14:20:03. Rank 5 is outside MPI since 14:19:03 (n2 pid 5, waiting for a device or a file system). " +
				"Where rank 5 is: srun --jobid=7 --overlap -w n2" + stack},
		"one has ended": {hung(
			hang.OpenCalls{Size: 3, Function: "MPI_Finalize", Ranks: "0-1", Count: 2, Some: at(0, 5, "n1", "S")},
			hang.OpenCalls{Size: 3, Function: hang.RankEnded, Ranks: "2", Count: 1, Some: at(2, 8, "n1", "")}),
			begin + "Ranks 0-1 are in MPI_Finalize (n1 pid 5, asleep). Rank 2 has ended. Where rank 0 is: srun --jobid=7 --overlap -w n1" + stack},
		"before they are known": {hung(hang.OpenCalls{Function: "MPI_Init", Count: 2, Some: at(0, 5, "n1", "R")}),
			begin + "2 ranks are in MPI_Init (n1 pid 5). Where a rank is: srun --jobid=7 --overlap -w n1" + stack},
	} {
		if got := HungText(tt.job); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
	many := hung(hang.OpenCalls{Size: 9, Count: 4, Function: "MPI_Wait"}, hang.OpenCalls{Size: 9, Count: 2, Function: "MPI_Recv"}, hang.OpenCalls{Size: 9, Function: "MPI_Send", Count: 1},
		hang.OpenCalls{Size: 9, Count: 1, Function: "MPI_Probe"}, hang.OpenCalls{Size: 9, Count: 1, Function: hang.OutsideMPI})
	if got := HungText(many); !strings.HasSuffix(got, "Others are in 1 further call.") {
		t.Error(got)
	}
}
