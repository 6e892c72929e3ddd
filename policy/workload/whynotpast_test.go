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
		{"more work", false, "36 % more work", on256(func(r *job.Run) { r.Useful *= 1.36 })},
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
			if r := s.Recommend(nil); r != nil && !c.past && r.For == ForSpeed {
				t.Errorf("advises %+v", r)
			}
			if c.name == "another machine" && (len(s.Splits) != 1 || !strings.Contains(s.Splits[0].Why, "other machine: EPYC, 2 sockets, 128 cores")) {
				t.Errorf("splits %+v", s.Splits)
			}
		})
	}
}
