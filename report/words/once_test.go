package words

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
)

// TestWarnedOnce: a doubt about several executions is told once, with the sum of its times. What differs in anything else
// is told apart.
func TestWarnedOnce(t *testing.T) {
	slept := func(s int) doubt.Warning {
		return doubt.Warning{Code: doubt.WarnSlept, Args: doubt.Arguments{Time: time.Duration(s) * time.Second, OfTime: 10 * time.Second}}
	}
	crowd := func(cpus int) doubt.Warning {
		return doubt.Warning{Code: doubt.WarnContention, Args: doubt.Arguments{N: 4, Of: 4, CPUs: cpus, Name: "0-1"}}
	}
	j := &job.Job{Warnings: []doubt.Warning{doubt.NewWarning(doubt.WarnTorn, 1)}, Executions: []job.Execution{
		{Warnings: []doubt.Warning{slept(3), crowd(2), doubt.NewWarning(doubt.WarnTorn, 2)}}, {Warnings: []doubt.Warning{slept(4), crowd(2), crowd(3)}}}}
	var all []string
	for _, d := range doubt.All(warningsOf(j)) {
		all = append(all, d.String())
	}
	both := doubt.Warning{Code: doubt.WarnSlept, Args: doubt.Arguments{Time: 7 * time.Second, OfTime: 20 * time.Second}}
	want := []string{doubt.Text(doubt.NewWarning(doubt.WarnTorn, 0)) + " (3 times)", doubt.Text(both), doubt.Text(crowd(2)), doubt.Text(crowd(3))}
	if !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
	if again := warningsOf(j); again[1].Args.Time != 7*time.Second || j.Executions[0].Warnings[0].Args.Time != 3*time.Second {
		t.Errorf("the job's own were changed: %+v", j)
	}
}

// TestRunningIsWatched: how to watch a job stands beside what else to do, while it runs.
func TestRunningIsWatched(t *testing.T) {
	copies := []job.Execution{jobtest.Singleton(0), jobtest.Singleton(0)}
	for i := range copies {
		copies[i].ArgsHash, copies[i].InputHash, copies[i].Executable = "a", "b", "/a/solver"
	}
	j := &job.Job{DisplayID: "7", State: "COMPLETED", Executions: copies}
	verdicts := []policy.Verdict{{Rule: "singletons", Outcome: policy.Flagged, Condition: "singletons > 1"}}
	for _, runs := range []bool{true, false} {
		j.AsOf, j.End = time.Time{}, time.Now()
		if runs {
			j.AsOf, j.End = j.End, time.Time{}
		}
		first, others := todo(j, verdicts, policy.RequestFor(nil, j), false)
		lines := []string{first.Line}
		for _, a := range others {
			lines = append(lines, a.Line)
		}
		if len(lines) == 0 || slices.Contains(lines, "jobeff live "+j.DisplayID) != runs || !slices.Contains(lines, "srun --mpi=pmix YOUR-PROGRAM") {
			t.Errorf("runs %v: %q", runs, lines)
		}
	}
}

// TestNoPointSaysWhy: where no run of a workload is on a curve, a list says why the newest is not.
func TestNoPointSaysWhy(t *testing.T) {
	run := func(at int, lacked bool) job.Run {
		return job.Run{JobID: uint32(at), Start: time.Unix(int64(at), 0), Ranks: 4, Ended: lacked, Coverage: 1, Elapsed: 100, Useful: 300, Conditions: &job.Conditions{Counted: true, Contended: lacked}}
	}
	for want, runs := range map[string][]job.Run{
		"its ranks lacked CPUs":  {run(1, false), run(2, true)},
		"the job did not finish": {run(3, true), run(4, false)},
	} {
		s := workload.NewStudy(&job.Workload{Key: "k", Name: "w", Runs: runs}, nil, time.Now(), curve.Settings{})
		if got := workloadRow(s)[5]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := noPoint(&workload.Study{Workload: &job.Workload{}}); got != "no data" {
		t.Errorf("of no runs: %q", got)
	}
}

// TestWaitsComeFirst: of a job that lost much in MPI, where it waited comes before a request for less; one for more comes first.
func TestWaitsComeFirst(t *testing.T) {
	for _, c := range []struct {
		state    string
		parallel float64
		placed   bool
		first    string
	}{
		{"COMPLETED", .6, true, "jobeff where 7"},
		{"COMPLETED", .6, false, "sbatch "},
		{"COMPLETED", .9, true, "sbatch "},
		{"OUT_OF_MEMORY", .6, true, "sbatch "},
	} {
		e := job.Execution{Key: "k", Size: 4}
		if c.placed {
			e.Places = &job.Places{List: []job.Place{{}}}
		}
		j := &job.Job{DisplayID: "7", JobID: 7, State: c.state, Nodes: 1, CPUs: 4, Elapsed: time.Hour, TimeLimit: 24 * time.Hour, Executions: []job.Execution{e}, Usage: &job.Usage{Allocated: 8 << 30}, Metrics: &job.Metrics{Efficiencies: job.Efficiencies{Parallel: c.parallel}}}
		j.Alike = []job.Ran{job.RanOf(j)}
		first, others := todo(j, nil, policy.RequestFor(nil, j), false)
		if !strings.HasPrefix(first.Line, c.first) || c.first != "sbatch " && (len(others) != 1 || !strings.HasPrefix(others[0].Line, "sbatch ") || strings.Contains(first.Text, "Ask for")) {
			t.Errorf("%+v: %q, then %q", c, first, others)
		}
	}
}
