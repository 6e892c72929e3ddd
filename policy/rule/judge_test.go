package rule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/doubt"
)

// bare is such a job without a record of a program: two nodes, 32 busy CPUs, 40 of 48 GiB, an hour of two.
func bare(change func(*job.Job)) *job.Job {
	j := aJob()
	j.NoData, j.CPUs, j.TimeLimit = doubt.NewWarning(doubt.WhyNoMPI, 0), 32, 2*time.Hour
	j.Usage = &job.Usage{TotalCPU: 31 * time.Hour, Memory: 40 << 30, Allocated: 48 << 30}
	change(j)
	return j
}

// someJob is what the shipped rules are asked about.
type someJob struct {
	name   string
	job    *job.Job
	reason string // that some verdict gives
}

func someJobs() []someJob {
	good := func() *job.Job { return aJob(world(1, 2, 10, alike(4, work(3400, 100))...)) }
	return []someJob{
		{"good", good(), "ranks is 4, parallel_efficiency is 0.97: the condition does not hold"},
		{"waits in MPI", aJob(world(1, 2, 10, alike(4, work(1750, 1750))...)), "ranks is 4, parallel_efficiency is 0.50: the condition holds"},
		{"on the line", aJob(world(1, 2, 10, alike(4, work(2800, 700))...)), ""},
		{"just below it", aJob(world(1, 2, 10, alike(4, work(2799, 701))...)), "parallel_efficiency is 0.79"},
		{"one rank", idling(world(1, 1, 10, work(3400, 1))), ""},
		{"one idle rank of four", aJob(world(1, 2, 10, work(3400, 1), work(3400, 1), work(3400, 1), work(5, 3396))), "idle_rank_share is 0.25"},
		{"half of the ranks idle", aJob(world(1, 2, 10, work(3400, 1), work(3400, 1), work(5, 3396), work(5, 3396))), "idle_rank_share is 0.50"},
		{"out of memory", with(aJob(world(1, 2, 10, alike(4, work(1750, 1750))...)), func(j *job.Job) { j.State = "OUT_OF_MEMORY" }), "it ran out of memory; its figures are not judged"},
		{"hung", with(aJob(world(1, 2, 10, alike(4, work(100, 3400))...)), func(j *job.Job) {
			j.State, j.Executions[0].Calls = "TIMEOUT", []job.Call{{Name: "MPI_Barrier", Time: sec(4 * 3390)}}
		}), "it may have hung: 97 % of the ranks' time was in MPI_Barrier"},
		{"nodes of unequal work", aJob(world(1, 2, 10, work(3400, 1), work(3400, 1), work(1000, 2401), work(1000, 2401))), "load_balance_out is 0.65"},
		{"half the nodes, and something else on the others", with(idling(world(1, 4, 10, alike(4, work(3400, 1))...)), func(j *job.Job) { j.CPUs, j.Usage.TotalCPU = 8, 8*time.Hour }),
			"other programs may have run on the other nodes"},
		{"half the nodes, and Slurm is silent", aJob(world(1, 4, 10, alike(4, work(3400, 1))...)), "Slurm has not said how much CPU time the job used"},
		{"half the nodes", idling(world(1, 4, 10, alike(4, work(3400, 1))...)), ""},
		{"half the nodes for a while only", idling(world(1, 4, 10, alike(4, work(1000, 1))...)), "mpi_runtime is 1,001"},
		{"each program on its node", aJob(world(1, 2, 10, alike(2, work(3400, 1))...), world(2, 2, 10, alike(2, work(3400, 1))...)), ""},
		{"ranks that never met", aJob(singleton(1), singleton(1), singleton(2), singleton(2)), "parallel_efficiency is not known: its ranks never met each other"},
		{"one thread of two works", aJob(openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 2, 0, 1, 0)), "ranks is 2, parallel_efficiency is 0.49: the condition holds"},
		{"all threads work", aJob(openmp(world(1, 1, 10, alike(2, work(3400, 100))...), 2, 0.95, 0, 0)), "ranks is 2, parallel_efficiency is 0.95: the condition does not hold"},
		{"OpenMP alone, half of it serial", onOneNode(openmp(world(1, 1, 10, work(3500, 0)), 4, 0.5, 0, 0)), "threads is 4, parallel_efficiency is 0.63: the condition holds"},
		{"OpenMP alone, even", onOneNode(openmp(world(1, 1, 10, work(3500, 0)), 4, 0.9, 0.1, 0)), "threads is 4, parallel_efficiency is 0.93: the condition does not hold"},
		{"threads", aJob(threaded(world(1, 1, 10, alike(2, work(1000, 2000))...))), "what these did is not measured"},
		{"four ranks on two CPUs", aJob(loaded(world(1, 1, 10, alike(4, work(3400, 100))...), job.Load{Ranks: 4, Whole: 4, CrowdRanks: 4, CrowdBusy: 4, CrowdCPUs: "0-1"})),
			"parallel_efficiency is not known: 4 busy threads of 4 ranks share 2 CPUs (0-1), so part of the useful time is waiting for a CPU"},
		{"ranks that sleep", aJob(loaded(world(1, 1, 10, alike(2, work(3400, 100))...), job.Load{Ranks: 2, Whole: 2, Span: sec(7000), Slept: sec(3500)})),
			"idle_ranks is not known: its ranks slept, or waited for a file: outside MPI, ranks used no CPU in at least 50 % of their time"},
		{"threads that were counted", aJob(loaded(world(1, 1, 10, alike(2, work(1000, 2000))...), job.Load{Ranks: 2, Whole: 2, Threaded: 1})),
			"parallel_efficiency is not known: 1 of 2 ranks had busy threads that do not call MPI, and what these did is not measured"},
		{"no data", aJob(), "singletons is not known: no data, no process came back from MPI_Init"},
		{"short", with(good(), func(j *job.Job) { j.Elapsed = sec(59) }), "the job is too short to judge: it ran 00:00:59, the rule wants 00:10:00"},
		{"small", with(good(), func(j *job.Job) { j.CPUs = 1; j.Elapsed = sec(3599) }), "the job is too small to judge: it used just under 1.00 core-hours, the rule wants 1.00"},
		{"ranks missing", with(good(), func(j *job.Job) { j.Executions[0].Size = 5; j.Metrics = job.JobMetrics(j.Executions) }), "too few ranks were recorded: coverage is 0.80, the rule wants 0.9"},
		{"a node is silent", with(good(), func(j *job.Job) { j.Reports, j.Complete = 1, true }), "nodes_used is not known: 1 of 2 nodes have reported"},
		{"a node is waited for", with(good(), func(j *job.Job) { j.Reports = 1 }), "is not known: 1 of 2 nodes have reported, and the others are waited for"},
		{"sacct is silent", with(good(), func(j *job.Job) { j.CPUs = 0 }), "core_hours is not known: Slurm's accounting has not said it yet"},
		{"it hangs", with(good(), func(j *job.Job) {
			j.AsOf, j.End, j.Together = j.End, time.Time{}, true
			j.Hung = &hang.Hung{Since: j.Start, AsOf: j.AsOf, Calls: []hang.OpenCalls{{Size: 4, Function: "MPI_Recv", Ranks: "0-3", Count: 4}}}
		}), "hung is true: the condition holds"},
		{"it runs", with(good(), func(j *job.Job) { j.End = time.Time{} }), "runtime is not known: the job's end is not known"},
		{"from a list", with(good(), func(j *job.Job) { j.Executions = nil }), "a list of jobs does not hold it"},
		{"one busy core of sixteen", bare(func(j *job.Job) { j.CPUs, j.Usage.TotalCPU = 16, time.Hour }), "busy_cores is 1.00: the condition holds"},
		{"36 of 720 cores", bare(func(j *job.Job) {
			j.Nodes, j.Reports, j.CPUs, j.Usage.TotalCPU, j.Usage.PartOfNodes, j.Usage.Allocated = 20, 20, 720, 36*time.Hour, true, 1000<<30
		}), "needed_nodes is 2: the condition holds"},
		{"memory not used", bare(func(j *job.Job) { j.Usage.Memory, j.Usage.Allocated = 2<<30, 64<<30 }), "requested_memory is 64.0, needed_memory is 2.00, memory_efficiency is 0.03"},
		{"nearly all of its memory", bare(func(j *job.Job) {
			j.Cgroup = &job.Cgroup{Nodes: 2, Low: 47 << 30, High: 48 << 30, Peaks: 2, Events: 2, Samples: 30}
		}), "requested_memory is 48.0: the condition holds"},
		{"memory of 1,228 %", bare(func(j *job.Job) { j.Usage.Memory, j.Usage.Allocated = 49<<30, 4<<30 }), "needed_memory is not known: what was counted is more than the job was given"},
		{"sacct -X has no memory", bare(func(j *job.Job) { j.Usage.Memory = 0 }), "needed_memory is not known: nothing tells how much memory it used"},
		{"a limit of a week", bare(func(j *job.Job) { j.TimeLimit = 7 * 24 * time.Hour }), "time_limit is 604,800, time_efficiency is 0.00595"},
		{"a thousand short tasks", bare(func(j *job.Job) { j.ArrayJobID, j.Array = 7, &job.Array{Tasks: 200, Elapsed: 4000 * time.Second} }), "array_mean_time is 20.0"},
		{"shares dropped", with(good(), func(j *job.Job) { j.Executions[0].Nodes[0].UsefulShare = nil }), "the ranks' single figures are not kept"},
	}
}

