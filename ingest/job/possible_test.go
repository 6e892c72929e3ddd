package job

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/preload/record"
)

// twoRanks is an execution that can be: two ranks of 10 s on one node.
func twoRanks() *Execution {
	const s = time.Second
	return &Execution{Key: "k", Size: 2, Nodes: []NodeShare{{Node: "n1", Ranks: 2, RankIDs: "0-1",
		Useful: 12 * s, UsefulMax: 8 * s, MPI: 6 * s, IO: 2 * s, ElapsedMax: 10 * s, ElapsedSum: 20 * s}}}
}

// Times may exceed what passed by what rounding makes of them, and by no more.
func TestTimesThatCannotBe(t *testing.T) {
	if whole := 1000.; !fits(whole*(1+Tolerance)+3*roundedOff, whole, 3) || fits(whole*(1+2*Tolerance)+3*roundedOff, whole, 3) || fits(whole+1, whole, 3) {
		t.Error("what rounding makes of a sum is too much, or more than it is not")
	}
	const s = time.Second
	for name, change := range map[string]func(n *NodeShare){
		"negative":                func(n *NodeShare) { n.MPI = -1 },
		"longer than it ran":      func(n *NodeShare) { n.UsefulMax = 11 * s },
		"more useful than most":   func(n *NodeShare) { n.Useful = 17 * s },
		"MPI beside useful":       func(n *NodeShare) { n.MPI = 7 * s },
		"IO beside useful":        func(n *NodeShare) { n.IO = 3 * s },
		"more than ranks ran":     func(n *NodeShare) { n.ElapsedSum = 21 * s },
		"fewer ranks than listed": func(n *NodeShare) { n.Ranks, n.Useful, n.MPI = 1, 6*s, 2*s },
		"ranks of another world":  func(n *NodeShare) { n.RankIDs = "1-2" },
	} {
		x := twoRanks()
		if err := x.Check(); err != nil {
			t.Fatal(err)
		}
		if change(&x.Nodes[0]); x.Check() == nil {
			t.Errorf("%s: nothing was said", name)
		}
	}
}

// Each share of stored metrics is from 0 to 1, and their times fit into the job's.
func TestMetricsThatCannotBe(t *testing.T) {
	good := func() (*Metrics, *Hybrid) {
		h := &Hybrid{Threads: 4, Span: 40, Useful: 20, MPITime: 8, IOTime: 4, Imbalance: 4, Scheduling: 2, Serial: 2}
		return &Metrics{Ranks: 2, Elapsed: 10, Useful: 12, MPITime: 6, IOTime: 2, Efficiencies: Efficiencies{1 + Tolerance, 0, 1}, MPI: Efficiencies{1, 1, 1},
			LoadBalanceIn: 1, LoadBalanceOut: 1, Coverage: 1 + Tolerance, Hybrid: h}, h
	}
	if m, _ := good(); m.Check() != nil {
		t.Fatal(m.Check())
	}
	m, h := good()
	for _, share := range []*float64{&m.Parallel, &m.LoadBalance, &m.Communication, &m.LoadBalanceIn, &m.LoadBalanceOut, &m.Coverage,
		&m.MPI.Parallel, &m.MPI.LoadBalance, &m.MPI.Communication} {
		right := *share
		for v, can := range map[float64]bool{0: share != &m.MPI.Communication, 1: true, 1.01: false, -0.01: false, math.NaN(): false} {
			if *share = v; (m.Check() == nil) != can {
				t.Errorf("a share of %g: %v", v, m.Check())
			}
		}
		*share = right
	}
	for _, sum := range []*float64{&m.Useful, &m.MPITime, &m.IOTime, &h.Useful, &h.MPITime, &h.IOTime, &h.Imbalance, &h.Scheduling, &h.Serial} {
		right := *sum
		for _, v := range []float64{right + 1, -0.01, math.NaN()} {
			if *sum = v; m.Check() == nil {
				t.Errorf("%g s instead of %g s: nothing was said", v, right)
			}
		}
		if *sum = 0; m.Check() != nil {
			t.Errorf("no time instead of %g s: %v", right, m.Check())
		}
		*sum = right
	}
	for _, r := range []struct {
		Run
		can bool
	}{
		{Run{Ranks: 2, Threads: 2, Elapsed: 10, Useful: 30, MPITime: 10}, true},
		{Run{Ranks: 2, Threads: 2, Elapsed: 10, Useful: 31, MPITime: 10}, false},
		{Run{Ranks: 2, Elapsed: 10, Useful: 21}, false},
		{Run{Ranks: 2, Elapsed: 10, Useful: 10, MPITime: 5, Conditions: &Conditions{UsefulMax: 6, IOTime: 5}}, true},
		{Run{Ranks: 2, Elapsed: 10, Useful: 10, MPITime: 5, Conditions: &Conditions{UsefulMax: 6, IOTime: 6}}, false},
		{Run{Ranks: 2, Elapsed: 10, Useful: 10, Conditions: &Conditions{UsefulMax: 4}}, false},
	} {
		if (r.Check() == nil) != r.can {
			t.Errorf("%+v: %v", r.Run, r.Check())
		}
	}
}

