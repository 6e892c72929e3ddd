package report

import (
	"bytes"
	"errors"
	"html/template"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/wire"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/harm"
	"jobeff/policy/rule"
	"jobeff/policy/slow"
	"jobeff/report/view"
	"jobeff/report/words"
)

func TestChecks(t *testing.T) {
	eachView(t, "checks", func(w io.Writer, opts Options) error {
		return TextOfChecks(w, words.OfChecks([]words.Check{
			{Status: words.OK, What: "config", Found: "/etc/jobeff/jobeff.toml"},
			{Status: words.Warn, What: "switch", Found: "/etc/jobeff/off is there", Mend: "rm /etc/jobeff/off"},
			{Status: words.Fail, What: "library", Found: nasty, Mend: "install it"},
		}, opts.Unicode), opts)
	})
}

func TestMutesViews(t *testing.T) {
	long := strings.Repeat("because it is so, ", 9)
	list := &listing.WorkloadList{More: true}
	for _, name := range []string{"lmp-3fa2c1", nasty} {
		list.Workloads = append(list.Workloads, listing.WorkloadSummary{Name: name, Newest: job.Run{User: "anna"}, Mute: &job.Mute{Until: began, Reason: long + name}})
	}
	eachView(t, "mutes", func(w io.Writer, opts Options) error {
		return TextOfPart(w, words.OfMutes(list, opts.Unicode), opts)
	})
}

// TestRulesViews: what a site sees of its rules.
func TestRulesViews(t *testing.T) {
	rules := shippedRules(t)
	examples, err := rules.ReadExamples("examples.toml", []byte(`
[[example]]
name = "\u001b[31m waits"
expect = { low-efficiency = "passed", singletons = "passed" }
[example.job]
ranks = 64
runtime = 7200
core_hours = 128
coverage = 1
parallel_efficiency = 0.5
singletons = 0
`))
	if err != nil {
		t.Fatal(err)
	}
	tried := []words.Tried{{Example: examples[0], Wrong: rules.Try(&examples[0])}}
	if len(tried[0].Wrong) != 1 {
		t.Fatalf("%+v", tried[0].Wrong)
	}
	eachView(t, "examples", func(w io.Writer, opts Options) error {
		return TextOfExamples(w, words.OfExamples(tried, opts.Unicode), opts)
	})
	eachView(t, "fields", func(w io.Writer, opts Options) error {
		return TextOfFields(w, words.OfFields(policy.AllFields(), rule.Functions()), opts)
	})
}

func TestColumns(t *testing.T) {
	var out bytes.Buffer
	if err := TextOfColumns(&out, words.AllColumns()); err != nil {
		t.Fatal(err)
	}
	golden(t, "columns.txt", out.Bytes())
}

// TestCoverageViews: of a large site, a partition with a hostile name, a month of which retention removed jobs. Where
// nothing is known, no share is told.
func TestCoverageViews(t *testing.T) {
	november := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	l := &listing.Ledger{From: november.AddDate(0, -1, 0), To: november.AddDate(0, 1, 0), Read: november.AddDate(0, 0, 20)}
	line := func(months int, partition, class string, why doubt.Warning, jobs int64, hours float64) {
		one := listing.NewLedgerLine(november.AddDate(0, months, 0), partition, class, why)
		one.Jobs, one.Used = jobs, job.CoreTime(hours*job.CoreHour)
		l.Lines = append(l.Lines, one)
	}
	none := doubt.Warning{}
	off := func(why string) doubt.Warning {
		return doubt.Warning{Code: doubt.WhyOff, Args: doubt.Arguments{Name: why}}
	}
	line(0, "main", listing.ClassRanks, none, 9000, 71_234_567)
	line(0, "main", listing.ClassThreads, none, 2000, 12_345_678)
	line(0, "main", listing.ClassMemory, doubt.NewWarning(doubt.WhyNoMPI, 3), 40_000, 1_234_567)
	line(0, nasty, listing.ClassSlurm, doubt.NewWarning(doubt.WhyNoReport, 0), 12, 4_000_000)
	line(0, nasty, listing.ClassMemory, doubt.NewWarning(doubt.WhyNoReport, 0), 1, 500_000)
	line(0, "gpu", listing.ClassMemory, off("libjobeff.so is missing on this node"), 7, 300)
	line(0, "gpu", listing.ClassMemory, off("not among the jobs that the site measures, 1 % of all (measure.share)"), 1, 9000)
	line(0, "gpu", listing.ClassSlurm, doubt.NewWarning(doubt.WhyNoReport, 0), 3, 0) // they never began
	line(-1, "", listing.ClassMemory, doubt.Warning{}, 1, 0.5)
	line(-1, "main", listing.ClassRemoved, doubt.NewWarning(doubt.WhyRemoved, 0), 1000, 20_000)
	l.GPUs = &listing.GPULedger{Used: 3600e9, Known: 3600e8, Idle: 3600e7, Unknown: map[string]job.CoreTime{"": 3600e8 * 2, job.GPUMIG: 3600e8 * 6, listing.ClassRemoved: 3600e8}}
	eachView(t, "coverage", func(w io.Writer, opts Options) error {
		return TextOfAnswer(w, view.NewCoverage(l, opts.Unicode).Words, opts)
	})
	lines := l.Lines
	for want, of := range map[string]listing.Ledger{
		"The core-hours are not known: jobeffd has not read sacct. Its log says why.":                    {From: l.From, To: l.To},
		"No job ended from 2026-10-01 00:00 to 2026-12-01 00:00, UTC.":                                   {From: l.From, To: l.To, Read: l.Read},
		"The jobs that ended from 2026-10-01 00:00 to 2026-12-01 00:00, UTC used no core-hours.":         {From: l.From, To: l.To, Lines: lines[7:8]},
		"Retention removed jobs of a month of which this time is a part: they are left out. Ask for":     {From: l.From, To: l.To, Read: l.Read, Lines: lines[:1], Cut: true},
		"100 % of 71,234,567 core-hours were measured, of jobs that ended from 2026-10-01":               {From: l.From, To: l.To, Lines: lines[:1]},
		"0 % of 20,000 core-hours were measured, of jobs that ended from 2026-10-01 00:00 to 2026-12-01": {From: l.From, To: l.To, Lines: lines[9:]},
	} {
		var out bytes.Buffer
		if err := TextOfAnswer(&out, view.NewCoverage(&of, true).Words, Options{Width: 100}); err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%v, no %q in\n%s", err, want, &out)
		}
	}
}

