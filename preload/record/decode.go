package record

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -Werror
#include "make.h"
#include "names.h"
*/
import "C"

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// FileBytes is the size of a record that a program makes by itself, in bytes. It is sparse.
const FileBytes = C.JE_FILE_BYTES_DEFAULT

const (
	headBytes     = C.JE_HEAD_BYTES
	slotBytes     = C.JE_SLOT_BYTES
	slotHeadBytes = C.JE_SLOT_HEAD

	offsetOfSummary = int64(unsafe.Offsetof(C.struct_je_head{}.summary))
)

// What a slot holds.
const (
	KindProcess  Kind = C.JE_KIND_PROCESS
	KindThread   Kind = C.JE_KIND_THREAD
	KindSummary  Kind = C.JE_KIND_SUMMARY
	KindSections Kind = C.JE_KIND_SECTIONS // its content is in Slot.Sections
	KindOpenMP   Kind = C.JE_KIND_OPENMP   // its content is in Slot.OpenMP
	KindWindows  Kind = C.JE_KIND_WINDOWS  // its content is in Slot.Windows
)

// The clocks of a slot.
const (
	ClockMonotonic Clock = C.JE_CLOCK_MONOTONIC_NS
	ClockTSC       Clock = C.JE_CLOCK_TSC
	ClockCNTVCT    Clock = C.JE_CLOCK_CNTVCT
)

// How far a process came.
const (
	StateClaimed   State = C.JE_STATE_CLAIMED
	StateRunning   State = C.JE_STATE_RUNNING
	StateFinalized State = C.JE_STATE_FINALIZED
	StateDone      State = C.JE_STATE_DONE // its process exited, after MPI_Finalize or without MPI
)

// What a process itself wrote about its end.
const (
	EndingNone     Ending = C.JE_ENDING_NONE
	EndingFinalize Ending = C.JE_ENDING_FINALIZE
	EndingExit     Ending = C.JE_ENDING_EXIT
	EndingAbort    Ending = C.JE_ENDING_ABORT
	EndingExec     Ending = C.JE_ENDING_EXEC
)

// Where a world's name comes from.
const (
	WorldNone  WorldFrom = C.JE_WORLD_NONE
	WorldPMIX  WorldFrom = C.JE_WORLD_PMIX
	WorldHydra WorldFrom = C.JE_WORLD_HYDRA
	WorldPMI   WorldFrom = C.JE_WORLD_PMI
)

// Whether the files that the arguments name were read, and if not, why.
const (
	InputNotLooked  Input = C.JE_INPUT_NOT_LOOKED
	InputKnown      Input = C.JE_INPUT_KNOWN
	InputNone       Input = C.JE_INPUT_NONE
	InputMany       Input = C.JE_INPUT_MANY
	InputLate       Input = C.JE_INPUT_LATE
	InputUnreadable Input = C.JE_INPUT_UNREADABLE
	InputInUse      Input = C.JE_INPUT_IN_USE
	InputFUSE       Input = C.JE_INPUT_FUSE
	InputLong       Input = C.JE_INPUT_LONG
)

// Whether a GPU was opened.
const (
	GPUNotLooked GPU = C.JE_GPU_NOT_LOOKED
	GPUNone      GPU = C.JE_GPU_NONE
	GPUOpen      GPU = C.JE_GPU_OPEN
)

// InputsMost is how many files an InputHash covers at most.
const InputsMost = C.JE_INPUTS_MOST

// The classes of functions.
const (
	ClassOther    Class = C.JE_CLASS_OTHER
	ClassP2P      Class = C.JE_CLASS_P2P
	ClassP2PStart Class = C.JE_CLASS_P2P_START
	ClassWait     Class = C.JE_CLASS_WAIT
	ClassColl     Class = C.JE_CLASS_COLL
	ClassRMA      Class = C.JE_CLASS_RMA
	ClassIO       Class = C.JE_CLASS_IO
	ClassComm     Class = C.JE_CLASS_COMM
	ClassRecv     Class = C.JE_CLASS_RECV
	ClassTest     Class = C.JE_CLASS_TEST
)

