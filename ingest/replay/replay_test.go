package replay

import (
	"math"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// constructed is a program whose efficiencies are known.
type constructed struct {
	name    string
	machine machine
	program func(p *proc, i int)
	serE    float64
	te      float64
	lb      float64
}

const within = 1e-3

func constructedPrograms() []constructed {
	return []constructed{
		{"balanced work", machine{size: 4}, func(p *proc, _ int) { p.compute(50 * ms) }, 1, 1, 1},
		// 0 works 100 ms and tells 1, which works 50 ms and tells 2 …: 100 + 3 * 50.
		{"a chain with one late rank", machine{size: 4}, func(p *proc, _ int) {
			if p.rank > 0 {
				p.recv(p.rank-1, 1, 8, nil)
			}
			p.compute(50 * ms)
			if p.rank == 0 {
				p.compute(50 * ms)
			}
			if p.rank < p.size-1 {
				p.send(p.rank+1, 1, 8, nil)
			}
		}, 100. / 250, 1, 62.5 / 100},
		{"Sendrecv over a slow network", machine{size: 4, transfer: 50 * ms}, func(p *proc, _ int) {
			p.compute(50 * ms)
			p.sendrecv((p.rank+1)%p.size, (p.rank+p.size-1)%p.size, 64)
		}, 1, 0.5, 1},
		{"a ping-pong over a slow network", machine{size: 2, transfer: 25 * ms}, func(p *proc, _ int) {
			for turn := range 2 {
				if turn == p.rank {
					p.compute(50 * ms)
					p.send(1-p.rank, turn, 8, nil)
				} else {
					p.recv(1-p.rank, turn, 8, nil)
				}
			}
		}, 0.5, 100. / 150, 1},
		// The halo travels while the rank works.
		{"a stencil that overlaps", machine{size: 4, transfer: 20 * ms}, func(p *proc, _ int) {
			left, right := (p.rank+p.size-1)%p.size, (p.rank+1)%p.size
			rs := []*request{p.irecv(left, 1, 512), p.irecv(right, 2, 512), p.isend(right, 1, 512), p.isend(left, 2, 512)}
			p.compute(60 * ms)
			p.wait(rs...)
		}, 1, 1, 1},
		{"a stencil that does not overlap", machine{size: 4, transfer: 20 * ms}, func(p *proc, _ int) {
			left, right := (p.rank+p.size-1)%p.size, (p.rank+1)%p.size
			rs := []*request{p.irecv(left, 1, 512), p.irecv(right, 2, 512), p.isend(right, 1, 512), p.isend(left, 2, 512)}
			p.wait(rs...)
			p.compute(60 * ms)
		}, 1, 0.75, 1},
		{"sends that share a handle", machine{size: 4, transfer: 20 * ms, shared: true}, func(p *proc, _ int) {
			left, right := (p.rank+p.size-1)%p.size, (p.rank+1)%p.size
			rs := []*request{p.irecv(left, 1, 512), p.irecv(right, 2, 512), p.isend(right, 1, 512), p.isend(left, 2, 512)}
			p.wait(rs...)
			p.compute(60 * ms)
		}, 1, 0.75, 1},
		// 7→6, 5→4 …, then 6→4, 2→0, then 4→0; who receives works 50 ms more.
		{"a tree reduction", machine{size: 8}, func(p *proc, _ int) {
			p.compute(50 * ms)
			for step := 1; step < p.size; step *= 2 {
				if p.rank&step != 0 {
					p.send(p.rank-step, step, 8, nil)
					return
				}
				p.recv(p.rank+step, step, 8, nil)
				p.compute(50 * ms)
			}
		}, 1, 1, (4 + 2 + 3 + 2 + 4.) / 8 / 4},
		{"receives from any source", machine{size: 4}, func(p *proc, _ int) {
			if p.rank > 0 {
				p.compute(time.Duration(50*p.rank) * ms)
				p.send(0, p.rank, 8*p.rank, nil)
				return
			}
			for range p.size - 1 {
				p.recv(unknown, unknown, 1024, nil)
			}
			p.compute(50 * ms)
		}, 150. / 200, 1, 350. / 4 / 150},
		// Rows reduce, and then columns: the slowest row holds up the columns.
		{"sub-communicators", machine{size: 4}, func(p *proc, _ int) {
			row, column := p.group(p.rank/2*2, p.rank/2*2+1), p.group(p.rank%2, p.rank%2+2)
			p.compute(time.Duration(50*(p.rank+1)) * ms) // 50 100 | 150 200
			p.coll(OpCollAll, row, 0)                    // 100 | 200
			p.compute(time.Duration(50*(4-p.rank)) * ms) // 300 250 | 300 250
			p.coll(OpCollAll, column, 0)
		}, 250. / 300, 1, 1},
		{"persistent requests", machine{size: 2, transfer: 50 * ms}, persistentHalo(), 1, 2. / 3, 1},
		{"Waitany", machine{size: 4}, func(p *proc, _ int) {
			if p.rank > 0 {
				p.compute(time.Duration(200-50*p.rank) * ms) // 3 is the first
				p.send(0, 1, 8, nil)
				return
			}
			rs := []*request{p.irecv(1, 1, 8), p.irecv(2, 1, 8), p.irecv(3, 1, 8)}
			for len(rs) > 0 {
				i := p.first(rs)
				p.wait(rs[i])
				p.compute(50 * ms)
				rs = slices.Delete(rs, i, i+1)
			}
		}, 150. / 200, 1, (150 + 150 + 100 + 50.) / 4 / 150},
		{"Waitsome and Testsome", machine{size: 3}, func(p *proc, _ int) {
			if p.rank > 0 {
				p.compute(time.Duration(50*p.rank) * ms)
				p.send(0, 1, 8, nil)
				p.send(0, 2, 8, nil)
				return
			}
			rs := []*request{p.irecv(1, 1, 8), p.irecv(2, 1, 8), p.irecv(1, 2, 8), p.irecv(2, 2, 8)}
			p.wait(rs[0], rs[2])
			p.compute(100 * ms)
			p.wait(rs[3], rs[1])
		}, 100. / 150, 1, 250. / 3 / 100},
		{"Ssend waits for its receive", machine{size: 2}, func(p *proc, _ int) {
			if p.rank == 0 {
				p.ssend(1, 1, 1<<20)
				p.compute(50 * ms)
			} else {
				p.compute(50 * ms)
				p.recv(0, 1, 1<<20, nil)
			}
		}, 0.5, 1, 1},
		{"Issend waits for its receive", machine{size: 2, transfer: 20 * ms}, func(p *proc, _ int) {
			if p.rank == 0 {
				p.wait(p.begin(&request{send: true, sync: true, peer: 1, bytes: 8}))
				p.compute(50 * ms) // from 70, on the ideal network from 50
			} else {
				p.compute(50 * ms)
				p.recv(0, 0, 8, nil)
			}
		}, 0.5, 100. / 120, 1},
		{"a persistent Ssend", machine{size: 2, transfer: 20 * ms}, persistentSsend(), 0.5, 100. / 120, 1},
		{"a call that needs nobody", machine{size: 2}, func(p *proc, _ int) {
			p.compute(50 * ms)
			p.now += 50 * ms
			p.write(p.now-50*ms, Entry{Op: OpLocal})
		}, 1, 0.5, 1},
		{"a rank that only waits", machine{size: 2}, func(p *proc, _ int) { p.compute(time.Duration(1-p.rank) * 50 * ms) }, 1, 1, 0.5},
		{"Bcast waits for its root", machine{size: 4}, func(p *proc, _ int) {
			if p.rank == 2 {
				p.compute(100 * ms)
			}
			p.coll(OpCollFrom, p.world(), 2)
			if p.rank != 2 {
				p.compute(100 * ms)
			}
		}, 0.5, 1, 1},
		{"Reduce holds up its root only", machine{size: 4}, func(p *proc, _ int) {
			p.compute([]time.Duration{50 * ms, 100 * ms, 50 * ms, 100 * ms}[p.rank])
			p.coll(OpCollTo, p.world(), 2)
			p.compute([]time.Duration{100 * ms, 50 * ms, 50 * ms, 50 * ms}[p.rank])
		}, 1, 1, (150*3 + 100.) / 4 / 150},
		{"Scan waits for lower ranks", machine{size: 3}, func(p *proc, _ int) {
			if p.rank == 1 {
				p.compute(100 * ms)
			}
			p.coll(OpCollScan, p.world(), 0)
			p.compute([]time.Duration{150 * ms, 50 * ms, 100 * ms}[p.rank]) // they end at 150, 150, 200
		}, 150. / 200, 1, (150 + 150 + 100.) / 3 / 150},
		{"two Scans", machine{size: 2}, func(p *proc, _ int) {
			p.coll(OpCollScan, p.world(), 0)
			p.compute([]time.Duration{100 * ms, 50 * ms}[p.rank])
			p.coll(OpCollScan, p.world(), 0) // both leave it at 100
			p.compute([]time.Duration{50 * ms, 100 * ms}[p.rank])
		}, 150. / 200, 1, 1},
		{"a persistent Scan", machine{size: 3}, func(p *proc, _ int) {
			if p.rank == 1 {
				p.compute(100 * ms)
			}
			p.persistentScan()
			p.compute([]time.Duration{150 * ms, 50 * ms, 100 * ms}[p.rank])
		}, 150. / 200, 1, (150 + 150 + 100.) / 3 / 150},
		{"a file takes its time on any network", machine{size: 2, transfer: 50 * ms}, func(p *proc, _ int) {
			p.compute(50 * ms)
			p.file(100 * ms)
			p.sendrecv(1-p.rank, 1-p.rank, 8)
		}, 50. / 150, 150. / 200, 1},
		{"tests in a row", machine{size: 2, transfer: 50 * ms}, func(p *proc, _ int) {
			p.compute(50 * ms)
			p.poll(50*ms, 40*ms) // 10 ms are useful
			p.sendrecv(1-p.rank, 1-p.rank, 8)
		}, 1, 60. / 150, 1},
		{"Isendrecv", machine{size: 2, transfer: 50 * ms}, func(p *proc, i int) {
			late := []time.Duration{50 * ms, 100 * ms}
			p.compute(late[(i+p.rank)%2])
			p.isendrecv(1-p.rank, 8)
			p.compute(late[(i+p.rank+1)%2])
		}, 150. / 200, 200. / 250, 1},
		{"slow collectives", machine{size: 4, collective: 50 * ms}, func(p *proc, _ int) { p.compute(50 * ms) }, 1, 0.5, 1},
		{"ranks late by turns", machine{size: 2}, func(p *proc, i int) {
			p.compute([]time.Duration{100 * ms, 50 * ms}[(i+p.rank)%2])
		}, 0.75, 1, 1},
	}
}

// persistentHalo makes its requests once, outside of the windows.
func persistentHalo() func(p *proc, i int) {
	made := map[*proc][2]*request{}
	return func(p *proc, _ int) {
		if _, ok := made[p]; !ok {
			made[p] = [2]*request{p.persistent(&request{send: true, peer: 1 - p.rank, tag: 3, bytes: 80}),
				p.persistent(&request{peer: 1 - p.rank, tag: 3, bytes: 80})}
		}
		r := p.startP(made[p][1])
		s := p.startP(made[p][0])
		p.wait(s, r)
		p.compute(100 * ms)
	}
}

func persistentSsend() func(p *proc, i int) {
	var made *request
	return func(p *proc, _ int) {
		if p.rank == 1 {
			p.compute(50 * ms)
			p.recv(0, 0, 8, nil)
			return
		}
		if made == nil {
			made = p.persistent(&request{send: true, sync: true, peer: 1, bytes: 8})
		}
		p.wait(p.startP(made))
		p.compute(50 * ms)
	}
}

// runOf are the efficiencies that the library measures of a whole run: the windows', where all
// are kept and replayed.
func runOf(logs []Log) efficiencies {
	c, why := choose(logs, len(logs))
	if why != Determined {
		return efficiencies{}
	}
	r := newReplayer(c)
	for i, w := range c.windows {
		r.one(i, w)
	}
	nothing := newSums(len(logs))
	return r.all.without(&nothing)
}

func near(a, b float64) bool { return math.Abs(a-b) <= within }

func TestConstructedPrograms(t *testing.T) {
	for _, c := range constructedPrograms() {
		t.Run(c.name, func(t *testing.T) {
			logs := c.machine.simulate(t, loop(16, c.program))
			run := runOf(logs)
			got := replay(logs, len(logs), run)
			if got.Why != Determined || got.Matched != 16 || got.Dropped != 0 || got.Share != 1 {
				t.Fatalf("%q, %d matched, %v", got.Why, got.Matched, got.Drops)
			}
			if !near(got.Serialisation.Value, c.serE) || !near(got.Transfer.Value, c.te) || !near(got.LoadBalance, c.lb) {
				t.Errorf("SerE %.4f TE %.4f LB %.4f, want %.4f %.4f %.4f", got.Serialisation.Value, got.Transfer.Value, got.LoadBalance, c.serE, c.te, c.lb)
			}
			checkResult(t, run, got)
			if got.WhatIf == nil || c.te == 1 && !near(got.WhatIf.FasterNetwork, 1) {
				t.Errorf("on the network as it was the run takes another time, or a faster one gains where it takes no time: %+v", got.WhatIf)
			}
			if talks := slices.ContainsFunc(logs[0].Entries, func(e Entry) bool { return e.Peer == 1 && e.Bytes > 0 }); got.Talking != map[bool]int{true: 16}[talks] {
				t.Errorf("messages in %d windows", got.Talking)
			}
		})
	}
}

// checkResult holds what is true of every result of a whole run.
func checkResult(t *testing.T, run efficiencies, w *job.Windows) {
	t.Helper()
	if w.LoadBalance != run.LB || w.Communication != run.CommE || w.Serialisation.Value != run.SerE || w.Transfer.Value != run.TE {
		t.Errorf("%+v of %+v", w, run)
	}
	if math.Abs(run.CommE-run.SerE*run.TE) > 1e-12 || math.Abs(run.PE-run.LB*run.CommE) > 1e-12 {
		t.Errorf("PE is not LB CommE, or CommE not SerE TE: %+v", run)
	}
	for _, in := range []job.Estimate{w.Serialisation, w.Transfer} {
		if in.Low > in.Value+1e-9 || in.High < in.Value-1e-9 || in.Low < 0 || in.High > 1 {
			t.Errorf("%+v", in)
		}
	}
	if w := w.WhatIf; w != nil {
		if !(w.FasterNetwork >= w.FreeNetwork && w.FasterNetwork <= 1 && w.Balanced > 0 && w.Balanced <= 1) {
			t.Errorf("what-if %+v", *w)
		}
	}
	if !(w.Path.Inside >= 0 && w.Path.Inside <= 1) {
		t.Errorf("%v is lost inside windows", w.Path.Inside)
	}
}

// Each rank sends before the Allreduce what its peer receives after it. In each window there is
// a receive for each send, but of another window.
func TestMessagesAcrossBorders(t *testing.T) {
	m := machine{size: 4}
	logs := m.simulate(t, func(p *proc) {
		p.allreduce()
		for i := range 20 {
			if i > 0 {
				p.recv((p.rank+3)%4, 1, 8, nil)
			}
			p.compute(50 * ms)
			p.send((p.rank+1)%4, 1, 8, nil)
			p.allreduce()
		}
		p.recv((p.rank+3)%4, 1, 8, nil)
	})
	got := replay(logs, 4, runOf(logs))
	if got.Matched != 0 || got.Dropped != 20 || got.Why != WhyShare {
		t.Errorf("%q, %d matched, %d dropped: %v", got.Why, got.Matched, got.Dropped, got.Drops)
	}
	want := []job.WindowDrop{{Reason: ReasonOrder, Count: 19, Time: 950 * ms}, {Reason: ReasonSends, Count: 1, Time: 50 * ms}}
	if !slices.Equal(got.Drops, want) {
		t.Errorf("%v, want %v", got.Drops, want)
	}
}

// Receives are served in the order in which they were posted, not in which they are waited for.
func TestPostedOrder(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		if p.rank == 1 {
			a, b := p.irecv(0, 1, 8), p.irecv(0, 1, 16)
			p.wait(b)
			p.wait(a)
			return
		}
		p.send(1, 1, 8, nil)
		p.compute(50 * ms)
		p.send(1, 1, 16, nil)
	}))
	if got := replay(logs, 2, runOf(logs)); got.Why != Determined || got.Matched != 8 {
		t.Errorf("%q, %v", got.Why, got.Drops)
	}
}

