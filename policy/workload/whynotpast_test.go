package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// scales are three runs each on 64, 128 and 256 cores: the last are 40 % slower, as their
// ranks talk for 70 % of the time.
func scales(change func(n int, r *job.Run)) []job.Run {
	var all []job.Run
	for i, n := range []int{64, 128, 256} {
		for k := range 3 {
			t := []float64{6000, 3600, 5040}[i] * (1 + 0.01*float64(k))
			pe := []float64{0.88, 0.73, 0.26}[i]
			r := run(uint32(1+10*i+k), n, t, pe*t)
			r.Conditions.UsefulMax *= 1.05
			if change != nil {
				change(n, &r)
			}
			all = append(all, r)
		}
	}
	return all
}

// TestWhyNotPast: each reason for a rise of the run time that is not the parallelisation's is
// said, and nothing is past because of it.
func TestWhyNotPast(t *testing.T) {
	on256 := func(change func(r *job.Run)) func(int, *job.Run) {
		return func(n int, r *job.Run) {
			if n == 256 {
				change(r)
			}
		}
	}
	xeon, epyc := &job.Hardware{Model: "Xeon", Sockets: 2, Cores: 40, ThreadsPerCore: 2}, &job.Hardware{Model: "EPYC", Sockets: 2, Cores: 128, ThreadsPerCore: 1}
	for _, c := range []struct {
		name   string
		past   bool
		why    string
		change func(n int, r *job.Run)
	}{
		{"communication", true, "256 cores took 40 % longer than 128 (3 runs each)", nil},
		{"one machine, and old runs that do not know it", true, "40 % longer", on256(func(r *job.Run) { r.Conditions.Machine = xeon })},
		{"less time in files", true, "40 % longer", func(n int, r *job.Run) { r.Conditions.IOTime = 300 * float64(256-n) }},
		{"a build on both sides", true, "40 % longer", func(n int, r *job.Run) { r.BuildID = "ab" }},
		{"one job", false, "only one job on 256", on256(func(r *job.Run) { r.JobID, r.Execution = 99, int(r.JobID) })},
		{"no rise", false, "took no longer than 128", on256(func(r *job.Run) { r.Elapsed /= 1.5 })},
		{"as weeks differ", false, "from week to week", on256(func(r *job.Run) { r.Elapsed /= 1.2 })},
		{"spread", false, "differ too much", func(n int, r *job.Run) { r.Elapsed *= 1 + 0.1*float64(r.JobID%10) }},
		{"efficient", false, "parallel efficiency is 0.65: too good", func(n int, r *job.Run) {
			r.Counters = &job.Counters{Ranks: n, Instructions: 1e12, Cycles: 1e12, Useful: sec(r.Useful)}
			if n == 256 {
				r.Useful *= 2.5
			}
		}},
		{"more work", false, "did 36 % more work in sum: another input, or", on256(func(r *job.Run) { r.Useful *= 1.36 })},
		{"some more work", false, "did 20 % more work in sum, which may explain it", on256(func(r *job.Run) { r.Useful *= 1.2 })},
		{"hardly more work", true, "40 % longer", on256(func(r *job.Run) { r.Useful *= 1.1 })},
		{"half the work", false, "did 60 % less work in sum: another input", on256(func(r *job.Run) { r.Useful *= 0.4 })},
		{"other work counted", false, "60 % more work", func(n int, r *job.Run) {
			r.Counters = &job.Counters{Ranks: n, Instructions: 1e12, Cycles: 1e12, Useful: sec(r.Useful)}
			if n == 256 {
				r.Counters.Instructions = 1.6e12
			}
		}},
		{"a slow rank", false, "busiest rank computed longer", on256(func(r *job.Run) { r.Conditions.UsefulMax = 0.95 * r.Elapsed })},
		{"uneven", false, "uneven work of the ranks", on256(func(r *job.Run) { r.Conditions.UsefulMax = 2780 })},
		{"busiest not known", false, "busiest rank computed is not known", func(n int, r *job.Run) { r.Conditions.UsefulMax = 0 }},
		{"files", false, "in MPI_File_*", on256(func(r *job.Run) { r.Conditions.IOTime = 0.4 * r.Elapsed * float64(r.Ranks) })},
		{"files on both", true, "40 % longer", func(n int, r *job.Run) { r.Conditions.IOTime = map[int]float64{128: 1000, 256: 1700}[n] * float64(n) }},
		{"more files", false, "in MPI_File_*", func(n int, r *job.Run) { r.Conditions.IOTime = map[int]float64{128: 1000, 256: 1760}[n] * float64(n) }},
		{"CPUs of others", false, "had a CPU for 60 % of the time only, where 86 % was to be expected", func(n int, r *job.Run) {
			r.Conditions.Counted, r.Conditions.Span, r.Conditions.CPUTime = true, 100, 95
			if n == 256 {
				r.Conditions.CPUTime = 60
			}
		}},
		{"MPI that waits without a CPU", true, "40 % longer", func(n int, r *job.Run) {
			r.Conditions.Counted, r.Conditions.Span, r.Conditions.CPUTime = true, r.Elapsed, r.Useful/float64(n)
		}},
		{"another clock", false, "the highest frequency of their nodes is 2,000 MHz, not 2,500", func(n int, r *job.Run) {
			clocked := *epyc
			clocked.MaxMHz = 2500
			if n == 256 {
				clocked.MaxMHz = 2000
			}
			r.Conditions.Machine = &clocked
		}},
		{"one clock", true, "40 % longer", func(n int, r *job.Run) { r.Conditions.Machine = &job.Hardware{Model: "EPYC", MaxMHz: 2000 + n/8} }},
		{"a clock that is not known", true, "40 % longer", func(n int, r *job.Run) {
			r.Conditions.Machine = &job.Hardware{Model: "EPYC", MaxMHz: map[int]int{256: 2000}[n]}
		}},
		{"nor on 256", true, "40 % longer", func(n int, r *job.Run) {
			r.Conditions.Machine = &job.Hardware{Model: "EPYC", MaxMHz: map[int]int{128: 2000}[n]}
		}},
		{"a partition that is not known", true, "40 % longer", on256(func(r *job.Run) { r.Partition, r.BuildID = "new", "ab" })},
		{"nor that of 128", true, "40 % longer", func(n int, r *job.Run) { r.Partition = map[int]string{128: "old"}[n] }},
		{"steps as far apart as runs may be", true, "40 % longer", func(n int, r *job.Run) { r.Collectives = map[bool]float64{true: 1090, false: 1000}[n == 256] }},
		{"more steps", false, "made 1,200 collective calls each, not 1,000: another number of steps", func(n int, r *job.Run) {
			r.Collectives = 1000
			if n == 256 {
				r.Collectives = 1200
			}
		}},
		{"more nodes", false, "256 cores took 64 % longer on 8 nodes than on 2", on256(func(r *job.Run) {
			if r.Nodes = 8; r.JobID%10 == 1 {
				r.Nodes, r.Elapsed = 2, r.Elapsed/1.62
			}
		})},
		{"unlike work", false, "what its ranks computed on 256 cores differs by 27 % from run to run", on256(func(r *job.Run) { r.Useful *= 1 + 0.3*float64(r.JobID%10) })},
		{"a slow month", false, "they ran 40 days apart, and their ranks computed 20 % longer in sum", on256(func(r *job.Run) { r.Start, r.Useful = r.Start.AddDate(0, 0, 40), 1.2*r.Useful })},
		{"another input under one name", false, "computed 20 % longer in sum, and the input is another", func(n int, r *job.Run) {
			if r.Conditions.Input = "a"; n == 256 {
				r.Conditions.Input, r.Useful = "b", 1.2*r.Useful
			}
		}},
		{"each part of a long run under one name", true, "40 % longer", func(n int, r *job.Run) { r.Conditions.Input = fmt.Sprint(n) }},
		{"another partition", false, "they ran in partition old, not new", func(n int, r *job.Run) { r.Partition = map[bool]string{true: "old", false: "new"}[n == 256] }},
		{"another build", false, "built anew", func(n int, r *job.Run) { r.BuildID = fmt.Sprint(n) }},
		{"another machine", false, "256 cores are the fewest that were run", func(n int, r *job.Run) {
			r.Conditions.Machine = map[bool]*job.Hardware{true: xeon, false: epyc}[n == 256]
		}},
		{"weak", false, "its scaling is weak", func(n int, r *job.Run) { r.Useful, r.Conditions.UsefulMax = 1200*float64(n), 1250 }},
		{"neither strong nor weak", false, "its scaling is unclear", func(n int, r *job.Run) {
			r.Useful = 64 * 3000 * math.Pow(float64(n)/64, 0.55)
			r.Conditions.UsefulMax = r.Useful / float64(n)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workloadOf(scales(c.change)...)
			if strings.Contains(c.name, "one name") {
				w.Name = "prod"
			}
			s := NewStudy(w, nil, began, curve.Settings{})
			if past, why := s.Past(256); past != c.past || !strings.Contains(why, c.why) {
				t.Errorf("past %v: %s", past, why)
			}
			r := s.Recommend(nil)
			if r != nil && !c.past && r.For == ForSpeed {
				t.Errorf("advises %+v", r)
			}
			if c.past && (r == nil || r.Cores.Value != 64 || r.Reason != s.Against(256).Why) { // the fewest core-hours, not the fastest
				t.Errorf("advises %+v", r)
			}
			if c.name == "another machine" && (len(s.Splits) != 1 || !strings.Contains(s.Splits[0].Why, "other machine: EPYC, 2 sockets, 128 cores")) {
				t.Errorf("splits %+v", s.Splits)
			}
		})
	}
}

