package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/view"
)

// screenCase is a job of one kind, with its study and verdicts.
type screenCase struct {
	job      *job.Job
	study    *workload.Study
	verdicts []policy.Verdict
}

// screenCases are all fixtures, and further kinds of job.
func screenCases(t *testing.T) map[string]screenCase {
	t.Helper()
	all, tenth := map[string]screenCase{}, 0.1
	add := func(name string, j *job.Job) { all[name] = screenCase{j, nil, judged(t, j)} }
	for name, j := range fixtures() {
		add(name, ranked(j))
	}
	byHand := all["by-hand"]
	byHand.verdicts = nil
	all["by-hand"] = byHand
	for name, w := range workloads() {
		if len(w.Runs) > 0 {
			j := jobOfRun(w.Runs[len(w.Runs)-1])
			study := workload.NewStudy(w, j, began, curve.Settings{})
			all["place-"+name] = screenCase{j, study, rulesForShortJobs(t).Judge(j, study)}
		}
	}
	serial := withoutMPI(execution(1, work{60, 0}))
	serial.Executions, serial.Metrics, serial.Covered, serial.CPUs, serial.NoData = nil, nil, nil, 1, doubt.NewWarning(doubt.WhyNoMPI, 0)
	serial.Usage = &job.Usage{TotalCPU: sec(50), Memory: 1 << 30, Allocated: 4 << 30}
	add("serial", serial)
	running := fixtures()["good"]
	running.State, running.End, running.AsOf = "RUNNING", time.Time{}, began.Add(sec(60))
	add("running", running)
	hung := fixtures()["good"]
	hung.State, hung.End, hung.AsOf = "RUNNING", time.Time{}, began.Add(sec(6000))
	hung.Hung = &hang.Hung{Since: began, AsOf: hung.AsOf}
	add("hung", hung)
	failed := fixtures()["good"]
	failed.State, failed.ExitCode = "FAILED", "1:0"
	failed.Executions[0].Endings = map[string]int{"exit 1": 4}
	add("failed", failed)
	full := fixtures()["usage"]
	full.State, full.ExitCode, full.GPUs = "OUT_OF_MEMORY", "0:125", 0
	add("oom", full)
	partly := fixtures()["good"]
	partly.Reports, partly.Executions[0].Size, partly.Covered = 1, 64, &tenth
	partly.Executions[0].Warnings = []doubt.Warning{{Code: doubt.WarnSectionExit}, {Code: doubt.WarnCPUOver}, {Code: doubt.WarnNoFinalize, Count: 60}, {Code: doubt.WarnTorn}, {Code: doubt.WarnCoverage, Args: doubt.Arguments{N: 4, Of: 64}}}
	partly.Warnings = []doubt.Warning{{Code: doubt.WarnNodesMissing, Args: doubt.Arguments{N: 1, Of: 2}}, {Code: doubt.WarnInterim, Args: doubt.Arguments{N: 1, Names: "n2", Time: sec(77)}}}
	partly.Metrics = job.JobMetrics(partly.Executions)
	add("partly", partly)
	het := fixtures()["good"]
	het.DisplayID, het.HetJobID = "4711+1", 4711
	het.Warnings = []doubt.Warning{{Code: doubt.WarnPart, Args: doubt.Arguments{Kind: doubt.KindHet, Name: "4711+1", Names: "4711+0,4711+2"}}}
	add("het", het)
	step := fixtures()["good"]
	step.DisplayID = "4711.0"
	all["step"] = screenCase{step, nil, nil}
	task := fixtures()["bad"]
	task.DisplayID, task.ArrayJobID, task.Pending = "4700_4", 4700, queue()
	add("task", task)
	waiting := hybrid()
	waiting.Executions[0].Windows = sampled(serialised()).Executions[0].Windows
	add("hybrid-waits", waiting)
	worst := hybrid()
	like := serialised()
	like.Serialisation.Value, like.Transfer.Value = 0.73, 0.96
	worst.Executions[0].Windows, worst.Pending, worst.Covered, worst.CPUs = &like, queue(), &tenth, 99
	worst.Name, worst.User, worst.Account, worst.State = nasty, nasty, nasty, "FAILED by "+nasty
	for code := range 9 {
		worst.Warnings = append(worst.Warnings, doubt.Warning{Code: fmt.Sprint(nasty, code)})
	}
	told := judged(t, worst)
	for i := range told {
		told[i].Outcome, told[i].Shadow, told[i].Text = policy.Flagged, false, strings.Repeat("It is as bad as it can be. ", 9)
	}
	all["worst"] = screenCase{worst, nil, told}
	q := queue()
	all["pending"] = screenCase{waits(q.Jobs[0]), nil, nil}
	all["pending-many"] = screenCase{waits(q.Jobs[3], slices.Repeat(q.Jobs, 9)...), nil, nil}
	return all
}