// unjudged are the jobs of which a rule cannot tell that wants ten minutes, coverage and a
// measured field.
var unjudged = []string{"one busy core of sixteen", "36 of 720 cores", "memory not used", "nearly all of its memory", "memory of 1,228 %", "sacct -X has no memory", "a limit of a week", "a thousand short tasks",
	"no data", "short", "ranks missing", "a node is waited for", "it runs", "from a list"}

// lacking are the jobs of which Slurm has not told something, with some others.
func lacking(something func(*job.Job) bool, others ...string) []string {
	for _, c := range someJobs() {
		if something(c.job) {
			others = append(others, c.name)
		}
	}
	return others
}

// noGPUs are those of which rules about GPUs cannot tell.
var noGPUs = []string{"out of memory", "hung", "short", "it runs", "sacct is silent"}

func noFigures(j *job.Job) bool { return j.Metrics == nil }
func noUsage(j *job.Job) bool   { return j.Usage == nil }
func noMemory(j *job.Job) bool {
	return j.Usage == nil || j.Usage.Memory == 0 || j.Usage.Allocated < j.Usage.Memory
}
func noReading(j *job.Job) bool { return j.Cgroup == nil }
func noLimit(j *job.Job) bool   { return j.TimeLimit == 0 }

// shippedDecide is what each shipped rule says of someJobs: a new rule adds its line.
var shippedDecide = map[string]struct {
	flags      []string
	cannotTell []string // of the rest it says that they pass
}{
	"thread-efficiency": {[]string{"OpenMP alone, half of it serial"},
		append([]string{"ranks that never met", "threads", "threads that were counted", "small", "sacct is silent", "four ranks on two CPUs", "ranks that sleep", "out of memory", "hung"}, unjudged...)},
	"low-efficiency": {[]string{"one thread of two works", "waits in MPI", "just below it", "one idle rank of four", "half of the ranks idle", "nodes of unequal work"},
		append([]string{"ranks that never met", "threads", "threads that were counted", "small", "sacct is silent", "four ranks on two CPUs", "ranks that sleep", "out of memory", "hung"}, unjudged...)},
	"hung":       {[]string{"it hangs"}, append([]string{"ranks missing", "a node is waited for", "it runs"}, lacking(noFigures)...)},
	"singletons": {[]string{"ranks that never met"}, unjudged},
	"idle-ranks": {[]string{"half of the ranks idle"},
		append([]string{"ranks that never met", "threads", "threads that were counted", "small", "sacct is silent", "four ranks on two CPUs", "ranks that sleep", "out of memory", "hung", "shares dropped"}, unjudged...)},
	"unused-nodes":      {[]string{"one rank", "half the nodes"}, append([]string{"a node is silent", "half the nodes, and something else on the others", "half the nodes, and Slurm is silent", "out of memory", "hung"}, unjudged...)},
	"one-busy-core":     {[]string{"one busy core of sixteen", "one rank", "half the nodes for a while only"}, lacking(noUsage)},
	"unused-memory":     {[]string{"memory not used", "36 of 720 cores"}, lacking(noMemory)},
	"long-time-limit":   {[]string{"a limit of a week"}, lacking(noLimit)},
	"unused-gpus":       {nil, noGPUs},
	"device-efficiency": {nil, noGPUs},
	"short-tasks":       {[]string{"a thousand short tasks"}, nil},
	"near-memory-limit": {[]string{"nearly all of its memory"}, lacking(noReading)},
	"spare-nodes":       {[]string{"36 of 720 cores"}, lacking(noMemory)},
	"node-imbalance": {[]string{"one idle rank of four", "nodes of unequal work"},
		append([]string{"ranks that never met", "threads", "threads that were counted", "small", "sacct is silent", "four ranks on two CPUs", "ranks that sleep", "a node is silent", "out of memory", "hung"}, unjudged...)},
}

