package hang_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"jobeff/ingest/hang"
)

const look = 10 * time.Minute // between two moments

// began is the first moment.
var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// looks are those of a job's nodes.
func looks(of ...*hang.Look) (all []hang.Look) {
	for _, l := range of {
		all = append(all, *l)
	}
	return all
}

// stillReport is what a node says at its i-th moment, if nothing moves.
func stillReport(node string, i int) *hang.Look {
	at := began.Add(time.Duration(i) * look)
	r := &hang.Look{Sequence: 1000 + i*int(look/time.Millisecond)}
	r.Progress = &hang.Progress{Moment: at, At: at, AtMS: int64(r.Sequence), Read: at, ReadMS: int64(r.Sequence), Mark: "a", CPU: time.Second, Bytes: 9, Calls: []hang.OpenCalls{
		{Execution: "k", Size: 4, Function: "MPI_Barrier", Ranks: map[string]string{"n1": "0-1", "n2": "3"}[node], Count: map[string]int{"n1": 2, "n2": 1}[node],
			Since: began, Until: began, Some: []hang.RankNow{{Rank: map[string]int{"n1": 0, "n2": 3}[node], Node: node, PID: 5}}}}}
	if node == "n2" {
		r.Progress.Calls = append(r.Progress.Calls, hang.OpenCalls{Execution: "k", Size: 4, Function: "MPI_Recv", Ranks: "2", Count: 1, Some: []hang.RankNow{{Rank: 2, Node: node, PID: 6, State: "S"}}})
	}
	return r
}

// after is what the server keeps of a node after its first so many reports, each edited.
func after(node string, moments int, edit func(i int, r *hang.Look)) *hang.Look {
	var still *hang.Still
	var last *hang.Look
	for i := range moments {
		last = stillReport(node, i)
		if edit != nil {
			edit(i, last)
		}
		still = still.Then(*last)
		last.Still = still
	}
	return last
}