// What a report tells of windows is bounded, each share is one, and the ranks are of the world.
func TestWindowsThatCannotBe(t *testing.T) {
	good := func() *Windows {
		e := Estimate{Value: 0.5, Low: 0.5 + Tolerance/2, High: 0.5 - Tolerance/2} // rounding
		return &Windows{Logged: 5, Matched: 3, Talking: 3, Dropped: 2, Share: 1 + Tolerance/2, LoadBalance: 1, Drops: make([]WindowDrop, mostInWindows),
			Serialisation: e, Transfer: e, WhatIf: &WhatIf{FasterNetwork: 1, Balanced: 1},
			Path: &WaitPath{Inside: 1, Chain: []int{0, 7}, ChainLength: 8, ChainShare: 1, Ranks: []PathShare{{Rank: 0, Share: 1}, {Rank: 7}}, Calls: make([]PathShare, mostInWindows),
				Modules: []Module{{Path: "/bin/a", BuildID: "0f"}}, Links: []WaitLink{
					{Waits: CallAt{"MPI_Recv", []Frame{{Offset: mostAddress - 1}}}, For: CallAt{Function: "MPI_Send"}, Share: Estimate{1, 1, 1}}}}}
	}
	for name, change := range map[string]func(w *Windows){
		"":                          func(*Windows) {},
		"no path":                   func(w *Windows) { w.Path, w.WhatIf = nil, nil },
		"no chain":                  func(w *Windows) { w.Path.Chain, w.Path.ChainLength = nil, 0 },
		"the chain is whole":        func(w *Windows) { w.Path.ChainLength = 2 },
		"none talks":                func(w *Windows) { w.Talking = 0 },
		"!more talk than matched":   func(w *Windows) { w.Talking = 4 },
		"!negative":                 func(w *Windows) { w.Talking = -1 },
		"!windows are missing":      func(w *Windows) { w.Dropped = 1 },
		"!share":                    func(w *Windows) { w.Share = 1.01 },
		"!negative share":           func(w *Windows) { w.Share = -0.01 },
		"!no number":                func(w *Windows) { w.Share = math.NaN() },
		"!load balance":             func(w *Windows) { w.LoadBalance = 2 },
		"!many drops":               func(w *Windows) { w.Drops = append(w.Drops, WindowDrop{}) },
		"!negative time":            func(w *Windows) { w.Ideal = -1 },
		"!above its interval":       func(w *Windows) { w.Serialisation.High = 0.4 },
		"!below its interval":       func(w *Windows) { w.Transfer.Low = 0.6 },
		"!faster":                   func(w *Windows) { w.WhatIf.FasterNetwork = 2 },
		"!balanced":                 func(w *Windows) { w.WhatIf.Balanced = -1 },
		"!longer than the world":    func(w *Windows) { w.Path.ChainLength = 9 },
		"!shorter than its ranks":   func(w *Windows) { w.Path.ChainLength = 1 },
		"!a chain of one":           func(w *Windows) { w.Path.Chain = w.Path.Chain[:1] },
		"!a rank of another world":  func(w *Windows) { w.Path.Chain[1] = 8 },
		"!a negative rank":          func(w *Windows) { w.Path.Chain[0] = -1 },
		"!a share of another world": func(w *Windows) { w.Path.Ranks[1].Rank = 8 },
		"!a negative rank's share":  func(w *Windows) { w.Path.Ranks[0].Rank = -1 },
		"!a call's share":           func(w *Windows) { w.Path.Calls[0].Share = 2 },
		"!many calls":               func(w *Windows) { w.Path.Calls = make([]PathShare, mostInWindows+1) },
		"!inside":                   func(w *Windows) { w.Path.Inside = 2 },
		"!the chain's share":        func(w *Windows) { w.Path.ChainShare = 2 },
		"!many links":               func(w *Windows) { w.Path.Links = slices.Repeat(w.Path.Links, mostInWindows+1) },
		"!many modules":             func(w *Windows) { w.Path.Modules = slices.Repeat(w.Path.Modules, mostInWindows+1) },
		"!no build-id":              func(w *Windows) { w.Path.Modules[0].BuildID = "../x" },
		"!another module":           func(w *Windows) { w.Path.Links[0].Waits.Frames[0].Module = 1 },
		"!a negative module":        func(w *Windows) { w.Path.Links[0].Waits.Frames[0].Module = -1 },
		"!far beyond":               func(w *Windows) { w.Path.Links[0].Waits.Frames[0].Offset = mostAddress },
		"!two frames":               func(w *Windows) { w.Path.Links[0].For.Frames = make([]Frame, 2) },
		"!no call":                  func(w *Windows) { w.Path.Links[0].For.Function = "" },
		"!a link's share":           func(w *Windows) { w.Path.Links[0].Share.Value = 2 },
	} {
		w := good()
		if change(w); w.Possible(8) == strings.HasPrefix(name, "!") {
			t.Errorf("%q: possible is %v", name, !strings.HasPrefix(name, "!"))
		}
	}
	for v, is := range map[float64]bool{0: true, 1 + Tolerance: true, -1e-9: false, 1 + 2*Tolerance: false} {
		if isShare(v) != is {
			t.Errorf("%g is a share: %v", v, !is)
		}
	}
}