// The clocks of nodes may differ: who is on which does not change what is found.
func TestNodes(t *testing.T) {
	for _, ahead := range []time.Duration{0, 300 * time.Microsecond, time.Second, -20 * time.Minute} {
		m := machine{size: 4, perNode: 2, ahead: ahead, transfer: 50 * ms}
		logs := m.simulate(t, loop(16, func(p *proc, _ int) {
			p.compute(50 * ms)
			p.sendrecv((p.rank+1)%p.size, (p.rank+p.size-1)%p.size, 64)
		}))
		got := replay(logs, 4, runOf(logs))
		if got.Why != Determined || !near(got.Serialisation.Value, 1) || !near(got.Transfer.Value, 0.5) {
			t.Errorf("clocks %v apart: %q, SerE %v TE %v, %v", ahead, got.Why, got.Serialisation.Value, got.Transfer.Value, got.Drops)
		}
	}
}

// A network twice as fast halves what it takes; a perfect balance takes the mean.
func TestWhatIf(t *testing.T) {
	m := machine{size: 2, transfer: 50 * ms}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		p.compute([]time.Duration{150 * ms, 50 * ms}[p.rank])
		p.sendrecv(1-p.rank, 1-p.rank, 8)
	}))
	got := replay(logs, 2, runOf(logs)) // 150 + 50; 150 + 25; 150; 100 + 50
	if w := got.WhatIf; w == nil || !near(w.FasterNetwork, 0.875) || !near(w.FreeNetwork, 0.75) || !near(w.Balanced, 0.75) {
		t.Errorf("%+v", w)
	}
}

