package rule

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/policy"
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
		{"no slower than weeks differ", slices.Concat(again(2, strong(1, 1, 101)), again(2, strong(3, 2, 70)), again(2, strong(5, 4, 83))), "false", "false", 83./70 - 1, 1, true},
		{"superlinear: no curve, but measured", slices.Concat(again(2, strong(1, 1, 101)), again(2, run(3, 2, 32, 31)), again(2, run(5, 4, 60, 15.9))), "true", "false", 60./32 - 1, 2, true},
		{"LAMMPS with 256 atoms on a busy machine, as measured", []job.Run{run(1, 1, 5.05, 5.05), run(2, 1, 2.28, 2.28), run(3, 2, 58.5, 6.19), run(4, 2, 58.0, 4.79), run(5, 4, 10.1, .62), run(6, 4, 12.3, .65)}, "differ too much", "false", math.Sqrt(10.1*12.3/5.05/2.28) - 1, 1, true},
		{"two core counts", slices.Concat(again(2, strong(1, 2, 70)), again(2, strong(3, 4, 120))), "true", "false", 120./70 - 1, 2, true},
		{"it scales", []job.Run{strong(1, 1, 101), strong(2, 2, 51), strong(3, 4, 26)}, "false", "false", 0, 0, true},
		{"nor do many even runs", slices.Concat(again(9, strong(1, 1, 101)), again(9, strong(10, 2, 80)), again(9, strong(20, 4, 84))), "false", "false", 84./80 - 1, 1, true},
		{"more cores than it were slower, not it", []job.Run{strong(1, 4, 90), strong(2, 1, 101), strong(3, 2, 55)}, "false", "false", 0, 0, true},
		{"one core count", []job.Run{strong(1, 4, 90), strong(2, 4, 92)}, "its workload was run on 4 cores only", "false", 0, 0, true},
		{"killed", []job.Run{strong(1, 1, 101), strong(2, 2, 70), changed(strong(3, 4, 90), func(r *job.Run) { r.Ended = false })}, "did not finish", "did not finish", 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			last := c.runs[len(c.runs)-1]
			j := jobOf(last)
			s := studyOf(j, c.runs...)
			d := policy.Describe(j, s)
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
			if r := d.Request.Best; r != nil {
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
			v := all[slices.IndexFunc(all, func(v policy.Verdict) bool { return v.Rule == "past-inflexion" })]
			want := map[string]policy.Outcome{"true": policy.Flagged, "false": policy.Passed}[c.past]
			if want == "" {
				want = policy.CannotTell
			}
			if v.Outcome != want || (v.Confidence == policy.Sure) != (c.confident && want != policy.CannotTell) || want == policy.Flagged && !reflect.DeepEqual(v.Recommended, d.Request.Best) {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestPastWantsTheWorkload: without the runs of its workload no job is past the inflexion point.
func TestPastWantsTheWorkload(t *testing.T) {
	for _, c := range someJobs() {
		if v := verdictOf(t, "past-inflexion", c.job); v.Outcome != policy.CannotTell && !c.job.IsRunning() {
			t.Errorf("%s: %s", c.name, v.Outcome)
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
	for at, want := range map[int]policy.Outcome{12: policy.Passed, 13: policy.Flagged, 17: policy.Flagged} {
		j := jobOf(runs[at])
		j.Elapsed = time.Hour
		v := rules.Judge(j, studyOf(j, runs...))[0]
		if v.Outcome != want || want == policy.Flagged && !strings.HasPrefix(v.Text, "lmp takes 10 % longer than before on 4 cores. What makes the difference: jobeff compare ") || v.Recommended != nil {
			t.Errorf("run %d: %+v", at, v)
		}
		if want == policy.Flagged && !strings.HasSuffix(v.Text, fmt.Sprintf(" %d", at+1)) {
			t.Errorf("run %d: %s", at, v.Text)
		}
	}
	if v := rules.Judge(jobOf(runs[17]), nil)[0]; v.Outcome != policy.CannotTell {
		t.Errorf("without its runs: %+v", v)
	}
}