// TestCostViews: an interval, and each reason why there is none; runs with hostile names; what is not known is said.
func TestCostViews(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	c := &listing.Cost{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), Looked: 83,
		Times: harm.Slowdown{Measured: 412, Others: 380, Figures: 405, Works: 31, Users: 14, Time: at(.0008), TimeLow: at(-.0093), TimeHigh: at(.0108), Level: .9, Needed: 12_345},
		Busiest: []listing.BusyRun{{Job: "1234567_12", Program: "/apps/lammps/bin/lmp", Ranks: 128, OnNode: 64, Rate: 84_321, Part: 84_321 * listing.CallSeconds},
			{Job: "8", Program: "/home/eve/" + nasty, Ranks: 1, OnNode: 1, Rate: .25, Part: .25 * listing.CallSeconds}},
		Reports: 28_000, Kept: 27_000, Bytes: 27_000 * 5400, Largest: 1 << 20, Daemon: &listing.DaemonTime{CPU: 12.5, Up: 6 * 3600}}
	eachView(t, "cost", func(w io.Writer, opts Options) error {
		return TextOfAnswer(w, view.NewCost(c, opts.Unicode).Words, opts)
	})
	if v := view.NewCost(c, true); math.Abs(v.NodesCPU-9.6) > 1e-9 || *v.DaemonCPU != 50 {
		t.Errorf("%+v", v)
	}
	for want, change := range map[string]func(c *listing.Cost){
		"Measured jobs took between +0.12 % and +0.98 % more time than others of the same work (90 %): measuring most likely slows them down.": func(c *listing.Cost) { c.Times.TimeLow, c.Times.TimeHigh = at(.0012), at(.0098) },
		"between -0.98 % and -0.12 % more time than others of the same work (90 %): they were faster.":                                         func(c *listing.Cost) { c.Times.TimeLow, c.Times.TimeHigh = at(-.0098), at(-.0012) },
		"precise to 0.25 % either way, or better":                                                                 func(c *listing.Cost) { c.Times.Needed = 792 },
		"precise to 0.25 % either way with about 793 jobs in the same mix":                                        func(c *listing.Cost) { c.Times.Needed = 793 },
		"Whether measured jobs take longer: cannot tell, because all jobs are measured: there are no others":      func(c *listing.Cost) { c.Times = harm.Slowdown{Cannot: harm.AllMeasured} },
		"Whether measured jobs take longer: cannot tell, because no job is measured.":                             func(c *listing.Cost) { c.Times = harm.Slowdown{Cannot: harm.NoneMeasured} },
		"cannot tell, because fewer than 20 measured jobs, or fewer than 20 others, completed whose user, name,":  func(c *listing.Cost) { c.Times = harm.Slowdown{Cannot: harm.FewAlike, Measured: 3, Others: 70} },
		"compared 3 measured jobs and 70 others, in":                                                              func(c *listing.Cost) { c.Times = harm.Slowdown{Cannot: harm.FewAlike, Measured: 3, Others: 70} },
		"cannot tell, because jobs that the share leaves alone have figures: nodes measure another share":         func(c *listing.Cost) { c.Times = harm.Slowdown{Cannot: harm.OtherShare} },
		"Only the first 500,000 jobs were compared.":                                                              func(c *listing.Cost) { c.Times.Full = true },
		"reports none records 4.0 KiB of memory on each node, and 32.0 KiB for each rank, without windows sender": func(c *listing.Cost) { c.Reports, c.Kept, c.Busiest = 0, 0, nil },
		"reports 1,000 a day records":                                                                             func(c *listing.Cost) { c.Kept = 0 },
		"jobeffd 12.5 s of CPU time since it began 59 minutes ago Of":                                             func(c *listing.Cost) { c.Daemon = &listing.DaemonTime{CPU: 12.5, Up: 3599} },
		"jobeffd not known": func(c *listing.Cost) { c.Daemon = nil },
	} {
		of := *c
		change(&of)
		var out bytes.Buffer
		if err := TextOfAnswer(&out, view.NewCost(&of, true).Words, Options{Width: 100}); err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%v, no %q in\n%s", err, want, &out)
		}
	}
}

