package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// TestPast holds what is flagged past the inflexion point, and what is recommended.
func TestPast(t *testing.T) {
	strong := func(id uint32, n int, t float64) job.Run { return run(id, n, t, 100/float64(n)) }
	again := func(times int, r job.Run) (all []job.Run) {
		for i := range times {
			all = append(all, run(r.JobID+uint32(i), r.Ranks, r.Elapsed, r.Useful/float64(r.Ranks)))
		}
		return all
	}
	for _, c := range []struct {
		name       string
		runs       []job.Run // the last is the job's
		past, near string    // "true", "false" or why it is not known
		slower     float64   // than on the fastest core count, where both are known
		cores      float64   // recommended; 0: none
		confident  bool
	}{
		{"slower from 2 to 4, each once", []job.Run{strong(1, 1, 101), strong(2, 2, 70), strong(3, 4, 90)}, "only one job on 4", "false", 90./70 - 1, 1, true},
		{"again", slices.Concat(again(2, strong(1, 1, 101)), again(2, strong(3, 2, 70)), again(2, strong(5, 4, 120))), "true", "false", 120./70 - 1, 1, true},
		{"slower at once", slices.Concat(again(2, strong(1, 1, 100)), again(2, strong(3, 2, 130)), again(2, strong(5, 4, 170))), "true", "false", 170./100 - 1, 1, true},
		{"no slower than weeks differ", slices.Concat(again(2, strong(1, 1, 101)), again(2, strong(3, 2, 70)), again(2, strong(5, 4, 83))), "false", "true", 83./70 - 1, 1, true},
		{"superlinear: no curve, but measured", slices.Concat(again(2, strong(1, 1, 101)), again(2, run(3, 2, 32, 31)), again(2, run(5, 4, 60, 15.9))), "true", "false", 60./32 - 1, 2, true},
		{"LAMMPS with 256 atoms on a busy machine, as measured", []job.Run{run(1, 1, 5.05, 5.05), run(2, 1, 2.28, 2.28), run(3, 2, 58.5, 6.19), run(4, 2, 58.0, 4.79), run(5, 4, 10.1, .62), run(6, 4, 12.3, .65)}, "differ too much", "false", math.Sqrt(10.1*12.3/5.05/2.28) - 1, 1, true},
		{"two core counts", slices.Concat(again(2, strong(1, 2, 70)), again(2, strong(3, 4, 120))), "true", "false", 120./70 - 1, 2, true},
		{"it scales", []job.Run{strong(1, 1, 101), strong(2, 2, 51), strong(3, 4, 26)}, "false", "false", 0, 0, true},
		{"nor do many even runs", slices.Concat(again(9, strong(1, 1, 101)), again(9, strong(10, 2, 80)), again(9, strong(20, 4, 84))), "false", "true", 84./80 - 1, 1, true},
		{"more cores than it were slower, not it", []job.Run{strong(1, 4, 90), strong(2, 1, 101), strong(3, 2, 55)}, "false", "false", 0, 0, true},
		{"one core count", []job.Run{strong(1, 4, 90), strong(2, 4, 92)}, "its workload was run on 4 cores only", "false", 0, 0, true},
		{"killed", []job.Run{strong(1, 1, 101), strong(2, 2, 70), changed(strong(3, 4, 90), func(r *job.Run) { r.Ended = false })}, "did not finish", "did not finish", 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			last := c.runs[len(c.runs)-1]
			j := jobOf(last)
			s := studyOf(j, c.runs...)
			d := Describe(j, s)
			for _, f := range []struct {
				name, want string
				got        bool
			}{{"past_inflexion", c.past, d.PastInflexion}, {"near_inflexion", c.near, d.NearInflexion}} {
				if why := d.Unknown[f.name]; why == "" && fmt.Sprint(f.got) != f.want || why != "" && !strings.Contains(why, f.want) {
					t.Errorf("%s is %v (%q), want %s", f.name, f.got, why, f.want)
				}
			}
			if d.Unknown["slower_by"] == "" && math.Abs(d.SlowerBy-c.slower) > 1e-9 {
				t.Errorf("slower by %v, want %v", d.SlowerBy, c.slower)
			}
			cores := 0.0
			if r := d.Recommended; r != nil {
				cores = r.Cores.Value
				if r.Reason == "" || r.Saved == nil || r.Saved.Value <= 0 || r.Cores.Value >= float64(last.Ranks) {
					t.Errorf("%+v", r)
				}
			}
			if cores != c.cores {
				t.Errorf("recommended %v, want %v: n_eff %+v, n_fast %+v", cores, c.cores, s.Curve.Eff, s.Curve.Fast)
			}
			rules, err := rulesOf(t, "[[rule]]\nname = \"past-inflexion\"\nleast_runtime = \"1s\"\n")
			if err != nil {
				t.Fatal(err)
			}
			all := rules.JudgeCase(d)
			v := all[slices.IndexFunc(all, func(v Verdict) bool { return v.Rule == "past-inflexion" })]
			want := map[string]Outcome{"true": Flagged, "false": Passed}[c.past]
			if want == "" {
				want = CannotTell
			}
			if v.Outcome != want || (v.Confidence == Sure) != (c.confident && want != CannotTell) || want == Flagged && !reflect.DeepEqual(v.Recommended, d.Recommended) {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestPastWantsTheWorkload: without the runs of its workload no job is past the inflexion point.
func TestPastWantsTheWorkload(t *testing.T) {
	for _, c := range someJobs() {
		if v := verdictOf(t, "past-inflexion", c.job); v.Outcome != CannotTell && !c.job.IsRunning() {
			t.Errorf("%s: %s", c.name, v.Outcome)
		}
	}
}

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

// TestBecameSlower: where the site asks, a job is flagged as long as its runs are slower than before,
// with the command that tells why.
func TestBecameSlower(t *testing.T) {
	asked := etc.Default().Rules
	asked = slices.DeleteFunc(asked, func(r etc.Rule) bool { return r.Name != "became-slower" })
	asked[0].Enabled = true
	rules, err := Compile(asked)
	if err != nil {
		t.Fatal(err)
	}
	var runs []job.Run
	for i := range 18 {
		runs = append(runs, run(uint32(i+1), 4, 700+float64(i%3)+70*float64(i/13), 600))
	}
	for at, want := range map[int]Outcome{12: Passed, 13: Flagged, 17: Flagged} {
		j := jobOf(runs[at])
		j.Elapsed = time.Hour
		v := rules.Judge(j, studyOf(j, runs...))[0]
		if v.Outcome != want || want == Flagged && !strings.HasPrefix(v.Text, "lmp takes 10 % longer than before on 4 cores. What makes the difference: jobeff compare ") || v.Recommended != nil {
			t.Errorf("run %d: %+v", at, v)
		}
		if want == Flagged && !strings.HasSuffix(v.Text, fmt.Sprintf(" %d", at+1)) {
			t.Errorf("run %d: %s", at, v.Text)
		}
	}
	if v := rules.Judge(jobOf(runs[17]), nil)[0]; v.Outcome != CannotTell {
		t.Errorf("without its runs: %+v", v)
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
