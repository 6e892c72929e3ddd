package words

import (
	"strings"
	"testing"
	"time"

	"jobeff/policy/harm"
)

// TestCannotTell: each reason has words, and a reason that a stranger makes up has none.
func TestCannotTell(t *testing.T) {
	for code, want := range map[string]string{
		"": "", "<b>": "", harm.NoneMeasured: "because no job is measured", harm.AllMeasured: "because all jobs are measured", harm.FewUsers: "because jobs of fewer than 5 users",
		harm.FewJobs: "because too few jobs",
	} {
		c := &harm.Comparison{Cannot: code}
		got := CannotTell(c)
		if want == "" && got != "" || want != "" && !strings.HasPrefix(got, "Whether jobeff harms jobs: cannot tell, "+want) {
			t.Errorf("%q: %q", code, got)
		}
		if said := strings.Join(OfAlarms(nil, c, false).Notes, " "); !strings.Contains(said, got) {
			t.Errorf("%q: %q", code, said)
		}
	}
	if got := CannotTell(nil); got != "" {
		t.Error(got)
	}
	is := &harm.Comparison{Users: 14, Measured: 780, Others: 770, OneIn: 20}
	if said := strings.Join(OfAlarms(nil, is, false).Notes, " "); !strings.Contains(said, "Compared were 780 measured jobs and 770 that jobeff left alone, of 14 users. If jobeff crashed 1 in 20 ") {
		t.Error(said)
	}
}

// TestAlarmText: each alarm names what was counted, in whole words.
func TestAlarmText(t *testing.T) {
	for before, want := range map[bool]string{
		false: "9 of 1,000 measured jobs crashed (FAILED with SIGSEGV or its like); of 5,000 jobs that jobeff left alone in that time, 7 did. ",
		true:  "of 5,000 jobs in the worst week before, 7 did. A week a quarter worse than that has a chance of 1 % at most to raise this alarm; ",
	} {
		a := &harm.Alarm{Kind: harm.AlarmCrashed, Before: before, Measured: 1000, MeasuredBad: 9, Others: 5000, OthersBad: 7, Jobs: []uint32{3, 5}}
		if got := AlarmText(a, time.UTC); !strings.Contains(got, want) || !strings.HasSuffix(got, " The newest of them: 3, 5.") || strings.Contains(got, "%!") {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}
