package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/preload/record"
)

// progressFold finds out how far the processes of a job are: the record shows where its ranks are,
// and root saw what all processes used.
type progressFold struct {
	*folder
	*seen
	hang.Progress
	mark   []byte
	spared map[int]bool // threads whose CPU time is MPI's, by tid
	ranks  map[int]rank // by pid
}

// rank says whether a rank is in MPI, and when its MPI_Init began and ended. The CPU time of its
// process is judged by that.
type rank struct {
	inMPI          bool
	initAt, leftAt uint64 // when MPI_Init began and ended, ns of CLOCK_MONOTONIC
}

// progress makes the node's Progress; nil: root did not look.
func (f *folder) progress(rec *record.File, slots []*record.Slot, worlds []*world) *hang.Progress {
	if f.facts.seen == nil {
		return nil
	}
	p := &progressFold{folder: f, seen: f.facts.seen, spared: map[int]bool{}, ranks: map[int]rank{}}
	p.Moment, p.Doubts = f.facts.moment.UTC(), slices.Clone(p.doubts)
	read := f.clocks.now[record.ClockMonotonic]
	at := cmp.Or(p.at, read)
	p.At, p.AtMS = time.Unix(0, int64(at.Real)).UTC(), int64(at.Mono/1e6)
	p.Read, p.ReadMS = time.Unix(0, int64(read.Real)).UTC(), int64(read.Mono/1e6)
	p.doubt(rec.Head.LostFull+rec.Head.LostMemory+rec.Head.LostStatic+rec.Head.LostPreload+rec.Head.LostUnseen > 0, hang.DoubtLost)
	byIndex := map[int]*record.Slot{}
	for _, s := range slots {
		byIndex[s.Index] = s
		p.slot(s, s)
	}
	for _, s := range f.others {
		if of := byIndex[s.Parent]; of != nil {
			p.slot(s, of)
		}
	}
	ended := 0
	for _, w := range slices.Backward(worlds) { // the newest first
		if p.isRunning(w) {
			p.world(w)
		} else if w.size > len(w.procs) && ended < mostEnded {
			ended++
			p.world(w)
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(p.procs)) {
		p.process(pid, p.procs[pid])
	}
	sum := sha256.Sum256(p.mark)
	p.Mark = hex.EncodeToString(sum[:16])
	p.Calls = hang.JoinCalls(p.Calls)
	p.doubt(len(p.Calls) > hang.MostOpenCalls, hang.DoubtMany)
	p.Calls = p.Calls[:min(len(p.Calls), hang.MostOpenCalls)]
	slices.Sort(p.Doubts)
	p.Doubts = slices.Compact(p.Doubts)
	return &p.Progress
}

func (p *progressFold) doubt(is bool, code string) {
	if is {
		p.Doubts = append(p.Doubts, code)
	}
}

func (p *progressFold) note(numbers ...uint64) {
	for _, n := range numbers {
		p.mark = binary.LittleEndian.AppendUint64(p.mark, n)
	}
}

// slot notes where a thread that calls MPI is; of is the slot of its process.
func (p *progressFold) slot(s, of *record.Slot) {
	p.doubt(!s.Still, hang.DoubtChanging)
	p.note(uint64(s.Index), uint64(s.PID), uint64(s.TID), uint64(s.State), s.Calls, uint64(s.OpenCall+1), s.Open, s.Last, s.InitLeft, s.FiniEnter, s.FiniLeft)
	line, _, ok := p.clocks.timeline(of)
	if !ok || !p.runs(of.PID, line.at.Mono) {
		return
	}
	inMPI := s.OpenCall >= 0 || s == of && (inInit(s) || inFinalize(s))
	if inMPI {
		p.spared[s.TID] = true
	}
	if s != of {
		return
	}
	r := rank{inMPI: inMPI, initAt: line.mono(s.InitEnter), leftAt: line.mono(s.InitLeft)}
	if inInit(s) {
		r.leftAt = p.now
		p.Calls = append(p.Calls, p.call(s, line, "", s.Size, "MPI_Init", s.InitEnter))
	}
	p.ranks[s.PID] = r
}

func inInit(s *record.Slot) bool { return s.InitEnter != 0 && s.InitLeft == 0 && s.FiniEnter == 0 }

func inFinalize(s *record.Slot) bool { return s.FiniEnter != 0 && s.FiniLeft == 0 && !s.Left }

// runs reports whether a process that ran at mono, ns, is there, and no younger one with its number.
func (p *progressFold) runs(pid int, mono uint64) bool {
	const slack = 1e9
	one := p.procs[pid]
	return one != nil && one.start*(1e9/userHZ) <= mono+slack
}

// mostEnded bounds the worlds that are listed although all their ranks on this node have ended: ranks
// elsewhere may wait for these.
const mostEnded = 4

func (p *progressFold) isRunning(w *world) bool {
	return slices.ContainsFunc(w.procs, func(one *process) bool {
		return one.live || inFinalize(one.slot) && p.runs(one.slot.PID, one.claimed)
	})
}

// world lists the functions that the ranks of a world are in.
func (p *progressFold) world(w *world) {
	found := slices.ContainsFunc(w.procs, func(one *process) bool { return p.runs(one.slot.PID, one.claimed) })
	p.doubt(!found && p.isRunning(w), hang.DoubtUnread) // in a container they have other pids
	for _, one := range w.procs {
		s := one.slot
		function, since := hang.OutsideMPI, s.Last
		switch {
		case !p.runs(s.PID, one.claimed):
			function, since = hang.RankEnded, 0
		case inFinalize(s):
			function, since = "MPI_Finalize", s.FiniEnter
		case !one.live:
			function, since = hang.RankEnded, 0
		case s.OpenCall >= 0:
			function, since = record.FuncName(s.OpenCall), s.Open
		}
		p.Calls = append(p.Calls, p.call(s, one.line, w.key, w.size, function, since))
	}
}

// call describes the function that one rank is in. since is in ticks; 0: not known.
func (p *progressFold) call(s *record.Slot, line timeline, execution string, size int, function string, since uint64) hang.OpenCalls {
	c := hang.OpenCalls{Execution: execution, Size: max(size, 0), Function: function, Count: 1}
	if since != 0 {
		c.Since = line.real(line.mono(since))
		c.Until = c.Since
	}
	now := hang.RankNow{Rank: max(s.Rank, 0), Node: p.facts.node, PID: s.PID}
	if one := p.procs[s.PID]; one != nil && function != hang.RankEnded {
		now.State = string(one.state)
	}
	if c.Some = []hang.RankNow{now}; s.Rank >= 0 {
		c.Ranks = slurmid.FormatRanges([]int{s.Rank})
	}
	return c
}

// process adds up what a process spent outside MPI.
func (p *progressFold) process(pid int, one *proc) {
	r := p.ranks[pid]
	p.note(uint64(pid), one.start)
	for _, t := range one.threads {
		p.note(uint64(t.tid))
		if began := t.start * (1e9 / userHZ); !p.spared[t.tid] && (t.tid == pid || t.start == 0 || !r.began(began)) {
			p.CPU = job.AddTime(p.CPU, time.Duration(t.cpu))
		}
	}
	p.Bytes = job.AddCount(p.Bytes, one.bytes)
	p.doubt(one.state == 'T' || one.state == 't', hang.DoubtStopped)
	p.doubt(one.gpu && !r.inMPI, hang.DoubtGPU)
}

// began reports whether MPI_Init of a rank started a thread that began at mono: it is MPI's own.
func (r rank) began(mono uint64) bool {
	const slack = 20e6 // /proc counts in 10 ms
	return r.initAt != 0 && mono+slack >= r.initAt && mono <= r.leftAt+slack
}
