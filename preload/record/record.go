// Package record reads a record: the file in which the processes of a job on one node leave what
// they measured. It has a head page, and then one slot per process or thread. record.h is its
// only definition; this package sees it through cgo and hands out plain Go values. Before it
// comes libjobeff.so (preload), which writes records; after it comes ingest/node, which folds
// them.
//
// The file belongs to the user, so no byte is trusted. It is read with bounded pread and never
// mapped. Texts come out as valid UTF-8 without control characters. Numbers that no process
// can have counted come out as 0, with Slot.Odd set.
package record

import "fmt"

// Bins is the number of bins of a histogram of message sizes: bin b counts sizes
// in [2^(b-1), 2^b) bytes, bin 0 size 0.
const Bins = 40

// Kind says what a slot holds.
type Kind uint16

// Clock is the clock of a slot's ticks.
type Clock uint32

// State is how far a process came. It only grows, unless a program opens an MPI session after it
// closed its last one, or a process that was measured for OpenMP alone calls MPI_Init.
type State uint32

// Ending is what a process itself wrote about its end.
type Ending uint32

// WorldFrom says where Slot.World comes from.
type WorldFrom uint32

// Input says whether Slot.InputHash is known, and if not, why.
type Input uint32

// Class is a class of MPI functions, as mpi_calls.def has it.
type Class int

// Pair is one moment on three clocks: the slot's own (ticks), CLOCK_MONOTONIC and
// CLOCK_REALTIME (both ns).
type Pair struct{ Ticks, Mono, Real uint64 }

// IsZero reports whether the moment never came.
func (p Pair) IsZero() bool { return p == Pair{} }

// Head is the first page of a record file.
type Head struct {
	Version  uint32
	Slots    int // in the file, as far as Options.MaxBytes reaches
	Used     int // claimed slots, at most Slots
	Nonce    [16]byte
	BootID   [16]byte // of the boot that the ticks and CLOCK_MONOTONIC belong to
	UID      uint32   // who may write
	ByHand   bool     // made by the library itself, JOBEFF_RECORD
	MadeMono uint64   // ns
	MadeReal uint64   // ns

	LostFull   uint32 // processes, threads and OpenMP that found no slot
	LostMemory uint32 // … whose slot got no memory

	LostSections uint32 // how often a process got no slot for its sections
	LostStatic   uint32 // ranks whose program has an MPI linked in
	LostPreload  uint32 // ranks whose MPI calls a tool kept from the library, and launchers told to leave it out
	LostUnseen   uint32 // processes whose calls reach their MPI past the library
	LostStub     uint32 // processes whose MPI is a stand-in for one process
}

// Func sums up one thread's outermost calls of one function, or of one class of functions,
// between MPI_Init and MPI_Finalize.
type Func struct {
	Number   int // row of mpi_calls.def, or the class
	Count    uint64
	Ticks    uint64
	Sent     uint64 // bytes
	Received uint64 // bytes
	Largest  uint64 // bytes
}

// Claims is what the environment of a process says. The user can write anything there. -1: not
// set.
type Claims struct {
	Step        int64
	ProcID      int
	NTasks      int
	NodeID      int
	CPUsPerTask int
	OMPThreads  int
}

