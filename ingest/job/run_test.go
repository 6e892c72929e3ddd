package job

import (
	"fmt"
	"math"
	"testing"
	"time"

	"jobeff/preload/record"
)

// TestRunSections: however many sections there are, a run keeps few, and they add up to all of
// it.
func TestRunSections(t *testing.T) {
	x := Execution{Size: 2, Nodes: []NodeShare{{Node: "n1", Ranks: 2, ElapsedSum: 300 * time.Second, ElapsedMax: 150 * time.Second, RankIDs: "0-1"}},
		Sections: []Section{{Label: record.OtherSections, Ranks: 2, Own: 40 * time.Second, Elapsed: 40 * time.Second}}}
	for i := range 200 {
		x.Sections = append(x.Sections, Section{Label: fmt.Sprint("s", i), Ranks: 2, Own: time.Second, Elapsed: time.Second})
	}
	r := RunOf(&x)
	var sum float64
	others := 0
	for _, s := range r.Sections {
		sum += s.Own
		if s.Label == record.OtherSections {
			others++
		}
	}
	if len(r.Sections) > runSections || math.Abs(sum-150) > 1e-6 || others != 1 || r.Sections[0].Label != MainSection {
		t.Errorf("%d sections, %d of the others, %v s", len(r.Sections), others, sum)
	}
}

// TestWorkloadKey: each part makes a different workload, and an unknown part makes none.
func TestWorkloadKey(t *testing.T) {
	base := Execution{BuildID: "b", ArgsHash: "a", InputHash: "i"}
	seen := map[string]string{WorkloadKey("c", 1, &base): "base"}
	if again := WorkloadKey("c", 1, &Execution{BuildID: "b", ArgsHash: "a", InputHash: "i", Size: 8, OMPThreads: 2}); seen[again] != "base" {
		t.Error("another core count is another workload")
	}
	for name, x := range map[string]Execution{
		"program": {BuildID: "b2", ArgsHash: "a", InputHash: "i"}, "arguments": {BuildID: "b", ArgsHash: "a2", InputHash: "i"},
		"input": {BuildID: "b", ArgsHash: "a", InputHash: "i2"}, "input not known": {BuildID: "b", ArgsHash: "a"},
		"name": {BuildID: "b", ArgsHash: "a", InputHash: "i", Workload: "x"}, "moved border": {BuildID: "ba", InputHash: "i", ArgsHash: "x"},
	} {
		key := WorkloadKey("c", 1, &x)
		if other, is := seen[key]; is || len(key) != 20 {
			t.Errorf("%s: key %q is that of %q", name, key, other)
		}
		seen[key] = name
	}
	for key, who := range map[string]string{WorkloadKey("c", 2, &base): "user", WorkloadKey("c2", 1, &base): "cluster"} {
		if other, is := seen[key]; is {
			t.Errorf("%s: the key is that of %q", who, other)
		}
	}
	for _, x := range []Execution{{ArgsHash: "a"}, {BuildID: "b"}, {ExecutableHash: "b", InputHash: "i"}} {
		if key := WorkloadKey("c", 1, &x); key != "" {
			t.Errorf("%+v has the key %s", x, key)
		}
	}
	byName := WorkloadKey("c", 1, &Execution{Workload: "x", BuildID: "p1"})
	if byName == "" || byName != WorkloadKey("c", 1, &Execution{Workload: "x", ArgsHash: "a"}) {
		t.Error("the name alone does not make the workload")
	}
}
