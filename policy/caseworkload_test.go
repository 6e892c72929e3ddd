package policy

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// TestTriesCores: a job that tries core counts is not told that it should not have.
func TestTriesCores(t *testing.T) {
	runs := []job.Run{run(1, 1, 101, 100), run(2, 2, 70, 50), run(3, 2, 71, 50), run(4, 4, 120, 25), run(5, 4, 121, 25), run(6, 4, 122, 25)}
	alone, trial := jobOf(runs[5]), jobOf(runs[5])
	small := world(1, 2, 200, alike(2, work(5, 2))...)
	small.BuildID, small.ArgsHash = "abcd", "ef"
	trial.Executions = append(trial.Executions, small)
	for _, c := range []struct {
		job  *job.Job
		want int
	}{{alone, 0}, {trial, 1}} {
		d := Describe(c.job, studyOf(c.job, runs...))
		if !d.PastInflexion || len(d.FewRuns) != c.want {
			t.Errorf("past %v, doubts %q", d.PastInflexion, d.FewRuns)
		}
	}
}

// TestWeakScalingIsNotCompared: where the work grows with the cores, no core count is better.
func TestWeakScalingIsNotCompared(t *testing.T) {
	weak := func(id uint32, n int, t float64) job.Run { return run(id, n, t, 100) }
	last := weak(4, 8, 110)
	d := Describe(jobOf(last), studyOf(jobOf(last), weak(1, 1, 100), weak(2, 2, 102), weak(3, 4, 104), last))
	for _, field := range []string{"past_inflexion", "near_inflexion", "fastest_cores", "slower_by", "n_eff"} {
		if !strings.Contains(d.Unknown[field], "scales weakly") {
			t.Errorf("%s of a job that scales weakly: %q", field, d.Unknown[field])
		}
	}
}

// TestSlowerThanBefore: runs became slower; in another partition, whether they did cannot be told of the same nodes.
func TestSlowerThanBefore(t *testing.T) {
	for partition, unknown := range map[string]string{"main": "", "eco": "its runs became slower, but they ran in partition eco, not main, and whether its nodes are as fast is not known"} {
		var runs []job.Run
		for i := range 13 {
			r := run(uint32(i+1), 16, 100+float64(i%3), 90)
			if r.Partition = "main"; i >= 8 {
				r.Elapsed, r.Partition = r.Elapsed*1.2, partition
			}
			runs = append(runs, r)
		}
		d := Describe(jobOf(runs[12]), studyOf(jobOf(runs[12]), runs...))
		if d.Unknown["slower_than_before"] != unknown || d.Unknown["compare"] != unknown || (d.SlowerThan > 0.19) != (unknown == "") {
			t.Errorf("%s: %v, %q", partition, d.SlowerThan, d.Unknown["slower_than_before"])
		}
	}
}

// FuzzStudy studies whatever a user's records could make a store answer.
func FuzzStudy(f *testing.F) {
	seed := func(runs ...job.Run) {
		b, err := json.Marshal(workloadOf(runs...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	seed(run(1, 1, 101, 100), run(2, 2, 55, 50), run(3, 4, 31, 25), run(4, 8, 19, 12.5), run(5, 64, 20, 1.6))
	seed(run(1, 1, 101, 100), run(2, 2, 70, 50), changed(run(3, 4, 90, 25), func(r *job.Run) {
		r.Sections = []job.RunSection{{Label: "a", Own: 1e308}, {Label: "b", Own: -1}, {Label: "a", Own: 1}}
		r.Counters = &job.Counters{Instructions: math.MaxUint64}
	}))
	seed(changed(run(1, math.MaxInt64, 1e308, 1), func(r *job.Run) { r.Useful, r.MPITime, r.Collectives, r.Nodes = 1e-308, 1e308, -1e308, -3 }), run(2, 1, 1e-300, 1e300))
	seed()
	f.Fuzz(func(t *testing.T, b []byte) {
		var w job.Workload
		if json.Unmarshal(b, &w) != nil || len(w.Runs) > 50 {
			return
		}
		s := workload.NewStudy(&w, nil, began, curve.Settings{})
		n := len(s.Runs) + len(s.Left)
		for _, split := range s.Splits {
			n += len(split.Runs)
		}
		if n != len(w.Runs) {
			t.Errorf("%d of %d runs", n, len(w.Runs))
		}
		if r := s.Recommend(nil); r != nil {
			if s.Mine == nil || !(r.Cores.Value >= 1) || r.Cores.Value >= float64(s.Mine.Cores()) || r.Time == nil || math.IsNaN(r.Time.Value) {
				t.Errorf("%+v", r)
			}
		}
		for i := range w.Runs {
			j := &job.Job{Cluster: w.Runs[i].Cluster, JobID: w.Runs[i].JobID, Attempt: w.Runs[i].Attempt}
			Describe(j, workload.NewStudy(&w, j, began, curve.Settings{}))
		}
	})
}