// TestStatusViews: on a quiet day nothing needs a hand; on a bad one all that does is said first, with what helps. They
// fit a screen, as a text and as a page.
func TestStatusViews(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	line := listing.NewLedgerLine(time.Time{}, "", listing.ClassRanks, doubt.Warning{})
	line.Jobs, line.Used = 90, job.CoreTime(900*job.CoreHour)
	quiet := &listing.Status{At: at, Read: at, Nodes: 240, Quiet: 3, Health: listing.Health{Known: []listing.LedgerLine{line}, Late: 1, Reports: 500,
		SlowNodes: &listing.SlowNodes{At: at.Add(-6 * time.Hour), Observed: 231}},
		Comparison: &harm.Comparison{Users: 14, Measured: 780, Others: 770, OneIn: 20}, Times: &harm.Slowdown{Cannot: harm.AllMeasured}}
	hole := listing.NewLedgerLine(time.Time{}, "", listing.ClassSlurm, doubt.NewWarning(doubt.WhyNoReport, 0))
	hole.Jobs, hole.Used = 10, job.CoreTime(100*job.CoreHour)
	bad := &listing.Status{At: at, Damaged: true, Doubt: "COMMIT waits for no standby", Hint: "set synchronous_standby_names", Nodes: 1, Quiet: 1,
		Alarms: []harm.Alarm{{Kind: harm.AlarmCrashed, From: at.AddDate(0, 0, -9), At: at, Measured: 500, MeasuredBad: 20, Others: 490, OthersBad: 1, Jobs: []uint32{7, 8}}},
		Health: listing.Health{Known: []listing.LedgerLine{line, hole}, Partial: 1, NodesMissed: 2, PrologFailed: 3, Late: 100, Reports: 500, Silent: []string{"n1", nasty}, Unsent: 4,
			Outboxes: []listing.NodeOutbox{{Node: "n7", OutboxState: wire.OutboxState{Refused: 2, Waiting: 3, Oldest: 2 * time.Hour}}}}}
	slower := slow.Slow{Machine: slow.Machine{Cluster: "c", Node: "n17"}, Slower: 1.051, Low: 1.038, High: 1.0613, Since: at.AddDate(0, -1, 0), Jobs: 34, Users: 5, Days: 20}
	hostile := slower
	hostile.Node, hostile.Slower, hostile.High = nasty, 2.34, 3.5
	slowed := *quiet
	slowed.Health.SlowNodes = &listing.SlowNodes{At: at.Add(-6 * time.Hour), Observed: 231, Nodes: []slow.Slow{slower, hostile, slower, slower, slower}}
	for name, c := range map[string]struct {
		of    *listing.Status
		lines int
		first string
		hands int
	}{"status": {quiet, 24, "Nothing needs a hand today.", 0}, "status-slow": {&slowed, 32, "1 thing needs a hand today.", 1}, "status-bad": {bad, 40, "13 things need a hand today.", 13}} {
		eachView(t, name, func(w io.Writer, opts Options) error {
			return TextOfAnswer(w, view.NewStatus(c.of, opts.Unicode).Words.Answer, opts)
		})
		v := view.NewStatus(c.of, true)
		var text, page bytes.Buffer
		if err := errors.Join(TextOfAnswer(&text, v.Words.Answer, Options{Width: 80}), PageOfStatus(&page, v, listLinks)); err != nil {
			t.Fatal(err)
		}
		checkPage(t, page.Bytes())
		if n := strings.Count(text.String(), "\n"); n > c.lines || !strings.HasPrefix(text.String(), c.first+"\n") || len(v.Hands) != c.hands || !strings.Contains(page.String(), ">"+c.first+"<") {
			t.Errorf("%d lines, %d hands\n%s", n, len(v.Hands), &text)
		}
		for i, h := range v.Hands {
			if h.Mend == "" || h.Text == "" || i < 10 && !strings.Contains(page.String(), template.HTMLEscapeString(h.Mend)) || i == 0 && len(c.of.Alarms) > 0 && !strings.HasPrefix(h.Text, "ALARM: ") {
				t.Errorf("%+v", h)
			}
		}
	}
}
