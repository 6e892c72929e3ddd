package workload

import (
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy/curve"
)

// TestMixes: a run on 8 x 4 is not one on 32 x 1. The curve has one mix on each core count, and the
// study says which was the fastest.
func TestMixes(t *testing.T) {
	mixed := func(id uint32, ranks, threads int, elapsed float64) job.Run {
		r := jobtest.Run(id, ranks, elapsed, 0)
		r.Threads, r.Useful = threads, 100
		r.Conditions = &job.Conditions{Counted: true, UsefulMax: 100 / float64(ranks*threads)}
		return r
	}
	w := jobtest.Workload(mixed(1, 8, 1, 16), mixed(2, 2, 4, 14), mixed(3, 32, 1, 6), mixed(4, 8, 4, 5), mixed(5, 8, 4, 5.1), mixed(6, 16, 1, 9))
	newest := w.Runs[5]
	s := NewStudy(w, nil, newest.Start.Add(time.Hour), curve.Settings{})
	if len(s.Mixes) != 2 || s.Mixes[1].N != 32 || s.Mixes[1].Mixes[0].String() != "8 ranks x 4 threads" || s.Mixes[1].Mixes[0].Runs != 2 {
		t.Fatalf("%+v", s.Mixes)
	}
	if c := s.At(32); c == nil || c.Runs != 2 || c.T > 5.1 {
		t.Errorf("on 32 cores: %+v", c)
	}
	said := false
	for _, warning := range s.Warnings {
		said = said || warning.Code == WarnMixes && strings.Contains(warning.Text, "on 32 cores, 8 ranks x 4 threads were fastest (2 runs): 32 ranks x 1 thread took 19 % longer (1 run)")
	}
	if !said {
		t.Errorf("warnings %v", s.Warnings)
	}
	// The job that ran the slower mix is compared as it ran.
	third := &w.Runs[2]
	j := &job.Job{Cluster: third.Cluster, JobID: third.JobID, Attempt: third.Attempt, Executions: make([]job.Execution, 1)}
	asked := NewStudy(w, j, newest.Start.Add(time.Hour), curve.Settings{})
	if asked.Mine == nil || asked.Mine.Threads != 1 || asked.At(32).T != 6 || asked.NotMine() != "" {
		t.Errorf("%+v", asked.Mine)
	}
	if said := asked.FasterMix(); said != "" { // by 19 %
		t.Errorf("faster than weeks differ: %s", said)
	}
	third.Elapsed = 6.1 // by 21 %
	asked = NewStudy(w, j, newest.Start.Add(time.Hour), curve.Settings{})
	if said := asked.FasterMix(); said != "8 ranks x 4 threads took 17 % less time than 32 ranks x 1 thread on as many cores (2 runs and 1)" {
		t.Errorf("faster: %q", said)
	}
	if n := len(asked.Runs) + len(asked.Left) + len(asked.Splits[0].Runs) + len(asked.Splits[1].Runs); n != len(w.Runs) {
		t.Errorf("%d of %d runs", n, len(w.Runs))
	}
}

// TestUnusual: a run is told to be the odd one beside two others or more, from half as long again as the
// longest of them on.
func TestUnusual(t *testing.T) {
	for _, c := range []struct {
		others []float64 // s
		mine   float64
		want   string // the beginning
	}{
		{[]float64{100, 110}, 165, ""},
		{[]float64{100, 110}, 165.1, "it took 57 % longer than the median of the 2 other runs on 4 cores; its ranks computed as long in sum"},
		{[]float64{100, 100, 100}, 300, "it took 3.0 times as long as the median of the 3 other runs on 4 cores"},
		{[]float64{100}, 300, ""},
		{nil, 300, ""},
	} {
		var runs []job.Run
		for i, elapsed := range append(c.others, c.mine) {
			runs = append(runs, run(uint32(i+1), 4, elapsed, 50))
		}
		if got := studyOf(runs...).Unusual(); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v beside %v: %q", c.mine, c.others, got)
		}
	}
	if got := (&Study{}).Unusual() + (&Study{}).FasterMix(); got != "" {
		t.Errorf("of no run: %q", got)
	}
}
