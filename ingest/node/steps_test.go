package node

import (
	"slices"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

func TestExitsThatStepdNotedLate(t *testing.T) {
	tests := []struct {
		name        string
		noted, gone []int // ms
	}{
		{"one", []int{5000}, []int{5000}},
		{"two at once", []int{5000, 5108}, []int{5000, 5000}},
		{"four at once", []int{5000, 5108, 5115, 5123}, []int{5000, 5000, 5000, 5000}},
		{"far apart", []int{5000, 5300, 5900}, []int{5000, 5300, 5900}},
		{"at once, and one later", []int{5000, 5108, 5115, 5600}, []int{5000, 5000, 5000, 5600}},
		{"the last one was waited for", []int{5000, 5108, 5115, 5225, 5233}, []int{5000, 5000, 5115, 5115, 5115}},
		{"a stepd that does not sleep", []int{5000, 5001, 5002}, []int{5000, 5001, 5002}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			exits := map[int][]exitEvent{}
			for i, ms := range test.noted {
				exits[i] = []exitEvent{{step: "0", mono: uint64(ms) * uint64(time.Millisecond)}}
				exits[-i-1] = []exitEvent{{step: "1", mono: uint64(i) * sec}} // another step's do not mix with them
			}
			settleExits(exits)
			var got []int
			for i := range test.noted {
				got = append(got, int(exits[i][0].gone()/uint64(time.Millisecond)))
				if other := exits[-i-1][0]; other.late != 0 {
					t.Errorf("the exit of another step moved by %d ns", other.late)
				}
			}
			if !slices.Equal(got, test.gone) {
				t.Errorf("gone at %v, want %v", got, test.gone)
			}
		})
	}
}

// A launcher's exit, and a second life of the same process, tell when a rank was gone that
// left no last word.
func TestWhatElseTellsTheEnd(t *testing.T) {
	noted := killed(0, 1, 4, 20)
	noted.Family = "MPICH"
	noted.Gone = at(22).Mono
	late := killed(0, 1, 4, 20)
	late.Gone = at(22).Mono
	newer := late
	newer.MPIVersion = "Open MPI v5.0.7, package: Debian OpenMPI"
	early := noted
	early.Gone = at(12).Mono
	second := rankSlot(0, 1, 2, 0)
	second.World, second.ClaimedAt, second.InitLeft = "job.1", at(23), at(24).Ticks
	second.FiniEnter, second.FinishedAt, second.Last = at(26).Ticks, at(26.5), at(26).Ticks
	beside := second
	beside.ClaimedAt = at(9.1)
	tests := []struct {
		name   string
		slots  []record.Slot
		ending string
		end    float64 // s after boot
	}{
		{"launcher's exit", []record.Slot{noted}, job.EndingAssumed, 22},
		{"Open MPI's, which waits for a second or two", []record.Slot{late}, job.EndingAssumed, 20.75},
		{"Open MPI 5's, which hardly waits", []record.Slot{newer}, job.EndingAssumed, 21.75},
		{"an exit before its last sign of life", []record.Slot{early}, job.EndingAssumed, 20},
		{"exec", []record.Slot{killed(0, 1, 4, 20), second}, job.EndingExec, 23},
		{"one that lives beside it, in a pid namespace of its own", []record.Slot{killed(0, 1, 4, 20), beside}, job.EndingAssumed, 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := foldSlots(t, testMachine(100), nil, test.slots...).executions[0]
			if want := time.Unix(0, int64(epoch)+int64(test.end*1e9)).UTC(); !e.End.Equal(want) || e.Endings[test.ending] != 1 {
				t.Errorf("ended %v, %v; want %v, %s", e.End, e.Endings, want, test.ending)
			}
		})
	}
}