// Bins must agree with the C side: if they differ, this does not compile.
var _ = [1]struct{}{}[Bins-C.JE_BINS]
var _ = [1]struct{}{}[MaskBytes-8*C.JE_MASK_WORDS]

const (
	mostTicks = 1 << 62 // 30 years of a 5 GHz clock
	mostCount = 1 << 53 // calls of one thread
	mostBytes = 1 << 60 // of one function of one thread
	mostTasks = 1 << 22 // threads of a process: Linux has no more ids
)

// FuncName is the C name of a row of mpi_calls.def.
func FuncName(number int) string {
	if number >= 0 && number < C.JE_FUNCS {
		if name := C.je_call_name(C.uint32_t(number)); name != nil {
			return C.GoString(name)
		}
	}
	return fmt.Sprintf("MPI call %d", number)
}

// FuncClass is the class of a row of mpi_calls.def.
func FuncClass(number int) Class {
	return Class(C.je_call_class(C.uint32_t(max(number, 0))))
}

// Now is this moment on clock c of this machine; false if it has no such clock.
func Now(c Clock) (Pair, bool) {
	var p C.struct_je_pair
	if !C.je_pair_read(C.uint32_t(c), &p) {
		return Pair{}, false
	}
	return Pair{uint64(p.ticks), uint64(p.mono_ns), uint64(p.real_ns)}, true
}

func readHead(r io.ReaderAt, size int64) (Head, error) {
	var c C.struct_je_head
	b := unsafe.Slice((*byte)(unsafe.Pointer(&c)), unsafe.Sizeof(c))
	if size < headBytes {
		return Head{}, fmt.Errorf("record: %d bytes are too few for a record", size)
	}
	if n, err := r.ReadAt(b, 0); n != len(b) {
		return Head{}, fmt.Errorf("record: head: %w", errors.Join(io.ErrUnexpectedEOF, err))
	}
	switch {
	case string(b[:8]) != C.JE_MAGIC:
		return Head{}, errors.New("record: not a jobeff record")
	case c.version != C.JE_VERSION || c.head_bytes != headBytes || c.slot_bytes != slotBytes:
		return Head{}, fmt.Errorf("record: version %d is not known here (%d is): read it with the jobeff that wrote it",
			uint32(c.version), uint32(C.JE_VERSION))
	}
	h := Head{
		Version: uint32(c.version), Slots: int(c.slots), Used: int(c.next),
		UID: uint32(c.uid), ByHand: c.by_hand == 1,
		MadeMono: uint64(c.made_mono_ns), MadeReal: uint64(c.made_real_ns),
		LostFull: uint32(c.lost_full), LostMemory: uint32(c.lost_memory), LostSections: uint32(c.lost_sections),
		LostStatic: uint32(c.lost_static), LostPreload: uint32(c.lost_preload),
		LostUnseen: uint32(c.lost_unseen), LostStub: uint32(c.lost_stub),
	}
	for i := range h.Nonce {
		h.Nonce[i], h.BootID[i] = byte(c.nonce[i]), byte(c.boot_id[i])
	}
	return h, nil
}

// slotBuffer is one slot as the file has it. cgo has no unions, so c serves for all kinds.
type slotBuffer struct {
	c    C.struct_je_slot
	rest [slotBytes - C.sizeof_struct_je_slot]byte
}

func (s *slotBuffer) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(s)), unsafe.Sizeof(*s))
}

func (s *slotBuffer) claimed() bool {
	return s.c.magic == C.JE_SLOT_MAGIC && s.c.bytes == slotBytes && s.c.state != C.JE_STATE_FREE
}

func (s *slotBuffer) torn() bool { return s.c.seq&1 == 1 }