func TestShippedRulesDecide(t *testing.T) {
	for _, c := range someJobs() {
		t.Run(c.name, func(t *testing.T) {
			reasons := ""
			for _, v := range shippedRules(t).Judge(c.job, nil) {
				reasons += v.Rule + ": " + v.Reason + "\n"
				rule, listed := shippedDecide[v.Rule]
				if !listed {
					continue // TestEveryShippedRuleHasItsLine says so, once
				}
				want := policy.Passed
				switch {
				case slices.Contains(rule.flags, c.name):
					want = policy.Flagged
				case c.job.IsRunning():
					want = policy.NotAsked
				case slices.Contains(rule.cannotTell, c.name):
					want = policy.CannotTell
				}
				if v.Outcome != want {
					t.Errorf("%s: %s, want %s: %s", v.Rule, v.Outcome, want, v.Reason)
				}
				if (v.Text != "") != (v.Outcome == policy.Flagged) {
					t.Errorf("%s: %s, but its text is %q", v.Rule, v.Outcome, v.Text)
				}
			}
			if !strings.Contains(reasons, c.reason) {
				t.Errorf("no verdict says %q:\n%s", c.reason, reasons)
			}
		})
	}
}

// TestEveryShippedRuleHasItsLine, and a line names jobs that are there. What past-inflexion
// and became-slower say follows from the runs of a workload: TestPast and TestBecameSlower hold it. TestGPUs has jobs
// with GPUs.
func TestEveryShippedRuleHasItsLine(t *testing.T) {
	rules := shippedRules(t).Names()
	for _, rule := range rules {
		if line := shippedDecide[rule]; len(line.flags) == 0 && !slices.Contains([]string{"past-inflexion", "became-slower", "unused-gpus", "device-efficiency"}, rule) {
			t.Errorf("%s: no line in shippedDecide names a job that it flags", rule)
		}
	}
	var jobs []string
	for _, c := range someJobs() {
		jobs = append(jobs, c.name)
	}
	for rule, line := range shippedDecide {
		if !slices.Contains(rules, rule) {
			t.Errorf("%s is no shipped rule", rule)
		}
		for _, name := range slices.Concat(line.flags, line.cannotTell) {
			if !slices.Contains(jobs, name) {
				t.Errorf("%s: %q is no job", rule, name)
			}
		}
	}
}