// Ranks that are late by turns have equal work in all, and lose time in each window.
func TestWhatIfOfTurns(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(8, func(p *proc, i int) { p.compute([]time.Duration{100 * ms, 50 * ms}[(i+p.rank)%2]) }))
	if w := replay(logs, 2, runOf(logs)).WhatIf; w == nil || !near(w.Balanced, 0.75) {
		t.Errorf("%+v", w)
	}
}

// Where ranks leave the borders one after the other, the replay takes the time that the run took.
func TestRanksThatLeaveApart(t *testing.T) {
	m := machine{size: 4, apart: 30 * ms, transfer: 10 * ms}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		p.compute(50 * ms)
		p.sendrecv((p.rank+1)%p.size, (p.rank+p.size-1)%p.size, 64)
	}))
	got := replay(logs, 4, runOf(logs)) // 3 * 30 + 50 + 10; 3 * 15 + 50 + 5; 50
	if w := got.WhatIf; w == nil || !near(w.FasterNetwork, 100./150) || !near(w.FreeNetwork, 50./150) {
		t.Errorf("%+v", w)
	}
}

// On a network twice as fast a Bcast takes half of what it took after its root entered.
func TestWhatIfOfBcast(t *testing.T) {
	m := machine{size: 2, collective: 100 * ms}
	logs := m.simulate(t, func(p *proc) {
		p.allreduce()
		for range 8 {
			if p.rank == 1 {
				p.compute(100 * ms)
			}
			p.coll(OpCollFrom, p.world(), 0) // rank 0 leaves at 100, rank 1 at 200
			if p.rank == 0 {
				p.compute(100 * ms)
			}
			p.allreduce() // at 300; on a network twice as fast 50, 150; 200
		}
	})
	got := replay(logs, 2, runOf(logs))
	if w := got.WhatIf; w == nil || !near(w.FasterNetwork, 200./300) || !near(w.FreeNetwork, 100./300) {
		t.Errorf("%+v", w)
	}
}

