package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/wire"
	"jobeff/policy"
	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/policy/slow"
	"jobeff/policy/workload"
	"jobeff/report/view"
	"jobeff/report/words"
)

// hostileHours are sums of names that mean harm.
func hostileHours() (rows []listing.NamedHours) {
	for i, name := range []string{"chem", "", "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "a&account=b", "\x1b[31mred", "\u202egnp.exe", "bio"} {
		rows = append(rows, listing.NamedHours{Name: name, Hours: listing.Hours{Jobs: 10 - i, Measured: 5, Used: 100, Judged: float64(50 * (i % 3)), Lost: float64(7 * (i % 3))}})
	}
	return rows
}

func jobHTML(t testing.TB, j *job.Job) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pageOf(&b, j, nil, shippedVerdicts(t, j), Links{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJobPages(t *testing.T) {
	for name, j := range fixtures() {
		t.Run(name, func(t *testing.T) {
			shown := jobHTML(t, ranked(j))
			checkPage(t, shown)
			switch name {
			case "bad", "hostile", "no-mpi":
				golden(t, "job-"+name+".html", shown)
			}
		})
	}
}

// placed is the bad job as the newest run of a workload that scales no further.
func placed(t testing.TB) (*job.Job, *workload.Study) {
	t.Helper()
	j, w := ranked(fixtures()["big"]), workloads()["scales"]
	j.JobID, j.DisplayID, j.CPUs, j.Elapsed, j.Nodes, j.Reports = 9, "9", 512, sec(139), 16, 16
	study := workload.NewStudy(w, j, began, curve.Settings{})
	if study.Mine == nil {
		t.Fatal(study.NotMine())
	}
	return j, study
}

func placedHTML(t testing.TB) []byte {
	t.Helper()
	j, study := placed(t)
	var b bytes.Buffer
	runs := study.Workload.Runs
	if err := PageOfJob(&b, view.NewJob(&listing.JobAndWorkload{Job: j, Before: &runs[0], After: &runs[1]}, study, shippedVerdicts(t, j), true), siteLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func workloadHTML(t testing.TB, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := PageOfWorkload(&b, view.NewWorkload(workload.NewStudy(workloads()[name], nil, began, curve.Settings{}), true), siteLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func proposalHTML(t testing.TB, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	study := workload.NewStudy(workloads()[name], nil, began, curve.Settings{})
	if err := PageOfProposal(&b, words.OfProposal(study, policy.RequestOf(study), "0.1.0")); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wrongHTML is the page that asks whether a notice was wrong, or shows that it was said to be.
func wrongHTML(t testing.TB, said string) []byte {
	t.Helper()
	told := listing.Told{UID: 1001, User: "anna", At: began, Rule: "low-efficiency", Job: "4711", Name: nasty, Wrong: said}
	if said != "" {
		told.WrongAt = began
	}
	var b bytes.Buffer
	if err := PageOfWrong(&b, words.OfWrong(&told), siteLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWordsAreWhole: what somebody said of a notice is shown whole: it is no name.
func TestWordsAreWhole(t *testing.T) {
	said := strings.Repeat("ä word ", 60) + "<b>the end"
	if text := pageText(string(wrongHTML(t, said))); !strings.Contains(text, said) {
		t.Errorf("not all of it: %s", text)
	}
}

func jobsHTML(t testing.TB, jobs []job.Job) []byte {
	t.Helper()
	var b bytes.Buffer
	p := &words.JobsPage{Own: true, Others: true, Query: listing.JobQuery{Name: `"><script>`, User: "\x1b[31mx", Rule: "no-such", Start: began, Sort: "-pe", Offset: 50, Limit: 50}, Lines: listing.LinesOf(jobs), More: true,
		All: listing.Selected{Sum: &listing.Hours{Jobs: len(jobs), Used: 6766, Judged: 100, Lost: 12.4}, Unjudged: 31}, Rules: []string{"low-efficiency", "idle-ranks"}}
	if len(jobs) > 0 {
		p.Lines, p.All.Sum.Jobs = append(p.Lines, arrayLine()), len(jobs)+12
	}
	for i := range jobs {
		p.Workloads = append(p.Workloads, listing.WorkloadSummary{Name: jobs[i].Name + "-3fa2c1", Key: []string{"3fa2c1aabbccddeeff00", "", "../x?y=\"><b>"}[i%3]})
	}
	p.Workloads = append(p.Workloads, make([]listing.WorkloadSummary, len(p.Lines)-len(jobs))...) // an array has none
	if err := PageOfList(&b, words.OfJobs(p), listLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sumsHTML(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	p := &words.SumsPage{Of: "account", Counted: "job", Heading: "Accounts", Span: "Jobs of a year", Query: listing.JobQuery{Start: began, Sort: "lost", Limit: 5}, Rows: hostileHours(), Monthly: true,
		Link: func(name string) string { return "jobs?" + listing.JobQuery{Account: name}.Values().Encode() }}
	if err := PageOfList(&b, words.OfSums(p), listLinks); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWorkloadPages(t *testing.T) {
	for name := range workloads() {
		t.Run(name, func(t *testing.T) {
			proposal := proposalHTML(t, name)
			checkPage(t, proposal)
			if name == "scales" {
				golden(t, "proposal-scales.html", proposal)
			}
			shown := workloadHTML(t, name)
			checkPage(t, shown)
			switch name {
			case "scales", "sections", "hostile":
				golden(t, "workload-"+name+".html", shown)
			}
		})
	}
}

// TestPlacedPage: a job's page shows the curve of its workload, and what core count
// would have been better.
func TestPlacedPage(t *testing.T) {
	shown := placedHTML(t)
	checkPage(t, shown)
	for _, want := range []string{"n_eff 114", "would have taken", `href="../workloads/3fa2c1aabbccddeeff00"`, "Run time of lmp-3fa2c1 over cores",
		`<pre class="copy">sbatch --nodes=`, `href="../jobs/9/compare"`, "The run before", "The run after"} {
		if !bytes.Contains(shown, []byte(want)) {
			t.Errorf("no %q", want)
		}
	}
}

// TestSavedPages: a page in a file, also of a job with neighbours in its workload, has no link that leads nowhere.
func TestSavedPages(t *testing.T) {
	saved := func(write func(io.Writer) error) {
		t.Helper()
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		checkSaved(t, b.Bytes())
	}
	for _, j := range fixtures() {
		checkSaved(t, jobHTML(t, ranked(j)))
	}
	j, study := placed(t)
	runs := study.Workload.Runs
	saved(func(w io.Writer) error {
		return PageOfJob(w, view.NewJob(&listing.JobAndWorkload{Job: j, Before: &runs[0], After: &runs[1]}, study, shippedVerdicts(t, j), true), Links{})
	})
	for _, one := range workloads() {
		saved(func(w io.Writer) error {
			return PageOfWorkload(w, view.NewWorkload(workload.NewStudy(one, nil, began, curve.Settings{}), true), Links{})
		})
	}
	for _, one := range comparisons(t) {
		saved(func(w io.Writer) error { return PageOfComparison(w, view.NewComparison(one, true), Links{}) })
	}
	saved(func(w io.Writer) error { return PageOfArray(w, viewOfArray(arrayTasks(), true, true), Links{}) })
}

func TestJobsPage(t *testing.T) {
	shown := jobsHTML(t, fixtureList())
	checkPage(t, shown)
	if !bytes.Contains(shown, []byte(`<a href="jobs/4711">4711</a>`)) {
		t.Error("no link to job 4711")
	}
	for _, want := range []string{`value="&#34;&gt;&lt;script&gt;"`, `<option value="no-such" selected>`, `<a href="workloads/3fa2c1aabbccddeeff00">`, "Total of 22 jobs: 6,766 core-hours used; 12.4 lost of 100 that were judged (12 %)",
		`aria-sort="ascending"><a href="?`, "offset=61", "least parallel efficiency first", `<a href="jobs">All jobs</a>`,
		`<form class="find" method="get" action="jobs"`, `<a href="jobs/900">900</a>`, `job=900&amp;`, `tasks=1&amp;`, `>12 tasks: 8 CD, 1 F, 3 more</a>`, `<option value="1">has a line for each task</option>`} {
		if !bytes.Contains(shown, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
	golden(t, "jobs.html", shown)
	if shown := jobsHTML(t, nil); !bytes.Contains(shown, []byte("There are no such jobs in this time")) || !bytes.Contains(shown, []byte("have not judged 31 yet")) || bytes.Contains(shown, []byte("Total of")) {
		t.Errorf("an empty list says nothing:\n%s", shown)
	}
}

// TestSitePages: names of accounts, programs, users and nodes are text, whatever they are, and every row has what
// belongs to it.
func TestSitePages(t *testing.T) {
	shown := sumsHTML(t)
	checkPage(t, shown)
	golden(t, "sums.html", shown)
	for name, write := range map[string]func(io.Writer) error{
		"workloads": func(w io.Writer) error {
			all := []listing.WorkloadSummary{{Key: "3fa2c1aabbccddeeff00", Name: "<b>lj", Runs: 3, FewestCores: 1, MostCores: 512, CoreHours: 12.4, Lost: 3,
				Newest: job.Run{DisplayID: "7_3", User: "<i>", Executable: "/opt/=cmd", Start: began}, Mute: &job.Mute{Until: began}}}
			return PageOfList(w, words.OfWorkloadsPage(listing.JobQuery{Start: began, Sort: "lost", Limit: 1}, all, true, true), listLinks)
		},
		"nodes": func(w io.Writer) error {
			nodes := []listing.Node{{NodeOutbox: listing.NodeOutbox{Node: "silent"}, Heard: began.Add(-50 * time.Hour)}, {NodeOutbox: listing.NodeOutbox{Node: "n<1>"}, Heard: began},
				{NodeOutbox: listing.NodeOutbox{Node: "lossy", OutboxState: wire.OutboxState{Waiting: 2, Oldest: 3 * time.Hour, Lost: 4}}, Heard: began, Said: began}}
			look := &listing.SlowNodes{At: began, Observed: 3, Nodes: []slow.Slow{{Machine: slow.Machine{Node: "silent"}, Slower: 1.051, Low: 1.038, High: 1.0613}}}
			return PageOfList(w, words.OfNodes(listing.JobQuery{Limit: 2}, nodes, look, began), listLinks)
		},
		"notices": func(w io.Writer) error {
			told := listing.Told{At: began, User: "<u>", Name: "lj", Workload: "3fa2c1aabbccddeeff00", Rule: "past-inflexion", Job: "9", Jobs: 3, Lost: 12, Cores: 512, Advised: 128}
			muted := told
			muted.Muted, muted.Advised, muted.Cleared, muted.WrongAt = true, 0, began, began
			saved, unsure := curve.Estimate{Value: 5, Low: 4, High: 6}, curve.Estimate{Value: 74.9, Low: -34.3, High: 184}
			return PageOfList(w, words.OfNotices(listing.JobQuery{Start: began, Limit: 50}, []words.NoticeRow{{Told: told}, {Told: muted}, {Told: told, Followed: &workload.Followed{Count: 12, Cores: 128, Level: .9, Ever: workload.Saved{Mix: saved}}},
				{Told: told, Followed: &workload.Followed{Count: 1, Cores: 64, Level: .9, Ever: workload.Saved{Mix: unsure}}}}, false), listLinks)
		},
		"digests": func(w io.Writer) error {
			return PageOfList(w, words.OfDigests("of all accounts", []words.Week{{Name: "2026-W46", Link: "digest?week=2026-W46", From: began, To: began.AddDate(0, 0, 7)}}), listLinks)
		},
		"refusal": func(w io.Writer) error {
			return PageOfRefusal(w, words.OfRefusal("Not Found", "<script> was not found", "\x1b"), siteLinks)
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(name, err)
		}
		checkPage(t, b.Bytes())
		text := pageText(b.String())
		for _, want := range map[string][]string{
			"workloads": {"<b>lj <i> =cmd 3 1 to 512 12.4 3.00", "7_3", "Next page"},
			"nodes":     {"lossy", "2 3 hours 0 0 4 -", "silent", "5.1 % longer (3.8 to 6.2 %)", "2 days", "3 nodes.", "Next page"},
			"notices": {"cannot tell: no runs to compare", "not told: muted; told that it is better on 2026-11-20; said to be wrong on 2026-11-20", "12 runs since, most on 128 cores; 5.00 core-hours saved (90 %: 4.00 to 6.00)",
				"1 run since, most on 64 cores; 74.9 core-hours saved, but not surely (90 %: 34.3 more to 184 saved)"},
			"digests": {"2026-W46"},
			"refusal": {"<script> was not found", `\x1b`},
		}[name] {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if name == "nodes" && strings.Contains(text, "n<1>") {
			t.Error("the node without trouble comes first")
		}
	}
}

// TestPageSaysWhatTheTerminalSays looks for the figures that matter in both.
func TestPageSaysWhatTheTerminalSays(t *testing.T) {
	for name, wants := range map[string][]string{
		"bad":    {"62 % of the time", "parallel efficiency 0.62", "MPI_Allreduce", "3 on n2", "below 0.80", "COMPLETED"},
		"killed": {"It ran up to the time limit", "3 of 4 ranks were recorded", "nodes_missing", "signal 15 (SIGTERM)", "TIMEOUT"},
		"no-mpi": {"no process called MPI_Init"},
		"off":    {"asked by the job (--jobeff=off)"},
		"five":   {"5. program lmp"},
	} {
		if name == "bad" {
			wants = []string{"parallel efficiency 0.62", "MPI_Allreduce", "rank 3, n2", "below 0.80", "COMPLETED", "2.0 KiB"}
		}
		shown := string(jobHTML(t, ranked(fixtures()[name])))
		for _, want := range wants {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
}

// TestEveryWarningStandsOnThePage is TestEveryWarningIsShown for the page.
func TestEveryWarningStandsOnThePage(t *testing.T) {
	j := fixtures()["five"]
	j.Warnings = []doubt.Warning{{Code: "one"}}
	j.Executions[4].Warnings = []doubt.Warning{{Code: "five", Count: 3}}
	j.Metrics = nil
	shown := string(jobHTML(t, j))
	for _, want := range []string{"one <code>one</code>", "five (3 times) <code>five</code>"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestHugePage holds what a page of ten thousand ranks weighs; what it takes is
// BenchmarkJobPage's.
func TestHugePage(t *testing.T) {
	j, verdicts := huge(), shippedVerdicts(t, huge())
	var b bytes.Buffer
	if err := pageOf(&b, j, nil, verdicts, Links{}); err != nil {
		t.Fatal(err)
	}
	checkPage(t, b.Bytes())
	if b.Len() > 200<<10 {
		t.Errorf("%d bytes", b.Len())
	}
}

func FuzzJobPage(f *testing.F) {
	for _, j := range fixtures() {
		b, err := json.Marshal(ranked(j))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var j job.Job
		if json.Unmarshal(b, &j) == nil {
			checkPage(t, jobHTML(t, &j))
		}
	})
}

// BenchmarkJobPage is the page of a common job, and of one of ten thousand ranks,
// with the rules asked.
func BenchmarkJobPage(b *testing.B) {
	b.Run("placed", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(len(placedHTML(b))), "bytes")
		}
	})
	for name, j := range map[string]*job.Job{"bad": ranked(fixtures()["bad"]), "big": ranked(fixtures()["big"]), "huge": huge()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(len(jobHTML(b, j))), "bytes")
			}
		})
	}
}