// firstScreen is what is seen first.
func firstScreen(t *testing.T, c screenCase, opts Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := ScreenOfJob(&out, viewOf(c.job, c.study, c.verdicts, opts.Unicode), opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestScreen: the first of each kind of job fits in 80 columns and 40 lines, for every kind of reader, and begins with
// the headline.
func TestScreen(t *testing.T) {
	for name, c := range screenCases(t) {
		for look, opts := range views {
			t.Run(name+"-"+look, func(t *testing.T) {
				shown := firstScreen(t, c, opts)
				checkFits(t, shown, opts)
				if n := strings.Count(shown, "\n"); n > 40 {
					t.Errorf("%d lines", n)
				}
				first := viewOf(c.job, c.study, c.verdicts, opts.Unicode).Words().Headline.Text
				if word := strings.Fields(first)[0]; !opts.Color && !strings.HasPrefix(shown, word) {
					t.Errorf("it does not begin with %q", word)
				}
				if look == "80" {
					golden(t, "screen-"+name+".txt", []byte(shown))
				}
			})
		}
	}
}

// TestScreenOnPage: the page shows first what the text does, before all that is folded.
func TestScreenOnPage(t *testing.T) {
	for name, c := range screenCases(t) {
		s := viewOf(c.job, c.study, c.verdicts, true).Words()
		var b bytes.Buffer
		if err := PageOfJob(&b, view.NewJob(&listing.JobAndWorkload{Job: c.job, Step: name == "step"}, c.study, c.verdicts, true), siteLinks); err != nil {
			t.Fatal(err)
		}
		checkPage(t, b.Bytes())
		_, main, _ := strings.Cut(b.String(), "<main")
		open, _, _ := strings.Cut(main, "<details>")
		said := pageText("<main" + open)
		wants := append(slices.Concat(s.Brief[1:].Texts(), s.Ruled.Texts(), s.Told.Texts()), s.Headline.Text)
		if s.Ask != nil {
			wants = append(wants, s.Ask.Text, s.Ask.Line)
		}
		for _, b := range s.Tree {
			wants = append(wants, b.Name)
		}
		for _, want := range wants {
			if want = strings.Join(strings.Fields(want), " "); !strings.Contains(said, want) {
				t.Errorf("%s: the page does not show %q first:\n%s", name, want, said)
			}
		}
	}
}

// TestScreenHidesNoDoubt: what changes the meaning of the figures stands on the first screen.
func TestScreenHidesNoDoubt(t *testing.T) {
	all := screenCases(t)
	for name, wants := range map[string][]string{
		"partly":       {"the 4 recorded of 64 ranks", "1 of 2 nodes have reported", "the figures cover 10 % of the allocated core time", "and 5 more: coverage, section_exit, cpu_over, no_finalize, torn"},
		"killed":       {"It ran up to the time limit", "3 of 4 ranks were recorded", "1 of 2 nodes have reported", "a rank ended without MPI_Finalize (3 times)", "TIMEOUT"},
		"running":      {"It runs. Up to", "RUNNING"},
		"hung":         {"RUNNING"},
		"oom":          {"OUT_OF_MEMORY"},
		"failed":       {"FAILED, exit code 1:0"},
		"off":          {"was not measured"},
		"by-hand":      {"4 ranks share 2 CPUs"},
		"threads":      {"MPI parallel efficiency"},
		"het":          {"a part of a het job"},
		"pending-many": {"and 27 more", "jobeff --full 4900: further lines"},
	} {
		said := strings.Join(strings.Fields(firstScreen(t, all[name], Options{})), " ")
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %q in\n%s", name, want, said)
			}
		}
	}
}

// TestScreenSaysRatiosOnce: how much longer, or less time, is said once; and the shipped rules do not repeat the efficiency.
func TestScreenSaysRatiosOnce(t *testing.T) {
	ratio := regexp.MustCompile(`[0-9.,]+ % (longer|less)`)
	for name, c := range screenCases(t) {
		said := strings.Join(strings.Fields(firstScreen(t, c, Options{})), " ")
		if found := ratio.FindAllString(said, -1); len(found) > 1 {
			t.Errorf("%s: %v in\n%s", name, found, said)
		}
		if strings.Contains(said, "was computing.") {
			t.Errorf("%s: the efficiency twice:\n%s", name, said)
		}
		var full bytes.Buffer
		if err := textOf(&full, c.job, c.study, c.verdicts, Options{}); err != nil {
			t.Fatal(err)
		}
		found := ratio.FindAllString(strings.Join(strings.Fields(full.String()), " "), -1)
		slices.Sort(found)
		if once := slices.Compact(slices.Clone(found)); len(once) < len(found) {
			t.Errorf("%s, in full: %v", name, found)
		}
	}
}

