package node

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/wire"
	"jobeff/preload/record"
)

func counted(s record.Slot, instructions, cycles uint64) record.Slot {
	s.Counted, s.Instructions, s.Cycles = true, instructions, cycles
	return s
}

func TestFoldAddsUpCounters(t *testing.T) {
	slots := []record.Slot{counted(rankSlot(0, 2, 3, 1), 6e9, 3e9), counted(rankSlot(1, 2, 1, 3), 2e9, 1e9)}
	executions := foldSlots(t, testMachine(100), nil, slots...).executions
	c := job.UsefulCounters(executions)
	if c == nil || *c != (job.Counters{Ranks: 2, Instructions: 8e9, Cycles: 4e9, Useful: 4 * time.Second}) || *c.IPC() != 2 || *c.Frequency() != 1e9 {
		t.Errorf("counters: %+v", c)
	}
	slots[1].Counted = false // one rank without: nothing is said
	executions = foldSlots(t, testMachine(100), nil, slots...).executions
	if n := executions[0].Nodes[0].Counters; n == nil || n.Ranks != 1 || job.UsefulCounters(executions) != nil {
		t.Errorf("one of two ranks had counters: %+v", n)
	}
	slots[0].Counted = false
	if n := foldSlots(t, testMachine(100), nil, slots...).executions[0].Nodes[0]; n.Counters != nil {
		t.Errorf("no rank had counters: %+v", n.Counters)
	}
}

// The last stretch of a rank that was killed was useful, but nobody read its counters.
func TestFoldCountsToTheLastStamp(t *testing.T) {
	s := counted(killed(0, 1, 4, 20), 6e9, 12e9)
	facts := &attemptFacts{exits: map[int][]exitEvent{100: {{"0", 22 * sec, 9, 0}}}}
	e := foldSlots(t, testMachine(100), facts, s).executions[0]
	if c := job.UsefulCounters([]job.Execution{e}); e.Nodes[0].Useful != 8e9 || c.Useful != 6e9 || *c.Frequency() != 2e9 {
		t.Errorf("useful %v, counters %+v", e.Nodes[0].Useful, c)
	}
}

// Counters of the parts, merged, are those of the whole, and hostile ones stop somewhere.
func TestCountersMerge(t *testing.T) {
	part := func(node string, rank int, c *job.Counters) job.Execution {
		return job.Execution{Key: "k", KeyFrom: "pmix", Size: 2, Start: jobtest.Start, Endings: map[string]int{},
			Nodes: []job.NodeShare{{Node: node, Ranks: 1, RankIDs: slurmid.FormatRanges([]int{rank}), Counters: c}}}
	}
	a, b := part("a", 0, &job.Counters{Ranks: 1, Instructions: 5, Cycles: 4, Useful: 3}), part("b", 1, &job.Counters{Ranks: 1, Instructions: math.MaxUint64, Cycles: 2, Useful: math.MaxInt64})
	c := job.UsefulCounters(assemble.Merge([]job.Execution{b, a}))
	if c == nil || *c != (job.Counters{Ranks: 2, Instructions: math.MaxUint64, Cycles: 6, Useful: math.MaxInt64}) {
		t.Errorf("counters: %+v", c)
	}
	if c := job.UsefulCounters(assemble.Merge([]job.Execution{a, part("b", 1, nil)})); c != nil {
		t.Errorf("one of two nodes had counters: %+v", c)
	}
	if c := (&job.Counters{Ranks: 1}); c.IPC() != nil || c.Frequency() != nil {
		t.Error("figures of nothing")
	}
}

func TestValidateTakesAwayCountersThatCannotBe(t *testing.T) {
	for text, stays := range map[string]bool{
		`{"ranks":2,"counters":{"ranks":2,"useful_ns":5}}`:  true,
		`{"ranks":2,"counters":{"ranks":3}}`:                false,
		`{"ranks":2,"counters":{"ranks":0}}`:                false,
		`{"ranks":2,"counters":{"ranks":2,"useful_ns":-1}}`: false,
	} {
		x := job.Execution{Nodes: make([]job.NodeShare, 1)}
		if err := json.Unmarshal([]byte(text), &x.Nodes[0]); err != nil {
			t.Fatal(err)
		}
		wire.CleanExecution(&x, "n")
		if (x.Nodes[0].Counters != nil) != stays {
			t.Errorf("%s: %+v", text, x.Nodes[0].Counters)
		}
	}
}