// Ranks late by turns lose nothing inside windows: no chain is to blame.
func TestPathOfTurns(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(8, func(p *proc, i int) { p.compute([]time.Duration{100 * ms, 50 * ms}[(i+p.rank)%2]) }))
	got := replay(logs, 2, runOf(logs)).Path
	if got.Inside != 0 || got.Chain != nil || len(got.Calls) != 0 {
		t.Errorf("%+v", got)
	}
}

// Who begins has 100 ms of work, and the other one 50 after it: of 150 ms, 50 are lost inside each window.
// Either has 75 in the mean, so another 25 are lost because they take turns.
func TestPathInside(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(8, func(p *proc, i int) {
		if i%2 == p.rank {
			p.compute(100 * ms)
			p.send(1-p.rank, 0, 8, nil)
			return
		}
		p.recv(1-p.rank, 0, 8, nil)
		p.compute(50 * ms)
	}))
	if got := replay(logs, 2, runOf(logs)).Path; !near(got.Inside, 50./75) || got.ChainLength != 2 || !near(got.ChainShare, 0.5) {
		t.Errorf("%+v", got)
	}
}

// The path of a ping-pong goes to and fro: no chain, but ranks that take turns.
func TestPathOfPingPong(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		for turn := range 6 {
			if turn%2 == p.rank {
				p.compute(50 * ms)
				p.send(1-p.rank, turn, 8, nil)
			} else {
				p.recv(1-p.rank, turn, 8, nil)
			}
		}
	}))
	got := replay(logs, 2, runOf(logs)).Path
	if !slices.Equal(got.Chain, []int{0, 1}) || !got.ChainReturns || len(got.Ranks) != 2 || !near(got.Ranks[0].Share, 0.5) || !near(got.Ranks[1].Share, 0.5) {
		t.Errorf("%+v", got)
	}
}

