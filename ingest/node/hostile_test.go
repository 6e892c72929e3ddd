package node

import (
	"bytes"
	"testing"

	"jobeff/ingest/job/jobtest"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// packedRecord is a record of n finished processes, all of them in summaries.
func packedRecord(t *testing.T, n int, process func(i int) record.Slot) *record.File {
	t.Helper()
	const each = 60 // in one summary
	file := recordtest.File(record.Head{BootID: testBoot, ByHand: true}, make([]record.Slot, (n+each-1)/each)...)
	at := len(recordtest.File(record.Head{}))
	for from := 0; from < n; from += each {
		var some []record.Slot
		for i := from; i < min(from+each, n); i++ {
			s := process(i)
			s.State = record.StateDone
			if s.Kind == record.KindProcess {
				s.ClaimedAt.Ticks += uint64(i)
			}
			some = append(some, s)
		}
		at += copy(file[at:], recordtest.Summary(some...))
	}
	f, err := record.Read(bytes.NewReader(file), int64(len(file)), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A record of 32,000 processes that all claim the same rank, the same parent or the same pid is
// folded in a time that grows as they do: while it is folded, an epilog waits, at times another
// user's.
func TestFoldOfAlikeProcesses(t *testing.T) {
	const most = 32_000
	for what, process := range map[string]func(n, i int) record.Slot{
		"one rank":                func(_, i int) record.Slot { s := rankSlot(0, 1, 8, 4); s.PPID = i; return s },
		"two ranks":               func(n, i int) record.Slot { s := rankSlot(2*i/n, 2, 8, 4); s.PPID = i; return s },
		"two ranks of one parent": func(n, i int) record.Slot { return rankSlot(2*i/n, 2, 8, 4) },
		"one pid, with OpenMP": func(_, i int) record.Slot {
			if i%2 == 0 {
				s := rankSlot(0, 1, 8, 4)
				s.PID, s.PPID = 7, i
				return s
			}
			return record.Slot{Kind: record.KindOpenMP, State: record.StateDone, OpenMP: &record.OpenMPSlot{PID: 7, Process: at(9).Ticks + uint64(i-1)}}
		},
		"one pid": func(_, i int) record.Slot { s := killed(0, 1, 1, 20); s.PID = 7; return s },
	} {
		t.Run(what, func(t *testing.T) {
			few := packedRecord(t, most/4, func(i int) record.Slot { return process(most/4, i) })
			all := packedRecord(t, most, func(i int) record.Slot { return process(most, i) })
			jobtest.WantLinear(t, func() { foldRecord(few, testMachine(100), nil) }, func() {
				if f := foldRecord(all, testMachine(100), nil); f.processes != most && f.processes != most/2 {
					t.Errorf("%d processes", f.processes)
				}
			})
		})
	}
}