// settled compares two readings of a slot. The second began after the first had ended, so whatever
// only grows, and is the same in both, had that value at one moment between them. still reports that
// this holds for the whole slot. whole reports it for all fields but those that Slot.Still excepts.
// Slots of threads and of OpenMP count as whole at any moment.
func (s *slotBuffer) settled(again *slotBuffer) (still, whole bool) {
	a, b := s.bytes(), again.bytes()
	if !s.torn() && bytes.Equal(a, b) {
		return true, true
	}
	if s.c.kind != C.JE_KIND_PROCESS {
		return false, s.claimed() && s.c.kind == again.c.kind
	}
	const seq, open, line = unsafe.Offsetof(s.c.seq), unsafe.Offsetof(s.c.open_ticks), unsafe.Offsetof(s.c.timeline)
	same := func(from, to uintptr) bool { return bytes.Equal(a[from:to], b[from:to]) }
	return false, s.claimed() && s.c.timeline.changes&1 == 0 && same(0, seq) && same(seq+4, open) && same(line, line+unsafe.Sizeof(s.c.timeline))
}

// nearly bounds the time that two readings may take together, in ns, if their sums are to count as
// those of one moment.
const nearly = 1e6

// goesOn reports whether two readings, both made between from and to, agree about the time in calls.
// Time in calls grows no faster than time itself. A reading that mixes values from before and after
// the end of a call is off by that whole call: by no more than the readings took, or else the other
// reading shows it. If a process stops in the middle of writing, seq is odd.
func (s *slotBuffer) goesOn(again *slotBuffer, from, to Pair) bool {
	if s.c.kind != C.JE_KIND_PROCESS || s.torn() || again.torn() || to.Mono-from.Mono > nearly {
		return false
	}
	a, b := s.inCalls(to.Ticks), again.inCalls(to.Ticks)
	return max(a, b)-min(a, b) <= to.Ticks-from.Ticks
}

// inCalls is the time in MPI and in files up to now, with the open call, in ticks.
func (s *slotBuffer) inCalls(now uint64) uint64 {
	sum := uint64(s.c.mpi_ticks) + uint64(s.c.io_ticks)
	if open := uint64(s.c.open_ticks); s.c.open_call != 0 && now > open {
		sum += now - open
	}
	return sum
}

// checker bounds numbers, and remembers whether one was out of bounds.
type checker struct{ odd bool }

func (k *checker) most(v C.uint64_t, limit uint64) uint64 {
	if uint64(v) > limit {
		k.odd = true
		return 0
	}
	return uint64(v)
}

func (k *checker) ticks(v C.uint64_t) uint64 { return k.most(v, mostTicks) }

func (k *checker) pair(p C.struct_je_pair) Pair {
	return Pair{k.ticks(p.ticks), k.ticks(p.mono_ns), k.ticks(p.real_ns)}
}

// within returns v, or def where v is outside [lo, hi].
func (k *checker) within(v, lo, hi, def int64) int {
	if v < lo || v > hi {
		k.odd = true
		return int(def)
	}
	return int(v)
}

// decode makes a Slot of the bytes. slots bounds the index of a parent.
func (s *slotBuffer) decode(index, slots int) *Slot {
	switch s.c.kind {
	case C.JE_KIND_SECTIONS:
		return s.decodeSections(index, slots)
	case C.JE_KIND_OPENMP:
		return s.decodeOpenMP(index, slots)
	case C.JE_KIND_WINDOWS:
		return s.decodeWindows(index, slots)
	}
	c, k := &s.c, &checker{}
	out := &Slot{
		Index: index, Kind: Kind(c.kind), Torn: s.torn(),
		Parent:     k.within(int64(c.parent), 0, int64(slots), 0),
		State:      State(k.within(int64(c.state), 1, C.JE_STATE_DONE, C.JE_STATE_CLAIMED)),
		Ending:     Ending(k.within(int64(c.ending), 0, C.JE_ENDING_EXEC, 0)),
		EndingCode: int(c.ending_code),
		Clock:      Clock(c.clock),
		ClaimedAt:  k.pair(c.claimed_at), FinishedAt: k.pair(c.finished_at),
		InitEnter: k.ticks(c.init_enter_ticks), InitLeft: k.ticks(c.init_leave_ticks),
		FiniEnter: k.ticks(c.fini_enter_ticks), FiniLeft: k.ticks(c.fini_leave_ticks),
		Left: k.within(int64(c.left), 0, 1, 0) == 1,
		Open: k.ticks(c.open_ticks), Last: k.ticks(c.last_ticks),
		OpenCall: k.within(int64(c.open_call&(1<<C.JE_OPEN_ADDRESS-1)), 0, C.JE_FUNCS, 0) - 1,
		MPITicks: k.ticks(c.mpi_ticks), IOTicks: k.ticks(c.io_ticks),
		Gone: k.ticks(c.gone_mono_ns), WithoutMPI: c.without_mpi == 1, Began: k.ticks(c.began_mono_ns),
	}
	s.decodeWho(out, k)
	s.decodeCounters(out, k)
	s.decodeWorkload(out, k)
	out.Kernel = s.decodeKernel(k)
	out.Timeline, out.Places = s.decodeTimeline(k), s.decodePlaces(k)
	out.Funcs = k.funcs(c.funcs[:])
	out.Calls, out.Classes = k.byClass(out.Funcs)
	for b := range Bins {
		out.HistP2P[b] = k.most(c.hist_p2p[b], mostCount)
		out.HistColl[b] = k.most(c.hist_coll[b], mostCount)
	}
	out.Odd = k.odd
	return out
}