// TestAgainst: compared is with the fastest of fewer cores, and with one on which several jobs ran where
// that tells a rise; of core counts as fast with the fewest cores.
func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		name   string
		runs   []job.Run
		than   int
		slower float64
		why    string
	}{
		{"the fewest", measuredRuns([3]float64{64, 100, 20}), 0, 0, "64 cores are the fewest that were run"},
		{"not run", nil, 0, 0, "no run on 64 cores can be a point of a curve"},
		{"one job was faster", append(measuredRuns([3]float64{16, 80, 70}, [3]float64{64, 100, 18}), run(9, 32, 60, 35)), 16, .25, ""},
		{"and several tell no rise", append(measuredRuns([3]float64{16, 90, 70}, [3]float64{64, 100, 18}), run(9, 32, 60, 35)), 32, 2. / 3, "64 cores took 67 % longer than 32 (2 runs and 1 run), but only one job on 32 cores was compared"},
		{"as fast", measuredRuns([3]float64{16, 100, 70}, [3]float64{64, 100, 18}), 16, 0, "64 cores took no longer than 16"},
		{"as fast as each other", measuredRuns([3]float64{16, 50, 40}, [3]float64{32, 50, 20}, [3]float64{64, 100, 10}), 16, 1, "64 cores took 2.0 times as long as 16 (2 runs each)"},
	} {
		if got := studyOf(c.runs...).Against(64); got.Than != c.than || math.Abs(got.Slower-c.slower) > 1e-9 || !strings.HasPrefix(got.Why, c.why) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	// Student's t has a closed form for 4 degrees of freedom: three runs on each of two core counts leave them, or
	// three on one and two on each of two others. The spread is that of the two core counts alone, d times the root
	// of 2. The least that runs are taken to have has a normal quantile: it binds where they are all alike.
	for _, c := range []struct {
		on8, each   int // runs
		d, normal   float64
		comparisons float64
		why         string
	}{{0, 3, 0, 2.7478, 1, "differ too much to be sure of it"}, {3, 2, .03, 2.9677, 2, "too few runs tell how much such runs differ"}} {
		root := math.Sqrt(4 * (1 - pastChance/c.comparisons) * pastChance / c.comparisons)
		student := 2 * math.Sqrt(math.Cos(math.Acos(root)/3)/root-1)
		bound := (1 + mostDrift) * math.Exp(math.Max(student*c.d*math.Sqrt2, c.normal*leastSpread)*math.Sqrt(2/float64(c.each)))
		for ratio, past := range map[float64]bool{bound * .999: false, bound * 1.001: true} {
			var runs []job.Run
			for k := range c.on8 {
				runs = append(runs, run(uint32(k), 8, 150, 145))
			}
			for k := range c.each {
				off := math.Exp(c.d * (2*float64(k) - 1))
				runs = append(runs, run(uint32(10+k), 16, 100*off, 70), run(uint32(20+k), 32, 100*ratio*off, 30))
			}
			if got, why := studyOf(runs...).Past(32); got != past || !past && !strings.HasSuffix(why, c.why) {
				t.Errorf("a rise by %.4f, the bound is %.4f: %s", ratio-1, bound-1, why)
			}
		}
	}
}

