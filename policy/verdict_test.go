package policy

import (
	"math"
	"strings"
	"testing"

	"jobeff/ingest/job"
)

// TestCoreHours holds METRICS 6: lost is the sum of its parts.
func TestCoreHours(t *testing.T) {
	for _, c := range []struct {
		name                           string
		job                            *job.Job
		used, lost, mpi, idle, outside float64 // core-hours, -1 not known
	}{
		{"all parts", aJob(world(1, 2, 10, alike(3, work(1800, 600))...)), 4, 2.5, 0.5, 2400. / 3600, 4800. / 3600},
		{"two after each other", aJob(world(1, 2, 0, alike(4, work(900, 300))...), world(1, 2, 1800, alike(4, work(900, 300))...)), 4, 2, 2. / 3, 0, 4. / 3},
		{"two beside each other", aJob(world(1, 2, 0, alike(2, work(3600, 0))...), world(2, 2, 0, alike(2, work(1800, 1800))...)), 4, 1, 1, 0, 0},
		{"a rank that ended early", aJob(world(1, 2, 0, work(3600, 0), work(3600, 0), work(3600, 0), work(1800, 0))), 4, 0.5, 0, 0, 0.5},
		{"Slurm's seconds are fewer", aJob(world(1, 2, 0, alike(4, work(3600.9, 0.1))...)), 4, 0, 0, 0, 0},
		{"further hardware threads", with(aJob(world(1, 2, 0, alike(2, work(1800, 900))...)), func(j *job.Job) {
			for i := range j.Executions[0].Nodes {
				j.Executions[0].Nodes[i].Hardware = &job.Hardware{Cores: 8, ThreadsPerCore: 2}
			}
		}), 4, 1.5, 0.5, 0, 1},
		{"threads", aJob(threaded(world(1, 1, 0, alike(2, work(1800, 0))...))), 4, -1, -1, -1, 2},
		{"no data", aJob(), 4, -1, -1, -1, -1},
		{"ranks missing", with(aJob(world(1, 2, 0, work(1, 1))), func(j *job.Job) { j.Executions[0].Size = 2; j.Metrics.Coverage = 0.5 }), 4, -1, -1, -1, -1},
		{"sacct silent", with(aJob(world(1, 2, 0, work(1, 1))), func(j *job.Job) { j.CPUs = 0 }), -1, -1, -1, -1, -1},
		{"more than can be", with(aJob(world(1, 2, 0, work(1, 1))), func(j *job.Job) { j.CPUs, j.Elapsed = math.MaxInt32, math.MaxInt64 }), -1, -1, -1, -1, -1},
		{"more than can be, and no data", with(aJob(), func(j *job.Job) { j.CPUs, j.Elapsed = math.MaxInt32, math.MaxInt64 }), -1, -1, -1, -1, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := Describe(c.job, nil).Hours
			for i, got := range []*job.CoreTime{h.Used, h.Lost, h.MPI, h.Idle, h.Outside} {
				want := []float64{c.used, c.lost, c.mpi, c.idle, c.outside}[i]
				if (got == nil) != (want < 0) || got != nil && math.Abs(got.Hours()-want) > 0.5/job.CoreHour {
					t.Errorf("part %d: got %v, want %v", i, value(got), want)
				}
			}
			if h.Lost != nil && *h.Lost != *h.MPI+*h.IO+*h.OpenMP+*h.Idle+*h.Outside {
				t.Error("the parts are not the whole")
			}
		})
	}
}

func value(t *job.CoreTime) any {
	if t == nil {
		return nil
	}
	return t.Hours()
}

// TestTogether: a doubt that every verdict has is one of them all.
func TestTogether(t *testing.T) {
	says := func(o Outcome, doubts ...string) Verdict { return Verdict{Outcome: o, Doubts: doubts} }
	for _, c := range []struct {
		all    []Verdict
		sure   Confidence
		doubts string
	}{
		{nil, Doubtful, "no rule could judge the job"},
		{[]Verdict{says(CannotTell, "a"), says(NotAsked, "a")}, Doubtful, "a|no rule could judge the job"},
		{[]Verdict{says(Passed), says(CannotTell)}, Sure, ""},
		{[]Verdict{says(CannotTell), says(Flagged)}, Sure, ""},
		{[]Verdict{says(Flagged, "a", "b"), says(Passed, "b"), says(NotAsked, "c", "b")}, Doubtful, "b"},
		{[]Verdict{says(Flagged, "a"), says(Passed), says(Passed, "a")}, Sure, ""},
	} {
		if sure, doubts := Together(c.all); sure != c.sure || strings.Join(doubts, "|") != c.doubts {
			t.Errorf("%+v: %s, %q", c.all, sure, doubts)
		}
	}
}
