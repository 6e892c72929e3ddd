package job

import (
	"strings"
	"testing"
	"time"
)

// What cannot be is taken away, and the figures beside it stay.
func TestLoadIsBounded(t *testing.T) {
	good := Load{Ranks: 2, Span: 20 * time.Second, CPU: 19 * time.Second, Other: time.Second, Whole: 2, Threaded: 1, CPUList: "0-3,8"}
	if got := good.cpus(); got != 5 {
		t.Errorf("%d CPUs", got)
	}
	tests := map[string]func(*Load){
		"":                       func(*Load) {},
		"no rank":                func(l *Load) { l.Ranks = 0 },
		"more ranks":             func(l *Load) { l.Ranks = 3 },
		"more threaded":          func(l *Load) { l.Threaded = 3 },
		"more time than all":     func(l *Load) { l.Other = 20 * time.Second },
		"slept longer than was":  func(l *Load) { l.Slept = 21 * time.Second },
		"no list":                func(l *Load) { l.CPUList = "evil" },
		"a list of all the RAM":  func(l *Load) { l.CPUList = "0-99999999999" },
		"a crowd on no such CPU": func(l *Load) { l.CrowdCPUs = "0,0-99999999999" },
	}
	for name, spoil := range tests {
		l := good
		spoil(&l)
		n := NodeShare{Ranks: 2, Load: &l}
		if n.Load.Possible(n.Ranks) != (name == "") {
			t.Errorf("%q: %+v", name, n.Load)
		}
	}
}

// Nodes with other CPUs are no common machine; more memory is none either, but the same CPUs.
func TestHardwareOfSeveralNodes(t *testing.T) {
	a := &Hardware{Model: "A", Sockets: 2, Cores: 64, ThreadsPerCore: 1, MaxMHz: 3000, MemoryMiB: 1000}
	more, other := *a, *a
	more.MemoryMiB, other.Model = 2000, "B"
	common := *a
	common.MemoryMiB = 0
	tests := []struct {
		nodes []*Hardware
		want  *Hardware
	}{
		{[]*Hardware{a, a}, a}, {[]*Hardware{a, nil}, nil}, {nil, nil},
		{[]*Hardware{a, &more, a}, &common}, {[]*Hardware{a, &other}, &Hardware{Model: severalModels}},
	}
	for i, tt := range tests {
		var e Execution
		for _, h := range tt.nodes {
			e.Nodes = append(e.Nodes, NodeShare{Hardware: h})
		}
		if got := HardwareOf(&e); (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%d: %+v, want %+v", i, got, tt.want)
		}
	}
}

// Two busy threads of several nodes: the name stays the same whatever is added first.
func TestLoadsAddUpInAnyOrder(t *testing.T) {
	parts := []Load{
		{Ranks: 1, BusyName: "b", BusyOfMPI: true, CrowdBusy: 4, CrowdRanks: 2, CrowdCPUs: "0"},
		{Ranks: 1, BusyName: "a", Threads: 7, CrowdBusy: 4, CrowdRanks: 2, CrowdCPUs: "1"},
		{Ranks: 1, BusyName: "a", BusyOfMPI: true, CPU: time.Second},
	}
	var sums []string
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		var sum Load
		for _, i := range order {
			sum.Add(&parts[i])
		}
		if sum.BusyName != "a" || sum.BusyOfMPI || sum.Ranks != 3 || sum.Threads != 7 {
			t.Errorf("%+v", sum)
		}
		sums = append(sums, strings.Join([]string{sum.CrowdCPUs, sum.BusyName}, " "))
	}
	if sums[0] != sums[1] || sums[1] != sums[2] {
		t.Error(sums)
	}
}

// The CPUs of an execution are those of its nodes, where each is known.
func TestCPUsAllowed(t *testing.T) {
	e := Execution{Nodes: []NodeShare{{Load: &Load{CPUList: "0-3"}}, {Load: &Load{CPUList: "0-1"}}}}
	if got := CPUsAllowed(&e); got != 6 {
		t.Errorf("%d CPUs", got)
	}
	for _, unknown := range []*Load{nil, {}} {
		if e.Nodes[0].Load = unknown; CPUsAllowed(&e) != 0 {
			t.Errorf("%d CPUs, although a node's are not known", CPUsAllowed(&e))
		}
	}
	if most := "0-65535"; cpusIn(most) != 1<<16 || cpusIn("0-65536") != 0 || cpusIn("0-65535,65537") != 0 {
		t.Error("a list of more CPUs than a machine has is read")
	}
}
