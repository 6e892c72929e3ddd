package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// measuredRuns are two jobs on each core count, with the same time and useful time per rank.
func measuredRuns(all ...[3]float64) (runs []job.Run) {
	for i, c := range all {
		for k := range 2 {
			runs = append(runs, run(uint32(10*i+k+1), int(c[0]), c[1], c[2]))
		}
	}
	return runs
}

// TestNear: from 0.6 of overhead on the inflexion point is near, METRICS 4; imbalance and files are none.
// One job or one core count does not tell it, nor where other cores were faster, nor of a run that communicated less.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		pe, busiest, io float64
		near            bool
	}{
		{.30, 35, .04, true}, {.30, 35, .06, false}, {.39, 35, 0, true}, {.41, 35, 0, false}, {.30, 41, 0, false}, {.30, 0, 0, true}, {.30, 0, .11, false},
	} {
		here := Count{N: 8, Runs: 2, T: 100, PE: c.pe, Busiest: c.busiest, IO: c.io}
		s := &Study{Counts: []Count{{N: 4, Runs: 1, T: 150, PE: .7}, here}, Scaling: ScalingStrong, Runs: []job.Run{run(1, 4, 150, 110), run(2, 8, 100, 30), run(3, 8, 100, 30)}, Fastest: 8}
		for i, near := range []bool{false, c.near, c.near} {
			if s.Mine = &s.Runs[i]; s.Near() != near {
				t.Errorf("%+v, run %d: near %v", c, i, !near)
			}
		}
		if s.Mine = nil; s.Near() {
			t.Errorf("%+v: near without a run", c)
		}
	}
	on := func(n int, t float64) []job.Run { return measuredRuns([3]float64{float64(n), t, 240 / float64(n)}) }
	for _, c := range []struct {
		name string
		runs []job.Run
		near bool // of the last run on 8 cores
	}{
		{"two jobs", slices.Concat(on(4, 120), on(8, 100)), true},
		{"one job", append(on(4, 120), run(9, 8, 100, 30)), false},
		{"one core count", on(8, 100), false},
		{"more cores were faster", slices.Concat(on(4, 120), on(8, 100), on(16, 90)), false},
		{"more cores were not", slices.Concat(on(4, 120), on(8, 100), on(16, 105)), true},
		{"fewer cores were faster, less than weeks differ", slices.Concat(on(4, 95), on(8, 100)), false},
		{"this run communicated less", slices.Concat(on(4, 120), on(8, 100), on(8, 100), []job.Run{run(99, 8, 100, 70)}), false},
	} {
		s := studyOf(c.runs...)
		for i := range s.Runs {
			if s.Runs[i].Cores() == 8 {
				s.Mine = &s.Runs[i]
			}
		}
		if s.Near() != c.near {
			t.Errorf("%s: near %v", c.name, !c.near)
		}
	}
}