// Slot is what one process, or one other thread of it, left behind. All ticks are of the slot's
// own clock; 0 means that the event did not happen.
type Slot struct {
	Index  int
	Kind   Kind
	Parent int    // of a thread: the process's slot
	Torn   bool   // its counters were being changed when it was read, or when its owner died
	Still  bool   // with Options.Live: it did not change while it was read. Else its sums, Open, Last, OpenCall and Kernel belong to no single moment; all other fields do
	Nearly bool   // with Options.Live: MPITicks and IOTicks, with the open call, are those of ReadAt, or less than a millisecond off
	ReadAt uint64 // with Options.Live: when it had been read, CLOCK_MONOTONIC, ns
	Odd    bool   // it held impossible numbers; they were set to 0

	State      State
	Ending     Ending
	EndingCode int

	PID, PPID, TID int
	Rank, Size     int // in MPI_COMM_WORLD; -1 before MPI_Init is left
	Family         string
	ThreadLevel    int // 0..3, MPI_THREAD_SINGLE..MULTIPLE
	Threads        int // threads that have called MPI
	WorldFrom      WorldFrom
	World          string // the launcher's name of the world
	Spawned        bool
	CPUs           int    // CPUs that it may run on
	BuildID        string // hex
	Host           string
	Exe            string
	MPIVersion     string
	Claims         Claims

	Clock               Clock
	ClaimedAt           Pair
	FinishedAt          Pair // zero: it did not finish
	InitEnter, InitLeft uint64
	FiniEnter, FiniLeft uint64
	Left                bool   // the program jumped out of a call, which began at FiniEnter
	Open                uint64 // when the open call was entered
	Last                uint64 // when the last outermost call was left
	OpenCall            int    // row of mpi_calls.def; -1: computing
	Gone                uint64 // CLOCK_MONOTONIC, ns: when its launcher exited; 0: not seen

	// The process used OpenMP and never called MPI: it is rank 0 of 1, of no Family. InitLeft
	// is when its first parallel region began, and Began is when the process did
	// (CLOCK_MONOTONIC, ns, exact to 10 ms; 0: not known).
	WithoutMPI bool
	Began      uint64

	Calls    uint64 // sum over Funcs
	MPITicks uint64 // in calls of all classes but ClassIO
	IOTicks  uint64 // in calls of ClassIO
	// Of the process's first thread in user mode, outside MPI, up to its last stamp. They
	// mean something only if Counted.
	Instructions, Cycles uint64
	Counted              bool

	// What identifies the workload, for rank 0 only. Hashes are hex, "" if not known.
	ArgsHash  string   // of the arguments after the program's name
	Args      []string // the arguments themselves, with JOBEFF_ARGUMENTS=1; the last is "…" where there are more
	ExeHash   string   // of the executable, if it has no build-id
	InputHash string   // of the files that the arguments name
	Input     Input    // InputKnown, or why there is no InputHash
	Inputs    int      // files in InputHash
	Workload  string   // JOBEFF_WORKLOAD of its environment

	Kernel Kernel // what the kernel counted; Kernel.At is 0 if that was never read

	Timeline *Timeline // nil: an older library, or a thread's slot
	Places   *Places   // nil: an older library, or no call was made

	Classes  []Func // sums over Funcs: those with a count, by class
	Funcs    []Func // those with a count, by row
	HistP2P  [Bins]uint64
	HistColl [Bins]uint64

	Sections *Sections   // of KindSections only
	OpenMP   *OpenMPSlot // of KindOpenMP only
	Windows  *WindowSlot // of KindWindows only
}

// GPU says whether a process had a GPU's device file open.
type GPU uint32

// MaskBytes is the size of Kernel.Mask: bit i of byte b is CPU 8b + i.
const MaskBytes = 128

// Kernel is what the kernel counted in a process between the end of MPI_Init and the moment At.
// For a thread's slot, only At and Thread are known. Times are ns of CPU time unless noted
// otherwise.
type Kernel struct {
	At      uint64 // ticks; 0: nothing is known, except the Mask when MPI_Init returned
	Process uint64 // all threads, those that ended too
	Thread  uint64 // the thread of the slot; in a thread's slot, since the thread began

	TasksKnown   bool   // every thread was read; else what follows up to Busy is 0 or too low
	Queue        uint64 // how long threads waited for a CPU, ns, summed up
	MPIThreads   uint64 // threads that MPI_Init started
	Busiest      uint64 // the busiest thread other than the slot's
	BusiestTID   int
	BusiestOfMPI bool   // MPI_Init started it
	BusiestName  string // its comm; "": it used less than 5 % of the time
	Tasks        int    // most threads at once; 0: not known
	Busy         int    // threads that ran or waited for a CPU half of the time or more
	GPU          GPU
	Mask         [MaskBytes]byte // CPUs that the slot's thread and the busy ones may run on

	// Of all threads.
	UsageKnown bool   // the next four are known
	System     uint64 // of Process, in the kernel
	Faults     uint64 // page faults that read from a disk
	Waits      uint64 // context switches of threads that waited for something
	Preempted  uint64 // … from which the kernel took the CPU
	MaxRSS     uint64 // most memory in RAM since the process began, bytes; 0: not known
	IOKnown    bool   // the next two are known
	Read       uint64 // bytes from disks and some network file systems
	Written    uint64 // … to them
}

// ThreadLevelName is MPI's name of a thread level, "" for no such level.
func ThreadLevelName(level int) string {
	names := []string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}
	if level < 0 || level >= len(names) {
		return ""
	}
	return names[level]
}

// String names a class as people read it.
func (c Class) String() string {
	names := []string{"other", "point-to-point", "start", "wait", "collective", "one-sided", "file", "communicator",
		"receive", "test"}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("class %d", int(c))
	}
	return names[c]
}