// The critical path of a chain goes through its ranks.
func TestPath(t *testing.T) {
	m := machine{size: 8}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		switch p.rank {
		case 3, 4, 5:
			if p.rank > 3 {
				p.recv(p.rank-1, 1, 8, nil)
			}
			p.compute(50 * ms)
			if p.rank < 5 {
				p.send(p.rank+1, 1, 8, nil)
			}
		default:
			p.compute(20 * ms)
		}
	}))
	got := replay(logs, 8, runOf(logs)).Path
	if !slices.Equal(got.Chain, []int{3, 4, 5}) || got.ChainReturns || got.ChainLength != 3 || !near(got.ChainShare, 1) || !near(got.Inside, 1) {
		t.Errorf("%+v", got)
	}
	if len(got.Ranks) != 3 || !near(got.Ranks[0].Share, 1./3) || len(got.Calls) != 1 || got.Calls[0] != (job.PathShare{Call: record.FuncName(int(OpRecv)), Share: 1}) {
		t.Errorf("%+v", got)
	}
}

// A long chain is cut, and its length is told.
func TestLongPath(t *testing.T) {
	m := machine{size: 12}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		if p.rank > 0 {
			p.recv(p.rank-1, 1, 8, nil)
		}
		p.compute(50 * ms)
		if p.rank < p.size-1 {
			p.send(p.rank+1, 1, 8, nil)
		}
	}))
	got := replay(logs, 12, runOf(logs)).Path
	if !slices.Equal(got.Chain, []int{0, 1, 2, 3, 4, 5, 6, 7}) || got.ChainLength != 12 || got.ChainReturns || !near(got.ChainShare, 1) {
		t.Errorf("%+v", got)
	}
}

