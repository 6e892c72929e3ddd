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
func (o openMPSlots) of(p *process) *openMP {
	sum := record.OpenMPOf(p.slot, p.threads, o[p.slot.PID], p.line.ticksAt(p.end))
	if sum == nil {
		return nil
	}
	long := func(ticks uint64) time.Duration { return time.Duration(p.line.of(ticks)) }
	awake := awakeLibgomp
	if sum.Runtimes&record.OpenMPOMPT != 0 {
		awake = awakeOMPT
	}
	return &openMP{awake: awake, OpenMP: job.OpenMP{
		Threads: threadsAtOnce(sum), Why: whyOpenMP(sum), Regions: sum.Regions, Nested: sum.Nested, Others: sum.OtherRegions, Tasks: sum.TasksRun,
		InRegions: long(sum.RegionTicks), Team: long(sum.TeamTicks),
		Useful: long(sum.Useful), UsefulMain: long(sum.UsefulMain), UsefulMost: long(sum.UsefulMost),
		MPI: long(sum.MPI), MPIMain: long(sum.MPIMain), IO: long(sum.IO), IOMain: long(sum.IOMain),
		Imbalance: long(sum.Imbalance), Scheduling: long(sum.Scheduling), Locked: long(sum.Locked),
	}}
}

// threadsAtOnce is how many threads a process needs cores for.
func threadsAtOnce(o *record.OpenMP) int {
	if o.Nested+o.OtherRegions > 0 {
		return max(o.TeamMost, o.Threads, 1)
	}
	return max(o.TeamMost, 1)
}

// How long a thread of OpenMP uses a CPU after a region before it sleeps, unless its user wants
// else: libgomp spins for a few ms, other runtimes do for 200 ms.
const (
	awakeLibgomp = 5 * time.Millisecond
	awakeOMPT    = 250 * time.Millisecond
)

// explained is the CPU time that other threads than the main one can have used for OpenMP: in
// regions, and while they were awake after them.
func (p *process) explained() time.Duration {
	o := p.openmp
	others, outside := time.Duration(o.Threads-1), max(p.elapsed-o.InRegions, 0)
	after := outside
	if o.Regions < uint64(outside/o.awake) {
		after = time.Duration(o.Regions) * o.awake
	}
	return job.AddTime(max(o.Team-o.InRegions, 0), others*after)
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
