package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// modelRuns follow a model exactly.
func modelRuns(m curve.Amdahl, counts ...int) []job.Run {
	var all []job.Run
	for i, n := range counts {
		t := m.Time(float64(n))
		all = append(all, run(uint32(100+i), n, t, t-m.Overhead(float64(n))))
	}
	return all
}

func studyOf(runs ...job.Run) *Study {
	return NewStudy(workloadOf(runs...), nil, began, curve.Settings{})
}

// TestStudyGivesBackTheModel: runs made from known parameters give the closed forms of
// n_fast and n_eff, and advice follows from them.
func TestStudyGivesBackTheModel(t *testing.T) {
	for _, m := range []curve.Amdahl{
		{Serial: 1e-3, B: 40, C: 60, T1: 4000},
		{Serial: 5e-4, B: 190, C: 200, T1: 9000},
		{Serial: 0.02, B: 20, C: 30, T1: 100},
	} {
		s := studyOf(modelRuns(m, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)...)
		if s.Curve.Refused != "" || s.Scaling != ScalingStrong || len(s.Splits)+len(s.Left) != 0 {
			t.Fatalf("%+v: %s, %q, %d splits, %v", m, s.Scaling, s.Curve.Refused, len(s.Splits), s.Left)
		}
		eff, fast := m.Efficient(0.8), m.Fastest()
		if e := s.Curve.Eff.Estimate; e == nil || math.Abs(e.Value/eff-1) > 1e-5 {
			t.Errorf("%+v: n_eff %+v, want %v", m, s.Curve.Eff, eff)
		}
		if fast < 300 {
			if e := s.Curve.Fast.Estimate; e == nil || math.Abs(e.Value/fast-1) > 1e-4 {
				t.Errorf("%+v: n_fast %+v, want %v", m, s.Curve.Fast, fast)
			}
		}
		r := s.Recommend(&job.Job{Executions: make([]job.Execution, 1)})
		if r == nil || r.Time == nil || r.Time.Value > mostPatience-1 {
			t.Fatalf("%+v: n_eff %v, advice %+v", m, eff, r)
		}
		if at := r.Cores.Value; r.For == ForPatience && at/2 > eff && m.Time(at/2) < mostPatience*m.Time(512) || r.For != ForPatience && (at > eff || at < eff/2) {
			t.Errorf("%+v: n_eff %v, advice %+v", m, eff, r)
		}
		truth := m.Time(r.Cores.Value)/m.Time(512) - 1
		if !r.Time.Within(truth) || math.Abs(r.Time.Value-truth) > 1e-4 {
			t.Errorf("%+v: on %v cores %+v, but it is %v", m, r.Cores.Value, r.Time, truth)
		}
		saved := (512*m.Time(512) - r.Cores.Value*m.Time(r.Cores.Value)) / 3600
		if r.Saved == nil || math.Abs(r.Saved.Value/saved-1) > 1e-4 || saved <= 0 {
			t.Errorf("%+v: %v cores save %+v, but it is %v", m, r.Cores.Value, r.Saved, saved)
		}
	}
}

// TestIntervals: that of one run holds 90 of 100 runs, not of means, and that of many runs
// does not shrink below what all of them share.
func TestIntervals(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	var runs []job.Run
	for i := range 400 {
		n := 8 << (i % 3)
		useful := 8000 / float64(n) * math.Exp(0.1*random.NormFloat64())
		runs = append(runs, run(uint32(i+1), n, useful*(1+0.02*float64(n)), useful))
	}
	s := studyOf(append(runs, run(999, 32, 250*1.64, 250))...)
	r := s.Recommend(nil)
	if r == nil || r.Cores.Value != 8 && r.Cores.Value != 16 {
		t.Fatalf("%+v", r)
	}
	within, of := 0, 0
	for i := range runs {
		if float64(runs[i].Cores()) == r.Cores.Value {
			of++
			if r.Time.Within(runs[i].Elapsed/s.At(32).T - 1) {
				within++
			}
		}
	}
	if share := float64(within) / float64(of); share < 0.85 || share > 0.96 {
		t.Errorf("%d of %d runs within %+v", within, of, r.Time)
	}
	width := func(e *curve.Estimate) float64 { return e.High - e.Low }
	one, few, many := r.ShareOver(1), r.ShareOver(10), r.ShareOver(100000)
	if math.Abs(width(one)/width(r.Share)-1) > 1e-9 || width(few) > width(one)/1.5 || width(many) < 0.02 || width(many) > width(few) || !many.Within(r.Share.Value) {
		t.Errorf("%+v, %+v, %+v of %+v", one, few, many, r.Share)
	}
	if 1-r.Cores.Value*(1+r.Time.Value)/32 != r.Share.Value {
		t.Errorf("%+v does not follow from %+v", r.Share, r.Time)
	}
}