// A call's part of the waits is that of their time: 90 of 100 ms.
func TestWaitsByCall(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		for turn, work := range []time.Duration{90 * ms, 10 * ms} {
			switch {
			case turn == p.rank:
				p.compute(work)
				p.send(1-p.rank, turn, 8, nil)
			case turn == 0:
				p.wait(p.irecv(0, turn, 8))
			default:
				p.recv(1, turn, 8, nil)
			}
		}
		p.compute([]time.Duration{20 * ms, 0}[p.rank]) // the path ends here
	}))
	got := replay(logs, 2, runOf(logs)).Path.Calls
	if len(got) != 2 || got[0].Call != record.FuncName(int(OpDone)) || !near(got[0].Share, 0.9) || got[1].Call != record.FuncName(int(OpRecv)) {
		t.Errorf("%+v", got)
	}
}

// The interval of ranks late by turns and at random holds the true value, and shrinks.
func TestIntervals(t *testing.T) {
	few, many := intervalOf(t, 32), intervalOf(t, 2048)
	if many.Serialisation.High-many.Serialisation.Low > (few.Serialisation.High-few.Serialisation.Low)/2 {
		t.Errorf("32 windows: %v, 2048: %v", few.Serialisation, many.Serialisation)
	}
	if true1 := 75. / 87.5; many.Serialisation.Low > true1 || many.Serialisation.High < true1 {
		t.Errorf("%v does not hold %v", many.Serialisation, true1)
	}
}

