package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/doubt"
	"jobeff/policy/harm"
	"jobeff/policy/notice"
)

// TestAlarmsInJSON: programs get the counts of an alarm.
func TestAlarmsInJSON(t *testing.T) {
	var b bytes.Buffer
	d := NewDigest(&notice.Digest{Alarms: []harm.Alarm{{Kind: harm.AlarmCrashed, MeasuredBad: 9}}}, Site{Zone: time.UTC})
	if err := Write(&b, d); err != nil || !strings.Contains(b.String(), `"measured_bad": 9`) || !strings.HasPrefix(d.Words.Subject, "ALARM: ") {
		t.Errorf("%v, %q, %s", err, d.Words.Subject, &b)
	}
}

// TestIdleGPUs: a digest names the users on whose GPUs no kernel ran, and says nothing of GPUs where there are none.
func TestIdleGPUs(t *testing.T) {
	facts := func(d *notice.Digest) string {
		return strings.Join(NewDigest(d, Site{Zone: time.UTC}).Words.Facts, "\n")
	}
	d := &notice.Digest{Total: listing.Hours{Jobs: 1, Used: 9}}
	if got := facts(d); strings.Contains(got, "GPU") {
		t.Error(got)
	}
	d.Total.GPU, d.Total.GPUKnown, d.Total.GPUIdle = 40, 20, 5
	d.IdleGPUs = []listing.NamedHours{{Name: "ada", Hours: listing.Hours{GPU: 30, GPUKnown: 15, GPUIdle: 4}}, {Hours: listing.Hours{GPUKnown: 5, GPUIdle: 1}}}
	want := "GPU-hours: 40.0 used; no kernel ran in at least 5.00 of 20.0 that are known (25 %). " +
		"Most of these without a kernel: ada (4.00 of 15.0), (not known) (1.00 of 5.00)."
	if got := facts(d); !strings.HasSuffix(got, "\n"+want) {
		t.Error(got)
	}
}

// TestMeasured: a digest says in one line which part of the core-hours was measured, and the largest reason of the
// rest, and in further ones only what a site can mend. Of no core-hours it says nothing.
func TestMeasured(t *testing.T) {
	line := func(class, code, kind string, hours float64) listing.LedgerLine {
		l := listing.NewLedgerLine(time.Time{}, "", class, doubt.Warning{Code: code, Args: doubt.Arguments{Kind: kind}})
		l.Jobs, l.Used = 7, job.CoreTime(hours*job.CoreHour)
		return l
	}
	measured := line(listing.ClassRanks, "", "", 80)
	for _, c := range []struct {
		lines []listing.LedgerLine
		want  string
	}{
		{nil, "[]"},
		{[]listing.LedgerLine{line(listing.ClassSlurm, doubt.WhyNoReport, "", 0)}, "[]"},
		{[]listing.LedgerLine{measured, line(listing.ClassThreads, "", "", 20)}, "[{Measured: 100 % of the core-hours. false}]"},
		{[]listing.LedgerLine{measured, line(listing.ClassMemory, doubt.WhyOff, doubt.KindShare, 11), line(listing.ClassMemory, doubt.WhyNoStep, "", 4), line(listing.ClassSlurm, doubt.WhyNoStep, "", 1),
			line(listing.ClassMemory, doubt.WhyThreads, "", 3.7), line(listing.ClassSlurm, doubt.WhyNoRoom, "", 0.3)},
			"[{Measured: 80 % of the core-hours; the largest part without figures, 11 % (7 jobs): not among the jobs that the site measures (measure.share). false} " +
				"{14 jobs (5.00 core-hours) without figures: no step of this job ran under the plugin. true}]"},
		{[]listing.LedgerLine{measured, line(listing.ClassSlurm, doubt.WhyNoRoom, "", 20)},
			"[{Measured: 80 % of the core-hours; the largest part without figures, 20 % (7 jobs): the records found no room: raise measure.record_mib. true}]"},
	} {
		if got := fmt.Sprint(health(&notice.Digest{Health: listing.Health{Known: c.lines}})); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
