package node

import (
	"fmt"
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// ownEnding is what a process itself said about its end, "" if nothing. MPICH's MPI_Abort may
// return; a program that then goes on to MPI_Finalize has aborted nevertheless.
func ownEnding(s *record.Slot) string {
	switch {
	case s.Ending == record.EndingAbort:
		return fmt.Sprintf("MPI_Abort %d", s.EndingCode)
	case s.State == record.StateFinalized || s.FiniEnter != 0 || s.Ending == record.EndingFinalize:
		return job.EndingFinalized
	case s.Ending == record.EndingExit && s.WithoutMPI:
		return fmt.Sprintf("exit %d", s.EndingCode)
	case s.Ending == record.EndingExit:
		return fmt.Sprintf("exit %d without MPI_Finalize", s.EndingCode)
	case s.Ending == record.EndingExec:
		return job.EndingExec
	}
	return ""
}

// finishWorld decides how and when every process of a world ended: by its own stamp, else by
// what root saw, else by a guess, which is marked as one.
func (f *folder) finishWorld(w *world) {
	for _, p := range w.procs {
		end, ending, assumed := f.endOf(p, w)
		p.close(min(end, f.now), ending, assumed)
	}
}

func (f *folder) endOf(p *process, w *world) (end uint64, ending string, assumed bool) {
	own := ownEnding(p.slot)
	for _, stamp := range []uint64{p.slot.FiniEnter, p.slot.FinishedAt.Ticks} {
		if stamp != 0 && own != "" {
			return p.when(stamp, p.start, f.now), own, false
		}
	}
	if next, ok := f.becameAnother(p); ok && own == "" {
		return max(next, p.lastSign), job.EndingExec, false
	}
	if e, ok := f.facts.exitOf(p.slot.PID, p.claimed); ok {
		if own == "" {
			own = StatusText(e.status)
		}
		return max(e.gone(), p.lastSign), own, false
	}
	if f.facts == nil && f.alive(p) {
		return f.now, job.EndingRunning, false
	}
	if own == "" {
		own = job.EndingAssumed
	}
	return f.guessEnd(p, w), own, true
}

// becameAnother tells when a process of the same pid and parent claimed a slot after p: p had
// called exec, and the new program called MPI_Init again. If the new program never calls MPI,
// p counts as useful until Slurm sees the process end.
func (f *folder) becameAnother(p *process) (claimed uint64, ok bool) {
	for _, c := range f.lives[lifeOf(p.slot)] {
		if c > p.claimed && (!ok || c < claimed) {
			claimed, ok = c, true
		}
	}
	return claimed, ok
}

func (f *folder) alive(p *process) bool {
	return f.machine.Alive != nil && f.sameBoot && p.slot.PID > 0 && f.machine.Alive(p.slot.PID, p.claimed)
}

// lateness is roughly how long after its ranks a launcher's daemon ends. Open MPI 4's waits a
// second between SIGTERM and SIGKILL, and sometimes another: it was seen to end 1.0 and 2.0 s
// after killed ranks. The value between them is within a second of both. From Open MPI 5 on it
// ends at once or after half a second. Hydra's ends at once.
func lateness(p *process) uint64 {
	if p.slot.Family != "Open MPI" {
		return 0
	}
	major := 0
	fmt.Sscanf(p.slot.MPIVersion, "Open MPI v%d", &major)
	if major >= 5 {
		return uint64(250 * time.Millisecond)
	}
	return uint64(1250 * time.Millisecond)
}

// guessEnd guesses when a process ended that nobody saw end:
//   - when its launcher's daemon ended, by the daemon's own note or Slurm's: at most about a
//     second late;
//   - else when its step ended, or earlier when the next world of that step began: launchers
//     run one after the other unless they are seen to overlap;
//   - in a record made by hand, at the last sign of life of its world.
func (f *folder) guessEnd(p *process, w *world) uint64 {
	if gone := p.slot.Gone; gone >= p.lastSign {
		return max(gone-lateness(p), p.lastSign)
	}
	if f.facts == nil {
		return w.lastSign
	}
	if e, ok := f.facts.exitOf(p.slot.PPID, p.lastSign); ok {
		return max(e.gone()-lateness(p), p.lastSign)
	}
	end := f.facts.end
	if stepEnd := f.facts.steps[p.step]; stepEnd != 0 {
		end = min(end, stepEnd)
	}
	for _, claim := range f.claims[p.step] {
		if claim > w.lastSign {
			end = min(end, claim)
			break
		}
	}
	return max(end, p.lastSign)
}
