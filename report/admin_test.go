package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/rule"
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