// decodeCounters takes both counters or none.
func (s *slotBuffer) decodeCounters(out *Slot, k *checker) {
	if k.within(int64(s.c.counters), 0, 1, 0) == 0 {
		return
	}
	instructions, cycles := uint64(s.c.useful_instructions), uint64(s.c.useful_cycles)
	if instructions > mostTicks || cycles > mostTicks {
		k.odd = true
		return
	}
	out.Counted, out.Instructions, out.Cycles = true, instructions, cycles
}

func (s *slotBuffer) decodeKernel(k *checker) Kernel {
	c := &s.c
	out := Kernel{
		At: k.ticks(c.read_ticks), Process: k.ticks(c.cpu_ns), Thread: k.ticks(c.thread_cpu_ns),
		TasksKnown: k.within(int64(c.tasks_known), 0, 1, 0) == 1,
		Queue:      k.ticks(c.queue_ns), MPIThreads: k.ticks(c.mpi_threads_ns), Busiest: k.ticks(c.busiest_ns),
		BusiestTID: k.within(int64(c.busiest_tid), 0, mostInt32, 0), BusiestOfMPI: c.busiest_of_mpi == 1,
		BusiestName: text(c.busiest_name[:]),
		Tasks:       k.within(int64(c.tasks), 0, mostTasks, 0), Busy: k.within(int64(c.busy_tasks), 0, mostTasks, 0),
		GPU: GPU(k.within(int64(c.gpu), 0, C.JE_GPU_OPEN, 0)),
	}
	copy(out.Mask[:], bytesOf(c.mask[:]))
	out.UsageKnown, out.IOKnown = k.within(int64(c.usage_known), 0, 1, 0) == 1, k.within(int64(c.io_known), 0, 1, 0) == 1
	out.System, out.MaxRSS = k.ticks(c.system_ns), k.most(c.max_rss, mostBytes)
	out.Faults, out.Waits, out.Preempted = k.most(c.faults, mostCount), k.most(c.waits, mostCount), k.most(c.preempted, mostCount)
	out.Read, out.Written = k.most(c.read_bytes, mostBytes), k.most(c.written_bytes, mostBytes)
	return out
}

const mostInt32 = 1<<31 - 1

