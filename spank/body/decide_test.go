package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jobeff/etc"
	"jobeff/ingest/job"
	"jobeff/ingest/node"
	"jobeff/policy/doubt"
)

func TestDecide(t *testing.T) {
	some := func(change func(*etc.Measure)) etc.Measure {
		m := etc.Default().Measure
		change(&m)
		return m
	}
	shipped := etc.Default().Measure
	for name, c := range map[string]struct {
		measure etc.Measure
		asked   asked
		want    string // beginning of the decision
	}{
		"shipped":           {shipped, asked{jobID: 1, partition: "main"}, "on"},
		"partition unknown": {shipped, asked{jobID: 1}, "on"},
		"kill switch first": {shipped, asked{killed: true, configErr: errors.New("x"), optedOut: true}, "off switched off on this node (/etc/jobeff/off)"},
		"configuration":     {shipped, asked{configErr: errors.New("jobeff.toml:3: unknown key\nx")}, "off jobeff.toml:3: unknown key?x"},
		"opted out":         {shipped, asked{optedOut: true}, "off asked by the job (--jobeff=off)"},
		"site":              {some(func(m *etc.Measure) { m.Enabled = false }), asked{}, "off the site measures no jobs"},
		"other partition":   {some(func(m *etc.Measure) { m.Partitions = []string{"gpu"} }), asked{partition: "main"}, "off the site does not measure partition main"},
		"listed partition":  {some(func(m *etc.Measure) { m.Partitions = []string{"gpu", "main"} }), asked{partition: "main"}, "on"},
		"excluded":          {some(func(m *etc.Measure) { m.ExcludePartitions = []string{"main"} }), asked{partition: "main"}, "off the site does not measure partition main"},
		"share 0":           {some(func(m *etc.Measure) { m.Share = 0 }), asked{jobID: 7}, "off not among the jobs that the site measures, 0 %"},
	} {
		got := decide(c.measure, c.asked)
		if got != c.want && (c.want == "on" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		why, off := strings.CutPrefix(got, "off ")
		kind := doubt.Reason(doubt.Warning{Code: doubt.WhyOff, Args: doubt.Arguments{Name: why}}).Args.Kind
		if off && (kind == doubt.KindFailed) != (name == "configuration") {
			t.Errorf("%s: sums count it as %q", name, kind)
		}
	}
}

// The fold runs as nobody and reads hostile bytes. Root removes and reports only what it asked for.
func TestShipsOnlyWhatWasAsked(t *testing.T) {
	const nonce = "0123456789abcdef0123456789abcdef"
	name := func(id uint32) string { return fmt.Sprintf(".done-%d-%s", id, nonce) }
	r := &request{runDir: t.TempDir(), dir: name(7)}
	outbox := node.Outbox{Spool: t.TempDir()}
	for _, id := range []uint32{7, 8} {
		if err := os.Mkdir(filepath.Join(r.runDir, name(id)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for what, m := range map[string]message{
		"another job's report":     {Report: &job.NodeReport{JobID: 8, Nonce: nonce}},
		"another attempt's report": {Report: &job.NodeReport{JobID: 7, Nonce: strings.Repeat("0", 32)}},
		"a directory elsewhere":    {Report: &job.NodeReport{JobID: 7, Nonce: "/../" + nonce}},
		"no report":                {},
	} {
		if err := keep(r, outbox, &m); err == nil {
			t.Errorf("%s: nothing was said", what)
		}
	}
	left, _ := os.ReadDir(r.runDir)
	sent, _ := os.ReadDir(node.OutboxDir(outbox.Spool))
	if len(left) != 2 || len(sent) != 0 {
		t.Errorf("%d directories stay, %d reports are sent", len(left), len(sent))
	}
}
