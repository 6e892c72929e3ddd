package node

import (
	"cmp"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
)

// mostWindowSlots bounds what windows take: 16 MiB of a record, as much as the library uses.
const mostWindowSlots = 16 << 20 / (record.LogsPerSlot * 48)

// windowSlots are the slots of windows of a record, by the index of the process's slot.
type windowSlots struct {
	of    map[int][]*record.WindowSlot
	count int
}

// add keeps a slot. What is beyond the bound is lost, and so is one that was being written to.
func (s *windowSlots) add(slot *record.Slot) {
	if s.count++; s.count <= mostWindowSlots && !slot.Torn {
		s.of[slot.Parent] = append(s.of[slot.Parent], slot.Windows)
	}
}

// ofProcess are the slots of a process in their order; nil if one is missing.
func (s *windowSlots) ofProcess(p *process) []*record.WindowSlot {
	var own []*record.WindowSlot
	for _, w := range s.of[p.slot.Index] {
		if w.Process == p.slot.ClaimedAt.Ticks && w.PID == p.slot.PID {
			own = append(own, w)
		}
	}
	slices.SortStableFunc(own, func(a, b *record.WindowSlot) int { return cmp.Compare(a.Order, b.Order) })
	for i := range own {
		if own[i].Order != i {
			return nil
		}
	}
	return own
}

// whyWindows translates what a rank itself says.
var whyWindows = map[record.WindowsWhy]replay.Why{
	record.WindowsThreads: replay.WhyThreads, record.WindowsSpawn: replay.WhySpawn, record.WindowsSessions: replay.WhySession,
	record.WindowsNoRoom: replay.WhyRoom, record.WindowsNoGroups: replay.WhyGroups,
}

// windows replays the windows of an execution whose processes are closed; nil if no rank logged
// any.
func (f *folder) windows(w *world, e *job.Execution) *job.Windows {
	logs := f.logs(w)
	if len(logs) == 0 {
		return nil
	}
	f.noteCrossing(e, logs)
	return replay.Windows(logs, e)
}

// noteCrossing keeps the execution that took longest, if it has ranks elsewhere. Only an execution
// with most of a job's time speaks for the job, so all nodes that have one choose the same.
func (f *folder) noteCrossing(e *job.Execution, logs []replay.Log) {
	if len(logs) >= e.Size {
		return
	}
	if span := e.End.Sub(e.Start); f.crossing == nil || span > f.crossing.span {
		f.crossing = &crossing{span: span, logs: logs,
			about: wire.NodeLogs{Key: e.Key, Size: e.Size, Ranks: len(logs), Start: e.Start, ClockError: f.machine.clockError}}
	}
}

// logs are the logs of the ranks that have one. All ranks of the node are on the clock of the
// first, so that two readings of one clock do not set them apart.
func (f *folder) logs(w *world) (logs []replay.Log) {
	first, sites := w.procs[0], siteNumbers{}
	for _, p := range w.procs {
		slots := f.windowLogs.ofProcess(p)
		if len(slots) == 0 {
			continue
		}
		line := first.line
		if p.slot.Clock != first.slot.Clock {
			line = p.line
		}
		l := replay.Log{Rank: p.slot.Rank, Node: p.node, K: slots[0].K, Why: whyWindows[slots[0].Why]}
		of := sites.of(p, slots[0].Sites)
		for _, s := range slots {
			for i := range s.Entries {
				e := entryOf(&s.Entries[i], line)
				if site := int(s.Entries[i].Site); site > 0 && site <= len(of) {
					e.Site = of[site-1]
				}
				l.Entries = append(l.Entries, e)
			}
		}
		logs = append(logs, l)
	}
	for i := range logs {
		logs[i].Sites = sites.list
	}
	return logs
}

// siteNumbers number the sites of a node's ranks, from 1.
type siteNumbers struct {
	list   []replay.Site
	number map[replay.Site]uint16
}

// of are the numbers of a process's sites; 0: it is not known whose code one is.
func (n *siteNumbers) of(p *process, sites []record.Site) []uint16 {
	out := make([]uint16, len(sites))
	for i, s := range sites {
		at, known := p.slot.Places.At(s)
		if !known {
			continue
		}
		site := replay.Site{Module: p.module(p.slot.Places.Modules[at.Module]), Offset: at.Offset}
		if site.Module == (job.Module{}) || n.number[site] == 0 && len(n.list) == replay.MostSites {
			continue
		}
		if n.number[site] == 0 {
			if n.number == nil {
				n.number = map[replay.Site]uint16{}
			}
			n.list = append(n.list, site)
			n.number[site] = uint16(len(n.list))
		}
		out[i] = n.number[site]
	}
	return out
}

// entryOf converts an entry's times.
func entryOf(e *record.LogEntry, line timeline) replay.Entry {
	out := replay.Entry{Bytes: e.Bytes, Request: e.Request, Peer: e.Peer, Tag: e.Tag, Comm: e.Comm, Call: e.Call,
		Op: replay.Op(e.Op), Flags: replay.Flags(e.Flags)}
	if e.Enter != 0 || e.Leave != 0 {
		out.Enter, out.Leave = line.realNs(e.Enter), line.realNs(e.Leave)
	}
	if out.Op == replay.OpPoll || out.Op == replay.OpWindow {
		out.Bytes = line.of(e.Bytes)
	}
	return out
}

// realNs converts ticks to CLOCK_REALTIME, ns, by the timeline's pair of readings.
func (t timeline) realNs(ticks uint64) int64 {
	return int64(t.mono(ticks)) - int64(t.at.Mono) + int64(t.at.Real)
}

// crossing is an execution that has ranks on other nodes, too, with the logs of those that are
// here. Only jobeffd, which gets the logs of all nodes, can replay them.
type crossing struct {
	about wire.NodeLogs
	span  time.Duration
	logs  []replay.Log
}

// pack makes what travels: the logs of the node whose report is r. Nil: there are none, or they
// have no room.
func (c *crossing) pack(r *job.NodeReport) []byte {
	if c == nil {
		return nil
	}
	about := c.about
	about.Cluster, about.JobID, about.Nonce, about.Node = r.Cluster, r.JobID, r.Nonce, r.Node
	nodes := r.NNodes
	if nodes == 0 {
		nodes = c.about.Size
	}
	return replay.Pack(c.logs, replay.RoomOn(nodes), about.Pack)
}