// TestNoMend: fewer cores are no mend where they cannot be compared, or where more than half of the
// loss is uneven work or files, unless two jobs on each took at most a tenth longer.
func TestNoMend(t *testing.T) {
	const uneven = "most of the lost time is uneven work, or files"
	for name, c := range map[string]struct {
		at          int
		busiest, io float64 // on 8 cores: 0.4 of 100 s are lost
		longer      float64
		change      func(r *job.Run)
		why         string
	}{
		"even":                   {4, 79, .19, 1, nil, ""},
		"uneven":                 {4, 81, 0, .11, nil, uneven},
		"uneven, but as fast":    {4, 81, 0, .1, nil, ""},
		"files":                  {4, 60, .21, .11, nil, uneven},
		"one job on 8":           {4, 81, 0, 0, func(r *job.Run) { r.JobID = map[bool]uint32{true: 99, false: r.JobID}[r.Ranks == 8] }, uneven},
		"one job on 4":           {4, 81, 0, 0, func(r *job.Run) { r.JobID = map[bool]uint32{true: 99, false: r.JobID}[r.Ranks == 4] }, uneven},
		"as fast, but never run": {5, 81, 0, 0, nil, uneven},
		"fewer than were run":    {3, 60, 0, 0, nil, "4 cores were the fewest that were run"},
		"another partition":      {4, 60, 0, 0, func(r *job.Run) { r.Partition = map[bool]string{true: "a", false: "b"}[r.Ranks == 8] }, "8 cores cannot be compared with 4: they ran in partition a, not b"},
	} {
		runs := measuredRuns([3]float64{4, 130, 120}, [3]float64{8, 100, 60})
		for i := range runs {
			if r := &runs[i]; r.Ranks == 8 {
				r.Conditions.UsefulMax, r.Conditions.IOTime = c.busiest, c.io*800
			}
			if c.change != nil {
				c.change(&runs[i])
			}
		}
		r := &Recommendation{Cores: curve.Estimate{Value: float64(c.at)}, Typical: &curve.Estimate{High: c.longer}}
		if why := studyOf(runs...).noMend(8, r); !strings.HasPrefix(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}

// TestNearest is by the ratio of core counts; of two as near it is the larger one, and never n itself.
func TestNearest(t *testing.T) {
	s := studyOf(modelRuns(curve.Amdahl{Serial: 1e-3, B: 40, C: 60, T1: 4000}, 4, 8, 16, 64)...)
	for _, c := range []struct{ at, n, want int }{{5, 64, 4}, {6, 64, 8}, {7, 8, 4}, {31, 64, 16}, {40, 64, 16}, {2, 64, 4}, {8, 64, 8}, {12, 16, 8}} {
		if got := s.nearest(c.at, c.n); got.N != c.want {
			t.Errorf("to %d under %d: %d, want %d", c.at, c.n, got.N, c.want)
		}
	}
}

// TestCheapest: the count with the fewest core-hours of those whose run is at most twice as long as the
// shortest: 8 take 1,520 core-seconds or 1,592, 16 take 2,400 or 1,520, 64 take 6,400. Of counts about as
// cheap it is the faster one, and of those that are worth no wait there is none.
func TestCheapest(t *testing.T) {
	for _, c := range []struct{ on8, on16, on64, want float64 }{{190, 150, 100, 8}, {199, 95, 100, 16}, {210, 150, 100, 16}, {210, 210, 100, 0}, {150, 74, 100, 16}, {150, 77.2, 100, 16}, {150, 83, 100, 16}, {150, 84, 100, 8},
		{250, 150, 300, 8}, {310, 150, 300, 16}} {
		s := studyAt(measuredRuns([3]float64{8, c.on8, 70}, [3]float64{16, c.on16, 35}, [3]float64{64, c.on64, 8}), 64)
		s.Curve = &curve.Result{}
		got := 0.0
		if r := s.Recommend(nil); r != nil {
			got = r.Cores.Value
		}
		if got != c.want {
			t.Errorf("%+v: %v cores", c, got)
		}
	}
}

// TestCandidates: a count that was run is asked for before one that only the curve knows, and of the
// latter only such as one asks for: whole nodes, or what the counts have in common.
func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		counts []int
		nodes  int // each has so many cores; 0: all ran on one
		want   []int
	}{
		{[]int{1, 64, 128, 256, 512}, 0, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
		{[]int{6, 96, 128}, 0, []int{6, 12, 24, 48, 96, 128}},
		{[]int{64, 128, 512}, 64, []int{64, 128, 256, 512}},
		{[]int{40, 320}, 64, []int{40, 64, 128, 320}},
	} {
		runs := modelRuns(curve.Amdahl{Serial: 1e-3, B: 40, C: 60, T1: 4000}, c.counts...)
		for i := range runs {
			if c.nodes > 0 {
				runs[i].Nodes = (runs[i].Ranks + c.nodes - 1) / c.nodes
			}
		}
		if got := studyOf(runs...).candidates(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestAlloc: a run costs what its job was charged for. Where nothing was measured it is whole nodes if all
// jobs had these, else as many CPUs for each core as they had at most.
func TestAlloc(t *testing.T) {
	for name, c := range map[string]struct {
		alloc   [3]int // on 16, 32 and 128 cores, of nodes with 32 cores
		threads int    // per core of the machine
		want    [3]float64
		on64    float64
	}{
		"not known":            {[3]int{}, 1, [3]float64{16, 32, 128}, 64},
		"as many":              {[3]int{16, 32, 128}, 1, [3]float64{16, 32, 128}, 64},
		"hardware threads":     {[3]int{32, 64, 256}, 2, [3]float64{32, 64, 256}, 128},
		"whole nodes":          {[3]int{32, 32, 128}, 1, [3]float64{32, 32, 128}, 64},
		"whole nodes, threads": {[3]int{64, 64, 256}, 2, [3]float64{64, 64, 256}, 128},
		"not all whole":        {[3]int{16, 64, 256}, 2, [3]float64{16, 64, 256}, 128},
	} {
		var runs []job.Run
		for i, n := range []int{16, 32, 128} {
			runs = append(runs, changed(run(uint32(i+1), n, 1000/float64(n), 900/float64(n)), func(r *job.Run) {
				r.AllocCPUs, r.Nodes = c.alloc[i], (n+31)/32
				r.Conditions.Machine = &job.Hardware{Cores: 32, ThreadsPerCore: c.threads}
			}))
		}
		s := studyOf(runs...)
		if got := [3]float64{s.Alloc(16), s.Alloc(32), s.Alloc(128)}; got != c.want || s.Alloc(64) != c.on64 {
			t.Errorf("%s: %v, and %v for 64", name, got, s.Alloc(64))
		}
	}
	both := studyOf(changed(run(1, 16, 100, 90), func(r *job.Run) { r.AllocCPUs = 64 }), changed(run(1, 32, 60, 40), func(r *job.Run) { r.AllocCPUs = 64 }))
	if both.Alloc(16) != 16 || both.Alloc(32) != 32 {
		t.Error("the allocation of a job with two runs is that of each")
	}
}

// TestTimeOnFewer: the interval of one run's time on other cores, and of many runs' mean. What they share
// is the noise of both means and drift; each has its own on top. Vague means are no advice.
func TestTimeOnFewer(t *testing.T) {
	const tail = 1.6448536269514722 // of the normal distribution, two-sided at 0.9
	for _, noise := range []float64{.01, .29, .30} {
		mine := run(1, 8, 100, 50)
		s := &Study{Settings: curve.Settings{Level: 0.9}, Mine: &mine, groups: []curve.Group{{N: 4, Y: math.Log(150), Noise: noise, Runs: 4}, {N: 8, Y: math.Log(120), Noise: noise, Runs: 9}}}
		s.Counts = []Count{{N: 4, T: 150, Nodes: []int{1}}, {N: 8, T: 120, Nodes: []int{1}, Alloc: 16}}
		s.Fastest = 8
		r := s.recommendation(4, 8)
		r.saves(s, nil)
		shared := math.Sqrt(drift*drift + 2*noise*noise)
		if vague := math.Exp(2*tail*shared) > 4; vague || noise == .30 {
			if !vague || r.Time != nil || r.Saved != nil || r.Cores.Value != 4 {
				t.Errorf("noise %v: %+v", noise, r)
			}
			continue
		}
		one, mean := tail*math.Hypot(shared, 2*noise), tail*shared
		for what, v := range map[string][2]float64{
			"time": {r.Time.Value, .25}, "low": {r.Time.Low, 1.25*math.Exp(-one) - 1}, "high": {r.Time.High, 1.25*math.Exp(one) - 1},
			"low of the mean": {r.Typical.Low, 1.25*math.Exp(-mean) - 1}, "high of the mean": {r.Typical.High, 1.25*math.Exp(mean) - 1},
			"share": {r.Share.Value, 1 - 8*1.25/16}, "core-hours": {r.Saved.Value, (16*100 - 8*125) / 3600.},
		} {
			wantClose(t, what, v[0], v[1], 1e-9)
		}
	}
	s := studyOf(measuredRuns([3]float64{4, 110, 100}, [3]float64{8, 100, 50})...)
	for n, saved := range map[int]bool{1: true, 2: false} { // of a job with several programs nothing is said
		r := s.recommendation(4, 8)
		r.saves(s, &job.Job{Executions: make([]job.Execution, n)})
		if (r.Saved != nil) != saved || r.Time == nil {
			t.Errorf("%d programs: %+v", n, r)
		}
	}
	if r := s.Recommend(&job.Job{GPUs: 1}); r != nil {
		t.Errorf("with GPUs: %+v", r)
	}
}
