package workload

import (
	"fmt"
	"math"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// TestOptions: a count is offered where it is surely better for something than the job's own, once,
// and can be compared with it. 4 runs twice as well as 16, which is the fastest.
func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		n      int // the job's
		change func(*job.Run)
		want   string
	}{
		"three":                      {64, nil, "64 [], 16 [the shortest run], 8 [the fewest core-hours of a run at most twice as long as the shortest], 4 [the most cores with a parallel efficiency of 0.80 or more]"},
		"from the shortest":          {16, nil, "16 [], 8 [the fewest core-hours of a run at most twice as long as the shortest], 4 [the most cores with a parallel efficiency of 0.80 or more]"},
		"more cores, and shorter":    {4, nil, "4 [], 16 [the shortest run]"},
		"one count for two purposes": {64, func(r *job.Run) { r.Elapsed *= map[bool]float64{true: 2, false: 1}[r.Ranks >= 16] }, "64 [], 8 [the shortest run], 4 [the fewest core-hours of a run at most twice as long as the shortest the most cores with a parallel efficiency of 0.80 or more]"},
		"elsewhere":                  {64, func(r *job.Run) { r.Partition = map[bool]string{true: "a", false: "b"}[r.Ranks == 64] }, ""},
		"weak":                       {64, func(r *job.Run) { r.Elapsed, r.Useful = 100, 60*float64(r.Ranks) }, ""},
	} {
		runs := measuredRuns([3]float64{4, 260, 240}, [3]float64{8, 165, 120}, [3]float64{16, 110, 60}, [3]float64{64, 150, 15})
		for i := range runs {
			if c.change != nil {
				c.change(&runs[i])
			}
		}
		s := studyAt(runs, c.n)
		s.Curve = &curve.Result{}
		got := ""
		for i, o := range s.Options(nil) {
			got += fmt.Sprintf("%s%d %v", map[bool]string{true: ", "}[i > 0], o.Cores, o.For)
			if at := s.At(o.Cores); o.Flagged != (at.PE < .8) || o.Runs != 2 || math.Abs(o.CoreHours.Value-float64(o.Cores)*o.Time.Value/3600) > 1e-9 || o.PE.Value != at.PE {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
	s := studyAt(measuredRuns([3]float64{8, 165, 120}, [3]float64{64, 150, 15}), 64)
	s.Curve = &curve.Result{}
	if all := s.Options(nil); len(all) != 2 {
		t.Errorf("%+v", all)
	} else if r := s.Recommend(nil); math.Abs(all[0].CoreHours.Value-all[1].CoreHours.Value-r.Saved.Value) > 1e-9 || math.Abs(all[1].Time.High/all[0].Time.Value-1-r.Time.High) > 1e-9 {
		t.Errorf("%+v, but the advice is %+v", all, r)
	}
	for _, j := range []*job.Job{{GPUs: 1, Executions: make([]job.Execution, 1)}, {Executions: make([]job.Execution, 2)}} {
		if all := s.Options(j); all != nil {
			t.Errorf("%+v", all)
		}
	}
	if all := (*Study)(nil).Options(nil); all != nil {
		t.Error(all)
	}
}
