package doubt_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/policy/doubt"
)

// TestWarningTexts: each code has a text, with its figures where it has some.
func TestWarningTexts(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		code string
		args doubt.Arguments
		want string
	}{
		{"of a later version", doubt.Arguments{N: 3}, "of a later version"},
		{doubt.WarnOversubs, doubt.Arguments{N: 9, CPUs: 1, Of: 6, Names: "n1,n2,n3,n4"}, "9 ranks share 1 CPU (nodes n1, n2, n3, n4 and 2 more are one machine)"},
		{doubt.WarnThreadsCounted, doubt.Arguments{N: 1, Of: 1}, "the rank had busy threads that do not call MPI, although nothing in the environment asks for them: the efficiencies speak of MPI only"},
		{doubt.WarnThreadsCounted, doubt.Arguments{N: 4, Of: 4}, "all 4 ranks had busy threads that do not call MPI, although nothing in the environment asks for them: the efficiencies speak of MPI only"},
		{doubt.WarnContention, doubt.Arguments{N: 4, Of: 2, CPUs: 1, Name: "3"}, "4 busy threads of 2 ranks share CPU 3: useful time contains waiting for a CPU (srun --cpu-bind=cores, -c)"},
		{doubt.WarnContention, doubt.Arguments{Time: 6 * s, OfTime: 100 * s}, "busy threads waited for a CPU in 6 % of their time: useful time contains this waiting (other programs on the cores, too few CPUs, or a CPU limit)"},
		{doubt.WarnSlept, doubt.Arguments{Time: 11 * s, OfTime: 100 * s}, "outside MPI, ranks used no CPU in at least 11 % of their time, and did not wait for one: they slept, or waited for a file or a device"},
		{doubt.WarnCPUOver, doubt.Arguments{Kind: doubt.KindShort}, "Slurm counted more CPU time than the job's cores have: its times are whole seconds, and the job was short"},
		{doubt.WarnOutboxFull, doubt.Arguments{}, "the report was dropped on a node: its spool was full"},
		{doubt.WarnOutboxFull, doubt.Arguments{N: 2, Names: "n1,n2"}, "the report of this job was dropped on n1 and n2: their spools were full"},
		{doubt.WarnNodesMissing, doubt.Arguments{N: 0, Of: 1}, "0 of 1 node has reported"},
		{doubt.WarnImpossible, doubt.Arguments{Other: "a time is negative"}, "figures of an MPI program were refused, since they cannot be: a time is negative"},
		{doubt.WarnUnreadable, doubt.Arguments{Kind: doubt.KindFile, Name: "job", Other: "not root's"}, `the job's file "job" was not read: not root's`},
		{doubt.WarnUnreadable, doubt.Arguments{Other: "no memory"}, "the record was not read: no memory"},
		{doubt.WarnSectionExit, doubt.Arguments{}, "a section was left before the section inside it"},
		{doubt.WarnPart, doubt.Arguments{Kind: doubt.KindHet, Name: "5+1", Names: "5+0,5+2"}, "this is 5+1, a part of a het job: see also 5+0, 5+2"},
	} {
		if got := doubt.Text(doubt.Warning{Code: c.code, Args: c.args}); got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
	source, err := os.ReadFile("warnings.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`\t(?:Warn|Why)\w+ += "(\w+)"`).FindAllSubmatch(source, -1)
	none := slices.DeleteFunc(codes, func(c [][]byte) bool { return doubt.Text(doubt.NewWarning(string(c[1]), 0)) != string(c[1]) })
	if len(none) > 0 {
		t.Errorf("without a text: %s", none)
	}
}

// TestReasons: reasons are told apart by code and kind alone, whatever a node wrote. What spank writes has a kind.
func TestReasons(t *testing.T) {
	off := func(name string) doubt.Warning {
		return doubt.Warning{Code: doubt.WhyOff, Args: doubt.Arguments{Name: name}}
	}
	kind := func(code, kind string) doubt.Warning {
		return doubt.Warning{Code: code, Args: doubt.Arguments{Kind: kind}}
	}
	for _, c := range []struct {
		why, want doubt.Warning
		hole      bool
	}{
		{off("asked by the job (--jobeff=off)"), kind(doubt.WhyOff, doubt.KindJob), false},
		{off("asked by the step (JOBEFF=off)"), kind(doubt.WhyOff, doubt.KindJob), false},
		{off("the step preloads a libjobeff.so of its own"), kind(doubt.WhyOff, doubt.KindJob), false},
		{off("not among the jobs that the site measures, 0.1 % of all (measure.share)"), kind(doubt.WhyOff, doubt.KindShare), false},
		{off("the site does not measure partition (x) (measure.partitions, measure.exclude_partitions)"), kind(doubt.WhyOff, doubt.KindSite), false},
		{off("the site measures no jobs at present (measure.enabled)"), kind(doubt.WhyOff, doubt.KindSite), false},
		{off("switched off on this node (/etc/jobeff/off)"), kind(doubt.WhyOff, doubt.KindNode), false},
		{off("libjobeff.so is missing on this node"), kind(doubt.WhyOff, doubt.KindLibrary), true},
		{off("no prolog told whether the site measures this job"), kind(doubt.WhyOff, doubt.KindFailed), true},
		{off("jobeff.toml:3: unknown key measure.shar"), kind(doubt.WhyOff, doubt.KindFailed), true},
		{doubt.Warning{Code: doubt.WhyNoReport, Args: doubt.Arguments{Kind: doubt.KindFailed, Name: "NODE_FAIL"}}, kind(doubt.WhyNoReport, doubt.KindFailed), false},
		{doubt.Warning{Code: doubt.WhyNoReport}, kind(doubt.WhyNoReport, ""), true},
		{doubt.Warning{Code: doubt.WhyNoMPI, Args: doubt.Arguments{Kind: doubt.KindContainer, Name: "0"}}, kind(doubt.WhyNoMPI, doubt.KindContainer), false},
		{doubt.Warning{Code: doubt.WarnOutboxFull, Args: doubt.Arguments{N: 2, Names: "n1,n2"}, Count: 2}, kind(doubt.WarnOutboxFull, ""), true},
		{doubt.Warning{Code: doubt.WarnUnreadable, Args: doubt.Arguments{Kind: "made up", Other: "x"}}, kind(doubt.WarnUnreadable, ""), true},
		{doubt.Warning{Code: "made up"}, doubt.Warning{}, false},
	} {
		got := doubt.Reason(c.why)
		if got != c.want || doubt.Hole(got) != c.hole || doubt.Reason(got) != got {
			t.Errorf("%+v: %+v, a hole: %v", c.why, got, doubt.Hole(got))
		}
		if text := doubt.Text(got); got.Code != "" && (text == got.Code || strings.Contains(text, "  ") || strings.HasSuffix(text, " ") || strings.HasSuffix(text, ":")) {
			t.Errorf("%+v: %q", got, text)
		}
	}
	step, err := os.ReadFile("../../spank/step.c")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`return "([^"]+)";`).FindAllSubmatch(bytes.ReplaceAll(step, []byte(`" JE_KILL_SWITCH "`), []byte("/etc/jobeff/off")), -1)
	for _, m := range found {
		unknown := strings.HasPrefix(string(m[1]), "no prolog") || string(m[1]) == "the job is not measured"
		if r := doubt.Reason(off(string(m[1]))); (r.Args.Kind == doubt.KindFailed) != unknown {
			t.Errorf("sums count %q as %q", m[1], r.Args.Kind)
		}
	}
	if len(found) < 7 {
		t.Errorf("spank/step.c has only %d reasons", len(found))
	}
}