// TestGroups tells what shares a curve and what does not.
func TestGroups(t *testing.T) {
	half := func(id uint32, n int) job.Run { return run(id, n, 100/float64(n)+1, 100/float64(n)) }
	for _, c := range []struct {
		name        string
		runs        []job.Run
		group, left int
		why         string // of a split or of what is left
	}{
		{"one group", []job.Run{half(1, 1), half(2, 2), half(3, 4), half(4, 4)}, 4, 0, ""},
		{"another amount of work", []job.Run{run(1, 1, 300, 299), run(2, 2, 160, 150), half(3, 1), half(4, 2), half(5, 4)}, 3, 0, "their ranks computed for 300 s in sum, not 100 s"},
		{"the same again but elsewhere", []job.Run{run(1, 1, 300, 299), run(2, 4, 80, 75), half(3, 2), half(4, 8)}, 2, 0, "another amount of work"},
		{"another number of steps", []job.Run{changed(half(1, 1), func(r *job.Run) { r.Collectives = 2000 }), half(2, 2), half(3, 4)}, 2, 0, "2,000 collective calls each, not 1,000"},
		{"more set-up calls", []job.Run{changed(half(1, 1), func(r *job.Run) { r.Collectives = 3 }), changed(half(2, 2), func(r *job.Run) { r.Collectives = 9 })}, 1, 0, "3 collective calls each, not 9"},
		{"a few more set-up calls", []job.Run{changed(half(1, 1), func(r *job.Run) { r.Collectives = 3 }), changed(half(2, 2), func(r *job.Run) { r.Collectives = 6 })}, 2, 0, ""},
		{"other sections", []job.Run{changed(half(1, 1), func(r *job.Run) { r.Sections = []job.RunSection{{Label: "io", Own: 1}} }), half(2, 2), half(3, 4)}, 2, 0, "their sections are io, not none"},
		{"six sections", []job.Run{changed(half(1, 1), func(r *job.Run) {
			for _, label := range strings.Fields("f e d c b a") {
				r.Sections = append(r.Sections, job.RunSection{Label: label})
			}
		}), half(2, 2), half(3, 4)}, 2, 0, "their sections are a, b, c, d and 2 more, not none"},
		{"four sections", []job.Run{changed(half(1, 1), func(r *job.Run) {
			for _, label := range strings.Fields("d c b a") {
				r.Sections = append(r.Sections, job.RunSection{Label: label})
			}
		}), half(2, 2), half(3, 4)}, 2, 0, "their sections are a, b, c, d, not none"},
		{"killed", []job.Run{changed(half(1, 8), func(r *job.Run) { r.Ended = false }), half(2, 2)}, 1, 1, "did not finish"},
		{"ranks missing", []job.Run{changed(half(1, 8), func(r *job.Run) { r.Coverage = 0.999 }), half(2, 2)}, 1, 1, "not all of its ranks were recorded (over 99 %)"},
		{"GPUs", []job.Run{changed(half(1, 8), func(r *job.Run) { r.GPUs = 1 }), half(2, 2)}, 1, 1, "had GPUs"},
		{"threads", []job.Run{changed(half(1, 8), func(r *job.Run) { r.Threads = 2 }), half(2, 2)}, 1, 1, "had threads"},
		{"no times", []job.Run{changed(half(1, 8), func(r *job.Run) { r.Elapsed = 0 }), changed(half(3, 8), func(r *job.Run) { r.Useful = math.NaN() }), changed(half(4, 8), func(r *job.Run) { r.Useful = 1000 }), half(2, 2)}, 1, 3, "times are not known"},
		{"ranks that never met", []job.Run{half(1, 1), changed(half(1, 1), func(r *job.Run) { r.Execution, r.Start = 1, r.Start.Add(time.Second) }), half(2, 2)}, 1, 2, "never met"},
		{"one of three ranks in the time of another", []job.Run{half(1, 1), changed(half(1, 1), func(r *job.Run) { r.Execution, r.Elapsed, r.Start = 1, 51, r.Start.Add(time.Second) }),
			changed(half(1, 1), func(r *job.Run) { r.Execution, r.Start = 2, r.Start.Add(60*time.Second) }), half(2, 2)}, 1, 3, "never met"},
		{"one rank right after the other", []job.Run{half(1, 1), changed(half(1, 1), func(r *job.Run) { r.Execution, r.Start = 1, r.Start.Add(101*time.Second) }), half(2, 2)}, 3, 0, ""},
		{"one rank twice after each other", []job.Run{half(1, 1), changed(half(1, 1), func(r *job.Run) { r.Execution, r.Start = 1, r.Start.Add(102*time.Second) }), half(2, 2)}, 3, 0, ""},
		{"the nearest amount of work", []job.Run{half(1, 1), run(2, 1, 161, 160), run(3, 2, 80, 75)}, 2, 0, "computed for 100 s in sum, not 155 s"},
		{"less work, as caches explain", []job.Run{run(1, 8, 14, 12.5), run(2, 16, 5, 62/16.)}, 2, 0, ""},
		{"less than they explain", []job.Run{run(1, 8, 14, 12.5), run(2, 16, 5, 59/16.)}, 1, 0, "computed for 100 s in sum, not 59.0 s"},
		{"more work, as shared CPUs explain", []job.Run{run(1, 8, 14, 12.5), run(2, 16, 20, 295/16.)}, 2, 0, ""},
		{"more than they explain", []job.Run{run(1, 8, 14, 12.5), run(2, 16, 20, 305/16.)}, 1, 0, "computed for 100 s in sum, not 305 s"},
		{"shared CPUs", []job.Run{half(1, 1), half(2, 2), run(3, 4, 60, 50)}, 3, 0, ""},
		{"a slow node, but the input is known", []job.Run{run(1, 1, 5.1, 5), run(2, 1, 2.3, 2.2), run(3, 2, 60, 6), run(4, 4, 11, .62)}, 4, 0, ""},
		{"the same, but it is not known", []job.Run{run(1, 1, 5.1, 5), run(2, 1, 2.3, 2.2), run(3, 2, 60, 6), run(4, 4, 11, .62)}, 2, 0, "another amount of work"},
		{"nothing", nil, 0, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workloadOf(c.runs...)
			if c.name != "a slow node, but the input is known" {
				w.InputNote = "no argument names a file"
			}
			s := NewStudy(w, nil, began, curve.Settings{})
			text, others := "", 0
			for _, split := range s.Splits {
				text += split.Why + "\n"
				others += len(split.Runs)
			}
			for _, l := range s.Left {
				text += l.Why + "\n"
			}
			if len(s.Runs) != c.group || len(s.Left) != c.left || others+c.left+c.group != len(c.runs) || !strings.Contains(text, c.why) {
				t.Errorf("%d in the group, %d left, %d others, want %d, %d: %s", len(s.Runs), len(s.Left), others, c.group, c.left, text)
			}
		})
	}
}

