package report

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/rule"
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
	eachView(t, "coverage", func(w io.Writer, opts Options) error {
		return TextOfCoverage(w, view.NewCoverage(l, opts.Unicode), opts)
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
		if err := TextOfCoverage(&out, view.NewCoverage(&of, true), Options{Width: 100}); err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%v, no %q in\n%s", err, want, &out)
		}
	}
}