// TestNotSame: where the input is not known, one job may have done as much work by chance.
func TestNotSame(t *testing.T) {
	for _, c := range []struct {
		note, name string
		alone      bool // one job on 32 cores
		longer     float64
		want       string
	}{
		{"no argument names a file", "", false, 1, ""},
		{"no argument names a file", "", true, 1, "the input is not known, and only one job on 32 cores did as much work"},
		{"no argument names a file", "prod", true, 1, ""},
		{"", "", true, 1, ""},
		{"no argument names a file", "", false, 1.3, "their ranks computed 30 % longer in sum, and whether the input is the same is not known"},
		{"no argument names a file", "", false, .45, "their ranks computed 55 % less time in sum, and whether the input is the same is not known"},
	} {
		runs := measuredRuns([3]float64{16, 100, 70}, [3]float64{32, 130, 35 * c.longer})
		if c.alone {
			runs[3].JobID, runs[3].Execution = runs[2].JobID, 1
		}
		w := workloadOf(runs...)
		if w.InputNote = c.note; c.name != "" {
			w.Name = c.name
		}
		s := NewStudy(w, nil, began, curve.Settings{})
		s.Runs, s.Counts = runs, []Count{countOf(runs[:2]), countOf(runs[2:])}
		if got := s.notSame(s.on(32), s.on(16)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	of := func(useful float64, instructions uint64) *side {
		r := run(1, 1, 100, useful)
		r.Counters = &job.Counters{Instructions: instructions}
		return &side{nil, []job.Run{r}}
	}
	for _, c := range []struct {
		here, than *side
		want       float64
	}{{of(20, 300), of(10, 100), 3}, {of(20, 0), of(10, 100), 2}, {of(20, 300), of(10, 0), 2}, {of(20, 0), of(10, 0), 2}} {
		wantClose(t, "work", workAgainst(c.here, c.than), c.want, 1e-12)
	}
}