// With three blocks, the interval is Student's for 2 degrees of freedom.
func TestSpread(t *testing.T) {
	for nu := 1; nu < len(student); nu++ {
		if want := (distuv.StudentsT{Sigma: 1, Nu: float64(nu)}).Quantile(0.975); math.Abs(student[nu]-want) > 6e-4 {
			t.Errorf("%d degrees of freedom: %v, want %v", nu, student[nu], want)
		}
	}
	half := 4.303 * math.Sqrt(2*0.05*0.05*2/3)
	if got := spread(0.5, []float64{0.45, 0.5, 0.55}); math.Abs(got.Low-(0.5-half)) > 1e-9 || math.Abs(got.High-(0.5+half)) > 1e-9 {
		t.Errorf("%v, want 0.5 give or take %v", got, half)
	}
	if got := spread(0.9, []float64{0, 1}); got != (job.Estimate{Value: 0.9, High: 1}) {
		t.Errorf("%v is no interval of a share", got)
	}
}

// intervalOf is of two ranks that take 50 or 100 ms each, by a hash of rank and window: a window
// takes 87.5 ms in the mean.
func intervalOf(t *testing.T, windows int) *job.Windows {
	m := machine{size: 2}
	logs := m.simulate(t, loop(windows, func(p *proc, i int) {
		p.compute(50 * ms)
		if Kept(uint64(2*(2*i+p.rank)), 1) { // of a pair, which is one rank's alone
			p.compute(50 * ms)
		}
	}))
	run := runOf(logs)
	got := replay(logs, 2, run)
	checkResult(t, run, got)
	return got
}

// A loop with two kinds of collectives has two kinds of windows. Whatever k, both are sampled.
func TestKeptDoesNotAlias(t *testing.T) {
	for k := range 8 {
		var odd, even float64
		for i := range uint64(1 << 18) {
			if Kept(i, k) && i%2 == 0 {
				even++
			} else if Kept(i, k) {
				odd++
			}
		}
		if mean := float64(int(1) << (17 - k)); math.Abs(even-mean) > 5*math.Sqrt(mean) || math.Abs(odd-mean) > 5*math.Sqrt(mean) {
			t.Errorf("k %d: %v even and %v odd windows, want about %v each", k, even, odd, mean)
		}
	}
	for i := range uint64(1 << 16) {
		if Kept(i, 5) && !Kept(i, 4) {
			t.Fatalf("window %d is kept with k = 5, and not with 4", i)
		}
	}
}

// Ranks whose buffers filled up at different times share the windows of the largest k.
func TestNestedSamples(t *testing.T) {
	program := loop(512, func(p *proc, i int) { p.compute(time.Duration(50+25*((i+p.rank)%2)) * ms) })
	m := machine{size: 2}
	all := m.simulate(t, program)
	thin := machine{size: 2, k: 3}
	logs := []Log{all[0], thin.simulate(t, program)[1]}
	want := 0
	for i := range uint64(512) {
		if Kept(i, 3) {
			want++
		}
	}
	got := replay(logs, 2, runOf(logs))
	if got.Why != Determined || got.Matched != want || got.Dropped != 0 {
		t.Errorf("%q, %d matched, %d dropped, want %d", got.Why, got.Matched, got.Dropped, want)
	}
}