// TestScreenNamesTheRest: the last line names what --full has more, and nothing that it has not.
func TestScreenNamesTheRest(t *testing.T) {
	for name, wants := range map[string]string{"good": "ranks by node, nodes, busiest ranks, calls, sizes", "no-mpi": "", "off": "steps", "sections": "sections"} {
		shown := firstScreen(t, screenCases(t)[name], Options{})
		_, rest, there := strings.Cut(shown, "\njobeff --full 4711: ")
		if rest = strings.Join(strings.Fields(rest), " "); there != (wants != "") || !strings.Contains(rest, wants) {
			t.Errorf("%s: %q, want %q", name, rest, wants)
		}
	}
}

// TestTreesMultiplyOut: of each efficiency with others below it, these are its factors.
func TestTreesMultiplyOut(t *testing.T) {
	trees := 0
	for name, c := range screenCases(t) {
		if c.job.Metrics == nil {
			continue
		}
		tree := viewOf(c.job, nil, nil, true).Words().Tree
		for i, above := range tree {
			product, below := 1.0, 0
			for _, b := range factorsOf(tree[i:]) {
				product, below = product*b.Value, below+1
			}
			if below > 0 && math.Abs(product-above.Value) > 0.01 {
				t.Errorf("%s: %s is %.3f, its factors' product %.3f", name, above.Name, above.Value, product)
			}
			trees += min(below, 1)
		}
	}
	if trees < 50 {
		t.Errorf("only %d efficiencies have factors", trees)
	}
	unlike := sampled(serialised())
	unlike.Executions[0].Windows.Serialisation.Value = 0.9
	if tree := viewOf(unlike, nil, nil, true).Words().Tree; len(tree) != 5 {
		t.Errorf("windows that are not like the run stand in the tree: %+v", tree)
	}
}

// factorsOf are the branches right below the first one.
func factorsOf(tree []block.Branch) (all []block.Branch) {
	for _, b := range tree[1:] {
		if b.Depth <= tree[0].Depth {
			break
		}
		if b.Depth == tree[0].Depth+1 {
			all = append(all, b)
		}
	}
	return all
}

// TestCommandsGoOn: a command that is wider than the page goes on as a shell takes it.
func TestCommandsGoOn(t *testing.T) {
	const command = "sbatch --nodes=4 --ntasks=256 --ntasks-per-node=64 --cpus-per-task=1 --mem=250000M --time=12:34:00 --job-name='it is -- so' YOUR-SCRIPT"
	p := newTerminal(Options{})
	p.command(command)
	var out bytes.Buffer
	if err := p.writeTo(&out); err != nil {
		t.Fatal(err)
	}
	if one := strings.ReplaceAll(out.String(), " \\\n    ", " "); one != command+"\n" {
		t.Errorf("got %q", out.String())
	}
	checkFits(t, out.String(), Options{})
}

// TestScreensAreLookedAt: no golden is left of a kind of job that is no more.
func TestScreensAreLookedAt(t *testing.T) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	all := screenCases(t)
	for _, f := range files {
		if name, is := strings.CutPrefix(f.Name(), "screen-"); is {
			if _, there := all[strings.TrimSuffix(name, ".txt")]; !there {
				t.Error(fmt.Sprint(f.Name(), " is of no kind"))
			}
		}
	}
}

// TestFixedNames: each kind of job has all the names that programs rely on; what is null by kind of job is absent where it
// is none of them.
func TestFixedNames(t *testing.T) {
	fixed := strings.Fields(`parallel_efficiency load_balance load_balance_in load_balance_out communication_efficiency elapsed useful mpi_time ranks nodes coverage calls sections executions
		threads threaded cpu_time cpus_allowed openmp_parallel_efficiency openmp_load_balance openmp_scheduling_efficiency openmp_serialisation_efficiency
		openmp_pop_parallel_efficiency openmp_pop_load_balance openmp_pop_communication_efficiency process_efficiency thread_efficiency
		serialisation_efficiency serialisation_efficiency_low serialisation_efficiency_high transfer_efficiency transfer_efficiency_low transfer_efficiency_high windows
		mpi_parallel_efficiency mpi_load_balance mpi_communication_efficiency needed_memory cache_memory time_limit time_efficiency queue_time`)
	for name, c := range screenCases(t) {
		var out bytes.Buffer
		if err := jsonOf(&out, c.job, c.study, c.verdicts); err != nil {
			t.Fatal(err)
		}
		var d map[string]any
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		for _, field := range fixed {
			if _, there := d[field]; !there {
				t.Errorf("%s has no %s", name, field)
			}
		}
		for _, field := range []string{"overlap", "array", "useful_ipc", "memory_kills", "waits", "thread_times"} {
			if v, there := d[field]; there && v == nil {
				t.Errorf("%s: %s is null", name, field)
			}
		}
	}
}
