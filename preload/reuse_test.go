package preload

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
)

// limitSlots makes a record of a few slots.
func limitSlots(t *testing.T, file string, slots uint32) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, slots), 20) // je_head.slots
	must(t, err)
}

// Many processes, one after the other, need few slots, and nothing of any is lost; some are
// killed meanwhile, wherever they are. Each has a name in its record: a pid may be another's
// soon, where the machine starts many processes.
func TestSlotsAreUsedAgain(t *testing.T) {
	const runs, slots, atOnce = 400, 90, 4
	program := compile(t, mpich.cc, "ending.c")
	file := newRecord(t)
	mustRun(t, run(t, byHand(file), program, "finalize"))
	before := readSlots(t, file)[0]
	limitSlots(t, file, slots)

	var all sync.WaitGroup
	var mu sync.Mutex
	finished, killed := map[string]bool{}, 0
	turns := make(chan int)
	for range atOnce {
		all.Go(func() {
			for turn := range turns {
				cmd := exec.Command(program, "finalize")
				name := fmt.Sprint("turn ", turn)
				cmd.Env = append(append(plainEnvironment(), byHand(file)...), "JOBEFF_WORKLOAD="+name)
				if cmd.Start() != nil {
					t.Error("it does not start")
					continue
				}
				if turn%20 == 0 {
					time.AfterFunc(time.Duration(turn%100)*time.Millisecond, func() { cmd.Process.Kill() })
				}
				err := cmd.Wait()
				mu.Lock()
				if err == nil {
					finished[name] = true
				} else {
					killed++
				}
				mu.Unlock()
			}
		})
	}
	for turn := range runs {
		turns <- turn
	}
	close(turns)
	all.Wait()

	head, seen := readHead(t, file), map[string]int{}
	for _, s := range readSlots(t, file) {
		if s.Ending == record.EndingFinalize {
			seen[s.Workload]++
		}
		if s.Index == 0 || s.Index > slots { // claimed first, and packed
			if got := recorded([]record.Slot{s})["MPI_Barrier"].Count; got != 3 || s.Torn || s.Odd ||
				s.Exe != before.Exe || s.MPIVersion != before.MPIVersion || s.BuildID != before.BuildID {
				t.Errorf("packed slot: %d barriers, torn %v, odd %v, %s, %s", got, s.Torn, s.Odd, s.Exe, s.MPIVersion)
			}
		}
	}
	for name := range finished {
		if seen[name] != 1 {
			t.Errorf("the process of %s is there %d times", name, seen[name])
		}
	}
	if len(finished) < runs*9/10 || head.LostFull != 0 || head.LostMemory != 0 {
		t.Errorf("%d finished, %d were killed, lost %d for slots and %d for memory", len(finished), killed, head.LostFull, head.LostMemory)
	}
	t.Logf("%d processes, %d killed, in %d slots", len(seen), killed, head.Used)
}

// A slot of which nearly all is in use is packed like any other, and nothing of it is lost.
func TestFullSlotIsPacked(t *testing.T) {
	const others = 70 // packing begins at 64 claimed slots
	program := compile(t, "gcc", "addresses.c", "-fno-omit-frame-pointer", compile(t, "gcc", "addresses.c", "-shared", "-fPIC", "-DFAKE_MPI", "-DVIRTUAL"), "-ldl")
	file := newRecord(t)
	env := []string{"LD_PRELOAD=" + clocked, "JOBEFF_RECORD=" + file}
	mustRun(t, run(t, append(env, "JOBEFF_WORKLOAD=full"), program, file))
	full := readSlots(t, file)[0]
	if len(full.Places.List) < 80 || len(full.Timeline.Edges) < 32 || len(full.Funcs) < 250 {
		t.Errorf("it has %d places, %d edges and %d functions", len(full.Places.List), len(full.Timeline.Edges), len(full.Funcs))
	}
	for range others {
		mustRun(t, run(t, env, program, file, "0"))
	}
	var packed []record.Slot
	for _, s := range readSlots(t, file) {
		if s.Workload == "full" {
			packed = append(packed, s)
		}
	}
	if len(packed) != 1 || packed[0].Index <= others { // behind the file's own
		t.Fatalf("it is there %d times, and not packed", len(packed))
	}
	packed[0].Index = full.Index
	if diff := cmp.Diff(full, packed[0]); diff != "" {
		t.Errorf("before (-) and packed (+):\n%s", diff)
	}
}
