package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/notice"
	"jobeff/report/document"
)

// TestAlarmText: each alarm names what was counted, in whole words.
func TestAlarmText(t *testing.T) {
	for before, want := range map[bool]string{
		false: "9 of 1,000 measured jobs crashed (FAILED with SIGSEGV or its like); of 5,000 jobs that jobeff left alone in that time, 7 did. ",
		true:  "of 5,000 jobs in the worst week before, 7 did. A week a quarter worse than that has a chance of 1 % at most to raise this alarm; ",
	} {
		a := &job.Alarm{Kind: job.AlarmCrashed, Before: before, Measured: 1000, MeasuredBad: 9, Others: 5000, OthersBad: 7, Jobs: []uint32{3, 5}}
		var digest bytes.Buffer
		if err := document.WriteDigest(&digest, &notice.Digest{Alarms: []job.Alarm{*a}}); err != nil || !strings.Contains(digest.String(), `"measured_bad": 9`) {
			t.Errorf("%v, %s", err, &digest)
		}
		if got := AlarmText(a, time.UTC); !strings.Contains(got, want) || !strings.HasSuffix(got, " The newest of them: 3, 5.") || strings.Contains(got, "%!") {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}
