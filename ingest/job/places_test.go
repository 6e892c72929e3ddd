package job

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// randomPlaces are those of one rank. Some modules are the same file under two names.
func randomPlaces(rng *rand.Rand) *Places {
	p := &Places{Dropped: time.Duration(rng.IntN(100))}
	for i := range 1 + rng.IntN(4) {
		p.Modules = append(p.Modules, Module{Path: fmt.Sprintf("/lib/%d", i+rng.IntN(2)), BuildID: []string{"", "ab", "cd"}[rng.IntN(3)]})
	}
	for range rng.IntN(12) {
		one := Place{Function: []string{"MPI_Wait", "MPI_Send"}[rng.IntN(2)], Calls: rng.Uint64N(9), Samples: rng.Uint64N(9), Ranks: 1}
		for range rng.IntN(3) {
			one.Frames = append(one.Frames, Frame{Module: rng.IntN(len(p.Modules)), Offset: rng.Uint64N(3)})
		}
		one.Time = time.Duration(rng.IntN(1000))
		one.Sampled, one.Most, one.Least, one.Longest = one.Time/2, one.Time, one.Time, one.Time/3
		p.List = append(p.List, one)
	}
	return p
}

// TestPlacesAddInAnyOrder: neither the order nor the grouping of ranks shows in their sum, which has all of
// their time.
func TestPlacesAddInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 34))
	for range 2000 {
		var parts []*Execution
		var want time.Duration
		for range 2 + rng.IntN(5) {
			p := randomPlaces(rng)
			parts = append(parts, &Execution{Places: p})
			want += p.Dropped
			for _, one := range p.List {
				want += one.Time
			}
		}
		whole := JoinPlaces(parts)
		rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		cut := 1 + rng.IntN(len(parts)-1)
		other := JoinPlaces([]*Execution{{Places: JoinPlaces(parts[:cut])}, {Places: JoinPlaces(parts[cut:])}})
		if diff := cmp.Diff(whole, other); diff != "" {
			t.Fatalf("in another order (-, +)\n%s", diff)
		}
		got := whole.Dropped
		for _, one := range whole.List {
			got += one.Time
		}
		if got != want {
			t.Fatalf("%v of %v", got, want)
		}
		if few := whole.Cut(); len(few.List) > MostPlaces || !few.Possible(1000) {
			t.Fatalf("%+v cannot be", few)
		}
	}
}

// TestPlacesAreBounded: of more places than there is room for, those stay that took the most time.
func TestPlacesAreBounded(t *testing.T) {
	p := &Places{Modules: []Module{{Path: "/a"}}}
	for i := range 100 {
		p.List = append(p.List, Place{Function: "MPI_Wait", Frames: []Frame{{Offset: uint64(i)}}, Time: time.Duration(1 + i), Most: 1, Ranks: 1})
	}
	got := p.Cut()
	if len(got.List) != MostPlaces || got.List[0].Time != 100 || got.Dropped != 36*37/2 {
		t.Errorf("%d places, the first of %d, %d dropped", len(got.List), got.List[0].Time, got.Dropped)
	}
	if !got.Possible(1) || p.Possible(1) {
		t.Error("64 places can be, 100 cannot")
	}
}

// TestImpossiblePlaces: what no ranks can have is left out.
func TestImpossiblePlaces(t *testing.T) {
	for i, change := range []func(p *Places){
		func(p *Places) { p.List[0].Frames[0].Module = 1 },
		func(p *Places) { p.List[0].Frames[0].Module = -1 },
		func(p *Places) { p.List[0].Frames[0].Offset = 1 << 48 },
		func(p *Places) { p.List[0].Frames = make([]Frame, 5) },
		func(p *Places) { p.List[0].Function = "" },
		func(p *Places) { p.List[0].Function = strings.Repeat("x", 256) },
		func(p *Places) { p.List[0].Ranks = 3 },
		func(p *Places) { p.List[0].Ranks = 0 },
		func(p *Places) { p.List[0].Most = 8 },
		func(p *Places) { p.List[0].Least = 6 },
		func(p *Places) { p.List[0].Sampled = 8 },
		func(p *Places) { p.List[0].Sampled = -1 },
		func(p *Places) { p.List[0].Longest = -1 },
		func(p *Places) { p.Dropped = -1 },
		func(p *Places) { p.Modules[0].BuildID = "../x" },
		func(p *Places) { p.Modules = make([]Module, 1000) },
	} {
		p := &Places{Modules: []Module{{Path: "/a", BuildID: "ab"}}, List: []Place{{Function: "MPI_Wait", Frames: []Frame{{}}, Time: 7, Most: 5, Least: 2, Ranks: 2}}}
		if !p.Possible(2) {
			t.Fatal("it can be before the change")
		}
		if change(p); p.Possible(2) {
			t.Errorf("change %d: %+v can be", i, p)
		}
	}
}

// The share is of all calls but those of files.
func TestPlacesShare(t *testing.T) {
	p := &Places{List: []Place{{Time: 3, Frames: []Frame{{}}}, {Time: 1}}}
	classes := []Call{{Name: "wait", Time: 4}, {Name: "file", Time: 100}}
	if share, known := p.Share(classes); !known || share != .75 {
		t.Errorf("%v, known %v", share, known)
	}
	if _, known := p.Share(slices.Clone(classes[1:])); known {
		t.Error("nothing of no time is known")
	}
}

// TestPlacesOfExecutions: timelines are kept of the executions with the most core time, places of more, and told is the costliest.
func TestPlacesOfExecutions(t *testing.T) {
	var all []Execution
	for _, hours := range []time.Duration{3, 1, 4, 2} {
		all = append(all, Execution{Timeline: &Timeline{}, Places: &Places{List: make([]Place, 1)}, Nodes: []NodeShare{{Ranks: 1, ElapsedMax: hours * time.Hour, ElapsedSum: hours * time.Hour, Course: &Course{}}}})
	}
	all = append(all, Execution{Places: &Places{}, Nodes: []NodeShare{{Ranks: 1, ElapsedMax: 9 * time.Hour, ElapsedSum: 9 * time.Hour, Course: &Course{}}}})
	if with := KeepTimelines(all, 1, 3); len(with) != 3 || with[0] != &all[2] {
		t.Errorf("%d may have places", len(with))
	}
	for i, want := range []struct{ timeline, places bool }{{false, true}, {false, false}, {true, true}, {false, true}, {false, false}} {
		if e := &all[i]; e.Timeline != nil != want.timeline || e.Places != nil != want.places || e.Nodes[0].Course != nil != want.timeline {
			t.Errorf("execution %d: %+v", i, e)
		}
	}
	if PlacedExecution(all) != &all[2] || PlacedExecution(all[1:2]) != nil {
		t.Error("others are told")
	}
}
