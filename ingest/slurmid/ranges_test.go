package slurmid_test

import (
	"testing"

	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/slurmid"
)

func TestRanges(t *testing.T) {
	for _, text := range []string{"", "0", "0-3,8", "5,7-9,11"} {
		var got []int
		if err := slurmid.EachRange(text, func(lo, hi int) { got = append(got, jobtest.Seq(lo, hi-lo+1)...) }); err != nil {
			t.Fatal(err)
		}
		if back := slurmid.FormatRanges(got); back != text {
			t.Errorf("%q became %q", text, back)
		}
	}
	for _, text := range []string{"3-1", "0-2,1", "a", "-1", "1,,2", "99999999999999999999"} {
		if err := slurmid.EachRange(text, func(int, int) {}); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}
