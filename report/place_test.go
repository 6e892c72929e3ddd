package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/rule"
	"jobeff/policy/workload"
	"jobeff/report/shell"
)

// jobOfRun is a job whose only program was the run.
func jobOfRun(r job.Run) *job.Job {
	each := work{r.Useful / float64(r.Ranks), r.Elapsed - r.Useful/float64(r.Ranks)}
	ranks := make([]work, r.Ranks)
	for i := range ranks {
		ranks[i] = each
	}
	j := aJob(execution(max(r.Ranks/max(r.Nodes, 1), 1), ranks...))
	j.JobID, j.DisplayID, j.Attempt, j.CPUs, j.Nodes, j.Reports = r.JobID, r.DisplayID, r.Attempt, r.Ranks, r.Nodes, r.Nodes
	j.Executions[0].BuildID = "abcd"
	j.Elapsed = sec(r.Elapsed)
	j.End = j.Start.Add(j.Elapsed)
	return j
}

// rulesForShortJobs are the shipped ones without a least runtime.
func rulesForShortJobs(t *testing.T) *rule.Rules {
	t.Helper()
	own := goldenRules()
	for i := range own {
		own[i].LeastRuntime, own[i].LeastCoreHours = 0, 0
	}
	rules, err := rule.Compile(own)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// TestJobAmongItsWorkload: the first line, the advice and the verdicts of a job whose
// workload was run on other cores too.
func TestJobAmongItsWorkload(t *testing.T) {
	for _, name := range []string{"scales", "small", "weak", "one", "sections"} {
		w := workloads()[name]
		last := w.Runs[len(w.Runs)-1]
		if name == "sections" {
			last = w.Runs[3] // the fifth had another input
		}
		j := jobOfRun(last)
		study := workload.NewStudy(w, j, began, curve.Settings{})
		verdicts := rulesForShortJobs(t).Judge(j, study)
		eachView(t, "place-"+name, func(w io.Writer, opts Options) error {
			var out bytes.Buffer
			if err := textOf(&out, j, study, verdicts, opts); err != nil {
				return err
			}
			before, _, _ := strings.Cut(out.String(), "\nJob ") // the facts stand in other goldens
			fmt.Fprintf(w, "%s\n----\n", before)
			return explain(w, j, verdicts, opts)
		})
		var out bytes.Buffer
		if err := jsonOf(&out, j, study, verdicts); err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(out.String(), `  "workload": {`); i < 0 {
			t.Errorf("no workload in %s", out.String())
		} else {
			golden(t, "place-"+name+".json", out.Bytes()[i:])
		}
	}
}

// TestFirstLine holds the sentence with a recommended core count.
func TestFirstLine(t *testing.T) {
	run := fixtureRun
	for _, c := range []struct {
		name string
		runs []job.Run // the last is the job's
		want string
	}{
		{"more cores were slower", []job.Run{run(1, 1, 1, 101, 100), run(2, 2, 1, 60, 50), run(3, 4, 1, 91, 25), run(4, 4, 1, 90, 25)},
			"72 % of the time of 4 ranks went into MPI: 1 core would have taken 12 % longer (0 to 24 %) and saved 72 % (69 % to 75 %) of the core-hours (4 runs, intervals of 90 %). Parallel efficiency 0.28, below the 0.80 that POP recommends."},
		{"few cores do", []job.Run{run(1, 32, 1, 200, 180), run(2, 64, 1, 105, 85), run(3, 128, 1, 96, 48)},
			"50 % of the time of 128 ranks went into MPI: 64 cores would have taken 9 % longer (6 % less to 27 % more) and saved 45 % (37 % to 53 %) of the core-hours (3 runs, intervals of 90 %). Parallel efficiency 0.50, below the 0.80 that POP recommends."},
		{"as it should be", []job.Run{run(1, 1, 1, 101, 100), run(2, 2, 1, 51, 50), run(3, 4, 1, 26, 25)},
			"4 % of the time of 4 ranks went into MPI: parallel efficiency 0.96, above the 0.80 that POP recommends."},
	} {
		j := jobOfRun(c.runs[len(c.runs)-1])
		study := workload.NewStudy(fixtureWorkload("w", c.runs...), j, began, curve.Settings{})
		if got := viewOf(j, study, nil, true).Words().Headline.Text; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestGPUs: the efficiency of a job with GPUs is named as what it is, no rule judges it
// and no core count follows.
func TestGPUs(t *testing.T) {
	w := workloads()["small"]
	j := jobOfRun(w.Runs[3])
	j.GPUs = 2
	w.Runs[3].GPUs = 2
	study := workload.NewStudy(w, j, began, curve.Settings{})
	for _, v := range rulesForShortJobs(t).Judge(j, study) {
		if v.Outcome != policy.CannotTell || !strings.Contains(v.Reason, "the job had 2 GPUs") || v.Recommended != nil {
			t.Errorf("%+v", v)
		}
	}
	if r := policy.RequestFor(study, j); r.Best != nil {
		t.Errorf("%+v", r.Best)
	}
	if s := viewOf(j, study, nil, true).Words().Headline.Text; !strings.Contains(s, "parallel efficiency of the host side 0.") {
		t.Error(s)
	}
}

// TestMuted: a muted workload's verdicts are shown and say so, until the mute ends.
func TestMuted(t *testing.T) {
	w := workloads()["small"]
	w.Mute = &job.Mute{Since: began, Until: began.Add(24 * time.Hour)}
	j := jobOfRun(w.Runs[3])
	for _, c := range []struct {
		now   time.Time
		muted bool
	}{{began, true}, {began.Add(25 * time.Hour), false}} {
		study := workload.NewStudy(w, j, c.now, curve.Settings{})
		verdicts := rulesForShortJobs(t).Judge(j, study)
		var out bytes.Buffer
		if err := explain(&out, j, verdicts, Options{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "until 2026-11-21 12:00") != c.muted || verdicts[5].Outcome != policy.Flagged || (verdicts[5].Muted != nil) != c.muted {
			t.Errorf("at %s: %s", c.now, out.String())
		}
	}
}

// TestCommandIsQuoted: a user may name a workload so that a shell would run more than the command
// that is suggested. It then has the workload's key. A job's page names the job: others may have a workload of the name.
func TestCommandIsQuoted(t *testing.T) {
	for name, want := range map[string]string{"cfd-1.2": "cfd-1.2", "x; reboot": "3fa2c1aabbccddeeff00", "$(reboot)": "3fa2c1aabbccddeeff00",
		"a b": "3fa2c1aabbccddeeff00", "-x": "3fa2c1aabbccddeeff00", "`x`": "3fa2c1aabbccddeeff00"} {
		w := fixtureWorkload(name, workloads()["scales"].Runs...)
		j := jobOfRun(w.Runs[len(w.Runs)-1])
		var out bytes.Buffer
		if err := textOf(&out, j, workload.NewStudy(w, j, began, curve.Settings{}), nil, Options{}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(said, "; jobeff workload "+j.DisplayID+" shows it") || shell.Workload(name, w.Key) != want {
			t.Errorf("%s: %s", name, said)
		}
	}
}