// TestRulesOfASite holds who is asked, the shadow, the text and what a failing
// condition comes to.
func TestRulesOfASite(t *testing.T) {
	one := aJob(world(1, 2, 10, alike(4, work(3400, 100))...))
	noAccount := with(aJob(world(1, 2, 10, alike(4, work(3400, 100))...)), func(j *job.Job) { j.Account = "" })
	for _, c := range []struct {
		name, rule string
		job        *job.Job
		want       policy.Outcome
		say        string // reason or text
	}{
		{"everybody", "", one, policy.Flagged, "told anna"},
		{"another partition", `condition = "partition in ['gpu'] and ranks > 1"`, one, policy.Passed, "partition is \"main\", ranks is 4: the condition does not hold"},
		{"not this user", `condition = "user != 'anna' and ranks > 1"`, one, policy.Passed, "user is \"anna\""},
		{"all but another user", `condition = "user != 'boris' and ranks > 1"`, one, policy.Flagged, "told anna"},
		{"account unknown", `condition = "account == 'chem' and ranks > 1"`, noAccount, policy.CannotTell, "account is not known: Slurm has not said it"},
		{"off", "enabled = false", one, policy.NotAsked, "the rule is switched off"},
		{"a GPU was opened", "", aJob(loaded(world(1, 1, 10, work(3400, 100)), job.Load{Ranks: 1, Whole: 1, GPURanks: 1})), policy.CannotTell, "1 rank opened a GPU, and the job's figures are the host's alone"},
		{"GPUs", "", with(aJob(loaded(world(1, 1, 10, work(3400, 100)), job.Load{Ranks: 1, Whole: 1, GPURanks: 1})), func(j *job.Job) { j.GPUs = 2 }), policy.CannotTell, "the job had 2 GPUs, and its figures are the host's alone"},
		{"a job that runs", "", with(aJob(world(1, 1, 10, work(3400, 100))), func(j *job.Job) { j.AsOf, j.End, j.Together = j.End, time.Time{}, true }), policy.NotAsked, "the job runs"},
		{"a job that runs, and is asked about", "while_running = true", with(aJob(world(1, 1, 10, work(3400, 100))), func(j *job.Job) { j.AsOf, j.End, j.Together = j.End, time.Time{}, true }), policy.Flagged, "So far, as of 2026-"},
		{"… for too short a time", "while_running = true\nleast_runtime = \"2h\"", with(aJob(world(1, 1, 10, work(3400, 100))), func(j *job.Job) { j.AsOf, j.End, j.Together = j.Start.Add(time.Hour), time.Time{}, true }), policy.CannotTell, "the job is too short to judge: it ran 01:00:00"},
		{"… with too few of its ranks", "while_running = true", with(aJob(world(1, 1, 10, alike(4, work(3400, 100))...)), func(j *job.Job) {
			j.AsOf, j.End, j.Together = j.End, time.Time{}, true
			j.Executions[0].Size = 5
			j.Metrics = job.JobMetrics(j.Executions)
		}), policy.CannotTell, "too few ranks were recorded"},
		{"… whose nodes tell of several moments", "while_running = true", with(aJob(world(1, 1, 10, work(3400, 100))), func(j *job.Job) { j.AsOf, j.End = j.End, time.Time{} }), policy.CannotTell, "executions is not known: its figures are those up to"},
		{"a node was lost", "", with(aJob(world(1, 1, 10, work(3400, 100))), func(j *job.Job) { j.AsOf = j.Start.Add(time.Minute) }), policy.CannotTell, "executions is not known: its figures are those up to"},
		{"a failing condition", `condition = 'warnings[3] == "x"'`, one, policy.CannotTell, "its condition failed: "},
		{"no figures", `condition = "true"`, one, policy.Flagged, "told anna"},
		{"an unknown field in the text", `text = "{{.account}} {{percent .coverage}}"`, noAccount, policy.Flagged, "? 100 %"},
		{"counts in the text", `text = "{{count .alloc_cores}} of {{count .fastest_cores}}"`,
			with(aJob(world(1, 2, 10, work(1, 1))), func(j *job.Job) { j.CPUs = 4096 }), policy.Flagged, "4,096 of ?"},
		{"a text that fails on it", `text = "{{if gt .core_hours 1.0}}much{{end}}"`,
			with(aJob(world(1, 2, 10, work(1, 1))), func(j *job.Job) { j.CPUs = 0 }), policy.Flagged, "executions is 1: the condition holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "[[rule]]\nname = \"mine\"\n" + c.rule + "\n"
			for key, value := range map[string]string{"condition": `'executions > 0'`, "text": `"told {{.user}}"`} {
				if !strings.Contains(c.rule, key) {
					text += key + " = " + value + "\n"
				}
			}
			rules, err := rulesOf(t, text)
			if err != nil {
				t.Fatal(err)
			}
			all := rules.Judge(c.job, nil)
			v := all[len(all)-1]
			if v.Outcome != c.want || !strings.Contains(v.Reason+"\n"+v.Text, c.say) {
				t.Errorf("got %s, want %s with %q: %+v", v.Outcome, c.want, c.say, v)
			}
		})
	}
}

