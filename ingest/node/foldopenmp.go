package node

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// openMPSlots are the slots of OpenMP threads of a record, by the pid of their process.
type openMPSlots map[int][]*record.Slot

func (o openMPSlots) add(s *record.Slot) {
	o[s.OpenMP.PID] = append(o[s.OpenMP.PID], s)
}

// signOfLife notes that a process was still alive when a thread's state changed last.
func (o openMPSlots) signOfLife(p *process, now uint64) {
	if sum := record.OpenMPOf(p.slot, p.threads, o[p.slot.PID], 0); sum != nil {
		p.lastSign = max(p.lastSign, p.when(sum.Last, p.claimed, now))
	}
}

// of sums up the OpenMP of a process that is closed; nil if it used none.
func (o openMPSlots) of(p *process) *job.OpenMP {
	sum := record.OpenMPOf(p.slot, p.threads, o[p.slot.PID], p.line.ticksAt(p.end))
	if sum == nil {
		return nil
	}
	long := func(ticks uint64) time.Duration { return time.Duration(p.line.of(ticks)) }
	return &job.OpenMP{
		Threads: sum.TeamMost, Why: whyOpenMP(sum), Regions: sum.Regions, Nested: sum.Nested, Others: sum.OtherRegions, Tasks: sum.TasksRun,
		InRegions: long(sum.RegionTicks), Team: long(sum.TeamTicks),
		Useful: long(sum.Useful), UsefulMain: long(sum.UsefulMain), UsefulMost: long(sum.UsefulMost),
		MPI: long(sum.MPI), MPIMain: long(sum.MPIMain), IO: long(sum.IO),
		Imbalance: long(sum.Imbalance), Scheduling: long(sum.Scheduling), Locked: long(sum.Locked),
	}
}

// whyOpenMP says why times are missing, "" if they are whole.
func whyOpenMP(o *record.OpenMP) string {
	switch o.Why {
	case record.OpenMPKnown:
	case record.OpenMPOldCode:
		return "a compiler older than gcc 4.9 made some of its regions"
	case record.OpenMPNoOMPT:
		return "its OpenMP runtime does not tell tools what it does"
	case record.OpenMPOtherTool:
		return "another tool measures its OpenMP"
	case record.OpenMPTSan:
		return "it runs with ThreadSanitizer"
	default:
		return "it was not sure which OpenMP runtime it uses"
	}
	switch {
	case o.Lost > 0:
		return "it has more threads than can be recorded"
	case o.Untimed&record.OpenMPBigTasks != 0:
		return "some tasks have too large arguments to be measured"
	}
	return ""
}