// TestGroupsDoNotDependOnTheOrder shuffles runs of many kinds.
func TestGroupsDoNotDependOnTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 100 {
		var runs []job.Run
		for i := range 1 + random.IntN(30) {
			n := 1 << random.IntN(6)
			total := []float64{100, 130, 300, 1000}[random.IntN(4)] * (1 + 0.2*random.Float64())
			r := run(uint32(i/2), n, total/float64(n)*(1+random.Float64()), total/float64(n))
			r.Execution, r.Collectives = i%2, []float64{0, 10, 500, 640, 5000}[random.IntN(5)]
			if random.IntN(3) == 0 {
				r.Sections = []job.RunSection{{Label: "halo", Own: r.Elapsed / 3}}
			}
			r.Ended, r.GPUs = random.IntN(10) > 0, random.IntN(10)/9
			runs = append(runs, r)
		}
		study := func(runs []job.Run) *Study {
			w := workloadOf(runs...)
			w.InputNote = []string{"", "no argument names a file"}[round%2]
			return NewStudy(w, nil, began, curve.Settings{})
		}
		want := study(runs)
		if n := len(want.Runs) + len(want.Left); true {
			for _, s := range want.Splits {
				n += len(s.Runs)
			}
			if n != len(runs) {
				t.Fatalf("%d of %d runs", n, len(runs))
			}
		}
		shuffled := slices.Clone(runs)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got := study(shuffled)
		if d := cmp.Diff(want.Runs, got.Runs) + cmp.Diff(want.Splits, got.Splits) + cmp.Diff(want.Left, got.Left) + cmp.Diff(want.Counts, got.Counts) +
			cmp.Diff(want.Recommend(nil), got.Recommend(nil)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestWeakScaling(t *testing.T) {
	weak := func(id uint32, n int, t float64) job.Run { return run(id, n, t, 100) }
	s := studyOf(weak(1, 1, 100), weak(2, 2, 102), weak(3, 4, 104), weak(4, 8, 110))
	if s.Scaling != ScalingWeak || !strings.Contains(s.Curve.Refused, "scales weakly") || s.Recommend(nil) != nil {
		t.Errorf("%s: %s, %+v", s.Scaling, s.Curve.Refused, s.Recommend(nil))
	}
	if w := s.Counts[3].Weak; w == nil || math.Abs(w.Value-100/110.) > 1e-9 || !(w.Low < w.Value && w.Value < w.High) {
		t.Errorf("weak efficiency %+v", w)
	}
	two := studyOf(weak(1, 2, 100), weak(2, 4, 140))
	if two.Scaling != ScalingUnclear || two.Recommend(nil) != nil || two.Curve.Next == nil || two.Curve.Next.N != 8 {
		t.Errorf("two counts: %s, %+v, %+v", two.Scaling, two.Recommend(nil), two.Curve)
	}
	// Where ranks share CPUs the useful time grows, the instructions do not.
	counted := func(r job.Run) job.Run {
		r.Counters = &job.Counters{Ranks: r.Ranks, Instructions: 1e12, Cycles: 1e12, Useful: sec(r.Useful)}
		return r
	}
	shared := studyOf(counted(weak(1, 2, 101)), counted(weak(2, 4, 140)))
	if shared.Scaling != ScalingStrong || shared.Recommend(nil) == nil {
		t.Errorf("counted: %s (%s), %+v", shared.Scaling, shared.Why, shared.Recommend(nil))
	}
}

func BenchmarkStudy(b *testing.B) {
	var runs []job.Run
	m := curve.Amdahl{Serial: 1e-3, B: 40, C: 60, T1: 4000}
	for i := range 200 {
		runs = append(runs, modelRuns(m, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)...)
		for k := range 10 {
			r := &runs[i*10+k]
			r.JobID = uint32(i*10 + k)
			r.Start = r.Start.Add(time.Duration(r.JobID) * 24 * time.Hour)
		}
	}
	w := workloadOf(runs...)
	for b.Loop() {
		NewStudy(w, nil, began, curve.Settings{})
	}
}

func TestAskable(t *testing.T) {
	on := func(nodes int, counts ...int) *Study {
		var runs []job.Run
		for i, n := range counts {
			r := run(uint32(i+1), n, 100/float64(n), 100/float64(n))
			r.Nodes = max(n/max(nodes, 1), 1)
			if nodes == 0 {
				r.Nodes = 1
			}
			runs = append(runs, r)
		}
		return studyOf(runs...)
	}
	for _, c := range []struct {
		study *Study
		n     float64
		want  int
	}{
		{on(0, 1, 2, 4), 2.8, 2}, {on(0, 1, 2, 4), 1.97, 1}, {on(0, 1, 2, 4), 2, 2}, {on(0, 1, 2, 4), 3.9, 3},
		{on(0, 4, 8, 16, 32), 7.6, 6}, {on(0, 24, 48, 96), 49, 48}, {on(0, 64, 128, 256), 100, 96}, {on(0, 10, 20), 0.4, 1},
		{on(32, 16, 32, 64, 128, 256), 114, 96}, {on(64, 64, 128, 256), 100, 64}, {on(64, 64, 128, 256), 63, 48},
	} {
		if got := c.study.askable(c.n); got != c.want {
			t.Errorf("%v of %+v: got %d, want %d", c.n, c.study.Counts, got, c.want)
		}
	}
}

// TestRunAgain: no run on more cores is planned to narrow an n_eff whose whole cores are
// known; how much times spread says more, as long as nothing was run twice.
func TestRunAgain(t *testing.T) {
	slower := []job.Run{run(1, 1, 2, 1.99), run(2, 2, 1.9, 0.92), run(3, 4, 10, 0.8)}
	if next := studyOf(slower...).Curve.Next; next == nil || next.N != 2 || !strings.Contains(next.About, "spread") {
		t.Errorf("%+v", next)
	}
	if next := studyOf(append(slower, run(4, 2, 1.95, 0.92))...).Curve.Next; next != nil && strings.Contains(next.About, "spread") {
		t.Errorf("%+v", next)
	}
}