// TestHung: nothing moves for half an hour by all nodes' reports, or nothing is said.
func TestHung(t *testing.T) {
	at := func(which int, edit func(r *hang.Look)) func(int, *hang.Look) {
		return func(i int, r *hang.Look) {
			if i == which {
				edit(r)
			}
		}
	}
	from := func(first int, edit func(i int, r *hang.Look)) func(int, *hang.Look) {
		return func(i int, r *hang.Look) {
			if i >= first {
				edit(i, r)
			}
		}
	}
	for name, tt := range map[string]struct {
		moments int
		n2      func(i int, r *hang.Look) // edits the reports of the second node
		since   int                       // moment; -1: nothing is said
	}{
		"not long enough":        {3, nil, -1},
		"half an hour":           {4, nil, 0},
		"longer":                 {9, nil, 0},
		"it moved before":        {5, at(0, func(r *hang.Look) { r.Progress.Mark = "b" }), 1},
		"it moved":               {5, at(4, func(r *hang.Look) { r.Progress.Mark = "b" }), -1},
		"it moved and came back": {6, at(2, func(r *hang.Look) { r.Progress.Mark = "b" }), -1},
		"a byte":                 {5, from(3, func(i int, r *hang.Look) { r.Progress.Bytes++ }), -1},
		"computes a little":      {5, from(3, func(i int, r *hang.Look) { r.Progress.CPU += 100 * time.Millisecond }), -1},
		"looks around":           {5, from(0, func(i int, r *hang.Look) { r.Progress.CPU += time.Duration(i) * 20 * time.Millisecond }), 0},
		"a sum that shrank":      {5, from(3, func(i int, r *hang.Look) { r.Progress.CPU-- }), -1},
		"stopped in between":     {7, at(2, func(r *hang.Look) { r.Progress.Doubts = []string{hang.DoubtStopped} }), 3},
		"stopped now":            {5, at(4, func(r *hang.Look) { r.Progress.Doubts = []string{hang.DoubtStopped} }), -1},
		"an older node":          {5, from(0, func(i int, r *hang.Look) { r.Progress = nil }), -1},
		"the record is read late": {5, at(0, func(r *hang.Look) {
			r.Progress.Read, r.Progress.ReadMS = r.Progress.Read.Add(11*time.Minute), r.Progress.ReadMS+660_000
		}), -1},
		"an older one ended there":  {5, at(4, func(r *hang.Look) { r.Progress, r.Sequence = nil, math.MaxInt }), -1},
		"it ended unseen":           {1, at(0, func(r *hang.Look) { r.Progress, r.Last = nil, true }), -1},
		"another moment":            {5, at(4, func(r *hang.Look) { r.Progress.Moment = r.Progress.Moment.Add(-2 * look) }), -1},
		"clock set back":            {5, at(4, func(r *hang.Look) { r.Progress.At = r.Progress.At.Add(-5 * time.Hour) }), -1},
		"booted, and its nonce too": {5, at(4, func(r *hang.Look) { r.Sequence = 5 }), -1},
	} {
		t.Run(name, func(t *testing.T) {
			h := hang.Find(looks(after("n1", tt.moments, nil), after("n2", tt.moments, tt.n2)), 2, 30*time.Minute)
			if (h == nil) != (tt.since < 0) {
				t.Fatalf("%+v", h)
			}
			if h == nil {
				return
			}
			if begin, end := began.Add(time.Duration(tt.since)*look), began.Add(time.Duration(tt.moments-1)*look); !h.Since.Equal(begin) || !h.AsOf.Equal(end) {
				t.Errorf("since %v as of %v, want %v, %v", h.Since, h.AsOf, begin, end)
			}
			if c := h.Calls; len(c) != 2 || c[0].Ranks != "0-1,3" || c[0].Count != 3 || c[1].Function != "MPI_Recv" {
				t.Errorf("%+v", c)
			}
			if odd := h.Odd; len(odd) != 1 || odd[0].Rank != 2 || odd[0].PID != 6 {
				t.Errorf("odd: %+v", odd)
			}
		})
	}
	n1, n2 := after("n1", 5, nil), after("n2", 5, nil)
	ahead, late := after("n2", 6, nil), after("n2", 7, nil)
	moved := after("n2", 6, from(5, func(_ int, r *hang.Look) { r.Progress.Mark = "b" }))
	ended := func(node string, moments int, edit func(*hang.Look)) *hang.Look {
		return after(node, moments+1, func(i int, r *hang.Look) {
			if i == moments {
				r.Progress, r.Last, r.Sequence = nil, true, math.MaxInt
			} else if i == moments-1 && edit != nil {
				edit(r)
			}
		})
	}
	for name, tt := range map[string]struct {
		n1, n2 *hang.Look
		end    int // moment; 0: nothing is said
	}{"one moment ahead": {n1, ahead, 4}, "two": {n1, late, 0}, "ahead, and it moved": {n1, moved, 0},
		"it ended on one": {n1, ended("n2", 5, nil), 4}, "it ended": {ended("n1", 5, nil), ended("n2", 5, nil), 4}, "after one told once more": {ended("n1", 5, nil), ended("n2", 6, nil), 4},
		"it ended after it had moved": {ended("n1", 5, nil), ended("n2", 5, func(r *hang.Look) { r.Progress.Mark = "b" }), 0},
		"it ended, stopped":           {ended("n1", 5, nil), ended("n2", 5, func(r *hang.Look) { r.Progress.Doubts = []string{hang.DoubtStopped} }), 0}} {
		h := hang.Find(looks(tt.n1, tt.n2), 2, 30*time.Minute)
		if (h != nil) != (tt.end > 0) || h != nil && !h.AsOf.Equal(began.Add(time.Duration(tt.end)*look)) {
			t.Errorf("%s: %+v", name, h)
		}
	}
	done := after("n2", 5, func(_ int, r *hang.Look) {
		r.Progress.Calls = []hang.OpenCalls{{Execution: "k", Size: 4, Function: hang.RankEnded, Ranks: "2-3", Count: 2, Some: []hang.RankNow{{Rank: 2, PID: 6}}},
			{Execution: "before", Size: 4, Function: hang.RankEnded, Ranks: "2-3", Count: 2}}
	})
	if h := hang.Find(looks(n1, done), 2, look); h == nil || len(h.Calls) != 2 || h.Calls[1].Function != hang.RankEnded || len(h.Odd) > 0 {
		t.Errorf("half of them have ended: %+v", h)
	}
	outside := after("n1", 5, func(_ int, r *hang.Look) { r.Progress.Calls[0].Function = hang.OutsideMPI })
	alone := after("n1", 5, func(_ int, r *hang.Look) { r.Progress.Calls[0].Size = 1 })
	setForward := after("n1", 3, from(1, func(i int, r *hang.Look) { r.Progress.At = r.Progress.At.Add(5 * time.Hour) }))
	for name, tt := range map[string]struct {
		all   []*hang.Look
		nodes int
		after time.Duration
	}{
		"a node is missing":        {[]*hang.Look{n1}, 2, look},
		"how many is not known":    {[]*hang.Look{n1, n2}, 0, look},
		"nobody looks":             {[]*hang.Look{n1, n2}, 2, 0},
		"clock set forward":        {[]*hang.Look{setForward}, 1, 30 * time.Minute},
		"all are outside MPI":      {[]*hang.Look{outside}, 1, look},
		"no rank waits for others": {[]*hang.Look{alone}, 1, look},
	} {
		if h := hang.Find(looks(tt.all...), tt.nodes, tt.after); h != nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// TestHungOfLostReports: of reports that are lost, doubled and late, no more is told than of all of them.
func TestHungOfLostReports(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 7))
	told := 0
	for round := range 2000 {
		var marks [12]int
		for i := 1; i < len(marks); i++ {
			if marks[i] = marks[i-1]; rng.IntN(6) == 0 {
				marks[i]++
			}
		}
		report := func(i int) *hang.Look {
			r := stillReport("n1", i)
			r.Progress.Mark = fmt.Sprint(marks[i])
			return r
		}
		var still *hang.Still
		last := -1
		order := rng.Perm(len(marks))
		if rng.IntN(2) == 0 {
			slices.Sort(order)
		}
		for _, i := range order {
			if rng.IntN(3) == 0 {
				continue
			}
			r := report(i)
			if still = still.Then(*r); rng.IntN(3) == 0 {
				still = still.Then(*report(i))
			}
			if last = max(last, i); i != last {
				continue
			}
			r.Still = still
			h := hang.Find(looks(r), 1, 30*time.Minute)
			stood := 0 // moments since which nothing moved
			for ; stood < i && marks[i-stood-1] == marks[i]; stood++ {
			}
			if h != nil {
				if told++; stood < 3 || h.Since.Before(began.Add(time.Duration(i-stood)*look)) {
					t.Fatalf("round %d: %+v at moment %d of %v", round, h, i, marks)
				}
			}
		}
	}
	if told < 500 {
		t.Errorf("only %d were told", told)
	}
}
