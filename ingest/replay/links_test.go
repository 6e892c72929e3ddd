package replay

import (
	"slices"
	"testing"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// solver and library are modules of programs.
var (
	solver  = job.Module{Path: "/home/a/solver", BuildID: "ab"}
	library = job.Module{Path: "/lib/libx.so"}
)

// stand says where the calls of logs stand: those of an Op and a rank at so many bytes of the solver.
func stand(logs []Log, at func(rank int, op Op) uint64) {
	for r := range logs {
		logs[r].Sites = []Site{{library, 1}}
		for offset := range uint64(20) {
			logs[r].Sites = append(logs[r].Sites, Site{solver, offset})
		}
		for i := range logs[r].Entries {
			if e := &logs[r].Entries[i]; e.Op >= OpLocal {
				e.Site = uint16(at(logs[r].Rank, e.Op) + 2)
			}
		}
	}
}

// at is a call of solver; 0: not known.
func callOf(op Op, offset uint64) job.CallAt {
	c := job.CallAt{Function: record.FuncName(int(op))}
	if offset > 0 {
		c.Frames = []job.Frame{{Offset: offset}}
	}
	return c
}

func sameCall(a, b job.CallAt) bool {
	return a.Function == b.Function && slices.Equal(a.Frames, b.Frames)
}

// twoWaits are of two ranks. Rank 1 waits 100 ms for rank 0's message, and rank 0 then 50 ms for its answer, in
// all but one of `none` windows.
func twoWaits(tb testing.TB, none int) []Log {
	m := machine{size: 2}
	return m.simulate(tb, loop(40, func(p *proc, i int) {
		if p.rank == 0 {
			p.compute(100 * ms)
			p.send(1, 1, 8, nil)
			if i%none != none-1 {
				p.recv(1, 2, 8, nil)
			}
			p.compute(20 * ms)
			return
		}
		p.recv(0, 1, 8, nil)
		p.compute(50 * ms)
		if i%none != none-1 {
			p.send(0, 2, 8, nil)
		}
	}))
}

// The links of the path name both calls of each wait, with their parts of all waits.
func TestLinks(t *testing.T) {
	logs := twoWaits(t, 1000)
	stand(logs, func(rank int, op Op) uint64 { return uint64(10*rank) + uint64(op-OpSend) + 1 })
	path := replay(logs, 2, runOf(logs)).Path
	want := []job.WaitLink{
		{Waits: callOf(OpRecv, 12), For: callOf(OpSend, 1), Share: job.Estimate{Value: 100. / 150}},
		{Waits: callOf(OpRecv, 2), For: callOf(OpSend, 11), Share: job.Estimate{Value: 50. / 150}},
	}
	if len(path.Links) != 2 || !slices.Equal(path.Modules, []job.Module{solver}) {
		t.Fatalf("%+v of %+v", path.Links, path.Modules)
	}
	for i, l := range path.Links {
		if w := want[i]; !sameCall(l.Waits, w.Waits) || !sameCall(l.For, w.For) || !near(l.Share.Value, w.Share.Value) || !near(l.Share.Low, l.Share.High) {
			t.Errorf("%+v, want %+v", l, w)
		}
	}
}

// What varies from window to window has an interval that holds it.
func TestLinksVary(t *testing.T) {
	logs := twoWaits(t, 3)
	stand(logs, func(rank int, op Op) uint64 { return uint64(rank) + 1 })
	for _, l := range replay(logs, 2, runOf(logs)).Path.Links {
		if s := l.Share; !(s.Low < s.Value-.005 && s.Low > s.Value-.2 && s.High > s.Value+.005 && s.High < s.Value+.2) {
			t.Errorf("%+v: an interval of no use", l)
		}
	}
}

// Places that are not known are not told, nor taken for others; a wait of which neither is known is none.
func TestUnknownSites(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(l *Log)
		waits, For uint64
	}{
		"the late call's":        {func(l *Log) { l.Entries = changed(l.Entries, OpSend, 0) }, 2, 0},
		"the waiting call's":     {func(l *Log) { l.Entries = changed(l.Entries, OpRecv, 0) }, 0, 1},
		"both":                   {func(l *Log) { l.Entries = changed(changed(l.Entries, OpRecv, 0), OpSend, 0) }, 0, 0},
		"a number out of range":  {func(l *Log) { l.Entries = changed(l.Entries, OpRecv, 60000) }, 0, 1},
		"a node without a table": {func(l *Log) { l.Sites = nil }, 0, 0},
	} {
		m := machine{size: 2}
		logs := m.simulate(t, loop(8, func(p *proc, _ int) {
			if p.rank == 0 {
				p.compute(50 * ms)
				p.send(1, 1, 8, nil)
				return
			}
			p.recv(0, 1, 8, nil)
			p.compute(50 * ms)
		}))
		stand(logs, func(_ int, op Op) uint64 { return uint64(op-OpSend) + 1 })
		for i := range logs {
			c.change(&logs[i])
		}
		got := replay(logs, 2, runOf(logs)).Path
		if c.waits+c.For == 0 {
			if len(got.Links) != 0 {
				t.Errorf("%s: %+v", name, got.Links)
			}
			continue
		}
		if len(got.Links) != 1 || !sameCall(got.Links[0].Waits, callOf(OpRecv, c.waits)) || !sameCall(got.Links[0].For, callOf(OpSend, c.For)) {
			t.Errorf("%s: %+v", name, got.Links)
		}
	}
}

// changed gives entries of a kind another site.
func changed(entries []Entry, op Op, site uint16) []Entry {
	for i := range entries {
		if entries[i].Op == op {
			entries[i].Site = site
		}
	}
	return entries
}

// Ranks of several nodes number their sites differently: one place is one link.
func TestLinksOverNodes(t *testing.T) {
	m := machine{size: 4, perNode: 2}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		if p.rank > 0 {
			p.recv(p.rank-1, 1, 8, nil)
		}
		p.compute(50 * ms)
		if p.rank < 3 {
			p.send(p.rank+1, 1, 8, nil)
		}
	}))
	stand(logs, func(_ int, op Op) uint64 { return uint64(op-OpSend) + 1 })
	for r := 2; r < 4; r++ {
		l := &logs[r]
		l.Sites = []Site{{solver, 2}, {library, 9}, {solver, 1}}
		l.Entries = changed(changed(l.Entries, OpRecv, 1), OpSend, 3)
	}
	if got := replay(logs, 4, runOf(logs)).Path.Links; len(got) != 1 || !near(got[0].Share.Value, 1) || !sameCall(got[0].Waits, callOf(OpRecv, 2)) || !sameCall(got[0].For, callOf(OpSend, 1)) {
		t.Errorf("%+v", got)
	}
}

// Many different waits cost no more than the largest may.
func TestLinksAreBounded(t *testing.T) {
	l := newLinks(4)
	for i := range int32(2 * linksMost) {
		l.add(link{callSite{1, i}, callSite{2, none}}, int(i)%4, 1)
	}
	blocks := make([]sums, 4)
	for i := range blocks {
		blocks[i].windows = 1
	}
	sites, path := make([]Site, 2*linksMost), &job.WaitPath{}
	if l.tell(path, sites, blocks); len(l.each) != linksMost || len(path.Links) != linksTold || !near(path.Links[0].Share.Value, 1./(2*linksMost)) {
		t.Errorf("%d links are told apart, %d told: %+v", len(l.each), len(path.Links), path.Links)
	}
}