func TestConfidence(t *testing.T) {
	j := aJob(world(1, 2, 10, alike(4, work(3400, 100))...))
	if v := verdictOf(t, "low-efficiency", j); v.Confidence != policy.Sure || v.Doubts != nil {
		t.Errorf("got %s, %q", v.Confidence, v.Doubts)
	}
	j.Executions[0].Warnings = []doubt.Warning{{Code: doubt.WarnOversubs, Args: doubt.Arguments{N: 4, CPUs: 2, Names: "n1"}}, {Code: doubt.WarnTorn}}
	if v := verdictOf(t, "low-efficiency", j); v.Confidence != policy.Doubtful || strings.Join(v.Doubts, "|") != "4 ranks share 2 CPUs (node n1)" {
		t.Errorf("got %s, %q", v.Confidence, v.Doubts)
	}
}

// TestFigureText: only a fraction from 0.1 to 1 is written as an efficiency.
func TestFigureText(t *testing.T) {
	for v, want := range map[float64]string{0.0996: "0.0996", 0.1: "0.10", 0.5996: "0.59", 1: "1.00", 1.004: "1.00", 25.04: "25.0"} {
		if got := textOf(policy.Figure{Name: "x", Value: v}, []float64{0.6}); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// verdictOf is what one shipped rule says of a job.
func verdictOf(t *testing.T, rule string, j *job.Job) policy.Verdict {
	t.Helper()
	all := shippedRules(t).Judge(j, nil)
	i := slices.IndexFunc(all, func(v policy.Verdict) bool { return v.Rule == rule })
	if i < 0 {
		t.Fatalf("no rule %s", rule)
	}
	return all[i]
}