func (s *slotBuffer) decodeWho(out *Slot, k *checker) {
	c := &s.c
	out.PID = k.within(int64(c.pid), 0, mostInt32, 0)
	out.PPID = k.within(int64(c.ppid), 0, mostInt32, 0)
	out.TID = k.within(int64(c.tid), 0, mostInt32, 0)
	out.Size = k.within(int64(c.size), -1, mostInt32, -1)
	out.Rank = k.within(int64(c.rank), -1, max(int64(out.Size)-1, -1), -1)
	out.Family = familyName(uint32(c.family))
	out.ThreadLevel = k.within(int64(c.thread_level), 0, 3, 0)
	out.Threads = k.within(int64(c.threads), 0, mostInt32, 1)
	out.WorldFrom = WorldFrom(k.within(int64(c.world_from), 0, C.JE_WORLD_PMI, 0))
	out.Spawned = c.spawned == 1
	out.CPUs = k.within(int64(c.cpus), 0, 1<<20, 0)
	out.World, out.Host = text(c.world_text[:]), text(c.host[:])
	out.Exe, out.MPIVersion = text(c.exe[:]), text(c.mpi_version[:])
	n := k.within(int64(c.build_id_bytes), 0, int64(len(c.build_id)), 0)
	out.BuildID = hex.EncodeToString(bytesOf(c.build_id[:])[:n])
	out.Claims = Claims{
		Step: int64(k.within(int64(c.claimed_step), -1, 1<<32, -1)), ProcID: int(c.claimed_procid), NTasks: int(c.claimed_ntasks),
		NodeID: int(c.claimed_nodeid), CPUsPerTask: int(c.claimed_cpus_per_task), OMPThreads: int(c.claimed_omp_threads),
	}
}

// decodeWorkload takes an input's hash only if the process says that it is complete.
func (s *slotBuffer) decodeWorkload(out *Slot, k *checker) {
	c := &s.c
	out.ArgsHash, out.ExeHash = hash(c.args_hash[:]), hash(c.exe_hash[:])
	out.Input = Input(k.within(int64(c.input), 0, C.JE_INPUT_LONG, int64(InputUnreadable)))
	inputs := k.within(int64(c.inputs), 0, InputsMost, 0)
	if out.Input == InputKnown {
		out.InputHash, out.Inputs = hash(c.input_hash[:]), inputs
	}
	n := k.within(int64(c.args_bytes), 0, C.JE_ARGS_TEXT, 0)
	for rest := bytesOf(c.args_text[:])[:n]; len(rest) > 0; {
		word, after, _ := bytes.Cut(rest, []byte{0})
		out.Args, rest = append(out.Args, Text(word)), after
	}
	if c.args_cut == 1 {
		out.Args = append(out.Args, "…")
	}
	out.Workload = text(c.workload[:])
}

// hash is a hash in hex, "" if all its bytes are zero.
func hash[T any](c []T) string {
	b := bytesOf(c)
	if !slices.ContainsFunc(b, func(b byte) bool { return b != 0 }) {
		return ""
	}
	return hex.EncodeToString(b)
}

func (k *checker) funcs(all []C.struct_je_func) []Func {
	var out []Func
	for i := range all {
		c := &all[i]
		if c.count|c.ticks|c.sent|c.received == 0 {
			continue
		}
		out = append(out, Func{Number: i, Count: k.most(c.count, mostCount), Ticks: k.ticks(c.ticks),
			Sent: k.most(c.sent, mostBytes), Received: k.most(c.received, mostBytes), Largest: k.most(c.largest, mostBytes)})
	}
	return out
}

// byClass adds up functions. A sum has the same bounds as one function.
func (k *checker) byClass(funcs []Func) (calls uint64, classes []Func) {
	var sums [C.JE_CLASSES]Func
	for _, f := range funcs {
		s := &sums[min(FuncClass(f.Number), C.JE_CLASSES-1)]
		s.Count = k.most(C.uint64_t(s.Count+f.Count), mostCount)
		s.Ticks = k.most(C.uint64_t(s.Ticks+f.Ticks), mostTicks)
		s.Sent = k.most(C.uint64_t(s.Sent+f.Sent), mostBytes)
		s.Received = k.most(C.uint64_t(s.Received+f.Received), mostBytes)
		s.Largest = max(s.Largest, f.Largest)
	}
	for class, s := range sums {
		if s != (Func{}) {
			s.Number = class
			calls += s.Count
			classes = append(classes, s)
		}
	}
	return calls, classes
}

func familyName(f uint32) string {
	switch f {
	case C.JE_MPI_OPENMPI:
		return "Open MPI"
	case C.JE_MPI_MPICH:
		return "MPICH"
	case C.JE_MPI_ABI5:
		return "MPI-5 ABI"
	}
	return ""
}

func bytesOf[T any](c []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&c[0])), len(c)*int(unsafe.Sizeof(c[0])))
}

func text(c []C.char) string { return Text(bytesOf(c)) }
