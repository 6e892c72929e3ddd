package words

import (
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy"
)

func TestHoursText(t *testing.T) {
	v := func(hours float64) *job.CoreTime {
		t := job.CoreTime(hours * job.CoreHour)
		return &t
	}
	for _, c := range []struct {
		hours policy.CoreHours
		want  string
	}{
		{policy.CoreHours{}, "not known"},
		{policy.CoreHours{Used: v(12.34)}, "12.3 used, how many were lost is not known"},
		{policy.CoreHours{Used: v(4), Outside: v(2)}, "4.00 used, lost: 2.00 outside MPI_Init to MPI_Finalize, and others not known"},
		{policy.CoreHours{Used: v(4), Lost: v(0), MPI: v(0), Idle: v(0), Outside: v(0)}, "4.00 used, 0.00 lost"},
		{policy.CoreHours{Used: v(40000), Lost: v(250), MPI: v(249), Idle: v(1), Outside: v(0)}, "40,000 used, 250 lost: 249 in MPI"},
		{policy.CoreHours{Used: v(128), SMT: v(64), Lost: v(6.4), MPI: v(6.4)}, "128 used, 64.0 of them on further hardware threads of its cores (not lost), 6.40 lost: 6.40 in MPI"},
		{policy.CoreHours{Used: v(128), SMT: v(64), Outside: v(2)}, "128 used, 64.0 of them on further hardware threads of its cores (not lost), lost: 2.00 outside MPI_Init to MPI_Finalize, and others not known"},
		{policy.CoreHours{Used: v(128), SMT: v(0.6), Lost: v(1)}, "128 used, 1.00 lost"},
	} {
		if got := hoursText(c.hours); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
