package record

import (
	"cmp"
	"slices"
)

// OpenMP sums up the OpenMP of one process: over all its threads, inside parallel regions. All
// ticks are of the process's clock. METRICS 2 names the parts: u is Useful, m MPI, i Imbalance
// and s Scheduling; r follows from the process's time outside of regions. The process's main
// thread is the one that called MPI_Init, or began the first region where there is no MPI.
//
// TeamTicks = Useful + MPI + IO + Imbalance + Scheduling + Locked.
type OpenMP struct {
	Runtimes OpenMPRuntimes
	Why      OpenMPWhy // if not OpenMPKnown, times are missing
	Untimed  uint32    // OpenMPBigTasks
	Lost     uint64    // threads whose times are missing

	Threads  int // entries: the most threads that the process had at once
	Team     int // threads of the main thread's last region
	TeamMost int // … of the largest region, whoever began it

	Regions      uint64 // all
	Nested       uint64 // … inside another region
	OtherRegions uint64 // … begun by other threads than the main one, not nested

	RegionTicks uint64 // in regions that the main thread began
	OtherTicks  uint64 // … that other threads began; both may pass at once
	TeamTicks   uint64 // the time of each region, times its threads

	Useful     uint64 // u
	MPI, IO    uint64 // m, and in MPI's files
	Imbalance  uint64 // i: waiting in barriers, for tasks and at the end of regions
	Scheduling uint64 // s
	Locked     uint64 // waiting to enter critical, ordered and atomic
	UsefulMost uint64 // of the thread with the most, without the main thread
	UsefulMain uint64 // of the main thread
	MPIMain    uint64 // of the main thread, in regions
	IOMain     uint64

	TasksMade, TasksRun, Dispatches, Locks, Waits uint64

	Open bool   // a region was open at the end
	Last uint64 // last sign of life
}

// OpenMPOf sums up the OpenMP of a process from the record's slots of OpenMP, nil if it has
// none. threads are the slots of its other threads that called MPI. end is when the process
// ended, in its ticks: what was open then lasted until then.
func OpenMPOf(process *Slot, threads, openmp []*Slot, end uint64) *OpenMP {
	own := openMPSlots(process, openmp)
	if len(own) == 0 {
		return nil
	}
	first := own[0].OpenMP
	sum := &OpenMP{Runtimes: first.Runtimes, Why: first.Why, Untimed: first.Untimed, Lost: first.Lost}
	for _, s := range own {
		for _, t := range s.OpenMP.Threads {
			slot := slotOf(t.TID, process, threads)
			sum.add(t.closed(slot, end), t.TID == process.TID)
			sum.Open = sum.Open || t.RegionSince != 0
			sum.Last = max(sum.Last, t.Since)
		}
	}
	known := sum.Useful + sum.MPI + sum.IO + sum.Scheduling + sum.Locked
	sum.Imbalance = sum.TeamTicks - min(sum.TeamTicks, known)
	return sum
}

// openMPSlots are the process's own slots in their order. Slots after a gap are lost.
func openMPSlots(process *Slot, all []*Slot) []*Slot {
	var own []*Slot
	for _, s := range all {
		if s.OpenMP.PID == process.PID && s.OpenMP.Process == process.ClaimedAt.Ticks {
			own = append(own, s)
		}
	}
	slices.SortStableFunc(own, func(a, b *Slot) int { return cmp.Compare(a.OpenMP.Order, b.OpenMP.Order) })
	for i, s := range own {
		if s.OpenMP.Order != i {
			return own[:i]
		}
	}
	return own
}

// slotOf is the slot in which a thread's MPI calls were counted, nil if it never called MPI.
func slotOf(tid int, process *Slot, threads []*Slot) *Slot {
	if tid == process.TID {
		return process
	}
	for _, s := range threads {
		if s.TID == tid && tid != 0 {
			return s
		}
	}
	return nil
}

// closed ends at end what the thread had not ended. An MPI call that it never left counts as MPI.
func (t OpenMPThread) closed(slot *Slot, end uint64) OpenMPThread {
	open := end - min(t.Since, end)
	switch t.State {
	case OpenMPUseful:
		mpi, io := mpiSince(t, slot, end)
		mpi = min(mpi, open)
		io = min(io, open-mpi)
		grow(&t.MPI, mpi)
		grow(&t.IO, io)
		grow(&t.Useful, open-mpi-io)
	case OpenMPScheduling:
		grow(&t.Scheduling, open)
	case OpenMPLocked:
		grow(&t.Locked, open)
	}
	if t.RegionSince != 0 {
		region := end - min(t.RegionSince, end)
		grow(&t.RegionTicks, region)
		grow(&t.TeamTicks, min(region, mostTicks/uint64(max(t.Team, 1)))*uint64(t.Team))
	}
	return t
}

// grow adds to a sum, which stays within mostTicks.
func grow(sum *uint64, by uint64) { *sum = min(*sum+min(by, mostTicks), mostTicks) }

// mpiSince is how long the thread was in MPI, and in its files, since t.Since.
func mpiSince(t OpenMPThread, slot *Slot, end uint64) (mpi, io uint64) {
	if slot == nil {
		return 0, 0
	}
	mpi, io = slot.MPITicks-min(t.MPISeen, slot.MPITicks), slot.IOTicks-min(t.IOSeen, slot.IOTicks)
	if slot.OpenCall < 0 {
		return mpi, io
	}
	open := end - min(max(slot.Open, t.Since), end)
	if FuncClass(slot.OpenCall) == ClassIO {
		return mpi, io + open
	}
	return mpi + open, io
}

func (o *OpenMP) add(t OpenMPThread, main bool) {
	grow(&o.Regions, t.Regions)
	grow(&o.Nested, t.Nested)
	o.TeamMost = max(o.TeamMost, t.TeamMost)
	grow(&o.TeamTicks, t.TeamTicks)
	grow(&o.Useful, t.Useful)
	grow(&o.MPI, t.MPI)
	grow(&o.IO, t.IO)
	grow(&o.Scheduling, t.Scheduling)
	grow(&o.Locked, t.Locked)
	grow(&o.TasksMade, t.TasksMade)
	grow(&o.TasksRun, t.TasksRun)
	grow(&o.Dispatches, t.Dispatches)
	grow(&o.Locks, t.Locks)
	grow(&o.Waits, t.Waits)
	o.Threads++
	if main {
		o.Team = t.Team
		grow(&o.RegionTicks, t.RegionTicks)
		grow(&o.UsefulMain, t.Useful)
		grow(&o.MPIMain, t.MPI)
		grow(&o.IOMain, t.IO)
		return
	}
	grow(&o.OtherRegions, t.Regions-min(t.Nested, t.Regions))
	grow(&o.OtherTicks, t.RegionTicks)
	o.UsefulMost = max(o.UsefulMost, t.Useful)
}