// TestDeterminedAndVaried: what is not determined says why.
func TestDeterminedAndVaried(t *testing.T) {
	if p := (WaitPath{Inside: 0.5}); p.Varies() || !(&WaitPath{Inside: 0.49}).Varies() {
		t.Error("half of the waiting is for work that changes")
	}
	if (&Windows{Why: "few"}).Determined() || (*Windows)(nil).Determined() || !(&Windows{}).Determined() {
		t.Error("windows are determined with a reason why not, or not without one")
	}
}

// The squares of how late ranks came are at most those of ranks that came at the end.
func TestSquaresThatCannotBe(t *testing.T) {
	const s = int64(time.Second)
	for square, can := range map[Square]bool{product(2e9, 2e9): true, product(2e9, 2.1e9): false} {
		i := Instances{Least: 1, Most: 1, Kept: []Instance{{Number: 1, In: 10 * s, Out: 12 * s, Late: 2 * time.Second, Late2: square}}}
		if err := i.check(2); (err == nil) != can {
			t.Errorf("%g s^2: %v", square.seconds(), err)
		}
	}
}

// A list, or a number, at its bound can be; one more cannot.
func TestBoundsOfAnExecution(t *testing.T) {
	for name, c := range map[string]struct {
		most int
		set  func(x *Execution, n int)
	}{
		"size":                {maxRank + 1, func(x *Execution, n int) { x.Size = n }},
		"shares of MPI":       {MostListed, func(x *Execution, n int) { x.Nodes[0].MPIShare = make([]byte, n) }},
		"ranks that are told": {MostListed, func(x *Execution, n int) { x.Size, x.Nodes[0].Ranks, x.Nodes[0].RankIDs = n, n, fmt.Sprint("0-", n-1) }},
		"text of ranks":       {maxRankIDs, func(x *Execution, n int) { x.Nodes[0].RankIDs = strings.Repeat("0", n-3) + "0-1" }},
		"instances": {record.MostInstances, func(x *Execution, n int) {
			s := Section{Ranks: 1, Instances: &Instances{Least: 1, Most: 1, Kept: make([]Instance, n)}}
			for i := range s.Instances.Kept {
				s.Instances.Kept[i].Number = uint64(i + 1)
			}
			x.Sections = []Section{s}
		}},
		"threads of a rank": {mostThreads, func(x *Execution, n int) { x.Nodes[0].Threads = &ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: n} }},
	} {
		for _, more := range []int{0, 1} {
			x := twoRanks()
			if c.set(x, c.most+more); (x.Check() == nil) != (more == 0) {
				t.Errorf("%s: with %d of at most %d: %v", name, c.most+more, c.most, x.Check())
			}
		}
	}
}
