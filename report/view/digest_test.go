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
